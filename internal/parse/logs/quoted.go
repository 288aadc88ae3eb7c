package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// cutQuotedKlog returns the line of klog that somebody quotes inside of a line without a header, with
// what stands behind it cut off where it is in quotes; nil where there is none:
//
//	`E1108 09:30:11.885000    2917 kubelet.go:2412] skipping pod synchronization - …`
//	the kubelet says: E1108 09:30:11.885000    2917 kubelet.go:2412] skipping pod synchronization - …
func cutQuotedKlog(b []byte) []byte {
	for at := 1; at < min(len(b), maxProse); at++ {
		if !opensQuotation(b[at-1]) || !lines.StartsWith(b[at:], "I", "W", "E", "F") || !IsKlog(b[at:]) {
			continue
		}
		quoted := b[at:]
		switch open := b[at-1]; open {
		case '`':
			if end := bytes.IndexByte(quoted, open); end > 0 {
				return quoted[:end]
			}
		case '"', '\'':
			return bytes.TrimSuffix(bytes.TrimRight(quoted, " \t,."), []byte{open})
		}
		return quoted
	}
	return nil
}

// maxProse is how far into a line a quotation is looked for, in bytes.
const maxProse = 512

func opensQuotation(c byte) bool { return bytes.IndexByte([]byte(" \t`\"'(>:|"), c) >= 0 }

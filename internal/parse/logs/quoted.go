package logs

import (
	"bytes"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// cutQuoted returns the line of a log that somebody quotes inside of a line, behind one of the
// signs opens, with what stands behind it cut off where it is in quotes; nil where there is none.
// Behind a backquote, as code of Markdown, and behind the mark of a quotation, as in mails, it may
// have any header, and else that of klog:
//
//	> time="2022-11-08T09:30:11.885Z" level=info msg="…"
//	`E1108 09:30:11.885000    2917 kubelet.go:2412] skipping pod synchronization - …`
//	the kubelet says: E1108 09:30:11.885000    2917 kubelet.go:2412] skipping pod synchronization - …
//	crio's log shows `Nov 08 09:30:11 node-1 crio[812]: fatal error: concurrent map writes`
func cutQuoted(b []byte, opens string) []byte {
	start := bytes.TrimLeft(b, " \t")
	if line := lines.CutQuoteMarks(start); len(line) < len(start) && HasHeader(line) {
		return line
	}
	for at := 1; at < min(len(b), maxProse); at++ {
		if c := b[at]; b[at-1] != '`' && c != 'I' && c != 'W' && c != 'E' && c != 'F' {
			continue // as nearly everywhere
		}
		if strings.IndexByte(opens, b[at-1]) < 0 || !beginsQuotedLine(b[at:], b[at-1]) {
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

// beginsQuotedLine says that a text behind the sign open is a line of a log; but behind a backquote
// it begins with the letter of a level.
func beginsQuotedLine(text []byte, open byte) bool {
	if open == '`' {
		return HasHeader(text)
	}
	return findMarks(text)&Klog != 0
}

// maxProse is how far into a line a quotation is looked for, in bytes.
const maxProse = 512

// quotations are signs behind which a line of klog may be quoted.
const quotations = " \t`\"'(>:|"

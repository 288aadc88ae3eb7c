package lines

import (
	"bytes"
	"iter"
)

// HeadSize is how much of a file decides its format. Headers of all formats stand in it.
const HeadSize = 64 << 10

// OfHead are the lines of head that are not blank, without a last one that is cut, unless it is all
// there is.
func OfHead(head []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for first := true; len(head) > 0; first = false {
			line, rest, whole := bytes.Cut(head, []byte{'\n'})
			if !whole && !first {
				return
			}
			head = rest
			line = bytes.TrimRight(line, "\r")
			if bytes.IndexByte(line, '\x1b') >= 0 {
				line = WithoutColours(nil, line)
			}
			if !IsBlank(line) && !yield(line) {
				return
			}
		}
	}
}

// Sniffer makes a sniffer of a test for one line. Blank lines and lines that
// continue the one before do not count.
func Sniffer(known func(line []byte) bool) func([]byte) float64 {
	return func(head []byte) float64 {
		all, good := 0, 0
		for line := range OfHead(head) {
			if line[0] == ' ' || line[0] == '\t' {
				continue
			}
			all++
			if known(line) {
				good++
			}
		}
		if all == 0 {
			return 0
		}
		return float64(good) / float64(all)
	}
}

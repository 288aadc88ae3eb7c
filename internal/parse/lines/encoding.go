package lines

import (
	"bufio"
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// BOM is the byte order mark of UTF-8.
var BOM = []byte("\ufeff")

// Decode is r as UTF-8 without a byte order mark, by the mark that head, its first bytes, starts
// with: editors and PowerShell's ">" on Windows write them. Lines keep their numbers; what is no
// character becomes U+FFFD. Ok is false for a file without a mark.
func Decode(r io.Reader, head []byte) (_ io.Reader, ok bool) {
	switch {
	case bytes.HasPrefix(head, BOM):
		in := bufio.NewReader(r)
		_, _ = in.Discard(len(BOM)) // cannot fail: the mark is in head
		return in, true
	case bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}): // of UTF-32
		return r, false
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(r), true
	}
	return r, false
}

package lines

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// BOM is the byte order mark of UTF-8.
var BOM = []byte("\ufeff")

// Decode is r as UTF-8 without a byte order mark, by the mark that head, its first bytes, starts
// with: editors and PowerShell's ">" on Windows write them. Lines keep their numbers. Ok is false
// for a file without a mark.
func Decode(r io.Reader, head []byte) (_ io.Reader, ok bool) {
	switch {
	case bytes.HasPrefix(head, BOM):
		in := bufio.NewReader(r)
		_, _ = in.Discard(len(BOM)) // cannot fail: the mark is in head
		return in, true
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}) && !bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}):
		return &wide{r: bufio.NewReaderSize(r, HeadSize), order: binary.LittleEndian}, true
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return &wide{r: bufio.NewReaderSize(r, HeadSize), order: binary.BigEndian}, true
	}
	return r, false
}

// wide reads UTF-16 as UTF-8. What is no character becomes U+FFFD.
type wide struct {
	r     *bufio.Reader
	order binary.ByteOrder
	begun bool // the mark has been read
	high  rune // the first half of a pair; 0 without
	ready []byte
	err   error
}

// Read implements io.Reader.
func (w *wide) Read(p []byte) (int, error) {
	for len(w.ready) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		w.decodeBuffered()
	}
	n := copy(p, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

// decodeBuffered decodes what is buffered.
func (w *wide) decodeBuffered() {
	b, err := w.r.Peek(2)
	if len(b) < 2 {
		if w.err = err; len(b) == 1 || w.high != 0 {
			w.ready = append(w.ready, string(utf8.RuneError)...)
		}
		_, _ = w.r.Discard(len(b))
		return
	}
	b, _ = w.r.Peek(w.r.Buffered() &^ 1)
	out := make([]byte, 0, 2*len(b))
	for i := 0; i < len(b); i += 2 {
		out = w.appendUnit(out, rune(w.order.Uint16(b[i:])))
	}
	_, _ = w.r.Discard(len(b)) // cannot fail for what Peek returned
	w.ready = out
}

// appendUnit appends one unit of UTF-16.
func (w *wide) appendUnit(out []byte, r rune) []byte {
	if !w.begun {
		w.begun = true
		return out
	}
	if w.high != 0 {
		both := utf16.DecodeRune(w.high, r)
		w.high = 0
		if out = utf8.AppendRune(out, both); both != utf8.RuneError {
			return out
		}
	}
	if 0xd800 <= r && r < 0xdc00 {
		w.high = r
		return out
	}
	return utf8.AppendRune(out, r)
}

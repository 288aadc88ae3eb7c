package lines

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Clip is the quotable prefix of a line.
func Clip[T string | []byte](line T) string {
	if len(line) > event.MaxRaw {
		return strings.Clone(string(line[:event.MaxRaw]))
	}
	return string(line)
}

// IsASCII says that no byte of b has its high bit set.
func IsASCII(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// IsNoise says that the start of b is no text in any encoding that logs are written in.
func IsNoise(b []byte) bool {
	b = b[:min(len(b), 256)]
	ascii := 0
	for ; ascii+8 <= len(b); ascii += 8 {
		// Eight bytes at once: none has its high bit set, none is below a blank.
		v := binary.LittleEndian.Uint64(b[ascii:])
		if (v|(v-0x2020202020202020))&0x8080808080808080 != 0 {
			break
		}
	}
	if ascii+8 > len(b) && ascii > 0 {
		return false
	}
	control, invalid := 0, 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			invalid++
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\x1b' || r == 0x7f:
			control++
		}
		i += n
	}
	return control*20 > len(b) || invalid*2 > len(b)
}

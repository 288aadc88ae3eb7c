package lines

import "bytes"

// WithoutBlankLines is a text without the blank line that stands behind every line, be it blank
// itself; ok is false where that is not so.
func WithoutBlankLines(head []byte) (text []byte, ok bool) {
	blanks, filled := 1, 0 // blank lines behind the last that is none, and how many are none
	for line := range bytes.Lines(head) {
		if !IsBlank(line) {
			if blanks%2 == 0 {
				return nil, false
			}
			blanks, filled = 0, filled+1
		} else if blanks++; blanks%2 == 1 {
			continue // which stands behind a line
		}
		text = append(text, line...)
	}
	return text, filled > 2
}

// FindPad is how many blanks stand behind every line of head.
func FindPad(head []byte) int {
	pad := -1
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		if n := len(line) - len(bytes.TrimRight(line, " ")); len(line) > 0 && (pad < 0 || n < pad) {
			pad = n
		}
		if pad == 0 {
			return 0
		}
	}
	return max(pad, 0)
}

// CutPad takes colours off a line, and so many blanks off its end: a terminal counts neither.
func CutPad(line []byte, pad int) []byte {
	if bytes.IndexByte(line, '\x1b') >= 0 {
		line = WithoutColours(nil, line)
	}
	for ; pad > 0 && len(line) > 0 && line[len(line)-1] == ' '; pad-- {
		line = line[:len(line)-1]
	}
	return line
}

package parse

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// A fence in an item of a list is indented, as all that stands behind it is: its margin is no part
// of what was pasted. maxMargin is how many blanks that may be. Markdown needs no fence for code
// that is set off by codeMargin from the words above it, and by a blank line.
const codeMargin, maxMargin = 4, 12

// dropMargin takes the blanks off a line that the last fence has before it, too, or that set off
// code.
func (s *Sections) dropMargin() {
	if !s.fresh {
		return
	}
	s.fresh = false
	line, _, _ := bytes.Cut(s.peek(maxSectionHead), []byte{'\n'})
	blanks := marginOf(line)
	switch {
	case lines.IsBlank(line):
		s.gap = true
		return
	case isFence(line[blanks:]):
		s.margin, s.code = blanks, false
	case s.code && blanks < s.margin:
		s.margin, s.code, s.turned = 0, false, true
	case s.gap && s.margin == 0 && marginOfCode(line) > 0 && leadsToCode(s.above):
		s.margin, s.code, s.turned = blanks, true, true
	}
	s.gap = false
	if !s.code {
		s.above = append(s.above[:0], line...)
	}
	_, _ = s.r.Discard(min(blanks, s.margin))
}

// marginOfCode is how many blanks set off a line as code; 0 where they are too few.
func marginOfCode(line []byte) int {
	if n := marginOf(line); n >= codeMargin || n > 0 && line[0] == '\t' {
		return n
	}
	return 0
}

// leadsToCode says that a line is what people write above what they paste.
func leadsToCode(line []byte) bool {
	if len(line) == 0 || line[0] == '#' || marginOf(line) > 0 || logs.HasHeader(line) || machineSign.Match(line) {
		return false
	}
	return isSentence(line) || bytes.HasSuffix(bytes.TrimRight(line, " \r"), []byte{':'}) && bytes.IndexByte(line, ' ') > 0
}

// holdsCode says that a text holds code that is set off by blanks.
func holdsCode(text []byte) bool {
	for _, gap := range [...]string{"\n\n", "\r\n\r\n"} {
		for _, blanks := range [...]string{"    ", "\t"} {
			for at, from := 0, 0; ; from += at + 1 {
				if at = bytes.Index(text[from:], []byte(gap+blanks)); at < 0 {
					break
				}
				before := text[:from+at]
				if leadsToCode(before[bytes.LastIndexByte(before, '\n')+1:]) {
					return true
				}
			}
		}
	}
	return false
}

// marginOf is how many blanks stand before a line, maxMargin at most.
func marginOf(line []byte) int {
	n := 0
	for n < min(len(line), maxMargin) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}

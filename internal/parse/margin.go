package parse

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// A fence in an item of a list is indented, as all that stands behind it is: its margin is no part
// of what was pasted. maxMargin is how many blanks that may be.
const maxMargin = 12

// dropMargin takes the blanks off a line that the last fence has before it, too.
func (s *Sections) dropMargin() {
	if !s.fresh {
		return
	}
	s.fresh = false
	head, _ := s.r.Peek(maxMargin + longestFence)
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	blanks := marginOf(line)
	if isFence(line[blanks:]) {
		s.margin = blanks
	}
	_, _ = s.r.Discard(min(blanks, s.margin))
}

// marginOf is how many blanks stand before a line, maxMargin at most.
func marginOf(line []byte) int {
	return min(maxMargin, lines.SkipBlanks(line, 0))
}

package parse

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// A fence in an item of a list is indented, as all that stands behind it is: its margin is no part
// of what was pasted. maxMargin is how many blanks that may be.
const maxMargin = 12

// dropMargin takes the blanks off a line that the last fence has before it, too, and the mark of a
// comment in a block where output stands behind it.
func (s *Sections) dropMargin() {
	if !s.fresh {
		return
	}
	s.fresh = false
	head, _ := s.r.Peek(maxMargin + longestFence)
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	blanks := marginOf(line)
	fenced := isFence(line[blanks:])
	if fenced {
		s.margin = blanks
	}
	_, _ = s.r.Discard(min(blanks, s.margin))
	switch {
	case fenced:
		head, _ = s.r.Peek(maxBlockHead)
		_, block, _ := bytes.Cut(head, []byte{'\n'})
		s.commented = isCommentedOutput(block, s.margin)
	case s.line == 0:
		head, _ = s.r.Peek(maxBlockHead)
		s.commented = areCommentedNotes(head)
	}
	if s.commented {
		head, _ = s.r.Peek(maxSectionHead)
		line, _, _ = bytes.Cut(head, []byte{'\n'})
		_, _ = s.r.Discard(commentMark(line))
	}
}

// marginOf is how many blanks stand before a line, maxMargin at most.
func marginOf(line []byte) int {
	return min(maxMargin, lines.SkipBlanks(line, 0))
}

// maxBlockHead is how much of a block is looked at for output behind marks of a comment.
const maxBlockHead = 16 << 10

// isCommentedOutput says that in the block behind a fence, up to the next one, most lines are
// comments and hold what programs print: a line of a log, a listing, a table of events, the status
// of a unit. So do notes keep commands, and below each what it answered:
//
//	systemctl status kubelet
//	# ○ kubelet.service - kubelet: The Kubernetes Node Agent
//	#      Loaded: loaded (/usr/lib/systemd/system/kubelet.service; enabled; preset: enabled)
//
// A file of settings has comments too, and none of them is printed by a program.
func isCommentedOutput(block []byte, margin int) bool {
	commented, bare := 0, 0
	printed := false
	var listing snapshots.Rows
	for len(block) > 0 {
		line, rest, _ := bytes.Cut(block, []byte{'\n'})
		line = lines.TrimReturn(line[min(marginOf(line), margin):])
		n := commentMark(line)
		switch {
		case isFence(line):
			rest = nil
		case lines.IsBlank(line):
		case n == 0:
			bare++
		default:
			commented++
			text := line[n:]
			printed = printed || !lines.IsBlank(text) && (logs.HasHeader(text) || listing.EndsBefore(text, true) || snapshots.IsObjectHead(string(text)) || beginsUnitStatus(text, rest))
		}
		block = rest
	}
	return printed && commented > bare
}

// areCommentedNotes says the same of a file without a fence, one of whose lines is a command.
func areCommentedNotes(text []byte) bool {
	if bytes.IndexByte(text, '#') < 0 || !isCommentedOutput(text[:min(len(text), maxBlockHead)], 0) {
		return false
	}
	for line := range bytes.Lines(text) {
		if isKnownCommand(string(bytes.TrimSpace(line))) {
			return true
		}
	}
	return false
}

// beginsUnitStatus says that the status of a unit begins with a line. The next one, with which rest
// begins, may stand behind blank lines, and have a margin or the mark of a comment.
func beginsUnitStatus(line, rest []byte) bool {
	if line[0] < utf8.RuneSelf && line[0] != '*' {
		return false
	}
	next, _, _ := bytes.Cut(bytes.TrimLeft(rest, " \t\r\n"), []byte{'\n'})
	both := slices.Concat(line, []byte{'\n'}, next[commentMark(next):], []byte{'\n'})
	return logs.SniffStatus(lines.NewHead(both)) == 1
}

// commentMark is the length of the mark of a comment before what a line says; 0 without one, and
// where it is the prompt of root before a command.
func commentMark(line []byte) int {
	if len(line) == 0 || line[0] != '#' {
		return 0
	}
	n := 1
	if len(line) > n && line[n] == ' ' {
		n++
	}
	if isKnownCommand(string(bytes.TrimSpace(line[n:]))) {
		return 0
	}
	return n
}

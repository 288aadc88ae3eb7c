package samples

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// StackBuilder collects the frames of one stack, each of which stands in a line of its own. Its
// zero value holds none.
type StackBuilder struct {
	frames []stackFrame // innermost first
	unsure bool         // one of them at least is
}

// stackFrame is a function, and whether the kernel put a question mark before it.
type stackFrame struct {
	function string
	unsure   bool
	line     event.Quote
}

// maxFrames bounds a stack; the kernel prints 64 functions at most.
const maxFrames = 256

// AddFrame adds the next frame, which is further out than those before. A frame without a function
// is left out.
func (b *StackBuilder) AddFrame(function string, unsure bool, line event.Quote) {
	if function == "" || len(b.frames) >= maxFrames {
		return
	}
	b.frames = append(b.frames, stackFrame{function, unsure, line})
	b.unsure = b.unsure || unsure
}

// Outermost is the function of the last frame that is sure; empty without one.
func (b *StackBuilder) Outermost() string {
	for _, f := range slices.Backward(b.frames) {
		if !f.unsure {
			return f.function
		}
	}
	return ""
}

// WriteTo puts the stack into a sample: the frames that are sure into Stack and Frames and, where
// there are others, all of them into UnsureStack and UnsureFrames.
func (b *StackBuilder) WriteTo(s *Sample) {
	s.Stack, s.Frames = b.outermostFirst(false)
	if b.unsure {
		s.UnsureStack, s.UnsureFrames = b.outermostFirst(true)
	}
}

// outermostFirst is the stack as Sample holds it, with the frames that are not sure or without.
func (b *StackBuilder) outermostFirst(unsure bool) (stack string, lines []event.Quote) {
	var functions []string
	for _, f := range slices.Backward(b.frames) {
		if unsure || !f.unsure {
			functions, lines = append(functions, f.function), append(lines, f.line)
		}
	}
	return strings.Join(functions, " "), lines
}

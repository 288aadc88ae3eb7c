package kept

import (
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// MayRepeat tells moments whose number says no more than their times. What is left out has a
// meaning one by one: ends of calls, the age of relist, settings, lines that rules ask for by text,
// which have a bound of their own.
func MayRepeat(e *event.Event) bool {
	switch e.Kind {
	case event.KindPLEGUnhealthy, event.KindFact, event.KindLogLine:
		return false
	}
	if _, counted := e.Get(event.FieldRepeats); counted {
		return false
	}
	return e.Span.Key == "" && e.Start.Known && e.End.IsZero()
}

// AppendRepeatKey appends what events that repeat each other have in common.
func AppendRepeatKey(dst []byte, e *event.Event) []byte {
	for _, s := range []string{
		string(e.Kind), e.Host, e.Component, e.Source, e.IDs.Container, e.IDs.Sandbox, e.IDs.Pod, e.IDs.PodUID, e.IDs.Lock,
	} {
		dst = append(append(dst, s...), 0)
	}
	dst = append(appendWithoutIDs(dst, e.Text), byte(e.Level), 0)
	for i := range e.Fields {
		dst = append(append(dst, e.Fields[i].Key...), 0)
		dst = append(appendWithoutIDs(dst, e.Fields[i].Value.Text()), 0)
	}
	return dst
}

// appendWithoutIDs appends a text with a # for each number and each hexadecimal id in it. All of
// the text is appended; the digits of an id are taken back when it has ended.
func appendWithoutIDs(dst []byte, s string) []byte {
	const shortID = 6 // letters; shorter is a word: "dead", "added"
	end := len(dst)
	dst = slices.Grow(dst, len(s))[:end+len(s)]
	begin, decimal := end, 0 // of the digits that stand at the end
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isHex[c] {
			if isDigit(c) {
				decimal++
			}
			dst[end] = c
			end++
			continue
		}
		if n := end - begin; decimal > 0 && (decimal == n || n >= shortID) {
			dst[begin] = '#'
			end = begin + 1
		}
		dst[end] = c
		end++
		begin, decimal = end, 0
	}
	if n := end - begin; decimal > 0 && (decimal == n || n >= shortID) {
		dst[begin] = '#'
		end = begin + 1
	}
	return dst[:end]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

var isHex = lines.NewByteSet("0123456789abcdef")

package condition

import (
	"slices"
	"strconv"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Reading is what a condition or a bind looks at in an event: a field, what stands in the place of
// one placeholder of a text that the field holds, or the file that the event was read from.
type Reading struct {
	Field             string
	text, Placeholder string // empty for the field itself
	file              bool
}

// AppendTo writes it in a way of its own.
func (r Reading) AppendTo(key []byte) []byte {
	for _, text := range [...]string{r.Field, r.text, r.Placeholder} {
		key = strconv.AppendQuote(key, text)
	}
	return strconv.AppendBool(key, r.file)
}

// Reader returns the function that reads it. Ok is false when the event has no such value.
func (r Reading) Reader() func(e *event.Event) (v event.Value, ok bool) {
	switch {
	case r.file:
		return func(e *event.Event) (event.Value, bool) {
			name := e.Pos().File
			return event.String(name), name != ""
		}
	case r.Placeholder != "":
		text, err := parseCaptures(r.text)
		if err != nil {
			return func(*event.Event) (event.Value, bool) { return event.Value{}, false } // told by the compiler
		}
		group := 1 + slices.Index(text.names, r.Placeholder)
		return func(e *event.Event) (event.Value, bool) {
			v, ok := e.Get(event.Key(r.Field))
			found := text.expression.FindStringSubmatch(v.Text())
			if !ok || found == nil {
				return event.Value{}, false
			}
			return event.String(found[group]), true
		}
	}
	return func(e *event.Event) (event.Value, bool) { return e.Get(event.Key(r.Field)) }
}

package scopes

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestMarkAnswered holds that scopes are marked as if each was compared with each other one, and
// with each answer.
func TestMarkAnswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		second := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
		}
		var all []*event.Event
		at := noon
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			at = at.Add(second("later", 4))
			e := &event.Event{Kind: event.KindScopeStart, Start: event.At(at), End: event.At(at.Add(second("length", 30))), Open: rapid.Bool().Draw(t, "open")}
			if rapid.IntRange(0, 5).Draw(t, "answer") == 0 {
				e = &event.Event{Kind: event.KindCollectRPC, Component: "systemd", Start: event.At(at), Fields: []event.Field{
					event.FieldPrivate.Bool(false), event.FieldAnswered.Bool(true),
				}}
			}
			all = append(all, e)
		}
		MarkAnswered(all)
		for i, long := range all {
			from, until := long.Start.T.Add(scopeSlack), long.Last().T.Add(-scopeSlack)
			asked := until
			if long.Open {
				asked = long.Last().T.Add(stillOpen)
			}
			answered := long.Kind == event.KindScopeStart && long.Duration() >= longScope &&
				(slices.ContainsFunc(all[i+1:], func(e *event.Event) bool {
					return e.Kind == event.KindScopeStart && !e.Open && e.Last().T.After(from) && e.Last().T.Before(until)
				}) || slices.ContainsFunc(all, func(e *event.Event) bool {
					return e.Kind == event.KindCollectRPC && e.Start.T.After(from) && e.Start.T.Before(asked)
				}))
			require.Equal(t, answered, long.FieldText(event.FieldOthersAnswered) == "true")
		}
	})
}

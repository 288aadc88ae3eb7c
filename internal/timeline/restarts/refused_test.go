package restarts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A runtime that nobody reaches for some seconds, and that answers then, was restarted; one that
// goes on to be missed, or of which a line says that it has ended, is trouble.
func TestMarkRestartingMarksShortRefusals(t *testing.T) {
	call := func(after time.Duration, fields ...event.Field) *event.Event {
		e := unitEvent(event.KindCRIError, after)
		e.Component, e.Fields = "kubelet", fields
		return e
	}
	gone := event.FieldGone.Text("containerd")
	refused := func(after time.Duration) *event.Event { return call(after, gone) }
	for name, c := range map[string]struct {
		before *event.Event
		until  time.Duration // the last refusal
		after  *event.Event
		marked bool
	}{
		"answers late":   {nil, 2 * time.Second, call(time.Minute, event.FieldDeadline.Bool(true)), true},
		"never again":    {nil, 2 * time.Second, nil, false},
		"for long":       {nil, time.Minute, call(2 * time.Minute), false},
		"not ready yet":  {nil, 2 * time.Second, call(time.Minute, event.FieldUnready.Bool(true)), false},
		"it had ended":   {unitEvent(event.KindUnitExit, -time.Second), 2 * time.Second, call(time.Minute), false},
		"ended long ago": {unitEvent(event.KindUnitExit, -time.Hour), 2 * time.Second, call(time.Minute), true},
	} {
		t.Run(name, func(t *testing.T) {
			first := refused(0)
			events := []*event.Event{first}
			if c.before != nil {
				events = []*event.Event{c.before, first}
			}
			for at := 2 * time.Second; at <= c.until; at += 2 * time.Second {
				events = append(events, refused(at))
			}
			if c.after != nil {
				events = append(events, c.after)
			}
			MarkRestarting(events, nil, noEnd)
			require.Equal(t, c.marked, first.FieldText(event.FieldRestarting) == "true")
		})
	}
	var again []*event.Event // a runtime that ends again and again
	for minute := range time.Duration(3) {
		again = append(again, refused(minute*time.Minute), call(minute*time.Minute+20*time.Second))
	}
	other := call(time.Minute) // of another node
	one := refused(0)
	one.Host, other.Host = "a", "b"
	for _, events := range [][]*event.Event{again, {one, other}} {
		MarkRestarting(events, nil, noEnd)
		require.Empty(t, events[0].FieldText(event.FieldRestarting))
	}
}

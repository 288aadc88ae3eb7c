package restarts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Calls that break or find nobody while somebody restarts the runtime are of the restart, and those
// soon after it, while clients still say what they met before. Where nobody asked for it, or where
// it lasted, they are not.
func TestMarkRestartingMarksWhatMeetsAShortRestart(t *testing.T) {
	for name, c := range map[string]struct {
		end         event.Kind
		back, boots time.Duration // after the end
		field       event.Field
		call        time.Duration
		marked      bool
	}{
		"while it is away":       {event.KindUnitStop, 2 * time.Second, 6 * time.Second, event.FieldGone.Text("containerd"), time.Second, true},
		"a call breaks":          {event.KindUnitStop, 2 * time.Second, 6 * time.Second, event.FieldCut.Bool(true), time.Second / 2, true},
		"while it begins":        {event.KindUnitStop, 2 * time.Second, 6 * time.Second, event.FieldGone.Text("containerd"), 5 * time.Second, true},
		"just after":             {event.KindUnitStop, 2 * time.Second, 6 * time.Second, event.FieldGone.Text("containerd"), 15 * time.Second, true},
		"before it":              {event.KindUnitStop, 2 * time.Second, 6 * time.Second, event.FieldGone.Text("containerd"), -time.Second, false},
		"long after it":          {event.KindUnitStop, 2 * time.Second, 6 * time.Second, event.FieldGone.Text("containerd"), time.Minute, false},
		"of another runtime":     {event.KindUnitStop, 2 * time.Second, 6 * time.Second, event.FieldGone.Text("dockerd"), time.Second, false},
		"it was away for long":   {event.KindUnitStop, 40 * time.Second, 41 * time.Second, event.FieldGone.Text("containerd"), time.Second, false},
		"it began for long":      {event.KindUnitStop, 2 * time.Second, 50 * time.Second, event.FieldGone.Text("containerd"), time.Second, false},
		"it ended by itself":     {event.KindCrash, 2 * time.Second, 6 * time.Second, event.FieldGone.Text("containerd"), time.Second, false},
		"a call that only fails": {event.KindUnitStop, 2 * time.Second, 6 * time.Second, event.FieldMethod.Text("Status"), time.Second, false},
	} {
		end, boot, call := unitEvent(c.end, 0), unitEvent(event.KindDaemonBoot, c.back), unitEvent(event.KindCRIError, c.call)
		end.Component, call.Fields = "containerd", []event.Field{c.field}
		boot.End = event.At(end.Start.T.Add(c.boots))
		all := []*event.Event{end, boot, call}
		MarkRestarting(all, Find(all), noEnd)
		require.Equal(t, c.marked, call.FieldText(event.FieldRestarting) == "true", name)
	}
}

// A containerd that has not read the state of its containers yet says so at each start; long after
// one it is a sign.
func TestMarkRestartingMarksWhatMeetsAStart(t *testing.T) {
	for at, marked := range map[time.Duration]bool{-time.Second: false, time.Second: true, 10 * time.Second: true, time.Minute: false} {
		boot, call := unitEvent(event.KindDaemonBoot, 0), unitEvent(event.KindCRIError, at)
		boot.End, call.Fields = event.At(boot.Start.T.Add(2*time.Second)), []event.Field{event.FieldUnready.Bool(true)}
		MarkRestarting([]*event.Event{boot, call}, nil, noEnd)
		require.Equal(t, marked, call.FieldText(event.FieldRestarting) == "true", at)
	}
}

// noEnd is of logs that end with their events.
func noEnd(string) time.Time { return time.Time{} }

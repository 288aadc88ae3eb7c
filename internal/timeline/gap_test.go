package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// missing is an event of lines that somebody says are missing.
func missing(file, from, to, of, reach string) event.Event {
	e := ev(file, 9, at(from), kind("log.loss"), says("lines are missing"), text("reach", reach))
	if to != "" {
		e.End = at(to)
	}
	if of != "" {
		e.Fields = append(e.Fields, event.Field{Key: "of", Value: event.String(of)})
	}
	return e
}

func TestGaps(t *testing.T) {
	const first, last = "2025-11-08T09:00:00Z", "2025-11-08T10:00:00Z"
	sources := []*Source{
		covers("journal", "kubelet.log", first, last), covers("journal", "containerd.log", first, last),
		covers("messages", "kubelet.log", first, last), covers("x.strace", "strace", first, last),
	}
	cut := covers("cut.log", "containerd.log", first, "2025-11-08T09:20:00Z")
	cut.Cut = "unexpected EOF"
	for _, tc := range []struct {
		name    string
		sources []*Source
		events  []event.Event
		want    []string
	}{
		{name: "nothing is missing", want: nil},
		{
			name:   "what journald suppressed is in no file of the node",
			events: []event.Event{missing("journal", "2025-11-08T09:30:00Z", "2025-11-08T09:30:30Z", "kubelet", "node")},
			want:   []string{"kubelet.log journal 09:30:00 09:30:30 lines are missing", "kubelet.log messages 09:30:00 09:30:30 lines are missing"},
		},
		{
			name:   "what rsyslog dropped is missing from its own file, whoever wrote it",
			events: []event.Event{missing("messages", "2025-11-08T09:30:00Z", "2025-11-08T09:30:30Z", "", "file")},
			want:   []string{"kubelet.log messages 09:30:00 09:30:30 lines are missing"},
		},
		{
			name:   "a loss outside of what a file covers is none of its own",
			events: []event.Event{missing("journal", "2025-11-08T08:30:00Z", "2025-11-08T08:30:30Z", "kubelet", "node")},
		},
		{
			name:   "losses that meet are one gap",
			events: []event.Event{missing("messages", "2025-11-08T09:30:00Z", "2025-11-08T09:30:30Z", "", "file"), missing("messages", "2025-11-08T09:30:31Z", "2025-11-08T09:31:00Z", "", "file")},
			want:   []string{"kubelet.log messages 09:30:00 09:31:00 lines are missing"},
		},
		{
			name:   "a moment",
			events: []event.Event{missing("journal", "2025-11-08T09:30:00Z", "", "containerd", "file")},
			want:   []string{"containerd.log journal 09:30:00 09:30:00 lines are missing"},
		},
		{
			name: "a beginning without an end lasts as long as the file",
			events: []event.Event{func() event.Event {
				e := missing("messages", "2025-11-08T09:50:00Z", "", "", "file")
				e.Span = event.Span{Key: "loss/messages/imjournal", Edge: event.Begin}
				return e
			}()},
			want: []string{"kubelet.log messages 09:50:00 10:00:00 lines are missing"},
		},
		{
			name: "nobody writes while the machine sleeps",
			events: []event.Event{
				ev("messages", 1, at("2025-11-08T09:10:00Z"), kind("kernel.suspend"), func(e *event.Event) { e.Span = event.Span{Key: "suspend/", Edge: event.Begin, State: true} }),
				ev("messages", 2, at("2025-11-08T09:40:00Z"), kind("kernel.suspend"), func(e *event.Event) { e.Span = event.Span{Key: "suspend/", Edge: event.End, State: true} }),
			},
			want: []string{
				"containerd.log journal 09:10:00 09:40:00 the machine slept", "kubelet.log journal 09:10:00 09:40:00 the machine slept",
				"kubelet.log messages 09:10:00 09:40:00 the machine slept", "strace x.strace 09:10:00 09:40:00 the machine slept",
			},
		},
		{
			name:    "a file that was cut ends somewhere",
			sources: []*Source{cut},
			want:    []string{"containerd.log cut.log 09:20:00 00:00:00 the file is cut off: unexpected EOF"},
		},
		{
			name:    "a log that begins inside a stall",
			sources: []*Source{covers("kubelet.log", "kubelet.log", "2025-11-08T08:00:00Z", last), covers("containerd.log", "containerd.log", "2025-11-08T09:31:00Z", last), covers("x.strace", "strace", "2025-11-08T09:31:00Z", last)},
			events:  []event.Event{complaintAt(1, utc("2025-11-08T09:33:10Z"), 3*time.Minute+10*time.Second), complaintAt(2, utc("2025-11-08T09:34:00Z"), 4*time.Minute)},
			want:    []string{"containerd.log containerd.log 09:30:00 09:31:00 the log begins inside the stall"},
		},
		{
			name:    "another file of the same writer has the beginning",
			sources: []*Source{covers("containerd.log.1", "containerd.log", "2025-11-08T08:00:00Z", "2025-11-08T09:31:00Z"), covers("containerd.log", "containerd.log", "2025-11-08T09:31:00Z", last)},
			events:  []event.Event{complaintAt(1, utc("2025-11-08T09:33:10Z"), 3*time.Minute+10*time.Second)},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := Input{Sources: tc.sources, Events: pointersTo(tc.events...)}
			if in.Sources == nil {
				in.Sources = cloneSources(sources)
			}
			var got []string
			for _, c := range Build(in, Options{}).Coverage {
				for _, g := range c.Gaps {
					got = append(got, fmt.Sprint(c.Source, " ", c.File, " ", g.Start.Format(time.TimeOnly), " ", g.End.Format(time.TimeOnly), " ", g.Reason))
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// A log that complains at every other line costs a bounded number of gaps, and hides all that it
// hid.
func TestGapsAreBounded(t *testing.T) {
	in := Input{Sources: []*Source{covers("messages", "kernel.log", "2025-11-08T00:00:00Z", "2025-11-09T00:00:00Z")}}
	for i := range 5000 {
		e := missing("messages", "2025-11-08T00:00:00Z", "2025-11-08T00:00:01Z", "kernel", "node")
		e.Start, e.End, e.Text = e.Start.Add(time.Duration(i)*10*time.Second), e.End.Add(time.Duration(i)*10*time.Second), fmt.Sprint(i, " lines are missing")
		in.Events = append(in.Events, &e)
	}
	gaps := Build(in, Options{}).Coverage[0].Gaps
	require.Len(t, gaps, maxGaps)
	require.Equal(t, utc("2025-11-08T00:00:01Z").Add(4999*10*time.Second), gaps[maxGaps-1].End)
}

package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// since is a stamp of the kernel's ring buffer.
func since(seconds float64) event.Time {
	return event.Time{T: bootEpoch.Add(time.Duration(seconds * float64(time.Second))), Lacks: event.LacksBoot, Prec: time.Microsecond, Known: true}
}

func ring(line int, seconds float64, text string) event.Event {
	e := ev("dmesg", line, since(seconds), says(text))
	e.Component = "kernel"
	return e
}

func kernelLine(line int, stamp, text string) event.Event {
	e := ev("messages", line, at(stamp), says(text))
	e.Component = "kernel"
	return e
}

func boots(file string, anchors ...Boot) *Source {
	return &Source{File: file, Name: "kernel.log", Clues: &Clues{Boots: anchors}}
}

func TestUptime(t *testing.T) {
	for _, tc := range []struct {
		name    string
		sources []*Source
		events  []event.Event
		want    []string
		basis   string
	}{
		{
			name:   "nothing tells the boot",
			events: []event.Event{ring(1, 42000.0091, "task a is stuck")},
			want:   []string{"no time"}, basis: "seconds since boot",
		},
		{
			name:    "lines that carry both clocks",
			sources: []*Source{boots("journal", Boot{Uptime: 42000 * time.Second, At: at("2025-11-08T01:30:00Z")})},
			events:  []event.Event{ring(1, 42010.5, "task a is stuck")},
			want:    []string{"2025-11-08T01:30:10.5Z"}, basis: "seconds since boot, at 2025-11-07T13:50:00Z by lines of the last boot that carry both clocks",
		},
		{
			name: "a wall clock without zone and year is settled first",
			sources: []*Source{
				boots("messages", Boot{Uptime: 42000 * time.Second, At: at("Nov 08 09:30:00"), Line: 5}),
				{File: "y.log", Name: "test.log", First: at("2025-11-08T09:00:00+08:00"), Last: at("2025-11-08T09:40:00+08:00"), Zones: []Zone{{28800, 2}}},
			},
			events: []event.Event{ring(1, 42010, "task a is stuck")},
			want:   []string{"2025-11-08T01:30:10Z"},
		},
		{
			name: "of several boots the last",
			sources: []*Source{boots("journal", Boot{Uptime: 900000 * time.Second, At: at("2025-11-07T00:00:00Z")}, Boot{Uptime: 10 * time.Second, At: at("2025-11-08T00:00:10Z")},
				Boot{Uptime: 3600 * time.Second, At: at("2025-11-08T01:00:00Z")})},
			events: []event.Event{ring(1, 60, "task a is stuck"), ring(2, 3610, "task b is stuck")},
			want:   []string{"2025-11-08T00:01:00Z", "2025-11-08T01:00:10Z"},
		},
		{
			name:    "a machine that slept for an hour: by the nearest line",
			sources: []*Source{boots("journal", Boot{Uptime: 100 * time.Second, At: at("2025-11-08T00:01:40Z")}, Boot{Uptime: 200 * time.Second, At: at("2025-11-08T01:03:20Z")})},
			events:  []event.Event{ring(1, 110, "task a is stuck"), ring(2, 190, "task b is stuck")},
			want:    []string{"2025-11-08T00:01:50Z", "2025-11-08T01:03:10Z"},
		},
		{
			name:   "a line that another file stamps by the wall",
			events: []event.Event{ring(1, 42000, "task a is stuck"), ring(2, 42120, "task b is stuck"), kernelLine(1, "2025-11-08T01:30:00Z", "task a is stuck")},
			want:   []string{"2025-11-08T01:30:00Z", "2025-11-08T01:32:00Z"}, basis: "seconds since boot, at 2025-11-07T13:50:00Z by lines that another file holds with the wall clock",
		},
		{
			name: "one that is there twice leaves the boot open",
			events: []event.Event{
				ring(1, 42000, "task a is stuck"), kernelLine(1, "2025-11-08T01:30:00Z", "task a is stuck"), kernelLine(2, "2025-11-08T05:30:00Z", "task a is stuck"),
			},
			want: []string{"no time"},
		},
		{
			name: "more lines decide",
			events: []event.Event{
				ring(1, 42000, "task a is stuck"), ring(2, 42120, "task a is stuck"), ring(3, 42240, "task b is stuck"),
				kernelLine(1, "2025-11-08T01:30:00Z", "task a is stuck"), kernelLine(2, "2025-11-08T01:32:00Z", "task a is stuck"), kernelLine(3, "2025-11-08T01:34:00Z", "task b is stuck"),
			},
			want: []string{"2025-11-08T01:30:00Z", "2025-11-08T01:32:00Z", "2025-11-08T01:34:00Z"},
		},
		{
			name: "what a daemon read at its start, hours later and all at once, does not decide",
			events: []event.Event{
				ring(1, 42000.1, "task a is stuck"), ring(2, 42000.2, "task b is stuck"), ring(3, 42000.3, "task c is stuck"), ring(4, 42240, "task d is stuck"),
				kernelLine(1, "2025-11-08T01:30:00Z", "task a is stuck"), kernelLine(2, "2025-11-08T01:34:00Z", "task d is stuck"),
				kernelLine(11, "2025-11-08T05:00:00Z", "task a is stuck"), kernelLine(12, "2025-11-08T05:00:00Z", "task b is stuck"), kernelLine(13, "2025-11-08T05:00:00Z", "task c is stuck"),
			},
			// the first is the same as in messages
			want: []string{"2025-11-08T01:30:00.1Z", "2025-11-08T01:30:00.2Z", "2025-11-08T01:33:59.9Z"},
		},
		{
			name:    "what was printed before the last boot has no time",
			sources: []*Source{boots("journal", Boot{Uptime: 10 * time.Second, At: at("2025-11-08T00:00:10Z")})},
			events:  []event.Event{ring(1, 9000, "task a is stuck"), ring(2, 20, "task b is stuck")},
			want:    []string{"no time", "2025-11-08T00:00:20Z"},
		},
		{
			name:    "a log read the first lines when it started: the line of the least delay counts for those around it",
			sources: []*Source{boots("journal", Boot{Uptime: time.Second, At: at("2025-11-08T00:00:41Z")}, Boot{Uptime: 601 * time.Second, At: at("2025-11-08T00:10:01Z")})},
			events:  []event.Event{ring(1, 3, "task a is stuck")},
			want:    []string{"2025-11-08T00:00:03Z"},
		},
		{
			name:    "journald's time since boot is when it read the line",
			sources: []*Source{boots("journal", Boot{Uptime: 30 * time.Second, At: at("2025-11-08T00:00:01Z"), Read: true}, Boot{Uptime: 601 * time.Second, At: at("2025-11-08T00:10:01Z"), Read: true})},
			events:  []event.Event{ring(1, 33, "task a is stuck")},
			want:    []string{"2025-11-08T00:00:33Z"},
		},
		{
			name:    "a clock that drifts is right in every hour",
			sources: []*Source{boots("journal", Boot{Uptime: 3600 * time.Second, At: at("2025-11-08T01:00:00Z")}, Boot{Uptime: 864000 * time.Second, At: at("2025-11-18T00:00:40Z")})},
			events:  []event.Event{ring(1, 3610, "task a is stuck"), ring(2, 864010, "task b is stuck")},
			want:    []string{"2025-11-08T01:00:10Z", "2025-11-18T00:00:50Z"},
		},
		{
			name:    "a file of two boots tells of both by its own lines",
			sources: []*Source{{File: "dmesg", Name: "kubelet.log", Clues: &Clues{Boots: []Boot{{Uptime: 9000 * time.Second, At: at("2025-11-07T02:30:00Z"), Line: 1}, {Uptime: 10 * time.Second, At: at("2025-11-08T00:00:10Z"), Line: 3}}}}},
			events:  []event.Event{ring(1, 9000, "task a is stuck"), ring(2, 9010, "task b is stuck"), ring(3, 10, "task c is stuck"), ring(4, 20, "task d is stuck")},
			want:    []string{"2025-11-07T02:30:00Z", "2025-11-07T02:30:10Z", "2025-11-08T00:00:10Z", "2025-11-08T00:00:20Z"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tl := Build(Input{Sources: tc.sources, Events: pointersTo(tc.events...)}, Options{})
			// copies are one event
			if tc.name == "more lines decide" || tc.name == "a line that another file stamps by the wall" {
				require.Equal(t, tc.want, starts(tl))
			} else {
				require.Equal(t, tc.want, times(tl, "dmesg"))
			}
			if tc.basis != "" {
				require.Equal(t, tc.basis, clockOf(tl, "dmesg").Basis)
			}
		})
	}
}

func starts(tl *Timeline) (all []string) {
	for _, e := range tl.Events {
		all = append(all, e.Start.T.Format(time.RFC3339Nano))
	}
	return all
}

// A report of a hung task reaches back from its line, also where that one shows seconds since boot.
func TestUptimeOfIntervals(t *testing.T) {
	hung := ring(1, 42120, "task a is stuck")
	hung.End, hung.Start = hung.Start, hung.Start.Add(-2*time.Minute)
	in := Input{Sources: []*Source{boots("journal", Boot{Uptime: 42000 * time.Second, At: at("2025-11-08T01:30:00Z")})}, Events: pointersTo(hung)}
	e := Build(in, Options{}).Events[0]
	require.Equal(t, "2025-11-08T01:30:00Z", e.Start.T.Format(time.RFC3339))
	require.Equal(t, 2*time.Minute, e.Duration())
	require.NotEmpty(t, e.Basis)

	hung.Start, hung.End = since(42000), since(42120)
	e = Build(Input{Events: pointersTo(hung)}, Options{}).Events[0]
	require.True(t, e.Start.IsZero())
	require.Zero(t, e.Duration())
}

// Any ring buffer beside one line that carries both clocks comes back in UTC.
func TestBuildRecoversUptimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		boot := time.Unix(rapid.Int64Range(1400000000, 1900000000).Draw(t, "boot"), 0).UTC()
		var in Input
		var truth []time.Time
		uptime := time.Duration(0)
		for i := range rapid.IntRange(1, 20).Draw(t, "lines") {
			uptime += time.Duration(rapid.Int64Range(0, int64(30*day)).Draw(t, "step")).Truncate(time.Microsecond)
			truth = append(truth, boot.Add(uptime))
			in.Events = append(in.Events, pointersTo(ring(i+1, 0, fmt.Sprint("line ", i)))...)
			in.Events[i].Start.T = bootEpoch.Add(uptime)
		}
		known := rapid.Int64Range(0, int64(uptime)).Draw(t, "stamped twice")
		in.Sources = []*Source{boots("journal", Boot{Uptime: time.Duration(known), At: event.At(boot.Add(time.Duration(known)))})}
		for _, e := range Build(in, Options{}).Events {
			require.Equal(t, truth[e.Pos().Line-1], e.Start.T)
		}
	})
}

func TestClockSteps(t *testing.T) {
	set := func(file string, line int, stamp string, by time.Duration) event.Event {
		e := ev(file, line, at(stamp), kind("clock.step"), says("the clock is set"), with("step", event.Duration(by)))
		if by > 0 {
			e.End, e.Start = e.Start, e.Start.Add(-by)
		}
		return e
	}
	one := func(file string, line int, stamp string) event.Event {
		return ev(file, line, at(stamp), says(fmt.Sprint(file, line)))
	}
	for _, tc := range []struct {
		name   string
		events []event.Event
		file   string
		want   []string
		note   string
	}{
		{
			name:   "set back: what was written before moves along",
			events: []event.Event{one("messages", 1, "2025-11-08T01:30:50Z"), set("messages", 2, "2025-11-08T01:30:00Z", -time.Minute), one("messages", 3, "2025-11-08T01:30:01Z")},
			file:   "messages", want: []string{"2025-11-08T01:29:50Z", "2025-11-08T01:30:00Z", "2025-11-08T01:30:01Z"}, note: "the clock was set by -1m0s (messages:2): earlier times were moved by as much",
		},
		{
			name: "another file shows where it was set",
			events: []event.Event{
				set("messages", 2, "2025-11-08T01:30:00Z", -time.Minute),
				one("x.log", 1, "2025-11-08T01:29:00Z"), one("x.log", 2, "2025-11-08T01:30:58Z"), one("x.log", 3, "2025-11-08T01:30:02Z"), one("x.log", 4, "2025-11-08T01:30:59Z"),
			},
			file: "x.log", want: []string{"2025-11-08T01:28:00Z", "2025-11-08T01:29:58Z", "2025-11-08T01:30:02Z", "2025-11-08T01:30:59Z"},
		},
		{
			name:   "a file that ends before it",
			events: []event.Event{set("messages", 2, "2025-11-08T01:30:00Z", -time.Minute), one("x.log", 1, "2025-11-08T01:29:00Z")},
			file:   "x.log", want: []string{"2025-11-08T01:28:00Z"},
		},
		{
			name:   "a file that shows no jump: what may be of before or after is both",
			events: []event.Event{set("messages", 2, "2025-11-08T01:30:00Z", -time.Minute), one("x.log", 1, "2025-11-08T01:29:00Z"), one("x.log", 2, "2025-11-08T01:30:30Z"), one("x.log", 3, "2025-11-08T01:33:00Z")},
			file:   "x.log", want: []string{"2025-11-08T01:28:00Z", "2025-11-08T01:29:30Z ±1m0s", "2025-11-08T01:33:00Z"}, note: "1 stamps can be from before or after: each is an interval with both",
		},
		{
			name:   "set forward: the time in between did not happen",
			events: []event.Event{set("messages", 2, "2025-11-08T01:31:00Z", time.Minute), one("x.log", 1, "2025-11-08T01:29:59Z"), one("x.log", 2, "2025-11-08T01:31:01Z")},
			file:   "x.log", want: []string{"2025-11-08T01:30:59Z", "2025-11-08T01:31:01Z"},
		},
		{
			name:   "twice",
			events: []event.Event{one("messages", 1, "2025-11-08T01:00:00Z"), set("messages", 2, "2025-11-08T01:31:00Z", time.Minute), one("messages", 3, "2025-11-08T01:31:01Z"), set("messages", 4, "2025-11-08T02:01:00Z", time.Minute), one("messages", 5, "2025-11-08T02:01:01Z")},
			file:   "messages", want: []string{"2025-11-08T01:02:00Z", "2025-11-08T01:31:00Z", "2025-11-08T01:32:01Z", "2025-11-08T02:00:00Z", "2025-11-08T02:01:01Z"},
		},
		{
			name: "twice, as another file shows it: what is from before the first step is before both",
			events: []event.Event{
				set("messages", 2, "2025-11-08T01:31:00Z", time.Minute), set("messages", 4, "2025-11-08T02:01:00Z", time.Minute),
				one("x.log", 1, "2025-11-08T01:29:59Z"), one("x.log", 2, "2025-11-08T01:31:01Z"), one("x.log", 3, "2025-11-08T01:59:59Z"), one("x.log", 4, "2025-11-08T02:01:01Z"),
			},
			file: "x.log", want: []string{"2025-11-08T01:31:59Z", "2025-11-08T01:32:01Z", "2025-11-08T02:00:59Z", "2025-11-08T02:01:01Z"},
		},
		{
			name:   "by hours: nobody knows since when it was wrong",
			events: []event.Event{one("messages", 1, "2025-11-08T01:00:00Z"), set("messages", 2, "2025-11-08T09:30:00Z", 8*time.Hour), one("messages", 3, "2025-11-08T09:31:01Z")},
			file:   "messages", want: []string{"2025-11-08T01:00:00Z", "2025-11-08T01:30:00Z", "2025-11-08T09:31:01Z"}, note: "earlier times are as the clock showed them",
		},
		{
			name: "set back by hours: what shows more than the clock did afterwards was wrong",
			events: []event.Event{
				one("messages", 1, "2025-11-08T01:00:00Z"), one("messages", 2, "2025-11-08T04:29:00Z"), one("messages", 3, "2025-11-08T04:30:00Z"), one("messages", 4, "2025-11-08T01:30:05Z"),
				set("messages", 5, "2025-11-08T01:30:06Z", -3*time.Hour), one("messages", 6, "2025-11-08T01:31:00Z"),
			},
			file: "messages", want: []string{"2025-11-08T01:00:00Z", "2025-11-08T01:29:00Z", "2025-11-08T01:30:00Z", "2025-11-08T01:30:05Z", "2025-11-08T01:30:06Z", "2025-11-08T01:31:00Z"}, note: "earlier times were moved by as much",
		},
		{
			name:   "by less than a second",
			events: []event.Event{one("messages", 1, "2025-11-08T01:00:00Z"), set("messages", 2, "2025-11-08T01:30:00Z", -300*time.Millisecond)},
			file:   "messages", want: []string{"2025-11-08T01:00:00Z", "2025-11-08T01:30:00Z"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tl := Build(Input{Events: pointersTo(tc.events...)}, Options{})
			require.Equal(t, tc.want, times(tl, tc.file))
			require.Contains(t, clockOf(tl, tc.file).Note, tc.note)
		})
	}
}

// TestClockSetOften holds that an event says once that the clock was set afterwards, however often
// it was: its basis does not grow with the settings.
func TestClockSetOften(t *testing.T) {
	var in Input
	for i := range 50 {
		e := ev("messages", i+1, at("2025-11-08T01:30:00Z"), kind("clock.step"), says(fmt.Sprint("set ", i)), with("step", event.Duration(-2*time.Second)))
		e.Start = e.Start.Add(time.Duration(i) * time.Minute)
		in.Events = append(in.Events, pointersTo(e)...)
	}
	tl := Build(in, Options{})
	first := tl.Events[0]
	require.Equal(t, 1, first.Pos().Line)
	require.Equal(t, "the clock was set 49 times, first by -2s (messages:2) and last by -2s (messages:50): "+
		"earlier times were moved by as much", clockOf(tl, "messages").Note)
	require.Equal(t, 1, strings.Count(first.Basis, "the clock was set afterwards"), first.Basis)
}

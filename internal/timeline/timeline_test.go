package timeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// The tests write times as logs do. What a text leaves out, the stamp lacks:
//
//	2025-11-08T09:30:11.885+08:00   an instant, exact
//	2025-11-08T09:30:11             no zone
//	Nov 08 09:30:11                 no zone, no year; to the second
//	09:30:11.885000                 no date either; to the microsecond
func at(text string) event.Time {
	for _, l := range []struct {
		layout string
		lacks  event.Lacks
		prec   time.Duration
	}{
		{time.RFC3339Nano, 0, 0},
		{"2006-01-02T15:04:05", event.LacksZone, time.Second},
		{"Jan 02 15:04:05.000000", event.LacksZone | event.LacksYear, time.Microsecond},
		{"Jan 02 15:04:05", event.LacksZone | event.LacksYear, time.Second},
		{"15:04:05.000000", event.LacksZone | event.LacksYear | event.LacksDate, time.Microsecond},
		{"15:04:05", event.LacksZone | event.LacksYear | event.LacksDate, time.Second},
	} {
		if t, err := time.Parse(l.layout, text); err == nil {
			if l.lacks&event.LacksDate != 0 {
				t = time.Date(0, 1, 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
			}
			return event.Time{T: t.UTC(), Lacks: l.lacks, Prec: l.prec, Known: true}
		}
	}
	panic("not a time: " + text)
}

func utc(text string) time.Time { return at(text).T }

// ev is an event of kind "test" that was written at line of file.
func ev(file string, line int, start event.Time, change ...func(*event.Event)) event.Event {
	e := event.Event{
		Kind: "test", Start: start, Source: "test.log",
		Evidence: []event.Quote{{Pos: event.Pos{File: file, Line: line}, Text: fmt.Sprintf("%s:%d", file, line)}},
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func kind(k event.Kind) func(*event.Event) { return func(e *event.Event) { e.Kind = k } }

func says(text string) func(*event.Event) { return func(e *event.Event) { e.Text = text } }

func of(container string) func(*event.Event) {
	return func(e *event.Event) { e.IDs.Container = container }
}

func with(key event.Key, v event.Value) func(*event.Event) {
	return func(e *event.Event) { e.Fields = append(e.Fields, event.Field{Key: key, Value: v}) }
}

func text(key event.Key, v string) func(*event.Event) { return with(key, event.String(v)) }

// took makes an interval that ends at the event's time, as a line does that tells how long
// something took.
func took(d time.Duration) func(*event.Event) {
	return func(e *event.Event) { e.End, e.Start = e.Start, e.Start.Add(-d) }
}

func edge(key string, edge event.Edge) func(*event.Event) {
	return func(e *event.Event) { e.Span.Key, e.Span.Edge = key, edge }
}

func foreign(e *event.Event) { e.Span.Foreign = true }

// covers is a source that spans from one stamp to another.
func covers(file, name, first, last string) *Source {
	return &Source{File: file, Name: name, First: at(first), Last: at(last)}
}

// A container dies while its node's clock runs in China. The journal was saved
// in the short format, which writes neither year nor zone, and a trace
// writes not even the date. One line of containerd tells when the container exited, in UTC.
func ExampleBuild() {
	exit := ev("containerd.log", 7, at("2025-11-08T01:30:01.123Z"), kind("containerd.task-exit"), of("40585f73aa"), says("container 40585f73aa exited"))
	lost := ev("containerd.log", 8, at("Nov 08 09:30:21"), says("the shim does not answer"))
	umount := ev("shim.strace", 3, at("09:30:01.200000"), of("40585f73aa"), says("umount2"))
	logs := covers("containerd.log", "containerd.log", "Nov 08 09:29:55", "Nov 08 09:31:00")
	logs.Clues = &Clues{Pairs: []Pair{{Local: at("Nov 08 09:30:11"), True: utc("2025-11-08T01:30:01.123Z"), Late: true}}}

	tl := Build(Input{Events: pointersTo(lost, umount, exit), Sources: []*Source{logs}}, Options{})
	for _, e := range tl.Events {
		fmt.Println(e.Start.T.Format(time.RFC3339Nano), e.Text)
		if e.Basis != "" {
			fmt.Println("  " + e.Basis)
		}
	}
	// Output:
	// 2025-11-08T01:30:01.123Z container 40585f73aa exited
	// 2025-11-08T01:30:01.2Z umount2
	//   zone +08:00 as in the node's other files, date from events of the same container
	// 2025-11-08T01:30:21Z the shim does not answer
	//   zone +08:00 from lines that tell, a little later, of a moment in UTC, year 2025 from lines that carry both clocks
}

// The kubelet complains twice about one relist; the third complaint is about the next one.
func ExampleBuild_stalls() {
	complain := func(line int, at string, age time.Duration) event.Event {
		return complaintAt(line, utc(at), age)
	}
	tl := Build(Input{
		Events: pointersTo(
			complain(1, "2025-11-08T01:33:00.5Z", 3*time.Minute),
			complain(2, "2025-11-08T01:34:00.5Z", 4*time.Minute),
			complain(3, "2025-11-08T01:37:03Z", 3*time.Minute),
		),
		Sources: []*Source{covers("kubelet.log", "kubelet.log", "2025-11-08T01:00:00Z", "2025-11-08T01:37:05Z")},
	}, Options{})
	for _, s := range tl.Stalls {
		fmt.Println(s.Start.Format(time.TimeOnly), "to", s.End.Format(time.TimeOnly), "open:", s.Open)
	}
	// Output:
	// 01:30:00 to 01:34:00 open: false
	// 01:34:03 to 01:37:03 open: true
}

func TestFacts(t *testing.T) {
	known := func(line int, start event.Time, name, value string) event.Event {
		return ev("f.log", line, start, kind("fact"), text("name", name), text("value", value))
	}
	tl := Build(Input{Events: pointersTo(
		known(9, event.Time{}, "cgroup", "from the file"),
		known(2, at("2025-11-08T02:00:00Z"), "cgroup", "later"),
		known(1, at("2025-11-08T01:00:00Z"), "cgroup", "earlier"),
		known(8, event.Time{}, "mount", "volatile"),
	)}, Options{})
	require.Len(t, tl.Events, 4, "facts stay on the timeline")
	require.Equal(t, "later", tl.Facts["cgroup"].Value)
	require.Equal(t, "f.log:2", tl.Facts["cgroup"].Evidence[0].Text)
	require.Equal(t, "volatile", tl.Facts["mount"].Value, "a file without a time counts where no log tells")
}

func TestBuildOfNothing(t *testing.T) {
	tl := Build(Input{}, Options{})
	require.Empty(t, tl.Events)
	require.Empty(t, tl.Clocks)
	require.Empty(t, tl.Stalls)
}

// events draws events of all kinds that the timeline treats in a special way, from three files with
// three sorts of stamps.
func drawInput(t *rapid.T) Input {
	files := []struct {
		name  string
		lacks event.Lacks
		prec  time.Duration
	}{
		{"a.json", 0, 0},
		{"b.short", event.LacksZone | event.LacksYear, time.Second},
		{"c.strace", event.LacksZone | event.LacksYear | event.LacksDate, time.Microsecond},
		{"d.short", event.LacksZone | event.LacksYear, time.Microsecond},
	}
	base := utc("2025-12-31T23:50:00Z")
	n := rapid.IntRange(0, 40).Draw(t, "events")
	var in Input
	for i := range n {
		f := files[rapid.IntRange(0, len(files)-1).Draw(t, "file")]
		truth := base.Add(time.Duration(rapid.IntRange(0, 1200).Draw(t, "second"))*time.Second + time.Duration(rapid.IntRange(0, 9).Draw(t, "tenth"))*100*time.Millisecond)
		e := ev(f.name, i+1, localOf(truth, 8*time.Hour, f.lacks, f.prec))
		id := rapid.SampledFrom([]string{"", "aaaaaa11", "aaaaaa11bbbb", "cccccc33"}).Draw(t, "container")
		e.IDs.Container = id
		switch rapid.IntRange(0, 8).Draw(t, "sort") {
		case 0:
			e.Kind, e.Span = "cri.call", event.Span{Key: "cri/Update/" + id, Edge: event.Edge(rapid.IntRange(0, 2).Draw(t, "edge"))}
			e.Fields = []event.Field{{Key: "method", Value: event.String("Update")}}
		case 1:
			e.Kind, e.Span = "systemd.scope-start", event.Span{Key: "scope/" + id, Edge: event.Edge(rapid.IntRange(1, 2).Draw(t, "edge"))}
			e.Span.Foreign = e.Span.Edge == event.Begin
		case 2:
			e.Kind = "kubelet.pleg-unhealthy"
			e.Fields = []event.Field{{Key: "age", Value: event.Duration(time.Duration(rapid.IntRange(180, 300).Draw(t, "age")) * time.Second)}}
		case 3:
			e.Kind, e.Fields = "kubelet.pleg-unhealthy", []event.Field{{Key: "never", Value: event.Bool(true)}}
		case 4:
			e.Kind, e.IDs.Goroutine, e.IDs.Lock = "lock.held", uint64(rapid.IntRange(1, 3).Draw(t, "goroutine")), "0xc0"
			e.Fields = []event.Field{{Key: "call", Value: event.String("Update")}, {Key: "id_ptr", Value: event.String("0xc1")}}
		case 5:
			e.End, e.Start = e.Start, e.Start.Add(-time.Duration(rapid.IntRange(0, 300).Draw(t, "took"))*time.Second)
		case 6:
			e.Start = event.Time{}
		case 7:
			e.Kind, e.Fields = "fact", []event.Field{{Key: "name", Value: event.String("n")}, {Key: "value", Value: event.String(fmt.Sprint(i))}}
		}
		in.Events = append(in.Events, &e)
	}
	for _, f := range files {
		in.Sources = append(in.Sources, &Source{
			File: f.name, Name: "test.log",
			First: localOf(base, 8*time.Hour, f.lacks, f.prec), Last: localOf(base.Add(20*time.Minute), 8*time.Hour, f.lacks, f.prec),
		})
	}
	if rapid.Bool().Draw(t, "pairs") {
		in.Sources[1].Clues = &Clues{Pairs: []Pair{{Local: localOf(base, 8*time.Hour, files[1].lacks, time.Second), True: base}}}
	}
	return in
}

// localOf is what a clock at an offset shows of an instant when it leaves something out.
func localOf(truth time.Time, offset time.Duration, lacks event.Lacks, prec time.Duration) event.Time {
	t := event.Time{T: truth.UTC(), Lacks: lacks, Prec: prec, Known: true}
	if prec > 0 {
		t.T = t.T.Truncate(prec)
	}
	if lacks&event.LacksZone != 0 {
		t.T = t.T.Add(offset)
	}
	switch {
	case lacks&event.LacksDate != 0:
		t.T = time.Date(0, 1, 1, t.T.Hour(), t.T.Minute(), t.T.Second(), t.T.Nanosecond(), time.UTC)
	case lacks&event.LacksYear != 0:
		t.T = inYear(t.T, 0)
	}
	return t
}

// pointersTo are events as a timeline holds them: not copied.
func pointersTo(events ...event.Event) []*event.Event {
	all := make([]*event.Event, len(events))
	for i := range events {
		all[i] = &events[i]
	}
	return all
}

// cloneSources are sources that Build may own.
func cloneSources(sources []*Source) (all []*Source) {
	for _, s := range sources {
		own := *s
		all = append(all, &own)
	}
	return all
}

// clone is an input that Build may own.
func clone(in Input) Input {
	out := Input{Sources: cloneSources(in.Sources)}
	for _, e := range in.Events {
		own := *e
		own.Fields = append([]event.Field(nil), e.Fields...)
		own.Evidence = append([]event.Quote(nil), e.Evidence...)
		out.Events = append(out.Events, &own)
	}
	return out
}

// Whatever order files and lines come in, the timeline is the same; it is in
// order, every time is whole, and nothing lasts less than nothing.
func TestBuildLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		want := Build(clone(in), Options{})
		for i, e := range want.Events {
			require.Zero(t, e.Start.Lacks|e.End.Lacks)
			require.GreaterOrEqual(t, e.Duration(), time.Duration(0), "%+v", e)
			require.NotEmpty(t, e.Evidence)
			if i > 0 {
				require.LessOrEqual(t, event.Compare(want.Events[i-1], e), 0)
			}
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(in.Events), func(i, j int) { in.Events[i], in.Events[j] = in.Events[j], in.Events[i] })
		r.Shuffle(len(in.Sources), func(i, j int) { in.Sources[i], in.Sources[j] = in.Sources[j], in.Sources[i] })
		require.Equal(t, want, Build(clone(in), Options{}))
	})
}

// TestDense: neither a dozen lines over hours are dense, nor thousands of one second.
func TestDense(t *testing.T) {
	for _, c := range []struct {
		lines int
		span  time.Duration
		want  bool
	}{
		{199, time.Hour, false},
		{200, 10 * time.Minute, true},
		{1999, 9 * time.Minute, false},
		{2000, time.Minute, true},
		{100_000, 59 * time.Second, false},
	} {
		start := time.Unix(1764000000, 0)
		covered := Coverage{Lines: c.lines, Start: start, End: start.Add(c.span)}
		require.Equal(t, c.want, covered.IsDense(), "%d lines over %s", c.lines, c.span)
	}
}

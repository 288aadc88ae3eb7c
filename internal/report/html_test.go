package report_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// A page never grows beyond what mail takes, and says what it leaves out.
func TestPageIsBounded(t *testing.T) {
	wide := strings.Repeat(`<"&'`, 4000)
	marks := "e" + strings.Repeat("\u0301", 8000)
	for name, grow := range map[string]func(*incident.Incident){
		"stalls": func(inc *incident.Incident) {
			stall := inc.Timeline.Stalls[0]
			inc.Timeline.Stalls = nil
			for i := range 4000 {
				s := stall
				s.Start, s.End = s.Start.Add(time.Duration(i)*time.Hour), s.End.Add(time.Duration(i)*time.Hour)
				inc.Timeline.Stalls = append(inc.Timeline.Stalls, s)
			}
			inc.Window.End = inc.Timeline.Stalls[3999].End
		},
		"findings": func(inc *incident.Incident) {
			f := inc.Result.Findings[0]
			for range 5000 {
				inc.Result.Findings = append(inc.Result.Findings, f)
			}
		},
		"steps": func(inc *incident.Incident) {
			f := &inc.Result.Findings[0]
			for range 50_000 {
				f.Chain = append(f.Chain, f.Chain[0])
			}
		},
		"events with wide texts": func(inc *incident.Incident) {
			for i := range 3000 {
				inc.Timeline.Events = append(inc.Timeline.Events, &event.Event{
					Kind: "cri.call", Component: wide, Text: marks, Basis: wide, Start: event.At(inc.Window.Start.Add(time.Duration(i) * time.Second)),
					Evidence: []event.Quote{quote(wide, i, marks)},
				})
			}
		},
		"everything wide": func(inc *incident.Incident) {
			for i := range 2000 {
				q := []event.Quote{quote(wide, i, wide), quote(marks, i, marks)}
				inc.Result.RuledOut = append(inc.Result.RuledOut, rules.Dismissed{Rule: wide, Why: wide, Evidence: q})
				inc.Result.Harmless = append(inc.Result.Harmless, story.Harmless{Name: wide, Why: marks, Evidence: q})
				inc.Timeline.Facts[fmt.Sprint(wide, i)] = timeline.Fact{Value: wide, Evidence: q}
				inc.Timeline.Clocks = append(inc.Timeline.Clocks, timeline.Clock{File: wide, Basis: fmt.Sprint(i, wide)})
				inc.Files = append(inc.Files, &incident.File{Path: fmt.Sprint(i, wide), Err: wide, Note: marks, FirstSkip: wide})
				inc.Result.Findings[0].Notes = append(inc.Result.Findings[0].Notes, wide)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inc := proven()
			grow(inc)
			var out bytes.Buffer
			require.NoError(t, report.HTML(&out, inc, report.Options{Verbose: true}))
			require.LessOrEqual(t, out.Len(), 5<<20)
			require.Contains(t, out.String(), "left out")
			require.Contains(t, out.String(), "</html>")
			drawings := strings.Count(out.String(), `class="area"`)
			require.LessOrEqual(t, strings.Count(out.String(), `class="axis"`), 9*drawings)
		})
	}
}

// TestManyIncidentsAreFolded holds that the first incidents of a bundle are listed, and the others
// one click away: the picture is what to see next.
func TestManyIncidentsAreFolded(t *testing.T) {
	for count, want := range map[int]string{9: "", 10: "2 more", 40: "32 more"} {
		inc := proven()
		inc.Result.Episodes = inc.Result.Episodes[:1] // of the headline
		for i := 1; i < count; i++ {
			start := inc.Window.Start.Add(time.Duration(i) * time.Hour)
			inc.Result.Episodes = append(inc.Result.Episodes, story.Episode{Window: timeline.Window{Start: start, End: start.Add(time.Minute)}})
		}
		var out bytes.Buffer
		require.NoError(t, report.HTML(&out, inc, report.Options{}))
		page := out.String()
		require.Contains(t, page, fmt.Sprintf("%d incidents in this bundle", count))
		folded := strings.Contains(page, `<ol start="9">`)
		require.Equal(t, want != "", folded, count)
		require.Contains(t, page, "<summary>"+want)
	}
}

// Goroutines are counted by what they wait for, in typed fields: two sentences about one lock are
// one group, and one sentence about two locks is two.
func TestGoroutinesGroupByFields(t *testing.T) {
	inc := proven()
	wait := func(kind event.Kind, lock, text string, fields ...event.Field) {
		inc.Timeline.Events = append(inc.Timeline.Events, &event.Event{
			Kind: kind, Component: "containerd", Text: text, IDs: event.IDs{Lock: lock}, Fields: fields,
			Evidence: []event.Quote{quote("containerd.43.stacks.log", 2109, "goroutine 492 [select, 1 minutes]:")},
		})
	}
	wait(event.KindLockWait, "0xc000130f80", "waits for the lock, to read")
	wait(event.KindLockWait, "0xc000130f80", "waits for the lock, to write")
	wait(event.KindLockWait, "0xc000999000", "waits for the lock, to read")
	wait(event.KindGoroutine, "", "waiting for the shim", event.Field{Key: event.FieldDoing, Value: event.String("shim")})
	var out bytes.Buffer
	require.NoError(t, report.HTML(&out, inc, report.Options{}))
	_, page, found := strings.Cut(out.String(), "Goroutines that wait (3)")
	require.True(t, found)
	page, _, _ = strings.Cut(page, "</table>")
	require.Contains(t, page, `<tr><td class="n">2</td><td>containerd</td><td>waits for the lock, to read</td>`)
	require.Contains(t, page, `<tr><td class="n">1</td><td>containerd</td><td>waits for the lock, to read</td>`)
	require.NotContains(t, page, "to write")
}

// The graph of waits has what a chain ends in on top, and below it, level by level, who waits: a
// holder that waits for another lock stands below the holder of that one, and a deadlock has an
// end.
func TestWaitGraph(t *testing.T) {
	inc := proven()
	inc.Timeline.Events = nil
	line := 0
	add := func(kind event.Kind, goroutine uint64, lock, call string, fields ...event.Field) {
		line++
		inc.Timeline.Events = append(inc.Timeline.Events, &event.Event{
			Kind: kind, Component: "containerd", IDs: event.IDs{Lock: lock, Goroutine: goroutine},
			Fields:   append(fields, event.Field{Key: event.FieldCall, Value: event.String(call)}),
			Evidence: []event.Quote{quote("dump.log", line, "goroutine")},
		})
	}
	add(event.KindLockHeld, 1, "0xa", "Update", event.Field{Key: event.FieldWaiting, Value: event.String("waiting for the shim")})
	add(event.KindLockHeld, 2, "0xb", "Stop")
	add(event.KindLockWait, 2, "0xa", "Stop")
	for g := range uint64(3) {
		add(event.KindLockWait, 10+g, "0xb", "ListContainers")
	}
	add(event.KindLockHeld, 20, "0xc", "Left")
	add(event.KindLockWait, 20, "0xd", "Left")
	add(event.KindLockHeld, 21, "0xd", "Right")
	add(event.KindLockWait, 21, "0xc", "Right")
	add(event.KindLockQueue, 30, "0xe", "Exec", event.Field{Key: event.FieldWaiters, Value: event.Int(7)})
	var out bytes.Buffer
	require.NoError(t, report.HTML(&out, inc, report.Options{}))
	_, graph, found := strings.Cut(out.String(), `<svg class="waits"`)
	require.True(t, found)
	graph, _, _ = strings.Cut(graph, "<details")
	var nodes []string
	for _, m := range regexp.MustCompile(`class="label wide" x="(\d+)"[^>]*>([^<]*)`).FindAllStringSubmatch(graph, -1) {
		nodes = append(nodes, m[1]+" "+m[2])
	}
	require.Equal(t, []string{
		"9 containerd: waiting for the shim",
		"31 goroutine 1, Update, holds the lock 0xa",
		"53 goroutine 2, Stop, holds the lock 0xb",
		"75 3 × ListContainers waiting",
		"9 containerd: a deadlock: each waits for a lock that the next one holds",
		"31 goroutine 20, Left, holds the lock 0xc",
		"53 goroutine 21, Right, holds the lock 0xd",
		"9 containerd: the dump does not show who holds the lock 0xe",
		"31 7 × Exec waiting",
	}, nodes)
}

// A bar carries its name and how long it lasted; calls in a row add up, calls at the same time do
// not; a step with several kinds of events is called by its own text.
func TestBarsHaveNames(t *testing.T) {
	inc := proven()
	chain := inc.Result.Findings[0].Chain
	call := func(kind event.Kind, name event.Key, value, start, end string) *event.Event {
		return &event.Event{
			Kind: kind, Component: "containerd", IDs: event.IDs{Container: container, TID: 7}, Text: "made by " + container[:12],
			Start: event.Time{T: at(start), Known: true}, End: event.Time{T: at(end), Known: true},
			Fields:   []event.Field{{Key: name, Value: event.String(value)}},
			Evidence: []event.Quote{quote("all.log", 7, value)},
		}
	}
	first := call(event.KindSyscall, event.FieldName, "umount2", "18:25:36", "18:26:36")
	again := call(event.KindSyscall, event.FieldName, "umount2", "18:26:36.5", "18:27:36.5")
	chain[0].Start, chain[0].Duration, chain[0].Events = first.Start.T, time.Minute, []*event.Event{first}
	chain[1].Events = []*event.Event{
		call(event.KindCRICall, event.FieldMethod, "ListContainers", "18:25:40", "18:26:40"),
		call(event.KindCRICall, event.FieldMethod, "ListContainers", "18:25:50", "18:27:00"),
	}
	chain[2].Text = "the shim does not answer for " + container[:12]
	chain[2].Start, chain[2].Duration, chain[2].AtLeast = at("18:25:40"), 30*time.Second, false
	chain[2].Events = []*event.Event{
		call(event.KindStateTimeout, event.FieldError, "x", "18:25:40", "18:25:40"),
		call(event.KindDeleteFailed, event.FieldError, "x", "18:26:10", "18:26:10"),
	}
	inc.Timeline.Events = pointersTo(*again)
	var out bytes.Buffer
	require.NoError(t, report.HTML(&out, inc, report.Options{}))
	for _, label := range []string{
		"<tspan>umount2 1m0s; 2 × umount2,</tspan> <tspan class=\"length\">together 2m0s</tspan>",
		"<tspan>2 × ListContainers,</tspan> <tspan class=\"length\">longest 1m10s</tspan>",
		"<tspan>the shim does not answer</tspan> <tspan class=\"length\">30s</tspan>",
	} {
		require.Contains(t, out.String(), label)
	}
}

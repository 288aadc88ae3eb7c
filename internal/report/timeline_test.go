package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// told is a timeline made by hand: an instant, an interval of the root's chain, one that is open,
// one without a time.
func told() *report.Selection {
	inc := proven()
	ms := func(s string) event.Time { return event.Time{T: at(s), Known: true, Prec: time.Microsecond} }
	events := []event.Event{
		{Kind: "containerd.task-exit", Component: "containerd", Start: ms("18:25:36.161354"), Level: event.Debug, IDs: event.IDs{Container: container, PID: 2375}, Text: "container b39895a86a9e exited", Fields: []event.Field{{Key: "exit_status", Value: event.Int(137)}}, Evidence: inc.Result.Findings[0].Chain[0].Evidence},
		{Kind: "syscall", Component: "process", Start: ms("18:25:36.201"), End: ms("18:26:36.202"), Basis: "date from the exit", IDs: event.IDs{Container: container, TID: 9100}, Text: "umount2 in thread 9100", Evidence: inc.Result.Findings[0].Chain[1].Evidence},
		{Kind: "cri.call", Component: "containerd", Start: ms("18:25:40"), End: ms("18:27:00"), Open: true, Text: "ListContainers", Evidence: []event.Quote{quote("containerd.log", 900, "=1+1")}},
		{Kind: "kubelet.node-not-ready", Component: "kubelet", Start: ms("18:28:36"), Text: "=HYPERLINK(\"http://evil\")\x1b[31m", Level: event.Error, Evidence: []event.Quote{quote("kubelet.log", 5, "node \xff\u202e")}},
		{Kind: "goroutine.wait", Component: "shim", Text: "goroutine 7 waits in umount", IDs: event.IDs{Goroutine: 7}, Evidence: []event.Quote{quote("dump.txt", 4, "goroutine 7")}},
	}
	inc.Timeline = &timeline.Timeline{Events: pointersTo(events...), Stalls: inc.Timeline.Stalls}
	for i := range 2 {
		inc.Result.Findings[0].Chain[i].Events = []*event.Event{&events[i]}
	}
	return &report.Selection{Incident: inc, Events: inc.Timeline.Select(timeline.Filter{})}
}

func TestTimelineGolden(t *testing.T) {
	for _, f := range report.TimelineFormats {
		t.Run(f.Name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, f.Render(&out, told(), report.Options{Version: "v0"}))
			golden(t, "timeline/"+f.Name+".golden", out.Bytes())
			for _, r := range out.String() {
				require.True(t, r == '\n' || r == ' ' || unicode.IsPrint(r), "%U", r)
			}
			require.ErrorIs(t, f.Render(full{}, told(), report.Options{}), errFull)
			require.NoError(t, f.Render(&out, &report.Selection{Incident: proven()}, report.Options{}), "an empty one")
		})
	}
	var out bytes.Buffer
	require.NoError(t, report.TimelineText(&out, told(), report.Options{Width: 80}))
	golden(t, "timeline/chart.golden", out.Bytes())
	chart, _, _ := strings.Cut(out.String(), "2026-11-20 UTC")
	for line := range strings.Lines(chart) {
		require.LessOrEqual(t, len([]rune(line)), 81)
	}
}

// Of units that are in one state since the node started one line tells, except of what runs the
// containers, what failed, and what the chain quotes.
func TestTimelineFoldsUnits(t *testing.T) {
	sel := told()
	chain := sel.Incident.Result.Findings[0].Chain[0].Evidence[0]
	unit := func(name, state string, q event.Quote) {
		sel.Events = append(sel.Events, &event.Event{
			Kind: "systemd.unit", Component: "systemd", Start: event.Time{T: at("18:00:00"), Known: true}, Text: name + " is " + state,
			Fields: []event.Field{{Key: "unit", Value: event.String(name)}, {Key: "state", Value: event.String(state)}}, Evidence: []event.Quote{q},
		})
	}
	for i, name := range []string{"a.mount", "b.mount", "containerd.service", "c.mount", "d.mount", "e.mount"} {
		unit(name, "active", quote("systemctl_status_--all", i+1, name))
	}
	unit("f.mount", "failed", quote("systemctl_status_--all", 7, "f.mount"))
	unit("g.mount", "active", event.Quote{Pos: chain.Pos})
	var out bytes.Buffer
	require.NoError(t, report.TimelineText(&out, sel, report.Options{}))
	_, units, _ := strings.Cut(out.String(), "goroutine 7")
	var texts []string
	for _, m := range regexp.MustCompile(`systemd +(.*?)  `).FindAllStringSubmatch(units, -1) {
		texts = append(texts, m[1])
	}
	require.Equal(t, []string{
		"5 units are active: a.mount, b.mount, c.mount and 2 more, see --verbose",
		"containerd.service is active", "f.mount is failed", "g.mount is active",
	}, texts)
	out.Reset()
	require.NoError(t, report.TimelineText(&out, sel, report.Options{Verbose: true}))
	require.Equal(t, 8, strings.Count(out.String(), " is active")+strings.Count(out.String(), " is failed"))
}

func TestTimelineCSVIsSafe(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report.TimelineCSV(&out, told(), report.Options{}))
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 6)
	for _, row := range rows {
		require.Len(t, row, len(rows[0]))
		for _, cell := range row {
			require.NotRegexp(t, `^[=+@-]`, cell, "a spreadsheet would run it")
		}
	}
}

// The rules by which the Perfetto UI imports JSON: begins and ends pair by category and id, flows
// have two ends inside slices of their thread, slices of one thread do not overlap, numbers of
// processes are not 0.
func TestPerfettoRules(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report.Perfetto(&out, told(), report.Options{}))
	var doc struct {
		TraceEvents []struct {
			Name, Cat, Ph, ID, S, BP string
			TS, Dur                  int64
			PID, TID                 int
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
	type slice struct{ pid, tid int }
	open, flows, slices := map[string]int64{}, map[string]int{}, map[slice][2]int64{}
	for _, e := range doc.TraceEvents {
		require.NotZero(t, e.PID)
		require.NotEmpty(t, e.Name)
		switch e.Ph {
		case "M":
		case "i":
			require.Equal(t, "p", e.S)
		case "X":
			require.Positive(t, e.Dur)
			require.NotContains(t, slices, slice{e.PID, e.TID}, "one slice a line")
			slices[slice{e.PID, e.TID}] = [2]int64{e.TS, e.TS + e.Dur}
		case "b":
			require.NotContains(t, open, e.Cat+e.ID)
			open[e.Cat+e.ID] = e.TS
		case "e":
			require.Contains(t, open, e.Cat+e.ID)
			require.GreaterOrEqual(t, e.TS, open[e.Cat+e.ID])
			delete(open, e.Cat+e.ID)
		case "s", "f":
			in := slices[slice{e.PID, e.TID}]
			require.True(t, in[0] <= e.TS && e.TS <= in[1], "a flow begins and ends inside a slice")
			flows[e.ID]++
		default:
			t.Fatalf("phase %q", e.Ph)
		}
	}
	require.Empty(t, open)
	require.NotEmpty(t, flows)
	for id, ends := range flows {
		require.Equal(t, 2, ends, id)
	}
}

func TestTimesketchRows(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report.Timesketch(&out, told(), report.Options{}))
	rows := 0
	for line := range strings.Lines(out.String()) {
		var row struct {
			Message, Datetime string
			TimestampDesc     string `json:"timestamp_desc"`
			Timestamp         int64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		require.NotEmpty(t, row.Message)
		require.NotEmpty(t, row.TimestampDesc)
		at, err := time.Parse("2006-01-02T15:04:05.000000-07:00", row.Datetime)
		require.NoError(t, err)
		require.Equal(t, row.Timestamp, at.UnixMicro())
		rows++
	}
	require.Equal(t, 6, rows, "two of the intervals have two ends, the undated event has none")
}

// hostileTimeline has evil in every event too.
func hostileTimeline() *incident.Incident {
	inc := hostile()
	evil := inc.Result.Findings[0].Title + `"><script>window.evil=1</script><img src=x onerror="window.evil=1">`
	for i := range 3 {
		start := event.Time{T: inc.Window.Start.Add(time.Duration(i) * 10 * time.Second), Known: true}
		inc.Timeline.Events = append(inc.Timeline.Events, &event.Event{
			Kind: event.Kind(evil), Component: evil, Start: start, End: event.Time{T: start.T.Add(5 * time.Second), Known: true}, Basis: evil, Text: evil,
			IDs: event.IDs{Container: evil, Pod: evil, Lock: evil}, Fields: []event.Field{{Key: event.Key(evil), Value: event.String(evil)}},
			Evidence: []event.Quote{quote(evil, 3, evil+strings.Repeat("x", 1<<20))},
		})
	}
	return inc
}

// No output of a hostile bundle holds anything that a terminal, a browser or a spreadsheet would
// obey.
func TestHostileTimeline(t *testing.T) {
	inc := hostileTimeline()
	for _, f := range report.TimelineFormats {
		var out bytes.Buffer
		require.NoError(t, f.Render(&out, &report.Selection{Incident: inc, Events: inc.Timeline.Select(timeline.Filter{})}, report.Options{}))
		for _, r := range out.String() {
			require.True(t, r == '\n' || r == ' ' || unicode.IsPrint(r), "%s: %U", f.Name, r)
		}
	}
	var out bytes.Buffer
	require.NoError(t, report.HTML(&out, inc, report.Options{}))
	require.NotContains(t, out.String(), "<img")
	require.Equal(t, 1, strings.Count(out.String(), "<script>"))
	require.Less(t, out.Len(), 200<<10, "a line of a megabyte is cut")
}

// pointersTo are events as a timeline holds them: not copied.
func pointersTo(events ...event.Event) []*event.Event {
	all := make([]*event.Event, len(events))
	for i := range events {
		all[i] = &events[i]
	}
	return all
}

package incident

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

const lineID = "40585f73a1c2b90d3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f809"

// lineFiles are logs of one node, +08:00, each with its own sort of stamp. The copy repeats what
// the journal says; the pod's log and a program that nobody knows have lines too, and one line has
// no stamp.
var lineFiles = map[string]string{
	"kubelet.log": `I1231 23:59:50.000001    1204 kubelet.go:1952] "SyncLoop UPDATE" source="api" pods=["default/web-0"]
E0101 00:00:10.000001    1204 kubelet.go:2373] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.004s ago; threshold is 3m0s"
I0101 00:00:11.000001    1204 kubelet.go:1952] "SyncLoop DELETE" source="api" pods=["default/web-0"]
	a value of several lines
`,
	"journal.txt": `2026-01-01T00:00:09+0800 node-1 containerd[12]: time="2026-01-01T00:00:09.500000000+08:00" level=info msg="StopContainer for \"` + lineID + `\" with timeout 30 (s)"
2026-01-01T00:00:10+0800 node-1 kubelet[1204]: E0101 00:00:10.000001    1204 kubelet.go:2373] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.004s ago; threshold is 3m0s"
2026-01-01T00:00:12+0800 node-1 sshd[99]: Accepted publickey for root
2026-01-01T02:00:12+0800 node-1 sshd[99]: much later
`,
	"copy/containerd.log": `time="2026-01-01T00:00:09.500000000+08:00" level=info msg="StopContainer for \"` + lineID + `\" with timeout 30 (s)"
time="2026-01-01T00:00:13.000000000+08:00" level=info msg="event for 40585f73a1c2 forwarded"
`,
}

// readLines analyses the files and returns what the lines of a filter say.
func readLines(t *testing.T, files map[string]string, f timeline.Filter) (said []string, inc *Incident) {
	t.Helper()
	return readLinesWith(t, Options{}, files, f)
}

func readLinesWith(t *testing.T, options Options, files map[string]string, f timeline.Filter) (said []string, inc *Incident) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	options.Paths, options.Catalog = []string{dir}, catalog
	inc, err = Load(context.Background(), options)
	require.NoError(t, err)
	lines, err := ReadLines(context.Background(), options.Inputs, inc, f)
	require.NoError(t, err)
	require.Zero(t, lines.Left)
	for _, e := range lines.Events {
		require.Equal(t, event.KindLogLine, e.Kind)
		require.Len(t, e.Evidence, 1)
		text, _, _ := strings.Cut(e.Text, "\n")
		said = append(said, e.Start.T.Format("15:04:05.9 ")+e.Component+" "+text)
	}
	return said, inc
}

func TestReadLines(t *testing.T) {
	all, inc := readLines(t, lineFiles, timeline.Filter{})
	require.Equal(t, []string{
		`15:59:50 kubelet SyncLoop UPDATE source="api" pods="["default/web-0"]"`,
		`16:00:11 kubelet SyncLoop DELETE source="api" pods="["default/web-0"]"`,
		`16:00:11 kubelet 	a value of several lines`,
		`16:00:12 sshd Accepted publickey for root`,
		`16:00:13 containerd event for 40585f73a1c2 forwarded`,
		`18:00:12 sshd much later`,
	}, all, "in one order, in UTC, once; what an event was made of is not there, neither is its copy")

	day := time.Date(2025, 12, 31, 16, 0, 0, 0, time.UTC)
	narrow, _ := readLines(t, lineFiles, timeline.Filter{Since: day, Until: day.Add(time.Minute), Components: []string{"sshd", "kubelet"}})
	require.Equal(t, []string{all[1], all[2], all[3]}, narrow)

	followed, _ := readLines(t, lineFiles, timeline.Filter{Container: lineID[:8]})
	require.Equal(t, []string{all[4]}, followed, "an id that is cut short in the line, too")
	require.NotEmpty(t, inc.Timeline.Events)
}

// TestLinesAreBounded: what is too much is counted, and the earliest stay.
func TestLinesAreBounded(t *testing.T) {
	r := lineReader{most: 3}
	for i := range 20 {
		e := event.Event{Kind: event.KindLogLine, Start: event.At(time.Unix(int64(100-i), 0)), Evidence: []event.Quote{{Pos: event.Pos{File: "f", Line: i + 1}}}}
		r.addLine(&e)
	}
	r.sortLines()
	require.Len(t, r.lines.Events, 3)
	require.Equal(t, 17, r.lines.Left)
	require.Equal(t, int64(81), r.lines.Events[0].Start.T.Unix())

	r = lineReader{most: 3}
	for i := range 20 {
		r.addLine(&event.Event{Kind: event.KindLogLine, Evidence: []event.Quote{{Pos: event.Pos{File: "f", Line: i + 1}}}})
	}
	require.Len(t, r.lines.Events, 3, "undated lines are not sorted again and again")
	require.Equal(t, 17, r.lines.Left)
}

// TestLinesOfOneNode: lines of other nodes are left out, whether they name theirs or their file
// does.
func TestLinesOfOneNode(t *testing.T) {
	const stall = "Nov 20 10:03:00 node-a kubelet[1]: E1120 10:03:00.100000    1 kubelet.go:2373] \"Skipping pod synchronization\" err=\"PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s\"\n"
	said, inc := readLines(t, map[string]string{
		"nodes/node-a/journal.log": stall + "Nov 20 10:03:01 node-a sshd[2]: on a\n",
		"nodes/node-b/journal.log": "Nov 20 10:03:00 node-b kubelet[1]: I1120 10:03:00.100000    1 kubelet.go:1] fine\nNov 20 10:03:01 node-b sshd[2]: on b\n",
		"nodes/node-b/kubelet.log": "I1120 10:03:00.200000    1 kubelet.go:1] nobody is named\n",
	}, timeline.Filter{})
	require.Equal(t, "node-a", inc.Node)
	require.Equal(t, []string{"10:03:01 sshd on a"}, said)
}

const unhealthy = `kubelet.go:2412] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m1.5s ago; threshold is 3m0s"`

// TestLinesOfATurnedClock: lines stand where events of the same file do, also behind a turn of the
// clock, in the hour that it shows twice.
func TestLinesOfATurnedClock(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	from := time.Date(2025, 10, 26, 0, 50, 0, 0, time.UTC)
	var log strings.Builder
	var want []string
	for i := range 30 {
		at := from.Add(time.Duration(i) * time.Minute)
		level, text := "I", "kubelet.go:1] quiet"
		if i%7 == 0 {
			level, text = "E", unhealthy
		} else {
			want = append(want, at.Format("15:04:05 ")+"kubelet quiet")
		}
		log.WriteString(level + at.In(zone).Format("0102 15:04:05.000000    7 ") + text + "\n")
	}
	said, _ := readLinesWith(t, Options{Zone: zone, Year: 2025}, map[string]string{"kubelet.log": log.String()}, timeline.Filter{})
	require.Equal(t, want, said)
}

// TestLinesBeforeAStep: what was written before the clock was set is moved as events are.
func TestLinesBeforeAStep(t *testing.T) {
	said, inc := readLines(t, map[string]string{
		"kubelet.log": "2025-10-04T10:03:00.000000Z E1004 10:03:00.000000    7 " + unhealthy + "\n2025-10-04T10:04:00.000000Z I1004 10:04:00.000000    7 kubelet.go:1] before\n" +
			"2025-10-04T10:11:00.000000Z I1004 10:11:00.000000    7 kubelet.go:1] after\n2025-10-04T10:12:00.000000Z E1004 10:12:00.000000    7 " + unhealthy + "\n",
		"messages": "2025-10-04T10:04:30Z node-1 sshd[3]: early\n2025-10-04T10:10:00Z node-1 chronyd[9]: System clock was stepped by 300.000000 seconds\n2025-10-04T10:10:01Z node-1 sshd[3]: late\n",
	}, timeline.Filter{})
	require.Contains(t, inc.Timeline.Clocks[0].Note, "the clock was set by 5m0s")
	require.Equal(t, []string{"10:09:00 kubelet before", "10:09:30 sshd early", "10:10:01 sshd late", "10:11:00 kubelet after"}, said)
}

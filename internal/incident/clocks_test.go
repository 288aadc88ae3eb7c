package incident_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// world is a node whose clocks are known: an oracle that tells when every line was really written.
type world struct {
	zone  *time.Location
	boots []time.Time // in order; the first is before every line
	// The clock is set by so much at a moment; by is 0 where it never is.
	set time.Time
	by  time.Duration
}

// shown is what the clock of the node shows.
func (w world) shown(t time.Time) time.Time {
	if w.by != 0 && t.Before(w.set) {
		t = t.Add(-w.by)
	}
	return t.In(w.zone)
}

// uptime is the time since the last boot before t.
func (w world) uptime(t time.Time) time.Duration {
	i, found := slices.BinarySearchFunc(w.boots, t, func(b, t time.Time) int { return b.Compare(t) })
	if !found {
		i--
	}
	return t.Sub(w.boots[i])
}

func (w world) ring(t time.Time, id int) string {
	return fmt.Sprintf("[%12.6f] INFO: task shim-%d:%d blocked for more than 120 seconds.", w.uptime(t).Seconds(), id, 1000+id)
}

func (w world) died(t time.Time, id int) string {
	return fmt.Sprintf(`I%s    2917 kubelet.go:2412] "SyncLoop (PLEG): event for pod" pod="a/b" event={"ID":"3f0b0c0e","Type":"ContainerDied","Data":"%s"}`,
		w.shown(t).Format("0102 15:04:05.000000"), container(id))
}

func (w world) gone(t time.Time, id int) string {
	return fmt.Sprintf(`time="%s" level=info msg="shim disconnected" id=%s`, w.shown(t).Format("2006-01-02T15:04:05.000000000Z07:00"), container(id))
}

// container is an id; no two of a world have their first digits in common.
func container(id int) string { return fmt.Sprintf("%08x%056x", uint32(id)*2654435761, id) }

// writers are the files of a world, and how each writes a line.
var writers = map[string]func(w world, t time.Time, id int) string{
	"containerd.log": world.gone,
	"kubelet.log":    world.died,
	"messages": func(w world, t time.Time, id int) string {
		return w.shown(t).Format("Jan _2 15:04:05") + " node-1 kernel: " + w.ring(t, id)
	},
	"kern.log": func(w world, t time.Time, id int) string {
		return w.shown(t).Format("2006-01-02T15:04:05.000000-07:00") + " node-1 kernel: " + w.ring(t, id)
	},
	"nozone.log": func(w world, t time.Time, id int) string {
		return w.shown(t).Format("Mon 2006-01-02 15:04:05 XST") + " node-1 kubelet[2917]: " + w.died(t, id)[len("I1108 09:33:12.000000    2917 kubelet.go:2412] "):]
	},
	"dmesg.txt": world.ring,
	"monotonic.log": func(w world, t time.Time, id int) string {
		return fmt.Sprintf("[%12.6f] node-1 kubelet[2917]: %s", w.uptime(t).Seconds(), w.died(t, id))
	},
	"journal.json": func(w world, t time.Time, id int) string {
		return fmt.Sprintf(`{"__REALTIME_TIMESTAMP":"%d","__MONOTONIC_TIMESTAMP":"%d","_HOSTNAME":"node-1","SYSLOG_IDENTIFIER":"kubelet","_PID":"2917","MESSAGE":%q}`,
			w.shown(t).UnixMicro(), w.uptime(t).Microseconds(), w.died(t, id))
	},
}

var kernelFiles = []string{"dmesg.txt", "kern.log", "messages"}

// odd are moments at which clocks do odd things: they are turned, or a year ends.
var odd = []string{
	"2025-03-30T01:00:00Z", "2025-10-26T01:00:00Z", "2025-11-02T06:00:00Z", "2026-03-08T07:00:00Z", "2025-04-05T15:00:00Z", "2025-12-31T18:00:00Z", "2024-02-29T10:00:00Z",
}

func drawWorld(t *rapid.T) (w world, moments []time.Time) {
	name := rapid.SampledFrom([]string{"UTC", "Asia/Shanghai", "Asia/Kathmandu", "America/Lima", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone")
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	w.zone = zone
	start := time.Unix(rapid.Int64Range(1_400_000_000, 1_900_000_000).Draw(t, "start"), 0).UTC()
	if rapid.Bool().Draw(t, "odd") {
		start, _ = time.Parse(time.RFC3339, rapid.SampledFrom(odd).Draw(t, "near"))
		start = start.Add(-time.Duration(rapid.IntRange(0, 6*3600).Draw(t, "before")) * time.Second)
	}
	w.boots = []time.Time{start.Add(-time.Duration(rapid.IntRange(600, 40*86400).Draw(t, "up")) * time.Second)}
	at := start
	longest := rapid.SampledFrom([]int{60, 1800, 20000}).Draw(t, "longest pause")
	for range rapid.IntRange(3, 25).Draw(t, "lines") {
		at = at.Add(time.Duration(rapid.IntRange(5, longest).Draw(t, "pause"))*time.Second + time.Duration(rapid.IntRange(0, 999_999).Draw(t, "µs"))*time.Microsecond)
		moments = append(moments, at)
	}
	middle := moments[rapid.IntRange(1, len(moments)-1).Draw(t, "middle")].Add(-time.Second)
	switch rapid.SampledFrom([]string{"", "boot", "set"}).Draw(t, "what happens") {
	case "boot":
		w.boots = append(w.boots, middle)
	case "set":
		_, from := start.Add(-time.Hour).In(zone).Zone()
		_, to := at.Add(time.Hour).In(zone).Zone()
		if from == to { // one oddity at a time
			w.set, w.by = middle, time.Duration(rapid.IntRange(2, 14*60).Draw(t, "by"))*time.Second
			if rapid.Bool().Draw(t, "back") {
				w.by = -w.by
			}
		}
	}
	return w, moments
}

// write gives each moment to a file and returns when each line of the files was written.
func (w world) write(t *rapid.T, dir string, moments []time.Time) map[event.Pos]time.Time {
	files := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"kubelet.log", "messages", "kern.log", "nozone.log", "dmesg.txt", "monotonic.log", "journal.json"}), 1, 4, rapid.ID).Draw(t, "files")
	texts, lines, truth := map[string]*strings.Builder{}, map[string]int{}, map[event.Pos]time.Time{}
	write := func(file string, at time.Time, line string) {
		if texts[file] == nil {
			texts[file] = &strings.Builder{}
		}
		fmt.Fprintln(texts[file], line)
		lines[file]++
		truth[event.Pos{File: file, Line: lines[file]}] = at
	}
	last := w.boots[len(w.boots)-1]
	for i, at := range moments {
		if len(w.boots) > 1 && at.After(last) && !moments[max(0, i-1)].After(last) { // the kernel's first words
			for _, f := range append(slices.DeleteFunc(slices.Clone(kernelFiles), func(f string) bool { return !slices.Contains(files, f) }), "journal.json") {
				write(f, last.Add(time.Millisecond), writers[f](w, last.Add(time.Millisecond), 10_000))
			}
		}
		if w.by != 0 && !at.Before(w.set) && !moments[max(0, i-1)].After(w.set) {
			write("syslog", w.set, w.set.In(w.zone).Format("Jan _2 15:04:05")+fmt.Sprintf(" node-1 chronyd[1]: System clock was stepped by %.6f seconds", w.by.Seconds()))
		}
		// containerd is what tells the node's zone: at the begin, at the end, and on both sides of
		// a boot.
		file := rapid.SampledFrom(append(files, "containerd.log")).Draw(t, "file")
		if i == 0 || i == len(moments)-1 {
			file = "containerd.log"
		}
		to := []string{file}
		if slices.Contains(kernelFiles, file) { // all of them hold what the kernel says
			to = slices.DeleteFunc(slices.Clone(kernelFiles), func(f string) bool { return !slices.Contains(files, f) })
		}
		for j := range 2 { // one double stamp alone shows no turn
			at := at.Add(time.Duration(j) * time.Millisecond)
			for _, f := range to {
				if f != "dmesg.txt" && f != "monotonic.log" || at.After(last) { // which hold the last boot only
					write(f, at, writers[f](w, at, 2*i+j))
				}
			}
		}
	}
	for file, text := range texts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text.String()), 0o600))
	}
	return truth
}

// Whatever the zones, turns, steps and boots of a node are: no line is placed where it was not
// written. What the files leave open is an interval that holds the truth, or has no time.
func TestClocksAgainstAnOracle(t *testing.T) {
	catalog := &language.Catalog{}
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		w, moments := drawWorld(r)
		n++
		dir := filepath.Join(t.TempDir(), fmt.Sprint(n))
		require.NoError(r, os.Mkdir(dir, 0o700))
		truth := w.write(r, dir, moments)
		inc, err := incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: []string{dir}}, Catalog: catalog})
		require.NoError(r, err)
		for _, e := range inc.Timeline.Events {
			if e.Kind == "noise" || e.Kind == "kubelet.stall" || e.Start.IsZero() {
				continue
			}
			for _, q := range e.Evidence {
				pos := event.Pos{File: filepath.Base(q.Pos.File), Line: q.Pos.Line}
				want, ok := truth[pos]
				require.True(r, ok, pos)
				got := e.Last()
				require.Falsef(r, want.Before(got.T.Add(-time.Microsecond)) || want.After(got.T.Add(got.Prec+time.Microsecond)), "%v: %v is not in %v + %v; %s\n%s", pos, want, got.T, got.Prec, e.Basis, q.Text)
			}
		}
	})
}

// What tells of the node's clock besides its logs: the banner of journalctl, date, timedatectl.
func TestClockOfTheNode(t *testing.T) {
	const kubelet = "Nov 08 09:33:12 node-1 kubelet[2917]: E1108 09:33:12.000000    2917 kubelet.go:2412] \"Skipping pod synchronization\" err=\"PLEG is not healthy: pleg was last seen active 3m0.5s ago; threshold is 3m0s\"\n"
	const ready = "Nov 08 09:33:12 node-1 kubelet[2917]: I1108 09:33:12.100000    2917 setters.go:568] "
	const clock = "               Local time: Wed 2023-11-08 10:01:02 CST\n           Universal time: Wed 2023-11-08 02:01:02 UTC\n                 RTC time: Wed 2023-11-08 02:01:02\n                Time zone: Asia/Shanghai (CST, +0800)\n"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing tells", map[string]string{"kubelet.log": kubelet}, "2000-11-08T09:33:12Z"},
		{"the journal's end", map[string]string{"kubelet.log": "-- Logs begin at Tue 2023-11-07 20:13:40 CST, end at Wed 2023-11-08 10:01:03 CST. --\n" + kubelet}, "2023-11-08T09:33:12Z"},
		{"the same of systemd 247", map[string]string{"kubelet.log": "-- Journal begins at Tue 2023-11-07 20:13:40 UTC, ends at Wed 2023-11-08 10:01:03 UTC. --\n" + kubelet}, "2023-11-08T09:33:12Z"},
		{"a journal that goes on into the next year", map[string]string{"kubelet.log": "-- Logs begin at Tue 2023-11-07 20:13:40 CST, end at Sat 2024-01-20 10:01:03 CST. --\n" + kubelet}, "2023-11-08T09:33:12Z"},
		{"a heartbeat", map[string]string{"kubelet.log": kubelet + ready + `"Node became not ready" node="node-1" condition={"type":"Ready","status":"False","lastHeartbeatTime":"2023-11-08T01:33:12Z","reason":"KubeletNotReady","message":"PLEG is not healthy"}` + "\n"}, "2023-11-08T01:33:12Z"},
		{"a heartbeat as of 1.20", map[string]string{"kubelet.log": kubelet + ready + "Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2023-11-08 09:33:12.09 +0800 CST m=+1234.5 LastTransitionTime:2023-11-08 09:33:12.09 +0800 CST m=+1234.5 Reason:KubeletNotReady Message:PLEG is not healthy}\n"}, "2023-11-08T01:33:12Z"},
		{"a file of klog", map[string]string{"kubelet.log": "Log file created at: 2023/11/08 07:02:11\nRunning on machine: node-1\nBinary: Built with gc go1.20.10 for linux/amd64\nLog line format: [IWEF]mmdd hh:mm:ss.uuuuuu threadid file:line] msg\n" + strings.SplitN(kubelet, "]: ", 2)[1]}, "2023-11-08T09:33:12Z"},
		{"what the kernel audits", map[string]string{"kubelet.log": kubelet, "kern.log": "Nov 08 09:30:00 node-1 kernel: [41200.224000] audit: type=1400 audit(1699407000.224:188): apparmor=\"DENIED\" operation=\"open\" profile=\"x\"\nNov 08 09:31:00 node-1 kernel: [41260.224000] audit: type=1400 audit(1699407060.224:189): apparmor=\"DENIED\" operation=\"open\" profile=\"x\"\n"}, "2023-11-08T01:33:12Z"},
		{"a volume that is tried again", map[string]string{"kubelet.log": kubelet + strings.Replace(ready, "setters.go:568", "nestedpendingoperations.go:348", 1) + `Operation for "{volumeName:kubernetes.io/nfs/x podName: nodeName:}" failed. No retries permitted until 2023-11-08 09:35:14.1 +0800 CST m=+1234.5 (durationBeforeRetry 2m2s). Error: timed out` + "\n"}, "2023-11-08T01:33:12Z"},
		{"date", map[string]string{"kubelet.log": kubelet, "date": "Wed Nov  8 10:01:02 CST 2023\n"}, "2023-11-08T09:33:12Z"},
		{"timedatectl", map[string]string{"kubelet.log": kubelet, "timedatectl": clock}, "2023-11-08T01:33:12Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			inc := load(t, dir)
			require.Len(t, inc.Timeline.Stalls, 1)
			require.Equal(t, tc.want, inc.Timeline.Stalls[0].End.Format(time.RFC3339))
			checkAccount(t, inc)
		})
	}
}

// Lines that no event was made of have the time of the others in their file, also those that count
// from the boot.
func TestLinesSinceBoot(t *testing.T) {
	dir := t.TempDir()
	const hung = "INFO: task containerd-shim:1422 blocked for more than 120 seconds.\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dmesg.txt"), []byte("[   41281.000000] nothing of interest\n[   41280.000000] "+hung), 0o600))
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	for _, tc := range []struct{ kern, want string }{
		{"2025-11-08T09:20:00.000000+08:00 node-1 kernel: [41280.000000] " + hung, "2025-11-08T01:20:01Z"},
		{"2025-11-08T09:20:00.000000+08:00 node-1 kernel: nothing\n", ""},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "kern.log"), []byte(tc.kern), 0o600))
		o := incident.Options{Inputs: incident.Inputs{Paths: []string{dir}}, Catalog: catalog}
		inc, err := incident.Load(t.Context(), o)
		require.NoError(t, err)
		lines, err := incident.ReadLines(t.Context(), o.Inputs, inc, timeline.Filter{})
		require.NoError(t, err)
		got := ""
		for _, e := range lines.Events {
			if filepath.Base(e.Pos().File) == "dmesg.txt" && e.Start.Known {
				got = e.Start.T.Format(time.RFC3339)
			}
		}
		require.Equal(t, tc.want, got)
	}
}

// TestNewYearWithoutYear: a log that writes no year keeps the times of both years.
func TestNewYearWithoutYear(t *testing.T) {
	inc := loadFiles(t, map[string]string{"kubelet.log": `Dec 31 23:59:00 n1 kubelet[1]: E1231 23:59:00.000001    1 kubelet.go:2412] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m5.1s ago; threshold is 3m0s"
Jan  1 00:00:05 n1 kubelet[1]: I0101 00:00:05.000001    1 kubelet.go:2422] "SyncLoop ADD" source="api" pods=["default/web-0"]
`})
	require.Len(t, inc.Timeline.Stalls, 1)
	require.Equal(t, "12-31 23:55:54", inc.Timeline.Stalls[0].Start.Format("01-02 15:04:05"))
}

// TestBlocksOutOfOrder: what a sign tells of lies in the window that the report names, wherever its
// line stands in the file.
func TestBlocksOutOfOrder(t *testing.T) {
	inc := loadFiles(t, map[string]string{"messages": `Jul 30 10:00:00 n kubelet[1]: I0730 10:00:00.000001    1 kubelet.go:2422] "SyncLoop ADD" source="api" pods=["default/web-0"]
Jul 29 09:00:00 n kernel: [1000.1] INFO: task containerd:5 blocked for more than 120 seconds.
Jul 30 11:00:00 n kubelet[1]: I0730 11:00:00.000001    1 kubelet.go:2422] "SyncLoop ADD" source="api" pods=["default/web-1"]
`})
	require.NotEmpty(t, inc.Result.Signs)
	require.False(t, inc.Window.Start.After(inc.Result.Signs[0].Window.Start), inc.Window)
}

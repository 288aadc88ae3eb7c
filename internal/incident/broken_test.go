package incident_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// loadAny is load for inputs that may hold nothing to analyse.
func loadAny(t *testing.T, o incident.Options) (*incident.Incident, error) {
	t.Helper()
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	o.Catalog = catalog
	inc, err := incident.Load(t.Context(), o)
	if inc != nil {
		checkAccount(t, inc)
	}
	return inc, err
}

func account(t *testing.T, inc *incident.Incident, suffix string) incident.File {
	t.Helper()
	i := slices.IndexFunc(inc.Files, func(f *incident.File) bool { return strings.HasSuffix(f.Path, suffix) })
	require.GreaterOrEqual(t, i, 0, "no account of %s: %+v", suffix, inc.Files)
	return *inc.Files[i]
}

// breakAt is a line as a terminal of so many columns shows it.
func breakAt(columns int, line string) (rows string) {
	for ; len(line) > columns; line = line[columns:] {
		rows += line[:columns] + "\n"
	}
	return rows + line + "\n"
}

// A message that a terminal broke proves a stall, or is a sign, with all its lines.
func TestBrokenMessagesAreQuotedWhole(t *testing.T) {
	sign := breakAt(80, `Nov 08 09:33:12 node-1 kubelet[2917]: E1108 09:33:12.540000    2917 controller.go:187] failed to update lease, error: `+
		`Put "https://10.0.0.1:6443/apis/coordination.k8s.io/v1/x?timeout=10s": dial tcp 10.0.0.1:6443: i/o timeout`)
	stall := breakAt(80, `Nov 08 09:33:14 node-1 kubelet[2917]: E1108 09:33:14.540000    2917 kubelet.go:2412] "Skipping pod synchronization" `+
		`err="PLEG is not healthy: pleg was last seen active 3m0.5s ago; threshold is 3m0s"`)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "messages"), []byte(sign+stall), 0o600))
	inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{dir}}})
	require.NoError(t, err)
	text := func(quotes []event.Quote) (all string) {
		for _, q := range quotes {
			all += q.Text + "\n"
		}
		return all
	}
	require.Equal(t, stall, text(inc.Timeline.Stalls[0].Evidence))
	require.Equal(t, sign, text(inc.Result.Signs[0].Evidence))
}

// A bundle that was cut on its way to the ticket gives what came before the cut, and says so.
func TestCutArchive(t *testing.T) {
	whole, err := os.ReadFile("../../testdata/lab-umount2/bundle.tgz")
	require.NoError(t, err)
	for _, share := range []float64{0.2, 0.6, 0.95} {
		cut := filepath.Join(t.TempDir(), "cut.tgz")
		require.NoError(t, os.WriteFile(cut, whole[:int(share*float64(len(whole)))], 0o600))
		inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{cut}}})
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(inc.Files, func(f *incident.File) bool { return strings.Contains(f.Err, "unexpected EOF") }), "no file tells of the cut: %v", inc.Files)
		require.True(t, slices.ContainsFunc(inc.Files, func(f *incident.File) bool { return f.Used > 0 }), "nothing was kept")
	}
}

func TestNothingToAnalyse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty.log"), nil, 0o600))
	noise := make([]byte, 100_000)
	r := rand.NewChaCha8([32]byte{1})
	_, err := r.Read(noise)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "core.1234"), noise, 0o600))
	inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{dir}}})
	require.ErrorIs(t, err, incident.ErrNothing)
	require.Equal(t, "empty", account(t, inc, "empty.log").Format)
	core := account(t, inc, "core.1234")
	require.Equal(t, "unknown", core.Format)
	require.Equal(t, core.Lines, core.Skipped+core.Blank)
	require.NotEmpty(t, core.FirstSkip)
	require.Empty(t, inc.Result.Findings)
	require.True(t, inc.Unread)
	require.Equal(t, "no line of the inputs could be read; the account of the files says of each why", inc.Result.Headline)

	_, err = loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{filepath.Join(dir, "absent")}}})
	require.Error(t, err)
}

// Goroutines of an unknown program are told as what they are.
func TestUnknownGoroutines(t *testing.T) {
	dir := t.TempDir()
	text := "goroutine 5 [chan receive]:\nmain.wait(0x1)\n\t/src/main.go:3 +0x4\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "paste.txt"), []byte(text), 0o600))
	inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{dir}}})
	if err != nil {
		require.ErrorIs(t, err, incident.ErrNothing)
	}
	require.Contains(t, inc.Result.Headline, "goroutines whose program nothing tells")
	require.NotContains(t, inc.Result.Headline, "no line of")
}

// One line of 100 MB costs neither the memory nor the lines around it.
func TestHugeLine(t *testing.T) {
	first := "time=\"2025-06-03T08:00:00.000000000Z\" level=info msg=\"starting containerd\" revision=1 version=1.6.20\n"
	last := "\ntime=\"2025-06-03T08:00:01.000000000Z\" level=info msg=\"containerd successfully booted in 0.1s\"\n"
	huge := io.MultiReader(strings.NewReader(first), io.LimitReader(letters{}, 100<<20), strings.NewReader(last))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{"-"}, Stdin: huge}})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	f := inc.Files[0]
	require.Equal(t, 3, f.Lines)
	require.Contains(t, f.FirstSkip, ":2: ", "the huge line is not told of")
	require.Equal(t, "1.6.20", inc.Timeline.Facts["containerd.version"].Value)
	require.Less(t, after.HeapSys-min(before.HeapSys, after.HeapSys), uint64(128<<20))
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A dump that ends in the middle of anything still tells what it holds.
func TestCutDump(t *testing.T) {
	whole, err := os.ReadFile("../../testdata/rules/cri-status-lock-exiting-update/positive/bundle/containerd.4242.stacks.log")
	require.NoError(t, err)
	for n := 0; n < len(whole); n += 97 {
		inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{"-"}, Stdin: bytes.NewReader(whole[:n])}})
		if err != nil {
			require.ErrorIs(t, err, incident.ErrNothing, "cut at byte %d", n)
		}
		require.NotNil(t, inc)
		for _, f := range inc.Result.Findings {
			// Without the goroutine that handles the exit the lock is all that is left.
			require.Contains(t, []string{"cri-status-lock-exiting-update", "cri-status-lock-held"}, f.Rule, "cut at byte %d", n)
		}
	}
}

// A zone given by hand wins over what the evidence says, and moves every stamp that has none.
func TestZoneByHand(t *testing.T) {
	in := []string{"../../testdata/seed-short-tasks/bundle/kubelet.log"}
	inferred := load(t, in...)
	east, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: in}, Zone: time.FixedZone("", 9*3600), Year: 2022})
	require.NoError(t, err)
	require.Len(t, inferred.Timeline.Stalls, 1)
	require.Len(t, east.Timeline.Stalls, 1)
	require.Equal(t, "2022-11-08T00:30:14Z", east.Timeline.Stalls[0].Start.Truncate(time.Second).Format(time.RFC3339))
	require.Equal(t, "2023-11-08T01:30:14Z", inferred.Timeline.Stalls[0].Start.Truncate(time.Second).Format(time.RFC3339), "by the heartbeat that the kubelet logs")
	require.Contains(t, east.Timeline.Clocks[0].Basis, "--tz")
}

// What was quoted on its way into a ticket answers as it did before.
func TestPastedTicket(t *testing.T) {
	const file = "../../testdata/seed-short-tasks/bundle/containerd.log"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	plain := load(t, file)
	require.NotEmpty(t, plain.Result.Findings)
	for _, prefix := range []string{"> ", "    ", "\t"} {
		pasted := prefix + strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\n", "\n"+prefix)
		path := filepath.Join(t.TempDir(), "ticket.md")
		require.NoError(t, os.WriteFile(path, []byte(pasted), 0o600))
		inc := load(t, path)
		checkLaws(t, path, inc)
		require.Equal(t, plain.Result.Headline, inc.Result.Headline)
	}
}

// Order of the inputs and the number of processors do not show in the answer.
func TestOrderOfInputs(t *testing.T) {
	dir := "../../testdata/seed-short-tasks/bundle/"
	a := load(t, dir+"containerd.log", dir+"kubelet.log", dir+"shim.strace")
	previous := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(previous)
	b := load(t, dir+"shim.strace", dir+"kubelet.log", dir+"containerd.log")
	require.Equal(t, a.Result, b.Result)
	require.Equal(t, a.Timeline, b.Timeline)
}

// A rule that asks for a text which every line holds does not fill the memory, and the account says
// so.
func TestTextThatIsEverywhere(t *testing.T) {
	const rule = `{id: chatter, title: t, role: contributing, needs: [{any: [acme.log], collect: c}], headline: h, verdict: {possible: said},
  steps: [{id: said, role: symptom, text: x, kind: log.line, match: {text|contains: probe succeeded}}]}`
	catalog, err := language.Load(nil, language.Files{FS: fstest.MapFS{"chatter.yaml": {Data: []byte(rule)}}})
	require.NoError(t, err)
	const lines = 10_500
	line := "Nov 20 09:30:00 node-1 acme[7]: probe succeeded\n"
	inc, err := incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: []string{"-"}, Stdin: strings.NewReader(strings.Repeat(line, lines))}, Catalog: catalog})
	require.NoError(t, err)
	checkAccount(t, inc)
	require.LessOrEqual(t, len(inc.Timeline.Events), 10_000)
	require.Equal(t, lines, inc.Files[0].Used)
	require.Equal(t, "10500 lines hold a text that rules ask for; only the first 10000 were shown to them", inc.Files[0].Err)
}

// TestNodeOfSnapshot: where no log names its host, what collect wrote about itself does.
func TestNodeOfSnapshot(t *testing.T) {
	dir := t.TempDir()
	manifest := `{"schema":"plegdiag.bundle/v1","tool":"(devel)","node":"node-7","start":"2026-11-22T00:49:34Z","end":"2026-11-22T00:49:37Z","redaction":true,"items":[` + "\n]}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o600))
	require.Equal(t, "node-7", load(t, dir).Node)
}

// TestControllerTellsOfOthers: what the node controller logs of other nodes does not count for the
// node, where it tells of several.
func TestControllerTellsOfOthers(t *testing.T) {
	const silent = "I1120 10:03:00.000000       1 node_lifecycle_controller.go:1092] node %s hasn't been updated for 40.1s. Last Ready is: &NodeCondition{Type:Ready,Status:True,}\n"
	const kubelet = "Nov 20 10:02:00 node-a kubelet[1]: I1120 10:02:00.100000    1 kubelet.go:1] fine\n"
	count := func(names ...string) int {
		dir, said := t.TempDir(), ""
		for _, name := range names {
			said += fmt.Sprintf(silent, name)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "controller-manager.log"), []byte(said), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.log"), []byte(kubelet), 0o600))
		told := 0
		for _, e := range load(t, dir).Timeline.Events {
			if e.Kind == event.KindNodeCondition {
				told++
			}
		}
		return told
	}
	require.Equal(t, 1, count("node-a", "node-b", "node-c"))
	require.Equal(t, 0, count("node-b", "node-c"))
	require.Equal(t, 1, count("10.0.0.7"), "the only one may be this node under another name")
}

package engines

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/fleet"
	"github.com/plegdiag/plegdiag/internal/report/rows"
)

var fleetSize = flag.Int("bundles", 2000, "of the fleet of TestSpeed")

var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// look is the row of a bundle without a finding, of a node, some hours after noon.
func look(n int, node string, hours float64) rows.Row {
	at := noon.Add(time.Duration(hours * float64(time.Hour)))
	sum := fmt.Sprintf("%064x", n)
	return rows.Row{
		Schema: rows.Schema, Bundle: rows.Text(sum), Path: rows.Text(sum[60:] + ".tgz"), Report: rows.Text("reports/" + sum + ".json"),
		Version: "v1", Catalog: "c", State: "healthy", Node: rows.Text(node), WindowStart: rows.Moment{Time: at.Add(-time.Hour)}, WindowEnd: rows.Moment{Time: at},
		Labels: map[string]string{}, Stalls: new(0), Signature: []string{}, Missing: []string{},
	}
}

// cause is the row of a bundle with a cause.
func cause(n int, node string, hours float64, rule, verdict string) rows.Row {
	row := look(n, node, hours)
	row.State, row.Finding, row.Rule, row.Verdict, row.Role = verdict, new(1), rows.Text(rule), rows.Text(verdict), "root"
	row.Start, row.Duration = row.WindowStart, new(rows.Float(60))
	return row
}

// ask writes rows and asks all questions about them.
func ask(t *testing.T, a fleet.Asked, all ...rows.Row) map[string][]map[string]any {
	t.Helper()
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "rows.jsonl"))
	require.NoError(t, err)
	require.NoError(t, rows.Write(file, all))
	require.NoError(t, file.Close())
	a.Rows = "rows.jsonl"
	program, err := os.Executable()
	require.NoError(t, err)
	answers, err := fleet.Ask(t.Context(), program, dir, a)
	require.NoError(t, err)
	found := map[string][]map[string]any{}
	for i := range answers {
		answer := &answers[i]
		found[answer.Name] = nil
		for _, values := range answer.Rows {
			row := map[string]any{}
			for col, name := range answer.Columns {
				row[name] = values[col]
			}
			found[answer.Name] = append(found[answer.Name], row)
		}
	}
	return found
}

// column is one column of an answer.
func column(answer []map[string]any, name string) (all []any) {
	for _, row := range answer {
		all = append(all, row[name])
	}
	return all
}

func TestSummaryAndFailed(t *testing.T) {
	bomb, cut := rows.NewFailed("ratio"), rows.NewFailed("unexpected EOF")
	bomb.Path, cut.Path = "b.tgz", "c.tgz"
	second := look(2, "n2", 1)
	second.Bundle = look(1, "", 0).Bundle // of the same bundle
	found := ask(t, fleet.Asked{}, look(1, "n1", 1), second, cause(3, "n3", 2, "x", "likely"), bomb, cut, cut)
	sum := found["summary"][0]
	for name, want := range map[string]any{
		"bundles": 2.0, "looks": 3.0, "nodes": 3.0, "healthy": 2.0, "likely": 1.0, "confirmed": 0.0, "failed": 3.0,
		"first": "2026-10-01T12:00:00Z", "last": "2026-10-01T14:00:00Z", "kinds_of_analysis": 2.0,
	} {
		require.Equal(t, want, sum[name], name)
	}
	require.Equal(t, []any{"unexpected EOF", "ratio"}, column(found["failed"], "reason"))
	require.Equal(t, []any{2.0, 1.0}, column(found["failed"], "bundles"))
}

func TestCauses(t *testing.T) {
	link := cause(1, "n1", 1, "deeper", "confirmed")
	link.Finding, link.Role = new(2), "link"
	found := ask(t, fleet.Asked{}, cause(1, "n1", 1, "a", "confirmed"), link, cause(2, "n1", 2, "a", "likely"), cause(3, "n2", 3, "b", "possible"),
		cause(4, "n3", 4, "b", "likely"), look(5, "n4", 1))
	require.Equal(t, []any{"b", "a"}, column(found["causes"], "cause"), "by nodes; a link is no cause")
	require.Equal(t, []any{2.0, 1.0}, column(found["causes"], "nodes"))
	require.Equal(t, []any{2.0, 2.0}, column(found["causes"], "bundles"))
	require.Equal(t, []any{1.0, 0.0}, column(found["causes"], "possible"))
	require.Equal(t, []any{60.0, 60.0}, column(found["causes"], "median_seconds"))
	require.Equal(t, []any{"2026-10-01T14:00:00Z", "2026-10-01T12:00:00Z"}, column(found["causes"], "first"))
	require.Equal(t, string(look(1, "", 0).Report), found["causes"][1]["report"], "the surest")
}

// TestVersionsAgainstOracle holds the shares, the lift and its interval against the same sums in
// Go.
func TestVersionsAgainstOracle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []rows.Row
	type count struct{ hit, of float64 }
	by, whole := map[string]count{}, count{}
	for i := range 400 {
		row, kernel := look(i, fmt.Sprintf("n%d", i), 1), fmt.Sprintf("5.%d", random.IntN(4))
		hit := random.Float64() < map[string]float64{"5.0": 0.3}[kernel]+0.05
		if hit {
			row = cause(i, fmt.Sprintf("n%d", i), 1, "umount2", "likely")
		}
		if random.IntN(10) > 0 { // a bundle that does not tell its kernel does not count
			row.Kernel = rows.Text(kernel)
			c := by[kernel]
			c.of, whole.of = c.of+1, whole.of+1
			if hit {
				c.hit, whole.hit = c.hit+1, whole.hit+1
			}
			by[kernel] = c
		}
		all = append(all, row)
	}
	found := ask(t, fleet.Asked{}, all...)["versions"]
	require.GreaterOrEqual(t, len(found), 3)
	require.Equal(t, "5.0", found[0]["version"], "the version that was made guilty")
	require.Greater(t, found[0]["low"], 1.0)
	for _, row := range found {
		c := by[row["version"].(string)]
		share, overall := c.hit/c.of, whole.hit/whole.of
		low, high := wilson(c.hit, c.of)
		for name, want := range map[string]float64{
			"looks": c.hit, "of_looks": c.of, "share": share, "elsewhere_share": (whole.hit - c.hit) / (whole.of - c.of),
			"lift": share / overall, "low": low / overall, "high": high / overall,
		} {
			require.InDelta(t, want, row[name], 1e-9, "%s of %v", name, row)
		}
	}
}

// wilson is the interval of a share: the rates p for which the share lies 1.96 standard deviations
// away, found by halving, not by its formula.
func wilson(hit, of float64) (low, high float64) {
	share := hit / of
	away := func(p float64) float64 { return math.Abs(share-p) - 1.96*math.Sqrt(p*(1-p)/of) }
	halve := func(inside, outside float64) float64 {
		for range 200 {
			if middle := (inside + outside) / 2; away(middle) > 0 {
				outside = middle
			} else {
				inside = middle
			}
		}
		return inside
	}
	return halve(share, 0), halve(share, 1)
}

func TestVersionsOfThreeComponents(t *testing.T) {
	var all []rows.Row
	for i := range 8 {
		row := look(i, "n", 1)
		if i < 4 {
			row = cause(i, "n", 1, "cookie", "likely")
		}
		row.Kernel, row.Containerd, row.Systemd = "5.10", rows.Text([]string{"1.6", "1.7"}[i/4]), "252"
		all = append(all, row)
	}
	found := ask(t, fleet.Asked{}, all...)["versions"]
	i := slices.IndexFunc(found, func(row map[string]any) bool { return row["component"] == "kernel + containerd + systemd" })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, "5.10 + 1.6 + 252", found[i]["version"])
	require.Equal(t, 2.0, found[i]["lift"])
	require.Equal(t, 0.0, found[i]["elsewhere_share"])
}

func TestFirstSeen(t *testing.T) {
	early, late, undated := cause(1, "n1", 1, "a", "likely"), cause(2, "n2", 9, "a", "likely"), cause(3, "n3", 5, "a", "likely")
	early.Kernel, late.Kernel, undated.Kernel = "5.10", "5.10", "6.1"
	undated.Start = rows.Moment{}
	found := ask(t, fleet.Asked{}, late, early, undated)["first"]
	require.Equal(t, []any{"6.1", "5.10"}, column(found, "version"), "the newest first")
	require.Equal(t, []any{"n3", "n1"}, column(found, "node"))
	require.Equal(t, []any{"2026-10-01T16:00:00Z", "2026-10-01T12:00:00Z"}, column(found, "first"))
	require.Equal(t, []any{1.0, 2.0}, column(found, "bundles"))
}

// stalled is a look with stalls, the longest of so many seconds.
func stalled(n int, node string, hours float64, stalls int, seconds float64) rows.Row {
	row := look(n, node, hours)
	row.State, row.Stalls, row.StallSeconds = "stalled", &stalls, new(rows.Float(seconds))
	return row
}

func TestDaysAndNodes(t *testing.T) {
	found := ask(t, fleet.Asked{},
		stalled(1, "n1", 1, 2, 100), stalled(2, "n1", 2, 3, 100), // the later one shows two of them again
		look(3, "n2", 1), stalled(4, "n1", 25, 1, 100))
	require.Equal(t, []any{"2026-10-02", "2026-10-01"}, column(found["days"], "day"))
	require.Equal(t, []any{1.0, 2.0}, column(found["days"], "node_days"))
	require.Equal(t, []any{1.0, 3.0}, column(found["days"], "stalls"))
	require.Equal(t, []any{1.0, 1.5}, column(found["days"], "stalls_per_node_day"))
	require.Equal(t, []any{"n1"}, column(found["nodes"], "node"))
	require.Equal(t, []any{4.0}, column(found["nodes"], "stalls"))
}

func TestCompareByPeriodAndLabel(t *testing.T) {
	var all []rows.Row
	for i := range 20 {
		row := stalled(i, fmt.Sprintf("n%d", i), float64(i%2)*48, 2-i%2, float64(100*(i+1)))
		row.Labels["ring"] = []string{"canary", "control"}[i/10]
		row.RelistMean, row.RelistP99 = new(rows.Float(0.5)), new(rows.Float(5))
		all = append(all, row)
	}
	found := ask(t, fleet.Asked{Label: "ring", Split: noon.Add(24 * time.Hour)}, all...)["compare"]
	require.Equal(t, []any{"before", "before", "after", "after"}, column(found, "period"))
	require.Equal(t, []any{"canary", "control", "canary", "control"}, column(found, "label"))
	require.Equal(t, []any{2.0, 2.0, 1.0, 1.0}, column(found, "stalls_per_node_day"))
	require.Equal(t, []any{500.0, 1500.0, 600.0, 1600.0}, column(found, "stall_p50_seconds"))
	require.Equal(t, 5.0, found[0]["relist_p99_seconds"])
	plain := ask(t, fleet.Asked{}, all...)["compare"]
	require.Len(t, plain, 1)
	require.Equal(t, []any{"all", "all", 20.0}, []any{plain[0]["period"], plain[0]["label"], plain[0]["node_days"]})
}

func TestUnexplainedCluster(t *testing.T) {
	signed := func(row rows.Row, words ...string) rows.Row {
		row.Signature = words
		return row
	}
	found := ask(t, fleet.Asked{},
		signed(stalled(1, "n1", 1, 1, 9), "a", "b", "c"), signed(stalled(2, "n2", 1, 1, 9), "a", "b", "c"),
		signed(stalled(3, "n3", 1, 1, 9), "a", "b", "c", "d"), // 3 of 4 words
		signed(stalled(4, "n4", 1, 1, 9), "a", "x", "y", "z"), // 1 of 6
		signed(cause(5, "n5", 1, "far", "likely"), "q", "x"), signed(cause(6, "n6", 1, "near", "likely"), "a", "b"),
		signed(cause(7, "n7", 1, "not sure", "possible"), "a", "b", "c"), signed(stalled(8, "n8", 1, 1, 9)))["unexplained"]
	require.Equal(t, []any{[]any{"a", "b", "c"}, []any{}, []any{"a", "x", "y", "z"}}, column(found, "words"))
	require.Equal(t, []any{3.0, 1.0, 1.0}, column(found, "looks"))
	require.Equal(t, []any{3.0, 1.0, 1.0}, column(found, "nodes"))
	require.Equal(t, []any{"near", nil, "far"}, column(found, "nearest_cause"))
	require.InDelta(t, 2.0/3, found[0]["likeness"], 1e-9)
	require.InDelta(t, 1.0/5, found[2]["likeness"], 1e-9)
	require.Equal(t, string(look(6, "", 0).Report), found[0]["nearest_report"])
}

func TestMissingInputs(t *testing.T) {
	lacks := func(row rows.Row, sources ...string) rows.Row {
		row.Missing = sources
		return row
	}
	found := ask(t, fleet.Asked{}, lacks(stalled(1, "n1", 1, 1, 9), "kubelet.log", "strace or samples"), lacks(stalled(2, "n2", 1, 1, 9), "strace", "strace or samples"),
		lacks(cause(3, "n3", 1, "a", "likely"), "metrics"))["missing"]
	require.Equal(t, []any{"strace", "samples", "kubelet.log"}, column(found, "input"), "what is explained lacks nothing")
	require.Equal(t, []any{2.0, 2.0, 1.0}, column(found, "looks"))
	require.Equal(t, []any{1.0, 0.0, 1.0}, column(found, "alone"))
	require.Equal(t, []any{1.0, 1.0, 0.5}, column(found, "share"))
}

// TestHostileText holds that what stands in bundles is data to DuckDB.
func TestHostileText(t *testing.T) {
	row := cause(1, "n'; DROP TABLE looks; --\n.shell id\u202e", 1, "a", "likely")
	row.Kernel = "5.10' OR 1=1"
	found := ask(t, fleet.Asked{}, row)["first"]
	require.Equal(t, []any{string(row.Node)}, column(found, "node"))
	require.Equal(t, []any{string(row.Kernel)}, column(found, "version"))
}

// TestNothing holds that rows without any cause, or of failed bundles alone, have answers, too.
func TestNothing(t *testing.T) {
	failed := rows.NewFailed("empty")
	failed.Path = "a.tgz"
	for name, answer := range ask(t, fleet.Asked{Label: "ring", Split: noon}, failed) {
		if name != "summary" && name != "failed" {
			require.Empty(t, answer, name)
		}
	}
}

// TestSpeed holds that the answers about 2 000 bundles are there within a second, and those about
// more (-bundles) in the same proportion.
func TestSpeed(t *testing.T) {
	all := randomFleet(*fleetSize)
	best := time.Hour
	for range 3 {
		began := time.Now()
		found := ask(t, fleet.Asked{}, all...)
		best = min(best, time.Since(began))
		require.EqualValues(t, *fleetSize, found["summary"][0]["bundles"])
		require.Len(t, found["unexplained"], 50)
	}
	t.Logf("10 questions about %d bundles: %s", *fleetSize, best)
	require.Less(t, best, time.Duration(*fleetSize)*time.Second/2000)
}

// randomFleet is one row of each bundle, half of them with a cause.
func randomFleet(bundles int) (all []rows.Row) {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, random.IntN(n)) }
	for i := range bundles {
		node := pick("node", bundles/4)
		row := stalled(i, node, random.Float64()*24*60, random.IntN(3), 200*random.Float64())
		if random.IntN(2) == 0 {
			row = cause(i, node, random.Float64()*24*60, pick("rule", 40), "likely")
		}
		row.Kernel, row.Containerd, row.Systemd = rows.Text(pick("5", 12)), rows.Text(pick("1", 8)), rows.Text(pick("25", 5))
		for range random.IntN(9) {
			row.Signature = append(row.Signature, pick("word", 60))
		}
		slices.Sort(row.Signature)
		row.Signature = slices.Compact(row.Signature)
		for range 50 {
			row.Missing = append(row.Missing, pick("a", 30)+" or "+pick("b", 30))
		}
		all = append(all, row)
	}
	return all
}

// TestSameAnswerTwice holds that the order of the rows does not matter.
func TestSameAnswerTwice(t *testing.T) {
	text := func(all []rows.Row) string {
		out, err := json.Marshal(ask(t, fleet.Asked{}, all...))
		require.NoError(t, err)
		return string(out)
	}
	var all []rows.Row
	for i := range 300 {
		row := stalled(i, fmt.Sprintf("n%d", i%7), float64(i%40), i%3, float64(i%5))
		if i%2 == 0 {
			row = cause(i, fmt.Sprintf("n%d", i%7), float64(i%40), fmt.Sprintf("rule-%d", i%4), "likely")
		}
		row.Signature, row.Kernel = []string{fmt.Sprint(i % 9), fmt.Sprint(i % 11)}, rows.Text(fmt.Sprint(i%3))
		all = append(all, row)
	}
	first := text(all)
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	require.Equal(t, first, text(all))
}

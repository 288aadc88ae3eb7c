package incident_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// want is what an incident directory says its bundle must answer (want.yaml).
type want struct {
	// Findings are all findings of the bundle, in order: a name that is not listed is a wrong name.
	Findings     []wantFinding
	Headline     []string   // texts, each part of the headline
	NotEvaluable []string   `yaml:"not_evaluable"` // rules that must say what they miss
	RuledOut     []string   `yaml:"ruled_out"`
	Stalls       []struct { // times are UTC, 15:04:05
		Start, End, Phase string
		NotReady          string `yaml:"not_ready"`
	}
	Node string
	Zone map[string]string // file to a part of its clock's basis
}

type wantFinding struct {
	Rule, Verdict, Role string
	Container           string   // prefix
	Steps               []string // ids that the chain must hold
	Evidence            []string // "file:line" or a text; each must be cited by the finding
	Notes               []string // texts, each part of a note
}

// TestIncidents puts every incident of testdata, and every fixture of a rule,
// through the whole pipeline. Adding one needs no Go: a directory with the files (bundle/ or
// bundle.tgz) and want.yaml.
func TestIncidents(t *testing.T) {
	dirs := incidentDirs(t)
	require.GreaterOrEqual(t, len(dirs), 5, "testdata has lost its incidents")
	for _, dir := range dirs {
		t.Run(strings.TrimPrefix(filepath.ToSlash(dir), "../../testdata/"), func(t *testing.T) {
			t.Parallel()
			inc := load(t, input(t, dir))
			checkWant(t, readWant(t, dir), inc)
			checkLaws(t, input(t, dir), inc)
		})
	}
}

// TestEveryRuleHasFixtures: a rule without an incident that fires it, one that must not, and one
// that lacks the evidence, is not proven.
func TestEveryRuleHasFixtures(t *testing.T) {
	catalog, err := rules.Builtin()
	require.NoError(t, err)
	for _, rule := range catalog.Rules {
		for _, name := range []string{"positive", "near-miss", "missing"} {
			w := readWant(t, filepath.Join("../../testdata/rules", rule.ID, name))
			fires := slices.ContainsFunc(w.Findings, func(f wantFinding) bool { return f.Rule == rule.ID })
			require.Equal(t, name == "positive", fires, "%s/%s", rule.ID, name)
		}
	}
}

func incidentDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, pattern := range []string{"../../testdata/*/want.yaml", "../../testdata/rules/*/*/want.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range found {
			dirs = append(dirs, filepath.Dir(f))
		}
	}
	return dirs
}

func input(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"bundle.tgz", "bundle"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	t.Fatalf("%s has neither bundle/ nor bundle.tgz", dir)
	return ""
}

func readWant(t *testing.T, dir string) want {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "want.yaml"))
	require.NoError(t, err)
	var w want
	require.NoError(t, yaml.UnmarshalWithOptions(data, &w, yaml.Strict()))
	return w
}

func load(t *testing.T, inputs ...string) *incident.Incident {
	t.Helper()
	catalog, err := rules.Builtin()
	require.NoError(t, err)
	inc, err := incident.Load(t.Context(), incident.Options{Inputs: inputs, Catalog: catalog})
	require.NoError(t, err)
	return inc
}

func checkWant(t *testing.T, w want, inc *incident.Incident) {
	t.Helper()
	var names, wanted []string
	for _, f := range inc.Result.Findings {
		names = append(names, fmt.Sprintf("%s %s %s", f.Rule, f.Verdict, f.Role))
	}
	for _, f := range w.Findings {
		wanted = append(wanted, fmt.Sprintf("%s %s %s", f.Rule, f.Verdict, f.Role))
	}
	require.Equal(t, wanted, names, "headline: %s", inc.Result.Headline)
	for i, f := range w.Findings {
		got := inc.Result.Findings[i]
		require.True(t, strings.HasPrefix(got.Container, f.Container), "%s is about %q", f.Rule, got.Container)
		for _, id := range f.Steps {
			require.True(t, slices.ContainsFunc(got.Chain, func(s rules.Step) bool { return s.ID == id }), "%s has no step %q", f.Rule, id)
		}
		for _, text := range f.Evidence {
			require.True(t, cites(got, text), "%s does not cite %q", f.Rule, text)
		}
		for _, text := range f.Notes {
			require.Contains(t, strings.Join(got.Notes, "\n"), text)
		}
	}
	for _, text := range w.Headline {
		require.Contains(t, inc.Result.Headline, text)
	}
	for _, rule := range w.NotEvaluable {
		require.True(t, slices.ContainsFunc(inc.Result.NotEvaluable, func(u rules.Unanswered) bool {
			return u.Rule == rule && len(u.Missing) > 0 && u.Missing[0].Command != ""
		}), "%s does not say what it misses", rule)
	}
	for _, rule := range w.RuledOut {
		require.True(t, slices.ContainsFunc(inc.Result.RuledOut, func(d rules.Dismissed) bool { return d.Rule == rule && d.Why != "" }), "%s is not ruled out", rule)
	}
	require.Len(t, inc.Timeline.Stalls, len(w.Stalls))
	for i, s := range w.Stalls {
		got := inc.Timeline.Stalls[i]
		require.Equal(t, s.Start, got.Start.Format("15:04:05"))
		require.Equal(t, s.End, got.End.Format("15:04:05"))
		require.Equal(t, s.Phase, string(got.Phase))
		if s.NotReady != "" {
			require.Equal(t, s.NotReady, got.NotReady.Format("15:04:05"))
		}
	}
	if w.Node != "" {
		require.Equal(t, w.Node, inc.Node)
	}
	for file, basis := range w.Zone {
		i := slices.IndexFunc(inc.Timeline.Clocks, func(c timeline.Clock) bool { return strings.HasSuffix(c.File, file) })
		require.GreaterOrEqual(t, i, 0, "no clock of %s", file)
		require.Contains(t, inc.Timeline.Clocks[i].Basis, basis)
	}
}

func cites(f rules.Finding, text string) bool {
	for _, s := range f.Chain {
		for _, q := range s.Evidence {
			if strings.HasSuffix(q.Pos.String(), text) || strings.Contains(q.Text, text) {
				return true
			}
		}
	}
	return false
}

// checkLaws holds what must be true of every answer, whatever it is.
func checkLaws(t *testing.T, in string, inc *incident.Incident) {
	t.Helper()
	checkAccount(t, inc)
	checkEvidence(t, in, inc)
	checkDeterministic(t, in, inc)
}

// checkAccount: every line is used, blank or skipped, and a skipped one has a reason.
func checkAccount(t *testing.T, inc *incident.Incident) {
	t.Helper()
	for _, f := range inc.Files {
		require.Equal(t, f.Lines, f.Used+f.Blank+f.Skipped, "account of %s (%s): %+v", f.Path, f.Format, f)
		require.Equal(t, f.Skipped > 0, f.Skipped > 0 && f.FirstSkip != "", "%s skips %d lines without a reason", f.Path, f.Skipped)
	}
}

// checkEvidence: every quote stands in the bundle where it says it does.
func checkEvidence(t *testing.T, in string, inc *incident.Incident) {
	t.Helper()
	lines := bundleLines(t, in)
	check := func(what string, quotes []event.Quote) {
		for _, q := range quotes {
			require.Contains(t, lines, q.Pos.File, what)
			require.NotEmpty(t, q.Text, "%s quotes nothing at %s", what, q.Pos)
			file := lines[q.Pos.File]
			require.True(t, 1 <= q.Pos.Line && q.Pos.Line <= len(file), "%s cites %s", what, q.Pos)
			require.True(t, bytes.Contains(file[q.Pos.Line-1], []byte(q.Text)), "%s: %q does not stand at %s", what, q.Text, q.Pos)
		}
	}
	for _, f := range inc.Result.Findings {
		require.NotEmpty(t, f.Chain, f.Rule)
		for _, s := range f.Chain {
			require.NotEmpty(t, s.Evidence, "%s step %s", f.Rule, s.ID)
			check(f.Rule+" "+s.ID, s.Evidence)
		}
		for _, a := range f.Contradictions {
			check(f.Rule, a.Evidence)
		}
	}
	for _, d := range inc.Result.RuledOut {
		check(d.Rule, d.Evidence)
	}
	for _, s := range inc.Timeline.Stalls {
		check("stall", s.Evidence)
		check("stall", s.NotReadyEvidence)
	}
	for i := range inc.Timeline.Events {
		check(string(inc.Timeline.Events[i].Kind), inc.Timeline.Events[i].Evidence)
	}
}

// bundleLines reads all files of an input, split into lines.
func bundleLines(t *testing.T, in string) map[string][][]byte {
	t.Helper()
	lines := map[string][][]byte{}
	for f, err := range bundle.Files(t.Context(), bundle.Options{Inputs: []string{in}}) {
		require.NoError(t, err)
		r, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		lines[f.Path] = bytes.Split(data, []byte("\n"))
	}
	return lines
}

// checkDeterministic: the same bytes give the same report, byte by byte, and the input stays as it was.
func checkDeterministic(t *testing.T, in string, inc *incident.Incident) {
	t.Helper()
	before := fingerprint(t, in)
	again := load(t, in)
	for _, format := range report.Formats {
		var a, b bytes.Buffer
		require.NoError(t, format.Render(&a, inc, report.Options{Version: "test"}))
		require.NoError(t, format.Render(&b, again, report.Options{Version: "test"}))
		require.Equal(t, a.String(), b.String(), format.Name)
	}
	require.Equal(t, before, fingerprint(t, in), "the input was written to")
}

// fingerprint is the content and time of every file of an input.
func fingerprint(t *testing.T, in string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(in, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		info, err := d.Info()
		all[p] = fmt.Sprintf("%v %x", info.ModTime(), data)
		return err
	}))
	return all
}

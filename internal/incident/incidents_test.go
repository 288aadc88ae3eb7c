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

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/fixture"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/shell"
)

// passed says that the case with this number, of many that take the same way through the code, is
// left out: with the race detector, which makes each take many times as long, one of eight is
// enough. It looks at what runs at the same time, and that is the reading of the files.
func passed(i int) bool { return raced && i%8 != 0 }

// TestIncidents puts every incident of testdata, and every fixture of a rule,
// through the whole pipeline. Adding one needs no Go: a directory with the files (bundle/ or
// bundle.tgz) and want.yaml.
func TestIncidents(t *testing.T) {
	fixtures := fixtures(t)
	require.GreaterOrEqual(t, len(fixtures), 5, "testdata has lost its incidents")
	for i, f := range fixtures {
		if strings.Contains(f.Name, "/") && passed(i) {
			continue // of a rule or a ticket
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			in, err := f.Input()
			require.NoError(t, err)
			inc := load(t, in)
			want, err := f.Want()
			require.NoError(t, err)
			require.Empty(t, strings.Join(want.Differences(inc), "\n"), "headline: %s", inc.Result.Headline)
			checkLaws(t, in, inc)
			checkDeclared(t, inc)
		})
	}
}

// TestEveryRuleHasFixtures: a rule without an incident that fires it, one that must not, and one
// that lacks the evidence, is not proven.
func TestEveryRuleHasFixtures(t *testing.T) {
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	for _, rule := range catalog.Rules {
		for _, name := range []string{"positive", "near-miss", "missing"} {
			f := fixture.Fixture{Dir: filepath.Join("../../testdata/rules", rule.ID, name)}
			want, err := f.Want()
			require.NoError(t, err, f.Dir)
			fires := slices.ContainsFunc(want.Findings, func(f fixture.Finding) bool { return f.Rule == rule.ID })
			require.Equal(t, name == "positive", fires, "%s/%s", rule.ID, name)
		}
	}
}

// fixtures are the incidents and the fixtures of the built-in rules.
func fixtures(t *testing.T) []fixture.Fixture {
	t.Helper()
	all, err := fixture.Find("../../testdata")
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(f fixture.Fixture) bool { return strings.HasPrefix(f.Name, "my-rules/") }) // of a user's rules
}

// checkDeclared: the kind of every event declares its ids, its fields, and what these may be.
func checkDeclared(t *testing.T, inc *incident.Incident) {
	t.Helper()
	for i := range inc.Timeline.Events {
		require.Empty(t, event.Undeclared(inc.Timeline.Events[i]))
	}
}

func load(t *testing.T, inputs ...string) *incident.Incident {
	t.Helper()
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	inc, err := incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: inputs}, Catalog: catalog})
	require.NoError(t, err)
	return inc
}

// checkLaws holds what must be true of every answer, whatever it is.
func checkLaws(t *testing.T, in string, inc *incident.Incident) {
	t.Helper()
	checkAccount(t, inc)
	checkEvidence(t, in, inc)
	checkCommands(t, inc)
	if !raced { // it renders every report twice
		checkDeterministic(t, in, inc)
	}
}

// checkAccount: every line is used, blank or skipped, and a skipped one has a reason.
func checkAccount(t *testing.T, inc *incident.Incident) {
	t.Helper()
	for _, f := range inc.Files {
		require.Equal(t, f.Lines, f.Used+f.Blank+f.Skipped, "account of %s (%s): %+v", f.Path, f.Format, f)
		require.Equal(t, f.Skipped > 0, f.Skipped > 0 && f.FirstSkip != "", "%s skips %d lines without a reason", f.Path, f.Skipped)
	}
}

// checkCommands: every command that a report gives can be pasted as it stands, or the text beside
// it says what is to be filled in; the first thing to do of a finding is said, and its hazard.
func checkCommands(t *testing.T, inc *incident.Incident) {
	t.Helper()
	check := func(command, beside string) {
		parsed, err := shell.Parse(command)
		require.NoError(t, err, command)
		for _, word := range parsed.ListBlanks() {
			require.Contains(t, beside, word, command)
		}
	}
	for i := range inc.Result.Findings {
		f := &inc.Result.Findings[i]
		require.NotEmpty(t, f.Remediation.Now, f.Rule)
		for _, a := range f.Remediation.Now {
			require.NotEmpty(t, a.Do, f.Rule)
			require.Equal(t, len(a.Commands) > 0, a.Hazard != "", a.Do)
			for _, command := range a.Commands {
				check(command, a.Do)
			}
		}
		for _, m := range f.Missing {
			check(m.Command, m.Note)
		}
	}
	for _, n := range inc.Result.Next {
		check(n.Command, n.Note)
	}
	for _, u := range inc.Result.NotEvaluable {
		for _, m := range u.Missing {
			check(m.Command, m.Note)
		}
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

// checkDeterministic: the same bytes give the same report, byte by byte, and the input stays as it
// was.
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

package schema_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/comparison"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/observe/goroutines"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/report/listing"
	"github.com/plegdiag/plegdiag/internal/report/rows"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/schema"
	"github.com/plegdiag/plegdiag/internal/schema/schematest"
)

// inTree is which output a document in a file is, by its member "schema".
var inTree = func() *regexp.Regexp {
	var ids []string
	for _, o := range schema.Outputs() {
		ids = append(ids, regexp.QuoteMeta(o.ID))
	}
	return regexp.MustCompile(`^\{\s*"schema": ?"(` + strings.Join(ids, "|") + `)"`)
}()

// skipOnUpdate skips tests of the schemas in this binary: -update writes those that the next one
// has.
func skipOnUpdate(t *testing.T) {
	if *update {
		t.Skip("the schemas of this binary are those before -update")
	}
}

// TestFilesOfTheRepository: every document of plegdiag that is a file of the repository fits its
// schema, and has no field that the schema does not know.
func TestFilesOfTheRepository(t *testing.T) {
	skipOnUpdate(t)
	checked := map[string]int{}
	for _, root := range []string{"../../testdata", "../../internal", "../../cmd", "../../fleet"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".json") {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && strings.HasSuffix(path, ".gz") {
				return errors.Join(err, checkPacked(checked, path, text))
			}
			return errors.Join(err, checkFile(checked, path, text))
		}))
	}
	for _, output := range []string{"report", "rows", "stacks", "syscalls", "manifest"} {
		require.NotZero(t, checked[output], "no file of %s was found", output)
	}
}

func checkFile(checked map[string]int, path string, text []byte) error {
	m := inTree.FindSubmatch(text)
	if m == nil {
		return nil
	}
	for _, o := range schema.Outputs() {
		if o.ID != string(m[1]) {
			continue
		}
		checked[o.Name]++
		if err := schematest.Check(o.Name, text); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func checkPacked(checked map[string]int, path string, packed []byte) error {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(zip); err != nil {
		return err
	}
	return checkFile(checked, path, text.Bytes())
}

// TestIncidents: what is written of every incident and every ticket of the repository fits the
// schemas.
func TestIncidents(t *testing.T) {
	skipOnUpdate(t)
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	var inputs []string
	for _, pattern := range []string{"../../testdata/*/bundle*", "../../testdata/tickets/*/bundle*"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		inputs = append(inputs, found...)
	}
	require.Greater(t, len(inputs), 50)
	var last *incident.Incident
	for _, input := range inputs {
		name := filepath.Base(filepath.Dir(input))
		inc, err := incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: []string{input}}, Catalog: catalog})
		require.NoError(t, err, name)
		checkIncident(t, name, inc)
		if last != nil {
			checkWritten(t, name, "compare", func(w *bytes.Buffer) error {
				return report.CompareJSON(w, comparison.Compare(last, inc), report.Options{Version: "v1"})
			})
		}
		last = inc
		if strings.Contains(input, "tickets") { // which are small: each is read once more
			checkExplained(t, name, input, catalog, inc)
		}
	}
}

// checkIncident checks all that is written of one incident.
func checkIncident(t *testing.T, name string, inc *incident.Incident) {
	o := report.Options{Version: "v1"}
	checkWritten(t, name, "report", func(w *bytes.Buffer) error { return report.JSON(w, inc, o) })
	checkWritten(t, name, "files", func(w *bytes.Buffer) error { return report.FilesJSON(w, inc, o) })
	checkWritten(t, name, "rows", func(w *bytes.Buffer) error { return rows.Write(w, rows.Of(inc)) })
	if len(inc.Timeline.Events) > 0 {
		checkWritten(t, name, "timeline", func(w *bytes.Buffer) error {
			return report.TimelineJSONL(w, &report.Selection{Incident: inc, Events: inc.Timeline.Events}, o)
		})
	}
}

// checkExplained checks how the line of the first event that has one is explained.
func checkExplained(t *testing.T, name, input string, catalog *language.Catalog, inc *incident.Incident) {
	has := func(e *event.Event) bool { return e.Pos().Line > 0 }
	i := slices.IndexFunc(inc.Timeline.Events, has)
	if i < 0 {
		return
	}
	watched, err := incident.Load(t.Context(), incident.Options{
		Inputs: incident.Inputs{Paths: []string{input}}, Catalog: catalog, Watch: inc.Timeline.Events[i].Pos(),
	})
	require.NoError(t, err, name)
	require.NotEmpty(t, watched.Readings, name)
	checkWritten(t, name, "explain", func(w *bytes.Buffer) error {
		return report.ExplainJSON(w, watched, &watched.Readings[0], report.Options{Version: "v1"})
	})
}

// TestDumpsAndTraces: what is written of the samples of dumps and traces fits the schemas.
func TestDumpsAndTraces(t *testing.T) {
	skipOnUpdate(t)
	for _, root := range []string{
		"../parse/testdata/strace", "../observe/testdata", "../stackdump/testdata", "../../cmd/plegdiag/testdata", "../../testdata/seed-terway",
	} {
		inputs := incident.Inputs{Paths: []string{root}}
		dumps, _, err := incident.ReadDumps(t.Context(), inputs)
		require.NoError(t, err)
		if len(dumps) > 0 {
			shown := listing.Stacks{}
			for _, d := range dumps {
				shown.Dumps = append(shown.Dumps, listing.Dump{Dump: d, Graph: d.Graph(goroutines.Holds())})
			}
			checkWritten(t, root, "stacks", func(w *bytes.Buffer) error { return listing.StacksJSON(w, &shown, show.Options{}) })
		}
		traces, _, err := incident.ReadTraces(t.Context(), inputs, nil)
		require.NoError(t, err)
		if len(traces) > 0 {
			checkWritten(t, root, "syscalls", func(w *bytes.Buffer) error { return listing.SyscallsJSON(w, traces, show.Options{}) })
		}
		require.NotZero(t, len(dumps)+len(traces), root)
	}
}

// TestCatalog: the rules and the kinds of events fit the schemas, and so does the row of a bundle
// that failed.
func TestCatalog(t *testing.T) {
	skipOnUpdate(t)
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	o := report.Options{Version: "v1"}
	checkWritten(t, "", "rules", func(w *bytes.Buffer) error { return report.RulesJSON(w, catalog, o) })
	checkWritten(t, "", "events", func(w *bytes.Buffer) error { return listing.EventsJSON(w, event.Kinds(), o) })
	checkWritten(t, "", "rows", func(w *bytes.Buffer) error { return rows.Write(w, []rows.Row{rows.NewFailed("cut")}) })
}

// checkers are those that were needed so far.
var checkers = map[string]*schematest.Checker{}

func checkWritten(t *testing.T, name, output string, write func(*bytes.Buffer) error) {
	if checkers[output] == nil {
		checker, err := schematest.New(output)
		require.NoError(t, err)
		checkers[output] = checker
	}
	var text bytes.Buffer
	require.NoError(t, write(&text))
	require.NoError(t, checkers[output].Check(text.Bytes()), "%s of %s", output, name)
}

// The check can fail: on a field that is not in the schema, at any depth, and on whatever the
// schema itself refuses.
func TestCheckFails(t *testing.T) {
	skipOnUpdate(t)
	golden, err := os.ReadFile("../report/testdata/proven.json")
	require.NoError(t, err)
	require.NoError(t, schematest.Check("report", golden))
	require.NoError(t, schematest.Check("report", slices.Concat(golden, golden)))
	for from, to := range map[string]string{
		`"tool": {`:                       `"colour": "red", "tool": {`,
		`"headline":`:                     `"head": 1, "headline":`,
		`"path": "containerd.log"`:        `"path": "containerd.log", "col": 7`,
		`"verdict": "confirmed"`:          `"verdict": "certain"`,
		`"plegdiag.report/v1"`:            `"plegdiag.report/v2"`,
		`"start": "2026-11-20T18:20:01Z"`: `"start": "yesterday"`,
		`"references": [`:                 `"reference": [`,
		`"score": 0.934`:                  `"score": "0.934"`,
		`"contradictions": []`:            `"contradictions": null`,
	} {
		require.Contains(t, string(golden), from)
		bad := strings.Replace(string(golden), from, to, 1)
		require.True(t, json.Valid([]byte(bad)), bad)
		require.Error(t, schematest.Check("report", []byte(bad)), "%s instead of %s", to, from)
	}
	require.Error(t, schematest.Check("report", nil))
	require.Error(t, schematest.Check("report", golden[:len(golden)/2]))
	require.Error(t, schematest.Check("nothing", golden))
}

package language

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestTrees: a user's rules join the catalogue, and what is wrong in one tree is told by its own
// name.
func TestTrees(t *testing.T) {
	ours := Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(whole)}}, Dir: "catalog"}
	mine := strings.Replace(whole, "id: whole", "id: mine", 1) + "explained_by: [{rule: whole, join: [cid]}]\n"
	theirs := fstest.MapFS{
		"deep/mine.yaml":                 {Data: []byte(mine)},
		"mine/positive/want.yaml":        {Data: []byte("findings: []")},
		"mine/positive/bundle/conf.yaml": {Data: []byte("no: rule")},
	}
	cat, err := Load(nil, ours, Files{FS: theirs, Dir: "my/rules"})
	require.NoError(t, err)
	require.Len(t, cat.Rules, 2)

	_, err = Load(nil, ours, Files{FS: fstest.MapFS{"a.yaml": {Data: []byte(whole)}}, Dir: "my/rules"})
	require.EqualError(t, err, `my/rules/a.yaml:1:5: id "whole" is taken by catalog/whole.yaml`)
	theirs["broken.yaml"] = &fstest.MapFile{Data: []byte("id: [")}
	_, err = Load(nil, ours, Files{FS: theirs, Dir: "my/rules"})
	require.ErrorContains(t, err, "my/rules/broken.yaml:1:")
	cat, err = Load(nil, ours, Files{FS: theirs, Dir: "my/rules", Only: "deep/mine.yaml"})
	require.NoError(t, err)
	require.Len(t, cat.Rules, 2)
	_, err = Load(nil, Files{FS: theirs, Only: "none.yaml"})
	require.ErrorContains(t, err, "none.yaml")
}

// loadMap loads rule files that a test wrote.
func loadMap(files fstest.MapFS) (*Catalog, error) { return Load(nil, Files{FS: files}) }

// TestProblems breaks a whole rule in one place each.
func TestProblems(t *testing.T) {
	loadText(t, whole)
	for _, c := range []struct{ old, new, want string }{
		{"title:", "titel:", `whole.yaml:2:1: unknown field "titel"; did you mean "title"?`},
		{"kind: b,", "kind: b, mtach: {},", `7:50: unknown field "mtach"; did you mean "match"?`},
		{"title: Title", "title: [a", `whole.yaml:`},
		{"title: Title", "title: Title\ntitle: Title", `3:1: mapping key "title" already defined in line 2`},
		{"title: Title", "title: {a: b}", `2:9: expected text, not a mapping`},
		{"title: Title", "title: &x Title", `anchors, aliases, merges and tags have no place in a rule`},
		{"title: Title", `title: ""`, `2:8: title is missing`},
		{"id: whole", "id: Whole Rule", `1:5: id "Whole Rule" is no slug`},
		{"role: root", "role: rot", `3:7: role "rot" is none of root, link, contributing, fallback, notready; did you mean "root"?`},
		{"role: cause", "role: reason", `6:21: role "reason" is none of cause, mechanism, symptom, recovery`},
		{"needs: [{any: [containerd.log], collect: c}]\n", "", `needs is empty`},
		{"any: [containerd.log]", "any: []", `4:10: a need names at least one source`},
		{"kind: a, ", "", `6:6: step "one" wants either a kind or alternatives`},
		{"id: two", "id: one", `7:10: step id "one" is taken`},
		{"kind: a,", "kind: a, weight: 101,", `weight 101 is not between 1 and 100`},
		{"kind: a,", "kind: a, min: 2,", `min counts the events of a step with all: true`},
		{"kind: a,", `kind: a, match: {"n|re": "("},`, "6:64: \"n|re\": error parsing regexp"},
		{"kind: a,", `kind: a, match: {"n|matches": x},`, `unknown operator "matches"`},
		{"from: one", "from: on", `9:12: unknown step "on"; did you mean "one"?`},
		{"to: two,", "to: one,", `step "one" has an edge to itself`},
		{"max: 10s", "max: ten", `9:46: "ten" is no duration such as "10m" or "-5s"`},
		{"min: 0s", "min: 11s", `gap from 11s to 10s is empty`},
		{"from: one", "from: [one, on]", `9:18: unknown step "on"; did you mean "one"?`},
		{"from: one", "from: [one, one]", `9:18: step "one" is named twice`},
		{"from: one", "from: []", `9:6: from is missing`},
		{"from: one", "from: {one: two}", `9:13: expected text, not a mapping`},
		{", gap: {min: 0s, max: 10s}", "", `an edge wants a gap or an overlap`},
		{"one and two", "one and too", `13:14: unknown id "too"; did you mean "two"?`},
		{"one and two", "not one", `13:14: unknown id "not"`},
		{"steps:", "steps: {}\nstep:", `5:8: expected a list, not a mapping`},
		{"kind: a,", "kind: a, weight: heavy,", `expected a whole number, not "heavy"`},
		{"kind: a,", "kind: a, all: 1,", `expected true or false, not "1"`},
		{"kind: a,", "kind: a, match: [x],", `expected a mapping, not a list`},
		{"kind: a,", "kind: a, match: {x: {y: z}},", `expected one value or a list of values, not a mapping`},
		{"one or two and none-seen", "none-seen", `a verdict needs a step: absence alone proves nothing`},
		{"verdict:\n  confirmed: one and two\n  possible: one or two and none-seen\n", "", `verdict has no condition`},
		{"before: two", "before: to", `unknown step "to"; did you mean "two"?`},
		{"before: two, ", "", `11:6: an absence wants either before or during`},
		{"before: two", "before: two, level: debugg", `unknown level "debugg"; did you mean "debug"?`},
		{"kind: d, bind: {container: cid}", "kind: d, bind: {container: id}", `no step binds "id"; did you mean "cid"?`},
		{"why: w", "why: w, effect: weakens", `effect "weakens" is none of`},
		{"per: cid", "per: pid", `17:6: no step binds "pid"; did you mean "cid"?`},
		{"{one.start}", "{on.start}", `18:11: unknown step "on" in {on.start}`},
		{"{one.start}", "{start}", `{start} is neither a bind nor step.field`},
		{"kind: b, bind: {container: cid}", "kind: b, bind: {container|option: cid}", `7:75: unknown modifier "option"; did you mean "optional"?`},
		{"kind: a,", "kind: a, match: {n|captures: 'of {lock} by'},", `6:68: bind "lock" is used nowhere else; {} stands for any word`},
		{"kind: a,", "kind: a, match: {n|captures: 'of {cid} by'},", `6:68: this pattern binds "cid" already`},
		{"kind: a,", "kind: a, match: {n|captures: of},", `6:68: "n|captures": takes a text with a placeholder`},
		{"kind: d,", "kind: d, match: {n|captures: 'of {id} by'},", `no step binds "id"; did you mean "cid"?`},
		{"per: cid", "per: cid\nnotes: [{when: {step: one, match: {n|captures: '{x}'}}, text: x}]", `18:48: nothing can be bound here: write {} instead of {x}`},
		{"kind: a,", "kind: a, match: {source: 'path:['},", `"[" is no pattern of paths`},
		{"kind: b, bind: {container: cid}", "kind: b, bind: {container: cid, lock: lock}", `7:79: bind "lock" is used nowhere else`},
		{"edges:", "  - {id: three, role: mechanism, text: x, kind: e}\nedges:", `8:10: step "three" is unreachable: no verdict, edge or shared bind speaks of it`},
		{"per: cid", "per: cid\nversions: [{fact: v, affected: new}]", `"new" is not a version`},
		{"per: cid", "per: cid\nexplained_by: [{rule: hole}]", `18:23: unknown rule "hole"`},
		{"per: cid", "per: cid\nexplained_by: [{rule: whole}]", `rule "whole" is in turn explained by "whole"`},
		{"per: cid", "per: cid\n---\nid: two", `expected one YAML document, not 2`},
		{"title: Title", "title: " + strings.Repeat("x", yamlfile.MaxSize), `larger than 65536 bytes`},
	} {
		require.Contains(t, whole, c.old)
		cat, err := loadMap(fstest.MapFS{"whole.yaml": {Data: []byte(strings.Replace(whole, c.old, c.new, 1))}})
		require.ErrorContains(t, err, c.want, c.new)
		require.Nil(t, cat)
		require.NotContains(t, err.Error(), "\n\n")
	}
}

func TestProblemsOfACatalogue(t *testing.T) {
	other := strings.Replace(whole, "id: whole", "id: other", 1)
	_, err := loadMap(fstest.MapFS{"a.yaml": {Data: []byte(whole)}, "b.yaml": {Data: []byte(whole)}})
	require.EqualError(t, err, `b.yaml:1:5: id "whole" is taken by a.yaml`)
	_, err = loadMap(fstest.MapFS{
		"a.yaml": {Data: []byte(whole + "explained_by: [{rule: other, join: [cid]}]\n")},
		"b.yaml": {Data: []byte(other + "explained_by: [{rule: whole}]\n")},
	})
	require.ErrorContains(t, err, `a.yaml:19:23: rule "other" is in turn explained by "whole"`)
	_, err = loadMap(fstest.MapFS{"a.yaml": {Data: []byte(strings.NewReplacer(
		"title:", "titel:", "from: one", "from: on", "one and two", "one and too", "per: cid", "per: id", "why: w", "why: ''",
	).Replace(whole))}, "b.yaml": {Data: []byte(`id: [`)}})
	require.EqualError(t, err, `a.yaml:2:1: unknown field "titel"; did you mean "title"?
a.yaml:9:12: unknown step "on"; did you mean "one"?
a.yaml:13:14: unknown id "too"; did you mean "two"?
a.yaml:16:44: why is missing
a.yaml:17:6: no step binds "id"; did you mean "cid"?
b.yaml:1: not YAML: did not find expected node content`, "all problems at once")
	cat, err := loadMap(fstest.MapFS{"README.md": {Data: []byte("# no rule")}})
	require.NoError(t, err)
	require.Empty(t, cat.Rules)
}

func TestExplain(t *testing.T) {
	cat := loadAll(t, Files{FS: os.DirFS("../testdata/synthetic")})
	var b strings.Builder
	for i := range cat.Rules {
		require.NoError(t, cat.Rules[i].Explain(&b))
		b.WriteString("\n")
	}
	const golden = "testdata/explain.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "go test -update accepts it")
	for text := range strings.Lines(b.String()) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(text, "\n"))), explainWidth)
	}
}

// FuzzLoad: no input panics, every problem says where it is, and what loads can be explained, and
// be written and read again as the same rule. Evaluating is fuzzed by the random rules of the
// oracle.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(whole))
	for _, pattern := range []string{"../testdata/synthetic/*.yaml", "../catalog/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(f, err)
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rule, _, problems := newLoader(invented).parseRule("fuzz.yaml", text)
		require.Equal(t, rule == nil, problems.Mistakes() > 0)
		for _, p := range problems {
			require.NotEmpty(t, p.Reason)
			require.True(t, strings.HasPrefix(p.Error(), "fuzz.yaml:"))
			require.LessOrEqual(t, p.Line, strings.Count(string(text), "\n")+strings.Count(string(text), "\r")+2)
		}
		if rule == nil {
			rule, _, _ = newLoader(nil).parseRule("fuzz.yaml", text) // of any kind
		}
		if rule == nil || !utf8.Valid(text) {
			return
		}
		var explained, again strings.Builder
		require.NoError(t, rule.Explain(&explained))
		require.Contains(t, explained.String(), rule.ID)
		for i := range rule.Steps {
			require.Contains(t, explained.String(), rule.Steps[i].ID)
		}
		same, _, problems := newLoader(nil).parseRule("fuzz.yaml", rewritten(t, rule))
		require.Empty(t, problems)
		require.NoError(t, same.Explain(&again))
		require.Equal(t, explained.String(), again.String(), "explained again")
	})
}

// rewritten is a rule as a file of its own: JSON, which is YAML, too.
func rewritten(t *testing.T, rule *Rule) []byte {
	data, err := json.Marshal(spelled(reflect.ValueOf(*rule)))
	require.NoError(t, err)
	return data
}

// spelled is what a file says of a value; nil for nothing.
func spelled(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return spelled(v.Elem())
	case reflect.Struct:
		m := map[string]any{}
		for key, index := range yamlfile.ListKeys(v.Type()) {
			if value := spelled(v.FieldByIndex(index)); value != nil {
				m[key] = value
			}
		}
		if v.Type() == reflect.TypeFor[StepRule]() && m["all"] == nil {
			delete(m, "min") // the compiler sets it
		}
		return m
	case reflect.Slice:
		var list []any
		for i := range v.Len() {
			list = append(list, spelled(v.Index(i)))
		}
		if list == nil {
			return nil
		}
		return list
	case reflect.Map:
		m := map[string]any{}
		for _, key := range v.MapKeys() {
			m[key.String()] = v.MapIndex(key).Interface()
		}
		return m
	}
	if v.IsZero() {
		return nil
	}
	return v.Interface()
}

// TestEdgeLists: an edge with lists is the edges of all pairs.
func TestEdgeLists(t *testing.T) {
	const edges = "edges:\n  - {from: one, to: two, gap: {min: 0s, max: 10s}}\n"
	steps := strings.Replace(whole, "edges:", `  - {id: three, role: symptom, text: x, kind: a, bind: {container: cid}}
  - {id: four, role: symptom, text: x, kind: b, bind: {container: cid}}
edges:`, 1)
	require.Contains(t, steps, edges)
	lists := loadText(t, strings.Replace(steps, edges, `edges:
  - {from: [one, three], to: [two, four], gap: {min: 0s, max: 10s}, overlap: 5s, from_at: end}
`, 1))
	single := loadText(t, strings.Replace(steps, edges, `edges:
  - {from: one, to: two, gap: {min: 0s, max: 10s}, overlap: 5s, from_at: end}
  - {from: one, to: four, gap: {min: 0s, max: 10s}, overlap: 5s, from_at: end}
  - {from: three, to: two, gap: {min: 0s, max: 10s}, overlap: 5s, from_at: end}
  - {from: three, to: four, gap: {min: 0s, max: 10s}, overlap: 5s, from_at: end}
`, 1))
	require.Len(t, lists.Rules[0].Compiled.Ties, 4)
	for i, tie := range single.Rules[0].Compiled.Ties {
		require.Equal(t, i, tie.Edge)
		tie.Edge = 0
		require.Equal(t, tie, lists.Rules[0].Compiled.Ties[i])
	}
	require.Equal(t, single.Rules[0].Compiled.Edged, lists.Rules[0].Compiled.Edged)
	require.Equal(t, single.Rules[0].Compiled.Related, lists.Rules[0].Compiled.Related)

	var b strings.Builder
	require.NoError(t, lists.Rules[0].Explain(&b))
	require.Contains(t, strings.Join(strings.Fields(b.String()), " "), "one or three and two or four: each begins at most 10s after its end")
}

package yamlfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kept is a struct of each kind of field that a file may set, and of those that it may not.
type kept struct {
	Name   string
	Many   int
	Sure   bool
	Others list `yaml:"and_others"`
	Match  map[string]any
	Inner  *inner
	inner  `yaml:",inline"`

	Made   int `yaml:"-"`
	hidden int
}

type inner struct{ Deep string }

// list is a list, or a text alone.
type list []string

func (l *list) SetText(text string) { *l = list{text} }

func TestDecode(t *testing.T) {
	k := kept{hidden: 7}
	require.NoError(t, Decode("a.yaml", []byte(`
name: 1.10
many: 3
sure: true
and_others: one
match: {n|gt: 5, s: x, b: false, l: [1, 2.5]}
inner: {deep: down}
`), &k))
	require.Equal(t, kept{
		Name: "1.10", Many: 3, Sure: true, Others: list{"one"}, Inner: &inner{"down"}, hidden: 7,
		Match: map[string]any{"n|gt": int64(5), "s": "x", "b": false, "l": []any{int64(1), 2.5}},
	}, k)
	require.NoError(t, Decode("a.yaml", []byte("{and_others: [one, two], inner: null}"), &k))
	require.Equal(t, list{"one", "two"}, k.Others)
	require.NotNil(t, k.Inner, "null is as if the key were not there")
}

// TestDecodeProblems: a file sets what it may, and each mistake is told with its place.
func TestDecodeProblems(t *testing.T) {
	for text, want := range map[string]string{
		"made: 1":                            `a.yaml:1:1: unknown field "made"; did you mean "many"?`,
		"hidden: 1":                          `a.yaml:1:1: unknown field "hidden"`,
		"\"-\": 1":                           `a.yaml:1:1: unknown field "-"`,
		"nam: x":                             `a.yaml:1:1: unknown field "nam"; did you mean "name"?`,
		"many: x\nsure: 1":                   "a.yaml:1:7: expected a whole number, not \"x\"\na.yaml:2:7: expected true or false, not \"1\"",
		"inner: x":                           `a.yaml:1:8: expected a mapping with keys such as "deep", not "x"`,
		"and_others: {a: b}":                 `a.yaml:1:14: expected text, not a mapping; a text with a colon needs quotes`,
		"match: {a: {b: c}}":                 `a.yaml:1:13: expected one value or a list of values, not a mapping`,
		"name: &a x":                         `a.yaml:1:7: anchors, aliases, merges and tags have no place in a rule`,
		"name: x\nname: y":                   `a.yaml:2:1: mapping key "name" already defined in line 1`,
		"name: [":                            `a.yaml:1: not YAML: did not find expected node content`,
		"name: x\n---\nname: y":              `a.yaml: expected one YAML document, not 2`,
		"":                                   `a.yaml: expected one YAML document, not 0`,
		strings.Repeat("# x\n", 1<<14) + "#": `a.yaml: larger than 65536 bytes`,
	} {
		require.EqualError(t, Decode("a.yaml", []byte(text), new(kept)), want)
	}
}

// TestMerge: what is missing because it could not be read is no second mistake.
func TestMerge(t *testing.T) {
	src, problem := Read("a.yaml", []byte("steps:\n  - {id: 1}\ntitle: x\n"))
	require.Nil(t, problem)
	id, title := src.Problem(Place{"steps"}.In(0, "id"), "unread"), src.Problem(Place{"title"}, "wrong")
	missing := src.Problem(Place{"steps", 0, "id"}, "missing")
	warning := Problem{File: "a.yaml", Line: 9, Warning: true}
	merged := Merge(Problems{title, id}, Problems{missing, warning.WithReason("odd %d", 1)})
	require.EqualError(t, merged, "a.yaml:2:10: unread\na.yaml:3:8: wrong\na.yaml:9: warning: odd 1")
	require.Equal(t, 2, merged.Mistakes())
	require.EqualError(t, (&Source{File: "b"}).Problem(Place{"id"}, "no tree"), "b: no tree")
}

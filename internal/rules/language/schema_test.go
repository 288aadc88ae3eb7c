package language

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
	"github.com/plegdiag/plegdiag/internal/schema/schematest"
)

// words are the closed sets of the language, by struct and field.
func words() map[string][]string {
	var kinds []string
	for _, k := range event.Kinds() {
		kinds = append(kinds, string(k.Kind))
	}
	return map[string][]string{
		"Rule.Role": ruleRoles, "Rule.Phase": phases, "Pattern.Kind": kinds, "StepRule.Role": stepRoles, "StepRule.Certainty": certainties,
		"EdgeRule.FromAt": ends, "EdgeRule.ToAt": ends, "Absence.Level": slices.Sorted(maps.Keys(levels)), "Objection.Effect": effects,
		"TellRule.AtMost": tellCaps, "TellRule.Role": effectRoles,
	}
}

const durationPattern = `^-?([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+$|^0$`

var shapes = map[string]string{
	"Rule.ID": slug.String(), "StepRule.ID": slug.String(), "Absence.ID": slug.String(), "Objection.ID": slug.String(),
	"Gap.Min": durationPattern, "Gap.Max": durationPattern, "EdgeRule.Overlap": durationPattern, "Objection.Near": durationPattern, "Need.Any": "^path:.|" + sourceNames.String(),
}

// needed are the keys that the compiler demands.
var needed = map[string][]string{
	"Rule": {"id", "title", "role", "needs", "steps", "verdict", "headline"}, "VersionRange": {"fact", "affected"}, "Need": {"any", "collect"},
	"StepRule": {"id", "role", "text"}, "EdgeRule": {"from", "to"}, "Absence": {"id", "kind", "source"}, "Objection": {"kind", "why"},
	"Deeper": {"rule"}, "NoteRule": {"text"}, "When": {"step"}, "ExposureRule": {"text"}, "ForecastRule": {"kind", "value", "limit", "text"},
	"Action": {"do"},
}

// generator makes a schema of the Go structs of the language and their comments.
type generator struct {
	comments map[string]string // by struct and field
	schema   *jsonschema.Schema
}

func generateSchema(t *testing.T) *jsonschema.Schema {
	comments, err := schematest.Comments(".")
	require.NoError(t, err)
	g := generator{comments: comments, schema: &jsonschema.Schema{
		Schema: "http://json-schema.org/draft-07/schema#", // what yaml-language-server reads
		Title:  "A rule of plegdiag", Description: "Generated from internal/rules. docs/rule-language.md explains the language.",
		Definitions: map[string]*jsonschema.Schema{},
	}}
	g.schema.Ref = g.of(reflect.TypeFor[Rule](), "").Ref
	return g.schema
}

// of is the schema of a type; name is the struct and field that has it.
func (g *generator) of(t reflect.Type, name string) *jsonschema.Schema {
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem(), name)
	case reflect.Struct:
		if g.schema.Definitions[t.Name()] == nil {
			s := &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, Properties: map[string]*jsonschema.Schema{}}
			g.schema.Definitions[t.Name()] = s
			g.properties(s, t)
			s.Required = needed[t.Name()]
		}
		ref := &jsonschema.Schema{Ref: "#/definitions/" + t.Name()}
		if reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ SetText(text string) }]()) {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, ref}}
		}
		return ref
	case reflect.Slice:
		if t == reflect.TypeFor[StepIDs]() {
			list := &jsonschema.Schema{Type: "array", Items: g.of(t.Elem(), name), MinItems: new(1)}
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{g.of(t.Elem(), name), list}}
		}
		return &jsonschema.Schema{Type: "array", Items: g.of(t.Elem(), name)}
	case reflect.Map:
		s := &jsonschema.Schema{Type: "object", AdditionalProperties: g.of(t.Elem(), name)}
		if name == "Pattern.Bind" {
			s.PropertyNames = &jsonschema.Schema{Pattern: `^[^|]+(\|` + optionalModifier + `)?$`}
		}
		if t.Elem().Kind() == reflect.Interface { // conditions
			s.PropertyNames = &jsonschema.Schema{Pattern: `^[^|]+(\|(` + strings.Join(condition.ListOperators()[1:], "|") + `))?$`}
		}
		return s
	case reflect.Interface:
		if name == "ForecastRule.Limit" {
			return &jsonschema.Schema{Types: []string{"string", "number"}}
		}
		return &jsonschema.Schema{Types: []string{"string", "number", "boolean", "array"}}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer"}
	}
	s := &jsonschema.Schema{Type: "string", Pattern: shapes[name]}
	for _, word := range words()[name] {
		if word != "" {
			s.Enum = append(s.Enum, word)
		}
	}
	return s
}

func (g *generator) properties(s *jsonschema.Schema, t reflect.Type) {
	for field := range t.Fields() {
		if field.Tag.Get("yaml") == ",inline" {
			g.properties(s, field.Type)
			continue
		}
		key, ok := yamlfile.FindKey(field)
		if !ok {
			continue
		}
		name := t.Name() + "." + field.Name
		property := g.of(field.Type, name)
		if property.Ref != "" { // draft 7 ignores what stands beside a reference
			property = &jsonschema.Schema{AllOf: []*jsonschema.Schema{property}}
		}
		property.Description = g.comments[name]
		s.Properties[key] = property
		s.PropertyOrder = append(s.PropertyOrder, key)
	}
}

// TestSchema: the schema for editors is what the structs say, takes every rule of the catalogue,
// and refuses what the loader refuses.
func TestSchema(t *testing.T) {
	schema := generateSchema(t)
	text, err := json.MarshalIndent(schema, "", "  ")
	require.NoError(t, err)
	text = append(text, '\n')
	const path = "../../../docs/rule.schema.json"
	if *update {
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(written), string(text), "go test ./internal/rules/language -update accepts it")

	var read jsonschema.Schema
	require.NoError(t, json.Unmarshal(written, &read))
	resolved, err := read.Resolve(nil)
	require.NoError(t, err)
	validate := func(text string) error {
		var rule any
		require.NoError(t, yaml.Unmarshal([]byte(text), &rule))
		data, err := json.Marshal(rule)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &rule))
		return resolved.Validate(rule)
	}
	var files []string
	for _, pattern := range []string{"../catalog/*.yaml", "../../../testdata/my-rules/*.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return filepath.Base(name) == effectFileName })
	require.Greater(t, len(files), 10)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, validate(string(text)), name)
	}

	good := strings.NewReplacer("kind: a,", "kind: syscall,", "kind: b,", "kind: syscall,", "kind: c,", "kind: syscall,", "kind: d,", "kind: syscall,").Replace(whole)
	require.NoError(t, validate(good))
	for old, bad := range map[string]string{
		"title:": "titel:", "role: root": "role: rot", "id: whole": "id: Whole Rule", "kind: syscall, bind": "kind: syscal, bind",
		"max: 10s": "max: ten", "before: two, ": "before: two, level: loud, ", "text: \"x\"": "text: [x]", "headline: ": "notes: ",
		"bind: {container: cid}}": "bind: {container: cid}, match: {name|is: x}}", "why: w": "why: w, effect: weakens", "[containerd.log]": "[containerd]",
	} {
		require.Contains(t, good, old)
		require.Error(t, validate(strings.Replace(good, old, bad, 1)), fmt.Sprintf("%s instead of %s", bad, old))
	}
}

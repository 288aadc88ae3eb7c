package schema_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// breaks says what a reader of old documents would miss or take wrongly in new ones. Fields,
// values of closed sets and descriptions may be added and changed; names of objects below $defs
// are free.
func breaks(old, new *jsonschema.Schema) []string {
	c := comparer{old: old.Defs, new: new.Defs, seen: map[string]bool{}}
	c.compare("the document", old, new)
	return c.found
}

// comparer goes through two schemas along the fields of the older one.
type comparer struct {
	old, new map[string]*jsonschema.Schema
	seen     map[string]bool // pairs of objects that were compared
	found    []string
}

func (c *comparer) add(path, format string, args ...any) {
	c.found = append(c.found, path+" "+fmt.Sprintf(format, args...))
}

func (c *comparer) compare(path string, old, new *jsonschema.Schema) {
	if old == nil {
		return
	}
	if new == nil {
		c.add(path, "is not described any more")
		return
	}
	if old.Ref != "" && new.Ref != "" {
		pair := old.Ref + " " + new.Ref
		if c.seen[pair] {
			return
		}
		c.seen[pair] = true
	}
	old, new = follow(old, c.old), follow(new, c.new)
	if was, is := typesOf(old), typesOf(new); !slices.Equal(was, is) {
		c.add(path, "was %s and is %s", strings.Join(was, " or "), strings.Join(is, " or "))
		return
	}
	if old.Format != new.Format || old.Pattern != new.Pattern || !reflect.DeepEqual(old.Const, new.Const) || !reflect.DeepEqual(old.Minimum, new.Minimum) {
		c.add(path, "is written in another form")
	}
	c.compareWords(path, old, new)
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		if new.Properties[name] == nil {
			c.add(path+"."+name, "is gone")
			continue
		}
		if slices.Contains(old.Required, name) && !slices.Contains(new.Required, name) {
			c.add(path+"."+name, "was always there and may be absent")
		}
		c.compare(path+"."+name, old.Properties[name], new.Properties[name])
	}
	c.compare(path+"[]", old.Items, new.Items)
	c.compare(path+".*", old.AdditionalProperties, new.AdditionalProperties)
	for i := range old.AnyOf {
		if i < len(new.AnyOf) {
			c.compare(path, old.AnyOf[i], new.AnyOf[i])
		}
	}
}

// compareWords compares closed sets. A reader that knows a set takes an unknown value as one more,
// as the documents say; but a value that is gone is one that older documents still have.
func (c *comparer) compareWords(path string, old, new *jsonschema.Schema) {
	for _, word := range old.Enum {
		if !slices.Contains(new.Enum, word) {
			c.add(path, "cannot be %q any more", word)
		}
	}
}

func follow(s *jsonschema.Schema, defs map[string]*jsonschema.Schema) *jsonschema.Schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok && defs[name] != nil {
		return defs[name]
	}
	return s
}

// typesOf are the types of a value, in order; of anything else none.
func typesOf(s *jsonschema.Schema) []string {
	types := slices.Clone(s.Types)
	if s.Type != "" {
		types = append(types, s.Type)
	}
	if s.AnyOf != nil {
		types = append(types, fmt.Sprintf("one of %d", len(s.AnyOf)))
	}
	slices.Sort(types)
	return types
}

// The comparer lets pass what adds, and finds each kind of change that breaks a reader.
func TestBreaks(t *testing.T) {
	const old = `{"type": "object", "required": ["state", "list"], "properties": {
		"state": {"type": "string", "enum": ["a", "b"]},
		"list": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
		"named": {"type": "object", "additionalProperties": {"type": "integer"}},
		"maybe": {"anyOf": [{"$ref": "#/$defs/entry"}, {"type": "null"}]}
	}, "$defs": {"entry": {"type": "object", "required": ["at"], "properties": {"at": {"type": "string", "format": "date-time"}, "n": {"type": ["number", "null"]}}}}}`
	for _, tc := range []struct{ what, from, to, want string }{
		{"nothing", `"a"`, `"a"`, ""},
		{"a field is added", `"named": {`, `"more": {"type": "string"}, "named": {`, ""},
		{"a value is added", `["a", "b"]`, `["a", "b", "c"]`, ""},
		{"a field is there always", `["state", "list"]`, `["state", "list", "named"]`, ""},
		{"a description is added", `"format":`, `"description": "when", "format":`, ""},
		{"the order of types changes", `["number", "null"]`, `["null", "number"]`, ""},
		{"an object is renamed", "entry", "item", ""},
		{"a field is gone", `"state": {"type": "string", "enum": ["a", "b"]},`, ``, "the document.state is gone"},
		{"a field of an entry is renamed", `"n":`, `"number":`, "the document.list[].n is gone"},
		{"a type changes", `{"type": "string", "enum": ["a", "b"]}`, `{"type": "integer"}`, "the document.state was string and is integer"},
		{"a type of a map changes", `{"type": "integer"}`, `{"type": "number"}`, "the document.named.* was integer and is number"},
		{"null is added", `"additionalProperties": {"type": "integer"}`, `"additionalProperties": {"type": ["integer", "null"]}`, "the document.named.* was integer and is integer or null"},
		{"null is not possible any more", `{"anyOf": [{"$ref": "#/$defs/entry"}, {"type": "null"}]}`, `{"$ref": "#/$defs/entry"}`, "the document.maybe was one of 2 and is object"},
		{"a list becomes one", `{"type": "array", "items": {"$ref": "#/$defs/entry"}}`, `{"$ref": "#/$defs/entry"}`, "the document.list was array and is object"},
		{"a list of something else", `"items": {"$ref": "#/$defs/entry"}`, `"items": {"type": "string"}`, "the document.list[] was object and is string"},
		{"entries are not described", `, "items": {"$ref": "#/$defs/entry"}`, ``, "the document.list[] is not described any more"},
		{"a value is gone", `["a", "b"]`, `["a"]`, `the document.state cannot be "b" any more`},
		{"a set is not closed any more", `, "enum": ["a", "b"]`, ``, `the document.state cannot be "a" any more`},
		{"a field may be absent", `["state", "list"]`, `["list"]`, "the document.state was always there and may be absent"},
		{"a time is written otherwise", `, "format": "date-time"`, ``, "the document.list[].at is written in another form"},
	} {
		require.Contains(t, old, tc.from, tc.what)
		found := breaks(decodeSchema(t, old), decodeSchema(t, strings.ReplaceAll(old, tc.from, tc.to)))
		if tc.want == "" {
			require.Empty(t, found, tc.what)
			continue
		}
		require.NotEmpty(t, found, tc.what)
		require.Equal(t, tc.want, found[0], tc.what)
	}
}

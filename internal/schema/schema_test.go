package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/schema"
)

var update = flag.Bool("update", false, "rewrite the schemas and docs/fields.md; what breaks a reader is refused all the same")

func decodeSchema(t *testing.T, text string) *jsonschema.Schema {
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	return &s
}

// TestSchemas: each stored schema is that of what is written, and nothing that a reader of older
// documents relies on is gone from it. What is new is accepted with -update; what breaks a reader
// needs a new version of the output, with files of its own.
func TestSchemas(t *testing.T) {
	names := map[string]bool{}
	for _, o := range schema.Outputs() {
		t.Run(o.Name, func(t *testing.T) {
			generated, _ := generate(t, o)
			text, err := json.MarshalIndent(generated, "", "  ")
			require.NoError(t, err)
			text = append(text, '\n')
			path := filepath.Join("v1", o.Name+".json")
			stored, err := os.ReadFile(path)
			if !errors.Is(err, fs.ErrNotExist) {
				require.NoError(t, err)
				require.Empty(t, breaks(decodeSchema(t, string(stored)), generated), "this breaks readers of %s, and -update does not change that", o.ID)
			}
			if *update {
				require.NoError(t, os.WriteFile(path, text, 0o644))
				stored = text
			}
			require.Equal(t, string(stored), string(text), "go test ./internal/schema -update accepts it")
		})
		names[o.Name+".json"] = true
	}
	files, err := os.ReadDir("v1")
	require.NoError(t, err)
	require.Len(t, files, len(names), "every stored schema is that of an output")
	for _, f := range files {
		require.True(t, names[f.Name()], f.Name())
	}
	require.Len(t, written, len(names))
}

// Readers meet fields that they do not know: no schema forbids them.
func TestSchemasAreOpen(t *testing.T) {
	skipOnUpdate(t)
	for _, o := range schema.Outputs() {
		text := string(bytes.Join(bytes.Fields(schema.Text(o.Name)), nil))
		require.Contains(t, text, `"properties":{`, o.Name)
		require.NotContains(t, text, `"additionalProperties":false`, o.Name)
		require.NotContains(t, text, `"not":`, o.Name)
	}
	require.Equal(t, schema.Text("report"), schema.Text("plegdiag.report/v1"))
	require.Nil(t, schema.Text("../schema"))
}

// Every closed set is that of a field, and so are the other tables by field.
func TestWordsAreOfFields(t *testing.T) {
	properties := map[string]*jsonschema.Schema{}
	for _, o := range schema.Outputs() {
		s, _ := generate(t, o)
		for name, property := range s.Properties {
			properties[nameOf(written[o.Name])+"."+name] = property
		}
		for object, def := range s.Defs {
			for name, property := range def.Properties {
				properties[object+"."+name] = property
			}
		}
	}
	for place := range words() {
		require.Contains(t, properties, place)
		property := properties[place]
		require.True(t, property.Enum != nil || property.Items != nil && property.Items.Enum != nil, place)
	}
	for place := range nullable {
		require.Contains(t, properties, place)
		require.Contains(t, properties[place].Types, "null")
	}
	for place := range values {
		require.Contains(t, properties, place)
	}
}

// docs/fields.md is what the schemas say, as tables.
func TestFieldsAreDocumented(t *testing.T) {
	page := &pageOfFields{described: map[string]string{}}
	for _, o := range schema.Outputs() {
		s, order := generate(t, o)
		page.addOutput(o, s, order)
	}
	const path = "../../docs/fields.md"
	text := strings.TrimRight(pageHead+page.text.String(), "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	stored, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(stored), text, "go test ./internal/schema -update accepts it")
}

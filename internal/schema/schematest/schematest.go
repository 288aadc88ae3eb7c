// Package schematest is for tests of what plegdiag writes for programs: it compares a document with
// its schema, and reads what Go comments say of fields.
package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plegdiag/plegdiag/internal/schema"
)

// Check compares the JSON documents in text, one or several, with the schema of an output.
func Check(output string, text []byte) error {
	c, err := New(output)
	if err != nil {
		return err
	}
	return c.Check(text)
}

// Checker compares documents with the schema of one output. It is stricter than the schema, which
// lets readers meet fields that they do not know: here such a field is an error, for what plegdiag
// writes has to be in the schema.
type Checker struct{ strict *jsonschema.Resolved }

// New is the checker of an output. An error means that it has no schema that can be used.
func New(output string) (*Checker, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema.Text(output), &s); err != nil {
		return nil, fmt.Errorf("schema of %q: %w", output, err)
	}
	closeObjects(&s)
	resolved, err := s.Resolve(nil)
	return &Checker{resolved}, err
}

// Check compares the JSON documents in text, one or several. A text without any is an error.
func (c *Checker) Check(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	for n := 1; ; n++ {
		var doc any
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF) && n > 1:
			return nil
		case err != nil:
			return fmt.Errorf("document %d: %w", n, err)
		}
		if err := c.strict.Validate(doc); err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}

// closeObjects forbids fields that are not in the schema.
func closeObjects(s *jsonschema.Schema) {
	if s.Properties != nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	for _, part := range s.Properties {
		closeObjects(part)
	}
	for _, part := range s.Defs {
		closeObjects(part)
	}
	if s.Items != nil {
		closeObjects(s.Items)
	}
	if s.AdditionalProperties != nil && s.Properties == nil {
		closeObjects(s.AdditionalProperties)
	}
	for _, part := range s.AnyOf {
		closeObjects(part)
	}
}

// Comments are what the Go comments in a directory say: of types by name, of fields by
// "Type.Field".
func Comments(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	comments := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if types, ok := decl.(*ast.GenDecl); ok {
				addComments(comments, types)
			}
		}
	}
	return comments, nil
}

func addComments(comments map[string]string, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		spec, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		comments[spec.Name.Name] = oneLine(decl.Doc.Text() + spec.Doc.Text())
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				comments[spec.Name.Name+"."+name.Name] = oneLine(f.Doc.Text() + f.Comment.Text())
			}
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

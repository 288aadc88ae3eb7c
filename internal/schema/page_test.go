package schema_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plegdiag/plegdiag/internal/schema"
)

const pageHead = `# Fields of the JSON outputs

Generated from the comments of the Go types that are written (` + "`go test ./internal/schema -update`" + `).
[json.md](json.md) has the rules that hold for all of them, and how to use the schemas.
`

// pageOfFields is docs/fields.md while it is written.
type pageOfFields struct {
	text      strings.Builder
	described map[string]string // links to objects, by their schema: what two outputs share is told once
}

// addOutput writes the tables of an output: its own, then those of the objects in it.
func (p *pageOfFields) addOutput(o schema.Output, s *jsonschema.Schema, order []string) {
	fmt.Fprintf(&p.text, "\n## %s\n\n`%s`, written by `plegdiag %s`%s: %s.\n\n", o.Name, o.ID, o.From, inBrackets(o.Where), o.About)
	var own []string
	links := map[string]string{}
	for _, name := range order {
		def := s.Defs[name]
		if def.Type != "object" {
			links[name] = map[string]string{"time": "time", "traceTime": "time"}[name]
			continue
		}
		key := name + " " + fmt.Sprint(def.PropertyOrder)
		if p.described[key] == "" {
			p.described[key] = fmt.Sprintf("[%s](#%s-%s)", name, o.Name, strings.ToLower(name))
			own = append(own, name)
		}
		links[name] = p.described[key]
	}
	p.addTable(s, links)
	for _, name := range own {
		fmt.Fprintf(&p.text, "\n### %s: %s\n\n%s.\n\n", o.Name, name, s.Defs[name].Description)
		p.addTable(s.Defs[name], links)
	}
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (p *pageOfFields) addTable(s *jsonschema.Schema, links map[string]string) {
	p.text.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for _, name := range s.PropertyOrder {
		property := s.Properties[name]
		kind, about := typeText(property, links), property.Description
		if !slices.Contains(s.Required, name) {
			kind += ", may be absent"
		}
		if values := wordsText(property); values != "" {
			about += ". " + values
		}
		fmt.Fprintf(&p.text, "| `%s` | %s | %s |\n", name, kind, strings.ReplaceAll(about, "|", `\|`))
	}
}

// typeText is the type of a value in words.
func typeText(s *jsonschema.Schema, links map[string]string) string {
	switch {
	case s.Ref != "":
		return links[strings.TrimPrefix(s.Ref, "#/$defs/")]
	case s.AnyOf != nil:
		return typeText(s.AnyOf[0], links) + " or null"
	case s.Const != nil:
		return fmt.Sprintf("`%s`", *s.Const)
	}
	types := slices.Clone(s.Types)
	if s.Type != "" {
		types = []string{s.Type}
	}
	for i, name := range types {
		switch {
		case name == "array":
			types[i] = "list of " + typeText(s.Items, links)
		case name == "object":
			types[i] = "map of " + typeText(s.AdditionalProperties, links)
		case s.Format == "date-time" && name == "string":
			types[i] = "time"
		}
	}
	if len(types) == 0 {
		return "anything"
	}
	if s.Items != nil || s.AdditionalProperties != nil {
		return strings.Join(types, ", or ") // the list itself may be null, not what is in it
	}
	return strings.Join(types, " or ")
}

// wordsText lists a closed set.
func wordsText(s *jsonschema.Schema) string {
	if s.Items != nil {
		s = s.Items
	}
	var all []string
	for _, word := range s.Enum {
		if word != nil {
			all = append(all, fmt.Sprintf("`%q`", word))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "One of " + strings.Join(all, ", ")
}

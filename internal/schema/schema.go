// Package schema has the JSON Schema of everything that plegdiag writes for programs. The schemas
// are made of the Go types that are written, by the tests of this package; a test refuses what
// would break a reader. It checks nothing while plegdiag runs.
package schema

import (
	"embed"
	"slices"
)

// Output is something that plegdiag writes for programs.
type Output struct {
	Name  string // as the command schema knows it
	ID    string // with its version: the value of the member "schema", if there is one
	From  string // which command writes it
	Where string // where that writes it; empty for stdout
	About string // what it is, as a phrase
}

// Command is the command that writes it, and where.
func (o Output) Command() string {
	if o.Where == "" {
		return "plegdiag " + o.From
	}
	return "plegdiag " + o.From + " (" + o.Where + ")"
}

// outputs are all of them, in the order of the help.
var outputs = []Output{
	{"report", "plegdiag.report/v1", "analyze -o json", "", "what is known of one incident"},
	{"rows", "plegdiag.rows/v1", "batch", "a line of rows.jsonl", "a finding of one of many bundles"},
	{"fleet", "plegdiag.fleet/v1", "fleet -o json", "", "what the rows of many bundles say together"},
	{"timeline", "plegdiag.timeline/v1", "timeline -o jsonl", "a line", "one event"},
	{"stacks", "plegdiag.stacks/v1", "stacks -o json", "", "goroutine dumps: groups, waits, locks"},
	{"syscalls", "plegdiag.syscalls/v1", "syscalls -o json", "", "traces of system calls"},
	{"compare", "plegdiag.compare/v1", "compare -o json", "", "two bundles side by side"},
	{"explain", "plegdiag.explain/v1", "explain -o json", "", "how one line was read, and what it counts for"},
	{"files", "plegdiag.files/v1", "ls -o json", "", "what became of every line of the inputs"},
	{"manifest", "plegdiag.bundle/v1", "collect", "manifest.json of the bundle", "what was collected, and what could not be"},
	{"item", "plegdiag.item/v1", "collect --json", "a line of stderr", "one thing that was collected, or could not be"},
	{"redacted", "plegdiag.redacted/v1", "redact --json", "stderr", "what was redacted"},
	{"rules", "plegdiag.rules/v1", "rules list -o json", "", "the catalogue of rules"},
	{"events", "plegdiag.events/v1", "rules events -o json", "", "the kinds of events that rules can match"},
}

// v1 has the schemas of the first version, by the names of the outputs.
//
//go:embed v1/*.json
var v1 embed.FS

// Outputs are all outputs that have a schema.
func Outputs() []Output { return slices.Clone(outputs) }

// Text is the schema of an output, by its name or its ID; nil if there is none.
func Text(name string) []byte {
	i := slices.IndexFunc(outputs, func(o Output) bool { return o.Name == name || o.ID == name })
	if i < 0 {
		return nil
	}
	text, _ := v1.ReadFile("v1/" + outputs[i].Name + ".json") // a test opens all of them
	return text
}

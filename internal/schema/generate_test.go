package schema_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/comparison"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/syscalls"
	"github.com/plegdiag/plegdiag/internal/redact"
	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/listing"
	"github.com/plegdiag/plegdiag/internal/report/rows"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/schema"
	"github.com/plegdiag/plegdiag/internal/schema/schematest"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// written are the Go types that are written, by the names of the outputs.
var written = map[string]reflect.Type{
	"report":   reflect.TypeFor[document.Report](),
	"rows":     reflect.TypeFor[rows.Row](),
	"fleet":    reflect.TypeFor[document.Fleet](),
	"timeline": reflect.TypeFor[document.Event](),
	"stacks":   reflect.TypeFor[listing.StacksDocument](),
	"syscalls": reflect.TypeFor[listing.SyscallsDocument](),
	"compare":  reflect.TypeFor[document.Comparison](),
	"explain":  reflect.TypeFor[document.Explanation](),
	"files":    reflect.TypeFor[document.FileList](),
	"manifest": reflect.TypeFor[bundle.Manifest](),
	"item":     reflect.TypeFor[bundle.Item](),
	"redacted": reflect.TypeFor[redact.Account](),
	"rules":    reflect.TypeFor[document.RuleList](),
	"events":   reflect.TypeFor[document.KindList](),
}

// words are the closed sets, by object and field. A field that may also be empty has "".
func words() map[string][]string {
	var verdicts, states, levels, types []string
	for v := language.NotEvaluable; v <= language.Confirmed; v++ {
		verdicts = append(verdicts, v.String())
	}
	for s := story.Unrecognised; s <= story.Confirmed; s++ {
		states = append(states, s.String())
	}
	for l := event.NoLevel; l <= event.Fatal; l++ {
		levels = append(levels, l.String())
	}
	for t := event.TypeText; t <= event.TypeBoolean; t++ {
		types = append(types, t.String())
	}
	found := verdicts[language.Possible:]
	phases := texts(timeline.PhaseList, timeline.PhasePod, timeline.PhaseUnknown)
	roles := texts(language.Root, language.Link, language.Contributing, language.Fallback, language.NotReady)
	certainties := []string{stackdump.Observed, stackdump.Inferred}
	waits := texts(syscalls.Waits...)
	directions := []string{"sent", "received"}
	return map[string][]string{
		"incident.state": states, "stall.phase": phases, "suspect.what": {"container", "sandbox", "pod"},
		"episode.verdict": append([]string{""}, found...), "hypothesis.verdict": verdicts,
		"finding.verdict": found, "finding.role": roles, "step.role": {"cause", "mechanism", "symptom", "recovery"}, "step.edge": certainties,
		"row.state": append([]string{rows.Failed}, states...), "row.stall_phase": phases, "row.verdict": found, "row.role": roles,
		"event.level": levels, "readEvent.level": levels, "explanation.level": levels, "explanation.lacks": event.Lacks(0xff).Names(),
		"fit.verdict": verdicts, "fit.part": {"step", "tell", "support", "rules_out", "absent"}, "use.verdict": verdicts,
		"mention.what":       {"stall", "fact", "sign", "suspect", "harmless", "gap"},
		"findingPair.change": texts(comparison.Gained, comparison.Lost, comparison.Same, comparison.Weaker, comparison.Stronger, comparison.Unknown),
		"rule.role":          roles, "field.type": types,
		"holder.certainty": certainties, "holder.rule": {"R1", "R2", "R3", "R4"}, "waiter.mode": {"lock", "read", "write", "wait"},
		"chain.certainty": append([]string{""}, certainties...), "cycle.certainty": certainties,
		"chain.kind": {
			"", stackdump.RPC, stackdump.Child, stackdump.Syscall, stackdump.Ready, stackdump.Channel, stackdump.Condition,
			stackdump.Locked, stackdump.Timer, stackdump.Running,
		},
		"form.clock": {"", "-t", "-tt", "-ttt"}, "form.labels": {"", "-y", "-yy"}, "call.wait": waits, "convoy.certainty": {"inferred"},
		"serial.direction": directions, "message.direction": directions, "message.type": {"call", "return", "error", "signal"},
		"message.state": {"", "answered", "unanswered", "unknown", "blocked"},
		"item.outcome": texts(
			bundle.OK, bundle.Empty, bundle.Denied, bundle.Absent, bundle.Failed, bundle.Timeout, bundle.Stuck, bundle.Skipped, bundle.Capped),
	}
}

func texts[T ~string](values ...T) []string {
	var all []string
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// nullable are the lists and maps that are null in the row of a bundle that failed.
var nullable = map[string]bool{"row.labels": true, "row.signature": true, "row.missing": true}

// values are what a map of any values holds.
var values = map[string][]string{
	"event.ids": {"string", "number"}, "readEvent.ids": {"string", "number"},
	"event.fields": {"string", "number", "boolean"}, "readEvent.fields": {"string", "number", "boolean"},
}

// Times as they are written.
const (
	knownTime = `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z`
	traceTime = `^([0-9]{4}-[0-9]{2}-[0-9]{2}T)?[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z?$`
)

// scalars are the types that write themselves.
var scalars = map[reflect.Type]jsonschema.Schema{
	reflect.TypeFor[time.Time]():   {Type: "string", Format: "date-time"},
	reflect.TypeFor[rows.Text]():   {Types: []string{"string", "null"}},
	reflect.TypeFor[rows.Moment](): {Types: []string{"string", "null"}, Format: "date-time"},
}

// generator makes the schema of one output.
type generator struct {
	comments map[string]map[string]string // by directory
	words    map[string][]string
	defs     map[string]*jsonschema.Schema
	types    map[string]reflect.Type // of defs
	order    []string                // of defs, as they are met
}

// generate makes the schema of an output from the types that are written and their comments.
func generate(t *testing.T, o schema.Output) (*jsonschema.Schema, []string) {
	g := generator{comments: map[string]map[string]string{}, words: words(), defs: map[string]*jsonschema.Schema{}, types: map[string]reflect.Type{}}
	of := written[o.Name]
	require.NotNil(t, of, "no type is known for the output %s", o.Name)
	s := g.object(t, of)
	s.Schema, s.ID = "https://json-schema.org/draft/2020-12/schema", "https://github.com/plegdiag/plegdiag/schema/"+o.ID
	s.Title, s.Description = "plegdiag "+o.Name, sentence(o.About)+". Written by "+o.Command()+". Fields are added, never renamed or removed"
	if id := s.Properties["schema"]; id != nil {
		id.Const = new(any(o.ID))
	}
	s.Defs = g.defs
	return s, g.order
}

// object is the schema of a struct, with the fields of what is embedded in it.
func (g *generator) object(t *testing.T, of reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Description: g.comment(t, of, ""), Properties: map[string]*jsonschema.Schema{}}
	for _, field := range reflect.VisibleFields(of) {
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous {
			continue
		}
		require.NotEmpty(t, name, "%s.%s has no name in JSON", of, field.Name)
		owner := of
		for _, i := range field.Index[:len(field.Index)-1] {
			owner = owner.Field(i).Type
		}
		kind := field.Type
		if option != "" && kind.Kind() == reflect.Pointer {
			kind = kind.Elem() // absent in the place of null
		}
		property := g.of(t, kind, nameOf(of)+"."+name)
		property.Description = g.comment(t, owner, field.Name)
		s.Properties[name] = property
		s.PropertyOrder = append(s.PropertyOrder, name)
		if option == "" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// of is the schema of a type; place is the object and field that has it.
func (g *generator) of(t *testing.T, of reflect.Type, place string) *jsonschema.Schema {
	if scalar, ok := scalars[of]; ok {
		return g.closed(&scalar, place)
	}
	switch of {
	case reflect.TypeFor[show.Stamp]():
		g.define("time", of, &jsonschema.Schema{
			Type: "string", Pattern: "^(" + knownTime + ")?$",
			Description: "RFC 3339 in UTC with as many nanoseconds as are known; empty if the time is not known",
		})
		return &jsonschema.Schema{Ref: "#/$defs/time"}
	}
	if of.Name() == "traceTime" {
		g.define("traceTime", of, &jsonschema.Schema{Type: "string", Pattern: traceTime, Description: g.comment(t, of, "")})
		return &jsonschema.Schema{Ref: "#/$defs/traceTime"}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return orNull(g.of(t, of.Elem(), place))
	case reflect.Struct:
		name := nameOf(of)
		if g.define(name, of, nil) {
			g.defs[name] = g.object(t, of)
		}
		require.Equal(t, of, g.types[name], "two types have the name %s", name)
		return &jsonschema.Schema{Ref: "#/$defs/" + name}
	case reflect.Slice:
		return g.maybeNull(&jsonschema.Schema{Type: "array", Items: g.of(t, of.Elem(), place)}, place)
	case reflect.Map:
		return g.maybeNull(&jsonschema.Schema{Type: "object", AdditionalProperties: g.of(t, of.Elem(), place)}, place)
	case reflect.Interface:
		return &jsonschema.Schema{Types: values[place]}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Uint32, reflect.Uint64:
		return &jsonschema.Schema{Type: "integer", Minimum: new(0.0)}
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.String:
		return g.closed(&jsonschema.Schema{Type: "string"}, place)
	}
	t.Fatalf("%s is a %s, of which no schema is known", place, of)
	return nil
}

// define notes a name; it says whether that is new.
func (g *generator) define(name string, of reflect.Type, s *jsonschema.Schema) bool {
	if g.types[name] != nil {
		return false
	}
	g.types[name], g.defs[name] = of, s
	g.order = append(g.order, name)
	return true
}

// closed adds the words of a closed set.
func (g *generator) closed(s *jsonschema.Schema, place string) *jsonschema.Schema {
	for _, word := range g.words[place] {
		s.Enum = append(s.Enum, word)
	}
	if len(s.Enum) > 0 && s.Types != nil {
		s.Enum = append(s.Enum, nil)
	}
	return s
}

func (g *generator) maybeNull(s *jsonschema.Schema, place string) *jsonschema.Schema {
	if nullable[place] {
		return orNull(s)
	}
	return s
}

func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Ref != "" {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	s.Types, s.Type = []string{s.Type, "null"}, ""
	return s
}

// nameOf is the name of an object: stacks and syscalls call their types "frameRow", others "Frame".
func nameOf(of reflect.Type) string {
	name := strings.TrimSuffix(of.Name(), "Row")
	first, size := utf8.DecodeRuneInString(of.Name())
	if name == "" {
		name = of.Name()
	}
	return string(unicode.ToLower(first)) + name[size:]
}

// comment is what the Go comment says of a type, or of a field of it.
func (g *generator) comment(t *testing.T, of reflect.Type, field string) string {
	dir := filepath.Join("../..", strings.TrimPrefix(of.PkgPath(), "github.com/plegdiag/plegdiag/"))
	if g.comments[dir] == nil {
		comments, err := schematest.Comments(dir)
		require.NoError(t, err)
		g.comments[dir] = comments
	}
	if field == "" {
		about := g.comments[dir][of.Name()]
		_, about, ok := strings.Cut(about, of.Name()+" ")
		require.True(t, ok, "the comment of %s does not begin with its name", of)
		return sentence(strings.TrimPrefix(about, "is "))
	}
	about := g.comments[dir][of.Name()+"."+field]
	require.NotEmpty(t, about, "%s.%s has no comment that says what it holds", of, field)
	return phrase(about)
}

// phrase goes on after the name of a field: "the answer in one sentence".
func phrase(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if second, _ := utf8.DecodeRuneInString(s[size:]); !unicode.IsUpper(second) && !unicode.IsDigit(second) {
		s = string(unicode.ToLower(first)) + s[size:]
	}
	return strings.TrimSuffix(s, ".")
}

// sentence begins with a capital and has no full stop.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	return strings.TrimSuffix(string(unicode.ToUpper(first))+s[size:], ".")
}

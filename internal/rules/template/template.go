// Package template fills the placeholders of a text or a command with what was seen of the steps
// that it speaks of, and leaves out what speaks of something unknown. It does not know what the
// text is for.
package template

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/spelling"
)

// Template is a text with placeholders, cut into clauses. A clause ends at ";" or ",", but not
// inside of parentheses; one that speaks of something unknown is left out, so that a headline never
// claims a step that was not seen.
type Template []clause

type clause struct {
	parts []part
	end   string // the separator that follows, with its blank
}

// part is literal text, or a placeholder {name}, {step.field}, {…|format}.
type part struct {
	literal string
	Name
	format string
	name   string // what stands in the braces before the format; empty for literal text
	// others are tried in their order where this one has no value: the rest of {a/b}.
	others []part
}

// Name is one name of a placeholder.
type Name struct {
	// Step is the step that is spoken of; OwnStep for the one whose text it is.
	Step     int
	Field    string // of the step's event; empty where its events are counted
	Variable int    // bind of that name; -1 for none
}

// Placeholder is what stands in braces.
type Placeholder struct {
	Text  string // as it is written, before the format
	Names []Name // the first that has a value is taken; at least one
}

// ListPlaceholders are the placeholders of a text, in its order.
func (t Template) ListPlaceholders() []Placeholder {
	var all []Placeholder
	for _, c := range t {
		for _, p := range c.parts {
			if !p.isPlaceholder() {
				continue
			}
			names := []Name{p.Name}
			for _, other := range p.others {
				names = append(names, other.Name)
			}
			all = append(all, Placeholder{p.name, names})
		}
	}
	return all
}

func (p part) isPlaceholder() bool { return p.name != "" }

// OwnStep is the step whose text it is, and, in [Seen], that a text is about the whole match.
const OwnStep = -1

var formats = []string{"", "id", "dur", "longest", "time", "count", "words"}

// Scope is what the placeholders of one text may speak of.
type Scope struct {
	Steps     func(id string) int   // the number of a step; -1 for an unknown one
	Variables func(name string) int // that of a bind; -1 for an unknown one
	// Captured is the variable that a step takes from a text; -1 for none of that name.
	Captured func(step int, name string) int
	Own      bool // the text belongs to a step, so that {field} is a field of its event
}

// Parse compiles a text. Use is told of every bind that is spoken of.
func Parse(s string, in Scope, use func(variable int)) (Template, error) {
	var t Template
	var c clause
	depth := 0 // of parentheses
	for s != "" {
		i := strings.IndexAny(s, "{};,")
		if i < 0 {
			c.parts = append(c.parts, part{literal: s})
			break
		}
		if i > 0 {
			c.parts = append(c.parts, part{literal: s[:i]})
			depth = max(0, depth+strings.Count(s[:i], "(")-strings.Count(s[:i], ")"))
		}
		switch s[i] {
		case '}':
			return nil, fmt.Errorf("} without {")
		case '{':
			length := strings.IndexAny(s[i+1:], "{}")
			if length < 0 || s[i+1+length] != '}' {
				return nil, fmt.Errorf("{ without }")
			}
			p, err := parsePlaceholder(s[i+1:i+1+length], in, use)
			if err != nil {
				return nil, err
			}
			c.parts = append(c.parts, p)
			s = s[i+1+length+1:]
		default:
			rest := strings.TrimLeft(s[i+1:], " ")
			if depth > 0 || len(rest) == len(s)-i-1 && rest != "" { // "1,5": no separator
				rest = s[i+1:]
				c.parts = append(c.parts, part{literal: s[i : i+1]})
			} else {
				c.end = s[i : len(s)-len(rest)]
				t = append(t, c)
				c = clause{}
			}
			s = rest
		}
	}
	return append(t, c), nil
}

// parsePlaceholder compiles what stands in braces: {a}, or {a/b}, which is the first of them that
// has a value.
func parsePlaceholder(s string, in Scope, use func(variable int)) (part, error) {
	names, format, formatted := strings.Cut(s, "|")
	var all []part
	for name := range strings.SplitSeq(names, "/") {
		if formatted {
			name += "|" + format
		}
		p, err := parseName(name, in)
		if err != nil {
			return part{}, err
		}
		if p.Variable >= 0 {
			use(p.Variable)
		}
		all = append(all, p)
	}
	p := all[0]
	p.name, p.others = names, all[1:]
	return p, nil
}

// parseName compiles a placeholder of one name.
func parseName(s string, in Scope) (part, error) {
	name, format, _ := strings.Cut(s, "|")
	p := part{format: format, Name: Name{Step: OwnStep, Variable: -1}, name: name}
	if !slices.Contains(formats, format) {
		return part{}, fmt.Errorf("unknown format %q in {%s}%s", format, s, spelling.DidYouMean(format, formats))
	}
	head, field, dotted := strings.Cut(name, ".")
	step := in.Steps(head)
	switch {
	case name == "" || dotted && field == "":
		return part{}, fmt.Errorf("{%s} names nothing", s)
	case dotted && step < 0:
		return part{}, fmt.Errorf("unknown step %q in {%s}", head, s)
	case dotted:
		p.Step, p.Field, p.Variable = step, field, in.Captured(step, field)
		return p, nil
	case step >= 0 && format == "count":
		p.Step = step
		return p, nil
	}
	p.Field, p.Variable = name, in.Variables(name)
	if !in.Own && p.Variable < 0 {
		return part{}, fmt.Errorf("{%s} is neither a bind nor step.field", s)
	}
	return p, nil
}

// Seen is what a match knows, for expanding texts.
type Seen struct {
	// Steps are the events of each step, its best one first; none where it did not match.
	Steps [][]*event.Event
	// Bound is the value of each bind; empty where it has none.
	Bound []string
	Own   int // the step whose text it is; OwnStep for a text about the whole match
}

// Expand writes the text. What it cannot fill in is left out: a clause as a
// whole, or, when nothing else would be left of a step's own text, the
// placeholder alone. Values are put in as they are, never read as placeholders.
func (t Template) Expand(s Seen) string {
	text := t.joinClauses(func(c clause) (string, bool) { return c.expand(s) })
	if text == "" && s.Own != OwnStep {
		text = t.joinClauses(func(c clause) (string, bool) {
			text, _ := c.expand(s)
			return text, text != ""
		})
	}
	return text
}

// joinClauses leaves out a part, up to its semicolon, that says no more than one before it: two
// steps may be about one event.
func (t Template) joinClauses(expand func(clause) (string, bool)) string {
	var out, end string
	var said []string
	for len(t) > 0 {
		n := 1 + slices.IndexFunc(t, func(c clause) bool { return strings.HasPrefix(c.end, ";") })
		if n == 0 {
			n = len(t)
		}
		part, partEnd := joinPart(t[:n], expand)
		t = t[n:]
		if part == "" || slices.ContainsFunc(said, func(before string) bool { return beginsWith(before, part) }) {
			continue
		}
		said = append(said, part)
		out += end + part
		end = partEnd
	}
	return out + strings.TrimRight(strings.Trim(end, ",; "), " ")
}

// joinPart joins the clauses of a part that have all values. It also returns what stands behind the
// last of them. Words without a placeholder go on with what stands before them, and are not said
// alone.
func joinPart(clauses []clause, expand func(clause) (string, bool)) (text, end string) {
	for i, c := range clauses {
		if i > 0 && text == "" && !slices.ContainsFunc(c.parts, part.isPlaceholder) {
			continue
		}
		if said, ok := expand(c); ok {
			text += end + said
			end = c.end
		}
	}
	return text, end
}

// beginsWith says that a part begins with the words of another.
func beginsWith(part, words string) bool {
	rest, ok := strings.CutPrefix(part, words)
	return ok && (rest == "" || rest[0] == ' ' || rest[0] == ',')
}

// expand returns false when a placeholder has no value.
func (c clause) expand(s Seen) (string, bool) {
	var b strings.Builder
	complete, single, one := true, false, false // a count that is one: in brackets, and before what is counted
	for i, p := range c.parts {
		literal := p.literal
		if one {
			literal, one = saySingular(literal), false
		}
		if single {
			_, literal, _ = strings.Cut(literal, ")")
			single = false
		}
		if !p.isPlaceholder() {
			b.WriteString(literal)
			continue
		}
		value, ok := p.fillPlaceholder(s)
		if complete = complete && ok; !ok && i == 0 && p.Field == string(event.FieldComm) {
			value = "a thread" // of which somebody printed no more than its number
		}
		switch {
		case p.format != "count" || value != "1":
		case c.isBracketed(i):
			text := strings.TrimSuffix(b.String(), "(")
			b.Reset()
			b.WriteString(strings.TrimRight(text, " "))
			single = true
			continue
		case i == 1 && len(c.parts) == 2 && strings.HasPrefix(c.parts[0].literal, "such "): // such threads: 1
			return "", false
		default:
			one = true
		}
		b.WriteString(c.addOthers(event.OneLine(value), p, s))
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	return strings.ReplaceAll(text, " ()", ""), complete // brackets whose number is not known
}

// counted are the plural words that stand behind a number in texts, and predicates the words that
// agree with them. Each has the form for one.
var (
	counted = map[string]string{
		"goroutines": "goroutine", "threads": "thread", "requests": "request", "calls": "call", "programs": "program", "operations": "operation",
		"tasks": "task", "processes": "process", "lines": "line", "monitors": "monitor", "renewals": "renewal", "starts": "start", "kinds": "kind",
		"pods": "pod", "times": "time", "events": "event",
	}
	predicates = map[string]string{
		"wait": "waits", "have": "has", "hold": "holds", "fail": "fails", "meet": "meets", "are": "is", "run": "runs", "do": "does", "queue": "queues", "get": "gets",
	}
)

// saySingular makes the text behind a number one of one thing: " goroutines wait for that lock"
// becomes " goroutine waits for that lock".
func saySingular(text string) string {
	words := strings.Split(text, " ")
	i := slices.IndexFunc(words, func(w string) bool { return counted[w] != "" })
	if i < 0 || i > 2 {
		return text
	}
	words[i] = counted[words[i]]
	if j := slices.IndexFunc(words[i:], func(w string) bool { return predicates[w] != "" }); j > 0 {
		words[i+j] = predicates[words[i+j]]
	}
	return strings.Join(words, " ")
}

// addOthers says behind the name of a subject how many others the clause counts events of. A text
// that begins with the name of a call names one.
func (c clause) addOthers(value string, p part, s Seen) string {
	name, step := value, p.stepOf(s)
	if p.Field == "text" && step != OwnStep && len(s.Steps[step]) > 0 {
		p.Field = string(event.FieldMethod)
		name = s.Steps[step][0].FieldText(event.FieldMethod)
		if name == "" || !strings.HasPrefix(value, name+" ") {
			return value
		}
	}
	if others := c.countOthers(p, s); others > 0 {
		return name + " " + event.OthersText(others) + value[len(name):]
	}
	return value
}

// countOthers counts the containers, sandboxes, pods or calls that a clause counts events of and
// does not name: of 20 time-outs of two shims a text that names one container says "(and 1 other)".
func (c clause) countOthers(p part, s Seen) int {
	counts := func(other part) bool {
		return other.isPlaceholder() && other.Field == "" && other.stepOf(s) == p.stepOf(s)
	}
	if !slices.Contains(subjects, p.Field) || p.stepOf(s) == OwnStep || !slices.ContainsFunc(c.parts, counts) {
		return 0
	}
	named := map[string]bool{}
	for _, e := range s.Steps[p.stepOf(s)] {
		if text, ok := formatField(e, p.Field, p.format); ok {
			named[text] = true
		}
	}
	return max(0, len(named)-1)
}

// subjects are the fields that name whom an event is about, or which call.
var subjects = []string{string(event.FieldContainer), string(event.FieldSandbox), string(event.FieldPod), string(event.FieldMethod)}

// isBracketed says that a part stands in brackets of its own, as the count in
// "({deadline|count}×)".
func (c clause) isBracketed(i int) bool {
	return i > 0 && i+1 < len(c.parts) && strings.HasSuffix(c.parts[i-1].literal, "(") && strings.Contains(c.parts[i+1].literal, ")")
}

// fillPlaceholder returns what a placeholder stands for.
func (p part) fillPlaceholder(s Seen) (string, bool) {
	text, ok := p.fillName(s)
	for i := 0; !ok && i < len(p.others); i++ {
		text, ok = p.others[i].fillName(s)
	}
	return text, ok
}

// stepOf is the step that a placeholder speaks of; OwnStep for none.
func (p part) stepOf(s Seen) int {
	if p.Step == OwnStep {
		return s.Own
	}
	return p.Step
}

// fillName returns what the first name of a placeholder stands for.
func (p part) fillName(s Seen) (string, bool) {
	var events []*event.Event
	if step := p.stepOf(s); step != OwnStep {
		events = s.Steps[step]
	}
	if len(events) > 0 {
		if p.Field == "" { // {step|count}
			return strconv.Itoa(countEvents(events)), true
		}
		if p.format == "longest" {
			events = []*event.Event{findLongest(events, event.Key(p.Field))}
		}
		if text, ok := formatField(events[0], p.Field, p.format); ok {
			return text, true
		}
		if text, ok := formatCommonField(events[1:], p); ok {
			return text, true
		}
	}
	if p.Variable >= 0 && s.Bound[p.Variable] != "" && (p.Step == OwnStep || len(events) > 0) {
		return formatValue(event.String(s.Bound[p.Variable]), p.format), true
	}
	return "", false
}

// countEvents counts goroutines that one event stands for, where it is about goroutines. Copies of
// a line are one.
func countEvents(events []*event.Event) (n int) {
	for _, e := range events {
		if n++; e.IDs.Goroutine != 0 {
			n += e.Count() - 1
		}
	}
	return n
}

// findLongest is the event with the longest duration in a field; the first of several.
func findLongest(events []*event.Event, field event.Key) *event.Event {
	return slices.MaxFunc(events, func(a, b *event.Event) int {
		return cmp.Compare(lengthOf(a, field), lengthOf(b, field))
	})
}

// lengthOf is the length of a duration of an event in seconds; 0 without one.
func lengthOf(e *event.Event, field event.Key) float64 {
	v, _ := e.Get(field)
	seconds, _ := v.Number()
	return seconds
}

// formatCommonField is the value that all events with the field have in common. Events that lack
// the field do not count: the first line of a row may be one of those.
func formatCommonField(events []*event.Event, p part) (said string, ok bool) {
	for _, e := range events {
		text, has := formatField(e, p.Field, p.format)
		if has && ok && text != said || has && slices.Contains(ofOneEvent, p.Field) {
			return "", false
		}
		if has {
			said, ok = text, true
		}
	}
	return said, ok
}

// ofOneEvent are fields that each event has of its own.
var ofOneEvent = []string{"start", "end", "text", "duration"}

func formatField(e *event.Event, field, as string) (string, bool) {
	switch field {
	case "start":
		return event.TimeOfDay(e.Start.T), !e.Start.IsZero()
	case "end":
		return event.TimeOfDay(e.Last().T), !e.Last().IsZero()
	case "text":
		return e.Text, e.Text != ""
	}
	if field == string(event.FieldComponent) && (e.Component == "node" || e.Component == "kernel") {
		return "the " + e.Component, true // no name of a program
	}
	v, ok := e.Get(event.Key(field))
	text := formatValue(v, as)
	if !ok || text == "" {
		return "", false
	}
	if field == "duration" && e.AtLeast() {
		text = "at least " + text
	}
	return text, true
}

// formatValue writes a value as |id, |dur, |longest, |words or plainly.
func formatValue(v event.Value, as string) string {
	switch as {
	case "id":
		return event.ShortID(v.Text())
	case "dur", "longest":
		if seconds, ok := v.Number(); ok {
			return event.DurationText(time.Duration(seconds * float64(time.Second)))
		}
	case "words":
		return strings.ReplaceAll(v.Text(), "-", " ")
	}
	return v.Text()
}

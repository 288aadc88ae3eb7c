package language

import (
	"slices"
	"strconv"

	"github.com/plegdiag/plegdiag/internal/rules/condition"
)

// EventSet is what a step, an absence or a contradiction looks for, compiled.
type EventSet struct {
	Patterns []Pattern
	Key      string // equal for sets that the same events fit
	Binds    []Bind // by variable of the rule
}

// Bind is where the events of a set hold the value of one variable.
type Bind struct {
	Fields []condition.Reading // by pattern; zero where it does not bind the variable
	Key    string              // equal for binds that give the same values; empty when no pattern binds the variable
	Prefix bool
}

func (r *Rule) newEventSet(patterns []Pattern) EventSet {
	s := EventSet{Patterns: patterns, Binds: make([]Bind, len(r.Compiled.Variables))}
	for i := range s.Binds {
		s.Binds[i] = Bind{Fields: make([]condition.Reading, len(patterns)), Prefix: r.Compiled.Variables[i].Prefix}
	}
	var key []byte
	for i := range patterns {
		p := &patterns[i]
		key = strconv.AppendQuote(key, string(p.Kind))
		for j := range p.Compiled.Conditions {
			key = strconv.AppendQuote(append(key, ' '), p.Compiled.Conditions[j].Key)
		}
		for _, b := range p.Compiled.Bindings {
			key = strconv.AppendBool(b.Reading.AppendTo(append(key, " bind "...)), b.Optional)
			s.Binds[b.Variable].Fields[i] = b.Reading
		}
		key = append(key, '\n')
	}
	s.Key = string(key)
	for i := range s.Binds {
		s.Binds[i].Key = s.Binds[i].writeKey()
	}
	return s
}

// writeKey writes what is equal for two binds that read the same; nothing for one that reads
// nothing.
func (b *Bind) writeKey() string {
	if !slices.ContainsFunc(b.Fields, func(field condition.Reading) bool { return field != condition.Reading{} }) {
		return ""
	}
	key := strconv.AppendBool(nil, b.Prefix)
	for _, field := range b.Fields {
		key = field.AppendTo(key)
	}
	return string(key)
}

// prepareSearch works out what the search looks up and does not depend on the events.
func (r *Rule) prepareSearch() {
	for i := range r.Steps {
		r.Steps[i].Compiled.Events = r.newEventSet(r.Steps[i].Compiled.Patterns)
	}
	for i := range r.Absent {
		r.Absent[i].Compiled.Events = r.newEventSet([]Pattern{r.Absent[i].Pattern})
	}
	for i := range r.RulesOut {
		r.RulesOut[i].Compiled.Events = r.newEventSet([]Pattern{r.RulesOut[i].Pattern})
	}
	for _, t := range r.listTells() {
		t.Compiled.Events = r.newEventSet(t.Compiled.Patterns)
	}
	r.Compiled.Edged = make([]uint64, len(r.Steps))
	for i := range r.Compiled.Ties {
		e := &r.Compiled.Ties[i]
		r.Compiled.Edged[e.From] |= 1 << e.To
		r.Compiled.Edged[e.To] |= 1 << e.From
	}
	r.Compiled.Related = slices.Clone(r.Compiled.Edged)
	for a := range r.Steps {
		for b := range r.Steps {
			if a != b && r.rateBestJoin(a, b) > ByTime {
				r.Compiled.Related[a] |= 1 << b
			}
		}
	}
}

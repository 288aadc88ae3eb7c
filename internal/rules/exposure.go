package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// Exposure is a risk that versions and settings alone show.
type Exposure struct {
	Rule     string
	Text     string
	Because  []string // the facts it rests on: "kernel.version = 4.19"
	Evidence []event.Quote
}

// listExposures returns the risks of all rules that did not match: a finding says more.
func (x *index) listExposures(cat *language.Catalog, found []Finding) []Exposure {
	var all []Exposure
	for i := range cat.Rules {
		r := &cat.Rules[i]
		if slices.ContainsFunc(found, func(f Finding) bool { return f.rule == r }) {
			continue
		}
		for j := range r.Exposed {
			if e, ok := x.checkExposure(r, &r.Exposed[j]); ok {
				all = append(all, e)
				break
			}
		}
	}
	return all
}

func (x *index) checkExposure(r *language.Rule, rule *language.ExposureRule) (Exposure, bool) {
	e := Exposure{Rule: r.ID, Text: rule.Text}
	for _, v := range rule.Versions {
		fact := x.timeline.Facts[v.Fact]
		if !v.Compiled.SurelyContains(fact.Value) {
			return e, false
		}
		e.addReason(v.Fact, fact.Value, fact.Evidence)
	}
	for _, c := range rule.Compiled {
		fact, known := x.timeline.Facts[c.Field]
		if !c.Holds(factValue(fact.Value), known) {
			return e, false
		}
		if known {
			e.addReason(c.Field, fact.Value, fact.Evidence)
		}
	}
	return e, len(e.Because) > 0
}

// factValue is a fact for comparison: a number where it is written as Go writes one, else its text.
func factValue(s string) event.Value {
	if n, err := strconv.ParseFloat(s, 64); err == nil && event.Number(n).Text() == s {
		return event.Number(n)
	}
	return event.String(s)
}

func (e *Exposure) addReason(name, value string, evidence []event.Quote) {
	e.Because = append(e.Because, fmt.Sprintf("%s = %s", name, event.OneLine(value)))
	if len(evidence) > 0 {
		e.Evidence = append(e.Evidence, evidence[0])
	}
}

// String is the exposure in a sentence.
func (e Exposure) String() string {
	return strings.TrimRight(e.Text, ".; ") + " (" + strings.Join(e.Because, ", ") + ")"
}

// listWeighed returns the names of the facts that some rule asks for, and that are known, in order.
func (x *index) listWeighed(cat *language.Catalog) []string {
	asked := map[string]bool{}
	for i := range cat.Rules {
		r := &cat.Rules[i]
		versions := slices.Clone(r.Versions)
		for j := range r.Exposed {
			versions = append(versions, r.Exposed[j].Versions...)
			for _, c := range r.Exposed[j].Compiled {
				asked[c.Field] = true
			}
		}
		for _, v := range versions {
			asked[v.Fact] = true
		}
		for _, p := range r.ListPatterns() {
			if name, ok := p.Match[string(event.FieldName)].(string); ok && p.Kind == event.KindFact {
				asked[name] = true
			}
		}
	}
	var known []string
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if _, ok := x.timeline.Facts[name]; ok {
			known = append(known, name)
		}
	}
	return known
}

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// ExposureRule says which versions and settings alone make a node run into the
// rule's cause some day. It needs no incident and names no cause.
type ExposureRule struct {
	Versions []VersionRange // every one of them has to be known and affected
	// Facts is the name of a fact, with an operator as in a match, to the wanted value. A fact that
	// is not known does not hold.
	Facts map[string]any
	Text  string // what may happen, and when

	conditions []condition.Condition
}

// Exposure is a risk that versions and settings alone show.
type Exposure struct {
	Rule     string
	Text     string
	Because  []string // the facts it rests on: "kernel.version = 4.19"
	Evidence []event.Quote
}

func (c *compiler) compileExposures() {
	for i := range c.rule.Exposed {
		e := &c.rule.Exposed[i]
		at := yamlfile.Place{"exposed", i}
		c.requireText(e.Text, at.In("text")...)
		c.compileVersions(e.Versions, at.In("versions"))
		if len(e.Versions)+len(e.Facts) == 0 {
			c.errorf(at, "an exposure names versions or facts")
		}
		e.conditions = c.compileBindless(e.Facts, at.In("facts"))
	}
}

// listExposures returns the risks of all rules that did not match: a finding says more.
func (x *index) listExposures(cat *Catalog, found []Finding) []Exposure {
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

func (x *index) checkExposure(r *Rule, rule *ExposureRule) (Exposure, bool) {
	e := Exposure{Rule: r.ID, Text: rule.Text}
	for _, v := range rule.Versions {
		fact := x.timeline.Facts[v.Fact]
		if !v.affected.Holds(fact.Value) {
			return e, false
		}
		e.addReason(v.Fact, fact.Value, fact.Evidence)
	}
	for _, c := range rule.conditions {
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
func (x *index) listWeighed(cat *Catalog) []string {
	asked := map[string]bool{}
	for i := range cat.Rules {
		r := &cat.Rules[i]
		versions := slices.Clone(r.Versions)
		for j := range r.Exposed {
			versions = append(versions, r.Exposed[j].Versions...)
			for _, c := range r.Exposed[j].conditions {
				asked[c.Field] = true
			}
		}
		for _, v := range versions {
			asked[v.Fact] = true
		}
		for _, p := range r.listPatterns() {
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

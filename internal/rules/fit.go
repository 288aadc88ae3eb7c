package rules

import (
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Fit is a place of a rule whose pattern takes an event, whatever else the rule asks for.
type Fit struct {
	Rule *language.Rule
	// Part is the sort of place: "step", "tell", "support", "rules_out" (it speaks against the rule)
	// or "absent" (the rule wants that there is no such event).
	Part string
	ID   string // of the step, the tell …
	Text string // what it says, in words; empty where it says no more than the event itself
}

// ListFits lists the places of all rules whose patterns take an event: rule by rule in the order of
// the catalogue, and in each steps, tells, supports, then what speaks against it.
func ListFits(c *language.Catalog, e *event.Event) []Fit {
	x := newIndex(&timeline.Timeline{Events: []*event.Event{e}})
	var fits []Fit
	for i := range c.Rules {
		fits = append(fits, x.listFitsOf(&c.Rules[i])...)
	}
	return fits
}

// listFitsOf lists the places of one rule that take an event of the index.
func (x *index) listFitsOf(r *language.Rule) (fits []Fit) {
	addFit := func(set *language.EventSet, part, id, text string) {
		if len(x.findHits(set).events) > 0 {
			fits = append(fits, Fit{r, part, id, text})
		}
	}
	for i := range r.Steps {
		addFit(&r.Steps[i].Compiled.Events, "step", r.Steps[i].ID, r.Steps[i].Describe())
	}
	for i := range r.Tells {
		addFit(&r.Tells[i].Compiled.Events, "tell", r.Tells[i].ID, r.Tells[i].Describe(r))
	}
	for i := range r.Supports {
		addFit(&r.Supports[i].Compiled.Events, "support", r.Supports[i].ID, r.Supports[i].Describe(r))
	}
	for i := range r.RulesOut {
		addFit(&r.RulesOut[i].Compiled.Events, "rules_out", r.RulesOut[i].ID, r.RulesOut[i].Why)
	}
	for i := range r.Absent {
		addFit(&r.Absent[i].Compiled.Events, "absent", r.Absent[i].ID, "")
	}
	return fits
}

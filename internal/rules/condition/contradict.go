package condition

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// WrittenKey is the condition's key in the rule.
func (c *Condition) WrittenKey() string {
	if c.operator == "" {
		return c.Field
	}
	return c.Field + "|" + c.operator
}

// WantsAbsent says that only an event without the field meets the condition.
func (c *Condition) WantsAbsent() bool { return c.operator == existsOperator && c.Arg == false }

// AreContradictory finds out where it is certain: values that are named, bounds of numbers, and a
// field that must be missing.
func AreContradictory(all []*Condition) bool {
	if slices.ContainsFunc(all, (*Condition).WantsAbsent) {
		return true // every other condition wants the field
	}
	least, most := math.Inf(-1), math.Inf(1)
	for _, c := range all {
		named := c.listNamedValues()
		if named != nil && !slices.ContainsFunc(named, func(v event.Value) bool { return valueMeets(v, all) }) {
			return true
		}
		limit, ok := parseLimit(c.Arg)
		switch {
		case !ok:
		case c.operator == "gt" || c.operator == "gte":
			least = max(least, limit)
		case c.operator == "lt" || c.operator == "lte":
			most = min(most, limit)
		}
	}
	open := slices.ContainsFunc(all, func(c *Condition) bool { return c.operator == "gt" || c.operator == "lt" })
	return least > most || least == most && open
}

// listNamedValues are the values that a condition names, each as all that it may be in an event.
func (c *Condition) listNamedValues() []event.Value {
	list := []any{c.Arg}
	switch c.operator {
	case "":
	case "in":
		list, _ = c.Arg.([]any)
	default:
		return nil
	}
	var all []event.Value
	for _, arg := range list {
		text := fmt.Sprint(arg)
		all = append(all, event.String(text))
		if d, err := time.ParseDuration(text); err == nil {
			all = append(all, event.Duration(d))
		}
		if n, ok := ReadNumber(arg); ok {
			all = append(all, event.Number(n))
		}
		if truth, ok := arg.(bool); ok {
			all = append(all, event.Bool(truth))
		}
	}
	return all
}

func valueMeets(v event.Value, all []*Condition) bool {
	return !slices.ContainsFunc(all, func(c *Condition) bool { return !c.Holds(v, true) })
}

// parseLimit is the number or the seconds of a bound.
func parseLimit(arg any) (float64, bool) {
	if n, ok := ReadNumber(arg); ok {
		return n, true
	}
	d, err := time.ParseDuration(fmt.Sprint(arg))
	return d.Seconds(), err == nil
}

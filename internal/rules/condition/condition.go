// Package condition turns one row of a match, "field|operator: argument", into a test of an event.
// The set of operators is closed. It also says what a row means in words, what no event can meet,
// and what stands in every line that meets it. It does not know what kinds of events there are.
package condition

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/spelling"
	"github.com/plegdiag/plegdiag/internal/rules/version"
)

// Condition is one row of a match.
type Condition struct {
	Field   string
	Arg     any     // as the rule writes it: a text, a number, a truth value, or a list of them
	Key     string  // equal for conditions that say the same
	Reading Reading // what Holds is asked about
	// Holds says whether a value meets the condition. Present is false where an event has none.
	Holds func(v event.Value, present bool) bool

	operator string
	read     func(e *event.Event) (event.Value, bool)
}

// operators is the closed set behind "field|operator: argument". The empty name
// is equality. Each turns the argument of the rule into a test, or says what is
// wrong with it.
var operators = map[string]func(arg any) (func(event.Value) bool, error){
	"":           matchEqual,
	"in":         matchAny,
	"contains":   matchPart(func(part, text string) bool { return strings.Contains(text, part) }),
	"lacks":      matchPart(func(part, text string) bool { return !strings.Contains(text, part) }),
	"startswith": matchPart(func(part, text string) bool { return strings.HasPrefix(text, part) }),
	"endswith":   matchPart(func(part, text string) bool { return strings.HasSuffix(text, part) }),
	"re":         matchText(parsePattern, (*pattern).matchString),
	"captures":   matchText(parseCaptures, (*captures).matchString),
	"lt":         matchNumber(func(a, b float64) bool { return a < b }),
	"lte":        matchNumber(func(a, b float64) bool { return a <= b }),
	"gt":         matchNumber(func(a, b float64) bool { return a > b }),
	"gte":        matchNumber(func(a, b float64) bool { return a >= b }),
	"semver":     matchText(version.ParseRange, version.Range.SurelyContains),
}

// existsOperator is the one operator that looks at a missing field.
const existsOperator = "exists"

// New compiles "field|operator: arg". A condition on a field that the
// event lacks does not hold, unless it asks for just that.
func New(key string, arg any) (Condition, error) {
	field, name, _ := strings.Cut(key, "|")
	if field == "" {
		return Condition{}, fmt.Errorf("%q names no field", key)
	}
	c := Condition{Field: field, operator: name, Arg: arg, Reading: Reading{Field: field}}
	c.Key = key + "\x00" + string(appendArgument(nil, arg))
	var test func(event.Value) bool
	var err error
	if field == "source" {
		test, c.Reading.file, err = newPathCondition(name, arg)
	}
	c.read = c.Reading.Reader()
	if name == existsOperator {
		want, ok := arg.(bool)
		if !ok {
			return Condition{}, fmt.Errorf("%q takes true or false, not %q", key, fmt.Sprint(arg))
		}
		c.Holds = func(_ event.Value, present bool) bool { return present == want }
		return c, nil
	}
	operator, ok := operators[name]
	if !ok {
		return Condition{}, fmt.Errorf("unknown operator %q%s", name, spelling.DidYouMean(name, ListOperators()))
	}
	if !c.Reading.file {
		test, err = operator(arg)
	}
	if err != nil {
		return Condition{}, fmt.Errorf("%q: %w", key, err)
	}
	c.Holds = func(v event.Value, present bool) bool { return present && test(v) }
	return c, nil
}

// appendArgument writes what YAML decodes to, each value in a way of its own. Package fmt would
// take a tenth of the time in which the catalogue is compiled.
func appendArgument(to []byte, arg any) []byte {
	switch v := arg.(type) {
	case string:
		return strconv.AppendQuote(to, v)
	case bool:
		return strconv.AppendBool(to, v)
	case int:
		return strconv.AppendInt(to, int64(v), 10)
	case []any:
		for i := range v {
			to = appendArgument(append(to, ','), v[i])
		}
		return to
	}
	return fmt.Appendf(to, "%#v", arg)
}

// ListOperators are the names of all operators, in order; that of equality, the first, is empty.
func ListOperators() []string {
	names := []string{existsOperator}
	for name := range operators {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// matchEqual compares numbers as numbers and everything else as it is written.
func matchEqual(arg any) (func(event.Value) bool, error) {
	want, err := scalarText(arg)
	if err != nil {
		return nil, err
	}
	number, isNumber := ReadNumber(arg)
	return func(v event.Value) bool {
		if n, ok := v.Number(); ok && isNumber {
			return n == number
		}
		return v.Text() == want
	}, nil
}

func matchAny(arg any) (func(event.Value) bool, error) {
	list, ok := arg.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("takes a list of values")
	}
	tests := make([]func(event.Value) bool, len(list))
	for i := range list {
		var err error
		if tests[i], err = matchEqual(list[i]); err != nil {
			return nil, err
		}
	}
	return func(v event.Value) bool {
		return slices.ContainsFunc(tests, func(test func(event.Value) bool) bool { return test(v) })
	}, nil
}

// matchText tests a text by what the rule's argument is parsed into.
func matchText[T any](
	parse func(string) (T, error), test func(parsed T, text string) bool,
) func(any) (func(event.Value) bool, error) {
	return func(arg any) (func(event.Value) bool, error) {
		written, err := scalarText(arg)
		if err != nil {
			return nil, err
		}
		parsed, err := parse(written)
		if err != nil {
			return nil, err
		}
		return func(v event.Value) bool { return test(parsed, v.Text()) }, nil
	}
}

// matchPart tests a text by a part that stands in the rule as it is.
func matchPart(test func(part, text string) bool) func(any) (func(event.Value) bool, error) {
	return matchText(func(s string) (string, error) { return s, nil }, test)
}

// matchNumber compares numbers; a duration counts in seconds on both sides. Text that is no number
// fits nothing.
func matchNumber(test func(a, b float64) bool) func(any) (func(event.Value) bool, error) {
	return func(arg any) (func(event.Value) bool, error) {
		limit, ok := ReadNumber(arg)
		if !ok {
			d, err := time.ParseDuration(fmt.Sprint(arg))
			if err != nil {
				return nil, fmt.Errorf("%q is neither a number nor a duration", fmt.Sprint(arg))
			}
			limit = d.Seconds()
		}
		return func(v event.Value) bool {
			n, ok := v.Number()
			return ok && test(n, limit)
		}, nil
	}
}

// scalarText is one value of a rule file as it is written there.
func scalarText(arg any) (string, error) {
	switch arg := arg.(type) {
	case string:
		return arg, nil
	case bool, int64, uint64, float64:
		return fmt.Sprint(arg), nil
	}
	return "", errors.New("takes one value")
}

// ReadNumber is a value of a rule as a number. Ok is false for one that is written otherwise: text
// is no number, whatever its letters.
func ReadNumber(arg any) (n float64, ok bool) {
	switch arg := arg.(type) {
	case int64:
		return float64(arg), true
	case uint64:
		return float64(arg), true
	case float64:
		return arg, true
	}
	return 0, false
}

// AreMet says whether an event meets every condition.
func AreMet(e *event.Event, conditions []Condition) bool {
	for i := range conditions {
		if !conditions[i].Holds(conditions[i].read(e)) {
			return false
		}
	}
	return true
}

package rules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// condition is one row of a match.
type condition struct {
	field    string
	operator string
	arg      any
	key      string // equal for conditions that say the same
	holds    func(v event.Value, present bool) bool
}

// operators is the closed set behind "field|operator: argument". The empty name
// is equality. Each turns the argument of the rule into a test, or says what is
// wrong with it.
var operators = map[string]func(arg any) (func(event.Value) bool, error){
	"":           equals,
	"in":         oneOf,
	"contains":   byText(strings.Contains),
	"lacks":      byText(func(s, part string) bool { return !strings.Contains(s, part) }),
	"startswith": byText(strings.HasPrefix),
	"endswith":   byText(strings.HasSuffix),
	"re":         byRegexp,
	"lt":         byNumber(func(a, b float64) bool { return a < b }),
	"lte":        byNumber(func(a, b float64) bool { return a <= b }),
	"gt":         byNumber(func(a, b float64) bool { return a > b }),
	"gte":        byNumber(func(a, b float64) bool { return a >= b }),
	"semver":     byVersion,
}

// existsOperator is the one operator that looks at a missing field.
const existsOperator = "exists"

// newCondition compiles "field|operator: arg". A condition on a field that the
// event lacks does not hold, unless it asks for just that.
func newCondition(key string, arg any) (condition, error) {
	field, name, _ := strings.Cut(key, "|")
	if field == "" {
		return condition{}, fmt.Errorf("%q names no field", key)
	}
	same := fmt.Sprintf("%s\x00%#v", key, arg)
	if name == existsOperator {
		want, ok := arg.(bool)
		if !ok {
			return condition{}, fmt.Errorf("%q takes true or false, not %q", key, fmt.Sprint(arg))
		}
		return condition{field, name, arg, same, func(_ event.Value, present bool) bool { return present == want }}, nil
	}
	operator, ok := operators[name]
	if !ok {
		return condition{}, fmt.Errorf("unknown operator %q%s", name, didYouMean(name, operatorNames()))
	}
	test, err := operator(arg)
	if err != nil {
		return condition{}, fmt.Errorf("%q: %w", key, err)
	}
	return condition{field, name, arg, same, func(v event.Value, present bool) bool { return present && test(v) }}, nil
}

func operatorNames() []string {
	names := []string{existsOperator}
	for name := range operators {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// equals compares numbers as numbers and everything else as it is written.
func equals(arg any) (func(event.Value) bool, error) {
	want, err := scalar(arg)
	if err != nil {
		return nil, err
	}
	number, isNumber := numeric(arg)
	return func(v event.Value) bool {
		if n, ok := v.Number(); ok && isNumber {
			return n == number
		}
		return v.Text() == want
	}, nil
}

func oneOf(arg any) (func(event.Value) bool, error) {
	list, ok := arg.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("takes a list of values")
	}
	tests := make([]func(event.Value) bool, len(list))
	for i := range list {
		var err error
		if tests[i], err = equals(list[i]); err != nil {
			return nil, err
		}
	}
	return func(v event.Value) bool {
		return slices.ContainsFunc(tests, func(test func(event.Value) bool) bool { return test(v) })
	}, nil
}

func byText(test func(s, part string) bool) func(any) (func(event.Value) bool, error) {
	return func(arg any) (func(event.Value) bool, error) {
		part, err := scalar(arg)
		if err != nil {
			return nil, err
		}
		return func(v event.Value) bool { return test(v.Text(), part) }, nil
	}
}

func byRegexp(arg any) (func(event.Value) bool, error) {
	s, err := scalar(arg)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	return func(v event.Value) bool { return re.MatchString(v.Text()) }, nil
}

// byNumber compares numbers; a duration counts in seconds on both sides. Text that is no number
// fits nothing.
func byNumber(test func(a, b float64) bool) func(any) (func(event.Value) bool, error) {
	return func(arg any) (func(event.Value) bool, error) {
		limit, ok := numeric(arg)
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

func byVersion(arg any) (func(event.Value) bool, error) {
	s, err := scalar(arg)
	if err != nil {
		return nil, err
	}
	r, err := parseVersionRange(s)
	if err != nil {
		return nil, err
	}
	return func(v event.Value) bool {
		in, known := r.contains(v.Text())
		return known && in
	}, nil
}

// scalar is one value of a rule file as it is written there.
func scalar(arg any) (string, error) {
	switch arg := arg.(type) {
	case string:
		return arg, nil
	case bool, int64, uint64, float64:
		return fmt.Sprint(arg), nil
	}
	return "", errors.New("takes one value")
}

func numeric(arg any) (float64, bool) {
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

// meets says whether an event meets every condition.
func meets(e *event.Event, conditions []condition) bool {
	for i := range conditions {
		if !conditions[i].holds(e.Get(event.Key(conditions[i].field))) {
			return false
		}
	}
	return true
}

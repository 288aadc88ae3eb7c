package condition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// WhyNever says why no value of a field can meet a condition, by the field's
// declaration: "it is one of ok, failed". It is empty when some value can.
func WhyNever(f *event.FieldInfo, c *Condition) string {
	switch c.operator {
	case existsOperator:
		return ""
	case "":
		return whyNeverEqual(f, c.Arg)
	case "in":
		list, _ := c.Arg.([]any)
		for _, arg := range list {
			if why := whyNeverEqual(f, arg); why != "" {
				return why
			}
		}
		return ""
	case "lt", "lte", "gt", "gte":
		if f.Type == event.TypeText {
			return "it is text, and only numbers and durations have an order"
		}
	}
	if all := listAllValues(f); all != nil && !slices.ContainsFunc(all, func(v event.Value) bool { return c.Holds(v, true) }) {
		return describeValues(f)
	}
	return ""
}

// whyNeverEqual is the same for one value that a field shall equal.
func whyNeverEqual(f *event.FieldInfo, arg any) string {
	test, err := matchEqual(arg)
	if err != nil || slices.ContainsFunc(listValuesLike(f, arg), test) {
		return "" // what cannot be compared is reported already
	}
	return describeValues(f)
}

// listAllValues are all that a field may be; nil when that is not a closed set.
func listAllValues(f *event.FieldInfo) []event.Value {
	switch {
	case f.Type == event.TypeBoolean:
		return []event.Value{event.Bool(true), event.Bool(false)}
	case f.Type == event.TypeText && f.Values != nil:
		all := []event.Value{event.String("")}
		for _, s := range f.Values {
			all = append(all, event.String(s))
		}
		return all
	}
	return nil
}

// listValuesLike are the values of a field that an argument may stand for.
func listValuesLike(f *event.FieldInfo, arg any) []event.Value {
	if all := listAllValues(f); all != nil {
		return all
	}
	written := fmt.Sprint(arg)
	like := []event.Value{event.String(written)}
	if n, err := strconv.ParseFloat(written, 64); err == nil {
		like = append(like, event.Number(n), event.Duration(time.Duration(n*float64(time.Second))))
	}
	if d, err := time.ParseDuration(written); err == nil {
		like = append(like, event.Duration(d))
	}
	return slices.DeleteFunc(like, func(v event.Value) bool { return !f.Allows(v) })
}

// describeValues says what a field may be.
func describeValues(f *event.FieldInfo) string {
	switch {
	case f.Type == event.TypeBoolean:
		return "it is true or false"
	case f.Type == event.TypeDuration:
		return "it is a duration: compare it with a number of seconds, or by |gte and |lt"
	case f.Type == event.TypeNumber:
		return "it is a " + strings.Join(append([]string{"number"}, f.Values...), " or ")
	}
	return "it is one of " + strings.Join(f.Values, ", ")
}

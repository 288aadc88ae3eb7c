package condition

import (
	"cmp"
	"fmt"
	"strings"
)

// Describe is a row of a match in words: "outcome is one of ok, failed".
func Describe(key string, arg any) string {
	field, operator, _ := strings.Cut(key, "|")
	switch list, isList := arg.([]any); {
	case operator == existsOperator && arg == true:
		return field + " is given"
	case operator == existsOperator:
		return field + " is not given"
	case isList:
		names := printAll(list)
		for i, name := range names {
			names[i] = cmp.Or(name, "empty")
		}
		return field + " is one of " + strings.Join(names, ", ")
	case arg == "":
		return field + " is empty"
	}
	return fmt.Sprintf("%s %s %v", field, cmp.Or(operatorProse[operator], operator), arg)
}

// ListNames are the values that a condition names, one or a list of them, as they are written; nil
// where it names none.
func (c *Condition) ListNames() []string {
	switch list, isList := c.Arg.([]any); {
	case isList && c.operator == "in":
		return printAll(list)
	case c.operator == "":
		return []string{fmt.Sprint(c.Arg)}
	}
	return nil
}

func printAll(list []any) []string {
	var all []string
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

var operatorProse = map[string]string{
	"": "is", "lacks": "does not contain", "startswith": "starts with", "endswith": "ends with",
	"re": "matches", "captures": "has",
	"lt": "<", "lte": "≤", "gt": ">", "gte": "≥", "semver": "is of version",
}

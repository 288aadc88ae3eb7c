package condition

import (
	"fmt"
	"strings"
)

// ListLiterals are strings of which one stands, just as it is, in every line whose
// text or error meets the condition; nil when there are none.
func (c *Condition) ListLiterals() []string {
	if c.Field != "text" && c.Field != "error" {
		return nil
	}
	switch c.operator {
	case "", "contains", "startswith", "endswith":
		return []string{longestPlainRun(fmt.Sprint(c.Arg))}
	case capturesOperator:
		if text, err := parseCaptures(fmt.Sprint(c.Arg)); err == nil {
			return []string{longestAmong(text.literals, longestPlainRun)}
		}
	case "in":
		list, _ := c.Arg.([]any)
		all := printAll(list)
		for i := range all {
			all[i] = longestPlainRun(all[i])
		}
		return all
	}
	return nil
}

// longestPlainRun is the longest part of a text that every log format writes as it is.
func longestPlainRun(s string) string {
	longest := ""
	altered := func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("\"\\<>&", r) }
	for run := range strings.FieldsFuncSeq(s, altered) {
		if run = strings.TrimSpace(run); len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

// longestAmong is the longest of what a function makes of each text.
func longestAmong(texts []string, of func(string) string) string {
	longest := ""
	for _, s := range texts {
		if made := of(s); len(made) > len(longest) {
			longest = made
		}
	}
	return longest
}

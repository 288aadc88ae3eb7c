package rules

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// reading is what a condition or a bind looks at in an event: a field, what stands in the place of
// one placeholder of a text that the field holds, or the file that the event was read from.
type reading struct {
	field             string
	text, placeholder string // empty for the field itself
	file              bool
}

// appendTo writes it in a way of its own.
func (r reading) appendTo(key []byte) []byte {
	for _, text := range [...]string{r.field, r.text, r.placeholder} {
		key = strconv.AppendQuote(key, text)
	}
	return strconv.AppendBool(key, r.file)
}

// reader returns the function that reads it. Ok is false when the event has no such value.
func (r reading) reader() func(e *event.Event) (v event.Value, ok bool) {
	switch {
	case r.file:
		return func(e *event.Event) (event.Value, bool) {
			name := e.Pos().File
			return event.String(name), name != ""
		}
	case r.placeholder != "":
		text, err := parseCaptures(r.text)
		if err != nil {
			return func(*event.Event) (event.Value, bool) { return event.Value{}, false } // told by the compiler
		}
		group := 1 + slices.Index(text.names, r.placeholder)
		return func(e *event.Event) (event.Value, bool) {
			v, ok := e.Get(event.Key(r.field))
			found := text.expression.FindStringSubmatch(v.Text())
			if !ok || found == nil {
				return event.Value{}, false
			}
			return event.String(found[group]), true
		}
	}
	return func(e *event.Event) (event.Value, bool) { return e.Get(event.Key(r.field)) }
}

// capturesOperator is the operator whose argument is a text with placeholders, each of which binds
// what stands in its place.
const capturesOperator = "captures"

// captures is "backend of {volume} is lost", compiled.
type captures struct {
	expression *regexp.Regexp // one group for each of the names; runs in linear time, as all of RE2 does
	names      []string
	literals   []string // the text between the placeholders
}

// maxPlaceholders bounds the placeholders of one text.
const maxPlaceholders = 16

// capturePlaceholder is {name}, or {} for any word that nobody needs. Other braces are text.
var capturePlaceholder = regexp.MustCompile(`\{([a-z][a-z0-9_]*)?\}`)

// parseCaptures compiles a text with placeholders. A placeholder stands for one word: as few
// characters as possible up to what follows it, at least one, no blank among them. One at the end
// of the text goes to the next blank.
func parseCaptures(s string) (*captures, error) {
	c := &captures{}
	s = strings.TrimSpace(s) // a blank at the end would ask for a blank in the text
	var expression strings.Builder
	rest := 0
	places := capturePlaceholder.FindAllStringSubmatchIndex(s, maxPlaceholders+1)
	for i, place := range places {
		literal, name := s[rest:place[0]], ""
		if place[2] >= 0 {
			name = s[place[2]:place[3]]
		}
		rest = place[1]
		switch {
		case i == maxPlaceholders:
			return nil, fmt.Errorf("takes at most %d placeholders", maxPlaceholders)
		case i > 0 && literal == "":
			return nil, errors.New("takes a text between two placeholders")
		case name != "" && slices.Contains(c.names, name):
			return nil, fmt.Errorf("names {%s} twice", name)
		}
		word := `\S+?`
		if rest == len(s) {
			word = `\S+`
		}
		if name != "" {
			c.names = append(c.names, name)
			word = "(" + word + ")"
		}
		c.literals = append(c.literals, literal)
		expression.WriteString(regexp.QuoteMeta(literal) + word)
	}
	if len(places) == 0 {
		return nil, errors.New("takes a text with a placeholder such as {volume}; a text alone is for contains")
	}
	c.literals = append(c.literals, s[rest:])
	expression.WriteString(regexp.QuoteMeta(s[rest:]))
	var err error
	c.expression, err = regexp.Compile(expression.String())
	return c, err
}

// listPlaceholders are the names that a condition binds; none of most.
func (c *condition) listPlaceholders() []string {
	if c.operator != capturesOperator {
		return nil
	}
	text, err := parseCaptures(fmt.Sprint(c.arg))
	if err != nil {
		return nil
	}
	return text.names
}

// matchString says whether a text has what the placeholders stand in.
func (c *captures) matchString(text string) bool { return c.expression.MatchString(text) }

// pathPrefix marks a source that is named by where its file stands in the bundle.
const pathPrefix = "path:"

// pathSource returns the pattern of a source such as "path:var/log/acme/*.log"; false for a source
// that has a name.
func pathSource(source string) (pattern string, ok bool) {
	pattern, ok = strings.CutPrefix(source, pathPrefix)
	return strings.TrimPrefix(pattern, "/"), ok
}

// checkPath says what is wrong with a pattern of paths.
func checkPath(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return fmt.Errorf("%q is no pattern of paths such as var/log/acme/*.log", pattern)
	}
	return nil
}

// matchPath says whether a file is one of a pattern: its last parts are those of the pattern, for
// the beginning of a path is the collector's. * stands for anything but a slash.
func matchPath(pattern, file string) bool {
	parts, wanted := strings.Split(file, "/"), strings.Count(pattern, "/")+1
	if len(parts) < wanted {
		return false
	}
	same, err := path.Match(pattern, strings.Join(parts[len(parts)-wanted:], "/"))
	return same && err == nil
}

// newPathCondition compiles a condition on the field source whose argument is a path, or a list of
// paths. Ok is false for one that names sources.
func newPathCondition(operator string, arg any) (holds func(event.Value) bool, ok bool, err error) {
	list, isList := arg.([]any)
	if !isList {
		list = []any{arg}
	}
	var patterns []string
	for _, item := range list {
		pattern, isPath := pathSource(fmt.Sprint(item))
		if !isPath {
			continue
		}
		if err := checkPath(pattern); err != nil {
			return nil, true, err
		}
		patterns = append(patterns, pattern)
	}
	switch {
	case len(patterns) == 0:
		return nil, false, nil
	case isList != (operator == "in") || !isList && operator != "":
		return nil, true, errors.New("a path takes no operator, and a list of paths takes in")
	case len(patterns) < len(list):
		return nil, true, errors.New("takes either paths or names of sources")
	}
	return func(v event.Value) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matchPath(pattern, v.Text()) })
	}, true, nil
}

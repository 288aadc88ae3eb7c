package condition

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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

// ListPlaceholders are the names that a condition binds; none of most.
func (c *Condition) ListPlaceholders() []string {
	if c.operator != capturesOperator {
		return nil
	}
	text, err := parseCaptures(fmt.Sprint(c.Arg))
	if err != nil {
		return nil
	}
	return text.names
}

// ReadPlaceholder is the reading of what stands in the place of one of its names.
func (c *Condition) ReadPlaceholder(name string) Reading {
	return Reading{Field: c.Field, text: fmt.Sprint(c.Arg), Placeholder: name}
}

// matchString says whether a text has what the placeholders stand in.
func (c *captures) matchString(text string) bool { return c.expression.MatchString(text) }

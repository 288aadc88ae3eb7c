// Package yamlfile turns a file of plain YAML into Go structs, strictly, and says of each mistake
// where it stands. Rules are written in such files, and what is wanted of a fixture. It does not
// know what the keys mean.
package yamlfile

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is what is wrong with a file, and where.
type Problem struct {
	File         string
	Line, Column int // 1-based; 0 for the file, or for the line, as a whole
	Reason       string
	// Warning says that the rule loads all the same.
	Warning bool
}

// Error is "file:line:col: reason", or "file:line:col: warning: reason", without what is not known
// of the place.
func (p *Problem) Error() string {
	reason := p.Reason
	if p.Warning {
		reason = "warning: " + reason
	}
	switch {
	case p.Line == 0:
		return fmt.Sprintf("%s: %s", p.File, reason)
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, reason)
}

// WithReason is the problem with a reason.
func (p Problem) WithReason(format string, args ...any) *Problem {
	p.Reason = fmt.Sprintf(format, args...)
	return &p
}

// Problems are all that is wrong, file by file and from the top of each to its end.
type Problems []*Problem

// Error has a line for each of them.
func (all Problems) Error() string {
	lines := make([]string, len(all))
	for i, p := range all {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Mistakes counts those that are no warnings.
func (all Problems) Mistakes() (n int) {
	for _, p := range all {
		if !p.Warning {
			n++
		}
	}
	return n
}

// comparePlaces orders problems of one file from its top to its end.
func comparePlaces(a, b *Problem) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// Merge joins what could not be read and what else is wrong, by place. What is missing
// because it could not be read is no second mistake.
func Merge(unread, wrong Problems) Problems {
	all := slices.Clone(unread)
	for _, p := range wrong {
		if !slices.ContainsFunc(unread, func(u *Problem) bool { return comparePlaces(u, p) == 0 }) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, comparePlaces)
	return all
}

// Source is a parsed file, kept while it is checked so that problems can say where they are.
type Source struct {
	File string     // as problems name it
	root *yaml.Node // nil where there is none: problems then name the file alone
}

// Place is where something stands in a file, as keys and indices: {"edges", 2, "to"}.
type Place []any

// In is a place further inside.
func (at Place) In(keys ...any) Place { return append(slices.Clone(at), keys...) }

// yamlError is how the YAML library spells an error: "yaml: line 5: did not find …", with a line
// that it does not always know.
var yamlError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// yamlProblem gives an error of the YAML library the shape of all others.
func (s *Source) yamlProblem(err error) *Problem {
	p := &Problem{File: s.File, Reason: strings.ReplaceAll(err.Error(), "\n", " ")}
	if m := yamlError.FindStringSubmatch(p.Reason); m != nil {
		p.Line, _ = strconv.Atoi(m[1]) // 0 where there is none
		p.Reason = "not YAML: " + m[2]
	}
	return p
}

// Problem is one at a place.
func (s *Source) Problem(at Place, format string, args ...any) *Problem {
	if s.root == nil {
		return &Problem{File: s.File, Reason: fmt.Sprintf(format, args...)}
	}
	return s.problemAt(locate(s.root, at), format, args...)
}

// problemAt is a problem at a node.
func (s *Source) problemAt(node *yaml.Node, format string, args ...any) *Problem {
	p := &Problem{File: s.File, Reason: fmt.Sprintf(format, args...)}
	if node = locate(node, nil); node != nil {
		p.Line, p.Column = node.Line, node.Column
	}
	return p
}

// locate returns the node at a path, or as far as the path leads. A mapping is its first key.
func locate(node *yaml.Node, at Place) *yaml.Node {
	if len(at) > 0 {
		switch key := at[0].(type) {
		case string:
			for name, value := range listEntries(node) {
				if name.Value == key {
					return locate(value, at[1:])
				}
			}
		case int:
			if node.Kind == yaml.SequenceNode && key < len(node.Content) {
				return locate(node.Content[key], at[1:])
			}
		}
	}
	for key := range listEntries(node) {
		return key
	}
	return node
}

// listEntries yields the keys of a mapping with their values; of anything else nothing.
func listEntries(node *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if node == nil || !isMapping(node) {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i], node.Content[i+1]) {
				return
			}
		}
	}
}

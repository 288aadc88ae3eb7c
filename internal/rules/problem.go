package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Problem is what is wrong with a rule file, and where.
type Problem struct {
	File         string
	Line, Column int // 1-based; 0 for the file as a whole
	Reason       string
	// Warning says that the rule loads all the same.
	Warning bool
}

// Error is "file:line:col: reason", or "file:line:col: warning: reason".
func (p *Problem) Error() string {
	reason := p.Reason
	if p.Warning {
		reason = "warning: " + reason
	}
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, reason)
}

// because is the problem with a reason.
func (p Problem) because(format string, args ...any) *Problem {
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

// mergeProblems joins what could not be read and what else is wrong, by place. What is missing
// because it could not be read is no second mistake.
func mergeProblems(unread, wrong Problems) Problems {
	all := slices.Clone(unread)
	for _, p := range wrong {
		if !slices.ContainsFunc(unread, func(u *Problem) bool { return comparePlaces(u, p) == 0 }) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, comparePlaces)
	return all
}

// source is a parsed rule file, kept while it is checked so that problems can say where they are.
type source struct {
	file string
	root ast.Node
}

// place is where something stands in a rule file, as keys and indices: {"edges", 2, "to"}.
type place []any

// in is a place further inside.
func (at place) in(keys ...any) place { return append(slices.Clone(at), keys...) }

// yamlProblem gives an error of the YAML library the shape of all others.
func (s *source) yamlProblem(err error) *Problem {
	p := &Problem{File: s.file, Reason: strings.ReplaceAll(err.Error(), "\n", " ")}
	if positioned, ok := errors.AsType[yaml.Error](err); ok {
		p.Reason = positioned.GetMessage()
		if token := positioned.GetToken(); token != nil && token.Position != nil {
			p.Line, p.Column = token.Position.Line, token.Position.Column
		}
	}
	return p
}

// problem is one at a place.
func (s *source) problem(at place, format string, args ...any) *Problem {
	if s.root == nil {
		return &Problem{File: s.file, Reason: fmt.Sprintf(format, args...)}
	}
	return s.problemAt(locate(s.root, at), format, args...)
}

// problemAt is a problem at a node.
func (s *source) problemAt(node ast.Node, format string, args ...any) *Problem {
	p := &Problem{File: s.file, Reason: fmt.Sprintf(format, args...)}
	if node = locate(node, nil); node != nil && node.GetToken() != nil {
		p.Line, p.Column = node.GetToken().Position.Line, node.GetToken().Position.Column
	}
	return p
}

// locate returns the node at a path, or as far as the path leads. A mapping is
// its first key: the token of a block mapping is the colon behind it.
func locate(node ast.Node, at place) ast.Node {
	if len(at) > 0 {
		switch key := at[0].(type) {
		case string:
			for _, entry := range listEntries(node) {
				if keyName(entry) == key {
					return locate(entry.Value, at[1:])
				}
			}
		case int:
			if list, ok := node.(*ast.SequenceNode); ok && key < len(list.Values) {
				return locate(list.Values[key], at[1:])
			}
		}
	}
	if all := listEntries(node); len(all) > 0 {
		return all[0].Key
	}
	return node
}

func listEntries(node ast.Node) []*ast.MappingValueNode {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	}
	return nil
}

func keyName(entry *ast.MappingValueNode) string {
	if entry.Key == nil || entry.Key.GetToken() == nil {
		return ""
	}
	return entry.Key.GetToken().Value
}

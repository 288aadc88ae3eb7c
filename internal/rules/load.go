package rules

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/plegdiag/plegdiag/internal/event"
)

//go:embed all:catalog
var builtin embed.FS

// Catalog is a checked set of rules.
type Catalog struct {
	Rules []Rule // by id
	// Warnings are what is wrong with rules that load all the same. A later release refuses them.
	Warnings []*Problem
}

// Builtin is the catalogue that ships with plegdiag, the same for every caller: nobody may change it. A test holds that it loads.
func Builtin() (*Catalog, error) { return builtinCatalog() }

var builtinCatalog = sync.OnceValues(func() (*Catalog, error) { return Load(nil, BuiltinFiles()) })

// BuiltinFiles are the rule files that ship with plegdiag.
func BuiltinFiles() Files {
	catalog, err := fs.Sub(builtin, "catalog")
	if err != nil {
		panic(err) //nolint:forbidigo // the name is a constant
	}
	return Files{FS: catalog, Dir: "catalog"}
}

// Files is a tree of rule files: every .yaml file in it is one rule, except
// below a directory that holds a fixture.
type Files struct {
	FS  fs.FS
	Dir string // how problems name the tree; empty for paths inside it
	// Only is the one file to read; empty for all.
	Only string
}

// FixtureFile is the file by which the directory of a fixture is known.
const FixtureFile = "want.yaml"

// each calls rule with every rule file, in the order of their names.
func (f Files) each(rule func(name string, text []byte)) error {
	read := func(name string) error {
		text, err := f.readFile(name)
		if err == nil {
			rule(path.Join(f.Dir, name), text)
		}
		return err
	}
	if f.Only != "" {
		return read(f.Only)
	}
	return fs.WalkDir(f.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := fs.Stat(f.FS, path.Join(name, FixtureFile)); err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".yaml" {
			return nil
		}
		return read(name)
	})
}

// readFile reads a file, but no more of it than shows that it is too large to be a rule: it may be /dev/zero.
func (f Files) readFile(name string) ([]byte, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxRuleFile+1))
}

// Rule returns the rule of that id, or nil.
func (c *Catalog) Rule(id string) *Rule {
	i, found := slices.BinarySearchFunc(c.Rules, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !found {
		return nil
	}
	return &c.Rules[i]
}

// maxRuleFile bounds a rule file, in bytes; the longest of the catalogue are a tenth of it.
const maxRuleFile = 64 << 10

// Lines are the log lines that the rules ask for by their text. A nil catalogue asks for none.
func (c *Catalog) Lines() []event.LineWatch {
	if c == nil {
		return nil
	}
	var all []event.LineWatch
	for i := range c.Rules {
		all = append(all, c.Rules[i].lines...)
	}
	return all
}

// Load reads the rules of all trees into one catalogue. They may only speak of
// events that are known; nil knows any. When anything is wrong Load returns no
// catalogue and all problems joined, each as a [*Problem].
func Load(known []event.KindInfo, trees ...Files) (*Catalog, error) {
	l := loader{known: known, places: map[string]*places{}}
	for _, tree := range trees {
		if err := tree.each(l.add); err != nil {
			return nil, err
		}
	}
	catalog := &l.catalog
	slices.SortFunc(catalog.Rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	if len(l.errs) == 0 { // else a rule that could not be read would seem unknown
		for i := range catalog.Rules {
			l.errs = append(l.errs, catalog.checkDeeper(&catalog.Rules[i], l.places[catalog.Rules[i].ID])...)
		}
	}
	if len(l.errs) > 0 {
		return nil, errors.Join(l.errs...)
	}
	return catalog, nil
}

// loader gathers rules and what is wrong with them.
type loader struct {
	known   []event.KindInfo
	catalog Catalog
	places  map[string]*places // by id
	errs    []error
}

// places are where a rule says what can only be checked when all are known. The
// tree of its file, some hundred times its size, is not kept for that.
type places struct {
	file   string
	deeper []Problem
	join   [][]Problem
}

func (s *source) places(r *Rule) *places {
	p := &places{file: s.file}
	for i, d := range r.ExplainedBy {
		p.deeper = append(p.deeper, *s.problem([]any{"explained_by", i, "rule"}, ""))
		var join []Problem
		for j := range d.Join {
			join = append(join, *s.problem([]any{"explained_by", i, "join", j}, ""))
		}
		p.join = append(p.join, join)
	}
	return p
}

func (l *loader) add(name string, text []byte) {
	rule, src, problems := parse(name, text, l.known)
	if rule == nil {
		l.errs = append(l.errs, problems...)
		return
	}
	for _, err := range problems {
		p, _ := errors.AsType[*Problem](err)
		l.catalog.Warnings = append(l.catalog.Warnings, p)
	}
	if other := l.places[rule.ID]; other != nil {
		l.errs = append(l.errs, src.problem([]any{"id"}, "id %q is taken by %s", rule.ID, other.file))
		return
	}
	l.places[rule.ID] = src.places(rule)
	l.catalog.Rules = append(l.catalog.Rules, *rule)
}

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

// isMistake says that an error is no warning.
func isMistake(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return !ok || !p.Warning
}

// because is the problem with a reason.
func (p Problem) because(format string, args ...any) *Problem {
	p.Reason = fmt.Sprintf(format, args...)
	return &p
}

// Problems are the single problems of an error of [Load]; none for any other error.
func Problems(err error) []*Problem {
	var all []*Problem
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if p, ok := errors.AsType[*Problem](err); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// source is a parsed rule file, kept while it is checked so that problems can say where they are.
type source struct {
	file string
	root ast.Node
}

// parse reads and checks one rule. The rule is nil when it has a mistake; else all problems are warnings.
func parse(file string, text []byte, known []event.KindInfo) (*Rule, *source, []error) {
	src, problem := readYAML(file, text)
	if problem != nil {
		return nil, src, []error{problem}
	}
	rule, unread := decode(src)
	wrong := append(compile(rule, src), lint(rule, src, known)...)
	problems := inOrder(unread, wrong)
	if slices.ContainsFunc(problems, isMistake) {
		return nil, src, problems
	}
	return rule, src, problems
}

func readYAML(file string, text []byte) (*source, *Problem) {
	src := &source{file: file}
	if len(text) > maxRuleFile {
		return src, src.problem(nil, "larger than %d bytes", maxRuleFile)
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return src, src.yamlProblem(err)
	}
	if len(parsed.Docs) != 1 || parsed.Docs[0].Body == nil {
		return src, src.problem(nil, "expected one YAML document, not %d", len(parsed.Docs))
	}
	src.root = parsed.Docs[0].Body
	return src, nil
}

// inOrder joins what could not be read and what else is wrong, by place. What is
// missing because it could not be read is no second mistake.
func inOrder(unread, wrong []error) []error {
	place := func(err error) [2]int {
		p, _ := errors.AsType[*Problem](err)
		return [2]int{p.Line, p.Column}
	}
	all := slices.Clone(unread)
	for _, err := range wrong {
		if !slices.ContainsFunc(unread, func(u error) bool { return place(u) == place(err) }) {
			all = append(all, err)
		}
	}
	slices.SortStableFunc(all, func(a, b error) int {
		x, y := place(a), place(b)
		return slices.Compare(x[:], y[:])
	})
	return all
}

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

// problem is one at a place given as keys and indices: {"edges", 2, "to"}.
func (s *source) problem(at []any, format string, args ...any) *Problem {
	if s.root == nil {
		return &Problem{File: s.file, Reason: fmt.Sprintf(format, args...)}
	}
	return s.at(locate(s.root, at), format, args...)
}

// at is a problem at a node.
func (s *source) at(node ast.Node, format string, args ...any) *Problem {
	p := &Problem{File: s.file, Reason: fmt.Sprintf(format, args...)}
	if node = locate(node, nil); node != nil && node.GetToken() != nil {
		p.Line, p.Column = node.GetToken().Position.Line, node.GetToken().Position.Column
	}
	return p
}

// locate returns the node at a path, or as far as the path leads. A mapping is
// its first key: the token of a block mapping is the colon behind it.
func locate(node ast.Node, at []any) ast.Node {
	if len(at) > 0 {
		switch key := at[0].(type) {
		case string:
			for _, entry := range entries(node) {
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
	if all := entries(node); len(all) > 0 {
		return all[0].Key
	}
	return node
}

func entries(node ast.Node) []*ast.MappingValueNode {
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

// didYouMean proposes the nearest of the known words, when one is near: "; did you mean %q?".
func didYouMean(word string, known []string) string { return suggestion(nearestWord(word, known)) }

func suggestion(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", word)
}

// nearestWord is the known word with the fewest edits, up to two; empty when none is that near.
func nearestWord(word string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := edits(word, k); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	return best
}

// edits counts the letters to add, drop, change or swap with their neighbour to turn a into b.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var rows [3][]int // two before, before, this
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[2] {
		rows[2][j] = j
	}
	for i := range len(a) {
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
		rows[2][0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			rows[2][j+1] = min(rows[1][j+1]+1, rows[2][j]+1, rows[1][j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				rows[2][j+1] = min(rows[2][j+1], rows[0][j-1]+1)
			}
		}
	}
	return rows[2][len(b)]
}

package rules

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

//go:embed all:catalog
var builtin embed.FS

// Catalog is a checked set of rules.
type Catalog struct {
	Rules []Rule // by id
}

// Builtin is the catalogue that ships with plegdiag. A test holds that it loads.
func Builtin() (*Catalog, error) { return Load(BuiltinFiles()) }

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
		text, err := fs.ReadFile(f.FS, name)
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

// Load reads the rules of all trees into one catalogue. When anything is wrong
// it returns none and all problems joined, each as a [*Problem].
func Load(trees ...Files) (*Catalog, error) {
	l := loader{files: map[string]*source{}}
	for _, tree := range trees {
		if err := tree.each(l.add); err != nil {
			return nil, err
		}
	}
	catalog := &l.catalog
	slices.SortFunc(catalog.Rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	if len(l.errs) == 0 { // else a rule that could not be read would seem unknown
		for i := range catalog.Rules {
			l.errs = append(l.errs, catalog.checkDeeper(&catalog.Rules[i], l.files[catalog.Rules[i].ID])...)
		}
	}
	if len(l.errs) > 0 {
		return nil, errors.Join(l.errs...)
	}
	return catalog, nil
}

// loader gathers rules and what is wrong with them.
type loader struct {
	catalog Catalog
	files   map[string]*source // by id
	errs    []error
}

func (l *loader) add(name string, text []byte) {
	rule, src, problems := parse(name, text)
	l.errs = append(l.errs, problems...)
	if rule == nil {
		return
	}
	if other := l.files[rule.ID]; other != nil {
		l.errs = append(l.errs, src.problem([]any{"id"}, "id %q is taken by %s", rule.ID, other.file))
		return
	}
	l.files[rule.ID] = src
	l.catalog.Rules = append(l.catalog.Rules, *rule)
}

// Problem is what is wrong with a rule file, and where.
type Problem struct {
	File         string
	Line, Column int // 1-based; 0 for the file as a whole
	Reason       string
}

// Error is "file:line:col: reason".
func (p *Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Reason)
}

// source is a parsed rule file, kept while it is checked so that problems can say where they are.
type source struct {
	file string
	root ast.Node
}

// parse reads one rule. It returns the problems found so far; the rule is nil when it has any.
func parse(file string, text []byte) (*Rule, *source, []error) {
	src := &source{file: file}
	if len(text) > maxRuleFile {
		return nil, src, []error{src.problem(nil, "larger than %d bytes", maxRuleFile)}
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, src, []error{src.yamlProblem(err)}
	}
	if len(parsed.Docs) != 1 || parsed.Docs[0].Body == nil {
		return nil, src, []error{src.problem(nil, "expected one YAML document, not %d", len(parsed.Docs))}
	}
	src.root = parsed.Docs[0].Body
	if problems := src.checkKeys(src.root, reflect.TypeFor[Rule]()); len(problems) > 0 {
		return nil, src, problems
	}
	rule := new(Rule)
	if err := yaml.NodeToValue(src.root, rule); err != nil {
		return nil, src, []error{src.yamlProblem(err)}
	}
	if problems := compile(rule, src); len(problems) > 0 {
		return nil, src, problems
	}
	return rule, src, nil
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
	p := &Problem{File: s.file, Reason: fmt.Sprintf(format, args...)}
	if node := locate(s.root, at); node != nil && node.GetToken() != nil {
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

// checkKeys reports every key that the type has no field for, and every YAML
// feature beyond plain mappings, lists and scalars: a rule is read by people.
func (s *source) checkKeys(node ast.Node, t reflect.Type) []error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var errs []error
	switch node := node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		var fields map[string]reflect.Type
		if t.Kind() == reflect.Struct {
			fields = keysOf(t)
		}
		for _, entry := range entries(node) {
			key := keyName(entry)
			value, ok := fields[key]
			if fields != nil && !ok {
				errs = append(errs, s.at(entry.Key, "unknown field %q%s", key, didYouMean(key, sortedKeys(fields))))
				continue
			}
			if !ok {
				value = t
			}
			errs = append(errs, s.checkKeys(entry.Value, value)...)
		}
	case *ast.SequenceNode:
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		for _, value := range node.Values {
			errs = append(errs, s.checkKeys(value, t)...)
		}
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		errs = append(errs, s.at(node, "anchors, aliases, merges and tags have no place in a rule"))
	}
	return errs
}

func (s *source) at(node ast.Node, format string, args ...any) *Problem {
	p := &Problem{File: s.file, Reason: fmt.Sprintf(format, args...)}
	if node != nil && node.GetToken() != nil {
		p.Line, p.Column = node.GetToken().Position.Line, node.GetToken().Position.Column
	}
	return p
}

// keysOf is the YAML keys of a struct, as the library derives them, and the types behind them.
func keysOf(t reflect.Type) map[string]reflect.Type {
	keys := map[string]reflect.Type{}
	for field := range t.Fields() {
		tag := field.Tag.Get("yaml")
		switch {
		case !field.IsExported():
		case tag == ",inline":
			maps.Copy(keys, keysOf(field.Type))
		case tag != "":
			keys[tag] = field.Type
		default:
			keys[strings.ToLower(field.Name)] = field.Type
		}
	}
	return keys
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// didYouMean proposes the nearest of the known words, when one is near: "; did you mean %q?".
func didYouMean(word string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := edits(word, k); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
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

package rules

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// decoder fills a [Rule] from the nodes of its file. It reads plain mappings,
// lists and scalars and no other feature of YAML: a rule is read by people. It
// goes on after a mistake, so that all of a file's are told at once.
type decoder struct {
	src   *source
	wrong Problems
	keys  map[reflect.Type]map[string][]int // of the structs met so far
}

func newDecoder(src *source) *decoder {
	return &decoder{src: src, keys: map[reflect.Type]map[string][]int{}}
}

// decodeRule reads a rule, and says what of it cannot be read.
func decodeRule(src *source) (*Rule, Problems) {
	rule, d := new(Rule), newDecoder(src)
	d.decodeInto(rule)
	return rule, d.wrong
}

// decodeInto reads the whole file into what a pointer leads to.
func (d *decoder) decodeInto(into any) {
	d.decodeNode(d.src.root, reflect.ValueOf(into).Elem())
}

// DecodeYAML reads a file in the manner of rule files into a pointer to a struct: strictly, and in
// plain YAML. It returns all that cannot be read, as [Problems]. A struct behind a
// pointer with the method SetText also takes a text alone.
func DecodeYAML(file string, text []byte, into any) error {
	src, problem := readYAML(file, text)
	if problem != nil {
		return problem
	}
	d := newDecoder(src)
	d.decodeInto(into)
	if len(d.wrong) > 0 {
		return d.wrong
	}
	return nil
}

func (d *decoder) errorf(node ast.Node, format string, args ...any) {
	d.wrong = append(d.wrong, d.src.problemAt(node, format, args...))
}

// decodeNode reads a node into v. A null leaves it zero, as if the key were not there.
func (d *decoder) decodeNode(node ast.Node, v reflect.Value) {
	switch node := node.(type) {
	case *ast.NullNode, nil:
		return
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		d.errorf(node, "anchors, aliases, merges and tags have no place in a rule")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decodeNode(node, v.Elem())
	case reflect.Struct:
		if short, ok := reflect.TypeAssert[interface{ SetText(text string) }](v.Addr()); ok && !isMapping(node) {
			var text string
			d.decodeScalar(node, reflect.ValueOf(&text).Elem())
			short.SetText(text)
			return
		}
		d.decodeStruct(node, v)
	case reflect.Map:
		d.decodeMap(node, v)
	case reflect.Slice:
		d.decodeList(node, v)
	case reflect.Interface:
		if plain := d.decodePlain(node); plain != nil {
			v.Set(reflect.ValueOf(plain))
		}
	default:
		d.decodeScalar(node, v)
	}
}

// decodeStruct reads a mapping into a struct. A key that is nearly that of a field is told and read
// as that.
func (d *decoder) decodeStruct(node ast.Node, v reflect.Value) {
	all := listEntries(node)
	if all == nil && !isMapping(node) {
		d.errorf(node, "expected a mapping with keys such as %q, not %s", sortedKeys(d.findKeys(v.Type()))[0], nodeName(node))
		return
	}
	keys, names := d.findKeys(v.Type()), map[string]bool{}
	for _, entry := range all {
		names[keyName(entry)] = true
	}
	for _, entry := range all {
		key := keyName(entry)
		field, ok := keys[key]
		if !ok {
			near := nearestWord(key, sortedKeys(keys))
			d.errorf(entry.Key, "unknown field %q%s", key, suggest(near))
			if near == "" || names[near] {
				continue
			}
			field = keys[near]
			entry.Key.GetToken().Value = near // what is said of it later finds its place
		}
		d.decodeNode(entry.Value, v.FieldByIndex(field))
	}
}

func (d *decoder) decodeMap(node ast.Node, v reflect.Value) {
	if !isMapping(node) {
		d.errorf(node, "expected a mapping, not %s", nodeName(node))
		return
	}
	m := reflect.MakeMap(v.Type())
	for _, entry := range listEntries(node) {
		value := reflect.New(v.Type().Elem()).Elem()
		d.decodeNode(entry.Value, value)
		m.SetMapIndex(reflect.ValueOf(keyName(entry)), value)
	}
	v.Set(m)
}

func (d *decoder) decodeList(node ast.Node, v reflect.Value) {
	list, ok := node.(*ast.SequenceNode)
	if !ok && v.Type() == reflect.TypeFor[StepIDs]() { // one id needs no brackets
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		d.decodeNode(node, v.Index(0))
		return
	}
	if !ok {
		d.errorf(node, "expected a list, not %s", nodeName(node))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
	for i, item := range list.Values {
		d.decodeNode(item, v.Index(i))
	}
}

// decodePlain is the value of a condition: a scalar, or a list of scalars.
func (d *decoder) decodePlain(node ast.Node) any {
	if list, ok := node.(*ast.SequenceNode); ok {
		all := make([]any, 0, len(list.Values))
		for _, item := range list.Values {
			all = append(all, d.decodePlain(item))
		}
		return all
	}
	switch node := node.(type) {
	case *ast.LiteralNode:
		return node.Value.Value
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.(ast.ScalarNode).GetValue()
	}
	d.errorf(node, "expected one value or a list of values, not %s", nodeName(node))
	return nil
}

func (d *decoder) decodeScalar(node ast.Node, v reflect.Value) {
	var value any
	switch node := node.(type) {
	case *ast.LiteralNode:
		value = node.Value.Value
	case ast.ScalarNode:
		value = node.GetValue()
	}
	number := fmt.Sprint(value)
	switch v.Kind() {
	case reflect.String:
		switch value := value.(type) {
		case string:
			v.SetString(value)
			return
		case bool, int64, uint64, float64:
			v.SetString(node.GetToken().Value) // as it is written: 1.10 is no 1.1
			return
		}
		hint := ""
		if isMapping(node) {
			hint = "; a text with a colon needs quotes"
		}
		d.errorf(node, "expected text, not %s%s", nodeName(node), hint)
	case reflect.Bool:
		if truth, ok := value.(bool); ok {
			v.SetBool(truth)
			return
		}
		d.errorf(node, "expected true or false, not %s", nodeName(node))
	case reflect.Int:
		var n int64
		if _, err := fmt.Sscanf(number, "%d", &n); err == nil && fmt.Sprint(n) == number {
			v.SetInt(n)
			return
		}
		d.errorf(node, "expected a whole number, not %s", nodeName(node))
	}
}

func isMapping(node ast.Node) bool {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// nodeName says what a reader sees where something else was expected.
func nodeName(node ast.Node) string {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", node.GetToken().Value)
}

// findKeys is [yamlKeys], found out once.
func (d *decoder) findKeys(t reflect.Type) map[string][]int {
	keys, known := d.keys[t]
	if !known {
		keys = listYAMLKeys(t)
		d.keys[t] = keys
	}
	return keys
}

// listYAMLKeys is the YAML keys of a struct and the fields behind them.
func listYAMLKeys(t reflect.Type) map[string][]int {
	keys := map[string][]int{}
	for _, field := range reflect.VisibleFields(t) {
		if name, ok := yamlKey(field); ok {
			keys[name] = field.Index
		}
	}
	return keys
}

// yamlKey is the key of a field: the name in its tag, else its own in lower case. An embedded
// struct has none, its fields stand in their own names.
func yamlKey(field reflect.StructField) (string, bool) {
	name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	if !field.IsExported() || options == "inline" {
		return "", false
	}
	return cmp.Or(name, strings.ToLower(field.Name)), true
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

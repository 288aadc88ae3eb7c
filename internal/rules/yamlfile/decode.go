package yamlfile

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/plegdiag/plegdiag/internal/rules/spelling"
)

// decoder fills a struct from the nodes of a file. It reads plain mappings,
// lists and scalars and no other feature of YAML: a rule is read by people. It
// goes on after a mistake, so that all of a file's are told at once.
type decoder struct {
	src   *Source
	wrong Problems
	keys  Keys
}

// Keys are the keys of the structs met so far, with the fields behind them. Whoever decodes several
// files keeps them from one to the next.
type Keys map[reflect.Type]map[string][]int

// Decode reads a file in the manner of rule files into a pointer to a struct: strictly, and in
// plain YAML. It returns all that cannot be read, as [Problems].
func Decode(file string, text []byte, into any) error {
	src, problem := Read(file, text)
	if problem != nil {
		return problem
	}
	if wrong := src.Decode(into, Keys{}); len(wrong) > 0 {
		return wrong
	}
	return nil
}

// Decode reads the whole file into the struct that a pointer leads to, and returns what of it
// cannot be read. The keys are those of the files before it. A struct or a list with the method
// SetText also takes a text alone, and a field with the tag yaml:"-" nothing.
func (s *Source) Decode(into any, keys Keys) Problems {
	d := &decoder{src: s, keys: keys}
	d.decodeNode(s.root, reflect.ValueOf(into).Elem())
	return d.wrong
}

func (d *decoder) errorf(node *yaml.Node, format string, args ...any) {
	d.wrong = append(d.wrong, d.src.problemAt(node, format, args...))
}

// decodeNode reads a node into v. A null leaves it zero, as if the key were not there.
func (d *decoder) decodeNode(node *yaml.Node, v reflect.Value) {
	switch {
	case isNull(node):
		return
	case node.Kind == yaml.AliasNode, node.Anchor != "", node.Style&yaml.TaggedStyle != 0:
		d.errorf(node, "anchors, aliases, merges and tags have no place in a rule")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decodeNode(node, v.Elem())
	case reflect.Struct:
		if isMapping(node) || !d.decodeText(node, v) {
			d.decodeStruct(node, v)
		}
	case reflect.Map:
		d.decodeMap(node, v)
	case reflect.Slice:
		if node.Kind == yaml.SequenceNode || !d.decodeText(node, v) {
			d.decodeList(node, v)
		}
	case reflect.Interface:
		if plain := d.decodePlain(node); plain != nil {
			v.Set(reflect.ValueOf(plain))
		}
	default:
		d.decodeScalar(node, v)
	}
}

// decodeText reads a node into what may also be written as a text alone. It returns false for what
// may not.
func (d *decoder) decodeText(node *yaml.Node, v reflect.Value) bool {
	short, ok := reflect.TypeAssert[interface{ SetText(text string) }](v.Addr())
	if ok {
		var text string
		d.decodeScalar(node, reflect.ValueOf(&text).Elem())
		short.SetText(text)
	}
	return ok
}

// decodeStruct reads a mapping into a struct. A key that is nearly that of a field is told and read
// as that.
func (d *decoder) decodeStruct(node *yaml.Node, v reflect.Value) {
	if !isMapping(node) {
		keys := slices.Sorted(maps.Keys(d.keys.findKeys(v.Type())))
		d.errorf(node, "expected a mapping with keys such as %q, not %s", keys[0], nodeName(node))
		return
	}
	keys, names := d.keys.findKeys(v.Type()), map[string]bool{}
	for key := range listEntries(node) {
		names[key.Value] = true
	}
	for at, value := range listEntries(node) {
		key := at.Value
		field, ok := keys[key]
		if !ok {
			near := spelling.NearestWord(key, slices.Sorted(maps.Keys(keys)))
			d.errorf(at, "unknown field %q%s", key, spelling.FormatHint(near))
			if near == "" || names[near] {
				continue
			}
			field = keys[near]
			at.Value = near // what is said of it later finds its place
		}
		d.decodeNode(value, v.FieldByIndex(field))
	}
}

func (d *decoder) decodeMap(node *yaml.Node, v reflect.Value) {
	if !isMapping(node) {
		d.errorf(node, "expected a mapping, not %s", nodeName(node))
		return
	}
	m := reflect.MakeMap(v.Type())
	for key, node := range listEntries(node) {
		value := reflect.New(v.Type().Elem()).Elem()
		d.decodeNode(node, value)
		m.SetMapIndex(reflect.ValueOf(key.Value), value)
	}
	v.Set(m)
}

func (d *decoder) decodeList(node *yaml.Node, v reflect.Value) {
	if node.Kind != yaml.SequenceNode {
		d.errorf(node, "expected a list, not %s", nodeName(node))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content)))
	for i, item := range node.Content {
		d.decodeNode(item, v.Index(i))
	}
}

// decodePlain is the value of a condition: a scalar, or a list of scalars.
func (d *decoder) decodePlain(node *yaml.Node) any {
	if node.Kind == yaml.SequenceNode {
		all := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			all = append(all, d.decodePlain(item))
		}
		return all
	}
	if node.Kind != yaml.ScalarNode || isNull(node) {
		d.errorf(node, "expected one value or a list of values, not %s", nodeName(node))
		return nil
	}
	switch node.ShortTag() {
	case "!!bool":
		return readScalar[bool](node)
	case "!!int":
		return readScalar[int64](node)
	case "!!float":
		return readScalar[float64](node)
	}
	return node.Value
}

// readScalar reads a scalar whose tag says that it is a T. What is too large for one stays text.
func readScalar[T any](node *yaml.Node) any {
	var value T
	if err := node.Decode(&value); err != nil {
		return node.Value
	}
	return value
}

func (d *decoder) decodeScalar(node *yaml.Node, v reflect.Value) {
	expect := func(what string) { d.errorf(node, "expected %s, not %s", what, nodeName(node)) }
	switch v.Kind() {
	case reflect.String:
		switch {
		case node.Kind == yaml.ScalarNode:
			v.SetString(node.Value) // as it is written: 1.10 is no 1.1
		case isMapping(node):
			d.errorf(node, "expected text, not a mapping; a text with a colon needs quotes")
		default:
			expect("text")
		}
	case reflect.Bool:
		if node.ShortTag() != "!!bool" {
			expect("true or false")
			return
		}
		v.SetBool(readScalar[bool](node) == true)
	case reflect.Int:
		n, err := strconv.ParseInt(node.Value, 10, 64)
		if err != nil || node.ShortTag() != "!!int" {
			expect("a whole number")
			return
		}
		v.SetInt(n)
	}
}

func isMapping(node *yaml.Node) bool { return node.Kind == yaml.MappingNode }

// isNull says that nothing stands behind a key.
func isNull(node *yaml.Node) bool {
	return node == nil || node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// nodeName says what a reader sees where something else was expected.
func nodeName(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(node.Value)
}

// findKeys is [ListKeys], found out once for each struct.
func (all Keys) findKeys(t reflect.Type) map[string][]int {
	keys, known := all[t]
	if !known {
		keys = ListKeys(t)
		all[t] = keys
	}
	return keys
}

// ListKeys is the YAML keys of a struct and the fields behind them.
func ListKeys(t reflect.Type) map[string][]int {
	keys := map[string][]int{}
	for _, field := range reflect.VisibleFields(t) {
		if name, ok := FindKey(field); ok {
			keys[name] = field.Index
		}
	}
	return keys
}

// FindKey is the key of a field: the name in its tag, else its own in lower case. An embedded
// struct has none, its fields stand in their own names, nor has a field with the tag "-", which no
// file can set.
func FindKey(field reflect.StructField) (string, bool) {
	name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	if !field.IsExported() || options == "inline" || name == "-" {
		return "", false
	}
	return cmp.Or(name, strings.ToLower(field.Name)), true
}

package show

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
)

// EncodeJSON writes a document of JSON, in ASCII where a terminal would obey or hide a character.
// It holds no more of the text than one member, or one element of a list: the account of a bundle
// with 200 000 files is 80 MB.
func EncodeJSON(w io.Writer, document any) error {
	e := &encoder{out: bufio.NewWriterSize(w, 64<<10)}
	e.encodeDocument(reflect.ValueOf(document))
	e.writeText("\n")
	if e.err != nil {
		return e.err
	}
	return e.out.Flush()
}

// indent is that of each level.
const indent = "  "

// encoder writes a document piece by piece. Behind an error it writes nothing.
type encoder struct {
	out  *bufio.Writer
	text bytes.Buffer     // of one piece
	deep [3]*json.Encoder // into text, by how far its lines are indented
	err  error
}

func (e *encoder) writeText(text string) {
	if e.err == nil {
		_, e.err = e.out.WriteString(text)
	}
}

// encodeDocument writes an object member by member, and anything else at once.
func (e *encoder) encodeDocument(v reflect.Value) {
	members, ok := listMembers(v)
	if !ok || len(members) == 0 {
		e.encodeValue(v, 0)
		return
	}
	separator := "{\n"
	for _, m := range members {
		e.writeText(separator + indent + `"` + m.name + `": `)
		e.encodeList(m.value)
		separator = ",\n"
	}
	e.writeText("\n}")
}

// encodeList writes a member of the document, a list of objects element by element.
func (e *encoder) encodeList(v reflect.Value) {
	if v.Kind() != reflect.Slice || v.Len() == 0 || v.Type().Elem().Kind() != reflect.Struct {
		e.encodeValue(v, 1)
		return
	}
	separator := "[\n"
	for i := range v.Len() {
		e.writeText(separator + indent + indent)
		e.encodeValue(v.Index(i).Addr(), 2)
		separator = ",\n"
	}
	e.writeText("\n" + indent + "]")
}

// encodeValue writes a value at once.
func (e *encoder) encodeValue(v reflect.Value, depth int) {
	if e.err != nil {
		return
	}
	enc := e.deep[depth]
	if enc == nil {
		enc = json.NewEncoder(&e.text)
		enc.SetEscapeHTML(false)
		enc.SetIndent(strings.Repeat(indent, depth), indent)
		e.deep[depth] = enc
	}
	e.text.Reset()
	if e.err = enc.Encode(v.Interface()); e.err == nil {
		_, e.err = e.out.Write(ASCII(bytes.TrimSuffix(e.text.Bytes(), []byte{'\n'})))
	}
}

// member is a member of an object.
type member struct {
	name  string
	value reflect.Value
}

// listMembers are the members that encoding/json writes of a struct. Ok is false for a value that
// is none, or that says otherwise than by its tags what it is.
func listMembers(v reflect.Value) (all []member, ok bool) {
	if v.Kind() != reflect.Struct || v.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil, false
	}
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && options == "":
			inner, ok := listMembers(value)
			if !ok {
				return nil, false
			}
			all = append(all, inner...)
		case name == "" || name == "-" || options != "" && options != "omitempty":
			return nil, false
		case options == "" || !isEmpty(value):
			all = append(all, member{name, value})
		}
	}
	return all, true
}

// isEmpty says that a value is left out where its tag says omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// Package pack writes plain Go values as bytes that are read back in a hundredth of the time that
// their YAML takes. Like YAML it keeps exported fields alone, without those with the tag yaml:"-".
// It is for data that is built into the program: what it reads has been written by the same version
// of itself.
package pack

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// writeText is a struct that may also be written as a text alone.
type text interface {
	SetText(text string)
	// TextAlone returns the text, and whether it is all that was written.
	TextAlone() (string, bool)
}

// Write is the bytes of what a pointer leads to: structs, pointers, lists, maps with text as keys,
// text, truth values, int and float64; behind an any also int64. The same value gives the same
// bytes. It fails on any other type.
func Write(from any) ([]byte, error) {
	w := writer{}
	w.write(reflect.ValueOf(from).Elem())
	return w.out, w.err
}

type writer struct {
	out []byte
	err error
}

func (w *writer) writeCount(n int) { w.out = binary.AppendUvarint(w.out, uint64(n)) }

// writeLength writes how long a list or a map is, and 0 for one that is nil: an empty one is
// another answer in JSON.
func (w *writer) writeLength(v reflect.Value) {
	if v.IsNil() {
		w.writeCount(0)
	} else {
		w.writeCount(v.Len() + 1)
	}
}

func (w *writer) writeText(s string) {
	w.writeCount(len(s))
	w.out = append(w.out, s...)
}

func (w *writer) write(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		w.writeText(v.String())
	case reflect.Bool:
		w.writeBool(v.Bool())
	case reflect.Int, reflect.Int64:
		w.out = binary.AppendVarint(w.out, v.Int())
	case reflect.Float64:
		w.out = binary.BigEndian.AppendUint64(w.out, math.Float64bits(v.Float()))
	case reflect.Pointer:
		w.writeBool(!v.IsNil())
		if !v.IsNil() {
			w.write(v.Elem())
		}
	case reflect.Struct:
		w.writeStruct(v)
	case reflect.Slice:
		w.writeLength(v)
		for i := range v.Len() {
			w.write(v.Index(i))
		}
	case reflect.Map:
		w.writeLength(v)
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			w.writeText(key.String())
			w.write(v.MapIndex(key))
		}
	case reflect.Interface:
		w.writeAny(v.Elem())
	default:
		w.err = errors.Join(w.err, fmt.Errorf("pack: no way to write a %s", v.Type()))
	}
}

func (w *writer) writeBool(b bool) {
	if b {
		w.out = append(w.out, 1)
	} else {
		w.out = append(w.out, 0)
	}
}

func (w *writer) writeStruct(v reflect.Value) {
	if short, ok := reflect.TypeAssert[text](v.Addr()); ok {
		alone, is := short.TextAlone()
		w.writeBool(is)
		if is {
			w.writeText(alone)
			return
		}
	}
	for i := range v.NumField() {
		if isWritten(v.Type().Field(i)) {
			w.write(v.Field(i))
		}
	}
}

// isWritten says whether a field is one of those that YAML keeps.
func isWritten(field reflect.StructField) bool {
	return field.IsExported() && field.Tag.Get("yaml") != "-"
}

// plain are the types that may stand behind an any, by the number that says which.
var plain = []reflect.Type{
	1: reflect.TypeFor[string](),
	2: reflect.TypeFor[bool](),
	3: reflect.TypeFor[int64](),
	4: reflect.TypeFor[float64](),
	5: reflect.TypeFor[[]any](),
}

// writeAny writes what stands behind an any, after the number of its type; 0 is for nothing.
func (w *writer) writeAny(v reflect.Value) {
	if !v.IsValid() {
		w.writeCount(0)
		return
	}
	number := slices.Index(plain, v.Type())
	if number < 0 {
		w.err = errors.Join(w.err, fmt.Errorf("pack: no way to write a %s behind an any", v.Type()))
		return
	}
	w.writeCount(number)
	w.write(v)
}

// Read fills what a pointer leads to with what [Write] wrote of the same type. Texts are parts of
// the one that is read, not copies. It fails on bytes that nobody wrote.
func Read(packed string, into any) error {
	r := reader{rest: packed}
	r.read(reflect.ValueOf(into).Elem())
	if r.broken || r.rest != "" {
		return errors.New("pack: not what was written for this type")
	}
	return nil
}

type reader struct {
	rest   string
	fields map[reflect.Type][]int // of each struct that was met: those that are exported
	broken bool
}

// take cuts n bytes off; where they are missing it is broken, and all that follows is empty.
func (r *reader) take(n int) string {
	if n < 0 || n > len(r.rest) {
		r.broken, r.rest = true, ""
		return ""
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) readByte() byte {
	if b := r.take(1); b != "" {
		return b[0]
	}
	return 0
}

func (r *reader) readUvarint() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := r.readByte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.broken = true
	return 0
}

// readCount is a number of bytes or things that follow, of which each takes a byte at least.
func (r *reader) readCount() int { return r.boundCount(r.readUvarint()) }

func (r *reader) boundCount(n uint64) int {
	if n > uint64(len(r.rest)) {
		r.broken, r.rest = true, ""
		return 0
	}
	return int(n)
}

// readLength is how long a list or a map is; false for one that is nil.
func (r *reader) readLength() (int, bool) {
	n := r.readUvarint()
	if n == 0 {
		return 0, false
	}
	return r.boundCount(n - 1), true
}

func (r *reader) read(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(r.take(r.readCount()))
	case reflect.Bool:
		v.SetBool(r.readByte() != 0)
	case reflect.Int, reflect.Int64:
		n := r.readUvarint()
		v.SetInt(int64(n>>1) ^ -int64(n&1)) // as binary.Varint
	case reflect.Float64:
		if bits := r.take(8); bits != "" {
			v.SetFloat(math.Float64frombits(binary.BigEndian.Uint64([]byte(bits))))
		}
	case reflect.Pointer:
		if r.readByte() != 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.read(v.Elem())
		}
	case reflect.Struct:
		r.readStruct(v)
	case reflect.Slice:
		if n, ok := r.readLength(); ok {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				r.read(v.Index(i))
			}
		}
	case reflect.Map:
		r.readMap(v)
	case reflect.Interface:
		r.readAny(v)
	default:
		r.broken = true
	}
}

func (r *reader) readStruct(v reflect.Value) {
	if short, ok := reflect.TypeAssert[text](v.Addr()); ok && r.readByte() != 0 {
		short.SetText(r.take(r.readCount()))
		return
	}
	for _, i := range r.listFields(v.Type()) {
		r.read(v.Field(i))
	}
}

func (r *reader) listFields(t reflect.Type) []int {
	fields, known := r.fields[t]
	if !known {
		for i := range t.NumField() {
			if isWritten(t.Field(i)) {
				fields = append(fields, i)
			}
		}
		if r.fields == nil {
			r.fields = map[reflect.Type][]int{}
		}
		r.fields[t] = fields
	}
	return fields
}

func (r *reader) readMap(v reflect.Value) {
	n, ok := r.readLength()
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), n))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		r.read(key)
		r.read(value)
		v.SetMapIndex(key, value)
	}
}

func (r *reader) readAny(v reflect.Value) {
	number := r.readCount()
	if number == 0 {
		return
	}
	if number >= len(plain) {
		r.broken = true
		return
	}
	value := reflect.New(plain[number]).Elem()
	r.read(value)
	v.Set(value)
}

package journal

import (
	"fmt"
	"iter"
	"time"
)

// Entry is one entry of a journal's file.
type Entry struct {
	Time      time.Time
	Monotonic uint64   // microseconds
	Boot      string   // 32 hexadecimal digits
	Fields    [][]byte // "NAME=value", as stored; they are valid until the next entry
}

// Entries are the entries of a journal's file from a moment on, in the order in which they were
// written, without those of which nothing can be read. Passed is called now and then with how many
// bytes were read, so that a caller who mapped the file can release them. An error is the last
// pair.
func Entries(file []byte, since time.Time, passed func(n uint64)) iter.Seq2[Entry, error] {
	const stride = 4 << 20
	return func(yield func(Entry, error) bool) {
		f, err := Open(file)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		var e Entry
		told := uint64(0)
		for o := range f.Objects() {
			if o.At-told > stride {
				told = o.At
				passed(o.At)
			}
			switch {
			case o.Broken():
				yield(Entry{}, fmt.Errorf("the journal breaks off at byte %d", o.At))
				return
			case !o.Whole() || o.Time().Before(since):
			case e.take(f, o) && !yield(e, nil):
				return
			}
		}
	}
}

// take takes an ENTRY object; false when nothing of it can be read.
func (e *Entry) take(f *File, o Object) bool {
	e.Time, e.Monotonic, e.Boot, e.Fields = o.Time(), o.Monotonic(), o.boot(), e.Fields[:0]
	for data, err := range f.Fields(o) {
		if err == nil {
			e.Fields = append(e.Fields, data)
		}
	}
	return len(e.Fields) > 0
}

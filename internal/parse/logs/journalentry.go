package logs

import (
	"encoding/binary"
	"fmt"
	"iter"
	"time"
)

// JournalEntry is one entry of a journal's file.
type JournalEntry struct {
	Time      time.Time
	Monotonic uint64   // microseconds
	Boot      string   // 32 hexadecimal digits
	Fields    [][]byte // "NAME=value", as stored; they are valid until the next entry
}

// JournalEntries are the entries of a journal's file from a moment on, in the order in which they
// were written. Passed is called now and then with how many bytes were read, so that a caller who
// mapped the file can release them. An error is the last pair.
func JournalEntries(file []byte, since time.Time, passed func(n uint64)) iter.Seq2[JournalEntry, error] {
	const stride = 4 << 20
	return func(yield func(JournalEntry, error) bool) {
		b := newJournalBytes(file)
		if err := b.readHeader(); err != nil {
			yield(JournalEntry{}, err)
			return
		}
		var e JournalEntry
		told := uint64(0)
		for at, object := range b.objects() {
			if at-told > stride {
				told = at
				passed(at)
			}
			switch {
			case object == nil:
				yield(JournalEntry{}, fmt.Errorf("the journal breaks off at byte %d", at))
				return
			case object[0] != objectEntry || len(object) < entryItemsAt || entryTime(object).Before(since):
			case b.readEntryObject(&e, object) && !yield(e, nil):
				return
			}
		}
	}
}

// entryBootAt is where an ENTRY object has the id of its boot.
const entryBootAt = 40

// readEntryObject takes an ENTRY object; false when nothing of it can be read.
func (b *journalBytes) readEntryObject(e *JournalEntry, object []byte) bool {
	e.Time = entryTime(object)
	e.Monotonic = binary.LittleEndian.Uint64(object[entryMonotonicAt:])
	e.Boot = fmt.Sprintf("%x", object[entryBootAt:entryBootAt+16])
	e.Fields = e.Fields[:0]
	for at := range b.fieldPlaces(object) {
		if data, err := b.dataAt(at); err == nil {
			e.Fields = append(e.Fields, data)
		}
	}
	return len(e.Fields) > 0
}

package logs

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/journal"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// maxJournal bounds a journal that is read. journald keeps its own files below 128 MiB unless it is
// configured otherwise.
const maxJournal = 1 << 30

// ReadJournalFile reads a journal as systemd-journald stores it (package journal).
//
// A record's line is the number of its entry in the file, from 1 on; journalctl -o export --file
// prints them in the same order.
func ReadJournalFile(in lines.Input) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		file, err := io.ReadAll(io.LimitReader(in.R, maxJournal+1))
		if len(file) > maxJournal {
			file, err = file[:maxJournal], fmt.Errorf("only the first %d bytes of a journal are read", maxJournal)
		}
		var j journalReader
		in.R = bytes.NewReader(nil)
		j.logReader = newLogReader(in, yield)
		if j.walkObjects(file) && j.closeAll() && err != nil {
			yield(event.Record{}, err)
		}
	}
}

type journalReader struct {
	exportReader
	file    *journal.File
	entries int
}

// SniffJournalFile knows a journal file by its first bytes.
func SniffJournalFile(head *lines.Head) float64 {
	if bytes.HasPrefix(head.Text, []byte(journal.Magic)) {
		return 1
	}
	return 0
}

// yieldLost names something of the file that could not be read. Entries is how many entries are
// lost with it.
func (j *journalReader) yieldLost(entries int, format string, args ...any) bool {
	j.lines.Stats.Lines += entries
	j.start += entries
	return j.yieldSkip(j.entries, entries, format, args...)
}

// walkObjects goes from entry to entry.
func (j *journalReader) walkObjects(file []byte) bool {
	var err error
	if j.file, err = journal.Open(file); err != nil {
		return j.yieldLost(0, "%v", err)
	}
	for o := range j.file.Objects() {
		if o.Broken() {
			return j.yieldLost(0, "the journal breaks off at byte %d, after %d entries", o.At, j.entries)
		}
		if !j.readEntry(o) {
			return false
		}
	}
	return true
}

// readEntry makes a record of an ENTRY object.
func (j *journalReader) readEntry(o journal.Object) bool {
	j.entries++
	j.lines.Line.N = j.entries
	if !o.Whole() {
		return j.yieldLost(1, "entry of %d bytes", o.Size())
	}
	j.h.carrier = event.Time{T: o.Time(), Prec: time.Microsecond, Known: true}
	if us := o.Monotonic(); us <= uint64(maxUptime.Microseconds()) {
		j.h.uptime = time.Duration(us) * time.Microsecond
	}
	var failed error
	for data, err := range j.file.Fields(o) {
		if err != nil {
			failed = err
			continue
		}
		j.keepData(data)
	}
	switch {
	case j.fields == 0 && failed == nil:
		return j.yieldLost(1, "an entry without fields")
	case j.fields == 0:
		return j.yieldLost(1, "%v", failed)
	case failed != nil && !j.yieldSkip(j.entries, 0, "%v", failed):
		return false
	}
	j.lines.Stats.Lines++
	if j.pos == 0 {
		j.keepMessage(nil, nil, j.entries)
	}
	return j.endEntry()
}

// keepData keeps a field: "NAME=value".
func (j *journalReader) keepData(data []byte) {
	key, value, _ := bytes.Cut(data, []byte{'='})
	j.fields++
	if string(key) != "MESSAGE" {
		j.keepField(key, value)
		return
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	j.keepMessage(value, line, j.entries)
}

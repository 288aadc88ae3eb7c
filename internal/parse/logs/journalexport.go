package logs

import (
	"bytes"
	"iter"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/journal"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadExport reads journalctl -o export (systemd's JOURNAL_EXPORT_FORMATS):
//
//	__REALTIME_TIMESTAMP=1795199112300980
//	SYSLOG_IDENTIFIER=containerd
//	MESSAGE=time="2026-11-20T18:25:12.300192142Z" level=info msg="…"
//
// with an empty line after each entry. A value that is not printable text is written
// as its name, a newline, its length in 8 bytes little-endian, its bytes and a
// newline. A record's place is where its MESSAGE stands; its Lines are those of the
// entry that are not blank, also inside a value.
func ReadExport(in lines.Input) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		x := exportReader{logReader: newLogReader(in, yield)}
		x.readFile(x.readField, x.endEntries)
	}
}

// SniffExport wants one of the fields that every entry has; shell variables look the same
// otherwise.
func SniffExport(head *lines.Head) float64 {
	if !head.MayHold("__REALTIME_TIMESTAMP=", "__CURSOR=") {
		return 0
	}
	return lines.Share(head, lines.Unindented(func(line []byte) lines.Sign {
		switch key, _, _ := bytes.Cut(line, []byte{'='}); {
		case string(key) == "__REALTIME_TIMESTAMP", string(key) == "__CURSOR":
			return lines.Proves
		default:
			return lines.SignIf(journal.IsFieldName(key), lines.Fits)
		}
	}))
}

// exportReader is the state within one export stream.
type exportReader struct {
	logReader
	h       header
	start   int // lines that were not blank before this entry
	fields  int // of this entry
	message []byte
	quote   []byte // the line that message stands in
	pos     int    // its number; 0 while MESSAGE was not seen
	unit    []byte
	comm    []byte
	host    []byte
}

// readField reads one field, or the empty line that ends an entry.
func (x *exportReader) readField(line lines.Line) bool {
	b := lines.TrimReturn(line.Bytes)
	if lines.IsBlank(b) && line.Cut == 0 {
		return x.endEntry()
	}
	if err := x.CutSkip(line); err != nil && !x.yield(event.Record{}, err) {
		return false
	}
	key, value, text := bytes.Cut(b, []byte{'='})
	if !journal.IsFieldName(key) {
		return x.loseLine(line.N, "no field of a journal export: %.40q", b)
	}
	isMessage := string(key) == "MESSAGE"
	switch {
	case text && isMessage:
		x.keepMessage(value, b, line.N)
	case text:
		x.keepField(key, value)
	default:
		value, first, err := x.lines.ReadBinary()
		if err != nil {
			return x.loseLine(line.N, "field without a value: %v", err)
		}
		if isMessage {
			physical, _, _ := bytes.Cut(value, []byte{'\n'})
			x.keepMessage(value, physical, first)
		}
	}
	x.fields++
	return true
}

// loseLine names a line of the entry that cannot be read, and takes it off the entry's account.
func (x *exportReader) loseLine(n int, format string, args ...any) bool {
	x.start++
	return x.yieldSkip(n, 1, format, args...)
}

func (x *exportReader) keepMessage(value, line []byte, n int) {
	if x.pos > 0 { // a field may be repeated
		x.message = append(append(x.message, '\n'), value...)
		return
	}
	x.message = append(x.message[:0], value...)
	x.quote = append(x.quote[:0], line[:min(len(line), event.MaxRaw)]...)
	x.pos = n
}

func (x *exportReader) keepField(key, value []byte) {
	switch string(key) {
	case "SYSLOG_IDENTIFIER":
		x.unit = append(x.unit[:0], value...)
		x.h.unit = x.unit
	case "_COMM":
		x.comm = append(x.comm[:0], value...)
	case "_HOSTNAME":
		x.host = append(x.host[:0], value...)
		x.h.host = x.host
	default:
		x.h.setNumber(key, value)
	}
}

// setNumber takes a field of an entry of the journal that is a number; false for any other field.
func (h *header) setNumber(name, value []byte) bool {
	switch string(name) {
	case "__REALTIME_TIMESTAMP":
		h.carried = true
		if us, n := lines.Digits(value); n > 0 {
			h.carrier = event.Time{T: time.UnixMicro(us).UTC(), Prec: time.Microsecond, Known: true}
		}
	case "__MONOTONIC_TIMESTAMP":
		h.uptime = readSinceBoot(value)
	case "_PID":
		pid, _ := lines.Digits(value)
		h.pid = int(pid)
	case "PRIORITY":
		h.level = priorityLevel(value)
	default:
		return false
	}
	return true
}

// endEntries gives out what the end of the file leaves open.
func (x *exportReader) endEntries() bool { return x.endEntry() && x.endFile() }

// endEntry makes a record of the entry that has been read, if there is one.
func (x *exportReader) endEntry() bool {
	used := x.lines.Stats.Lines - x.lines.Stats.Blank
	h, count, fields, n := x.h, used-x.start, x.fields, x.pos
	x.h, x.start, x.fields, x.pos = header{}, used, 0, 0
	if fields == 0 {
		return true
	}
	if n == 0 { // an entry without a message stands at its last line
		n = max(1, x.lines.Line.N-1)
		x.message, x.quote = x.message[:0], x.quote[:0]
	}
	if len(h.unit) == 0 {
		h.unit = x.comm
	}
	x.comm = x.comm[:0]
	h.carried = true
	if bytes.IndexByte(x.message, '\x1b') >= 0 {
		x.message = lines.WithoutColours(x.message[:0], x.message)
	}
	h.scanInner(x.message)
	if h.body == plain && len(x.message) > 0 && x.message[0] == '{' {
		x.nested.readNested(&h, x.message)
	}
	rec := x.newRecord(n, &h)
	rec.Lines = count
	if x.open != nil {
		if done, ok := x.extendHeld(&rec, &h, x.message); done {
			return ok
		}
	}
	if !x.Wants(x.message) {
		return x.yield(rec, nil)
	}
	rec.Raw = string(x.quote)
	return x.logReader.yieldMessage(rec, &h, string(x.message[h.msg:]))
}

package logs

import (
	"bytes"
	"iter"
	"strconv"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/journal"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// ReadVerbose reads journalctl -o verbose (systemd's logs-show.c, output_verbose):
//
//	Sat 2025-11-08 09:30:11.885000 CST [s=12a9…;i=25e;b=e04a…;m=446ad212;t=643053df6a388;x=f1d5…]
//	    _HOSTNAME=node-1
//	    SYSLOG_IDENTIFIER=kubelet
//	    MESSAGE=first line
//	            second line
//
// The cursor's t is the entry's time in microseconds since 1970. Values of more than 300 bytes, or
// that are not printable, are "[112B blob data]" unless -a was given. A record's place is where its
// MESSAGE stands.
func ReadVerbose(in lines.Input) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		v := verboseReader{exportReader: exportReader{logReader: newLogReader(in, yield)}}
		v.readFile(v.readVerboseLine, v.endEntries)
	}
}

// verboseReader is the state within one file.
type verboseReader struct {
	exportReader
	indent int // of the lines that go on with the message; 0 outside of it
}

// verboseIndent stands before every field.
const verboseIndent = "    "

func (v *verboseReader) readVerboseLine(line lines.Line) bool {
	b := lines.TrimReturn(line.Bytes)
	if err := v.CutSkip(line); err != nil && !v.yield(event.Record{}, err) {
		return false
	}
	if lines.IsBlank(b) && line.Cut == 0 {
		return true
	}
	t, isHeader := readVerboseHeader(b)
	switch {
	case isHeader:
		v.lines.Stats.Lines-- // the line belongs to the next entry
		more := v.endEntry()
		v.lines.Stats.Lines++
		v.h.carrier, v.fields, v.indent = t, 1, 0
		return more
	case isBanner(b):
		v.lines.Stats.Lines--
		more := v.endEntry()
		v.lines.Stats.Lines++
		v.start++
		return more && v.yield(event.Record{Pos: event.Pos{File: v.Path, Line: line.N}, Lines: 1}, nil)
	case v.indent > 0 && len(b) > v.indent && len(bytes.TrimLeft(b[:v.indent], " ")) == 0:
		v.message = append(append(v.message, '\n'), b[v.indent:]...)
		return true
	}
	field, ok := bytes.CutPrefix(b, []byte(verboseIndent))
	key, value, text := bytes.Cut(field, []byte{'='})
	if !ok || !text || !journal.IsFieldName(key) || v.fields == 0 {
		if v.fields > 0 && len(b) > 0 && b[0] == ' ' { // a field of several lines
			return true
		}
		return v.loseLine(line.N, "no field of a journal: %+q", b[:min(len(b), 40)])
	}
	v.fields++
	if v.indent = 0; string(key) == "MESSAGE" {
		v.indent = len(verboseIndent) + len(key) + 1
		v.keepMessage(value, b, line.N)
		return true
	}
	v.keepField(key, value)
	return true
}

// readVerboseHeader reads the first line of an entry.
func readVerboseHeader(b []byte) (t event.Time, ok bool) {
	day := wordLength(b[:min(len(b), 16)])
	if day == 0 || b[0] == ' ' || day+20 > len(b) {
		return t, false
	}
	face, n := stamp.ISO(b[day+1:])
	cursor := bytes.IndexByte(b, '[')
	if n == 0 || cursor < 0 || !bytes.HasPrefix(b[cursor:], []byte("[s=")) {
		return t, false
	}
	if at := bytes.Index(b[cursor:], []byte(";t=")); at > 0 {
		hex, _, _ := bytes.Cut(b[cursor+at+3:], []byte{';'})
		if us, err := strconv.ParseInt(string(hex), 16, 63); err == nil {
			return event.Time{T: time.UnixMicro(us).UTC(), Prec: time.Microsecond, Known: true}, true
		}
	}
	return face, true
}

// SniffVerbose wants an entry's first line; fields are indented and do not count.
func SniffVerbose(head *lines.Head) float64 {
	if !head.MayHold("[s=") {
		return 0
	}
	return lines.Share(head, lines.Unindented(func(line []byte) lines.Sign {
		if _, ok := readVerboseHeader(line); ok {
			return lines.Proves
		}
		return lines.SignIf(isBanner(line), lines.Fits)
	}))
}

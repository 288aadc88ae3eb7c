// Package snapshots reads files that say how something was at one moment: configurations, listings,
// small files of /proc and /sys, metrics, and what collect notes about its own work.
package snapshots

import (
	"bytes"
	"iter"
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// Datum is one datum of a snapshot, which says how something was at one moment: a setting of a
// configuration, a row of a listing, a value of a file in /proc, a sample of a metric.
//
// One without Path, Fields and Value is a line that holds no datum: a header, a comment, a bracket,
// or text in between (Text is set then).
type Datum struct {
	Pos event.Pos
	// Lines is how many input lines it accounts for. A document (JSON, YAML, TOML) is accounted for
	// by one of its own at its end; its data have 0.
	Lines int
	// Doc numbers the documents of a file from 0: YAML's "---", JSON values one after the other.
	Doc int
	// Path names the datum, outermost first; elements of lists are numbered from "0". It
	// is valid until the next step.
	Path []string
	// Value is a scalar as text, unquoted; "[]" and "{}" are an empty list and an empty table.
	Value string
	// Fields are the columns of a row by their header, or the labels of a metric.
	Fields []event.Pair
	// Text is a line that is no datum of the format; logs and command lines stand between the
	// pieces of a collecting script.
	Text string
	// Log is a line of a log in between, read as such; nil for everything else.
	Log *event.Record
	Raw string // the line as written, or the part of a long one that holds the datum
}

// Field returns the first column of that name.
func (e *Datum) Field(name string) (string, bool) {
	for i := range e.Fields {
		if e.Fields[i].Key == name {
			return e.Fields[i].Value, true
		}
	}
	return "", false
}

// Column is the value of the first of some columns that a row has; empty when it has none of them.
func (e *Datum) Column(names ...string) string {
	for _, name := range names {
		if v, ok := e.Field(name); ok {
			return v
		}
	}
	return ""
}

// Quote is the datum as evidence.
func (e *Datum) Quote() event.Quote { return event.Quote{Pos: e.Pos, Text: e.Raw} }

// maxDocument bounds a document that is held as a whole, in bytes.
const maxDocument = 64 << 20

// lineData reads a snapshot line by line. Row reads one line that is not blank; what it returns ok
// false for is kept as Text. A ticket holds logs and snapshots in one file: lines of logs become
// records.
func lineData(in lines.Input, row func(line []byte) (e Datum, ok bool)) iter.Seq2[Datum, error] {
	return func(yield func(Datum, error) bool) {
		log := newLogBetween(in.Path, yield)
		lines.ReadFilled(in, yield, func(b []byte, pos event.Pos) bool {
			if lines.IsNoise(b) {
				return yield(Datum{}, in.Skip(pos.Line, 1, "not text: %.40q", b))
			}
			if log.Wants(b) {
				return log.Read(lines.Line{N: pos.Line, Bytes: b})
			}
			raw := lines.Clip(b)
			e, ok := row(b)
			if !ok {
				e = Datum{Text: raw}
			}
			e.Pos, e.Lines, e.Raw = pos, 1, raw
			return yield(e, nil)
		}, log.End)
	}
}

// newLogBetween reads lines of a log between data, and passes their records on as such.
func newLogBetween(path string, yield func(Datum, error) bool) *logs.Interspersed {
	return logs.NewInterspersed(path, func(rec event.Record, err error) bool {
		if err != nil {
			return yield(Datum{}, err)
		}
		return yield(Datum{Pos: rec.Pos, Lines: rec.Lines, Raw: rec.Raw, Log: &rec}, nil)
	})
}

// document is a file held as a whole, and where its lines begin.
type document struct {
	lines.Input
	text   []byte
	starts []int // offsets of the lines
	lost   int   // lines behind maxDocument that are not blank
	err    error // why reading ended early
	used   int   // lines that are not blank
}

// mixedData is documentData for formats in which a line of a log is no line of theirs: such lines
// are read as what they are, as of a shell in which somebody also typed a document.
func mixedData(in lines.Input, walk func(d *document, yield func(Datum, error) bool) (skipped int, ok bool)) iter.Seq2[Datum, error] {
	return func(yield func(Datum, error) bool) {
		readWhole(in, newLogBetween(in.Path, yield), walk, yield)
	}
}

// documentData reads a snapshot as a whole. Walk yields the data of a document and counts the lines
// that it names as lost; ok is false when the consumer has had enough.
func documentData(in lines.Input, walk func(d *document, yield func(Datum, error) bool) (skipped int, ok bool)) iter.Seq2[Datum, error] {
	return func(yield func(Datum, error) bool) { readWhole(in, nil, walk, yield) }
}

// readWhole reads the file, its lines of a log by log where that is not nil, and walks the rest.
func readWhole(in lines.Input, log *logs.Interspersed, walk func(d *document, yield func(Datum, error) bool) (skipped int, ok bool), yield func(Datum, error) bool) {
	d, ok := readDocument(in, log, yield)
	if !ok || log != nil && !log.End() {
		return
	}
	if skipped, ok := walk(&d, yield); ok {
		d.yieldAccount(skipped, yield)
	}
}

// readDocument reads the file, and leaves a blank line where log takes one; log may be nil. It
// returns false when the consumer has had enough.
func readDocument(in lines.Input, log *logs.Interspersed, yield func(Datum, error) bool) (d document, ok bool) {
	d.Input = in
	src := in.NewReader()
	for src.Next() {
		line := src.Line
		blank := lines.IsBlank(line.Bytes) && line.Cut == 0
		if err := in.CutSkip(line); err != nil && !yield(Datum{}, err) {
			return d, false
		}
		if len(d.text)+len(line.Bytes) >= maxDocument || d.lost > 0 {
			if !blank {
				d.lost++
			}
			continue
		}
		if log != nil && !blank && log.Wants(line.Bytes) {
			if !log.Read(lines.Line{N: line.N, Bytes: lines.TrimReturn(line.Bytes)}) {
				return d, false
			}
			line.Bytes, blank = nil, true
		}
		if !blank {
			d.used++
		}
		d.starts = append(d.starts, len(d.text))
		d.text = append(append(d.text, line.Bytes...), '\n')
	}
	d.err = src.Err
	return d, true
}

// posOf is the place of a line.
func (d *document) posOf(line int) event.Pos { return event.Pos{File: d.Path, Line: d.Before + line} }

// Skip names n lines of the document, from the one numbered first in it.
func (d *document) Skip(first, n int, format string, args ...any) *event.Skip {
	return d.Input.Skip(d.Before+first, n, format, args...)
}

// lineAt is the number of the line that holds the byte at off.
func (d *document) lineAt(off int) int {
	n, _ := slices.BinarySearch(d.starts, off+1)
	return max(n, 1)
}

// lineBytes are those of line n, without its end.
func (d *document) lineBytes(n int) []byte {
	if n < 1 || n > len(d.starts) {
		return nil
	}
	end := len(d.text)
	if n < len(d.starts) {
		end = d.starts[n]
	}
	return lines.TrimReturn(bytes.TrimSuffix(d.text[d.starts[n-1]:end], []byte{'\n'}))
}

// longQuote is the longest line that is quoted whole. JSON without line breaks is one line; of it,
// what is around the datum is quoted.
const longQuote = 400

// quoteLine is the line n, or the part of it from one offset of the document to another.
func (d *document) quoteLine(n, from, to int) string {
	line := d.lineBytes(n)
	start := d.starts[n-1]
	if len(line) <= longQuote || from < start || from > to {
		return lines.Clip(line)
	}
	from, to = from-start, min(to-start, len(line))
	return string(line[min(from, len(line)):min(to, from+longQuote, len(line))])
}

// yieldAccount accounts for the document: skipped lines of it were named before.
func (d *document) yieldAccount(skipped int, yield func(Datum, error) bool) {
	if n := d.used - skipped; n > 0 && !yield(Datum{Pos: d.posOf(1), Lines: n}, nil) {
		return
	}
	if d.lost > 0 && !yield(Datum{}, d.Skip(len(d.starts)+1, d.lost, "the document is longer than %d bytes", maxDocument)) {
		return
	}
	if d.err != nil {
		yield(Datum{}, d.err)
	}
}

// yieldLogLines yields those lines from one number on that are of a log, and counts them; ok is
// false when the consumer has had enough.
func (d *document) yieldLogLines(from int, yield func(Datum, error) bool) (used int, ok bool) {
	log := newLogBetween(d.Path, yield)
	for ; from <= len(d.starts); from++ {
		line := d.lineBytes(from)
		if lines.IsBlank(line) || !log.Wants(line) {
			continue
		}
		used++
		if !log.Read(lines.Line{N: d.posOf(from).Line, Bytes: line}) {
			return used, false
		}
	}
	return used, log.End()
}

// countFilled counts the lines from one number to another that are not blank.
func (d *document) countFilled(from, to int) (n int) {
	for ; from <= to && from <= len(d.starts); from++ {
		if !lines.IsBlank(d.lineBytes(from)) {
			n++
		}
	}
	return n
}

package logs

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Log aggregators export lines of logs as entries with fields of their own: JSON of Loki, Grafana,
// Elasticsearch, CloudWatch, Cloud Logging and Splunk, tables of Datadog, Splunk and Kibana as CSV,
// lines of fluentd, fluent-bit, logcli and Grafana, and what OpenTelemetry's collector writes.
//
//	{"streams":…,"result":[{"stream":{"host":"node-1","unit":"kubelet.service"},"values":[["1762565411885000000","E1108 09:30:11.885000 …"]]}]}
//	{"_index":"journal","_source":{"@timestamp":"2025-11-08T01:30:11.885Z","host":{"name":"node-1"},"message":"…"}}
//	{"results":[[{"field":"@timestamp","value":"2025-11-08 01:30:11.885"},{"field":"@message","value":"…"}]]}
//	[0] host.kubelet: [1762565411.885000000, {"MESSAGE"=>"…", "SYSLOG_IDENTIFIER"=>"kubelet"}]
//	"2025-11-08T01:30:11.885Z","node-1","kubelet","…"
//
// The message of an entry is read like the line itself; its time, host and writer are the entry's
// where the line names none. aggregatedFields says which field is which.

// ReadAggregated reads the export of a log aggregator. Exports mostly begin with the latest entry:
// records come in the order of their times. The file is held as a whole, at most maxExport bytes.
func ReadAggregated(in lines.Input) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		x := exported{logReader: newLogReader(in, yield)}
		if !x.readText() {
			return
		}
		left := x.findEntries()
		if x.yieldEntries() && (left == 0 || x.yieldSkip(1, left, "no entry of a log")) && x.endFile() && x.lines.Err != nil {
			yield(event.Record{}, x.lines.Err)
		}
	}
}

// maxExport bounds an export that is held, in bytes.
const maxExport = 64 << 20

// exported is an export while it is read.
type exported struct {
	logReader
	text    []byte
	starts  []int // offsets of its lines
	entries []logEntry
	lost    int // lines behind maxExport
}

// logEntry is one entry of an export.
type logEntry struct {
	fields  entryFields
	message jsonValue
	at      int    // offset of the message
	csv     bool   // quotes in the message are doubled
	quote   []byte // the line that the message begins in, where message is not as it is written; else nil
	plain   bool   // a line that no aggregator wrote
	lines   int    // that it accounts for
}

// readText reads the file; it returns false when the consumer has had enough.
func (x *exported) readText() bool {
	for x.lines.Next() {
		line := x.lines.Line
		if err := x.CutSkip(line); err != nil && !x.yield(event.Record{}, err) {
			return false
		}
		if x.lost > 0 || len(x.text)+len(line.Bytes) >= maxExport {
			if !lines.IsBlank(line.Bytes) || line.Cut > 0 {
				x.lost++
			}
			continue
		}
		x.starts = append(x.starts, len(x.text))
		x.text = append(append(x.text, line.Bytes...), '\n')
	}
	return true
}

// findEntries takes the text apart. Left is how many lines no entry accounts for.
func (x *exported) findEntries() (left int) {
	if isYAMLExport(x.text) {
		w := yamlWalk{text: x.text, add: x.addEntry}
		w.walk()
		return x.countLines()
	}
	var columns []entryField
	for at := 0; at < len(x.text); {
		end := at + bytes.IndexByte(x.text[at:], '\n') + 1
		line := bytes.TrimRight(x.text[at:end], "\r\n")
		body := lines.SkipBlanks(line, 0)
		switch {
		case lines.IsBlank(line):
		case line[body] == '{' || line[body] == '[' && x.beginsJSON(at+body):
			w := entryWalk{text: x.text, add: x.addEntry}
			if cut := len(line) > body+1 && end < len(x.text) && x.text[end] == '{'; cut {
				w.text = x.text[:end] // an entry on each line
			}
			if after := w.walk(at+body, entryFields{}); after > end {
				end = after + bytes.IndexByte(x.text[min(after, len(x.text)-1):], '\n') + 1
			}
		case columns == nil && at == 0 && csvColumns(line) != nil:
			columns = csvColumns(line)
		case columns != nil:
			var e logEntry
			if e, end = x.readRow(at, columns); e.message.set {
				x.entries = append(x.entries, e)
			}
		default:
			x.addLine(at, line)
		}
		at = end
	}
	return x.countLines()
}

// beginsJSON says that a list of entries begins here, and no line of fluent-bit: [0] tag: [….
func (x *exported) beginsJSON(at int) bool {
	rest := bytes.TrimLeft(x.text[at+1:], " \t\r\n")
	return len(rest) > 0 && (rest[0] == '{' || rest[0] == '[')
}

func (x *exported) addEntry(e logEntry) { x.entries = append(x.entries, e) }

// addLine adds a line of fluentd, fluent-bit or logcli, or one that no aggregator wrote.
func (x *exported) addLine(at int, line []byte) {
	if e, ok := lineEntry(line); ok {
		e.at += at
		x.addEntry(e)
		return
	}
	x.addEntry(logEntry{message: jsonValue{raw: line, set: true}, at: at, plain: true})
}

// countLines shares the lines out among the entries, each up to its own; the last has the rest. A
// line that no aggregator wrote accounts for itself. Left is what no entry accounts for, where
// there is none.
func (x *exported) countLines() (left int) {
	seen := 0
	filledUpTo := func(line int) (n int) {
		for ; seen < line; seen++ {
			end := len(x.text)
			if seen+1 < len(x.starts) {
				end = x.starts[seen+1]
			}
			if !lines.IsBlank(x.text[x.starts[seen]:end]) {
				n++
			}
		}
		return n
	}
	var last *logEntry
	for i := range x.entries {
		e := &x.entries[i]
		if left += filledUpTo(x.lineAt(e.at)); e.plain {
			left--
			continue
		}
		e.lines, left, last = left, 0, e
	}
	if left += filledUpTo(len(x.starts)); last != nil {
		last.lines += left
		left = 0
	}
	return left
}

// lineAt is the number of the line that holds the byte at an offset.
func (x *exported) lineAt(at int) int {
	n, _ := slices.BinarySearch(x.starts, at+1)
	return max(n, 1)
}

// yieldEntries yields the records in the order of time.
func (x *exported) yieldEntries() bool {
	down, up := x.countSteps(func(e *logEntry) event.Time { return e.fields.time })
	if down+up == 0 { // of one moment: the lines may say more
		down, up = x.countSteps((*logEntry).writtenTime)
	}
	if down > up {
		slices.Reverse(x.entries) // entries of one moment, too
	}
	if down > 0 && !slices.ContainsFunc(x.entries, func(e logEntry) bool { return !e.fields.time.Known }) {
		slices.SortStableFunc(x.entries, func(a, b logEntry) int { return a.fields.time.T.Compare(b.fields.time.T) })
	}
	for i := range x.entries {
		e := &x.entries[i]
		n := x.lineAt(e.at)
		if e.plain && !x.readLine(lines.Line{N: n, Bytes: e.message.raw}) || !e.plain && !x.yieldEntry(n, e) {
			return false
		}
	}
	return x.lost == 0 || x.yieldSkip(len(x.starts)+1, x.lost, "the export is longer than %d bytes", maxExport)
}

// countSteps counts the neighbours of which the second is earlier, and those of which it is later.
func (x *exported) countSteps(timeOf func(e *logEntry) event.Time) (down, up int) {
	for i := 1; i < len(x.entries); i++ {
		switch a, b := timeOf(&x.entries[i-1]), timeOf(&x.entries[i]); {
		case !a.Known || !b.Known:
		case b.T.Before(a.T):
			down++
		case a.T.Before(b.T):
			up++
		}
	}
	return down, up
}

// writtenTime is when the writer of the line says that it wrote it.
func (e *logEntry) writtenTime() event.Time {
	text := e.text()
	if text == "" {
		return event.Time{}
	}
	h := scanHeader([]byte(text))
	if h.inner.Known {
		return h.inner
	}
	return h.carrier
}

// yieldEntry yields the record of an entry, whose message stands on line n.
func (l *logReader) yieldEntry(n int, e *logEntry) bool {
	text := e.unwrap(e.text())
	var h header
	if text != "" {
		h = scanHeader([]byte(text))
	}
	if h.body == none && strings.HasPrefix(text, "<") {
		if h = (header{carried: true}); !h.scanRelayed([]byte(text)) {
			h.body = none
		}
	}
	if h.body == none {
		h = header{body: plain, level: h.level}
	}
	e.fields.complete(&h)
	if h.body == plain && h.msg < len(text) && text[h.msg] == '{' {
		l.nested.readNested(&h, []byte(text[h.msg:]))
	}
	h.carried, h.container, h.part = true, false, false
	rec := l.newRecord(n, &h)
	rec.Lines = e.lines
	msg := text[min(h.msg, len(text)):]
	if l.open != nil {
		if done, ok := l.extendHeld(&rec, &h, []byte(msg)); done {
			return ok
		}
	}
	if !l.Wants([]byte(msg)) {
		return l.yield(rec, nil)
	}
	first, _, _ := bytes.Cut(e.message.raw, []byte{'\n'})
	if e.quote != nil {
		first = e.quote
	}
	rec.Raw = lines.Clip(first)
	return l.yieldMessage(rec, &h, msg)
}

// shippedWriter is from which rank on a field names the writer of a line as the journal and syslog
// do: a program's own fields name a service, or a container.
const shippedWriter = 6

// unwrap is the message of an entry that is the message of another, as of lines that fluent-bit has
// sent to CloudWatch as JSON; of any other it is text itself.
//
//	{"timestamp": 1738040531419, "message": "{\"host\": \"node-1\", \"ident\": \"systemd\", \"message\": \"…\"}"}
func (e *logEntry) unwrap(text string) string {
	if !strings.HasPrefix(text, "{") {
		return text
	}
	var inner logEntry
	w := entryWalk{text: []byte(text), add: func(found logEntry) { inner = found }}
	outer := e.fields
	outer.ranks[fieldMessage] = 0
	w.walk(0, outer)
	if !inner.message.set || inner.fields.ranks[fieldUnit] < shippedWriter || inner.fields.ranks[fieldUnit] <= e.fields.ranks[fieldUnit] {
		return text
	}
	e.fields = inner.fields
	return strings.TrimRight(inner.message.text(), "\r\n")
}

// text is the message, as it was written before it was exported.
func (e *logEntry) text() string {
	if e.csv {
		return strings.ReplaceAll(string(bytes.ReplaceAll(e.message.raw, []byte{'\r', '\n'}, []byte{'\n'})), `""`, `"`)
	}
	return strings.TrimRight(e.message.text(), "\r\n")
}

// SniffAggregated knows an export by an entry that it holds: an object of JSON with a message and a
// time, a table with columns of both, or the lines of a shipper.
func SniffAggregated(head *lines.Head) float64 {
	text := bytes.TrimLeft(head.Text, " \t\r\n\ufeff")
	if len(text) == 0 {
		return 0
	}
	if _, rows, ok := bytes.Cut(text, []byte("\n\n\n")); ok && bytes.HasPrefix(text, []byte("Common labels: ")) {
		text = rows // Grafana's
	}
	first, _, _ := bytes.Cut(text, []byte{'\n'})
	first = bytes.TrimRight(first, "\r")
	if isYAMLExport(text) {
		w := yamlWalk{text: text, add: func(logEntry) {}}
		w.walk()
		return float64(min(w.found, 1))
	}
	if text[0] == '{' || text[0] == '[' && len(text) > 1 && !lines.IsDigit(text[1]) {
		if IsJournalJSON(first) || IsContainer(first) || IsKlog(first) || IsLogrus(first) {
			return 0
		}
		found := 0
		w := entryWalk{text: head.Text, add: func(logEntry) { found++ }, most: 1}
		w.walk(len(head.Text)-len(text), entryFields{})
		return float64(min(found, 1))
	}
	if csvColumns(first) != nil {
		return 1
	}
	if _, ok := lineEntry(first); !ok {
		return 0
	}
	return lines.Sniffer(func(line []byte) bool { _, ok := lineEntry(line); return ok })(head)
}

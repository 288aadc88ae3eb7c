package logs

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// entryField is what a field of an aggregator's entry says.
type entryField uint8

const (
	noField entryField = iota
	fieldMessage
	fieldTime
	fieldHost
	fieldUnit
	fieldPID
	fieldPriority
	fieldUTC // a column of times in UTC
	entryFieldCount
)

// aggregatedFields are the names of fields, the best first of each kind: in lower case, and without
// what stands before the last two parts of a path. They are those of the journal as promtail,
// filebeat, vector, fluent-bit and Cloud Logging ship it, and of the aggregators' own columns:
// those of Azure Monitor are of its tables Syslog, ContainerLog and ContainerLogV2, ident is of
// fluent-bit's parser of syslog (Container Insights of AWS, group host), those of
// OpenTelemetry of OTLP in JSON.
var aggregatedFields = map[string]struct {
	field entryField
	rank  uint8
}{
	"message": {fieldMessage, 9}, "msg": {fieldMessage, 1}, "@message": {fieldMessage, 9}, "textpayload": {fieldMessage, 9},
	"_raw": {fieldMessage, 9}, "line": {fieldMessage, 8}, "log": {fieldMessage, 7}, "content": {fieldMessage, 6}, "event.original": {fieldMessage, 2},
	"syslogmessage": {fieldMessage, 9}, "logmessage": {fieldMessage, 8}, "logentry": {fieldMessage, 8}, "body.stringvalue": {fieldMessage, 8}, "body": {fieldMessage, 1},

	"_source_realtime_timestamp": {fieldTime, 9}, "@timestamp": {fieldTime, 8}, "timestamp": {fieldTime, 7}, "_time": {fieldTime, 7},
	"tsns": {fieldTime, 8}, "time": {fieldTime, 6}, "date": {fieldTime, 4}, "ts": {fieldTime, 4}, "receivetimestamp": {fieldTime, 1},
	"timegenerated": {fieldTime, 6}, "timegenerated [utc]": {fieldTime, 6}, "eventtime [utc]": {fieldTime, 7},
	"timeunixnano": {fieldTime, 8}, "observedtimeunixnano": {fieldTime, 1},

	"_hostname": {fieldHost, 9}, "host.name": {fieldHost, 8}, "host.hostname": {fieldHost, 7}, "hostname": {fieldHost, 7}, "host": {fieldHost, 6},
	"kubernetes.host": {fieldHost, 8}, "node_name": {fieldHost, 8}, "node.name": {fieldHost, 8}, "nodename": {fieldHost, 5}, "node": {fieldHost, 5},
	"kubernetes.node_name": {fieldHost, 8}, "log.source.address": {fieldHost, 1}, "computer": {fieldHost, 6}, "com/resource_name": {fieldHost, 4},

	"syslog_identifier": {fieldUnit, 9}, "syslog.identifier": {fieldUnit, 9}, "syslog.appname": {fieldUnit, 8}, "process.name": {fieldUnit, 7}, "processname": {fieldUnit, 7},
	"transport": {fieldUnit, 8}, "_transport": {fieldUnit, 8}, "systemd.transport": {fieldUnit, 8}, "_systemd_unit": {fieldUnit, 6},
	"systemd_unit": {fieldUnit, 6}, "unit": {fieldUnit, 6}, "program": {fieldUnit, 6}, "appname": {fieldUnit, 6}, "ident": {fieldUnit, 6},
	"_comm": {fieldUnit, 5}, "service": {fieldUnit, 4}, "logname": {fieldUnit, 4}, "app": {fieldUnit, 3},
	"container_name": {fieldUnit, 5}, "container.name": {fieldUnit, 5}, "kubernetes.container_name": {fieldUnit, 5}, "container": {fieldUnit, 5},

	"_pid": {fieldPID, 9}, "syslog_pid": {fieldPID, 8}, "process.pid": {fieldPID, 8}, "syslog.pid": {fieldPID, 8}, "processid": {fieldPID, 7}, "pid": {fieldPID, 5},

	"priority": {fieldPriority, 9}, "syslog.priority": {fieldPriority, 9}, "severity": {fieldPriority, 2},
}

// entryFields are what the fields of an entry say.
type entryFields struct {
	ranks [entryFieldCount]uint8
	time  event.Time
	host  []byte
	unit  []byte
	pid   int
	level event.Level
}

// nameOf is what a field says by its path, and how well.
func nameOf(path string) (field entryField, rank uint8) {
	path = strings.ToLower(path)
	for {
		if f, ok := aggregatedFields[path]; ok {
			return f.field, f.rank
		}
		i := strings.IndexByte(path, '.')
		if i < 0 {
			return noField, 0
		}
		path = path[i+1:]
	}
}

// set takes a field; it returns false for one that says nothing, or less than one before.
func (e *entryFields) set(path string, v jsonValue) bool {
	field, rank := nameOf(path)
	if field == noField || rank <= e.ranks[field] || len(v.raw) == 0 {
		return false
	}
	value := v.raw
	if value[0] == '[' && !v.quoted { // a list of one, as Elasticsearch returns fields
		value = []byte(v.text())
	}
	switch field {
	case fieldTime:
		t := entryTimeOf(value)
		if !t.Known {
			return false
		}
		t.T = t.T.UTC() // the zone of an aggregator, or of a browser, is not the node's
		if e.time = t; t.Lacks == event.LacksZone && path == "@timestamp" {
			e.time.Lacks = 0 // CloudWatch's, which is in UTC
		}
	case fieldHost:
		e.host = value
	case fieldUnit:
		unit := unitOf(path, value)
		if len(unit) == 0 {
			return false
		}
		e.unit = unit
	case fieldPID:
		pid, _ := lines.Digits(value)
		e.pid = int(min(pid, 1<<31))
	case fieldPriority:
		e.level = priorityLevel(value)
		if e.level == event.NoLevel && !lines.IsDigit(value[0]) {
			e.level = readLevel(value)
		}
	}
	e.ranks[field] = rank
	return true
}

// unitOf is the writer in a field: "kubelet.service" of systemd, "projects/p/logs/kubelet" of Cloud
// Logging; of a transport only the kernel's says who it is.
func unitOf(path string, value []byte) []byte {
	if strings.HasSuffix(strings.ToLower(path), "transport") && string(value) != "kernel" {
		return nil
	}
	value = value[bytes.LastIndexByte(value, '/')+1:]
	if slices.Contains(collectors, string(value)) {
		return nil
	}
	return bytes.TrimSuffix(value, []byte(".service"))
}

// collectors are names that shippers give to all lines of a node together.
var collectors = []string{"syslog", "rsyslog", "messages", "journal", "journald", "systemd-journal", "kern", "host", "fluent-bit", "fluentbit", "fluentd", "vector", "-"}

// complete gives a header what the line itself does not say.
func (e *entryFields) complete(h *header) {
	if e.time.Known && (!h.carrier.Known || h.carrier.Lacks != 0) {
		h.carrier = e.time // what has the time since the boot keeps it beside this
	}
	if len(h.host) == 0 {
		h.host = e.host
	}
	if len(h.unit) == 0 {
		h.unit = e.unit
	}
	if h.pid == 0 {
		h.pid = e.pid
	}
	if h.level == event.NoLevel {
		h.level = e.level
	}
}

// entryTimeOf reads a time as aggregators write it: ISO 8601, RFC 3339, seconds to nanoseconds
// since 1970, "Nov 8, 2025 @ 01:30:11.885" of Kibana.
func entryTimeOf(b []byte) event.Time {
	if t, n := stamp.ISO(b); n > 0 {
		rest := strings.TrimSpace(string(b[n:]))
		if rest == "UTC" || rest == "GMT" {
			t.Lacks &^= event.LacksZone
		}
		if len(rest) == len("+0000") && (rest[0] == '+' || rest[0] == '-') {
			t, _ = stamp.ISO(append(bytes.TrimRight(b[:n:n], " "), rest...))
		}
		return t
	}
	if t, ok := sinceEpoch(b); ok {
		return t
	}
	for _, layout := range [...]string{"Jan _2, 2006 @ 15:04:05.000", "1/2/2006, 3:04:05.000 PM"} { // Kibana, Azure Monitor
		if t, err := time.Parse(layout, string(b)); err == nil {
			return event.Time{T: t, Prec: time.Millisecond, Lacks: event.LacksZone, Known: true}
		}
	}
	return event.Time{}
}

// sinceEpoch reads a number of seconds, milliseconds, microseconds or nanoseconds since 1970, which
// of them its length tells: of the years 2001 to 2286.
func sinceEpoch(b []byte) (t event.Time, ok bool) {
	v, n := lines.Digits(b)
	if n == 18 && n < len(b) && lines.IsDigit(b[n]) { // the nineteenth
		v, n = v*10+int64(b[n]-'0'), n+1
	}
	scale := [20]time.Duration{10: time.Second, 13: time.Millisecond, 16: time.Microsecond, 19: time.Nanosecond}[n]
	if scale == 0 || n < len(b) && b[n] != '.' {
		return t, false
	}
	t = event.Time{T: time.Unix(0, v*int64(scale)).UTC(), Prec: scale, Known: true}
	if f, prec, c := stamp.Fraction(b[n:]); c > 0 && scale == time.Second {
		t.T, t.Prec = t.T.Add(f), prec
	}
	if t.Prec == time.Nanosecond {
		t.Prec = 0
	}
	return t, true
}

// entryWalk finds the entries in JSON. An object with a message and a time is one; what is above it
// says what its fields leave out, as the labels of a stream do.
type entryWalk struct {
	text  []byte
	add   func(logEntry)
	most  int // entries to find; 0 for all
	found int
	depth int
}

// walk looks at the value at an offset, and returns the offset behind it. JSON that breaks off is
// read up to there.
func (w *entryWalk) walk(at int, above entryFields) (next int) {
	const deepest = 12 // an export has its entries at the sixth level
	if at >= len(w.text) {
		return at
	}
	if w.depth++; w.depth > deepest || w.most > 0 && w.found >= w.most {
		w.depth--
		return w.endOf(at)
	}
	defer func() { w.depth-- }()
	if w.text[at] == '[' {
		return w.walkList(at, above)
	}
	return w.walkObject(at, above)
}

// endOf is the offset behind a list or an object; the end of the text when it is cut.
func (w *entryWalk) endOf(at int) int {
	if n := lines.BracketEnd(w.text[at:]); n > 0 {
		return at + n
	}
	return len(w.text)
}

// walkList looks at a list: of objects or lists, a pair of time and line as Loki has, or the fields
// of a row of CloudWatch Logs Insights.
func (w *entryWalk) walkList(at int, above entryFields) int {
	end := w.endOf(at)
	if e, ok := w.readLokiPair(at, end, above); ok {
		w.found++
		w.add(e)
		return end
	}
	row := logEntry{fields: above}
	for i := lines.SkipSpace(w.text, at+1); i < end; {
		switch w.text[i] {
		case '{':
			if field, ok := w.readNamed(i); ok {
				row.take(field.key.text(), field.value, w.offsetOf(field.value))
				i = w.endOf(i)
				break
			}
			i = w.walk(i, above)
		case '[':
			i = w.walk(i, above)
		default:
			_, next, ok := scanJSONValue(w.text[:end], i)
			if !ok {
				return end
			}
			i = next
		}
		if i = lines.SkipSpace(w.text, i); i < end && w.text[i] == ',' {
			i = lines.SkipSpace(w.text, i+1)
		} else {
			break
		}
	}
	w.addComplete(row)
	return end
}

// readLokiPair reads ["1762565411885000000", "the line"], behind which Loki may have labels.
func (w *entryWalk) readLokiPair(at, end int, above entryFields) (e logEntry, ok bool) {
	stamp, next, ok := scanJSONValue(w.text[:end], lines.SkipSpace(w.text, at+1))
	if !ok || !stamp.quoted || len(stamp.raw) != 19 {
		return e, false
	}
	i := lines.SkipSpace(w.text, next)
	if i >= end || w.text[i] != ',' {
		return e, false
	}
	line, _, ok := scanJSONValue(w.text[:end], lines.SkipSpace(w.text, i+1))
	e = logEntry{fields: above, message: line, at: w.offsetOf(line)}
	e.fields.time = entryTimeOf(stamp.raw)
	return e, ok && line.quoted && e.fields.time.Known
}

// readNamed reads {"field":"@message","value":"…"} and nothing else.
func (w *entryWalk) readNamed(at int) (f jsonField, ok bool) {
	n := 0
	w.eachField(at, func(key, value jsonValue, _ int) bool {
		switch string(key.raw) {
		case "field":
			f.key, n = value, n+1
		case "value":
			f.value, n = value, n+1
		default:
			n = -9
		}
		return n > 0
	})
	return f, n == 2 && f.key.quoted
}

// walkObject looks at an object: at its fields, those of objects in it, and the lists.
func (w *entryWalk) walkObject(at int, above entryFields) int {
	e := logEntry{fields: above}
	var inner []int // lists that may hold entries, in objects too
	end := w.collect(at, "", &e, &inner)
	if w.addComplete(e) {
		return end
	}
	for _, i := range inner {
		if w.most == 0 || w.found < w.most {
			w.walk(i, e.fields)
		}
	}
	return end
}

// collect takes the fields of an object and of those in it, and notes the lists.
func (w *entryWalk) collect(at int, path string, e *logEntry, inner *[]int) (end int) {
	const deepest = 5
	return w.eachField(at, func(key, value jsonValue, i int) bool {
		name := string(key.raw)
		if path != "" {
			name = path + "." + name
		}
		switch w.text[i] {
		case '{':
			if strings.Count(name, ".") < deepest {
				w.collect(i, name, e, inner)
			}
		case '[':
			switch {
			case value.set && (w.isText(i) || len(value.raw) < 2):
				e.take(name, value, w.offsetOf(value))
			case !w.takeAttributes(i, e):
				*inner = append(*inner, i)
			}
		default:
			e.take(name, value, w.offsetOf(value))
		}
		return true
	})
}

// takeAttributes takes the fields of a list of OpenTelemetry; it returns false for any other list:
//
//	[{"key":"host.name","value":{"stringValue":"node-1"}}]
func (w *entryWalk) takeAttributes(at int, e *logEntry) (found bool) {
	end := w.endOf(at)
	for i := lines.SkipSpace(w.text, at+1); i < end && w.text[i] == '{'; i = lines.SkipSpace(w.text, w.endOf(i)+1) {
		key := ""
		w.eachField(i, func(name, value jsonValue, from int) bool {
			switch {
			case string(name.raw) == "key":
				key = value.text()
			case string(name.raw) == "value" && w.text[from] == '{':
				w.eachField(from, func(_, v jsonValue, _ int) bool { e.take(key, v, w.offsetOf(v)); return false })
			}
			return key != ""
		})
		if key == "" {
			return false
		}
		found = true
	}
	return found
}

// isText says that a list holds one string.
func (w *entryWalk) isText(at int) bool {
	i := lines.SkipSpace(w.text, at+1)
	if i >= len(w.text) || w.text[i] != '"' {
		return false
	}
	_, next, ok := scanJSONValue(w.text, i)
	next = lines.SkipSpace(w.text, next)
	return ok && next < len(w.text) && w.text[next] == ']'
}

// eachField calls take with every field of the object at an offset and where its value begins,
// until that is false. It returns the offset behind the object. A value that breaks off is not set.
func (w *entryWalk) eachField(at int, take func(key, value jsonValue, at int) bool) (end int) {
	for i := lines.SkipSpace(w.text, at+1); i < len(w.text) && w.text[i] != '}'; {
		key, next, ok := scanJSONValue(w.text, i)
		colon := lines.SkipSpace(w.text, next)
		if !ok || !key.quoted || colon >= len(w.text) || w.text[colon] != ':' {
			return w.endOf(at)
		}
		from := lines.SkipSpace(w.text, colon+1)
		value, next, ok := scanJSONValue(w.text, from)
		if !ok && (from >= len(w.text) || w.text[from] != '{' && w.text[from] != '[') {
			return len(w.text)
		}
		if !take(key, value, from) || !ok {
			return w.endOf(at)
		}
		if i = lines.SkipSpace(w.text, next); i >= len(w.text) || w.text[i] != ',' {
			break
		}
		i = lines.SkipSpace(w.text, i+1)
	}
	return w.endOf(at)
}

// offsetOf is where a value stands in the text.
func (w *entryWalk) offsetOf(v jsonValue) int { return cap(w.text) - cap(v.raw) }

// addComplete adds an entry that has a message and a time.
func (w *entryWalk) addComplete(e logEntry) bool {
	if !e.message.set || !e.fields.time.Known {
		return false
	}
	w.found++
	w.add(e)
	return true
}

// take takes a field of an entry; at is where its value stands.
func (e *logEntry) take(path string, v jsonValue, at int) {
	if e.fields.set(path, v) {
		if field, _ := nameOf(path); field == fieldMessage {
			e.message, e.at = v, at
		}
	}
}

// lineEntry reads a line that a shipper printed of an entry. The offset of the message counts from
// the line's start.
//
//	[0] host.kubelet: [1762565411.885000000, {"MESSAGE"=>"…", "_HOSTNAME"=>"node-1"}]         fluent-bit
//	[0] host.kubelet: [[1762565411.885000000, {}], {"log"=>"…", "stream"=>"stderr"}]            from 2.1 on
//	2025-11-08 09:30:11.885000000 +0800 host.kubelet: {"MESSAGE":"…","_HOSTNAME":"node-1"}     fluentd
//	2025-11-08T09:30:11+08:00	host.kubelet	{"MESSAGE":"…"}                                      fluentd's files
//	2025-11-08T01:30:11Z {host="node-1", unit="kubelet.service"} E1108 09:30:11.885000 …        logcli
//	1762565411885	2025-11-08T01:30:11.885Z	E1108 09:30:11.885000 …                                  Grafana
func lineEntry(line []byte) (e logEntry, ok bool) {
	if len(line) < 24 {
		return e, false
	}
	if line[0] == '[' && lines.IsDigit(line[1]) {
		return rubyEntry(line)
	}
	if len(line) > 39 && line[13] == '\t' && line[38] == '\t' && line[37] == 'Z' && lines.IsDigit(line[0]) {
		e.fields.time, _ = sinceEpoch(line[:13])
		e.at, e.message = 39, jsonValue{raw: line[39:], set: true}
		return e, e.fields.time.Known
	}
	brace := bytes.IndexByte(line[:min(len(line), maxTag)], '{')
	if !lines.IsDigit(line[0]) || brace < 19 || brace+1 == len(line) {
		return e, false
	}
	if e.fields.time = entryTimeOf(line[:min(len(line), 35)]); !e.fields.time.Known {
		return e, false
	}
	e.fields.time.T = e.fields.time.T.UTC()
	if line[brace+1] == '"' {
		if !isFluentdHead(line[:brace]) {
			return e, false
		}
		inner, found := logEntry{}, false // not e, which would be allocated for every line
		w := entryWalk{text: line, add: func(in logEntry) { inner, found = in, true }}
		w.walk(brace, e.fields)
		return inner, found
	}
	labels, end := labelsOf(line[brace:])
	if end == 0 || brace+end+1 >= len(line) {
		return e, false
	}
	for _, l := range labels {
		e.fields.set(l.key.text(), l.value)
	}
	e.at = brace + end + 1
	e.message = jsonValue{raw: line[e.at:], set: true}
	return e, true
}

// isFluentdHead says that nothing but a tag stands behind the stamp. A line of syslog whose message
// is JSON has a host there, too.
func isFluentdHead(b []byte) bool {
	words := bytes.Fields(b)
	return len(words) == 2 && len(words[0]) > len("2025-11-08") || len(words) == 4 && (words[2][0] == '+' || words[2][0] == '-')
}

// maxTag bounds the tag that a shipper puts before an entry.
const maxTag = 300

// labelsOf reads {host="node-1", unit="kubelet.service"}; end is behind it, 0 for anything else.
func labelsOf(b []byte) (labels []jsonField, end int) {
	for i := 1; i < len(b); {
		i = lines.SkipSpace(b, i)
		eq := bytes.IndexByte(b[i:], '=')
		if eq <= 0 || i+eq+1 >= len(b) || b[i+eq+1] != '"' {
			return nil, 0
		}
		value, next, ok := scanJSONValue(b, i+eq+1)
		if !ok {
			return nil, 0
		}
		labels = append(labels, jsonField{jsonValue{raw: b[i : i+eq], quoted: true, set: true}, value})
		if i = next; i < len(b) && b[i] == '}' {
			return labels, i + 1
		}
		i++
	}
	return nil, 0
}

// rubyEntry reads a line of fluent-bit, which does not escape the quotes inside of a string: a
// value ends where the next key begins.
func rubyEntry(line []byte) (e logEntry, ok bool) {
	const arrow = `"=>`
	at := bytes.Index(line[:min(len(line), maxTag)], []byte(": ["))
	if at < 0 {
		return e, false
	}
	clock := bytes.TrimLeft(line[at+3:], "[")
	e.fields.time = entryTimeOf(clock[:bytes.IndexAny(clock, ", ]")+1])
	if comma := bytes.IndexByte(clock, ','); comma > 0 {
		e.fields.time = entryTimeOf(clock[:comma])
	}
	end := bytes.LastIndexByte(line, '}')
	if !e.fields.time.Known || end < 0 {
		return e, false
	}
	for i := bytes.Index(line, []byte(arrow)); i >= 0 && i < end; {
		key := line[bytes.LastIndexByte(line[:i], '"')+1 : i]
		from, to := i+len(arrow), end
		next := bytes.Index(line[from:], []byte(arrow))
		if next >= 0 {
			next += from
			if q := bytes.LastIndex(line[from:next], []byte(`, "`)); q >= 0 {
				to = from + q
			}
		}
		value := jsonValue{raw: line[from:max(from, to)], set: true}
		if n := len(value.raw); n > 1 && value.raw[0] == '"' && value.raw[n-1] == '"' {
			value.raw, from = value.raw[1:n-1], from+1
		}
		e.take(string(key), value, from)
		i = next
	}
	return e, e.message.set
}

// csvColumns are what the columns of a table of entries say; nil for a line that is no header of
// one, which has a time and a message.
func csvColumns(line []byte) (columns []entryField) {
	if len(line) > 4096 || bytes.IndexByte(line, ',') < 0 {
		return nil
	}
	var best entryFields
	at := map[entryField]int{}
	for i, name := range strings.Split(strings.TrimPrefix(string(line), "\ufeff"), ",") {
		field, rank := nameOf(strings.Trim(strings.TrimSpace(name), `"`))
		columns = append(columns, noField)
		if field == noField || rank <= best.ranks[field] {
			continue
		}
		if before, ok := at[field]; ok {
			columns[before] = noField
		}
		best.ranks[field], at[field], columns[i] = rank, i, field
		if field == fieldTime && strings.Contains(name, "[UTC]") {
			columns[i] = fieldUTC
		}
	}
	if best.ranks[fieldTime] == 0 || best.ranks[fieldMessage] == 0 {
		return nil
	}
	return columns
}

// readRow reads a row of a table, which may stand on several lines; end is behind it.
func (x *exported) readRow(at int, columns []entryField) (e logEntry, end int) {
	e.csv = true
	i := at
	for column := 0; i < len(x.text); column++ {
		from, to := i, 0
		if x.text[i] == '"' {
			from = i + 1
			to = from
			for to < len(x.text) && (x.text[to] != '"' || to+1 < len(x.text) && x.text[to+1] == '"') {
				if x.text[to] == '"' {
					to++
				}
				to++
			}
			i = min(to+1, len(x.text))
		} else {
			n := bytes.IndexAny(x.text[i:], ",\n")
			if n < 0 {
				n = len(x.text) - i
			}
			to = i + n
			i = to
		}
		if column < len(columns) {
			x.takeCell(&e, columns[column], from, to)
		}
		if i >= len(x.text) || x.text[i] != ',' {
			break
		}
		i++
	}
	if n := bytes.IndexByte(x.text[min(i, len(x.text)):], '\n'); n >= 0 {
		return e, i + n + 1
	}
	return e, len(x.text)
}

// takeCell takes a cell of a row.
func (x *exported) takeCell(e *logEntry, field entryField, from, to int) {
	value := bytes.TrimRight(x.text[from:min(to, len(x.text))], "\r")
	v := jsonValue{raw: value, set: true}
	switch field {
	case fieldMessage:
		e.message, e.at = v, from
	case noField:
	default:
		e.fields.set(columnName[field], v)
	}
}

// columnName is a name of each field that says no more than what it is.
var columnName = [entryFieldCount]string{
	fieldTime: "timestamp", fieldUTC: "@timestamp", fieldHost: "host", fieldUnit: "service", fieldPID: "pid", fieldPriority: "severity",
}

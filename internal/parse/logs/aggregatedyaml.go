package logs

import (
	"bytes"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// gcloud logging read prints the entries of Cloud Logging as YAML, where nothing else is asked for:
//
//	---
//	insertId: abc123
//	jsonPayload:
//	  MESSAGE: 'E1108 09:30:11.885000    2917 kubelet.go:2412] "Skipping pod synchronization"'
//	  SYSLOG_IDENTIFIER: kubelet
//	labels:
//	  compute.googleapis.com/resource_name: node-1
//	logName: projects/p/logs/kubelet
//	timestamp: '2025-11-08T01:30:11.885Z'

// isYAMLExport says that a text is such entries.
func isYAMLExport(text []byte) bool {
	if !lines.StartsWith(text, "---\n", "---\r\n", "insertId: ") {
		return false
	}
	for _, key := range [...]string{"insertId: ", "logName: ", "timestamp: "} {
		if !bytes.HasPrefix(text, []byte(key)) && !bytes.Contains(text, []byte("\n"+key)) {
			return false
		}
	}
	return true
}

// yamlWalk is one pass over such a text.
type yamlWalk struct {
	text  []byte
	add   func(logEntry)
	entry logEntry
	above []yamlKey // the keys whose values are the lines that follow
	found int
}

// yamlKey is a key, and how far it is indented.
type yamlKey struct {
	indent int
	path   string
}

// walk reads all entries.
func (w *yamlWalk) walk() {
	for at := 0; at < len(w.text); {
		line, next := w.lineAt(at)
		if string(line) == "---" {
			w.endEntry()
			at = next
			continue
		}
		at = w.readField(at, line, next)
	}
	w.endEntry()
}

// lineAt is the line at an offset, and where the next one begins.
func (w *yamlWalk) lineAt(at int) (line []byte, next int) {
	end := bytes.IndexByte(w.text[at:], '\n')
	if end < 0 {
		return w.text[at:], len(w.text)
	}
	return bytes.TrimRight(w.text[at:at+end], "\r"), at + end + 1
}

func (w *yamlWalk) endEntry() {
	if w.entry.message.set && w.entry.fields.time.Known {
		w.add(w.entry)
		w.found++
	}
	w.entry, w.above = logEntry{}, nil
}

// readField reads a key with its value, and gives where the next one begins.
func (w *yamlWalk) readField(at int, line []byte, next int) int {
	indent := lines.SkipBlanks(line, 0)
	key, value, ok := bytes.Cut(line[indent:], []byte{':'})
	if !ok || len(key) == 0 || key[0] == '-' || len(value) > 0 && value[0] != ' ' {
		return next
	}
	for len(w.above) > 0 && w.above[len(w.above)-1].indent >= indent {
		w.above = w.above[:len(w.above)-1]
	}
	path := strings.Trim(string(key), `'"`)
	if len(w.above) > 0 {
		path = w.above[len(w.above)-1].path + "." + path
	}
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		w.above = append(w.above, yamlKey{indent, path})
		return next
	}
	first := value
	if value[0] == '|' || value[0] == '>' {
		at = next
		first, _ = w.lineAt(min(next, len(w.text)-1))
		first = bytes.TrimSpace(first)
		value = nil
	}
	more, next := w.linesBelow(indent, next)
	w.entry.takeYAML(path, value, more, at)
	if field, _ := nameOf(path); field == fieldMessage && w.entry.at == at {
		w.entry.quote = first
	}
	return next
}

// linesBelow are the lines that are indented more than a key, which its value goes on in.
func (w *yamlWalk) linesBelow(indent, at int) (more [][]byte, next int) {
	for at < len(w.text) {
		line, end := w.lineAt(at)
		if !lines.IsBlank(line) && lines.SkipBlanks(line, 0) <= indent {
			break
		}
		more = append(more, bytes.TrimSpace(line))
		at = end
	}
	return more, at
}

// takeYAML takes a scalar: 'it”s', "a\tb", words, or a block, whose value is nil.
func (e *logEntry) takeYAML(path string, value []byte, more [][]byte, at int) {
	v := jsonValue{raw: value, set: true}
	switch {
	case value == nil:
		v.raw = bytes.Join(more, []byte{'\n'})
	case len(more) > 0:
		v.raw = bytes.Join(append([][]byte{value}, more...), []byte{' '})
	}
	if n := len(v.raw); n > 1 && value != nil && v.raw[0] == v.raw[n-1] {
		switch v.raw[0] {
		case '\'':
			v.raw = bytes.ReplaceAll(v.raw[1:n-1], []byte("''"), []byte{'\''})
		case '"':
			v.raw, v.quoted = v.raw[1:n-1], true
		}
	}
	if len(v.raw) > 0 {
		e.take(path, v, at)
	}
}

package snapshots

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadTOML reads TOML: containerd's config.toml of any version, the output of
// containerd config dump, CRI-O's crio.conf.
//
//	[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
//	  SystemdCgroup = true
//
// A line that is no TOML is lost alone; reading goes on behind it, in the same table.
func ReadTOML(in lines.Input) iter.Seq2[Datum, error] {
	return mixedData(in, func(d *document, yield func(Datum, error) bool) (skipped int, ok bool) {
		w := tomlWalk{document: d, yield: yield}
		ok = w.walkDocument()
		return w.skipped, ok
	})
}

// tomlWalk is the state of a pass over a document.
type tomlWalk struct {
	*document
	yield   func(Datum, error) bool
	parser  unstable.Parser
	base    int // offset at which the parser was started
	table   []string
	arrays  map[string]int // elements so far of [[tables]]
	skipped int
}

// walkDocument reads the document, and starts again behind every line that is no TOML.
func (w *tomlWalk) walkDocument() bool {
	for w.base < len(w.text) {
		w.parser.Reset(w.text[w.base:])
		last := w.base
		for w.parser.NextExpression() {
			e := w.parser.Expression()
			last = w.keyOffset(e)
			if !w.readExpression(e) {
				return false
			}
		}
		err := w.parser.Error()
		if err == nil {
			return true
		}
		at := last
		if broken, ok := errors.AsType[*unstable.ParserError](err); ok && len(broken.Highlight) > 0 {
			at = max(at, w.base+int(w.parser.Range(broken.Highlight).Offset))
		}
		if !w.loseLine(at, err) {
			return false
		}
	}
	return true
}

// loseLine names the line at an offset and goes on behind it.
func (w *tomlWalk) loseLine(at int, err error) bool {
	n := w.lineAt(max(at, w.base))
	w.base = len(w.text)
	if n < len(w.starts) {
		w.base = w.starts[n]
	}
	line := w.lineBytes(n)
	if lines.IsBlank(line) {
		return true
	}
	w.skipped++
	return w.yield(Datum{}, w.Skip(n, 1, "not TOML: %.100s: %.60q", err, line))
}

// keyOffset is where the key of an expression stands in the document.
func (w *tomlWalk) keyOffset(e *unstable.Node) int {
	it := e.Key()
	if !it.Next() {
		return w.base
	}
	return w.base + int(it.Node().Raw.Offset)
}

func appendKey(path []string, it unstable.Iterator) []string {
	for it.Next() {
		path = append(path, string(it.Node().Data))
	}
	return path
}

// readExpression takes one [table] or one key and its value.
func (w *tomlWalk) readExpression(e *unstable.Node) bool {
	switch e.Kind {
	case unstable.Table:
		w.table = appendKey(w.table[:0], e.Key())
	case unstable.ArrayTable:
		w.table = appendKey(w.table[:0], e.Key())
		name := fmt.Sprintf("%q", w.table)
		if w.arrays == nil {
			w.arrays = map[string]int{}
		}
		w.table = append(w.table, strconv.Itoa(w.arrays[name]))
		w.arrays[name]++
	case unstable.KeyValue:
		n := w.lineAt(w.keyOffset(e))
		return w.yieldValue(n, appendKey(w.table, e.Key()), e.Value())
	}
	return true
}

// yieldValue yields what a key holds.
func (w *tomlWalk) yieldValue(line int, path []string, v *unstable.Node) bool {
	if len(path) > maxNesting {
		return true
	}
	it, n := v.Children(), 0
	switch v.Kind {
	case unstable.InlineTable:
		for ; it.Next(); n++ {
			if !w.yieldValue(line, appendKey(path, it.Node().Key()), it.Node().Value()) {
				return false
			}
		}
		return n > 0 || w.yieldScalar(line, path, "{}")
	case unstable.Array:
		for ; it.Next(); n++ {
			if !w.yieldValue(line, append(path, strconv.Itoa(n)), it.Node()) {
				return false
			}
		}
		return n > 0 || w.yieldScalar(line, path, "[]")
	}
	return w.yieldScalar(line, path, string(v.Data))
}

func (w *tomlWalk) yieldScalar(line int, path []string, value string) bool {
	e := Datum{Pos: w.posOf(line), Path: path, Value: value, Raw: w.quoteLine(line, w.starts[line-1], len(w.text))}
	return w.yield(e, nil)
}

// SniffTOML wants values as TOML types them: a shell's assignments, an INI file's and a note's are
// not. Comments do not count, for half of /etc is comments.
func SniffTOML(head *lines.Head) float64 {
	inside := false // a list of several lines
	share := lines.Share(head, func(line []byte) lines.Sign {
		line = bytes.TrimSpace(line)
		key, value, isPair := bytes.Cut(line, []byte{'='})
		value = bytes.TrimSpace(value)
		switch {
		case inside:
			inside = !bytes.HasSuffix(line, []byte{']'})
			return lines.Fits
		case line[0] == '#':
			return lines.Silent
		case isTOMLTable(line):
			return lines.Fits
		case isPair && isTOMLKey(key) && isTOMLValue(value):
			inside = value[0] == '[' && !bytes.ContainsRune(value, ']')
			return lines.Proves
		}
		return lines.Foreign
	})
	if share < minTOML {
		return 0
	}
	return share
}

// minTOML is the share of lines that a file of TOML must understand: a shell script with
// assignments has fewer.
const minTOML = 0.75

func isTOMLTable(line []byte) bool {
	line, _, _ = bytes.Cut(line, []byte(" #"))
	line = bytes.TrimSpace(line)
	n := len(line)
	return n > 2 && line[0] == '[' && line[n-1] == ']' && !bytes.ContainsAny(line, " ,:") && isName(line[1:2], "\"'[")
}

func isTOMLKey(key []byte) bool {
	key = bytes.TrimSpace(key)
	if len(key) > 0 && (key[0] == '"' || key[0] == '\'') {
		return key[len(key)-1] == key[0]
	}
	return isName(key, ".")
}

func isTOMLValue(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	switch c := value[0]; c {
	case '[', '{':
		return true
	case '"', '\'':
		end := bytes.LastIndexByte(value, c) // a log line goes on behind its first value
		rest := bytes.TrimSpace(value[end+1:])
		return end > 0 && bytes.Count(value[:end], []byte{c}) <= 1+bytes.Count(value, []byte{'\\', c}) && (len(rest) == 0 || rest[0] == '#')
	}
	value, _, _ = bytes.Cut(value, []byte(" #"))
	value = bytes.TrimSpace(value)
	if string(value) == "true" || string(value) == "false" {
		return true
	}
	return isNumber(value)
}

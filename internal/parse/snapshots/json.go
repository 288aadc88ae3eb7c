package snapshots

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// ReadJSON reads a JSON document that is no log: what kubectl, crictl and docker print with -o
// json, daemon.json, the kubelet's configz. Values one after the other are documents of their own.
//
//	{"kubeletconfig":{"cpuManagerPolicy":"static", …
func ReadJSON(in lines.Input) iter.Seq2[Datum, error] {
	return documentData(in, walkJSON)
}

// level is one table or list that is open while a document is walked.
type level struct {
	list bool
	n    int // elements so far
	key  bool
}

// maxNesting bounds the depth of a document. Kubernetes objects stay below 30.
const maxNesting = 100

// jsonWalk is the state of a walk over the tokens of a document.
type jsonWalk struct {
	*document
	*json.Decoder
	open  []level
	path  []string
	doc   int
	keyAt int // where the last key begins
}

// walkJSON yields every scalar of the document.
func walkJSON(d *document, yield func(Datum, error) bool) (skipped int, ok bool) {
	w := jsonWalk{document: d, Decoder: json.NewDecoder(bytes.NewReader(d.text))}
	w.UseNumber()
	for {
		before := int(w.InputOffset())
		t, err := w.Token()
		if errors.Is(err, io.EOF) && len(w.open) == 0 {
			return 0, true
		}
		if err == nil && len(w.open) > maxNesting {
			err = fmt.Errorf("nested deeper than %d", maxNesting)
		}
		if err != nil {
			return w.loseRest(err, yield)
		}
		if !w.takeToken(t, before, yield) {
			return 0, false
		}
	}
}

// loseRest names the rest of the document from the line on that cannot be read.
func (w *jsonWalk) loseRest(err error, yield func(Datum, error) bool) (skipped int, ok bool) {
	at := int(w.InputOffset())
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, yield(Datum{}, w.Skip(max(len(w.starts), 1), 0, "the document is cut: JSON ends inside a value"))
	}
	n := w.lineAt(min(at, max(len(w.text)-1, 0)))
	skipped = w.countFilled(n, len(w.starts))
	return skipped, yield(Datum{}, w.Skip(n, skipped, "not JSON from here on: %.200s", err))
}

// takeToken takes one token; before is where the one before it ended.
func (w *jsonWalk) takeToken(t json.Token, before int, yield func(Datum, error) bool) bool {
	if d, ok := t.(json.Delim); ok && (d == '}' || d == ']') {
		return w.closeLevel(yield)
	}
	if n := len(w.open); n > 0 && !w.open[n-1].list && !w.open[n-1].key {
		w.path = append(w.path, t.(string)) // the decoder takes nothing else for a key
		w.open[n-1].key = true
		w.keyAt = w.skipTo(before)
		return true
	}
	if n := len(w.open); n > 0 && w.open[n-1].list {
		w.path = append(w.path, strconv.Itoa(w.open[n-1].n))
		w.keyAt = w.skipTo(before)
	}
	value := ""
	switch t := t.(type) {
	case json.Delim:
		w.open = append(w.open, level{list: t == '['})
		return true
	case string:
		value = t
	case nil:
		value = "null"
	default:
		value = fmt.Sprint(t)
	}
	if len(w.open) == 0 {
		w.keyAt = w.skipTo(before)
	}
	return w.yieldValue(value, yield) && w.endValue()
}

// skipTo is the first byte from off on that is no white space, comma or colon.
func (w *jsonWalk) skipTo(off int) int {
	for off < len(w.text) && bytes.IndexByte([]byte(" \t\r\n,:"), w.text[off]) >= 0 {
		off++
	}
	return off
}

func (w *jsonWalk) yieldValue(value string, yield func(Datum, error) bool) bool {
	at := min(w.keyAt, max(len(w.text)-1, 0))
	n := w.lineAt(at)
	e := Datum{Pos: w.posOf(n), Doc: w.doc, Path: w.path, Value: value}
	e.Raw = w.quoteLine(n, at, int(w.InputOffset()))
	return yield(e, nil)
}

// endValue is called behind a value: its key is done, the list has one element more.
func (w *jsonWalk) endValue() bool {
	n := len(w.open)
	if n == 0 {
		w.doc++
		return true
	}
	w.path = w.path[:len(w.path)-1]
	w.open[n-1].n++
	w.open[n-1].key = false
	return true
}

// closeLevel ends a table or a list; an empty one is a value.
func (w *jsonWalk) closeLevel(yield func(Datum, error) bool) bool {
	last := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if last.n == 0 {
		value := "{}"
		if last.list {
			value = "[]"
		}
		if !w.yieldValue(value, yield) {
			return false
		}
	}
	return w.endValue()
}

// SniffJSON knows a JSON document. Lines of JSON are a log.
func SniffJSON(head []byte) float64 {
	head = bytes.TrimLeft(head, " \t\r\n\ufeff")
	if len(head) == 0 || head[0] != '{' && head[0] != '[' || bytes.Contains(head, []byte(`"__CURSOR"`)) {
		return 0
	}
	first, rest, _ := bytes.Cut(head, []byte{'\n'})
	if len(bytes.TrimSpace(rest)) == 0 {
		return oneLineJSON(first)
	}
	n := 0
	return lines.Share(head, func(line []byte) lines.Sign {
		n++
		starts := "}]"
		inner := bytes.TrimLeft(line, " \t")
		if len(inner) < len(line) {
			starts = `}]"{[-0123456789tfn`
		}
		begins := n == 1 && len(bytes.TrimSpace(line)) <= 2
		return lines.SignIf(begins || strings.IndexByte(starts, inner[0]) >= 0, lines.Proves)
	})
}

// oneLineJSON knows documents without line breaks by a name that logs do not have.
func oneLineJSON(line []byte) float64 {
	if logs.IsLogrus(line) || bytes.Contains(line, []byte(`"log":`)) {
		return 0
	}
	for _, name := range jsonNames {
		if bytes.Contains(line, []byte(name)) {
			return 1
		}
	}
	return 0
}

// jsonNames are keys of Kubernetes objects, configz, docker info, docker version, daemon.json,
// crictl info.
var jsonNames = []string{
	`"apiVersion":`, `"kubeletconfig":`, `"ServerVersion":`, `"Server":{`, `"storage-driver":`, `"exec-opts":`, `"log-driver":`, `"live-restore":`,
	`"runtimeApiVersion":`, `"lastCNILoadStatus"`, `"config":{"containerd":`,
}

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

// maxNesting bounds the depth of a document. Kubernetes objects stay below 30.
const maxNesting = 100

// jsonWalk is the state of a walk over the values of a document.
type jsonWalk struct {
	*document
	*json.Decoder
	yield func(Datum, error) bool
	path  []string
	doc   int
	start int  // where the key of the current value begins, or the value where it has none
	ended bool // yield was false
}

// walkJSON yields every scalar of the document.
func walkJSON(d *document, yield func(Datum, error) bool) (skipped int, ok bool) {
	w := jsonWalk{document: d, Decoder: json.NewDecoder(bytes.NewReader(d.text)), yield: yield}
	w.UseNumber()
	for ; ; w.doc++ {
		t, err := w.readToken()
		if errors.Is(err, io.EOF) {
			return 0, true
		}
		if err == nil {
			err = w.walkValue(t)
		}
		switch {
		case w.ended:
			return 0, false
		case err != nil:
			return w.skipRest(err)
		}
	}
}

// readToken reads a token that a value, or its key, begins with.
func (w *jsonWalk) readToken() (json.Token, error) {
	w.start = int(w.InputOffset())
	for w.start < len(w.text) && bytes.IndexByte([]byte(" \t\r\n,:"), w.text[w.start]) >= 0 {
		w.start++
	}
	return w.Token()
}

// walkValue yields the scalars of the value that t begins; an empty list or table is one.
func (w *jsonWalk) walkValue(t json.Token) (err error) {
	open, nested := t.(json.Delim)
	if !nested {
		return w.yieldValue(t)
	}
	if len(w.path) >= maxNesting {
		return fmt.Errorf("nested deeper than %d", maxNesting)
	}
	n := 0
	for ; w.More(); n++ {
		if t, err = w.readToken(); err != nil {
			return err
		}
		key := strconv.Itoa(n)
		if open == '{' {
			key = t.(string) // the decoder takes nothing else for a key
			if t, err = w.Token(); err != nil {
				return err
			}
		}
		w.path = append(w.path, key)
		if err = w.walkValue(t); err != nil || w.ended {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	if t, err = w.Token(); err != nil || n > 0 {
		return err
	}
	return w.yieldValue(string(open) + t.(json.Delim).String())
}

// yieldValue yields a scalar.
func (w *jsonWalk) yieldValue(value json.Token) error {
	if value == nil {
		value = "null"
	}
	at := min(w.start, max(len(w.text)-1, 0))
	n := w.lineAt(at)
	raw := w.quoteLine(n, at, int(w.InputOffset()))
	w.ended = !w.yield(Datum{Pos: w.posOf(n), Doc: w.doc, Path: w.path, Value: fmt.Sprint(value), Raw: raw}, nil)
	return nil
}

// skipRest names the rest of the document from the line on that cannot be read. Its lines of logs
// are read as such: a ticket holds both.
func (w *jsonWalk) skipRest(err error) (skipped int, ok bool) {
	at := int(w.InputOffset())
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, w.yield(Datum{}, w.Skip(max(len(w.starts), 1), 0, "the document is cut: JSON ends inside a value"))
	}
	n := w.lineAt(min(at, max(len(w.text)-1, 0)))
	own, ok := w.yieldLogLines(n, w.yield)
	if !ok {
		return 0, false
	}
	skipped = w.countFilled(n, len(w.starts))
	if skipped > own && !w.yield(Datum{}, w.Skip(n, skipped-own, "not JSON from here on: %.200s", err)) {
		return 0, false
	}
	return skipped, true
}

// SniffJSON knows a JSON document. Lines of JSON, and what an aggregator exported, are a log.
func SniffJSON(head *lines.Head) float64 {
	text := bytes.TrimLeft(head.Text, " \t\r\n\ufeff")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' || head.Holds(`"__CURSOR"`) || logs.SniffAggregated(head) > 0 || !beginsAsJSON(text) {
		return 0
	}
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	if len(bytes.TrimSpace(rest)) == 0 {
		return oneLineJSON(first)
	}
	if len(text) < len(head.Text) {
		head = lines.NewHead(text)
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

// beginsAsJSON says that a first value can be read, or a part of it, and that nothing but JSON
// follows it on its line. A bracket opens other things too: "[ 467.112195] ata2.00: …", "[Thu May 4
// …", "[ OK ] Started …".
func beginsAsJSON(head []byte) bool {
	const most = 3 // tokens, as of {"kind":"List": what is wrong behind them costs the rest, not all
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	for depth, n := 0, 0; n < most; n++ {
		t, err := d.Token()
		if err != nil { // a head may be cut inside a value
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			rest, _, _ := bytes.Cut(head[d.InputOffset():], []byte{'\n'})
			rest = bytes.TrimSpace(rest)
			return len(rest) == 0 || rest[0] == '{' || rest[0] == '['
		}
	}
	return true
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
	`"runtimeApiVersion":`, `"lastCNILoadStatus"`, `"config":{"containerd":`, `{"type":"NetworkReady"`, `{"type":"RuntimeReady"`,
	`"resultType":`, // of Prometheus
}

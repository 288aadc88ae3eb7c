package snapshots

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadYAML reads Kubernetes' YAML: objects as kubectl prints them with -o
// yaml, lists and documents behind one another, the kubelet's config.yaml.
//
//	kind: KubeletConfiguration
//	cpuManagerPolicy: static
//
// A document is read key by key and list element by list element at its left
// edge, so that what is broken in one costs no other, and memory stays small.
func ReadYAML(in lines.Input) iter.Seq2[Datum, error] {
	return documentData(in, func(d *document, yield func(Datum, error) bool) (skipped int, ok bool) {
		w := yamlWalk{document: d, yield: yield}
		ok = w.walkPieces()
		return w.skipped, ok
	})
}

// yamlWalk is the state of a pass over a document.
type yamlWalk struct {
	*document
	yield   func(Datum, error) bool
	doc     int
	key     string // the last key at the left edge, under which elements at the left edge stand
	element int    // of them, so far
	first   int    // line of the current piece
	skipped int
	path    []string
}

// maxPiece bounds a piece that is given to the YAML parser, and maxYAMLLine a line of it, in bytes.
// An object holds at most 1.5 MiB, and the parser takes the square of a line's length for some.
const (
	maxPiece    = 2 << 20
	maxYAMLLine = 64 << 10
)

// walkPieces cuts the file into pieces and reads each.
func (w *yamlWalk) walkPieces() bool {
	from := 1
	for n := 1; n <= len(w.starts)+1; n++ {
		line := w.lineBytes(n)
		separator := bytes.HasPrefix(line, []byte("---")) || bytes.Equal(line, []byte("..."))
		if n <= len(w.starts) && !separator && !startsPiece(line) {
			continue
		}
		if !w.readPiece(from, n-1) {
			return false
		}
		from = n
		if separator {
			from = n + 1
			w.doc++
			w.key, w.element = "", 0
		}
	}
	return true
}

// startsPiece says that a line begins a key or an element at the left edge.
func startsPiece(line []byte) bool {
	return len(line) > 0 && bytes.IndexByte([]byte(" \t#}]"), line[0]) < 0
}

// readPiece reads the lines from one to another, which hold one key or one element.
func (w *yamlWalk) readPiece(from, to int) bool {
	for from <= to && (lines.IsBlank(w.lineBytes(from)) || w.lineBytes(from)[0] == '#' && from < to) {
		from++
	}
	if from > to || lines.IsBlank(w.lineBytes(from)) || w.lineBytes(from)[0] == '#' {
		return true
	}
	text := w.text[w.starts[from-1]:]
	if to < len(w.starts) {
		text = w.text[w.starts[from-1]:w.starts[to]]
	}
	w.first = from
	file, err := readYAML(text)
	if err != nil {
		n := w.countFilled(from, to)
		w.skipped += n
		what, _, _ := strings.Cut(err.Error(), "\n")
		return w.yield(Datum{}, w.Skip(from, n, "not YAML: %.100s: %.60q", what, w.lineBytes(from)))
	}
	for _, doc := range file.Docs {
		if !w.readTop(doc.Body) {
			return false
		}
	}
	return true
}

// readYAML guards the parser: it recurses as deep as its input says.
func readYAML(text []byte) (file *ast.File, err error) {
	if len(text) > maxPiece {
		return nil, fmt.Errorf("longer than %d bytes", maxPiece)
	}
	if bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) > 50*maxNesting || tooDeep(text) {
		return nil, fmt.Errorf("nested deeper than %d, or a line longer than %d bytes", maxNesting, maxYAMLLine)
	}
	defer func() {
		if r := recover(); r != nil { // of a library, on hostile input
			file, err = nil, fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	return parser.ParseBytes(text, 0)
}

// tooDeep looks for a line that opens more levels than any object has, is indented by them, or too
// long.
func tooDeep(text []byte) bool {
	for line := range bytes.Lines(text) {
		indent := len(line) - len(bytes.TrimLeft(line, " \t"))
		marks := 0
		for word := range bytes.FieldsSeq(line) {
			if len(word) > 1 && word[0] != '!' && word[0] != '&' {
				break
			}
			marks++
		}
		if indent > 4*maxNesting || marks > maxNesting || len(line) > maxYAMLLine || bytes.Count(line, []byte(": ")) > maxNesting*10 {
			return true
		}
	}
	return false
}

// readTop puts a piece under the key that it belongs to.
func (w *yamlWalk) readTop(n ast.Node) bool {
	w.path = w.path[:0]
	switch n := n.(type) {
	case *ast.SequenceNode:
		if w.key != "" {
			w.path = append(w.path, w.key)
		}
		for _, v := range n.Values {
			if !w.yieldChild(strconv.Itoa(w.element), v) {
				return false
			}
			w.element++
		}
		return true
	case *ast.MappingNode:
		if len(n.Values) > 0 && n.Values[0].Key != nil {
			w.key, w.element = n.Values[0].Key.GetToken().Value, 0
			if _, empty := n.Values[0].Value.(*ast.NullNode); empty && len(n.Values) == 1 {
				return true // its elements stand at the left edge
			}
		}
	case *ast.MappingValueNode:
		w.key, w.element = n.Key.GetToken().Value, 0
		if _, empty := n.Value.(*ast.NullNode); empty {
			return true // its elements stand at the left edge
		}
	}
	return w.yieldNode(n)
}

func (w *yamlWalk) yieldChild(key string, n ast.Node) bool {
	w.path = append(w.path, key)
	ok := w.yieldNode(n)
	w.path = w.path[:len(w.path)-1]
	return ok
}

// yieldNode yields the scalars below n.
func (w *yamlWalk) yieldNode(n ast.Node) bool {
	if len(w.path) > maxNesting {
		return true
	}
	switch n := n.(type) {
	case nil:
		return true
	case *ast.MappingNode:
		for _, v := range n.Values {
			if !w.yieldNode(v) {
				return false
			}
		}
		return len(n.Values) > 0 || w.yieldScalar(n, "{}")
	case *ast.MappingValueNode:
		return n.Key == nil || n.Key.GetToken() == nil || w.yieldChild(n.Key.GetToken().Value, n.Value)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			if !w.yieldChild(strconv.Itoa(i), v) {
				return false
			}
		}
		return len(n.Values) > 0 || w.yieldScalar(n, "[]")
	case *ast.TagNode:
		return w.yieldNode(n.Value)
	case *ast.AnchorNode:
		return w.yieldNode(n.Value)
	case *ast.LiteralNode:
		return w.yieldScalar(n, n.Value.Value)
	case *ast.NullNode:
		return w.yieldScalar(n, "null")
	}
	if t := n.GetToken(); t != nil {
		return w.yieldScalar(n, t.Value)
	}
	return true
}

func (w *yamlWalk) yieldScalar(n ast.Node, value string) bool {
	line := w.first
	if t := n.GetToken(); t != nil && t.Position != nil && t.Position.Line > 0 {
		line = min(w.first+t.Position.Line-1, len(w.starts))
	}
	e := Datum{Pos: w.posOf(line), Doc: w.doc, Path: w.path, Value: value}
	e.Raw = lines.Clip(w.lineBytes(line))
	return w.yield(e, nil)
}

// SniffYAML knows Kubernetes' objects by the keys that all of them have.
func SniffYAML(head []byte) float64 {
	return lines.Share(head, func(line []byte) lines.Sign {
		element, isElement := bytes.CutPrefix(bytes.TrimLeft(line, " "), []byte("- "))
		name, _, isPair := bytes.Cut(bytes.TrimLeft(element, " "), []byte{':'})
		switch {
		case line[0] != ' ' && (string(name) == "apiVersion" || string(name) == "kind"):
			return lines.Proves
		case line[0] == ' ', line[0] == '#', isElement, bytes.HasPrefix(line, []byte("---")), isPair && isTOMLKey(name):
			return lines.Fits
		}
		return lines.Foreign
	})
}

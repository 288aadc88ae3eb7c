package snapshots

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

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
	return mixedData(in, func(d *document, yield func(Datum, error) bool) (skipped int, ok bool) {
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

// yamlErrorHead is how the YAML library begins an error: "yaml: line 10: found unexpected end of
// stream".
var yamlErrorHead = regexp.MustCompile(`^yaml: (line \d+: )?`)

// maxPiece bounds a piece that is given to the YAML parser, and maxYAMLLine a line of it, in bytes.
// An object holds at most 1.5 MiB.
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
	root, err := readYAML(text)
	if err != nil {
		root, err = readYAML(indentFirst(text))
	}
	if err != nil {
		n := w.countFilled(from, to)
		w.skipped += n
		what := yamlErrorHead.ReplaceAllString(err.Error(), "") // its line is one of the piece
		return w.yield(Datum{}, w.Skip(from, n, "not YAML: %.100s: %.60q", what, w.lineBytes(from)))
	}
	return w.readTop(root)
}

// indentFirst gives back to the first line of an element what it loses where somebody begins to
// copy at its mark or at its key, and not at the left edge:
//
//   - lastHeartbeatTime: "2021-05-17T12:23:34Z"
//     lastTransitionTime: "2021-05-17T12:15:08Z"
//   - lastHeartbeatTime: "2021-05-17T12:23:34Z"
func indentFirst(text []byte) []byte {
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	key := bytes.TrimPrefix(bytes.TrimLeft(first, " "), []byte("- "))
	next := bytes.TrimLeft(rest, "\r\n")
	indent := len(next) - len(bytes.TrimLeft(next, " "))
	if indent < len("- ") || len(first)-len(key) >= indent {
		return text
	}
	return slices.Concat(bytes.Repeat([]byte{' '}, indent-len("- ")), []byte("- "), key, []byte{'\n'}, rest)
}

// readYAML reads a piece; it returns nil when nothing is in it. It guards the parser, which
// recurses as deep as its input says.
func readYAML(text []byte) (root *yaml.Node, err error) {
	if len(text) > maxPiece {
		return nil, fmt.Errorf("longer than %d bytes", maxPiece)
	}
	if bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) > 50*maxNesting || isTooDeep(text) {
		return nil, fmt.Errorf("nested deeper than %d, or a line longer than %d bytes", maxNesting, maxYAMLLine)
	}
	defer func() {
		if r := recover(); r != nil { // of a library, on hostile input
			root, err = nil, fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) > 0 {
		root = document.Content[0]
	}
	return root, nil
}

// isTooDeep looks for a line that opens more levels than any object has, is indented by them, or
// too long.
func isTooDeep(text []byte) bool {
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
func (w *yamlWalk) readTop(n *yaml.Node) bool {
	w.path = w.path[:0]
	switch {
	case n == nil:
		return true
	case n.Kind == yaml.SequenceNode:
		if w.key != "" {
			w.path = append(w.path, w.key)
		}
		for _, v := range n.Content {
			if !w.yieldChild(strconv.Itoa(w.element), v) {
				return false
			}
			w.element++
		}
		return true
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		w.key, w.element = n.Content[0].Value, 0
		if len(n.Content) == 2 && n.Content[1].ShortTag() == "!!null" {
			return true // its elements stand at the left edge
		}
	}
	return w.yieldNode(n)
}

func (w *yamlWalk) yieldChild(key string, n *yaml.Node) bool {
	w.path = append(w.path, key)
	ok := w.yieldNode(n)
	w.path = w.path[:len(w.path)-1]
	return ok
}

// yieldNode yields the scalars below n.
func (w *yamlWalk) yieldNode(n *yaml.Node) bool {
	if len(w.path) > maxNesting {
		return true
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !w.yieldChild(n.Content[i].Value, n.Content[i+1]) {
				return false
			}
		}
		return len(n.Content) > 0 || w.yieldScalar(n, "{}")
	case yaml.SequenceNode:
		for i, v := range n.Content {
			if !w.yieldChild(strconv.Itoa(i), v) {
				return false
			}
		}
		return len(n.Content) > 0 || w.yieldScalar(n, "[]")
	case yaml.ScalarNode:
		if n.ShortTag() == "!!null" {
			return w.yieldScalar(n, "null")
		}
	}
	return w.yieldScalar(n, n.Value) // of an alias its name
}

func (w *yamlWalk) yieldScalar(n *yaml.Node, value string) bool {
	line := w.first
	if n.Line > 0 {
		line = min(w.first+n.Line-1, len(w.starts))
	}
	e := Datum{Pos: w.posOf(line), Doc: w.doc, Path: w.path, Value: value}
	e.Raw = lines.Clip(w.lineBytes(line))
	return w.yield(e, nil)
}

// heartbeat is a key that only the conditions of a node have: they are cut out of it for tickets.
const heartbeat = "lastHeartbeatTime"

// SniffYAML knows Kubernetes' objects by the keys that all of them have, and conditions of a node.
// No line of YAML begins with a backquote: between the fences of a ticket stands more than YAML.
func SniffYAML(head *lines.Head) float64 {
	if !head.MayHold("apiVersion", "kind", heartbeat) || head.Holds("\n```") {
		return 0
	}
	return lines.Share(head, func(line []byte) lines.Sign {
		element, isElement := bytes.CutPrefix(bytes.TrimLeft(line, " "), []byte("- "))
		name, _, isPair := bytes.Cut(bytes.TrimLeft(element, " "), []byte{':'})
		switch {
		case line[0] != ' ' && (string(name) == "apiVersion" || string(name) == "kind"):
			return lines.Proves
		case isPair && string(name) == heartbeat:
			return lines.Proves
		case line[0] == ' ', line[0] == '#', isElement, bytes.HasPrefix(line, []byte("---")), isPair && isTOMLKey(name):
			return lines.Fits
		}
		return lines.Foreign
	})
}

package snapshots

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// ReadOutline reads "Name: value" with sections by indentation, as kubectl describe, docker info,
// docker version, ctr version, crictl version, hostnamectl and timedatectl print it:
//
//	Server:
//	 Engine:
//	  Version:          20.10.24
//
// Tables inside (the conditions and events of describe) have rows with fields; other lines are
// values of their section.
func ReadOutline(in lines.Input) iter.Seq2[Datum, error] {
	var o outline
	return lineData(in, func(line []byte) (Datum, bool) { return o.readLine(string(line)) })
}

// outline is the place in the sections of a file.
type outline struct {
	keys    []string
	indents []int
	path    []string
}

func (o *outline) readLine(line string) (Datum, bool) {
	if fields, ok := cutDescribeRow(line); ok {
		return Datum{Path: o.pathTo(""), Fields: fields}, true
	}
	line = plainRow(line)
	text := strings.TrimLeft(line, " \t")
	if IsObjectHead(text) {
		return Datum{}, true
	}
	indent := len(line) - len(text)
	o.leaveDeeper(indent)
	key, value, ok := strings.Cut(text, ":")
	if !ok || value != "" && value[0] != ' ' && value[0] != '\t' || len(key) > 60 || key == "" {
		return Datum{Path: o.pathTo(""), Value: strings.TrimSpace(text)}, len(o.keys) > 0
	}
	key = strings.TrimRight(key, " ") // chronyc has a blank before its colons
	e := Datum{Path: o.pathTo(key), Value: strings.TrimSpace(value)}
	o.keys, o.indents = append(o.keys, key), append(o.indents, indent)
	return e, true
}

// leaveDeeper ends the sections that a line of that indentation is not part of.
func (o *outline) leaveDeeper(indent int) {
	for n := len(o.indents); n > 0 && o.indents[n-1] >= indent; n-- {
		o.keys, o.indents = o.keys[:n-1], o.indents[:n-1]
	}
}

// pathTo is the path of a key in the current section, or of the section itself.
func (o *outline) pathTo(key string) []string {
	o.path = append(o.path[:0], o.keys...)
	if key != "" {
		o.path = append(o.path, key)
	}
	return o.path
}

// cutDescribeRow cuts a row of describe's tables: of conditions, or of events.
func cutDescribeRow(line string) (fields []event.Pair, ok bool) {
	if fields, ok = CutCondition(line); ok {
		return fields, true
	}
	return CutEvent(line)
}

// IsObjectHead knows the headers of describe's tables of conditions and events, and the dashes
// below them.
func IsObjectHead(text string) bool {
	words := strings.Fields(text)
	has := func(name string) bool { return slices.Contains(words, name) }
	return len(words) >= 4 && (has("Type") && has("Reason") && has("Message") || strings.Trim(text, "- \t") == "")
}

// outlineNames are the beginnings of lines by which an outline is recognized.
var outlineNames = []string{
	// kubectl describe node
	"Roles:", "Conditions:", "System Info:", "Kubelet Version:", "Container Runtime Version:",
	// docker info, docker version
	"Server Version:", "Storage Driver:", "Containers:", "Git commit:", "API version:",
	"Revision:", "RuntimeName:", "RuntimeVersion:", // ctr version, crictl version
	"Static hostname:", "Operating System:", // hostnamectl
	"Universal time:",              // timedatectl
	"Reference ID", "Leap status ", // chronyc tracking
}

var outlineWords = lines.NewLiterals(outlineNames)

// SniffOutline wants one of outlineNames.
func SniffOutline(head *lines.Head) float64 {
	if !outlineWords.Match(head.Text) {
		return 0
	}
	var o outline
	return lines.Share(head, func(line []byte) lines.Sign {
		if logs.HasHeader(line) || bytes.HasPrefix(line, []byte("goroutine ")) {
			return lines.Foreign
		}
		text := bytes.TrimLeft(line, " \t")
		e, ok := o.readLine(string(line))
		_, value, pair := bytes.Cut(text, []byte{':'})
		switch {
		case lines.StartsWith(text, outlineNames...):
			return lines.Proves
		case ok && (len(e.Fields) > 0 || IsObjectHead(string(text)) || pair && (len(value) == 0 || value[0] == ' ' || value[0] == '\t')):
			return lines.Fits // what stands in a section without a name may be anything
		}
		return lines.Foreign
	})
}

package snapshots

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// RPCFormat is the value of RPC.Format, the name of plegdiag's own format of calls that collect
// made: JSON lines. Fields are added, never renamed. docs/collecting.md describes it.
const RPCFormat = "plegdiag.rpcs/v1"

// RPC is one question that collect asked a daemon, and whether there was an answer.
type RPC struct {
	Format    string    `json:"format"`
	API       string    `json:"api"` // cri, docker, dbus
	Endpoint  string    `json:"endpoint"`
	Method    string    `json:"method"`
	Container string    `json:"container,omitempty"`
	Sandbox   string    `json:"sandbox,omitempty"`
	Start     time.Time `json:"start"`
	// Seconds is how long it took to the answer, or to the end of the wait.
	Seconds  float64           `json:"seconds"`
	Deadline float64           `json:"deadline"` // seconds
	Answered bool              `json:"answered"` // an error is an answer, too
	Error    string            `json:"error,omitempty"`
	Detail   map[string]string `json:"detail,omitempty"`
}

// ReadCollected reads what collect writes about its own work: the manifest of a bundle, one line
// for each item, and calls.
//
//	{"schema":"plegdiag.bundle/v1","tool":"0.1.0","node":"node-1",…,"items":[
//	{"name":"proc/loadavg","step":"node","outcome":"ok",…},
//	{"format":"plegdiag.rpcs/v1","api":"cri","method":"ContainerStatus","container":"40585f…","start":"…","seconds":10.0,"deadline":10,"answered":false}
//
// A datum's path is "bundle", "item" or "rpc"; its fields are those of the line, a list of words as
// its words, and detail.NAME.
func ReadCollected(in lines.Input) iter.Seq2[Datum, error] {
	return lineData(in, readCollectedLine)
}

func readCollectedLine(line []byte) (Datum, bool) {
	text := strings.TrimSpace(string(line))
	if text == "]}" {
		return Datum{}, true
	}
	kind := "item"
	switch {
	case strings.HasPrefix(text, bundleHead):
		kind = "bundle"
		text = strings.TrimSuffix(text, "[") + "null}"
		text = strings.Replace(text, "]}null}", "]}", 1) // a bundle without items
	case strings.HasPrefix(text, rpcHead):
		kind = "rpc"
	case !strings.HasPrefix(text, itemHead):
		return Datum{}, false
	}
	var fields map[string]any
	dec := json.NewDecoder(strings.NewReader(strings.TrimSuffix(text, ",")))
	dec.UseNumber()
	if dec.Decode(&fields) != nil {
		return Datum{}, false
	}
	d := Datum{Path: []string{kind}}
	addPairs(&d, "", fields)
	return d, true
}

// addPairs appends the scalars of an object, and its lists of words.
func addPairs(d *Datum, prefix string, fields map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[name].(type) {
		case string:
			d.Fields = append(d.Fields, event.Pair{Key: prefix + name, Value: v})
		case json.Number, bool:
			d.Fields = append(d.Fields, event.Pair{Key: prefix + name, Value: fmt.Sprint(v)})
		case []any: // of a stack; blanks between its lines
			if lines := joinWords(v); lines != "" {
				d.Fields = append(d.Fields, event.Pair{Key: prefix + name, Value: lines})
			}
		case map[string]any:
			if prefix == "" {
				addPairs(d, name+".", v)
			}
		}
	}
}

// joinWords is a list of text as one; empty when it holds anything else.
func joinWords(list []any) string {
	all := make([]string, len(list))
	for i := range list {
		word, ok := list[i].(string)
		if !ok {
			return ""
		}
		all[i] = word
	}
	return strings.Join(all, " ")
}

// How the lines begin: fields are written in this order.
const (
	bundleHead = `{"schema":"plegdiag.bundle/`
	rpcHead    = `{"format":"plegdiag.rpcs/`
	itemHead   = `{"name":"`
)

// SniffCollected knows the files that collect writes by their first line.
func SniffCollected(head *lines.Head) float64 {
	if lines.StartsWith(head.Text, bundleHead, rpcHead) {
		return 1
	}
	return 0
}

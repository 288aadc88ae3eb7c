package bundle

import (
	"bytes"
	"encoding/json"
	"time"
)

// ManifestSchema is the value of Manifest.Schema. Fields are added, never renamed.
const ManifestSchema = "plegdiag.bundle/v1"

// ManifestName is the name of the manifest in the root folder of a bundle. It is written last:
// sizes and sums stand in it.
const ManifestName = "manifest.json"

// Outcome says what became of one thing that was to be collected.
type Outcome string

// The outcomes. Whatever is not OK has a reason in Item.Why, except Empty.
const (
	OK      Outcome = "ok"
	Empty   Outcome = "empty"   // it is there and holds nothing
	Denied  Outcome = "denied"  // permission was refused
	Absent  Outcome = "absent"  // the node has no such thing
	Failed  Outcome = "failed"  // it answered with an error
	Timeout Outcome = "timeout" // no answer within the bound; whoever asked could be ended
	Stuck   Outcome = "stuck"   // no answer, and whoever asked is in uninterruptible sleep; Item.WChan names where
	Skipped Outcome = "skipped" // it was not tried
	Capped  Outcome = "capped"  // a limit of size cut it
)

// Item is one thing that was to be collected, and what became of it.
type Item struct {
	Name    string    `json:"name"`             // path below the root folder; of what gave no file, the one it would have had
	Step    string    `json:"step"`             // of the plan, as --only and --skip name it
	Source  string    `json:"source,omitempty"` // file, socket or command that it was read from
	Outcome Outcome   `json:"outcome"`
	Why     string    `json:"why,omitempty"`
	WChan   string    `json:"wchan,omitempty"` // kernel function in which the helper waited
	Stack   []string  `json:"stack,omitempty"` // of that helper's thread, innermost first
	Start   time.Time `json:"start,omitzero"`
	End     time.Time `json:"end,omitzero"`
	Bytes   int64     `json:"bytes"`             // as stored
	Dropped int64     `json:"dropped,omitempty"` // bytes that a limit left out
	SHA256  string    `json:"sha256,omitempty"`  // of the file as stored; empty where there is no file
	// Redacted is how many values were replaced by tokens.
	Redacted int `json:"redacted,omitempty"`
}

// Helper is a process that could not be ended and was left behind.
type Helper struct {
	PID   int    `json:"pid"`
	Task  string `json:"task"`
	WChan string `json:"wchan,omitempty"`
}

// Manifest says what a bundle holds and what it could not hold.
type Manifest struct {
	Schema    string    `json:"schema"`
	Tool      string    `json:"tool"` // version of plegdiag
	Node      string    `json:"node"`
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	Redaction bool      `json:"redaction"`
	// Replaced has every rule of redaction that ran, and how many values it replaced.
	Replaced map[string]int `json:"replaced,omitempty"`
	Sealed   string         `json:"sealed,omitempty"` // why it ended before its plan did; empty when it did not
	Left     []Helper       `json:"left_behind,omitempty"`
	Items    []Item         `json:"items"`
}

// Encode writes the manifest with one line for each item, so that a line can be quoted as evidence.
func (m *Manifest) Encode() ([]byte, error) {
	items := m.Items
	head := *m
	head.Items = nil
	first, err := json.Marshal(&head)
	if err != nil {
		return nil, err
	}
	first, _ = bytes.CutSuffix(first, []byte("null}"))
	var out bytes.Buffer
	out.Write(first)
	out.WriteByte('[')
	for i := range items {
		line, err := json.Marshal(&items[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(line)
	}
	out.WriteString("\n]}\n")
	return out.Bytes(), nil
}

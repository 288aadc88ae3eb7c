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
	Skipped Outcome = "skipped" // it was not tried, or given up because the collection ended early
	Capped  Outcome = "capped"  // a limit of size cut it, or the early end of the collection
)

// Item is one thing that was to be collected, and what became of it.
type Item struct {
	Name    string    `json:"name"`              // path below the root folder; of what gave no file, the one it would have had
	Step    string    `json:"step"`              // of the plan, as --only and --skip name it
	Source  string    `json:"source,omitempty"`  // file, socket or command that it was read from
	Outcome Outcome   `json:"outcome"`           // what became of it
	Why     string    `json:"why,omitempty"`     // what is wrong; absent if it is ok or empty
	WChan   string    `json:"wchan,omitempty"`   // kernel function in which the helper waited
	Stack   []string  `json:"stack,omitempty"`   // of that helper's thread, innermost first
	Start   time.Time `json:"start,omitzero"`    // of collecting it
	End     time.Time `json:"end,omitzero"`      // of collecting it
	Bytes   int64     `json:"bytes"`             // as stored
	Dropped int64     `json:"dropped,omitempty"` // bytes that a limit left out
	SHA256  string    `json:"sha256,omitempty"`  // of the file as stored; empty where there is no file
	// How many values were replaced by tokens.
	Redacted int `json:"redacted,omitempty"`
}

// Helper is a process that could not be ended and was left behind.
type Helper struct {
	PID   int    `json:"pid"`             // of the process
	Task  string `json:"task"`            // what it was to do
	WChan string `json:"wchan,omitempty"` // kernel function in which it waits
}

// DumpFile is a file that a daemon of the node wrote because the collection sent it a signal.
type DumpFile struct {
	Path    string `json:"path"`           // as the daemon sees it
	Writer  string `json:"writer"`         // its program
	PID     int    `json:"pid"`            // of the daemon
	Bytes   int64  `json:"bytes"`          // its size
	Item    string `json:"item,omitempty"` // that is its copy; empty when there is none
	Removed bool   `json:"removed"`        // it was removed from the node
	Why     string `json:"why,omitempty"`  // why it is not copied, or not removed
}

// Manifest says what a bundle holds and what it could not hold.
type Manifest struct {
	Schema    string    `json:"schema"`    // which document this is
	Tool      string    `json:"tool"`      // version of plegdiag
	Node      string    `json:"node"`      // host name
	Start     time.Time `json:"start"`     // of the collection
	End       time.Time `json:"end"`       // of the collection
	Redaction bool      `json:"redaction"` // secrets were replaced by tokens
	// Which machine of a fleet the node is: zone, region, instance-type, instance-id,
	// provider-id, image, platform, as far as they are known.
	Fleet map[string]string `json:"fleet,omitempty"`
	// Who was asked: "kubernetes" is the API server; empty is the node itself.
	Via string `json:"via,omitempty"`
	// How many seconds the node's clock is ahead of that of the machine that collected;
	// it has been added to all times. 0 when it is the same, or not known.
	ClockOffset float64 `json:"clock_offset,omitempty"`
	// By how many seconds the node's clock was set forward meanwhile; 0 when it was not.
	ClockStep float64 `json:"clock_step,omitempty"`
	// Every rule of redaction that ran, and how many values it replaced.
	Replaced map[string]int `json:"replaced,omitempty"`
	// Why it ended before its plan did, or left something out; empty when it did not.
	Sealed string `json:"sealed,omitempty"`
	// How many seconds after the start it ended early; 0 when it went on to the end.
	SealedAfter float64 `json:"sealed_after,omitempty"`
	// The steps of which something is missing because of that.
	Missing   []string   `json:"missing,omitempty"`
	Left      []Helper   `json:"left_behind,omitempty"` // processes that could not be ended
	DumpFiles []DumpFile `json:"dump_files,omitempty"`  // files that daemons wrote because they were sent a signal
	Items     []Item     `json:"items"`                 // in the order in which they were collected
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

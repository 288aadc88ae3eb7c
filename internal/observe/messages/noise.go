package messages

import (
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// noiseTable is what frightens readers and means nothing for relist: each line is known, why it is
// harmless stands beside it. It is read for every known writer; of each sort one event is kept per
// file, which counts the others.
var noiseTable = table{rows: noiseRows()}

// noises are sorts of harmless lines. A line is of a sort when it holds one of the literals, and
// all of also.
var noises = []struct {
	name     string
	literals []string
	also     []string
	but      []string // it is no noise with any of these
	why      string
	until    time.Duration // a row of such lines that lasts longer is no noise; 0 for any length
}{
	{
		name: "status check pending", until: time.Minute,
		literals: []string{"container runtime status check may not have completed yet"},
		but:      []string{"pleg was last seen active"}, why: "normal while a kubelet starts",
	},
	{
		name: "PLEG: Write status", literals: []string{"PLEG: Write status"}, but: []string{"err="},
		why: "a slip of kubelet 1.21 and 1.22: logged as an error, and none",
	},
	{
		name: "systemd test slice", literals: []string{"_systemd_test_default.slice"},
		why: "an old runc probes systemd at each start; a hint for used-up serials, and no failure",
	},
	{name: "cgroup deleted", literals: []string{"cgroups: cgroup deleted"}, why: "metrics were read while the container ended"},
	{
		name:     "shim disconnected",
		literals: []string{"shim disconnected", "cleaning up dead shim", "shim reaped"},
		why:      "what a container's end looks like",
	},
	{
		name: "event ignored", literals: []string{"ignoring event"}, also: []string{"topic="},
		why: "dockerd on events that it needs not",
	},
	{name: "closed fifo", literals: []string{"reading from a closed fifo"}, why: "a client of logs or exec went away"},
	{
		name: "TLS handshake", literals: []string{"TLS handshake error from"},
		why: "somebody connected and left: a scanner, a health check, an API server that reconnects",
	},
	{
		name: "already deleted", literals: []string{"failed to delete task"}, also: []string{"not found"},
		but: []string{"deadline"}, why: "it was gone already",
	},
}

func noiseRows() []row {
	var rows []row
	for _, n := range noises {
		rows = append(rows, row{n.literals, func(r *event.Record) (event.Event, bool) {
			for _, part := range n.also {
				if !strings.Contains(r.Raw, part) {
					return event.Event{}, false
				}
			}
			return event.New(
				event.KindNoise, n.name+": "+n.why, event.FieldName.Text(n.name),
				event.FieldWhy.Text(n.why), event.FieldCount.Int(1),
			), !scan.ContainsAny(r.Raw, n.but)
		}})
	}
	return rows
}

// CountNoise adds another line to an event of noise. Row is how long such lines have followed each
// other without a pause.
func CountNoise(e *event.Event, row time.Duration) {
	for i := range e.Fields {
		if e.Fields[i].Key == event.FieldCount {
			n, _ := e.Fields[i].Value.Number()
			e.Fields[i].Value = event.Int(int64(n) + 1)
		}
	}
	if row < time.Minute { // no sort may go on for less
		return
	}
	name, _ := e.Get(event.FieldName)
	for i := range noises {
		if n := &noises[i]; n.name == name.Text() && n.until > 0 && row > n.until {
			lasted, _ := e.Get(event.FieldLasted)
			if was, _ := lasted.Number(); row.Seconds() > was {
				e.Fields = slices.DeleteFunc(
					slices.Clone(e.Fields), func(f event.Field) bool { return f.Key == event.FieldLasted },
				)
				e.AddFields(event.FieldLasted.Duration(row))
			}
		}
	}
}

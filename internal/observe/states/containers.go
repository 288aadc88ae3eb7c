package states

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// containerObjects reads the states of containers in what docker inspect, crictl inspect and crictl
// ps -o json print:
//
//	[{"Id": "40585f73…", "State": {"Status": "removing", …
//	{"status": {"id": "40585f73…", "metadata": {"name": "web"}, "state": "CONTAINER_UNKNOWN", …
//	{"containers": [{"id": "40585f73…", "podSandboxId": "…", "metadata": {"name": "web"}, "state": "CONTAINER_UNKNOWN", …
type containerObjects struct {
	id, sandbox, name string
}

// objectStates are the states that do not last, or should not, as the listings of the same programs
// print them.
var objectStates = map[string]string{
	"CONTAINER_UNKNOWN": "Unknown", "dead": "Dead", "removing": "Removal In Progress", "paused": "paused",
}

func (c *containerObjects) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	p := e.Path
	switch {
	case len(p) > 1 && p[0] == "status":
		p = p[1:]
	case len(p) > 2 && p[0] == "containers":
		p = p[2:]
	case len(p) > 1 && strings.Trim(p[0], "0123456789") == "":
		p = p[1:]
	default:
		return dst
	}
	switch strings.Join(p, ".") {
	case "id", "Id":
		*c = containerObjects{id: scan.ContainerID(e.Value)}
	case "podSandboxId":
		c.sandbox = e.Value
	case "metadata.name":
		c.name = e.Value
	case "state", "State.Status":
		state := objectStates[e.Value]
		if state == "" || c.id == "" || len(dst) >= maxListed {
			return dst
		}
		ev := event.Event{
			Kind: event.KindContainerState, Component: "node", Source: facts.Node,
			Text:     "container " + scan.Short(c.id) + " is in the state " + e.Value,
			Fields:   []event.Field{event.FieldState.Text(state), event.FieldName.Text(c.name)},
			Evidence: []event.Quote{e.Quote()},
		}
		ev.IDs.Container, ev.IDs.Sandbox = c.id, c.sandbox
		return append(dst, ev)
	}
	return dst
}

package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// linkShims gives threads of shims that were seen taking a mount down the container
// they do it for. A sample knows no path, but its process: containerd's log says
// which sandbox that shim is of, or which container with docker, and a shim takes a root file system down when its
// container has exited. Where several have, or none, nothing is linked.
func linkShims(events []*event.Event) {
	l := shimLinker{starts: map[int][]*event.Event{}, members: map[string][]string{}, exits: map[string][]*event.Event{}}
	for _, e := range events {
		switch id := e.IDs.Container; e.Kind {
		case "shim.start":
			l.starts[e.IDs.PID] = append(l.starts[e.IDs.PID], e)
		case "containerd.created":
			if id != "" && e.IDs.Sandbox != "" && !slices.Contains(l.members[e.IDs.Sandbox], id) {
				l.members[e.IDs.Sandbox] = append(l.members[e.IDs.Sandbox], id)
			}
		case "containerd.task-exit":
			l.exits[id] = append(l.exits[id], e)
		}
	}
	if len(l.starts) == 0 {
		return
	}
	for _, e := range events {
		if isSighting(e) && e.IDs.PID != 0 && e.IDs.Container == "" && isUnmounting(e) {
			l.linkContainer(e)
		}
	}
}

// takesMountDown says that a thread was seen in umount, by the name of its call or by its stack.
func isUnmounting(e *event.Event) bool {
	name := fieldText(e, "name")
	return name == "umount2" || name == "umount" || strings.Contains(fieldText(e, "stack"), "cleanup_mnt")
}

type shimLinker struct {
	starts  map[int][]*event.Event    // of shims, by pid, in the order of time
	members map[string][]string       // containers of a sandbox
	exits   map[string][]*event.Event // of a container
}

// A shim unmounts within milliseconds of the exit; a minute holds the order of stamps and a node that hangs.
const (
	beforeUmount = time.Minute
	afterUmount  = 2 * time.Second
)

func (l *shimLinker) linkContainer(e *event.Event) {
	var shim *event.Event
	for _, s := range l.starts[e.IDs.PID] { // a pid may have been another shim's before
		if e.Start.IsZero() || s.Start.IsZero() || !s.Start.T.After(e.Start.T) {
			shim = s
		}
	}
	if shim == nil {
		return
	}
	id := shim.IDs.Container
	var found *event.Event
	for _, member := range append(slices.Clone(l.members[id]), id) {
		for _, exit := range l.exits[member] {
			if !e.Start.IsZero() && !exit.Start.IsZero() && (exit.Start.T.Before(e.Start.T.Add(-beforeUmount-samplePause(e))) || exit.Start.T.After(e.Start.T.Add(afterUmount))) {
				continue
			}
			if found != nil && found.IDs.Container != member {
				return
			}
			found = exit
		}
	}
	if found == nil {
		return
	}
	e.IDs.Container = found.IDs.Container
	e.Fields = setField(e.Fields, event.Field{Key: "container_from", Value: event.String("the only container of shim " + fieldText(e, "pid") + " that had just exited")})
}

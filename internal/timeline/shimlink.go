package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// linkShims finds the container for which a shim's thread unmounts. A sample has the process, but
// no path. containerd's log says which sandbox (with docker: which container) a shim is for, and a
// shim unmounts a root file system when its container has exited. Where several containers have
// exited, or none, nothing is linked.
func linkShims(events []*event.Event) {
	var unmounts []*event.Event
	for _, e := range events {
		if isSighting(e) && e.IDs.PID != 0 && e.IDs.Container == "" && isUnmounting(e) {
			unmounts = append(unmounts, e)
		}
	}
	if len(unmounts) == 0 {
		return
	}
	l := shimLinker{
		starts: map[int][]*event.Event{}, members: map[string][]string{},
		exits: map[string][]*event.Event{},
	}
	for _, e := range events {
		switch id := e.IDs.Container; e.Kind {
		case event.KindShimStart:
			l.starts[e.IDs.PID] = append(l.starts[e.IDs.PID], e)
		case event.KindCreated:
			if id != "" && e.IDs.Sandbox != "" && !slices.Contains(l.members[e.IDs.Sandbox], id) {
				l.members[e.IDs.Sandbox] = append(l.members[e.IDs.Sandbox], id)
			}
		case event.KindTaskExit:
			l.exits[id] = append(l.exits[id], e)
		}
	}
	for _, e := range unmounts {
		l.linkContainer(e)
	}
}

// isUnmounting says that a thread was seen in umount, by the name of its call or by its stack.
func isUnmounting(e *event.Event) bool {
	name := e.FieldText(event.FieldName)
	return name == "umount2" || name == "umount" || strings.Contains(e.FieldText(event.FieldStack), "cleanup_mnt")
}

type shimLinker struct {
	starts  map[int][]*event.Event    // of shims, by pid, in the order of time
	members map[string][]string       // containers of a sandbox
	exits   map[string][]*event.Event // of a container
}

// A shim unmounts within milliseconds after the exit. A minute allows for inexact stamps and for a
// node that hangs.
const (
	beforeUmount = time.Minute
	afterUmount  = 2 * time.Second
)

func (l *shimLinker) linkContainer(e *event.Event) {
	var shim *event.Event
	for _, s := range l.starts[e.IDs.PID] { // an earlier shim can have had the same pid
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
			if !e.Start.IsZero() && !exit.Start.IsZero() &&
				(exit.Start.T.Before(e.Start.T.Add(-beforeUmount-samplePause(e))) ||
					exit.Start.T.After(e.Start.T.Add(afterUmount))) {
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
	e.SetField(event.FieldContainerFrom.Text("the only container of shim " + e.FieldText(event.FieldPID) + " that had just exited"))
}

// Package links gives goroutines and pods the containers that other lines name: a dump shows
// addresses and no ids, a memory cgroup shows ids and no name.
package links

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/waits"
)

// LinkGoroutines finds the container that a goroutine works on. A dump has addresses and no ids, so
// the id comes from the log: of the call that the goroutine serves, if exactly one such call was
// open at the moment of the dump. Every goroutine of the dump with the same address of a container
// id gets the same container, and so do the waiters of a lock whose holder has one. Where two
// containers are possible, nothing is linked.
func LinkGoroutines(events []*event.Event) {
	l := linker{
		calls: callsByMethod(events), open: map[request][]*event.Event{},
		objects: map[request]map[string]bool{},
	}
	var goroutines []*event.Event
	for _, e := range events {
		if e.IDs.Goroutine != 0 {
			goroutines = append(goroutines, e)
			l.countObject(e)
		}
	}
	for _, e := range goroutines {
		call := l.findOnlyCall(e)
		if call == nil {
			continue
		}
		if e.IDs.Container == "" {
			adoptContainer(e, call, waits.ByOnlyCall)
		}
		if call.Kind == event.KindCRICall && !call.Begun {
			e.RaiseStart(call.Start.T)
		}
	}
	spreadContainers(goroutines, func(e *event.Event) (address string, gives bool) {
		return e.FieldText(event.FieldIDPtr), true
	}, "same container id address as goroutine ")
	spreadContainers(goroutines, func(e *event.Event) (address string, gives bool) {
		return e.IDs.Lock, e.Kind == event.KindLockHeld
	}, "same lock as goroutine ")
}

// request is what goroutines of one dump serve: a method of the CRI, or the creation of a
// container.
type request struct {
	dump
	method string
}

// dump identifies a dump: goroutines and addresses of different dumps are not the same.
type dump struct {
	file string
	at   time.Time
}

func dumpOf(e *event.Event) dump { return dump{e.Pos().File, e.Last().T} }

// createMethod is the method of a goroutine that waits for the creation of a container, whatever
// request it serves.
const createMethod = "\x00create"

// requestsOf are the requests that a goroutine can serve, the surest first.
func requestsOf(e *event.Event) []request {
	var all []request
	if e.Last().IsZero() {
		return nil
	}
	if method := e.FieldText(event.FieldCall); method != "" {
		all = append(all, request{dumpOf(e), method})
	}
	// otherwise another goroutine called it
	if e.FieldText(event.FieldRPC) == "Create" && e.FieldText(event.FieldThrough) == "" {
		all = append(all, request{dumpOf(e), createMethod})
	}
	return all
}

type linker struct {
	calls   map[string][]*event.Event   // intervals from logs, by method
	open    map[request][]*event.Event  // cache: those that were open at the dump
	objects map[request]map[string]bool // what the goroutines that serve the request work on
}

// countObject records what a goroutine works on, as far as the dump shows it.
func (l *linker) countObject(e *event.Event) {
	object := cmp.Or(e.FieldText(event.FieldIDPtr), e.FieldText(event.FieldGoroutine))
	for _, r := range requestsOf(e) {
		if l.objects[r] == nil {
			l.objects[r] = map[string]bool{}
		}
		l.objects[r][object] = true
	}
}

// callsByMethod returns the intervals from logs that a goroutine can serve.
func callsByMethod(events []*event.Event) map[string][]*event.Event {
	calls := map[string][]*event.Event{}
	for _, e := range events {
		switch {
		case e.IDs.Container == "" || e.Start.IsZero():
		case e.Kind == event.KindCRICall:
			method := e.FieldText(event.FieldMethod)
			calls[method] = append(calls[method], e)
		case e.Kind == event.KindScopeStart:
			calls[createMethod] = append(calls[createMethod], e)
		}
	}
	return calls
}

// findOnlyCall returns the call that a goroutine serves. It is nil where no call was open, where
// calls for several containers were, or where there were fewer calls than goroutines that serve
// one.
func (l *linker) findOnlyCall(e *event.Event) *event.Event {
	for _, r := range requestsOf(e) {
		open, asked := l.open[r]
		if !asked {
			for _, call := range l.calls[r.method] {
				if spansMoment(call, r.at) {
					open = append(open, call)
				}
			}
			l.open[r] = open
		}
		if len(open) == 0 {
			continue
		}
		several := slices.ContainsFunc(open,
			func(other *event.Event) bool { return other.IDs.Container != open[0].IDs.Container })
		if several || len(l.objects[r]) > len(open) {
			return nil
		}
		return open[0]
	}
	return nil
}

// spansMoment says whether an interval contains a moment. A second of slack allows for stamps
// without fractions.
func spansMoment(e *event.Event, t time.Time) bool {
	return !e.Start.T.Add(-time.Second).After(t) && !e.Last().T.Add(time.Second).Before(t)
}

// spreadContainers copies the container from goroutines that give it to the others of the same dump
// with the same address, if all that give one agree.
func spreadContainers(goroutines []*event.Event, address func(*event.Event) (address string, gives bool), how string) {
	type object struct {
		dump
		address string
	}
	givers := map[object]*event.Event{}
	for _, e := range goroutines {
		a, gives := address(e)
		if a == "" || !gives || e.IDs.Container == "" {
			continue
		}
		o := object{dumpOf(e), a}
		if known, seen := givers[o]; !seen {
			givers[o] = e
		} else if known != nil && known.IDs.Container != e.IDs.Container {
			givers[o] = nil
		}
	}
	for _, e := range goroutines {
		a, _ := address(e)
		if from := givers[object{dumpOf(e), a}]; from != nil && e.IDs.Container == "" {
			adoptContainer(e, from, how+from.FieldText(event.FieldGoroutine))
		}
	}
}

func adoptContainer(e, from *event.Event, how string) {
	e.IDs.Container, e.IDs.Sandbox, e.IDs.Pod = from.IDs.Container, from.IDs.Sandbox, from.IDs.Pod
	e.SetField(event.FieldContainerFrom.Text(how))
}

// LinkPods names the pods of memory cgroups: the path of one holds the uid of its pod, or a
// container, and other events tell whose it is. Where they do not agree, none is named.
func LinkPods(events []*event.Event) {
	names := map[string]string{} // by uid or container, of those that are asked for
	for _, e := range events {
		if e.Kind == event.KindCgroupMemory {
			names[e.IDs.PodUID], names[e.IDs.Container] = "", ""
		}
	}
	if len(names) == 0 {
		return
	}
	delete(names, "")
	for _, e := range events {
		for _, id := range [...]string{e.IDs.PodUID, e.IDs.Container} {
			switch name, asked := names[id]; {
			case !asked || e.IDs.Pod == "" || name == e.IDs.Pod:
			case name == "":
				names[id] = e.IDs.Pod
			default:
				delete(names, id)
			}
		}
	}
	for _, e := range events {
		if e.Kind == event.KindCgroupMemory {
			e.IDs.Pod = cmp.Or(names[e.IDs.PodUID], names[e.IDs.Container])
		}
	}
}

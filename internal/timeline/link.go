package timeline

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// link gives goroutines the container they work on. A dump holds addresses, not
// ids, so the id comes from the log: when exactly one call of the kind that a
// goroutine serves was open at the moment of the dump, it is that call's. From
// there it goes to every goroutine of the dump that shows the same address of a
// container id, and from the holder of a lock to those who wait for it. Where
// there is a choice nothing is linked.
func linkGoroutines(events []*event.Event) {
	l := linker{calls: callsByMethod(events), open: map[request][]*event.Event{}, objects: map[request]map[string]bool{}}
	var goroutines []*event.Event
	for _, e := range events {
		if e.IDs.Goroutine != 0 {
			goroutines = append(goroutines, e)
			l.countObject(e)
		}
	}
	for _, e := range goroutines {
		if call := l.findOnlyCall(e); e.IDs.Container == "" && call != nil {
			adoptContainer(e, call, "the only call of its kind open at the dump")
		}
	}
	spreadContainers(goroutines, func(e *event.Event) (address string, gives bool) { return fieldText(e, "id_ptr"), true }, "same container id address as goroutine ")
	spreadContainers(goroutines, func(e *event.Event) (address string, gives bool) {
		return e.IDs.Lock, e.Kind == "lock.held"
	}, "same lock as goroutine ")
}

// request is what goroutines of one dump serve: a method of the CRI, or the creation of a container.
type request struct {
	dump
	method string
}

// dump keeps the goroutines and addresses of different dumps apart.
type dump struct {
	file string
	at   time.Time
}

func dumpOf(e *event.Event) dump { return dump{e.Pos().File, e.Last().T} }

// create is the method of a goroutine that waits for a container's creation, whatever request it serves.
const createMethod = "\x00create"

// requestsOf are the requests that a goroutine may serve, the surest first.
func requestsOf(e *event.Event) []request {
	var all []request
	if e.Last().IsZero() {
		return nil
	}
	if method := fieldText(e, "call"); method != "" {
		all = append(all, request{dumpOf(e), method})
	}
	if fieldText(e, "rpc") == "Create" && fieldText(e, "through") == "" { // else somebody else called it
		all = append(all, request{dumpOf(e), createMethod})
	}
	return all
}

type linker struct {
	calls   map[string][]*event.Event   // intervals of the logs by method
	open    map[request][]*event.Event  // those that were open at a dump, once asked for
	objects map[request]map[string]bool // what the goroutines that serve it work on
}

// count notes which container a goroutine works on, as far as the dump tells them apart.
func (l *linker) countObject(e *event.Event) {
	object := fieldText(e, "id_ptr")
	if object == "" {
		object = fieldText(e, "goroutine")
	}
	for _, r := range requestsOf(e) {
		if l.objects[r] == nil {
			l.objects[r] = map[string]bool{}
		}
		l.objects[r][object] = true
	}
}

// callsByMethod are the intervals of the logs that a goroutine can belong to.
func callsByMethod(events []*event.Event) map[string][]*event.Event {
	calls := map[string][]*event.Event{}
	for _, e := range events {
		switch {
		case e.IDs.Container == "" || e.Start.IsZero():
		case e.Kind == "cri.call":
			method := fieldText(e, "method")
			calls[method] = append(calls[method], e)
		case e.Kind == "systemd.scope-start":
			calls[createMethod] = append(calls[createMethod], e)
		}
	}
	return calls
}

// onlyCall is the call that a goroutine serves; nil where none was open, or
// several containers' calls, or fewer calls than goroutines ask for.
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
		for _, other := range open[1:] {
			if other.IDs.Container != open[0].IDs.Container {
				return nil
			}
		}
		if len(l.objects[r]) > len(open) {
			return nil
		}
		return open[0]
	}
	return nil
}

// spans says whether an interval holds a moment; a second of slack covers stamps without fractions.
func spansMoment(e *event.Event, t time.Time) bool {
	return !e.Start.T.Add(-time.Second).After(t) && !e.Last().T.Add(time.Second).Before(t)
}

// spread hands the container from goroutines that give it to those of the same
// dump that show the same address, where all who give agree.
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
			adoptContainer(e, from, how+fieldText(from, "goroutine"))
		}
	}
}

func adoptContainer(e, from *event.Event, how string) {
	e.IDs.Container, e.IDs.Sandbox, e.IDs.Pod = from.IDs.Container, from.IDs.Sandbox, from.IDs.Pod
	e.Fields = setField(e.Fields, event.Field{Key: "container_from", Value: event.String(how)})
}

// busySystemd marks scope starts during which systemd started others: whoever
// waited so long did not wait for a silent systemd.
func markBusySystemd(events []*event.Event) {
	var scopes []*event.Event // by start, as all events are
	for _, e := range events {
		if e.Kind == "systemd.scope-start" && e.Start.Known {
			scopes = append(scopes, e)
		}
	}
	for i, long := range scopes {
		if long.Duration() < longScope {
			continue
		}
		for _, other := range scopes[i+1:] {
			if !other.Start.T.Before(long.Last().T.Add(-scopeSlack)) {
				break
			}
			if !other.Open && other.Last().T.Before(long.Last().T.Add(-scopeSlack)) && other.Last().T.After(long.Start.T.Add(scopeSlack)) {
				long.Fields = setField(long.Fields, event.Field{Key: "others_answered", Value: event.Bool(true)})
				break
			}
		}
	}
}

// A scope starts within a second; one that took longScope makes one ask why. Stamps of two programs may lie scopeSlack apart.
const (
	longScope  = 10 * time.Second
	scopeSlack = 2 * time.Second
)

// Package retold makes one event of lines by which one program tells one thing twice, and drops
// what tells nothing new.
package retold

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// callerDelay is how long after a client's line the caller's line can follow. One goroutine writes
// both.
const callerDelay = 100 * time.Millisecond

// syncDelay is how long after a client's line the sync of the pod can end, whose other containers
// are stopped and started meanwhile.
const syncDelay = 5 * time.Minute

// FoldCallers makes one event of two lines about one failed CRI call: the client's, and right after
// it the one of its caller, which often names the pod. A caller's line without a client's line is
// an event of its own. The end of a pod's sync, which names no container, adds nothing to a
// client's line about a deadline of the same call within the five minutes before; nor does a probe,
// which names none either, to a client's line with the same error.
//
// Input and output are in the order of time.
func FoldCallers(events []*event.Event) []*event.Event {
	last := map[callResult]*event.Event{} // by the client's line
	named := map[string]*event.Event{}    // by its method, of deadlines that name a container or sandbox
	said := map[string]*event.Event{}     // by its error, of calls that a probe made
	kept := events[:0]
	for _, e := range events {
		if e.Kind != event.KindCRIError {
			kept = append(kept, e)
			continue
		}
		f := callResult{e.FieldText(event.FieldMethod), e.IDs.Container, e.IDs.Sandbox}
		client := last[f]
		if creation := findCreation(last, f, e); creation != nil && (client == nil || creation.Start.T.After(client.Start.T)) {
			client = creation
		}
		caller, unnamed := e.FieldText(event.FieldCaller) == "true", f.container == "" && f.sandbox == ""
		if of := findNamed(named, f.method); caller && unnamed && of != nil && e.Start.T.Sub(of.Start.T) <= syncDelay+of.Start.Prec {
			addPod(of, e)
			continue // the end of a pod's sync, which names the container by its name in the pod
		}
		if f.method == "ExecSync" {
			failure := e.FieldText(event.FieldError)
			if of := said[failure]; caller && unnamed && of != nil && isNext(of, e) {
				continue
			}
			if len(said) == maxSaid {
				clear(said)
			}
			if !caller {
				said[failure] = e
			}
		}
		if !caller || f.method == created {
			last[f] = e
			if !unnamed && e.FieldText(event.FieldDeadline) == "true" {
				named[f.method] = e
			}
		} else if client != nil && isNext(client, e) {
			addPod(client, e)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// addPod gives the client's event the pod that its caller knows.
func addPod(client, caller *event.Event) {
	if client.IDs.Pod == "" && caller.IDs.Pod != "" || client.IDs.PodUID == "" && caller.IDs.PodUID != "" {
		client.IDs.Pod = cmp.Or(client.IDs.Pod, caller.IDs.Pod)
		client.IDs.PodUID = cmp.Or(client.IDs.PodUID, caller.IDs.PodUID)
		client.AddQuotes(caller)
	}
}

// maxSaid bounds the errors that are remembered: more do not come within callerDelay.
const maxSaid = 256

// isNext says that a caller's line can be about the failure that a client's line told before it.
func isNext(client, caller *event.Event) bool {
	return caller.Start.T.Sub(client.Start.T) <= callerDelay+client.Start.Prec
}

// findNamed is the last line of the client about a call that ran into its deadline, by the method
// that a line without its container names.
func findNamed(named map[string]*event.Event, method string) *event.Event {
	if method != event.PodStatus {
		return named[method]
	}
	last := named["ContainerStatus"]
	if of := named["PodSandboxStatus"]; last == nil || of != nil && of.Start.T.After(last.Start.T) {
		last = of
	}
	return last
}

// findCreation is the creation of a container that failed, where its caller says that the start
// has: a kubelet that asks docker itself, up to 1.6, calls both so. Nil for any other call or pod.
func findCreation(last map[callResult]*event.Event, f callResult, e *event.Event) *event.Event {
	if f.method != "StartContainer" {
		return nil
	}
	f.method = created
	if client := last[f]; client != nil && (client.IDs.Pod == e.IDs.Pod || client.IDs.Pod == "" || e.IDs.Pod == "") {
		return client
	}
	return nil
}

const created = "CreateContainer"

// FoldConditions makes one event of the two lines by which a kubelet tells that its node became
// NotReady: the event that it records, and right after it the condition with its reason.
//
// Input and output are in the order of time.
func FoldConditions(events []*event.Event) []*event.Event {
	var recorded *event.Event
	kept := events[:0]
	for _, e := range events {
		if e.Kind == event.KindNodeNotReady && e.Source == "kubelet.log" {
			if _, told := e.Get(event.FieldMessage); !told {
				recorded = e
			} else if recorded != nil && e.Start.T.Sub(recorded.Start.T) <= callerDelay+recorded.Start.Prec {
				recorded.Fields = e.Fields
				recorded.AddQuotes(e)
				recorded = nil
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// FoldLimits makes one event of two lines about one call that failed at a limit of the runtime's:
// the runtime's own, and right after it the one in which the kubelet repeats its answer.
//
// Input and output are in the order of time.
func FoldLimits(events []*event.Event) []*event.Event {
	told := map[string][]*event.Event{} // the runtime's lines by method
	kept := events[:0]
	for _, e := range events {
		method := ""
		if e.Kind == event.KindDescriptorLimit {
			method = e.FieldText(event.FieldMethod)
		}
		switch {
		case method == "":
		case e.Source != "kubelet.log":
			told[method] = append(told[method], e)
		default:
			own := told[method]
			for len(own) > 0 && e.Start.T.Sub(own[0].Start.T) > callerDelay+e.Start.Prec+own[0].Start.Prec {
				own = own[1:] // the kubelet has not repeated it
			}
			if told[method] = own; len(own) > 0 {
				own[0].AddQuotes(e)
				told[method] = own[1:]
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// startOfKubelet is how long after a kubelet's first line it may say of each condition how the node
// is: it does so when it first reports its status.
const startOfKubelet = time.Minute

// DropRelief drops the words of a kubelet that its node has no pressure where it had reported none,
// or has just started: so it says of each condition then.
//
// Input and output are in the order of time.
func DropRelief(events []*event.Event) []*event.Event {
	type condition struct{ host, of string }
	reported, started := map[condition]bool{}, map[string]time.Time{}
	return slices.DeleteFunc(events, func(e *event.Event) bool {
		of := condition{e.Host, e.FieldText(event.FieldOf)}
		switch e.Kind {
		case event.KindKubeletStart:
			started[e.Host] = e.Start.T
		case event.KindPressure:
			reported[of] = true
		case event.KindPressureOver:
			if !reported[of] || e.Start.T.Sub(started[e.Host]) < startOfKubelet {
				return true
			}
			delete(reported, of)
		}
		return false
	})
}

// FoldRestarts makes one event of the two lines in which systemd 236 to 242 tells of one restart of
// a unit: that its time to wait is over, and right after it how many restarts that makes.
//
// Input and output are in the order of time.
func FoldRestarts(events []*event.Event) []*event.Event {
	type unit struct{ host, name string }
	waited := map[unit]*event.Event{}
	kept := events[:0]
	for _, e := range events {
		if e.Kind == event.KindUnitRestart {
			of := unit{e.Host, e.FieldText(event.FieldUnit)}
			first := waited[of]
			counter := e.FieldInt(event.FieldRestarts)
			if delete(waited, of); counter == 0 {
				waited[of] = e
			} else if first != nil && e.Start.T.Sub(first.Start.T) <= callerDelay+first.Start.Prec {
				first.AddFields(event.FieldRestarts.Int(counter))
				first.AddQuotes(e)
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// callResult is what two lines about one failed call have in common.
type callResult struct{ method, container, sandbox string }

package states

import (
	"strconv"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/kubelet"
)

// appendRuntimeStatus tells what a runtime says of itself to crictl info, whose status has a
// condition for the runtime and one for its network:
//
//	{"status": {"conditions": [
//	  {"type": "RuntimeReady", "status": true, "reason": "", "message": ""},
//	  {"type": "NetworkReady", "status": false, "reason": "NetworkPluginNotReady", "message": "Network plugin returns error: Missing CNI default network"}
//
// The kubelet repeats these words behind "container runtime network not ready: ". What a runtime
// lacks itself stands before its network.
func (o *objects) appendRuntimeStatus(dst []event.Event) []event.Event {
	var answer *event.Event
	down, list := false, "status.conditions."
	if o.leafValue(list+"0.type") == "" { // jq .status.conditions
		list = ""
	}
	for i := 0; ; i++ {
		at := list + strconv.Itoa(i) + "."
		if alone := o.leafValue("type"); i == 0 && alone != "" { // jq .status.conditions[]
			at = ""
		}
		kind, status := o.leafValue(at+"type"), o.leafValue(at+"status")
		if kind == "" {
			break
		}
		if kind != "RuntimeReady" && kind != "NetworkReady" || status != "true" && status != "false" {
			continue
		}
		c := condition{kind: kind, reason: o.leafValue(at + "reason"), message: o.leafValue(at + "message")}
		for _, part := range [...]string{"message", "reason", "status", "type"} {
			if l, ok := o.leaves[at+part]; ok && l.value != "" {
				c.quotes = append(c.quotes, l.quote)
			}
		}
		if answer == nil {
			answer = newAnswer(c.quotes)
		}
		if kind == "NetworkReady" {
			answer.AddFields(event.FieldNetwork.Bool(status == "true"))
		}
		if status == "false" && !down {
			down = kind == "RuntimeReady"
			dst = c.appendRuntimeTrouble(dst)
		}
	}
	if answer == nil {
		return dst
	}
	return append(dst, *answer)
}

// RuntimeTrouble is a condition of a runtime that is false, as crictl info prints it: the type
// RuntimeReady or NetworkReady, its reason, and the quotes of its lines. Ok is false for a reason
// that tells of no trouble.
func RuntimeTrouble(kind, reason, message string, quotes []event.Quote) (e event.Event, ok bool) {
	c := condition{kind: kind, reason: reason, message: message, quotes: quotes}
	all := c.appendRuntimeTrouble(nil)
	if len(all) == 0 {
		return event.Event{}, false
	}
	return all[0], true
}

// newAnswer is the answer itself: a runtime that says anything of itself is there.
func newAnswer(quotes []event.Quote) *event.Event {
	return &event.Event{
		Kind: event.KindCollectRPC, Component: "crictl", Source: facts.Config, Evidence: quotes[len(quotes)-1:],
		Fields: []event.Field{event.FieldAPI.Text("cri"), event.FieldMethod.Text("Status"), event.FieldAnswered.Bool(true)},
		Text:   "the runtime answers crictl info",
	}
}

// appendRuntimeTrouble is a condition of the runtime that is false, in the words in which the
// kubelet repeats it.
func (c *condition) appendRuntimeTrouble(dst []event.Event) []event.Event {
	var e event.Event
	said, ok := c.kind+"=false reason:"+c.reason+" message:"+c.message, false
	if c.kind == "NetworkReady" {
		if e, ok = kubelet.NetworkNotReady(said); ok {
			e.AddFields(event.FieldAnswered.Bool(true))
		}
	} else {
		e, ok = kubelet.RuntimeNotReady(said)
	}
	if !ok {
		return dst
	}
	e.Component, e.Source, e.Evidence = "crictl", facts.Config, c.quotes
	return append(dst, e)
}

package runtimes

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Crictl is what crictl prints of a call that the runtime answers with an error. One that has no
// answer is of tools.Commands.
var Crictl = table.Table{Component: "node", Rows: []table.Row{
	{[]string{"ing the pod sandbox ", "ing the container ", "removing container ", "run pod sandbox: ", "running pod sandbox: ", "running pod: ", "creating container"}, refusedCall},
}}

// askedByCrictl is how an error of crictl (1.11 to 1.36) begins, and the call that it made.
var askedByCrictl = []struct{ begins, method string }{
	{"stopping the pod sandbox ", "StopPodSandbox"},
	{"removing the pod sandbox ", "RemovePodSandbox"},
	{"run pod sandbox: ", "RunPodSandbox"},
	{"running pod sandbox: ", "RunPodSandbox"},
	{"running pod: ", "RunPodSandbox"},
	{"creating container", "CreateContainer"},
	{"starting the container ", "StartContainer"},
	{"stopping the container ", "StopContainer"},
	{"removing the container ", "RemoveContainer"},
	{"removing container ", "RemoveContainer"},
}

// refusedCall is a call of crictl that the runtime answers with an error:
//
//	≤ 1.28  FATA[0000] removing the pod sandbox "<id>" failed: rpc error: code = Unknown desc = …
//	later   FATA[0000] removing the pod sandbox "<id>": rpc error: code = Unknown desc = …
func refusedCall(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	if r.Unit != "" || r.Level != event.Fatal && r.Level != event.Error {
		return event.Event{}, false
	}
	for _, asked := range askedByCrictl {
		if !strings.HasPrefix(text, asked.begins) {
			continue
		}
		call, reason, ok := strings.Cut(text, "rpc error: code = ")
		if !ok || table.IsDeadline(reason) || scan.ContainsAny(reason, askedWrongly) {
			return event.Event{}, false
		}
		method := asked.method
		if method == "RemovePodSandbox" && repeated.NetworkPlugin(reason) != "" {
			method = "StopPodSandbox" // by which each removal begins
		}
		e := event.New(event.KindCRICall, method+" failed", event.FieldMethod.Text(method))
		e.AddFields(failureFields(method, "rpc error: code = "+reason)...)
		e.Component, e.Source = "cri", facts.Commands
		if id := scan.FindID(call); strings.Contains(method, "Sandbox") {
			e.IDs.Sandbox = id
		} else {
			e.IDs.Container = id
		}
		return e, true
	}
	return event.Event{}, false
}

// askedWrongly is in the error of a call that nobody could have done: what it is about is not
// there, or runs.
var askedWrongly = []string{"NotFound desc", "InvalidArgument desc", "FailedPrecondition desc", "not found", "does not exist", "please stop it first", " is running", "is in starting state", "is not created or running"}

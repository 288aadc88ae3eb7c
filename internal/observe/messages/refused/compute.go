package refused

import (
	"cmp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// computeCalls stand in what hcsshim says of its calls of Windows' Host Compute Service.
var computeCalls = []string{"hcsshim::", "hcsshim: ", "hcs::System::", "hcs::Process::", "hcs::CreateComputeSystem", "CreateComputeSystem ", computeSlow}

// computeSlow is what hcsshim warns of behind its own time limit (0.8.7 and later).
const computeSlow = "Syscall did not complete within operation timeout"

// computeLate and computeGone are why such a call fails: it lasts longer than hcsshim waits, or the
// service ends while it is asked (RPC_S_CALL_FAILED, RPC_S_SERVER_UNAVAILABLE).
var (
	computeLate = []string{"context deadline exceeded", "timeout waiting for notification", "the timeout period expired", "operation timed out"}
	computeGone = []string{"The remote procedure call failed", "The RPC server is unavailable"}
)

// hostCompute is Windows' Host Compute Service (the service vmcompute) when it does not finish a
// call of hcsshim, which the runtime, its shim, docker's client and an Event of the kubelet repeat:
//
//	failed to start containerd task "web": hcs::System::Start web: hcsshim: timeout waiting for notification: unknown
//	container 62f6… encountered an error during hcs::System::Start: context deadline exceeded      (docker 23; up to 20.10 hcsshim::System::Start)
//	container 4c49… encountered an error during CreateContainer: hcsshim: timeout waiting for notification      (docker 17)
//	failed to create containerd task: hcsshim::CreateComputeSystem 8a35…: The requested operation timed out.
//	CreateComputeSystem 8b6e…: This operation returned because the timeout period expired.
//	container 2b8b… encountered an error during hcsshim::System::CreateProcess: failure in a Windows system call: The remote procedure call failed. (0x6be)
//	Syscall did not complete within operation timeout. This may indicate a platform issue. …
func hostCompute(r *event.Record) (event.Event, bool) {
	e := event.Event{Kind: event.KindHostCompute}
	call := computeCall(r.Raw)
	e.AddText(event.FieldCall, call)
	e.IDs.Container = scan.FindID(r.Raw)
	switch {
	case strings.Contains(r.Raw, computeSlow), call != "" && scan.ContainsAny(r.Raw, computeLate):
		e.Text = "Windows' Host Compute Service (vmcompute) did not finish " + cmp.Or(call, "a call") + " in time"
		e.AddFields(event.FieldHow.Text("late"))
	case call != "" && scan.ContainsAny(r.Raw, computeGone):
		e.Text = "Windows' Host Compute Service (vmcompute) was not there to answer " + call
		e.AddFields(event.FieldHow.Text("gone"))
	default:
		return event.Event{}, false
	}
	return e, true
}

// computeCall is the call of the Host Compute Service that a line names: System::CreateProcess.
func computeCall(line string) string {
	rest := scan.After(line, "hcsshim::", "hcs::", "encountered an error during ")
	end := strings.IndexFunc(rest, func(c rune) bool { return c != ':' && (c|' ' < 'a' || c|' ' > 'z') })
	if call := strings.TrimRight(rest[:max(end, 0)], ":"); call != "" {
		return call
	}
	if strings.Contains(line, "CreateComputeSystem ") {
		return "CreateComputeSystem"
	}
	return ""
}

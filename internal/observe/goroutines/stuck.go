package goroutines

import (
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// leastStuck is how long a goroutine is in a system call at least to be stuck there: nothing that a
// daemon asks the kernel for while it works takes minutes.
const leastStuck = 2 * time.Minute

// waitingCalls wait by their nature, for events or for children: loops sit in them as long as the
// program lives.
var waitingCalls = []string{
	"epollwait", "epoll_wait", "epollpwait", "poll", "ppoll", "select", "pselect", "wait4", "waitid", "nanosleep", "futex",
}

// movingCalls move data and wait for the other side: what copies the output of containers or
// follows a log sits in them for hours. Inside of a request, or of a loop that hands out events,
// they are a wait like others. A call without a name, as of C code, is taken for one of them.
var movingCalls = []string{
	"", "read", "readv", "pread", "recvfrom", "recvmsg", "recvmsgraw", "accept", "accept4", "write", "writev", "sendto", "sendmsg",
	"sendfile", "splice",
}

// handlers are parts of the functions in which servers run what they were asked for.
var handlers = []string{
	"grpc.(*Server).processUnaryRPC", "ttrpc.(*serviceSet).", "net/http.HandlerFunc.ServeHTTP", "net/rpc.(*service).call",
}

// eventLoops are parts of the functions in which a daemon takes one event after the other: while
// one of them is stuck, no exit is handled.
var eventLoops = []string{
	"supervisor.(*Monitor).", "supervisor.(*Supervisor).", // docker's containerd up to 0.2
	"(*eventMonitor).", "(*EventMonitor).", "(*client).processEventStream", "server.handleContainerExit",
	"(*Kubelet).syncLoop", "(*podWorkers).", "(*GenericPLEG).",
}

// streams are parts of the requests that last as long as their client wants.
var streams = []string{
	"Exec", "Attach", "PortForward", "Log", "Wait", "Events", "Subscribe", "Archive", "Export", "Import", "Pull", "Push", "Load", "Save",
	"Build", "Stats",
}

// mayBeStuck says whether a goroutine has been in a system call for minutes.
func mayBeStuck(g *stackdump.Goroutine) bool {
	return g.Wait >= leastStuck && strings.HasPrefix(g.State, "syscall")
}

// stuckCall is the system call that a goroutine is stuck in, and the frame that makes it. The call
// is empty where the frames do not show it.
func (o *dumpObserver) stuckCall(g *stackdump.Goroutine) (call string, frame int, ok bool) {
	if !mayBeStuck(g) || g.Idle() {
		return "", -1, false
	}
	end := g.End()
	if end.Kind != stackdump.Syscall || end.Frame < 0 || slices.Contains(waitingCalls, end.What) ||
		frameWith(g, 0, "fifo.", "signal.loop", "inotify") >= 0 {
		return "", -1, false
	}
	if slices.Contains(movingCalls, end.What) && !o.servesRequest(g) {
		return "", -1, false
	}
	return end.What, callerOf(g, end.Frame), true
}

// servesRequest says whether a goroutine is in a request that is to end soon, or in a loop that
// others wait for.
func (o *dumpObserver) servesRequest(g *stackdump.Goroutine) bool {
	request := o.tellsOf(g).request
	if request != "" && scan.ContainsAny(request, streams) {
		return false
	}
	return request != "" || frameWith(g, 0, handlers...) >= 0 || frameWith(g, 0, eventLoops...) >= 0
}

// callerOf is the first frame from i on that is of no standard library, nor of a package that only
// makes the calls; i when there is none.
func callerOf(g *stackdump.Goroutine, i int) int {
	for at := i; at < len(g.Frames); at++ {
		name := g.Frames[at].Name()
		path, _, _ := strings.Cut(name, "(")
		if strings.Contains(path, "/") && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") && !strings.Contains(path, "golang.org/x/sys/") {
			return at
		}
	}
	return i
}

// chosenEvent is a request, or a loop that hands out events, that waits for something for which the
// table of waits has no word. A whole dump has many of them; one that somebody chose is a sign.
func (o *dumpObserver) chosenEvent(i int) (event.Event, bool) {
	g := &o.d.Goroutines[i]
	end := g.End()
	switch {
	case !o.excerpt || !o.chosen && g.Wait < leastStuck || !o.servesRequest(g) || g.Idle():
		return event.Event{}, false
	case end.Kind == "" || end.Kind == stackdump.Running || end.Kind == stackdump.Timer || slices.Contains(waitingCalls, end.What):
		return event.Event{}, false
	}
	e := o.newEvent(event.KindGoroutine, i)
	e.AddFields(
		event.FieldEnds.Text(end.Kind), event.FieldEndsIn.Text(end.What), event.FieldCertainty.Text(stackdump.Observed),
	)
	at := callerOf(g, max(0, end.Frame))
	e.Text = shortName(&g.Frames[at]) + " is " + endText(end, g.ShownState())
	e.Evidence = o.uniqueQuotes(g, []event.Quote{quoteFrame(&g.Frames[at])})
	return e, true
}

// addStuckCall says of an event of a goroutine that it is stuck in a system call.
func addStuckCall(e *event.Event, g *stackdump.Goroutine, call string, frame int) {
	e.AddFields(event.FieldDoing.Text(stuckInCall), event.FieldCertainty.Text(stackdump.Observed))
	e.AddText(event.FieldEndsIn, call)
	name := "the system call " + call
	if call == "" {
		name = "a system call"
	}
	e.Text = "stuck in " + name + ", called by " + shortName(&g.Frames[frame])
	e.Evidence = append(e.Evidence, quoteFrame(&g.Frames[frame]), quoteHeader(g))
}

// stuckInCall is what a goroutine does that is in a system call for which the table of waits has no
// word.
const stuckInCall = "syscall"

// shortName is a function without the path of its package: "runtime.(*oom).Flush".
func shortName(f *stackdump.Frame) string {
	name := f.Name()
	receiver := strings.IndexByte(name, '(')
	if receiver < 0 {
		receiver = len(name)
	}
	return name[strings.LastIndexByte(name[:receiver], '/')+1:]
}

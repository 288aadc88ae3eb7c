package stackdump

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

// idlers are functions in which goroutines wait for work, or for the end of a container, as long as
// that lives, by the end of a frame's Name. What is deeper in such a stack is of the standard
// library or of a client for remote calls. A kind is the state in which alone it does.
var idlers = indexByBase([]call{
	{name: "http2.readFrameHeader"},
	{name: "http2.(*serverConn).serve"},
	{name: "http2.(*serverConn).readFrames"},
	{name: "transport.(*controlBuffer).get"},
	{name: "transport.(*loopyWriter).run"},
	{name: "transport.(*http2Server).keepalive"},
	{name: "transport.(*http2Client).keepalive"},
	{name: "grpc.(*ccBalancerWrapper).watcher"},
	{name: "grpc.(*addrConn).resetTransport"},
	{name: "grpc/internal/grpcsync.(*CallbackSerializer).run"},
	{name: "grpc.newClientStream.func5"},
	{name: "grpc.newClientStreamWithParams.func4"},
	{name: "grpc.(*Server).serveStreams"},
	{name: "grpc.(*Server).Serve"},
	{name: "grpc.(*Server).serverWorker"},
	{name: "containerd/ttrpc.readMessageHeader"},
	{name: "containerd/ttrpc.(*Client).run"},
	{name: "containerd/ttrpc.(*Client).run.func1"},
	{name: "containerd/ttrpc.(*serverConn).run"},
	{name: "containerd/ttrpc.(*Server).Serve"},
	{name: "stevvooe/ttrpc.readMessageHeader"},
	{name: "stevvooe/ttrpc.(*Client).run"},
	{name: "stevvooe/ttrpc.(*serverConn).run"},
	{name: "stevvooe/ttrpc.(*Server).Serve"},
	{name: "containerd/fifo.(*fifo).Read"},
	{name: "containerd/fifo.openFifo.func1"},
	{name: "containerd/console.(*Epoller).Wait"},
	{name: "docker/go-events.(*Broadcaster).run"},
	{name: "docker/go-events.(*Queue).next"},
	{name: "docker/go-events.(*Queue).run"},
	{name: "fsnotify.(*Watcher).readEvents"},
	{name: "fsnotify.(*inotify).readEvents"},
	{name: "godbus/dbus.(*unixTransport).ReadMessage"},
	{name: "godbus/dbus.(*oobReader).Read"},
	{name: "netlink.addrSubscribeAt.func2"},
	{name: "netlink.routeSubscribeAt.func2"},
	{name: "netlink.linkSubscribeAt.func2"},
	{name: "klog.(*flushDaemon).run.func1"},
	{name: "klog.(*loggingT).flushDaemon"},
	{name: "glog.(*loggingT).flushDaemon"},
	{name: "go.opencensus.io/stats/view.(*worker).start"},
	{name: "database/sql.(*DB).connectionOpener"},
	{name: "net/http.(*persistConn).readLoop"},
	{name: "net/http.(*persistConn).writeLoop"},
	{name: "net/http.(*connReader).backgroundRead"},
	{name: "net/http.(*conn).readRequest"},
	{name: "net/http.(*Server).Serve"},
	{name: "net/http.(*conn).serve"}, // between two requests: see Idle
	{name: "os/signal.loop"},
	{name: "os/exec.(*Cmd).Start.func2"}, // beside a child, until that ends
	{name: "os/exec.(*Cmd).watchCtx.func1"},
	{name: "command.App.func1", kind: "chan receive"}, // main of containerd
	{name: "main.(*DaemonCli).start", kind: "chan receive"},
	{name: "cmd/kubelet/app.run", kind: "select"},
	{name: "server.(*criService).Run.func2", kind: "semacquire"},
	{name: "events.(*service).Subscribe"}, // a client listens
	{name: "remote.(*client).processEventStream"},
	{name: "daemon.(*Daemon).ProcessClusterNotifications"},
	{name: "api/server.(*Server).serveAPI"},
	{name: "cond.(*StatefulCond).Wait"},
	{name: "osl.removeUnusedPaths"},
	{name: "container.(*State).Wait.func1"}, // until the container ends, as the next one
	{name: "container.(*containerRouter).postContainersWait"},
	{name: "workqueue.(*Type).Get"},
	{name: "workqueue.(*Typed[...]).Get"},
	{name: "cache.(*DeltaFIFO).Pop"},
	{name: "cache.(*processorListener).pop"},
	{name: "watch.(*Broadcaster).loop"},
	{name: "watch.(*StreamWatcher).receive"},
	{name: "task.(*taskClient).Wait"}, // one for each container, of any age
	{name: "task.(*ttrpctaskClient).Wait"},
	{name: "task.(*tTRPCTaskClient).Wait"},
	{name: "tasks.(*tasksClient).Wait"},
	{name: "events.(*eventsSubscribeClient).Recv"},
	{name: "deviceplugin.(*devicePluginListAndWatchClient).Recv"},
	{name: "cri/io.readLine"},
	{name: "server.(*criService).createContainerLoggers.func2"}, // until the container's output ends
	{name: "cgroups.(*oomCollector).start"},
	{name: "task.(*service).processExits"}, // of the runc shim
	{name: "task.(*service).forward"},
})

// Idle says that a goroutine waits for work, as some do in every healthy
// process: in a receive loop, in a service loop, or in the runtime itself.
// One that waits for a lock, sends, or is in the middle of a request is not.
func (g *Goroutine) Idle() bool {
	if strings.HasPrefix(g.State, "run") || strings.HasPrefix(g.State, "chan send") || g.lockCallFrame() >= 0 ||
		len(g.Frames) == 0 {
		return false
	}
	own := 0
	for own < len(g.Frames) && isStandard(g.Frames[own].Func) {
		switch {
		case strings.Contains(g.Frames[own].Func, "ServeHTTP"):
			return false // in the middle of a request
		case g.idlesIn(own):
			return true
		}
		own++
	}
	if own == len(g.Frames) {
		// Nothing but the runtime and the standard library: workers of the garbage collector,
		// timers.
		return g.frameIn("main.") < 0 && strings.HasPrefix(g.Frames[own-1].Func, "runtime.")
	}
	for i := own; i < len(g.Frames); i++ {
		if g.idlesIn(i) {
			return true
		}
		name := g.Frames[i].Name()
		if !slices.ContainsFunc(carriers, func(p string) bool { return strings.HasPrefix(name, p) }) {
			break
		}
	}
	return g.isLoop(own)
}

// idlesIn says whether a frame is of a function that waits for work in the state of its goroutine.
func (g *Goroutine) idlesIn(frame int) bool {
	row := g.Frames[frame].function().idle
	return row != nil && strings.HasPrefix(g.State, row.kind)
}

// carriers are packages through which others wait: what further out calls them tells for what.
var carriers = []string{
	"github.com/containerd/ttrpc.", "github.com/stevvooe/ttrpc.", "google.golang.org/grpc",
	"golang.org/x/sys/",
}

// isLoop says whether a goroutine waits directly in the service loop that it was started with.
func (g *Goroutine) isLoop(own int) bool {
	if g.Elided > 0 && g.CreatedBy.Func == "" {
		return false // what it was started with is not there
	}
	for i := own + 1; i < len(g.Frames); i++ {
		if f := &g.Frames[i]; !funcname.IsClosure(f.baseName()) && !strings.HasPrefix(f.Func, "runtime.") {
			return false
		}
	}
	if strings.HasPrefix(g.State, "syscall") || strings.HasPrefix(g.State, "semacquire") {
		return false
	}
	for i := range own { // profiles have no states
		if name := g.Frames[i].Func; strings.HasPrefix(name, "syscall.") ||
			strings.HasPrefix(name, "sync.runtime_Semacquire") || name == "runtime.chansend" {
			return false
		}
	}
	name := g.Frames[own].Func
	for funcname.IsClosure(funcname.Base(name)) {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			break
		}
		name = name[:dot]
	}
	return name != "main.main" && (funcname.IsLoop(funcname.Base(name)) || isHandlerName(funcname.Base(name)))
}

// isHandlerName recognizes functions that wait for signals, or for the next time to tidy up.
func isHandlerName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "trap") || strings.HasPrefix(name, "setupsignal") ||
		strings.HasSuffix(name, "routine") || strings.HasSuffix(name, "gc")
}

// isStandard recognizes functions of the standard library: the first element of their path has no
// dot.
func isStandard(name string) bool {
	first, _, path := strings.Cut(name, "/")
	if path {
		return !strings.Contains(first, ".")
	}
	pkg, _, _ := strings.Cut(name, ".")
	return standardPackages[pkg]
}

// standardPackages are those of one element in which goroutines wait, or through which they do.
var standardPackages = map[string]bool{
	"runtime": true, "sync": true, "syscall": true, "net": true, "os": true, "io": true, "bufio": true, "time": true,
	"context": true, "bytes": true, "sort": true, "slices": true, "reflect": true, "fmt": true, "log": true,
	"strings": true,
}

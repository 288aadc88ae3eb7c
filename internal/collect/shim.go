//go:build linux

package collect

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// shimProgram is the only shim that is ever sent SIGUSR1. The shim of containerd's first runtime
// discards its log.
const shimProgram = "containerd-shim-runc-v2"

// maxShims bounds the shims of one round: each writes about 20 KiB to containerd's journal.
const maxShims = 16

// shimRoot is where shims listen (containerd pkg/shim/util_unix.go, SocketAddress).
const shimRoot = "/run/containerd/s"

func isShim(exe string) bool { return strings.HasPrefix(exe, "containerd-shim") }

// taskOf is the namespace and the id of the task that a shim was started for. Its working directory
// is the task's bundle, /run/containerd/io.containerd.runtime.v2.task/k8s.io/ID. Only the link is
// read, not the directory.
func taskOf(proc string) string {
	dir, err := os.Readlink(proc + "/cwd")
	if err != nil || !strings.Contains(dir, "io.containerd.runtime.v") {
		return ""
	}
	return path.Join(path.Base(path.Dir(dir)), path.Base(dir))
}

// suspect is a shim and why it looks stuck.
type suspect struct {
	process
	why string
}

// suspectShims returns the shims that look stuck: with a thread in state D, with a runc that has
// not ended, or of a container whose status had no answer. If there is none and the runtime does
// not answer, it returns all shims. The youngest come first.
func (c *collector) suspectShims() []suspect {
	var all, others []suspect
	for i := range c.walked.Processes {
		p := &c.walked.Processes[i]
		if p.Exe != shimProgram {
			continue
		}
		if why := c.whySuspect(p); why != "" {
			all = append(all, suspect{*p, why})
		} else if c.waits > 0 {
			others = append(others, suspect{*p, "the runtime does not answer"})
		}
	}
	if len(all) == 0 {
		all = others
	}
	slices.SortStableFunc(all, func(a, b suspect) int { return parseNumber(b.Started) - parseNumber(a.Started) })
	return all[:min(len(all), maxShims)]
}

// whySuspect says why a shim looks stuck; empty when it does not.
func (c *collector) whySuspect(p *process) string {
	if p.Blocked > 0 {
		return "one of its threads is in uninterruptible sleep, in " + p.Waits
	}
	if id := path.Base(p.Task); slices.Contains(c.silent, id) {
		return "the status of " + id + " had no answer"
	}
	for i := range c.walked.Processes {
		child := &c.walked.Processes[i]
		if child.PPID != p.PID {
			continue
		}
		if strings.HasPrefix(child.Exe, "runc") || strings.HasPrefix(child.Comm, "runc") {
			return fmt.Sprintf("its %s, PID %d, has not ended", child.Comm, child.PID)
		}
		for _, id := range containerIDs.FindAllString(child.Cgroup, -1) {
			if slices.Contains(c.silent, id) {
				return "the status of " + id + " had no answer"
			}
		}
	}
	return ""
}

// collectShims asks the shims that look stuck for their goroutines.
func collectShims(c *collector, s *step) {
	index := want{Name: "dumps/shims.txt", Source: shimProgram}
	suspects := c.suspectShims()
	if len(suspects) == 0 {
		c.skipItems(s, &task{Items: []want{index}}, "no shim looks stuck")
		return
	}
	t := &task{Do: "shims", Bound: 3 * time.Second, Limit: fileLimit, IDs: c.socketsOf("cri"), Items: []want{index}}
	for i := range suspects {
		t.Processes = append(t.Processes, suspects[i].process)
		t.Names = append(t.Names, suspects[i].why)
	}
	if t.Why = c.whyNoShimSignal(); c.opt.NoSignal {
		t.Why = "--no-signal"
	}
	c.takeDumpTwice("shim", s, func(s *step) bool {
		t.Items[0].Name = "dumps/shims-" + now().Format("2006-01-02T150405Z") + ".txt"
		begun, before := now(), c.signalled
		dumped := c.hasContent(func() { c.runTask(t, s) }, t.Items[0].Name)
		if c.signalled == before {
			return dumped
		}
		c.collectShimLog(s, begun)
		return true
	})
}

// whyNoShimSignal says why no shim is signalled; empty when they can be. A shim logs to a pipe that
// containerd reads.
func (c *collector) whyNoShimSignal() string {
	for i := range c.walked.Processes {
		if p := &c.walked.Processes[i]; p.Exe == "containerd" && p.isStopped() {
			return fmt.Sprintf("containerd (PID %d), which reads what shims log, is stopped", p.PID)
		}
	}
	return c.whyJournaldHangs()
}

// collectShimLog collects what containerd has logged since a moment: the dumps of its shims.
func (c *collector) collectShimLog(s *step, since time.Time) {
	c.waitUntil(moment().Add(2 * time.Second)) // for journald
	name := "dumps/shims-" + since.Format("2006-01-02T150405Z") + ".export"
	t := journalTask(name, since, unitArgs("containerd", "docker", "k3s", "k3s-agent", "rke2-agent", "rke2-server")...)
	as := *s
	as.newest, as.export = true, true
	c.runTask(t, &as)
}

// dumpShims collects the goroutines of shims from their debug sockets, and sends SIGUSR1 to shims
// without one. It writes a list of what it did.
func dumpShims(t *task, out itemWriter) result {
	var text strings.Builder
	var sockets debugSockets
	for i := range t.Processes {
		p := &t.Processes[i]
		how := "debug socket"
		if !sockets.fetchDump(t, p, out.frames) {
			how = t.signalShim(p, out.frames)
		}
		fmt.Fprintf(&text, "PID %d, task %s: %s; %s\n", p.PID, p.Task, t.Names[i], how)
	}
	out.sendData(out.name, []byte(text.String()))
	return result{}
}

// debugSockets asks shims at their debug sockets. A shim of level debug has one, and serves it only
// if it was built with shim_tracing (cmd/containerd-shim-runc-v2/main_tracing.go): at any other one
// nobody takes a connection. So one that does not answer says nothing about its shim, and the
// others are not asked.
type debugSockets struct {
	guard  guard
	silent bool
}

// fetchDump asks a shim's debug socket, and says whether it answered. The task's IDs are the
// sockets of runtimes.
func (d *debugSockets) fetchDump(t *task, p *process, out *frames) bool {
	for _, address := range t.IDs {
		place := shimDebugSocket(address, p.Task)
		if d.silent || p.Task == "" || d.guard.findSocket(t.Bound, place).outcome != "" {
			continue
		}
		id := path.Base(p.Task)
		w := want{Name: dumpName("shim-" + id[:min(len(id), 12)]), Source: place, Query: goroutines}
		out.beginItem(w.Name, w.Source+w.Query)
		r := d.guard.sendBody(out, w, "", t)
		answered := r.outcome == "" || r.outcome == bundle.Capped
		if r.outcome == bundle.Timeout {
			d.silent = true
			r = result{outcome: bundle.Skipped, why: "its debug socket takes no request: " + r.why + "; a shim serves it only if it was built so"}
		}
		out.endItem(w.Name, r)
		return answered
	}
	return false
}

// shimDebugSocket is where the shim of a task listens for debuggers: since containerd 2.0, and only
// at level debug.
func shimDebugSocket(address, task string) string {
	return fmt.Sprintf("%s/%x", shimRoot, sha256.Sum256([]byte(filepath.Join(address, task, "debug"))))
}

// signalShim sends SIGUSR1 to a shim, and says what it did.
func (t *task) signalShim(p *process, out *frames) string {
	why := t.Why
	if why == "" {
		var g guard
		var r result
		if why, r = tryFor(&g, t.Bound, func() (string, error) { return p.whyNoSignalNow("/proc"), nil }); r.isOpen() {
			why = "it cannot be looked at: " + r.why
		}
	}
	if why != "" {
		return "not signalled: " + why
	}
	if err := p.sendSignal(unix.SIGUSR1); err != nil {
		return "not signalled: " + errorText(err)
	}
	out.sendNote(note{Signalled: p.PID})
	return "SIGUSR1; its goroutines are in containerd's log"
}

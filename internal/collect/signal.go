package collect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// dumper is a daemon that writes its goroutines to a file when it gets SIGUSR1.
type dumper struct {
	exe  string // base name of the program
	file string // pattern of the file, as the daemon sees it; %d is its PID
}

// sigQuit makes Go print all goroutines and end.
const sigQuit = unix.SIGQUIT

// dumpers are all daemons that are ever sent SIGUSR1. The signal ends a program without a handler
// for it.
var dumpers = []dumper{
	// cmd/containerd/command/main_unix.go, dumpStacks
	{"containerd", "/tmp/containerd.%d.stacks.log"},
	// daemon/debugtrap_unix.go; below --exec-root
	{"dockerd", "/run/docker/goroutine-stacks-*.log"},
	// internal/signals, utils.WriteGoroutineStacksToFile
	{"crio", "/tmp/crio-goroutine-stacks-*.log"},
	{"cri-dockerd", ""}, // handles it, writes no file: not asked
}

func dumperOf(exe string) *dumper {
	for i := range dumpers {
		if dumpers[i].exe == exe && dumpers[i].file != "" {
			return &dumpers[i]
		}
	}
	return nil
}

// signalDumps sends SIGUSR1 to daemons and fetches the file that each writes.
func signalDumps(t *task, out *frames) {
	var g guard
	for i := range t.Processes {
		p := &t.Processes[i]
		d := dumperOf(p.Exe)
		if d == nil {
			continue
		}
		name := t.Items[i].Name
		out.beginItem(name, t.Items[i].Source)
		if why := p.whyNoSignal(); why != "" {
			out.endItem(name, result{outcome: bundle.Skipped, why: why})
			continue
		}
		path, r := tryFor(&g, t.Bound, func() (string, error) { return d.requestDump(p, t.Bound) })
		if r.outcome != "" {
			out.endItem(name, r)
			continue
		}
		g.sendFile(out, name, path, t.Bound, t.Limit)
	}
}

// whyNoSignal says why a process is not sent SIGUSR1; empty when it is.
func (p *process) whyNoSignal() string {
	switch {
	case !p.Catches:
		return "it has no handler for SIGUSR1, which would end it"
	case p.isStopped():
		return "it is stopped, state " + p.State
	}
	return ""
}

// requestDump sends the signal and waits until the file no longer grows.
func (d *dumper) requestDump(p *process, bound time.Duration) (path string, err error) {
	pattern := fmt.Sprintf("/proc/%d/root", p.PID) + d.file
	if strings.Contains(d.file, "%d") {
		pattern = fmt.Sprintf(pattern, innerPID(p.PID))
	}
	sent := now()
	if err := p.sendSignal(unix.SIGUSR1); err != nil {
		return "", err
	}
	size := int64(-1)
	for now().Sub(sent) < bound-killGrace {
		time.Sleep(200 * time.Millisecond)
		found, info := newestFile(pattern)
		if info == nil || info.ModTime().Before(sent.Add(-time.Second)) {
			continue
		}
		if info.Size() == size && size > 0 {
			return found, nil
		}
		size = info.Size()
	}
	return "", fmt.Errorf("%w: SIGUSR1 gave no %s in %s", os.ErrDeadlineExceeded,
		strings.TrimPrefix(pattern, fmt.Sprintf("/proc/%d/root", p.PID)), bound)
}

// innerPID is the PID of a process in its own PID namespace.
func innerPID(pid int) int {
	status, _, _ := readFile(fmt.Sprintf("/proc/%d/status", pid), 16<<10)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			words := strings.Fields(rest)
			return parseNumber(words[len(words)-1])
		}
	}
	return pid
}

// newestFile is the youngest file that matches a pattern.
func newestFile(pattern string) (path string, info os.FileInfo) {
	all, _ := filepath.Glob(pattern)
	for _, name := range all {
		if i, err := os.Lstat(name); err == nil && i.Mode().IsRegular() &&
			(info == nil || i.ModTime().After(info.ModTime())) {
			path, info = name, i
		}
	}
	return path, info
}

// isSame says that the PID is still that of the process that the walk saw.
func (p *process) isSame() bool {
	stat, _, err := readFile(fmt.Sprintf("/proc/%d/stat", p.PID), 4096)
	fields := statFields(string(stat))
	return err == nil && len(fields) > startField && fields[startField] == p.Started
}

// sendSignal sends a signal to the process that the walk saw, and never to a later one with the
// same PID.
func (p *process) sendSignal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if !p.isSame() {
		return errGone
	}
	if err != nil { // before Linux 5.3
		return unix.Kill(p.PID, sig)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

//go:build linux

package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plegdiag/plegdiag/internal/report/rows"
)

// maxTries is how often a bundle is analysed whose worker was killed from outside: whoever kills
// because memory is short may have meant another.
const maxTries = 3

// killedWait is how long the end of a killed worker's output is waited for.
const killedWait = 5 * time.Second

// runWorker analyses one bundle in a process of its own, with its results in dir. It returns the
// rows, or one that says why there are none. An error is of the machine.
func (r *run) runWorker(ctx context.Context, path, dir string) ([]rows.Row, error) {
	var end ended
	for range maxTries {
		var err error
		if end, err = r.startWorker(ctx, path, dir); err != nil || ctx.Err() != nil {
			return nil, err
		}
		if end.late || !end.killed() {
			break
		}
	}
	if end.state.ExitCode() == StatusMachine {
		return nil, errors.New(end.reason())
	}
	if reason := r.explainEnd(&end); reason != "" {
		return []rows.Row{rows.NewFailed(reason)}, nil
	}
	return readRows(dir), nil
}

// readRows reads what a worker left. It may have read a hostile bundle.
func readRows(dir string) []rows.Row {
	failed := func(format string, args ...any) []rows.Row {
		return []rows.Row{rows.NewFailed("its worker left no rows that can be read: " + fmt.Sprintf(format, args...))}
	}
	name := filepath.Join(dir, rowsFile)
	info, err := os.Stat(name)
	if err != nil {
		return failed("%v", err)
	}
	if info.Size() > maxRows {
		return failed("%d bytes", info.Size())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return failed("%v", err)
	}
	all, err := rows.Read(bytes.NewReader(text))
	if err != nil {
		return failed("%v", err)
	}
	for i := range all {
		report := string(all[i].Report)
		if report == "" {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, report))
		if report != filepath.Base(report) || err != nil || info.Mode().Type() != fs.FileMode(0) {
			return failed("no report %q", report)
		}
	}
	return all
}

// startWorker runs a worker to its end. An error says that it could not be run.
func (r *run) startWorker(ctx context.Context, path, dir string) (ended, error) {
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return ended{}, err
	}
	return r.Worker.start(ctx, Job{Args: []string{"--out", dir, "--", path}})
}

// explainEnd says why a worker failed that was tried again as long as that could help; empty where
// it did not.
func (r *run) explainEnd(e *ended) string {
	if !e.late && e.killed() {
		return fmt.Sprintf("its worker was killed %d times, the last time by signal %v", maxTries, e.state.Sys().(syscall.WaitStatus).Signal())
	}
	return r.Worker.explainEnd(e)
}

// Run runs a worker to its end, once. An error says that it could not be run, or that ctx ended.
func (w *Worker) Run(ctx context.Context, job Job) (Outcome, error) {
	runtime.LockOSThread() // a worker dies with the thread that started it
	defer runtime.UnlockOSThread()
	end, err := w.start(ctx, job)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Status: end.state.ExitCode(), Failed: w.explainEnd(&end), Stderr: end.stderr}, nil
}

// ended is how a worker has ended.
type ended struct {
	state  *os.ProcessState
	late   bool   // it was killed because its time was over
	stderr []byte // the first of it
}

// start runs a worker to its end. An error says that it could not be run.
func (w *Worker) start(ctx context.Context, job Job) (ended, error) {
	bound, cancel := context.WithTimeout(ctx, w.Bound)
	defer cancel()
	args := slices.Concat(w.Program[1:], []string{"--memory", strconv.FormatInt(w.Memory, 10)}, job.Args)
	cmd := exec.CommandContext(bound, w.Program[0], args...)
	cmd.Args[0] = "plegdiag"
	said := &firstBytes{limit: maxStderr}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.WaitDelay = job.Stdout, said, job.Files, killedWait
	// Its own group, so that Ctrl-C at the terminal ends no bundle; it does not outlive its parent.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return ended{}, fmt.Errorf("no worker could be started: %w", err)
	}
	late := bound.Err() != nil && !cmd.ProcessState.Success()
	return ended{cmd.ProcessState, late, said.kept}, nil
}

// killed says that a signal has ended the worker that the kernel or somebody else sends, and no
// error of its own.
func (e *ended) killed() bool {
	status, ok := e.state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGKILL || status.Signal() == syscall.SIGTERM)
}

// explainEnd says why a worker failed; empty where it did not.
func (w *Worker) explainEnd(e *ended) string {
	switch {
	case e.late:
		return fmt.Sprintf("not done within %s (--timeout)", w.Bound)
	case e.state.Success():
		return ""
	case e.killed():
		return fmt.Sprintf("its worker was killed by signal %v", e.state.Sys().(syscall.WaitStatus).Signal())
	}
	reason := e.reason()
	short := slices.ContainsFunc(outOfMemory, func(said string) bool { return strings.Contains(reason, said) })
	if short || e.hasCrashed() && e.peakMemory() > w.Memory/2 {
		return fmt.Sprintf("it needs more memory than %d MiB (--memory)", w.Memory>>20)
	}
	return reason
}

// outOfMemory are how Go's runtime ends where it gets no memory. The last is a fault of its own, as
// after a mapping that failed: without cgo nothing else makes one that is no panic.
var outOfMemory = []string{"out of memory", "cannot allocate memory", "crashed: SIGSEGV: "}

// crashed is the exit status of a Go program that its runtime ends.
const crashed = 2

// hasCrashed says that a worker did not end by itself.
func (e *ended) hasCrashed() bool { return e.state.ExitCode() == crashed }

// peakMemory is how much memory a worker had at most, in bytes. Go's runtime does not always get as
// far as to say that the bound was reached.
func (e *ended) peakMemory() int64 {
	usage, ok := e.state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}

// crashes are how the first line begins that Go's runtime prints of a crash.
var crashes = []string{"panic: ", "fatal error: ", "runtime: ", "runtime/cgo: ", "SIGSEGV: "}

// reason is what a worker said last of why it ended.
func (e *ended) reason() string {
	said := ""
	for line := range strings.Lines(string(e.stderr)) {
		line = strings.TrimSpace(line)
		for _, crash := range crashes {
			if strings.HasPrefix(line, crash) {
				return "its worker crashed: " + line
			}
		}
		if text, ok := strings.CutPrefix(line, "plegdiag: "); ok && !strings.HasPrefix(text, "hint: ") {
			said = text
		}
	}
	if said == "" {
		said = "its worker ended with " + e.state.String()
	}
	return said
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes struct {
	kept  []byte
	limit int
}

// Write implements [io.Writer].
func (f *firstBytes) Write(p []byte) (int, error) {
	f.kept = append(f.kept, p[:min(len(p), f.limit-len(f.kept))]...)
	return len(p), nil
}

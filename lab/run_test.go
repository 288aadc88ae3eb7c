//go:build lab

package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// run is one run of the lab. Everything that it makes has its name, and is below dir, so that
// another process can remove it.
type run struct {
	place string // of all runs
	dir   string
	guard *exec.Cmd
	pipe  io.Closer // ends the guard's wait

	cluster *cluster // nil where nodes have no API server
}

// guardVariable makes the test binary a guard, of the run whose directory it names.
const guardVariable = "PLEGDIAG_LAB_GUARD"

// newRun removes what earlier runs left if their guard could not, and begins a run.
func newRun(place string) (*run, error) {
	if err := os.MkdirAll(place, 0o755); err != nil {
		return nil, err
	}
	all, err := os.OpenFile(filepath.Join(place, "runs.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	// a run that has no lock of its own yet looks like one that is over
	if err := syscall.Flock(int(all.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	stale, err := filepath.Glob(filepath.Join(place, "run-*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range stale {
		lock, err := lockRun(dir)
		if err != nil {
			continue // it is at work
		}
		err = removeAll(dir)
		if lock.Close(); err != nil {
			return nil, fmt.Errorf("what an earlier run left cannot be taken away: %w", err)
		}
	}
	r := &run{place: place, dir: filepath.Join(place, fmt.Sprintf("run-%d", os.Getpid()))}
	if err := os.MkdirAll(r.binDir(), 0o755); err != nil {
		return nil, err
	}
	lock, err := lockRun(r.dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // the guard has it, too
	return r, r.startGuard(lock)
}

func (r *run) binDir() string { return filepath.Join(r.dir, "bin") }

// startGuard starts the guard: this program once more, in a session of its own. It waits until this
// process has ended, in whatever way (a deadline of go test, ctrl-C, SIGKILL), and then removes
// everything.
func (r *run) startGuard(lock *os.File) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r.guard = exec.Command(self)
	r.guard.Env = append(os.Environ(), guardVariable+"="+r.dir)
	r.guard.Stderr = os.Stderr
	r.guard.ExtraFiles = []*os.File{lock}
	r.guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := r.guard.StdinPipe()
	if err != nil {
		return err
	}
	r.pipe = pipe
	return r.guard.Start()
}

// runGuard is what the guard does. The extra file that it has open keeps the run locked.
func runGuard(dir string) int {
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is closed, by the end of its writer
	if err := removeAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, "lab: what a run made is still there:", err)
		return 1
	}
	return 0
}

// endRun removes everything and says what could not be removed.
func (r *run) endRun() error {
	return errors.Join(r.pipe.Close(), r.guard.Wait())
}

// lockRun takes the lock of a run. It fails when another process has it.
func lockRun(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// groupScript enters a cgroup in every hierarchy and runs a program there. In version 1 a process
// can enter a cpuset only when the cpuset has CPUs and memory.
const groupScript = `
set -e
group=$1; shift
for h in $1; do
	mkdir -p "$h/$group"
	for f in cpuset.cpus cpuset.mems; do
		if [ -e "$h/$group/$f" ] && [ -z "$(cat "$h/$group/$f")" ]; then cat "$h/$f" > "$h/$group/$f"; fi
	done
	echo $$ > "$h/$group/cgroup.procs"
done
shift
exec "$@"
`

// commandInGroup makes a command in cgroups of the run, so that it and all that it starts can be
// found and ended.
func (r *run) commandInGroup(name string, argv ...string) *exec.Cmd {
	return exec.Command("sh", append([]string{"-c", groupScript, "lab", groupOf(r.dir) + name, strings.Join(cgroupHierarchies(), " ")}, argv...)...)
}

// groupPrefix begins the names of all cgroups of the lab.
const groupPrefix = "plegdiag-lab-"

// groupOf begins the names of the cgroups of the run in dir.
func groupOf(dir string) string {
	return groupPrefix + strings.TrimPrefix(filepath.Base(dir), "run-") + "-"
}

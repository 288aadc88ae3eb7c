//go:build linux

package collect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/spool"
)

const (
	// killGrace is how long a killed helper can take to end before it is left behind.
	killGrace = 500 * time.Millisecond
	// maxLeft is how many helpers are left behind at most. Then no other helper is started.
	maxLeft = 8
)

// child is a helper process that was started.
type child struct {
	cmd    *exec.Cmd
	out    *os.File
	waited chan struct{} // closed when it has ended
	status int           // valid then
}

// errFork says that the node has no room for another process.
var errFork = errors.New("no helper could be started")

// startHelper starts a helper. It executes this program's own file, which can wait for a disk, too:
// so starting has the bound as well.
func startHelper(helper []string, t *task, bound time.Duration) (*child, error) {
	argument, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var in *os.File
	if len(argument) > longArgument || t.Put != nil { // every user can read arguments
		if in, err = pipeWith(argument); err != nil {
			return nil, err
		}
		argument = []byte("-")
	}
	r, w, err := os.Pipe()
	if err != nil {
		closeFiles(in)
		return nil, fmt.Errorf("%w: %w", errFork, err)
	}
	c := newChild(helper, argument, r)
	c.cmd.Stdout, c.cmd.Env = w, []string{"GOMAXPROCS=2", "GOMEMLIMIT=40MiB", "GOTRACEBACK=none"}
	if t.Put != nil {
		c.cmd.Env = append(c.cmd.Env, t.Put.Proxies...)
	}
	if in != nil {
		c.cmd.Stdin = in
	}
	started := make(chan error, 1)
	go func() {
		err := c.cmd.Start()
		closeFiles(w, in)
		started <- err
		if err == nil {
			c.awaitEnd()
		}
	}()
	select {
	case err = <-started:
		if err != nil {
			err = fmt.Errorf("%w: %w", errFork, err)
		}
	case <-time.After(bound):
		err = fmt.Errorf("%w in %s: this program's own file does not answer", errFork, bound)
	}
	if err != nil {
		closeFiles(r)
		return nil, err
	}
	return c, nil
}

// newChild prepares a helper that sends what it has to say to out. It has a process group of its
// own: Ctrl-C is for this process only.
func newChild(helper []string, argument []byte, out *os.File) *child {
	cmd := exec.Command(helper[0], append(slices.Clone(helper[1:]), string(argument))...)
	cmd.Args[0] = "plegdiag"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if f := insteadOfNull(); f != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = f, f, f
	}
	return &child{cmd: cmd, out: out, waited: make(chan struct{})}
}

// insteadOfNull is what helpers have in place of /dev/null where that is missing, as in an empty
// root: the root, which can be neither read from nor written to. It is nil where /dev/null is
// there.
var insteadOfNull = sync.OnceValue(func() *os.File {
	if _, err := os.Lstat(os.DevNull); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	root, err := os.Open("/")
	if err != nil {
		return nil
	}
	return root
})

// awaitEnd waits until a helper that was started has ended.
func (c *child) awaitEnd() {
	_ = c.cmd.Wait() // the status says it
	c.status = c.cmd.ProcessState.ExitCode()
	close(c.waited)
}

// closeFiles closes files. Nil ones are ignored.
func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // of pipes; nothing is written behind it
	}
}

// longArgument is the length above which a helper reads its argument from a pipe: the kernel allows
// 128 KiB (MAX_ARG_STRLEN of linux/binfmts.h).
const longArgument = 64 << 10

// pipeWith returns a pipe from which text can be read.
func pipeWith(text []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFork, err)
	}
	go func() {
		defer w.Close()
		_, _ = w.Write(text) // fails when the helper has ended
	}()
	return r, nil
}

// stop kills a helper that has not ended by itself, and says what it waits in. left is true when it
// did not end.
func (c *child) stop() (r result, left bool) {
	r = c.findBlockedThread()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it can have ended by now
	select {
	case <-c.waited:
		return r, false
	case <-time.After(killGrace):
	}
	if again := c.findBlockedThread(); again.wchan != "" {
		r = again
	}
	r.outcome = bundle.Stuck
	return r, true
}

// findBlockedThread looks for a thread of the helper in uninterruptible sleep.
func (c *child) findBlockedThread() result {
	dir := fmt.Sprintf("/proc/%d/task", c.cmd.Process.Pid)
	for _, tid := range numericEntries(dir) {
		if r := threadResult(dir + "/" + strconv.Itoa(tid)); r.outcome == bundle.Stuck {
			return r
		}
	}
	return result{outcome: bundle.Timeout}
}

// runTask lets a helper do a task, for at most the bound of its step, and stores its items and
// notes.
func (c *collector) runTask(t *task, step *step) {
	if c.planned != nil {
		for _, w := range t.Items {
			c.planned(w)
		}
		return
	}
	bound := min(step.bound, c.deadline.Sub(moment()))
	if bound <= 100*time.Millisecond {
		c.sealLate()
	}
	if why := c.whyNoHelper(); why != "" {
		c.skipItems(step, t, why)
		return
	}
	ch, err := startHelper(c.opt.Helper, t, bound)
	if err != nil {
		c.skipItems(step, t, errorText(err))
		return
	}
	defer ch.out.Close()
	c.setReading(ch.out, moment().Add(bound))
	defer c.setReading(nil, time.Time{})
	r := reception{c: c, step: step, open: map[string]*receiving{}, task: t, cut: bound < step.bound}
	if t.Do == "exec" {
		r.readOutput(ch, bound)
		return
	}
	err = r.readFrames(ch.out)
	ended, _ := r.endHelper(ch)
	r.endOpenItems(err, ended, bound)
}

// runUnless does a task, unless there is a reason not to.
func (c *collector) runUnless(why string, t *task, step *step) {
	if why != "" && c.planned == nil {
		c.skipItems(step, t, why)
		return
	}
	c.runTask(t, step)
}

// setReading notes the pipe of the helper that works now, so that a reason to end early ends the
// wait for it.
func (c *collector) setReading(pipe *os.File, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = pipe
	if pipe == nil {
		return
	}
	if c.sealed.Load() != nil {
		until = moment()
	}
	_ = pipe.SetReadDeadline(until) // a pipe of os.Pipe always can
}

// endHelper waits shortly for a helper that has nothing more to send, then kills it. It says
// whether the helper ended by itself, else what it waited in; one that cannot be killed is left
// behind.
func (r *reception) endHelper(ch *child) (blocked result, ended bool) {
	select {
	case <-ch.waited:
		return result{}, true
	case <-time.After(killGrace): // done, but a thread of it has not returned
	}
	blocked, r.left = ch.stop()
	if r.left {
		r.c.left = append(r.c.left, bundle.Helper{PID: ch.cmd.Process.Pid, Task: r.task.Do, WChan: blocked.wchan})
	}
	return blocked, false
}

// whyNoHelper says why no helper is started any more; empty when one can be.
func (c *collector) whyNoHelper() string {
	switch {
	case c.sealed.Load() != nil:
		return c.sealed.Load().why
	case len(c.left) >= maxLeft:
		return fmt.Sprintf("%d helpers already hang", len(c.left))
	}
	return ""
}

// sealLate ends the collection because its time is over.
func (c *collector) sealLate() { c.seal(fmt.Sprintf("time limit of %s", c.opt.Timeout), false) }

// skipItems records that the items of a task were not tried.
func (c *collector) skipItems(step *step, t *task, why string) {
	if c.sealed.Load() != nil {
		c.addMissing(step.name)
	}
	for _, w := range t.Items {
		c.recordItem(&bundle.Item{Name: w.Name, Step: step.name, Source: w.Source, Outcome: bundle.Skipped, Why: why})
	}
}

// receiving is an item whose content is being received.
type receiving struct {
	item  bundle.Item
	spool *spool.Spool
}

// reception receives what one helper sends.
type reception struct {
	c    *collector
	step *step
	task *task
	open map[string]*receiving
	cut  bool // the end of the collection came before that of the step
	left bool // the helper was killed and has not ended
	seen map[string]bool
}

// readFrames reads frames up to the last one.
func (r *reception) readFrames(out io.Reader) error {
	in := bufio.NewReaderSize(out, 64<<10)
	r.seen = map[string]bool{}
	var payload bytes.Buffer
	for {
		f, err := readFrame(in, &payload)
		if err != nil {
			return err
		}
		switch {
		case f.Done:
			return nil
		case f.Note != nil:
			r.c.addNote(f.Note)
		case f.Begin != "":
			r.beginItem(f.Begin, f.Source, f.At)
		case f.Data != "" && r.open[f.Data] != nil:
			_, _ = r.open[f.Data].spool.Write(payload.Bytes()) // does not fail
		case f.End != "" && r.open[f.End] != nil:
			r.endItem(f.End, f.At, result{f.Outcome, f.Why, f.WChan, f.Stack})
		}
	}
}

func (r *reception) beginItem(name, source string, at time.Time) {
	r.seen[name] = true
	r.open[name] = &receiving{
		item:  bundle.Item{Name: name, Step: r.step.name, Source: source, Start: at},
		spool: r.c.newSpool(r.step),
	}
}

// endItem stores an item.
func (r *reception) endItem(name string, at time.Time, got result) {
	in := r.open[name]
	delete(r.open, name)
	in.item.End, in.item.Outcome, in.item.Why = at, got.outcome, got.why
	if r.c.sealed.Load() != nil && (got.outcome == bundle.Skipped || got.outcome == bundle.Failed) {
		r.c.addMissing(r.step.name)
		if in.spool.Size() > 0 && got.outcome == bundle.Skipped {
			in.item.Outcome = bundle.Capped
		}
	}
	in.item.WChan, in.item.Stack = got.wchan, got.stack
	r.c.storeItem(&in.item, in.spool)
}

// endOpenItems ends the items that the helper left open.
func (r *reception) endOpenItems(err error, ended result, bound time.Duration) {
	why := "the helper ended before it had finished"
	switch {
	case err == nil:
		why = "the helper did not send it"
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = fmt.Sprintf("no answer in %s", bound.Round(time.Millisecond))
		if early := r.givenUp(); early.outcome != "" {
			ended.outcome, why = early.outcome, early.why
		} else if ended.outcome == "" {
			ended.outcome = bundle.Timeout
		}
	}
	if ended.outcome == "" {
		ended.outcome = bundle.Failed
	}
	for _, w := range r.task.Items {
		if in := r.open[w.Name]; in == nil && !r.seen[w.Name] && err != nil && !strings.Contains(w.Source, "*") {
			r.beginItem(w.Name, w.Source, now())
		}
	}
	for name := range r.open {
		ended.why = why
		r.endItem(name, now(), ended)
	}
}

// givenUp says that an item is not there because the collection ends early. It does not mean that
// there was no answer.
func (r *reception) givenUp() result {
	if r.cut {
		r.c.sealLate()
	}
	e := r.c.sealed.Load()
	switch {
	case e == nil, r.left: // what cannot be ended is stuck, whatever else ends
		return result{}
	case e.failed:
		return result{outcome: bundle.Failed, why: e.why}
	}
	return result{outcome: bundle.Skipped, why: "given up: " + e.why}
}

// readOutput stores what a program prints as one item.
func (r *reception) readOutput(ch *child, bound time.Duration) {
	w := r.task.Items[0]
	r.seen = map[string]bool{}
	r.beginItem(w.Name, w.Source, now())
	_, err := io.Copy(r.open[w.Name].spool, ch.out)
	got, ended := r.endHelper(ch)
	switch size := r.open[w.Name].spool.Size(); {
	case !ended:
		got.why = fmt.Sprintf("not finished in %s", bound.Round(time.Millisecond))
		if early := r.givenUp(); early.outcome != "" {
			got = early
		}
	case ch.status == 127:
		got = result{outcome: bundle.Absent, why: errNoProgram.Error()}
	case ch.status == 126 && size == 0:
		got = result{outcome: bundle.Skipped, why: r.task.whyRefused()}
	case ch.status != 0 && size == 0:
		got = result{outcome: bundle.Failed, why: fmt.Sprintf("exit status %d", ch.status)}
	case ch.status != 0:
		got.why = fmt.Sprintf("exit status %d", ch.status)
	}
	if err != nil && got.outcome == "" && !errors.Is(err, os.ErrDeadlineExceeded) {
		got = result{outcome: bundle.Failed, why: errorText(err)}
	}
	r.endItem(w.Name, now(), got)
}

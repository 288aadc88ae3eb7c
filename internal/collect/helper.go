package collect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

const (
	// killGrace is how long a helper that was killed may take to end before it is left behind.
	killGrace = 500 * time.Millisecond
	// maxLeft is how many helpers may be left behind; then no other is started.
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

// start starts a helper. Starting executes this program once more, which may itself wait for a disk: that gets the bound, too.
func start(helper []string, t *task, bound time.Duration) (*child, error) {
	argument, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFork, err)
	}
	c := &child{out: r, waited: make(chan struct{})}
	var in *os.File
	if len(argument) > longArgument {
		if in, err = fed(argument); err != nil {
			return nil, err
		}
		argument = []byte("-")
	}
	c.cmd = exec.Command(helper[0], append(slices.Clone(helper[1:]), string(argument))...)
	if in != nil {
		c.cmd.Stdin = in
	}
	c.cmd.Args[0] = "plegdiag"
	c.cmd.Stdout, c.cmd.Env = w, []string{"GOMAXPROCS=2", "GOMEMLIMIT=40MiB", "GOTRACEBACK=none"}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	started := make(chan error, 1)
	go func() {
		err := c.cmd.Start()
		w.Close()
		if in != nil {
			in.Close()
		}
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // the status says it
			c.status = c.cmd.ProcessState.ExitCode()
			close(c.waited)
		}
	}()
	select {
	case err := <-started:
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("%w: %w", errFork, err)
		}
		return c, nil
	case <-time.After(bound):
		return nil, fmt.Errorf("%w in %s: this program's own file does not answer", errFork, bound)
	}
}

// longArgument is what is handed over by a pipe instead: the kernel takes 128 KiB (MAX_ARG_STRLEN of linux/binfmts.h).
const longArgument = 64 << 10

// fed is a pipe that gives text.
func fed(text []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFork, err)
	}
	go func() {
		defer w.Close()
		_, _ = w.Write(text) // a helper that does not want it has ended
	}()
	return r, nil
}

// stop ends a helper that has not ended by itself, and says in what it waits. Left is true when it could not be ended.
func (c *child) stop() (r result, left bool) {
	r = c.blocked()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it may have ended meanwhile
	select {
	case <-c.waited:
		return r, false
	case <-time.After(killGrace):
	}
	if again := c.blocked(); again.wchan != "" {
		r = again
	}
	r.outcome = bundle.Stuck
	return r, true
}

// blocked looks for a thread of the helper that waits in the kernel for something else than work.
func (c *child) blocked() result {
	dir := fmt.Sprintf("/proc/%d/task", c.cmd.Process.Pid)
	for _, tid := range numbers(dir) {
		if r := threadResult(dir + "/" + strconv.Itoa(tid)); r.outcome == bundle.Stuck {
			return r
		}
	}
	return result{outcome: bundle.Timeout}
}

// run lets a helper do a task for at most bound, and gives its items to the archive. Notes are handed to note, where it is not nil.
func (c *collector) run(t *task, step *step, note func(json.RawMessage)) {
	if c.planned != nil {
		for _, w := range t.Items {
			c.planned(w)
		}
		return
	}
	bound := min(step.bound, c.deadline.Sub(now()))
	if why := c.stopped(bound); why != "" {
		c.skip(step, t, why)
		return
	}
	ch, err := start(c.opt.Helper, t, bound)
	if err != nil {
		c.skip(step, t, reason(err))
		return
	}
	defer ch.out.Close()
	c.reads(ch.out, now().Add(bound))
	defer c.reads(nil, time.Time{})
	r := reception{c: c, step: step, open: map[string]*receiving{}, task: t}
	if t.Do == "exec" {
		r.raw(ch, bound)
		return
	}
	err = r.frames(ch.out, note)
	var ended result
	select {
	case <-ch.waited:
	case <-time.After(killGrace): // done, but a thread of it has not returned
	}
	select {
	case <-ch.waited:
	default:
		var left bool
		if ended, left = ch.stop(); left {
			c.leave(ch, t, ended)
		}
	}
	r.close(err, ended, bound)
}

// reads notes the pipe of the helper at work, so that a reason to end early ends the wait for it.
func (c *collector) reads(pipe *os.File, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = pipe
	if pipe == nil {
		return
	}
	if c.sealed.Load() != nil {
		until = now()
	}
	_ = pipe.SetReadDeadline(until) // a pipe of os.Pipe always can
}

// leave notes a helper that could not be ended.
func (c *collector) leave(ch *child, t *task, r result) {
	c.left = append(c.left, bundle.Helper{PID: ch.cmd.Process.Pid, Task: t.Do, WChan: r.wchan})
}

// stopped says why no helper is started any more; empty when one is.
func (c *collector) stopped(bound time.Duration) string {
	switch {
	case c.sealed.Load() != nil:
		return *c.sealed.Load()
	case bound <= 100*time.Millisecond:
		return "no time is left"
	case len(c.left) >= maxLeft:
		return fmt.Sprintf("%d helpers hang already", len(c.left))
	}
	return ""
}

// skip notes that the items of a task were not tried.
func (c *collector) skip(step *step, t *task, why string) {
	for _, w := range t.Items {
		c.note(&bundle.Item{Name: w.Name, Step: step.name, Source: w.Source, Outcome: bundle.Skipped, Why: why})
	}
}

// receiving is an item whose content is coming in.
type receiving struct {
	item  bundle.Item
	spool *spool
}

// reception takes what one helper sends.
type reception struct {
	c    *collector
	step *step
	task *task
	open map[string]*receiving
	seen map[string]bool
}

// frames reads frames up to the one that says that nothing follows.
func (r *reception) frames(out io.Reader, note func(json.RawMessage)) error {
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
			if note != nil {
				note(f.Note)
			}
		case f.Begin != "":
			r.begin(f.Begin, f.Source, f.At)
		case f.Data != "" && r.open[f.Data] != nil:
			r.open[f.Data].spool.take(payload.Bytes())
		case f.End != "" && r.open[f.End] != nil:
			r.end(f.End, f.At, result{f.Outcome, f.Why, f.WChan, f.Stack})
		}
	}
}

func (r *reception) begin(name, source string, at time.Time) {
	r.seen[name] = true
	r.open[name] = &receiving{
		item:  bundle.Item{Name: name, Step: r.step.name, Source: source, Start: at},
		spool: r.c.newSpool(r.step),
	}
}

// end gives an item to the archive.
func (r *reception) end(name string, at time.Time, got result) {
	in := r.open[name]
	delete(r.open, name)
	in.item.End, in.item.Outcome, in.item.Why, in.item.WChan, in.item.Stack = at, got.outcome, got.why, got.wchan, got.stack
	r.c.store(&in.item, in.spool)
}

// close ends what the helper left open.
func (r *reception) close(err error, ended result, bound time.Duration) {
	why := "the helper ended before it was done"
	switch {
	case err == nil:
		why = "the helper did not send it"
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = fmt.Sprintf("no answer in %s", bound.Round(time.Millisecond))
		if sealed := r.c.sealed.Load(); sealed != nil {
			why = *sealed
		}
		if ended.outcome == "" {
			ended.outcome = bundle.Timeout
		}
	}
	if ended.outcome == "" {
		ended.outcome = bundle.Failed
	}
	for _, w := range r.task.Items {
		if in := r.open[w.Name]; in == nil && !r.seen[w.Name] && err != nil && !strings.Contains(w.Source, "*") {
			r.begin(w.Name, w.Source, now())
		}
	}
	for name := range r.open {
		ended.why = why
		r.end(name, now(), ended)
	}
}

// raw takes all that a program prints as one item.
func (r *reception) raw(ch *child, bound time.Duration) {
	w := r.task.Items[0]
	r.seen = map[string]bool{}
	r.begin(w.Name, w.Source, now())
	_, err := io.Copy(r.open[w.Name].spool, ch.out)
	got := result{}
	select {
	case <-ch.waited:
	case <-time.After(killGrace):
	}
	select {
	case <-ch.waited:
		switch size := r.open[w.Name].spool.size; {
		case ch.status == 127:
			got = result{outcome: bundle.Absent, why: errNoProgram.Error()}
		case ch.status == 126 && size == 0:
			got = result{outcome: bundle.Skipped, why: errRefused.Error()}
		case ch.status != 0 && size == 0:
			got = result{outcome: bundle.Failed, why: fmt.Sprintf("exit status %d", ch.status)}
		case ch.status != 0:
			got.why = fmt.Sprintf("exit status %d", ch.status)
		}
	default:
		var left bool
		if got, left = ch.stop(); left {
			r.c.leave(ch, r.task, got)
		}
		got.why = fmt.Sprintf("not done in %s", bound.Round(time.Millisecond))
	}
	if err != nil && got.outcome == "" && !errors.Is(err, os.ErrDeadlineExceeded) {
		got = result{outcome: bundle.Failed, why: reason(err)}
	}
	r.end(w.Name, now(), got)
}

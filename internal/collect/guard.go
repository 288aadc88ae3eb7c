//go:build linux

package collect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// guard runs operations that can hang, inside a helper. Each runs in a thread of its own, which is
// left alone when the time is over. What it waits in is read from its files in /proc; reading those
// of an own thread does not block.
type guard struct {
	lost   int // operations that did not return
	worker *worker
}

// worker is a goroutine with a thread of its own.
type worker struct {
	tid  int
	work chan func() error
	done chan error
}

// maxLost is how many operations of one helper can hang before no more are tried.
const maxLost = 4

// maxStarved is how many times its bound an operation can take if its thread only waits for a
// processor: the collection has a low priority, and the node can be busy. The helper as a whole has
// a bound, too.
const maxStarved = 20

// looks is how often isRunning looks, with lookPause between: Go's garbage collector can put the
// thread to sleep for a moment.
const (
	looks     = 5
	lookPause = 20 * time.Millisecond
)

// isRunning says that the worker's thread runs or waits for a processor: it is not stuck.
func (w *worker) isRunning() bool {
	for range looks {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", w.tid))
		if statState(string(stat)) == "R" {
			return true
		}
		time.Sleep(lookPause)
	}
	return false
}

// errLost says that an operation was not tried because others of its helper hang.
var errLost = fmt.Errorf("not tried: %d operations before it have not returned", maxLost)

func newWorker() *worker {
	w := &worker{work: make(chan func() error), done: make(chan error, 1)}
	tid := make(chan int)
	go func() {
		runtime.LockOSThread()
		tid <- unix.Gettid()
		for do := range w.work {
			w.done <- do()
		}
	}()
	w.tid = <-tid
	return w
}

// try runs do, for at most bound.
func (g *guard) try(bound time.Duration, do func() error) result {
	return g.watchProgress(bound, func() int64 { return 0 }, do)
}

// tryFor runs do, for at most bound, and returns its value. The value is zero where do did not
// return.
func tryFor[T any](g *guard, bound time.Duration, do func() (T, error)) (value T, r result) {
	values := make(chan T, 1)
	r = g.try(bound, func() error {
		v, err := do()
		values <- v
		return err
	})
	if r.isOpen() {
		return value, r
	}
	return <-values, r
}

// tryFile reads a file, for at most bound. What could be read before an error is returned, too.
func (g *guard) tryFile(bound time.Duration, path string, limit int) (content []byte, r result) {
	return tryFor(g, bound, func() ([]byte, error) {
		content, _, err := readFile(path, limit)
		return content, err
	})
}

// watchProgress runs do, and gives up when the value of moved does not change within bound.
func (g *guard) watchProgress(bound time.Duration, moved func() int64, do func() error) result {
	if g.lost >= maxLost {
		return result{outcome: bundle.Skipped, why: errLost.Error()}
	}
	if g.worker == nil {
		g.worker = newWorker()
	}
	w := g.worker
	w.work <- do
	for last, starved := moved(), 0; ; {
		timer := time.NewTimer(bound)
		select {
		case err := <-w.done:
			timer.Stop()
			return resultOf(err)
		case <-timer.C:
		}
		if at := moved(); at != last {
			last = at
			continue
		}
		if starved++; starved > maxStarved || !w.isRunning() {
			break
		}
	}
	g.lost++
	g.worker = nil
	r := threadResult(fmt.Sprintf("/proc/self/task/%d", w.tid))
	r.why = fmt.Sprintf("no answer in %s", bound)
	return r
}

// threadResult says what a thread waits in. In uninterruptible sleep it is stuck, else the result
// is a timeout.
func threadResult(dir string) result {
	r := result{outcome: bundle.Timeout}
	stat, _ := os.ReadFile(dir + "/stat")
	wchan, _ := os.ReadFile(dir + "/wchan")
	if state := statState(string(stat)); state == "D" {
		r.outcome = bundle.Stuck
	} else if state != "S" {
		return r
	}
	if r.wchan = strings.TrimSpace(string(wchan)); r.wchan == "0" {
		r.wchan = ""
	}
	stack, _ := os.ReadFile(dir + "/stack")
	r.stack = parseStack(string(stack))
	return r
}

// resultOf turns the error of an operation into an outcome.
func resultOf(err error) result {
	switch {
	case err == nil:
		return result{}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENODEV),
		errors.Is(err, syscall.ESRCH), errors.Is(err, syscall.ENOTDIR):
		return result{outcome: bundle.Absent, why: errorText(err)}
	case errors.Is(err, fs.ErrPermission):
		return result{outcome: bundle.Denied, why: errorText(err)}
	case errors.Is(err, errSlowConsole):
		return result{outcome: bundle.Skipped, why: errorText(err)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return result{outcome: bundle.Timeout, why: errorText(err)}
	}
	return result{outcome: bundle.Failed, why: errorText(err)}
}

// errorText is an error in one line of bounded length.
func errorText(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return text[:min(len(text), 400)]
}

// readFile reads a file to a limit; whole is false when there is more.
func readFile(path string, limit int) (content []byte, whole bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return readOpened(f, limit)
}

// readOpened reads an opened file as readFile does.
func readOpened(f *os.File, limit int) (content []byte, whole bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is no regular file", f.Name())
	}
	buf := bytes.NewBuffer(make([]byte, 0, 4096)) // /proc gives a small file in one read
	if _, err = buf.ReadFrom(io.LimitReader(f, int64(limit)+1)); buf.Len() > limit {
		return buf.Bytes()[:limit], false, nil
	}
	return buf.Bytes(), err == nil, err
}

// statState is the letter of the state in the text of /proc/PID/stat; empty when there is none.
func statState(stat string) string {
	fields := statFields(stat)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// statFields are the fields of /proc/PID/stat from the third (the state) on. The second, the name,
// can contain anything.
func statFields(stat string) []string {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return nil
	}
	return strings.Fields(stat[i+1:])
}

// parseStack returns the lines of /proc/PID/stack without their "[<0>]".
func parseStack(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "[<0>]"))
		if line != "" && len(lines) < 64 {
			lines = append(lines, line)
		}
	}
	return lines
}

// parseNumber is the decimal number s; 0 when it is none.
func parseNumber(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

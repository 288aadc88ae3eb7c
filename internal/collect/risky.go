//go:build linux

package collect

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// collectStrace traces one process for some seconds. A thread in D cannot be stopped, and strace
// would hang with it: the helper looks at the process before it becomes strace.
func collectStrace(c *collector, s *step) {
	p, why := c.chooseTraced()
	name := c.opt.Strace
	if p != nil {
		name = strconv.Itoa(p.PID)
	}
	argv := []string{
		"timeout", "-s", "INT", "-k", "1", "5", "strace", "-f", "-tt", "-T", "-yy", "-s", "128", "-o",
		"/proc/self/fd/1", "-p", name,
	}
	t := execTask("strace/"+name+".strace", argv...)
	switch {
	case p == nil:
		c.skipItems(s, t, why)
	case p.Tracer != 0:
		c.skipItems(s, t, fmt.Sprintf("PID %d traces it already", p.Tracer))
	case p.isStopped():
		c.skipItems(s, t, "it is stopped, state "+p.State)
	default:
		t.Processes = []process{*p}
		c.runTask(t, s)
	}
}

// chooseTraced returns the process to trace: the one that was named, or the first that looks stuck
// and can be traced. Without one it is nil, and why says why.
func (c *collector) chooseTraced() (p *process, why string) {
	if c.opt.Strace != Suspicious {
		i := slices.IndexFunc(c.walked.Processes, func(p process) bool { return strconv.Itoa(p.PID) == c.opt.Strace })
		if i < 0 {
			return nil, "the walk over /proc has no such process"
		}
		return &c.walked.Processes[i], ""
	}
	for _, p := range c.stuckProcesses() {
		if p.Blocked == 0 && p.Tracer == 0 && !p.isStopped() {
			return p, ""
		}
	}
	return nil, "no process that can be traced looks stuck"
}

// stuckProcesses returns the processes that look stuck, the deepest first: a runc that has not
// ended, its shim, the runtime that does not answer.
func (c *collector) stuckProcesses() []*process {
	var runcs, shims, runtimes []*process
	suspects := c.suspectShims()
	for i := range c.walked.Processes {
		p := &c.walked.Processes[i]
		switch {
		case slices.ContainsFunc(suspects, func(s suspect) bool { return s.PID == p.PPID }) &&
			strings.HasPrefix(p.Comm, "runc"):
			runcs = append(runcs, p)
		case slices.ContainsFunc(suspects, func(s suspect) bool { return s.PID == p.PID }):
			shims = append(shims, p)
		case c.waits > 0 && slices.Contains([]string{"containerd", "crio"}, p.Exe):
			runtimes = append(runtimes, p)
		}
	}
	return slices.Concat(runcs, shims, runtimes)
}

// whyUntraceableNow says why a process that the walk saw cannot be traced; empty when it can. A
// moment does not count: whoever starts a program is in D until it runs.
func (p *process) whyUntraceableNow() string {
	return settle(p.whyUntraceable)
}

// whyUntraceable says why a process cannot be traced at this moment.
func (p *process) whyUntraceable() string {
	if !p.isSame() {
		return errGone.Error()
	}
	dir := fmt.Sprintf("/proc/%d", p.PID)
	status, _, _ := readFile(dir+"/status", 16<<10)
	var is process
	is.parseStatus(string(status))
	return findUnsafeThread(dir, is.Tracer, nil)
}

// maxBlocked is for how many threads in state D the kernel is asked for stacks: each stack takes
// about 2 KiB of its ring buffer.
const maxBlocked = 200

// collectSysrq makes the kernel write the stacks of all threads in state D to its log. The log as
// it was before has been collected by then.
func collectSysrq(c *collector, s *step) {
	t := &task{
		Do: "sysrq", Bound: 6 * time.Second, Names: []string{"/dev/kmsg"},
		Items: []want{{Name: "kernel/sysrq-w", Source: "/proc/sysrq-trigger"}},
	}
	blocked := 0
	for i := range c.walked.Processes {
		blocked += c.walked.Processes[i].Blocked
	}
	if blocked > maxBlocked {
		c.skipItems(s, t, fmt.Sprintf("%d threads are in state D: their stacks would overwrite the rest of the log",
			blocked))
		return
	}
	c.runTask(t, s)
}

// pressSysrq writes w to the trigger and reads what the kernel writes from then on. Names[0] is the
// kernel's log.
func pressSysrq(t *task, out itemWriter) result {
	var g guard
	return g.try(t.Bound, func() error {
		if why := findSlowConsole("/proc/consoles", "/proc/sys/kernel/printk"); why != "" {
			return fmt.Errorf("%w: %s", errSlowConsole, why)
		}
		trigger, err := os.OpenFile(t.Items[0].Source, os.O_WRONLY, 0)
		if err != nil {
			return withoutPath(err)
		}
		defer trigger.Close()
		log, err := unix.Open(t.Names[0], unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(log)
		if _, err := unix.Seek(log, 0, unix.SEEK_END); err != nil {
			return err
		}
		if _, err := trigger.WriteString("w"); err != nil {
			return withoutPath(err)
		}
		time.Sleep(time.Second)
		return sendKmsg(log, out)
	})
}

// errSlowConsole says that the kernel would print to a slow console.
var errSlowConsole = errors.New("not pressed")

// findSlowConsole says which slow console would print messages of level 6, the level of the stacks;
// empty when none would.
func findSlowConsole(consoles, printk string) string {
	levels, _, _ := readFile(printk, 256)
	words := strings.Fields(string(levels))
	const info = 6 // KERN_INFO
	if len(words) > 0 && parseNumber(words[0]) <= info {
		return ""
	}
	list, _, _ := readFile(consoles, 16<<10)
	for line := range strings.Lines(string(list)) {
		name, _, _ := strings.Cut(line, " ")
		for _, serial := range []string{"ttyS", "ttyAMA", "ttyUSB", "hvc", "ttysclp", "netcon"} {
			if strings.HasPrefix(name, serial) {
				return "the console " + name + " would print it, line by line"
			}
		}
	}
	return ""
}

// sendKmsg sends what is in the kernel's log now, as dmesg prints it. It does not wait for more.
func sendKmsg(fd int, out itemWriter) error {
	record := make([]byte, 16<<10) // CONSOLE_EXT_LOG_MAX of the kernel is 8 KiB
	w := out.buffered()
	defer w.Flush()
	for {
		n, err := unix.Read(fd, record)
		switch {
		case errors.Is(err, syscall.EPIPE): // records that were not read yet were overwritten
			fmt.Fprintln(w, "[    0.000000] plegdiag: records of the ring buffer were overwritten while they were read")
			continue
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN), err == nil && n == 0:
			return nil
		case err != nil:
			return err
		}
		_, _ = w.Write(appendKmsg(w.AvailableBuffer(), record[:n]))
	}
}

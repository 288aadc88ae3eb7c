package threads

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// initWaits says that systemd as PID 1 waits for a child to end. It serves nobody meanwhile: its
// loop waits in epoll_wait, and children that have ended are told by a signal. It waits like this
// for generators and other helpers that it starts one after the other.
func initWaits(s *samples.Sample) bool {
	return s.TID == 1 && s.Comm == "systemd" && s.State == "S" && !isFrozen(s) &&
		(slices.Contains(childWaits, s.Syscall) || functionOf(s) == "do_wait")
}

// childWaits are the system calls that wait for a child.
var childWaits = []string{"waitid", "wait4", "waitpid"}

// waitingChild is a process below PID 1 while that waits.
type waitingChild struct {
	comm string
	next int // the child that it waits for; 0 where it waits for none, or for any
	line event.Quote
}

// noteChild notes a process while PID 1 waits.
func (t *Samples) noteChild(s *samples.Sample) {
	if s.TID != s.PID || s.TID == 1 {
		return
	}
	if r := t.runs[1]; r == nil || !initWaits(&r.last) {
		return
	}
	if t.children == nil {
		t.children = map[int]waitingChild{}
	}
	if len(t.children) < maxRuns {
		t.children[s.PID] = waitingChild{s.Comm, childOf(s), s.Quote()}
	}
}

// childOf is the process that the call of a thread waits for, by its registers; 0 where they name
// none: waitid(P_PID, pid, …), wait4(pid, …).
func childOf(s *samples.Sample) int {
	args := strings.Fields(s.Args)
	if s.Syscall == "waitid" && len(args) > 1 && parseRegister(args[0]) == 1 {
		return parseRegister(args[1])
	}
	if (s.Syscall == "wait4" || s.Syscall == "waitpid") && len(args) > 0 {
		return parseRegister(args[0])
	}
	return 0
}

// parseRegister is the number in a register that can be a process; else 0.
func parseRegister(text string) int {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil || n > maxPID {
		return 0
	}
	return int(n)
}

// maxPID is the kernel's own limit (PID_MAX_LIMIT).
const maxPID = 1 << 22

// maxChain bounds the children that wait for each other.
const maxChain = 16

// addChild says of a wait of PID 1 which process it comes down to: the child that waits for no
// other. Its line is quoted.
func (t *Samples) addChild(e *event.Event, s *samples.Sample) {
	if !initWaits(s) {
		return
	}
	defer clear(t.children)
	pid := childOf(s)
	for range maxChain {
		next := t.children[pid].next
		if _, seen := t.children[next]; !seen {
			break
		}
		pid = next
	}
	if pid == 0 {
		return
	}
	e.AddFields(event.FieldWaitsFor.Int(pid))
	e.Text += ", waits for its child " + strconv.Itoa(pid)
	if child, seen := t.children[pid]; seen {
		e.AddFields(event.FieldWaitsForComm.Text(child.comm))
		e.Text += " (" + child.comm + ")"
		e.Evidence = append(e.Evidence, child.line)
	}
}

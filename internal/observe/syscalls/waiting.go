package syscalls

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// maxChain bounds how many parents are followed down to the child that is blocked.
const maxChain = 16

// followChildren tells waits for a child that is itself blocked from those for one that runs or has
// nothing to do, and follows them: a parent may wait for a child that waits for one of its own.
func followChildren(open []TracedCall, files *files) {
	byThread := map[int]*TracedCall{}
	for i := range open {
		byThread[open[i].PID] = &open[i]
	}
	// blocker is the call at the end of a wait, so many generations below.
	var blocker func(c *TracedCall, depth int) (*TracedCall, int)
	blocker = func(c *TracedCall, depth int) (*TracedCall, int) {
		if depth > maxChain {
			return nil, 0
		}
		for _, tid := range files.threadsOfChild(files.processOf(c.PID), awaitedPID(c.Args)) {
			child := byThread[tid]
			switch {
			case child == nil || child.PID == c.PID || child.Wait == IdleWait:
			case child.Wait != ChildWait:
				return child, depth
			default:
				if found, deep := blocker(child, depth+1); found != nil {
					return found, deep
				}
			}
		}
		return nil, 0
	}
	var idle []*TracedCall
	for i := range open {
		c := &open[i]
		if c.Wait != ChildWait {
			continue
		}
		found, depth := blocker(c, 0)
		if found == nil {
			idle = append(idle, c)
			continue
		}
		who := "its child "
		if depth > 0 {
			who = "its descendant "
		}
		c.Blocker, c.BlockerCall = found.PID, found.Name
		c.Why = who + strconv.Itoa(found.PID) + " is in " + found.Name
	}
	for _, c := range idle {
		c.Wait = IdleWait
	}
}

// awaitedPID is the process that a wait is for; 0 stands for any child.
func awaitedPID(args string) int {
	if _, label, ok := strings.Cut(args, "<pid:"); ok && strings.Contains(args[:min(len(args), 40)], "P_PIDFD") {
		args = label
	}
	for _, name := range []string{"upid=", "which=", "P_PID, ", "pid="} {
		args = strings.TrimPrefix(args, name)
	}
	pid, _ := leadingInt(args)
	return pid
}

// Convoy is a lock that several threads of a process wait for, as far as a trace shows locks: calls
// of futex on one address.
type Convoy struct {
	Address string
	Waiters []int // threads, in their order
	// Holder is the one thread of the process that waits for something else than this lock or work
	// to do: it may hold the lock. 0 where there is none, or more than one.
	Holder     int
	HolderCall string
	calls      []*TracedCall // of the waiters, the longest first
	holder     *TracedCall
}

// minConvoy is how many threads make a convoy: two may meet at a lock at any time.
const minConvoy = 3

// findConvoys finds the locks that threads wait for at the end of a trace. A futex is a lock for
// certain where the waiters say so (FUTEX_LOCK_PI), or give the value that the C library writes for
// "locked, with waiters" (2: glibc nptl/lowlevellock.h, musl __lock); threads that wait for work
// give others.
func findConvoys(open []TracedCall, files *files) []Convoy {
	type lock struct {
		process *process
		address string
	}
	waiting := map[lock][]*TracedCall{}
	others := map[*process][]*TracedCall{}
	for i := range open {
		c := &open[i]
		p := files.processOf(c.PID)
		if address, ok := lockAddress(c); ok {
			waiting[lock{p, address}] = append(waiting[lock{p, address}], c)
		} else if mayHold(c) {
			others[p] = append(others[p], c)
		}
	}
	var all []Convoy
	for at, calls := range waiting {
		if len(calls) < minConvoy {
			continue
		}
		v := Convoy{Address: at.address, calls: calls}
		for _, c := range calls {
			v.Waiters = append(v.Waiters, c.PID)
		}
		slices.Sort(v.Waiters)
		slices.SortStableFunc(v.calls, func(a, b *TracedCall) int {
			return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Pos.Line, b.Pos.Line))
		})
		if o := others[at.process]; len(o) == 1 {
			v.holder, v.Holder, v.HolderCall = o[0], o[0].PID, o[0].Name
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b Convoy) int {
		return cmp.Or(
			cmp.Compare(len(b.Waiters), len(a.Waiters)), cmp.Compare(a.Address, b.Address),
			cmp.Compare(a.Waiters[0], b.Waiters[0]),
		)
	})
	return all
}

// mayHold says that a call is one in which a program gets stuck with a lock in its hands. To
// receive is not: that is how threads with nothing to do look, but for netlink, where the answer
// comes from the kernel.
func mayHold(c *TracedCall) bool {
	switch c.Wait {
	case DiskWait, NetlinkWait, LockWait:
		return true
	case BusWait, SocketWait:
		return movingCalls[c.Name]
	}
	return false
}

// lockAddress is the address of the lock that a call waits for without end.
func lockAddress(c *TracedCall) (string, bool) {
	if c.Name != "futex" {
		return "", false
	}
	args := strings.Split(c.Args, ", ")
	if len(args) < 3 {
		return "", false
	}
	for i, name := range []string{"uaddr=", "op=", "val="} { // -N
		args[i] = strings.TrimPrefix(args[i], name)
	}
	switch op := strings.TrimSuffix(strings.TrimSuffix(args[1], "|FUTEX_CLOCK_REALTIME"), "_PRIVATE"); op {
	case "FUTEX_LOCK_PI", "FUTEX_LOCK_PI2":
		return args[0], true
	case "FUTEX_WAIT", "FUTEX_WAIT_BITSET":
		return args[0], args[2] == "2"
	}
	return "", false
}

// childEvent makes an event of a wait for a child that is itself blocked.
func childEvent(c *TracedCall) event.Event {
	e := event.Event{
		Kind: event.KindSyscall, Component: "process", Source: "strace", Start: c.Start, Open: true,
		Begun: c.AtLeast,
	}
	e.IDs.TID = c.PID
	if c.HasDuration && c.Start.Known {
		e.End = c.Start.Add(c.Duration)
	}
	e.Fields = []event.Field{
		event.FieldName.Text(c.Name), event.FieldReturned.Bool(false),
		event.FieldWaitsFor.Int(c.Blocker),
		event.FieldWaitsIn.Text(c.BlockerCall),
	}
	e.Text = fmt.Sprintf("%s in thread %d waits for %d, which is in %s", c.Name, c.PID, c.Blocker, c.BlockerCall)
	e.Evidence = []event.Quote{{Pos: c.Pos, Text: c.Raw}}
	return e
}

// convoyEvent makes an event of threads that wait for one lock.
func convoyEvent(v *Convoy) event.Event {
	first := v.calls[0]
	e := event.Event{
		Kind: event.KindConvoy, Component: "process", Source: "strace", Start: first.Start, Open: true,
		Begun: first.AtLeast,
	}
	e.IDs.Lock, e.IDs.TID = v.Address, v.Holder
	if first.HasDuration && first.Start.Known {
		e.End = first.Start.Add(first.Duration)
	}
	e.Fields = []event.Field{event.FieldWaiters.Int(len(v.Waiters)), event.FieldCertainty.Text("inferred")}
	e.Text = fmt.Sprintf("%d threads wait for the lock at %s", len(v.Waiters), v.Address)
	if v.Holder != 0 {
		e.AddFields(event.FieldHolder.Int(v.Holder), event.FieldHolderCall.Text(v.HolderCall))
		e.Text += fmt.Sprintf("; thread %d, which is in %s, may hold it", v.Holder, v.HolderCall)
		e.Evidence = []event.Quote{{Pos: v.holder.Pos, Text: v.holder.Raw}}
	}
	for _, c := range v.calls[:min(len(v.calls), minConvoy)] {
		e.Evidence = append(e.Evidence, event.Quote{Pos: c.Pos, Text: c.Raw})
	}
	return e
}

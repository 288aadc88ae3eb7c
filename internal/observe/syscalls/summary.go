package syscalls

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// Summary is what one trace amounts to.
type Summary struct {
	Path  string
	Files []string // that it was read from, where strace -ff wrote several
	Form  traces.Form
	Calls map[string]*CallCount
	// that had not returned at the end: culprits before idle waits, then the longest
	Open []TracedCall
	// finished culprits of at least 10 ms: the few longest of each kind, kinds in the order of
	// Waits
	Slow        []TracedCall
	Idle        map[string]*CallCount // waits of at least 10 ms
	Tables      []traces.CallTotal    // rows of the tables that strace itself printed (-c, -C)
	Counted     bool                  // Calls are those of Tables: the file holds no calls
	Threads     int
	First, Last event.Time // as written: a trace with -t and -tt has no date, one with -r alone no time
	Bus         Bus
	Convoys     []Convoy
	// Lines, Blank and Skipped account for the file; FirstSkip is the reason of the first line
	// lost.
	Lines, Blank, Skipped int
	FirstSkip             string

	trace   *Trace
	threads map[int]bool
	nth     []*CallCount // those of Calls, by Syscall.Nth
	slow    map[Wait][]TracedCall
	open    []TracedCall
}

// CallCount counts calls of one name as strace -c does: those that returned.
type CallCount struct {
	Count, Errors int
	Total, Max    time.Duration // as far as the trace tells
}

// Wait says what a call that takes long waits for.
type Wait string

// The kinds of waits, worst first. Idle ones are those of threads that have
// nothing to do, or wait for one of the others.
const (
	DiskWait    Wait = "disk"
	NetlinkWait Wait = "netlink"
	BusWait     Wait = "d-bus"
	// to send, or to receive where the trace does not tell the socket's kind.
	SocketWait Wait = "socket"
	LockWait   Wait = "file lock"
	ChildWait  Wait = "child"
	OtherWait  Wait = "other"
	IdleWait   Wait = "idle"
)

// Waits are all kinds in the order in which they are shown.
var Waits = []Wait{DiskWait, NetlinkWait, BusWait, SocketWait, LockWait, ChildWait, OtherWait, IdleWait}

// TracedCall is one call that took long. Where only AtMost is known, it is also the Duration.
type TracedCall struct {
	traces.Syscall
	Wait Wait
	Why  string // of a wait for a child: what that child is in
	// Blocker is the thread at the end of such a wait, over all generations, and BlockerCall what
	// it is in. 0 and empty for every other call.
	Blocker     int
	BlockerCall string
}

// callWaits says what calls wait for, where the name alone tells it.
var callWaits = func() map[string]Wait {
	m := map[string]Wait{}
	for kind, names := range map[Wait]string{
		DiskWait: `umount2 umount mount fsync fdatasync syncfs sync sync_file_range rename renameat
			renameat2 open openat openat2 creat unlink unlinkat rmdir mkdir mkdirat link linkat
			symlink symlinkat truncate ftruncate fallocate pwrite64 pwritev pread64 preadv stat
			lstat fstat newfstatat statx statfs fstatfs getdents getdents64 readlink readlinkat
			access faccessat faccessat2 chmod fchmod fchmodat chown fchown lchown fchownat
			utimensat copy_file_range sendfile`,
		LockWait:  `flock`,
		ChildWait: `wait4 waitid`,
		IdleWait: `futex futex_wait futex_waitv epoll_wait epoll_pwait epoll_pwait2 poll ppoll select
			pselect6 nanosleep clock_nanosleep accept accept4 rt_sigtimedwait rt_sigsuspend
			sigsuspend pause restart_syscall io_getevents io_pgetevents io_uring_enter sched_yield
			msgrcv mq_timedreceive semtimedop inotify_add_watch`,
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = kind
		}
	}
	return m
}()

// What is kept of a trace.
const (
	slowOfKind = 10 // calls shown of each kind
	slowCall   = 10 * time.Millisecond
)

// NewSummary starts a summary of the trace at path.
func NewSummary(path string, form traces.Form) *Summary {
	return &Summary{
		Path: path, Form: form, Calls: map[string]*CallCount{}, Idle: map[string]*CallCount{},
		trace: NewTrace(), threads: map[int]bool{}, slow: map[Wait][]TracedCall{},
	}
}

// Filter says which calls of the trace must be wanted.
func (s *Summary) Filter() *traces.CallFilter {
	return &traces.CallFilter{Least: map[string]time.Duration{"": slowCall}, Ask: s.trace.callQuestions()}
}

// Add takes the next call. What [Summary.Filter] does not want need not be wanted.
func (s *Summary) Add(c *traces.Syscall) {
	s.trace.advanceClock(c)
	if from, _ := c.Span(); !s.First.Known || from.Known && from.T.Before(s.First.T) {
		s.First = from
	}
	if c.First && len(s.threads) < maxHandles {
		s.threads[c.PID] = true
	}
	if c.Name == "" {
		if c.Count != nil {
			s.keepTableRow(c.Count)
		}
		for i := range c.Rest {
			countOf(s.Calls, c.Rest[i].Name).addTotal(&c.Rest[i])
		}
		return
	}
	s.countReturned(c)
	if !c.Wanted {
		return
	}
	s.trace.files.followCall(c)
	h, _ := s.trace.lookAtCall(c)
	if max(c.Duration, c.AtMost) < slowCall && !c.Unfinished {
		return
	}
	kind := kindOfWait(c, h)
	switch {
	case c.AtMost > 0 && (kind == IdleWait || kind == ChildWait || kind == OtherWait): // the program's own work is in it
	case c.AtMost > 0:
		bounded := TracedCall{Syscall: *c, Wait: kind}
		bounded.Duration, bounded.HasDuration = c.AtMost, true
		s.keepSlow(bounded)
	case c.Unfinished:
		s.open = append(s.open, TracedCall{Syscall: *c, Wait: kind})
	case kind == IdleWait || kind == ChildWait:
		if !c.Returned {
			return
		}
		countOf(s.Idle, c.Name).addCall(c)
	default:
		s.keepSlow(TracedCall{Syscall: *c, Wait: kind})
	}
}

// maxTables bounds the rows of tables that are kept: Linux has some 450 calls, and up to three
// ABIs.
const maxTables = 4096

// keepTableRow takes a row of a table that strace printed.
func (s *Summary) keepTableRow(row *traces.CallTotal) {
	if len(s.Tables) < maxTables {
		s.Tables = append(s.Tables, *row)
	}
}

// countReturned counts a call that came back.
func (s *Summary) countReturned(c *traces.Syscall) {
	if !c.Returned {
		return
	}
	if c.Nth < 0 {
		countOf(s.Calls, c.Name).addCall(c)
		return
	}
	for c.Nth >= len(s.nth) {
		s.nth = append(s.nth, nil)
	}
	n := s.nth[c.Nth]
	if n == nil {
		n = countOf(s.Calls, c.Name)
		s.nth[c.Nth] = n
	}
	n.addCall(c)
}

// countFromTables fills the counts of a file that holds nothing but tables.
func (s *Summary) countFromTables() {
	for i := range s.Tables {
		row := &s.Tables[i]
		if row.Name == totalRow {
			continue
		}
		n := countOf(s.Calls, row.Name)
		n.Count += row.Calls
		n.Errors += row.Errors
		n.Total += cmp.Or(row.Wall, row.Total)
		n.Max = max(n.Max, cmp.Or(row.WallMax, row.Max))
	}
	s.Counted = len(s.Calls) > 0
}

// totalRow is the last of every table.
const totalRow = "total"

// ListDifferences names the calls that strace counted otherwise in its own table, each with both
// numbers. It is empty where they agree, and where the trace holds no table, or nothing but one.
func (s *Summary) ListDifferences() (names []string) {
	if s.Counted || len(s.Tables) == 0 {
		return nil
	}
	own := map[string]int{}
	for i := range s.Tables {
		own[s.Tables[i].Name] += s.Tables[i].Calls
	}
	delete(own, totalRow)
	for name, n := range s.Calls {
		if own[name] != n.Count {
			names = append(names, fmt.Sprintf("%s (%d, here %d)", name, own[name], n.Count))
		}
		delete(own, name)
	}
	for name, n := range own {
		names = append(names, fmt.Sprintf("%s (%d, here none)", name, n))
	}
	slices.Sort(names)
	return names
}

// countOf is the count of a name in a table.
func countOf(table map[string]*CallCount, name string) *CallCount {
	n := table[name]
	if n == nil {
		n = &CallCount{}
		table[name] = n
	}
	return n
}

func (n *CallCount) addCall(c *traces.Syscall) {
	n.Count++
	if c.Errno != "" {
		n.Errors++
	}
	n.Total += c.Duration
	n.Max = max(n.Max, c.Duration)
}

func (n *CallCount) addTotal(c *traces.CallTotal) {
	n.Count += c.Calls
	n.Errors += c.Errors
	n.Total += c.Total
	n.Max = max(n.Max, c.Max)
}

// keepSlow remembers a slow call as long as few of its kind were slower.
func (s *Summary) keepSlow(c TracedCall) {
	kept := s.slow[c.Wait]
	i, _ := slices.BinarySearchFunc(kept, c, func(a, b TracedCall) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	if i < slowOfKind {
		kept = slices.Insert(kept, i, c)
		s.slow[c.Wait] = kept[:min(len(kept), slowOfKind)]
	}
}

// kindOfWait says what a call waits for when it takes long.
func kindOfWait(c *traces.Syscall, h *handle) Wait {
	if kind, ok := callWaits[c.Name]; ok {
		return kind
	}
	sends, moves := movingCalls[c.Name]
	switch {
	case strings.HasPrefix(c.Name, "fcntl") && strings.Contains(c.Args, "SETLKW"):
		return LockWait
	case !moves:
		return OtherWait
	case h != nil && h.conn != nil && h.conn.Serials != nil:
		return BusWait
	case h != nil && h.kind == netlinkSocket || strings.Contains(c.Args, "NETLINK"):
		return NetlinkWait
	case socketCall(c.Name) && (sends || h == nil || h.kind == unknownHandle):
		return SocketWait // it may be netlink: nothing tells
	case !socketCall(c.Name) && h != nil && h.kind == fileHandle && !strings.HasPrefix(h.path, "/dev/"):
		return DiskWait
	case sends:
		return OtherWait
	}
	return IdleWait
}

// socketCall tells calls that only work on sockets.
func socketCall(name string) bool {
	return strings.HasPrefix(name, "send") || strings.HasPrefix(name, "recv")
}

// Finish ends the trace.
func (s *Summary) Finish(stats lines.Stats) {
	s.trace.Finish(nil)
	s.Bus = s.trace.Bus
	s.Lines, s.Blank, s.Threads, s.Last = stats.Lines, stats.Blank, len(s.threads), s.trace.last
	for _, kind := range Waits {
		s.Slow = append(s.Slow, s.slow[kind]...)
	}
	if len(s.Calls) == 0 {
		s.countFromTables()
	}
	followChildren(s.open, s.trace.files)
	s.Convoys = findConvoys(s.open, s.trace.files)
	slices.SortStableFunc(s.open, func(a, b TracedCall) int {
		return cmp.Or(cmp.Compare(slices.Index(Waits, a.Wait), slices.Index(Waits, b.Wait)), cmp.Compare(b.Duration, a.Duration))
	})
	s.Open = s.open
}

// Missing says what the trace cannot tell because of the options it was written with.
func (s *Summary) Missing() (missing []string) {
	f := &s.Form
	if s.Counted {
		return []string{
			"the calls themselves (-c keeps only counts): a call that has not returned is in no table, " +
				"so that a hang cannot be seen here",
		}
	}
	add := func(lacks bool, what string) {
		if lacks {
			missing = append(missing, what)
		}
	}
	add(
		f.PID == "",
		"no pids (-f): either one thread was traced, or this is one file of -ff; a hang elsewhere shows only as a quiet futex",
	)
	add(f.Clock == "" && !f.Relative, "no times (-tt): the age of open calls is unknown")
	lacks := s.First.Lacks
	add(
		f.Clock == "" && f.Relative && !s.First.Known,
		"no time of day (-tt beside -r): the trace cannot be laid beside a log; --date with a time of day gives it one",
	)
	add(lacks&event.LacksDate != 0, "no date and no zone (-ttt has both); --date and --tz give it them")
	add(s.First.Known && lacks == event.LacksZone, "no zone (--tz); the date is the one of --date")
	add(f.Clock == "-t", "no fractions of a second (-tt)")
	add(
		!f.Took && (f.Clock != "" || f.Relative),
		"no -T: only calls that other threads' lines interrupt have a duration; "+
			"of others the time to the next line is an upper bound (≤)",
	)
	add(f.Labels != "-yy" && len(s.Bus.Conns) == 0, "no -yy: sockets are known only where the trace shows them being made")
	for _, c := range s.Bus.Conns {
		if c.Unreadable {
			missing = append(missing, "-s 256: answers on D-Bus are cut before the number of the call that they answer")
			break
		}
	}
	return missing
}

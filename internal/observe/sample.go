package observe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
)

// Samples joins samples of one thread in one call, scan after scan, to an
// interval. A sample says that something was so at one moment; a run of them,
// that it most likely was so in between: at least from the first to the last, at most one scan more at either end.
type Samples struct {
	runs  map[int]*run // by thread
	now   event.Time   // of the current scan
	scan  int          // its number
	pause time.Duration
}

// run is a thread that is in one call for some scans.
type run struct {
	first, last  parse.Sample
	stack, wchan string // the last that could be read
	scan         int    // of last
	count        int
}

// NewSamples starts with no thread seen.
func NewSamples() *Samples { return &Samples{runs: map[int]*run{}} }

// slowRun is the least interval that is told; the incidents are about minutes.
const slowRun = time.Second

// Sample takes the next sample and appends the intervals that it ends.
func (t *Samples) Sample(dst []event.Event, s *parse.Sample) []event.Event {
	if s.TID == 0 || s.Time.IsZero() {
		return dst
	}
	if s.Ended {
		if e, ok := endedEvent(s); ok {
			dst = append(dst, e)
		}
		return dst
	}
	dst = t.tick(dst, s.Time)
	r := t.runs[s.TID]
	if r != nil && !r.goesOn(s, t.scan) {
		dst = t.end(dst, r, false)
		delete(t.runs, s.TID)
		r = nil
	}
	if !telling(s) {
		return dst
	}
	if r == nil {
		if len(t.runs) >= maxHandles {
			return dst
		}
		r = &run{first: *s}
		t.runs[s.TID] = r
	}
	r.last, r.scan = *s, t.scan
	r.stack, r.wchan = cmp.Or(s.Stack, r.stack), cmp.Or(s.WChan, r.wchan)
	r.count++
	return dst
}

// tick moves on to the scan of a new time; all rows of a scan carry one. A
// time that runs backwards (a change of zone) or stands still for long ends all runs.
func (t *Samples) tick(dst []event.Event, now event.Time) []event.Event {
	if t.now.Known && now.T.Equal(t.now.T) {
		return dst
	}
	if t.now.Known {
		step := now.T.Sub(t.now.T)
		if step > 0 && (t.pause == 0 || step < t.pause) {
			t.pause = step
		}
		if step < 0 || step > max(2*t.pause+t.pause/2, time.Second) {
			dst = t.endAll(dst, false)
		}
	}
	t.now = now
	t.scan++
	return dst
}

// telling leaves out what a thread with nothing to do is in. In state D anything tells.
func telling(s *parse.Sample) bool {
	if s.State == "D" {
		return true
	}
	return s.Syscall != "" && s.State != "R" && traced[s.Syscall]
}

// goesOn says whether the thread is still in the same call.
func (r *run) goesOn(s *parse.Sample, scan int) bool {
	if s.Syscall != r.last.Syscall || (s.State == "D") != (r.last.State == "D") || s.Comm != r.last.Comm {
		return false
	}
	if s.Seq != 0 && r.last.Seq != 0 && s.HasAge && r.last.HasAge { // calls are numbered
		return s.Seq == r.last.Seq
	}
	return scan-r.scan <= 1
}

// end makes the event of a run; atEnd says that the last scan still holds it.
func (t *Samples) end(dst []event.Event, r *run, atEnd bool) []event.Event {
	s := &r.first
	from := s.Time
	if s.HasAge {
		from = from.Add(-s.Age)
	}
	if r.last.Time.T.Sub(from.T) < slowRun {
		return dst
	}
	e := sampleEvent(s)
	e.Start, e.End, e.Open, e.Begun = from, r.last.Time, atEnd, !s.HasAge
	most := r.last.Time.T.Sub(from.T) + t.pause
	if !s.HasAge {
		most += t.pause
	}
	e.Fields = append(e.Fields, str("wchan", r.wchan), str("stack", r.stack),
		event.Field{Key: "samples", Value: event.Int(int64(r.count))},
		event.Field{Key: "most", Value: event.Duration(most)}, truth("returned", !atEnd))
	e.Text += ", seen " + strconv.Itoa(r.count) + " times in a row"
	if r.count > 1 {
		e.Evidence = append(e.Evidence, event.Quote{Pos: r.last.Pos, Text: r.last.Raw})
	}
	return append(dst, e)
}

// sampleEvent is what the events of all samples have in common.
func sampleEvent(s *parse.Sample) event.Event {
	e := event.Event{Kind: KindThreadSample, Component: writerOf(s), Source: "samples"}
	e.IDs.TID, e.IDs.PID, e.IDs.Container = s.TID, s.PID, findID(s.Target)
	e.Fields = []event.Field{
		str("name", s.Syscall), str("state", s.State), str("comm", s.Comm), str("exe", s.Exe), truth("kernel", s.Kernel),
		truth("netlink", strings.HasPrefix(s.Target, "NETLINK") || strings.Contains(s.Stack, "netlink_recvmsg")), str("target", s.Target),
	}
	e.Text = s.Comm + ", thread " + strconv.Itoa(s.TID) + ", in " + cmp.Or(s.Syscall, s.WChan, "the kernel") + ", state " + s.State
	e.Evidence = []event.Quote{{Pos: s.Pos, Text: s.Raw}}
	return e
}

// endedEvent is a call that xcapture 3 saw return. It never sees umount2 return
// late: that call syncs after the kernel's sys_exit, so that its absence tells nothing.
func endedEvent(s *parse.Sample) (event.Event, bool) {
	if !s.HasAge || s.Age < slowRun || !traced[s.Syscall] {
		return event.Event{}, false
	}
	e := sampleEvent(s)
	e.Text = s.Syscall + " in thread " + strconv.Itoa(s.TID)
	e.Start, e.End = s.Time, s.Time.Add(s.Age)
	e.Fields = append(e.Fields, truth("returned", true))
	return e, true
}

// writerOf names the component that a thread belongs to; the kernel cuts names at 15 bytes.
func writerOf(s *parse.Sample) string {
	if s.Kernel {
		return "kernel"
	}
	for _, c := range [...]struct{ comm, component string }{
		{"containerd-shim", "shim"},
		{"containerd", "containerd"},
		{"dockerd", "dockerd"},
		{"kubelet", "kubelet"},
		{"runc", "runc"},
		{"systemd", "systemd"},
		{"terway", "cni"},
	} {
		if strings.HasPrefix(s.Comm, c.comm) {
			return c.component
		}
	}
	return "process"
}

// Finish appends the intervals that reach to the end.
func (t *Samples) Finish(dst []event.Event) []event.Event { return t.endAll(dst, true) }

func (t *Samples) endAll(dst []event.Event, atEnd bool) []event.Event {
	var left []*run
	for _, r := range t.runs {
		left = append(left, r)
	}
	slices.SortFunc(left, func(a, b *run) int { return cmp.Compare(a.first.Pos.Line, b.first.Pos.Line) })
	for _, r := range left {
		dst = t.end(dst, r, atEnd && r.scan == t.scan)
	}
	clear(t.runs)
	return dst
}

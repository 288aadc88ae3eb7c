package traces

import (
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Part is one of the files that strace -ff writes, one for each thread:
//
//	w.strace.114
//	w.strace.115
//
// Its lines name no thread and are never interrupted; a call that did not return is a line that
// stops.
type Part struct {
	Path   string
	Set    string // the path without the thread: what all parts of a trace have in common
	Thread int
	Form   Form
	// Open gives the text of the file from its first byte, as parse.Open does, and what to close
	// when it has been read.
	Open  func() (text io.Reader, file io.Closer, err error)
	Stats lines.Stats // filled while reading
	Err   error       // why reading ended early; nil when it did not

	first traceMoment
	shift time.Duration // what its stamps lack on the axis of the set: they know no date
}

// NewPart says whether a trace, by its path and its first bytes, is a part of what -ff wrote: one
// whose lines name no thread, with a number for an ending. Such a file may also be the whole trace.
func NewPart(file string, head []byte) (*Part, bool) {
	set, thread := threadInName(file)
	form := ReadForm(head)
	if thread == 0 || form.PID != "" {
		return nil, false
	}
	return &Part{Path: file, Set: set, Thread: thread, Form: form, first: firstStamp(head)}, true
}

// MayBePart says whether the name of a file is one that strace -ff gives.
func MayBePart(file string) bool {
	_, thread := threadInName(file)
	return thread != 0
}

// threadInName takes "dir/w.strace.114" apart, compressed or not; thread is 0 where no thread's id
// ends the name.
func threadInName(file string) (set string, thread int) {
	switch ext := path.Ext(file); ext {
	case ".gz", ".zst", ".xz", ".bz2":
		file = strings.TrimSuffix(file, ext)
	}
	ext := path.Ext(file)
	if len(ext) < 2 || !lines.IsDigit(ext[1]) { // without the error, which would have to be made
		return file, 0
	}
	n, err := strconv.Atoi(ext[1:])
	if err != nil || n <= 0 || n > kernel.MaxPID {
		return file, 0
	}
	return strings.TrimSuffix(file, ext), n
}

func firstStamp(head []byte) traceMoment {
	for line := range linesOfHead(head) {
		if l := scanTrace(line); l.at.clock != noClock {
			return l.at
		}
	}
	return traceMoment{}
}

// Merge reads the parts of a set as one trace, in the order in which their stamps say that the
// calls returned. Without stamps it reads one part after the other. Calls that are open at the end
// come last, and their age reaches to the end of the whole set. The error that ends a part is in
// its Err; the others are read on.
func Merge(parts []*Part, calls *CallFilter) iter.Seq2[*Syscall, error] {
	return func(yield func(*Syscall, error) bool) {
		m := &merger{calls: calls.wantAllAsked(), yield: yield, waiting: slices.Clone(parts), nth: map[string]int{}}
		m.stamped = alignParts(m.waiting)
		defer func() {
			for _, p := range m.active {
				p.stopReading()
			}
		}()
		for len(m.active) > 0 || len(m.waiting) > 0 {
			if !m.openDueParts() || len(m.active) > 0 && !m.yieldNext() {
				return
			}
		}
		m.yieldOpenCalls()
	}
}

// wantAllAsked makes a filter that wants each call about which f would ask. A part of a set is read
// one call ahead of what is known of the other parts, too early to ask.
func (f *CallFilter) wantAllAsked() *CallFilter {
	if f == nil || f.Ask == nil {
		return f
	}
	all := &CallFilter{Least: maps.Clone(f.Least)}
	for name := range f.Ask {
		all.Least[name] = 0
	}
	return all
}

// alignParts sorts parts by their first stamps and lays stamps without a date on one axis. It says
// whether all have one.
func alignParts(parts []*Part) (stamped bool) {
	stamped = true
	for _, p := range parts {
		p.shift = 0
		stamped = stamped && p.first.clock == parts[0].first.clock && (p.first.clock == faceClock || p.first.clock == epochClock)
	}
	byThread := func(a, b *Part) int { return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Path, b.Path)) }
	if !stamped || len(parts) == 0 {
		slices.SortFunc(parts, byThread)
		return false
	}
	slices.SortFunc(parts, func(a, b *Part) int { return cmp.Or(a.first.compare(b.first), byThread(a, b)) })
	if parts[0].first.clock == epochClock {
		return true
	}
	// The trace begins behind the longest time of the day in which nothing did.
	start, longest := 0, int64(-1)
	for i, p := range parts {
		before := parts[(i+len(parts)-1)%len(parts)].first.ns
		gap := p.first.ns - before
		if i == 0 {
			gap += 2 * halfDay
		}
		if gap > longest {
			start, longest = i, gap
		}
	}
	for _, p := range parts[:start] {
		p.shift = 24 * time.Hour
	}
	copy(parts, slices.Concat(parts[start:], parts[:start]))
	return true
}

// merger is the state of one pass over a set.
type merger struct {
	calls   *CallFilter
	yield   func(*Syscall, error) bool
	stamped bool
	waiting []*Part // not yet opened, in the order of their first stamps
	active  partHeap
	open    []Syscall      // calls that did not return
	nth     map[string]int // of all names
	last    time.Time
	dated   bool // last is known
}

// activePart is a part that is being read.
type activePart struct {
	*Part
	file io.Closer
	pull func() (*Syscall, error, bool)
	stop func()
	call *Syscall // its next one
	at   time.Time
}

// partHeap has on top the part whose next call returned first.
type partHeap []*activePart

func (h partHeap) Len() int { return len(h) }
func (h partHeap) Less(i, j int) bool {
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].Path, h[j].Path)) < 0
}
func (h partHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *partHeap) Push(p any)   { *h = append(*h, p.(*activePart)) }
func (h *partHeap) Pop() any {
	old := *h
	p := old[len(old)-1]
	*h = old[:len(old)-1]
	return p
}

// openDueParts opens the parts that have begun by the time of the next call; without stamps, one
// after the other.
func (m *merger) openDueParts() bool {
	for len(m.waiting) > 0 {
		next := m.waiting[0]
		if len(m.active) > 0 && (!m.stamped || next.firstMoment().After(m.active[0].at)) {
			return true
		}
		m.waiting = m.waiting[1:]
		p := &activePart{Part: next}
		if !p.beginReading(m.calls) {
			continue
		}
		if more, goOn := m.readNext(p); !goOn {
			p.stopReading()
			return false
		} else if more {
			heap.Push(&m.active, p)
		}
	}
	return true
}

// firstMoment is the first stamp of the part as its calls have it.
func (p *Part) firstMoment() time.Time {
	at := p.first
	at.ns += int64(p.shift)
	return at.eventTime().T
}

func (p *activePart) beginReading(calls *CallFilter) bool {
	text, file, err := p.Open()
	if err != nil {
		p.Err = err
		return false
	}
	p.file = file
	p.pull, p.stop = iter.Pull2(Read(Input{Input: lines.Input{Path: p.Path, R: text, Stats: &p.Stats}, Calls: calls, Thread: p.Thread}))
	return true
}

func (p *activePart) stopReading() {
	p.stop()
	p.file.Close()
}

// readNext reads the next call of a part. It is false where the part has ended, and where the
// reader wants no more.
func (m *merger) readNext(p *activePart) (more, goOn bool) {
	for {
		call, err, ok := p.pull()
		if !ok {
			p.stopReading()
			return false, true
		}
		if err != nil {
			if _, skip := errors.AsType[*event.Skip](err); !skip {
				p.Err = err
			} else if !m.yield(call, err) {
				return true, false
			}
			continue
		}
		call.Start = call.Start.Add(p.shift)
		if call.Start.Known {
			p.at = call.Start.T
			if call.HasDuration && !call.Unfinished {
				p.at = p.at.Add(call.Duration)
			}
			if !m.dated || p.at.After(m.last) {
				m.last, m.dated = p.at, true
			}
		}
		if call.Unfinished {
			m.open = append(m.open, *call)
			continue
		}
		p.call = call
		return true, true
	}
}

// yieldNext passes on the call that returned first.
func (m *merger) yieldNext() bool {
	p := m.active[0]
	m.numberName(p.call)
	if !m.yield(p.call, nil) {
		return false
	}
	more, goOn := m.readNext(p)
	switch {
	case !goOn:
		return false
	case more:
		heap.Fix(&m.active, 0)
	default:
		heap.Pop(&m.active)
	}
	return true
}

// numberName gives a name the same number in all parts.
func (m *merger) numberName(c *Syscall) {
	if c.Name == "" || c.Nth < 0 {
		return
	}
	nth, known := m.nth[c.Name]
	if !known {
		nth = -1
		if len(m.nth) < lines.MaxNames {
			nth = len(m.nth)
			m.nth[c.Name] = nth
		}
	}
	c.Nth = nth
}

// yieldOpenCalls passes on the calls that are open at the end of the set.
func (m *merger) yieldOpenCalls() {
	slices.SortStableFunc(m.open, func(a, b Syscall) int {
		return cmp.Or(a.Start.T.Compare(b.Start.T), cmp.Compare(a.PID, b.PID))
	})
	for i := range m.open {
		c := &m.open[i]
		if c.Start.Known && m.stamped {
			c.Duration, c.HasDuration = max(0, m.last.Sub(c.Start.T)), true
		}
		m.numberName(c)
		if !m.yield(c, nil) {
			return
		}
	}
}

// Sets sorts parts into sets, both in the order in which they come.
func Sets(parts []*Part) (sets [][]*Part) {
	at := map[string]int{}
	for _, p := range parts {
		i, known := at[p.Set]
		if !known {
			i = len(sets)
			at[p.Set] = i
			sets = append(sets, nil)
		}
		sets[i] = append(sets[i], p)
	}
	return sets
}

// SetName is what a set is called: "dir/w.strace.*", or the path of its only part.
func SetName(parts []*Part) string {
	if len(parts) == 1 {
		return parts[0].Path
	}
	return parts[0].Set + ".*"
}

// SetForm is what the heads of all parts show together.
func SetForm(parts []*Part) Form {
	var f Form
	for _, p := range parts {
		by := p.Form
		f.Comms, f.Relative, f.Took, f.Hex = f.Comms || by.Comms, f.Relative || by.Relative, f.Took || by.Took, f.Hex || by.Hex
		f.Arguments, f.Stacks, f.Colours = f.Arguments || by.Arguments, f.Stacks || by.Stacks, f.Colours || by.Colours
		f.Clock, f.Labels, f.Strings = cmp.Or(f.Clock, by.Clock), max(f.Labels, by.Labels), max(f.Strings, by.Strings)
	}
	if len(parts) > 1 {
		f.PID = "file"
	}
	return f
}

// MaxHeldParts bounds what [Part.Hold] holds of one input, in bytes.
const MaxHeldParts = 256 << 20

// Hold reads a part that can be read only now, as those inside of an archive, so that Open works
// later. It is false where that would take more than room, which it lessens; the part must then be
// read alone, from rest.
func (p *Part) Hold(r io.Reader, room *int64) (rest io.Reader, ok bool) {
	text, err := io.ReadAll(io.LimitReader(r, *room+1))
	if int64(len(text)) > *room {
		return io.MultiReader(bytes.NewReader(text), r), false
	}
	*room -= int64(len(text))
	p.Open = func() (io.Reader, io.Closer, error) {
		if err == nil {
			return bytes.NewReader(text), io.NopCloser(nil), nil
		}
		return io.MultiReader(bytes.NewReader(text), failing{err}), io.NopCloser(nil), nil
	}
	return nil, true
}

// failing is a reader that only fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

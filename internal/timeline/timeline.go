// Package timeline turns the events of all files into one order: clocks are
// reconciled, begins and ends become intervals, copies of one line become one
// event, and the kubelet's stalls are computed. It knows no file format and no
// rule.
package timeline

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/steps"
)

// Timeline is everything that is known about the node, in one order.
type Timeline struct {
	// Events are in the order of event.Compare. Their times lack nothing, or are zero. Findings and
	// selections point to them, and so nobody changes them any more.
	Events   []*event.Event
	Coverage []Coverage
	Stalls   []Stall // in the order of their starts
	Facts    map[string]Fact
	Clocks   []Clock
	// Node is the one machine whose kubelet or runtime wrote; what names no host is of it. Empty
	// where that is not known.
	Node string
}

// Window is a stretch of time; both ends zero when nothing is dated.
type Window struct{ Start, End time.Time }

// IsZero says that the window is empty.
func (w Window) IsZero() bool { return w.Start.IsZero() && w.End.IsZero() }

// extendTo is the smallest window that contains w and t.
func (w Window) extendTo(t time.Time) Window { return w.Union(Window{t, t}) }

// Union is the smallest window that contains both.
func (w Window) Union(by Window) Window {
	if w.IsZero() {
		return by
	}
	if by.IsZero() {
		return w
	}
	if by.Start.Before(w.Start) {
		w.Start = by.Start
	}
	if by.End.After(w.End) {
		w.End = by.End
	}
	return w
}

// Coverage is what one source of evidence spans. Absence is evidence only inside it.
type Coverage struct {
	Source string // "containerd.log", "goroutines.containerd"
	File   string
	// Start and End are the first and the last dated line. Both zero when nothing is dated.
	Start, End time.Time
	Asked      time.Time // when there was no line more; zero where that is not known
	// Level is the least serious level that was seen: absence of a debug line proves nothing in a
	// log at info.
	Level event.Level
	// Gaps are the parts of it that lines are missing from, in the order of their starts.
	Gaps []Gap
	// Lines is how many dated lines of the source the file holds.
	Lines int
	// Samples is how many samples of all threads it is; 0 for a log.
	Samples int
	// Mixed says that the same file holds a dense log of the same time, line by line between these:
	// /var/log/syslog.
	Mixed bool
}

// What makes a log dense. People choose a dozen lines for a ticket; what is longer is mostly stacks
// of the kernel, all of one second. Thousands of lines nobody chooses: a busy or a young node has
// them in a minute.
const (
	denseLines = 200
	denseSpan  = 10 * time.Minute
	manyLines  = 2000
	manySpan   = time.Minute
	mixedLines = 50 // of a log between the lines of another one that is dense
)

// IsDense says that the file holds what its writer wrote in its time, and not lines that somebody
// chose: only there absence is evidence, and a line alone may be noise.
func (c *Coverage) IsDense() bool {
	span := c.End.Sub(c.Start)
	return c.Lines >= denseLines && span >= denseSpan || c.Lines >= manyLines && span >= manySpan || c.Mixed
}

// Gap is a part of a source's time in which lines are missing from the file, or in which nothing
// could be written.
type Gap struct {
	// Window is where the lines are missing; a zero End is not known.
	Window
	Reason   string
	Evidence []event.Quote // the lines that say so; none where only the file as a whole shows it
}

// Phase is the part of relist in which a stall sits (kubelet pkg/kubelet/pleg/generic.go).
type Phase string

// The phases of relist.
const (
	PhaseList    Phase = "list" // GetPods: ListPodSandbox, ListContainers
	PhasePod     Phase = "pod"  // updateCache of one pod
	PhaseUnknown Phase = "unknown"
)

// Sentence says where relist hangs in a stall of this phase; empty when that is not known.
func (p Phase) Sentence() string {
	switch p {
	case PhaseList:
		return "In its stalls relist hangs while it lists the containers."
	case PhasePod:
		return "In its stalls relist hangs while it asks for one pod after the other."
	}
	return ""
}

// Stall is a period in which relist did not complete, by the kubelet's own arithmetic.
type Stall struct {
	// Start is the moment of the first complaint less the age that it gives: the start of the
	// relist that did not end, or of the one before it, which is at most one relist period earlier.
	// End is the last complaint.
	Window
	// Open says that no recovery was seen: the log ends within the complaints, so
	// that End-Start is "at least".
	Open bool
	// Threshold is how long a relist may take before the kubelet complains: 3 m, or what its lines
	// say (10 m with Evented PLEG).
	Threshold time.Duration
	// RuntimeDown says that the kubelet complained of the runtime as a whole, whose Status failed for
	// the threshold, and not of PLEG.
	RuntimeDown bool
	Phase       Phase
	// PhaseBasis says what shows the phase: "a goroutine dump of the kubelet", "…"; empty while it
	// is unknown.
	PhaseBasis string
	// Tooth is the place of this stall in a saw-tooth: relist gives up after two time-outs, of one
	// pod or from kubelet 1.32 on of two, starts again and stalls there again, each time for 4
	// minutes. 1 is the first; 0 is a stall that is part of none.
	Tooth int
	// Restarted is when the kubelet started, where relist then listed all pods and stalled again.
	// It is zero for any other stall.
	Restarted time.Time
	// NotReady is when the node's condition changed; zero when that line is missing.
	NotReady time.Time
	// Ready is when it changed back; zero when that line is missing.
	Ready time.Time
	// Host is the machine whose kubelet complained; empty where its lines do not name it.
	Host string
	// Evidence is the first and the last complaint.
	Evidence []event.Quote
	// NotReadyEvidence and ReadyEvidence are the lines of the node's condition.
	NotReadyEvidence, ReadyEvidence []event.Quote
}

// Fact is something about the node that holds for the whole bundle.
type Fact struct {
	Value    string
	Evidence []event.Quote
}

// Clock says what was assumed about the times of one file. Files without any have none.
type Clock struct {
	File string
	// "written", "zone +08:00 from lines that carry both clocks, year 2025 from the node's dated
	// evidence", …
	Basis string
	// what was subtracted from the first local time to get UTC, or what all stamps name; positive
	// east of UTC
	Offset time.Duration
	// from which seconds since boot count; zero when nothing shows it, or the file is of several
	// boots
	Boot time.Time
	Note string // what is not known and what would help; empty when nothing is missing
	// Ignored says which flag was not used because the file's own lines contradict it; empty when
	// none.
	Ignored string

	zone  rule
	moves *steps.Moves
	years yearRange
}

// ResolveStamp is the moment at which a line of the file was written. Its stamp shows local, which
// lacks neither year nor date; zoned says that the stamp has its zone. In the hour that a clock
// shows twice the result is the moment nearer to near. A line is read as the timeline reads the
// stamps of events: the result is zero where the stamp counts as undated.
func (c *Clock) ResolveStamp(local time.Time, zoned bool, line int, near time.Time) time.Time {
	at := local
	if !zoned && (c.zone.location != nil || len(c.zone.turns) > 0) {
		first, second, _ := c.zone.offsetsOfLocal(local)
		at = local.Add(-first)
		if later := local.Add(-second); later.Sub(near).Abs() < at.Sub(near).Abs() {
			at = later
		}
	}
	at = c.moves.Resolve(at, line)
	if c.years != (yearRange{}) && !c.years.hold(at.UTC()) {
		return time.Time{}
	}
	return at.UTC()
}

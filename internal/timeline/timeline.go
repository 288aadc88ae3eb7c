// Package timeline turns the events of all files into one order: clocks are
// reconciled, begins and ends become intervals, copies of one line become one
// event, and the kubelet's stalls are computed. It knows no file format and no
// rule.
package timeline

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Timeline is everything that is known about the node, in one order.
type Timeline struct {
	// Events are in the order of event.Compare. Their times lack nothing, or are zero.
	Events   []event.Event
	Coverage []Coverage
	Stalls   []Stall
	Facts    map[string]Fact
	Clocks   []Clock
}

// Window is a stretch of time; both ends zero when nothing is dated.
type Window struct{ Start, End time.Time }

// Coverage is what one source of evidence spans. Absence is evidence only inside it.
type Coverage struct {
	Source string // "containerd.log", "goroutines.containerd"
	File   string
	// Start and End are the first and the last dated line. Both zero when nothing is dated.
	Start, End time.Time
	// Level is the least serious level that was seen: absence of a debug line proves nothing in a log at info.
	Level event.Level
}

// Phase is the part of relist in which a stall sits (kubelet pkg/kubelet/pleg/generic.go).
type Phase string

// The phases of relist.
const (
	PhaseList    Phase = "list" // GetPods: ListPodSandbox, ListContainers
	PhasePod     Phase = "pod"  // updateCache of one pod
	PhaseUnknown Phase = "unknown"
)

// Stall is a period in which relist did not complete, by the kubelet's own arithmetic.
type Stall struct {
	Window
	// Open says that no recovery was seen; End is then the last line that still complained.
	Open  bool
	Phase Phase
	// NotReady is when the node's condition changed; zero when that line is missing.
	NotReady time.Time
	Evidence []event.Quote
	// NotReadyEvidence is the line of the node condition.
	NotReadyEvidence []event.Quote
}

// Fact is something about the node that holds for the whole bundle.
type Fact struct {
	Value    string
	Evidence []event.Quote
}

// Clock says what was assumed about the times of one file.
type Clock struct {
	File   string
	Basis  string        // "written", "zone +08:00 from same-line pairs", …
	Offset time.Duration // what was taken from the clock face to get UTC; seconds east
	Note   string
}

// Package stackdump turns the text of a goroutine dump into goroutines, groups
// of equal stacks and a graph of locks: who waits for which, and who holds it.
// It reads what runtime.Stack, SIGQUIT, SIGABRT and pprof's debug=2 print, from
// Go 1.5 to 1.26, also pasted, cut or concatenated, and the goroutine profiles of
// runtime/pprof (debug=1 and debug=0), which only count. It knows the standard
// library and the libraries that node daemons call each other with, but no program:
// what is special about one comes in as a table. It undoes no escapes of log
// files; that is the parsers' work. A Collector finds the dumps among their records.
package stackdump

import (
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Source is a dump and where it stands.
type Source struct {
	File string // path inside the bundle
	// Line is the line of Text's first byte in File, 1-based, when Pieces is
	// nil: then every line of Text is a line of File.
	Line int
	// Text has real newlines. Goroutines keep substrings of it.
	Text string
	// Pieces maps offsets of Text to positions, in rising order, when the dump
	// was part of log messages: all text of one piece stands, escaped, on the
	// one physical line at its Pos.
	Pieces []event.Piece
	// Followed says that something else stands behind Text in File, as the next prompt of a shell.
	Followed bool
}

// Dump is the goroutines of one text, in printed order. It may hold several
// dumps of one process, one after the other; Locks keeps them apart.
type Dump struct {
	File       string
	Goroutines []Goroutine
	// Profile says that some or all of them are entries of a goroutine profile:
	// counted, without ids, states, waits and arguments.
	Profile bool
	// Skips is what could not be read, at most maxSkips of them; runs of lines are one.
	Skips []*event.Skip
	// Lines, Used, Blank and Skipped account for the lines of the text:
	// Lines == Used + Blank + Skipped. Known furniture (signal and panic lines,
	// registers, markers) is Used.
	Lines, Used, Blank, Skipped int
	// Crash is the line that says why the program ended ("panic: …", "fatal error: …", "SIGQUIT: …");
	// empty when none does, and in a dump that was part of a log.
	Crash event.Quote
	// Gaps counts the places where journald said that it did not keep what was
	// written, Suppressed the messages that are missing there.
	Gaps, Suppressed int
	// Incomplete says that goroutines are missing, or may be: a BEGIN mark without its END, lines
	// that journald did not keep, a header or frames that were lost, a text that ends inside of a
	// goroutine or before the next one. Who reads the text sets it, too, when the reading failed.
	// Then nothing follows from a goroutine that is not there.
	Incomplete bool
	// Missing counts the goroutines of a profile that its first line counts, and that are not there.
	Missing int
	// lossy says that goroutines are missing before the end, so that no part of the text is whole.
	lossy bool
	// Headers counts lines that begin a goroutine (its header, or its first call where the header
	// was left out), Lost those among them whose goroutine could not be read:
	// Headers == len(Goroutines) + Lost.
	Headers, Lost int
}

// Goroutine is one goroutine of a dump, or all those of a profile that have the
// same stack. Its strings are substrings of Source.Text.
type Goroutine struct {
	ID uint64 // 0 in a profile
	// Alike is how many further goroutines it stands for, in a profile; zero in a dump.
	Alike int
	// State is what it waits for, as printed: "sync.Mutex.Lock", "chan receive",
	// without the marks (scan), (leaked) and (durable). Empty in a profile.
	State string
	// Wait is how long it has been in State, as printed: whole minutes, counted from the end of the
	// collection before the one that found it parked. N minutes are between 0 and N+1 minutes and a
	// mark phase. Zero is unknown, never proof of a short wait.
	Wait   time.Duration
	Locked bool // to its OS thread
	Leaked bool // the runtime found that nothing can wake it (Go 1.26); then no Wait is printed
	// Labels are its pprof labels (Go 1.26 with GODEBUG=tracebacklabels=1).
	Labels []event.Pair
	Frames []Frame // innermost first
	// Elided counts frames the runtime, or who pasted it, left out; a mark
	// without a number counts as one.
	Elided    int
	CreatedBy Frame  // the go statement; Func is empty when none was printed
	CreatorID uint64 // zero before Go 1.21
	// Pos is the file as a whole in a binary profile, where nothing can be quoted.
	Pos    event.Pos
	Header string // the header as printed, before any labels: quotable at Pos
}

// Frame is one call of a stack: the call line and the file line below it.
type Frame struct {
	Func    string // as printed, without arguments: "k8s.io/x/vendor/y/v2.(*T).M"
	Args    string // as printed between the outer parentheses
	File    string // empty when no file line was printed
	Line    int    // 0 when no file line was printed
	Inlined bool   // printed as f(...): its arguments are not known
	Pos     event.Pos
	Raw     string // the call line, trimmed, as far as it can be quoted at Pos

	fn *function // of Func, shared by frames that were read as text; nil for those of a test
}

// Group is goroutines in the same state with the same stack.
type Group struct {
	Count   int
	State   string
	MaxWait time.Duration
	Frames  []Frame  // of the first member
	IDs     []uint64 // in printed order; none in a profile
	// Idle says that they wait for work, as some do in every healthy process.
	Idle  bool
	First int // index into Dump.Goroutines of the first member
}

// Count is the number of goroutines; in a profile one entry stands for many.
func (d *Dump) Count() int {
	n := 0
	for i := range d.Goroutines {
		n += 1 + d.Goroutines[i].Alike
	}
	return n
}

// Split takes dumps that stand one after the other apart: a new one begins where
// an id comes again. The account of the lines stays with the first. The parts
// share their goroutines with d.
func (d *Dump) Split() []*Dump {
	var parts []*Dump
	for lo, hi := range d.partBounds() {
		part := &Dump{File: d.File, Profile: d.Profile, Headers: hi - lo, lossy: d.lossy}
		if lo == 0 {
			*part = *d
			part.Headers = hi + d.Lost
		}
		part.Incomplete = d.isPartIncomplete(hi)
		part.Goroutines = d.Goroutines[lo:hi:hi]
		parts = append(parts, part)
	}
	if parts == nil {
		return []*Dump{d}
	}
	return parts
}

// IsExcerpt says that somebody chose these goroutines: the one that writes a dump is in every dump,
// and runs. Of a process that a signal ended, the one on whose thread the signal came is the first,
// with its thread (since Go 1.23), in whatever state. A profile is no excerpt.
func (d *Dump) IsExcerpt() bool {
	if d.Profile || len(d.Goroutines) > 0 && strings.Contains(d.Goroutines[0].Header, " mp=0x") {
		return false
	}
	return !slices.ContainsFunc(d.Goroutines, func(g Goroutine) bool {
		return strings.HasPrefix(g.Header, "goroutine 0 ") || g.State == "running"
	})
}

// isPartIncomplete says whether goroutines may be missing of the part that ends before goroutine
// hi: a text that is cut at its end lacks some of its last dump only.
func (d *Dump) isPartIncomplete(hi int) bool {
	return d.lossy || d.Incomplete && hi == len(d.Goroutines)
}

// partBounds yields the bounds of the dumps that stand one after the other, as a half-open range of
// goroutines. An id that comes again begins the next dump; goroutine 0 stands for every thread and
// may come often.
func (d *Dump) partBounds() iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		lo := 0
		last := make(map[uint64]int, len(d.Goroutines)) // where each id came last
		for i := range d.Goroutines {
			id := d.Goroutines[i].ID
			if before, known := last[id]; known && before >= lo && id != 0 {
				if !yield(lo, i) {
					return
				}
				lo = i
			}
			last[id] = i
		}
		if lo < len(d.Goroutines) {
			yield(lo, len(d.Goroutines))
		}
	}
}

// DropText drops the goroutines and what else holds on to the text. The account of the lines stays.
func (d *Dump) DropText() { d.Goroutines, d.Crash = nil, event.Quote{} }

// Fingerprint is equal for copies of one dump, in a file and in a journal: it
// covers ids, states and innermost frames. It is empty for a dump without goroutines.
func (d *Dump) Fingerprint() string {
	if len(d.Goroutines) == 0 {
		return ""
	}
	h := fnv.New64a()
	var line []byte
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		line = append(append(append(strconv.AppendUint(line[:0], g.ID, 10), ' '), g.State...), ' ')
		if len(g.Frames) > 0 {
			line = append(append(line, g.Frames[0].Func...), g.Frames[0].Args...)
		}
		_, _ = h.Write(append(line, '\n')) // it never fails
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// Package incident runs the whole pipeline: files of a bundle through parsers
// and observers onto one timeline, and that through the rules. It is the only
// package, besides collect, that starts goroutines. It does not know how an
// incident is shown.
package incident

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Incident is what a bundle says.
type Incident struct {
	Node     string   // host name, as most lines or else a snapshot names it; empty when nothing does
	LeftOut  []string // other nodes whose evidence the inputs hold, and that were not looked at
	Unread   bool     // no line of any input could be read, and so nothing is known
	Window   timeline.Window
	Chosen   timeline.Window // that Options.Choose has chosen; an end that is zero is no limit
	Timeline *timeline.Timeline
	Result   story.Result
	Files    []*File
	// Context are the lines around quoted ones, where Options asked for them.
	Context map[event.Pos]Surroundings
	// Readings say how the line of Options.Watch was read: one for each file whose path fits, or only
	// that of the file with this very path.
	Readings []Reading
}

// File is the account of one input file: Lines == Used + Blank + Skipped.
type File struct {
	Path string
	// Format is "klog", "journal-short", …; "unknown" when no format fits, "empty" for a file
	// without bytes, "link" for one that points to another.
	Format    string
	Component string // who wrote most of it; empty when several did or none is known
	Lines     int
	Used      int
	Blank     int
	Skipped   int
	// FirstSkip is the first thing that could not be read, as "file:line: reason".
	FirstSkip string
	// Skips counts the distinct reasons, for the verbose account.
	Skips map[string]int
	// Events are the events of the timeline that lines of the file tell; Findings are the findings
	// that cite such lines.
	Events, Findings int
	// Start and End are the first and last dated line, in UTC; zero when nothing is dated.
	Start, End time.Time
	Node       string // the node it is from, where the inputs hold several and the file is of one; else empty
	// Note says what became of the file before it was read, or where a link leads; empty for most.
	Note string
	// SetAside says that the file was recognised as something that is no evidence: documentation, a
	// list of symbols, rules.
	SetAside bool
	// Err is why reading ended early: "unexpected EOF; 81204 lines kept". Empty when it did not.
	Err string
}

// Unrecognised says that nothing in the inputs is of a program that plegdiag knows.
func (inc *Incident) Unrecognised() bool { return inc.Result.Opening.State == story.Unrecognised }

package document

import "github.com/plegdiag/plegdiag/internal/report/show"

// Explanation is how one line was read, and what it counts for.
type Explanation struct {
	Schema string    `json:"schema"` // which document this is
	Tool   show.Tool `json:"tool"`   // what made the document
	// The line as evidence. Its text is empty for an entry of a journal file that holds no text
	// plegdiag looks for.
	Line show.Evidence `json:"line"`
	File File          `json:"file"` // the account of its file
	// What it is or belongs to: a line of a log, a goroutine of a dump, a system call, a sample, a
	// value; empty if nothing was read.
	Part    string `json:"read_as"`
	From    int    `json:"first_line"` // of what it belongs to
	To      int    `json:"last_line"`  // of what it belongs to
	Writer  string `json:"writer"`     // the component that wrote it; empty if none is known
	Unit    string `json:"unit"`       // who wrote it, as a line of a log says itself
	Host    string `json:"host"`       // as a line of a log says itself
	PID     int    `json:"pid"`        // as a line of a log says itself; 0 if it does not
	Level   string `json:"level"`      // of a line of a log; empty if it has none
	Message string `json:"message"`    // without headers; empty if the line holds no text plegdiag looks for
	// When it was written.
	Time  show.Stamp `json:"time"`
	Basis string     `json:"basis"` // how the parts of the time are known that the line lacks; empty if it has all
	Lacks []string   `json:"lacks"` // what its own stamp does not show; "boot": it counts from the boot
	Clock *Clock     `json:"clock"` // of the file; null if nothing in it is dated
	// The events of the timeline made of it.
	Events    []ReadEvent `json:"events"`
	Dropped   []Dropped   `json:"dropped"`   // events made of it that are not on the timeline
	Unused    string      `json:"unused"`    // why no event was made of it; empty if one was
	For       []Use       `json:"for"`       // the rules for which the report quotes it
	Against   []Use       `json:"against"`   // the rules against which the report quotes it
	Mentioned []Mention   `json:"mentioned"` // what else rests on it
}

// ReadEvent is an event that was made of a line.
type ReadEvent struct {
	Event
	Evidence []show.Evidence `json:"evidence"` // all lines that it was made of
	Fits     []Fit           `json:"fits"`     // the places of rules that take such an event
}

// Fit is a place of a rule that takes an event.
type Fit struct {
	Rule    string `json:"rule"`    // id of the rule
	Verdict string `json:"verdict"` // what became of the rule here
	Part    string `json:"part"`    // what the place is
	ID      string `json:"id"`      // of the place; may be empty
	Text    string `json:"text"`    // what the rule says of it
}

// Dropped is an event that is not on the timeline.
type Dropped struct {
	Kind string `json:"kind"` // what sort of event it is
	Text string `json:"text"` // what happened
	Why  string `json:"why"`  // why it was dropped
}

// Use is a rule for or against which a line is evidence.
type Use struct {
	Rule    string `json:"rule"`    // id of the rule
	Title   string `json:"title"`   // of the rule; may be empty
	Verdict string `json:"verdict"` // what became of the rule
	Text    string `json:"text"`    // what the line shows
}

// Mention is another part of an incident that rests on a line.
type Mention struct {
	What string `json:"what"` // which part
	Text string `json:"text"` // what the line does there
}

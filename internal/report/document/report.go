// Package document is what plegdiag writes of an incident for programs, as Go types: one for each
// object of JSON. The comment of a field is also its description in the schemas (internal/schema)
// and in docs/fields.md, so it is written for readers of the JSON. Fields are added, never renamed
// or removed. The package fills nothing in: that is the report's business.
package document

import "github.com/plegdiag/plegdiag/internal/report/show"

// Report is what is known of one incident.
type Report struct {
	Schema   string    `json:"schema"`   // which document this is
	Tool     show.Tool `json:"tool"`     // what made the document
	Incident Incident  `json:"incident"` // the answer, and what it is about
	// Confirmed, likely and possible only, best first, root before links.
	Findings []Finding `json:"findings"`
	// What to do next, best first, at most three.
	Next []NextStep `json:"next"`
	// Every rule for which something speaks, the surer first.
	Hypotheses []Hypothesis `json:"hypotheses"`
	Exposed    []Exposure   `json:"exposed"`   // risks that versions and settings show; they are no findings
	Forecasts  []Forecast   `json:"forecasts"` // numbers that grow to their limit
	Harmless   []Harmless   `json:"harmless"`  // lines that look bad and mean nothing here
	RuledOut   []RuledOut   `json:"ruled_out"` // rules against which something speaks
	// Rules for which an input is missing.
	NotEvaluable []NotEvaluable  `json:"not_evaluable"`
	Facts        map[string]Fact `json:"facts"` // about the node, by name (docs/facts.md)
	Account
}

// Account is what became of the inputs, in a report and from the command ls.
type Account struct {
	Clock []Clock `json:"clock"` // what was assumed about the times of each file
	Gaps  []Gap   `json:"gaps"`  // what is missing from the logs. No absence is proven inside a gap
	Files []File  `json:"files"` // the account: what became of every line
}

// FileList is what the command ls prints.
type FileList struct {
	Schema string    `json:"schema"` // which document this is
	Tool   show.Tool `json:"tool"`   // what made the document
	Account
}

// Incident is the answer, and what it is about.
type Incident struct {
	Headline string   `json:"headline"`           // the answer in one sentence
	Node     string   `json:"node"`               // host name; may be empty
	LeftOut  []string `json:"left_out,omitempty"` // nodes whose evidence is in the inputs and was not analysed; --node selects
	Window   Span     `json:"window"`             // first and last moment of the evidence
	// The window that --since, --until or --incident chose; an end that is not limited is empty. Not
	// there without them. Times outside are in gaps.
	Chosen *Span   `json:"chosen,omitempty"`
	Stalls []Stall `json:"stalls"` // periods in which the kubelet's relist did not complete
	// The first entry of next if no cause is likely; otherwise empty strings.
	Next Missing `json:"next"`
	// The first words of a report: the verdict of the finding that the headline is about; "stalled":
	// a stall or a hung runtime, and no cause; "signs": something is not routine; "healthy": nothing
	// but routine, where a stall would have been seen; "unrecognised": nothing that is known, or too
	// little.
	State string `json:"state"`
	// The incidents of the bundle, first what is going on where the evidence ends.
	Episodes []Episode `json:"episodes"`
	Signs    []Reason  `json:"signs"` // what is not routine, where no cause is named, at most three; beside a possible cause what it does not explain, at most two
}

// Span is a stretch of time.
type Span struct {
	Start show.Stamp `json:"start"` // first moment
	End   show.Stamp `json:"end"`   // last moment
}

// Stall is a period in which relist did not complete.
type Stall struct {
	Span
	Open       bool   `json:"open"`        // no recovery was seen: end is the last complaint
	Phase      string `json:"phase"`       // part of relist that it is in
	PhaseBasis string `json:"phase_basis"` // what shows the phase; may be empty
	Tooth      int    `json:"tooth"`       // place in a saw-tooth of 4 minutes; 0: part of none
	// Start of the kubelet after which relist stalled again; empty if it did not.
	Restarted show.Stamp `json:"restarted"`
	// Of a stall without a root: where to look. They are no cause.
	Suspects         []Suspect       `json:"suspects"`
	NotReady         show.Stamp      `json:"not_ready"`          // when the node's condition changed; empty if no line says so
	Evidence         []show.Evidence `json:"evidence"`           // the lines that show it
	NotReadyEvidence []show.Evidence `json:"not_ready_evidence"` // of not_ready
}

// Suspect is what a stall without a root hung at.
type Suspect struct {
	What     string          `json:"what"`     // what it is
	ID       string          `json:"id"`       // its id; of a pod also its name
	Why      string          `json:"why"`      // what makes it suspect
	Evidence []show.Evidence `json:"evidence"` // the lines that show it
}

// Episode is one stall, several that follow each other, or a hang without a stall.
type Episode struct {
	Span
	Open    bool   `json:"open"`    // no end was seen
	Stalls  []int  `json:"stalls"`  // places in incident.stalls, from 0
	Cause   string `json:"cause"`   // the rule of its root; empty without one
	Verdict string `json:"verdict"` // of its root; empty without one
	Summary string `json:"summary"` // of its root in a sentence; empty without one
}

// Reason is something that speaks for a cause, or is not routine.
type Reason struct {
	Text     string          `json:"text"`     // in a sentence
	Evidence []show.Evidence `json:"evidence"` // the lines that show it
}

// Finding is a rule that is said to be a cause, or a part of one.
type Finding struct {
	Rule    string `json:"rule"`    // its id, for plegdiag rules explain
	Title   string `json:"title"`   // of the rule
	Verdict string `json:"verdict"` // how sure it is
	// Its part in the incident. "root": the deepest proven cause; "link": explained by the root;
	// "contributing": true, and not the cause; "fallback": a symptom without a proven cause;
	// "notready": the node is NotReady for a reason that is not PLEG.
	Role string `json:"role"`
	// From 0 to 1; it orders findings and is no probability.
	Score float64 `json:"score"`
	// How the score was computed: each step's weight × how it is tied to the others (1 by an id, 0.8
	// by a process number, 0.5 by time alone) × 0.7 if the clocks leave the order open. The score is
	// their sum / 100, less 0.2 for each contradiction that lowers it.
	Formula   string     `json:"formula"`
	Summary   string     `json:"summary"`   // what happened, in a sentence
	Container string     `json:"container"` // that it is about; empty if none
	Start     show.Stamp `json:"start"`     // of the chain
	End       show.Stamp `json:"end"`       // of the chain
	// Cause, mechanism, symptom, recovery; a root's chain continues with the links above it.
	Chain          []Step      `json:"chain"`
	Contradictions []Against   `json:"contradictions"` // evidence against the finding that does not rule it out
	Missing        []Missing   `json:"missing"`        // inputs that would confirm it
	Rivals         []Rival     `json:"rivals"`         // other possible causes at the same time
	Remediation    Remediation `json:"remediation"`    // what to do
	References     []string    `json:"references"`     // where to read more
	Notes          []string    `json:"notes"`          // what to know before you trust it
}

// Step is one matched step of a rule.
type Step struct {
	Step string `json:"step"` // id of the step in its rule
	Rule string `json:"rule"` // that the step belongs to
	Role string `json:"role"` // its part in the chain
	// "observed": tied to the step before by an id and a certain order; "inferred" otherwise.
	Edge     string     `json:"edge"`
	Start    show.Stamp `json:"start"`    // empty if it is not known
	End      show.Stamp `json:"end"`      // empty for an instant
	Duration float64    `json:"duration"` // seconds; 0 is an instant
	AtLeast  bool       `json:"at_least"` // the end or the start was not seen: the duration is a lower bound
	AtMost   bool       `json:"at_most"`  // the start is the earliest possible: the duration is an upper bound
	Basis    string     `json:"basis"`    // where the times come from; empty if they were written
	Text     string     `json:"text"`     // what happened
	// The lines that show it.
	Evidence []show.Evidence `json:"evidence"`
}

// Against is evidence against a rule.
type Against struct {
	Why      string          `json:"why"`      // in a sentence
	Evidence []show.Evidence `json:"evidence"` // the lines that show it
}

// Missing is an input that would decide.
type Missing struct {
	Source  string `json:"source"`  // what it collects
	Command string `json:"command"` // that collects it
	Hazard  string `json:"hazard"`  // what the command does to the node besides answering
	Note    string `json:"note"`    // what to know before the command is run; may be empty
}

// NextStep is a command that would decide between rules.
type NextStep struct {
	Command string   `json:"command"`         // as one can paste it
	Source  string   `json:"source"`          // what it collects
	Decides []string `json:"decides_between"` // ids of rules
	Hazard  string   `json:"hazard"`          // what the command does to the node besides answering
	Note    string   `json:"note"`            // what to know before the command is run; may be empty
}

// Rival is another possible cause at the same time.
type Rival struct {
	Rule      string    `json:"rule"`      // its id
	Container string    `json:"container"` // that it is about; empty if none
	Decide    []Missing `json:"decide"`    // what would decide between them
}

// Remediation is what to do.
type Remediation struct {
	Now     []string `json:"now"`     // the actions as lines of text: of each what to do, then its commands
	Actions []Action `json:"actions"` // what to do now, in order
	Durable []string `json:"durable"` // what to do for good
}

// Action is one thing to do now.
type Action struct {
	Do       string   `json:"do"`       // in words
	Commands []string `json:"commands"` // each one line of bash
	Hazard   string   `json:"hazard"`   // what they may do to the node or its pods; may be empty
}

// Hypothesis is a rule with what speaks for and against it.
type Hypothesis struct {
	Rule      string    `json:"rule"`      // its id
	Title     string    `json:"title"`     // of the rule
	Verdict   string    `json:"verdict"`   // how sure it is, or why it is no finding
	For       []Reason  `json:"for"`       // what speaks for it
	Against   []Against `json:"against"`   // what speaks against it
	NotSeen   []string  `json:"not_seen"`  // what an expert would look for, in words
	Undecided []Missing `json:"undecided"` // what would decide
}

// Exposure is a risk that versions and settings alone show.
type Exposure struct {
	Rule     string          `json:"rule"`     // its id
	Text     string          `json:"text"`     // the risk in a sentence
	Because  []string        `json:"because"`  // the facts that show it
	Evidence []show.Evidence `json:"evidence"` // the lines that show the facts
}

// Forecast is a number that grows to its limit.
type Forecast struct {
	Rule     string     `json:"rule"`            // its id
	Text     string     `json:"text"`            // in a sentence
	At       show.Stamp `json:"at"`              // when it gets there
	Earliest show.Stamp `json:"earliest"`        // from the scatter of the readings; empty if it gives none
	Latest   show.Stamp `json:"latest"`          // from the scatter of the readings; empty if it gives none, or is too far to tell
	Readings int        `json:"readings"`        // their number; 0 if one event has measured the rate
	Value    float64    `json:"value"`           // the last one
	Limit    float64    `json:"limit"`           // to which it grows
	Rate     float64    `json:"rate_per_second"` // how fast it grows
	// Over how many seconds the rate was measured; 0 if the evidence does not say.
	Span     float64         `json:"measured_seconds"`
	Evidence []show.Evidence `json:"evidence"` // the lines that show the readings
}

// Harmless is what looks bad and means nothing.
type Harmless struct {
	Name     string          `json:"name"`     // of this sort of line
	Why      string          `json:"why"`      // why it means nothing
	Count    int             `json:"count"`    // lines
	Evidence []show.Evidence `json:"evidence"` // one of them
}

// RuledOut is a rule that something speaks against.
type RuledOut struct {
	Rule string `json:"rule"` // its id
	Against
}

// NotEvaluable is a rule for which an input is missing.
type NotEvaluable struct {
	Rule     string   `json:"rule"`     // its id
	Why      string   `json:"why"`      // what is missing, in words
	Missing  []string `json:"missing"`  // the inputs
	Commands []string `json:"commands"` // that collect them, one for each entry of missing
}

// Fact is something about the node that holds for the whole bundle.
type Fact struct {
	Value    string          `json:"value"`    // as text, a number too
	Evidence []show.Evidence `json:"evidence"` // the lines that show it
}

// Clock is what was assumed about the times of a file.
type Clock struct {
	Path  string `json:"path"`  // of the file
	Basis string `json:"basis"` // where zone, year or date come from; empty if they were written
	// Seconds subtracted from the local time to get UTC; where all stamps name their zone, that zone.
	Offset float64 `json:"offset"`
	Note   string  `json:"note"` // what to know of it; may be empty
}

// File is the account of one file: lines = used + blank + skipped.
type File struct {
	Path      string         `json:"path"`           // in the inputs
	Format    string         `json:"format"`         // by which it was read (docs/formats.md); empty if none is known
	Component string         `json:"component"`      // whose it is; may be empty
	Lines     int            `json:"lines"`          // in it
	Used      int            `json:"used"`           // lines that were understood
	Blank     int            `json:"blank"`          // lines without any text
	Skipped   int            `json:"skipped"`        // lines that could not be read
	FirstSkip string         `json:"first_skip"`     // the first of them, as path:line: reason; empty if there is none
	Start     show.Stamp     `json:"start"`          // first time in it
	End       show.Stamp     `json:"end"`            // last time in it
	Error     string         `json:"error"`          // why reading ended early; empty if it did not
	Reasons   map[string]int `json:"skip_reasons"`   // why lines were skipped, and how many
	Events    int            `json:"events"`         // of the timeline that its lines tell
	Findings  int            `json:"findings"`       // that cite its lines
	Node      string         `json:"node,omitempty"` // whose it is, if the inputs contain several
	// What was done to the file before, or where a link leads.
	Note string `json:"note,omitempty"`
}

// Gap is a part of the time from which lines are missing.
type Gap struct {
	Span
	Sources  []string        `json:"sources"`  // kinds of input with the gap
	Paths    []string        `json:"paths"`    // files with the gap
	Reason   string          `json:"reason"`   // why lines are missing
	Evidence []show.Evidence `json:"evidence"` // the lines that say so
}

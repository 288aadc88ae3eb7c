package document

import "github.com/plegdiag/plegdiag/internal/report/show"

// Event is one line of timeline -o jsonl.
type Event struct {
	Start     show.Stamp `json:"start"`     // empty if it is not known
	End       show.Stamp `json:"end"`       // empty for an instant
	Duration  float64    `json:"duration"`  // seconds; 0 for an instant. A lower bound with open or begun
	Open      bool       `json:"open"`      // the end was not seen
	Begun     bool       `json:"begun"`     // the start was not seen
	Basis     string     `json:"basis"`     // how year, zone or date came about; empty when they were written
	Precision float64    `json:"precision"` // of start, in seconds; 0 when it is exact
	Component string     `json:"component"` // who did it
	Kind      string     `json:"kind"`      // what sort of event it is, as plegdiag rules events lists them
	Level     string     `json:"level"`     // of its line; empty if the line has none
	Text      string     `json:"text"`      // what happened, in a few words
	// Those that are known.
	IDs map[string]any `json:"ids"`
	// The other values of the line; a duration is a number of seconds. For each kind, plegdiag rules
	// events KIND lists them.
	Fields map[string]any `json:"fields"`
	Path   string         `json:"path"` // file of the line that proves it best; empty if there is none
	Line   int            `json:"line"` // in that file, from 1; 0 is the file as a whole
}

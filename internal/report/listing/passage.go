package listing

import (
	"io"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// PassageJSON writes lines of a file as the JSON of plegdiag.lines/v1: each is an evidence.
func PassageJSON(w io.Writer, p *incident.Passage, o show.Options) error {
	rows := make([]show.Evidence, len(p.Lines))
	for i, text := range p.Lines {
		rows[i] = show.NewEvidence(&event.Quote{Pos: event.Pos{File: p.Path, Line: p.First + i}, Text: text})
	}
	return show.EncodeJSON(w, linesDocument{"plegdiag.lines/v1", show.Tool{Version: o.Version}, p.Path, rows, p.More})
}

type linesDocument struct {
	Schema string          `json:"schema"`
	Tool   show.Tool       `json:"tool"`
	Path   string          `json:"path"`
	Lines  []show.Evidence `json:"lines"`
	More   bool            `json:"more"` // the file goes on behind them
}

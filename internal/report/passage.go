package report

import (
	"io"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// PassageJSON writes lines of a file as the JSON of plegdiag.lines/v1: each is an evidence.
func PassageJSON(w io.Writer, p *incident.Passage, o Options) error {
	rows := make([]show.Evidence, len(p.Lines))
	for i, text := range p.Lines {
		rows[i] = show.NewEvidence(&event.Quote{Pos: event.Pos{File: p.Path, Line: p.First + i}, Text: text})
	}
	return show.EncodeJSON(w, document{
		{"schema", "plegdiag.lines/v1"}, {"tool", show.Tool{Version: o.Version}},
		{"path", p.Path}, {"lines", rows}, {"more", p.More},
	})
}

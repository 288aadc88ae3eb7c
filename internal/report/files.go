package report

import (
	"bufio"
	"io"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// FilesSchema names the JSON of the command ls. Its files are those of the JSON report.
const FilesSchema = "plegdiag.files/v1"

// FilesText writes the account of every file.
func FilesText(w io.Writer, inc *incident.Incident, o Options) error {
	out := bufio.NewWriter(w)
	t := newText(out, o)
	o.Verbose = true // each file has its own row, and its own clock
	v := newView(inc, o)
	t.writeBlocks(fileBlocks(v))
	for i := range sections {
		if s := &sections[i]; s.inputs {
			t.writeSection(s, v)
		}
	}
	return out.Flush()
}

// FilesJSON writes the account of every file for programs.
func FilesJSON(w io.Writer, inc *incident.Incident, o Options) error {
	v := newView(inc, o)
	return show.EncodeJSON(w, document.FileList{Schema: FilesSchema, Tool: show.Tool{Version: o.Version}, Account: newInputs(v)})
}

package report

import (
	"bufio"
	"io"

	"github.com/plegdiag/plegdiag/internal/incident"
)

// FilesSchema names the JSON of the command ls. Its files are those of the JSON report.
const FilesSchema = "plegdiag.files/v1"

// FilesText writes the account of every file.
func FilesText(w io.Writer, inc *incident.Incident, o Options) error {
	out := bufio.NewWriter(w)
	t := newText(out, o)
	if len(inc.Files) == 0 {
		t.files(nil)
	} else {
		t.fileTable(inc.Files)
	}
	if cs := clocks(inc); len(cs) > 0 {
		t.heading("CLOCKS")
		t.clocks(cs, true)
	}
	if gs := gaps(inc); len(gs) > 0 {
		t.heading("GAPS")
		t.gaps(gs)
	}
	return out.Flush()
}

// FilesJSON writes the account of every file for programs.
func FilesJSON(w io.Writer, inc *incident.Incident, o Options) error {
	return encode(w, struct {
		Schema string     `json:"schema"`
		Tool   tool       `json:"tool"`
		Clock  []clockRow `json:"clock"`
		Gaps   []gapRow   `json:"gaps"`
		Files  []fileRow  `json:"files"`
	}{FilesSchema, tool{o.Version}, each(clocks(inc), newClock), each(gaps(inc), newGap), each(inc.Files, newFile)})
}

package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

func newEventRow(e *event.Event) document.Event {
	row := document.Event{
		Start: show.Stamp(e.Start.T), End: show.Stamp(e.End.T), Duration: e.Duration().Seconds(),
		Open: e.Open, Begun: e.Begun, Basis: e.Basis, Precision: e.Start.Prec.Seconds(),
		Component: e.Component, Kind: string(e.Kind), Level: e.Level.String(), Text: e.Text,
		IDs: map[string]any{}, Fields: map[string]any{}, Path: e.Pos().File, Line: e.Pos().Line,
	}
	for _, id := range event.IDFields() {
		if v, ok := e.Get(id.Key); ok {
			row.IDs[string(id.Key)] = v.Any()
		}
	}
	for _, f := range e.Fields {
		row.Fields[string(f.Key)] = f.Value.Any()
	}
	return row
}

// TimelineJSONL writes one event a line. An unknown time is the empty string; a duration is a
// number of seconds.
func TimelineJSONL(w io.Writer, s *Selection, _ Options) error {
	return writeJSONLines(w, func(enc *json.Encoder) error {
		for _, e := range s.Events {
			if err := enc.Encode(newEventRow(e)); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeJSONLines writes JSON objects one a line, in ASCII where a terminal would obey or hide a
// character.
func writeJSONLines(w io.Writer, write func(*json.Encoder) error) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(&asciiWriter{out})
	enc.SetEscapeHTML(false)
	if err := write(enc); err != nil {
		return err
	}
	return out.Flush()
}

// asciiWriter applies ascii to what is written; the encoder writes whole objects.
type asciiWriter struct{ w io.Writer }

// Write implements [io.Writer].
func (a *asciiWriter) Write(p []byte) (int, error) {
	if _, err := a.w.Write(show.ASCII(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// csvColumns are the columns of the CSV, by the names of the JSON; ids have one each, fields share
// one.
var csvColumns = slices.Concat(
	[]string{"start", "end", "duration", "open", "begun", "basis", "component", "kind", "level", "text"},
	idNames(), []string{"fields", "path", "line"})

func idNames() []string {
	return show.Rows(event.IDFields(), func(id *event.FieldInfo) string { return string(id.Key) })
}

// TimelineCSV writes one event a row (RFC 4180), with a header. Control characters are written as
// in the text report; a cell that a spreadsheet would take for a formula has an apostrophe before
// it.
func TimelineCSV(w io.Writer, s *Selection, _ Options) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvColumns); err != nil {
		return err
	}
	for _, e := range s.Events {
		row := []string{
			stampText(e.Start), stampText(e.End), secondsText(e.Duration()),
			strconv.FormatBool(e.Open), strconv.FormatBool(e.Begun), e.Basis, e.Component, string(e.Kind), e.Level.String(), e.Text,
		}
		for _, id := range event.IDFields() {
			text := ""
			if v, ok := e.Get(id.Key); ok {
				text = v.Text()
			}
			row = append(row, text)
		}
		row = append(row, fieldList(e), e.Pos().File, strconv.Itoa(e.Pos().Line))
		for i := range row {
			row[i] = csvCell(row[i])
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// maxTableCell bounds a cell: Excel refuses more than 32 767 characters.
const maxTableCell = 32_000

func csvCell(s string) string {
	s = show.Escape(s, maxTableCell)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// fieldList is "name=value; name=value".
func fieldList(e *event.Event) string {
	fields := show.Rows(e.Fields, func(f *event.Field) string { return string(f.Key) + "=" + f.Value.Text() })
	return strings.Join(fields, "; ")
}

// stampText is a time as RFC 3339 in UTC, empty when unknown.
func stampText(t event.Time) string {
	text, _ := show.Stamp(t.T).MarshalText() // cannot fail
	return string(text)
}

// secondsText is a duration in seconds, empty for an instant.
func secondsText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// sketchRow is a row that Timesketch imports: message, datetime and timestamp_desc are required;
// timestamp, in microseconds, has to be there too, for a missing datetime is otherwise rebuilt in
// the server's zone (timesketch/lib/utils.py).
type sketchRow struct {
	Message       string         `json:"message"`
	Datetime      string         `json:"datetime"`
	Timestamp     int64          `json:"timestamp"`
	TimestampDesc string         `json:"timestamp_desc"`
	Source        string         `json:"source"`
	DisplayName   string         `json:"display_name"`
	Line          int            `json:"line"`
	Kind          string         `json:"kind"`
	Level         string         `json:"level,omitempty"`
	Duration      float64        `json:"duration_seconds"`
	Open          bool           `json:"open"`
	Basis         string         `json:"time_basis,omitempty"`
	Quote         string         `json:"quote"`
	IDs           map[string]any `json:"ids,omitempty"`
}

// maxSketchText keeps strings below the 32 766 bytes that Timesketch's index searches by keyword.
const maxSketchText = 30_000

// Timesketch writes the events for an import into Timesketch: an interval has a row for its start
// and one for its end. Undated events have no place there and are left out.
func Timesketch(w io.Writer, s *Selection, _ Options) error {
	return writeJSONLines(w, func(enc *json.Encoder) error {
		for _, e := range s.Events {
			if e.Start.IsZero() {
				continue
			}
			moments := []struct {
				at   event.Time
				desc string
			}{{e.Start, "Event"}}
			if !e.End.IsZero() && e.End.T.After(e.Start.T) {
				moments[0].desc = "Start"
				end := "End"
				if e.Open {
					end = "Last seen"
				}
				moments = append(moments, moments[0])
				moments[1].at, moments[1].desc = e.End, end
			}
			for _, m := range moments {
				if err := enc.Encode(newSketchRow(e, m.at.T, m.desc)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func newSketchRow(e *event.Event, at time.Time, desc string) sketchRow {
	row := sketchRow{
		Message:       cutText(cmp.Or(e.Text, string(e.Kind)), maxSketchText),
		Datetime:      at.UTC().Format("2006-01-02T15:04:05.000000-07:00"),
		Timestamp:     at.UnixMicro(),
		TimestampDesc: desc,
		Source:        e.Component,
		DisplayName:   e.Pos().File,
		Line:          e.Pos().Line,
		Kind:          string(e.Kind),
		Level:         e.Level.String(),
		Duration:      e.Duration().Seconds(),
		Open:          e.Open,
		Basis:         e.Basis,
		IDs:           newEventRow(e).IDs,
	}
	if len(e.Evidence) > 0 {
		row.Quote = cutText(e.Evidence[0].Text, maxSketchText)
	}
	return row
}

// cutText is the beginning of s, at most limit bytes of it, in valid UTF-8.
func cutText(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return string(bytes.ToValidUTF8([]byte(s), []byte("\ufffd")))
}

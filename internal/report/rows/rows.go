// Package rows makes flat, typed rows of an incident, one line of JSON each: "plegdiag.rows/v1".
// They are for whoever asks many nodes at once, with SQL or any other engine that reads JSON lines.
// A finding is a row; an incident without findings is one row, too. It reads no file and decides
// nothing.
package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Schema names the rows. Columns are added to it, never renamed; docs/fields.md describes them.
const Schema = "plegdiag.rows/v1"

// Failed is the state of a bundle that could not be analysed; Reason says why. The other states are
// those of a report.
const Failed = "failed"

// Row is one line. What is not known is null; only lists and labels are empty instead, of a bundle
// that was analysed. Of a bundle that was not, they are null.
type Row struct {
	Schema string            `json:"schema"` // which document this is
	Bundle Text              `json:"bundle"` // SHA-256 of the bundle; null if it could not be read
	Path   Text              `json:"path"`   // where it was found
	Report Text              `json:"report"` // its JSON report, below DIR
	Labels map[string]string `json:"labels"` // of --label; {} for none
	// Of plegdiag; of a build without a version also a digest of the program.
	Version     Text   `json:"version"`
	Catalog     Text   `json:"catalog"`      // digest of the rules, those of --rules too
	Settings    Text   `json:"settings"`     // --tz, --year and --limit; null for none
	State       string `json:"state"`        // incident.state of the report, or "failed"
	Reason      Text   `json:"reason"`       // why it failed
	Node        Text   `json:"node"`         // host name
	Headline    Text   `json:"headline"`     // the answer in one sentence
	WindowStart Moment `json:"window_start"` // incident.window.start of the report
	WindowEnd   Moment `json:"window_end"`   // incident.window.end of the report
	// Stalls of the kubelet's relist; the next columns are of the longest one.
	Stalls       *int   `json:"stalls"`
	StallStart   Moment `json:"stall_start"`   // of the longest stall
	StallEnd     Moment `json:"stall_end"`     // of the longest stall
	StallSeconds *Float `json:"stall_seconds"` // at least, if stall_open
	StallOpen    *bool  `json:"stall_open"`    // whether no recovery was seen
	StallPhase   Text   `json:"stall_phase"`   // part of relist that it is in
	RelistCount  *Float `json:"relist_count"`  // relists that ended, by the kubelet's metrics
	RelistMean   *Float `json:"relist_mean"`   // how long they took, in seconds, by the kubelet's metrics
	// How long they took, in seconds, by the kubelet's metrics: an upper bound; null beyond the last
	// bucket.
	RelistP99 *Float `json:"relist_p99"`
	// Place in findings of the report, from 1; null in the row of a bundle without.
	Finding      *int   `json:"finding"`
	Rule         Text   `json:"rule"`          // of the finding, as in the report
	Verdict      Text   `json:"verdict"`       // of the finding, as in the report
	Role         Text   `json:"role"`          // of the finding, as in the report
	Score        *Float `json:"score"`         // of the finding, from 0 to 1
	Container    Text   `json:"container"`     // that the finding is about
	Start        Moment `json:"start"`         // of the finding
	End          Moment `json:"end"`           // of the finding
	Duration     *Float `json:"duration"`      // seconds from start to end
	Kernel       Text   `json:"kernel"`        // version
	Containerd   Text   `json:"containerd"`    // version
	CRIO         Text   `json:"crio"`          // version
	Docker       Text   `json:"docker"`        // version
	Runc         Text   `json:"runc"`          // version
	Kubelet      Text   `json:"kubelet"`       // version
	Systemd      Text   `json:"systemd"`       // version
	OS           Text   `json:"os"`            // name and version
	Zone         Text   `json:"zone"`          // in which the machine is
	Region       Text   `json:"region"`        // in which the machine is
	InstanceType Text   `json:"instance_type"` // of the machine
	// What the bundle shows, in sorted words that are the same on every node.
	Signature []string `json:"signature"`
	Missing   []string `json:"missing"` // inputs that rules ask for and the bundle lacks, sorted
	Files     *int     `json:"files"`   // of the bundle
	// Of the files, those that could not be read, or not to their end.
	FileErrors *int `json:"file_errors"`
}

// Text is a text that may be unknown: then it is empty here, and null in JSON.
type Text string

// MarshalJSON implements [json.Marshaler].
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return encode(string(t))
}

// Moment is a time in UTC that may be unknown: then it is zero here, and null in JSON. A time of
// which nothing tells the year is unknown, too.
type Moment struct{ time.Time }

// MarshalJSON implements [json.Marshaler].
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return encode(m.UTC().Format(time.RFC3339Nano))
}

// Float is a number that is always written as one of floating point, so that engines that guess
// types by the first rows do not take it for a whole one.
type Float float64

// MarshalJSON implements [json.Marshaler].
func (f Float) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(float64(f))
	if err == nil && !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	return text, err
}

func encode(s string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimRight(buf.Bytes(), "\n"), err
}

// Bounds of text that comes from bundles, in bytes, and of lists.
const (
	maxWord    = 256
	maxText    = 2000
	maxPath    = 4096
	maxMissing = 200
)

// NewText bounds a text of any origin.
func NewText(s string) Text { return clip(s, maxText) }

// NewPath bounds a path.
func NewPath(s string) Text { return clip(s, maxPath) }

// clip cuts a text between two characters, and marks that.
func clip(s string, limit int) Text {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= limit {
		return Text(s)
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return Text(s[:cut] + "…")
}

// NewFailed is the row of a bundle that could not be analysed.
func NewFailed(reason string) Row {
	return Row{Schema: Schema, State: Failed, Reason: NewText(strings.TrimSpace(reason))}
}

// Of makes the rows of an incident: one for each finding, in the order of the report, or one
// without any. What is not of the incident (bundle, path, labels, version) is left to the caller.
func Of(inc *incident.Incident) []Row {
	base := newBase(inc)
	var all []Row
	for i := range inc.Result.Findings {
		row := base
		row.addFinding(i, &inc.Result.Findings[i])
		all = append(all, row)
	}
	if len(all) == 0 {
		all = append(all, base)
	}
	return all
}

// newBase is what all rows of an incident have in common.
func newBase(inc *incident.Incident) Row {
	fact := func(name string) Text { return clip(inc.Timeline.Facts[name].Value, maxWord) }
	failed := 0
	for _, f := range inc.Files {
		if f.Err != "" && f.Format != "link" {
			failed++
		}
	}
	row := Row{
		Schema: Schema, State: inc.Result.Opening.State.String(), Node: clip(inc.Node, maxWord),
		Headline:    NewText(inc.Result.FullHeadline()),
		WindowStart: moment(inc.Window.Start), WindowEnd: moment(inc.Window.End),
		Kernel: fact("kernel.version"), Containerd: fact("containerd.version"), CRIO: fact("crio.version"), Docker: fact("docker.version"),
		Runc: fact("runc.version"), Kubelet: fact("kubelet.version"), Systemd: fact("systemd.version"), OS: fact("os.name"),
		Zone: fact("node.zone"), Region: fact("node.region"), InstanceType: fact("node.instance-type"),
		Signature: show.NonNil(story.Signature(inc.Timeline, &inc.Result)), Missing: listMissing(&inc.Result),
		Files: new(len(inc.Files)), FileErrors: &failed,
	}
	row.RelistCount, row.RelistMean, row.RelistP99 = parseNumber(fact("kubelet.relist-count")), parseNumber(fact("kubelet.relist-mean-seconds")), parseNumber(fact("kubelet.relist-p99-seconds"))
	row.addStalls(inc.Timeline.Stalls)
	return row
}

func (r *Row) addStalls(stalls []timeline.Stall) {
	r.Stalls = new(len(stalls))
	if len(stalls) == 0 {
		return
	}
	longest := &stalls[0]
	for i := range stalls {
		if stalls[i].End.Sub(stalls[i].Start) > longest.End.Sub(longest.Start) {
			longest = &stalls[i]
		}
	}
	r.StallStart, r.StallEnd, r.StallSeconds = moment(longest.Start), moment(longest.End), seconds(longest.Start, longest.End)
	r.StallOpen, r.StallPhase = &longest.Open, Text(longest.Phase)
}

func (r *Row) addFinding(i int, f *story.Finding) {
	r.Finding, r.Rule, r.Verdict, r.Role = new(i+1), clip(f.Rule, maxWord), Text(f.Verdict.String()), Text(f.Role)
	r.Score, r.Container = new(Float(f.Score)), clip(f.Container, maxWord)
	r.Start, r.End, r.Duration = moment(f.Start), moment(f.End), seconds(f.Start, f.End)
}

// parseNumber is a fact that is a number; nil where it is none, or infinite.
func parseNumber(fact Text) *Float {
	f, err := strconv.ParseFloat(string(fact), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	return new(Float(f))
}

// moment is a time if its year is known: a placeholder would be the first of all times.
func moment(t time.Time) Moment {
	if !event.Plausible(t.UTC()) {
		return Moment{}
	}
	return Moment{t.UTC()}
}

// seconds is the length of a stretch of time, also where the year is not known; nil where an end is
// not.
func seconds(start, end time.Time) *Float {
	if start.IsZero() || end.IsZero() || event.Plausible(start.UTC()) != event.Plausible(end.UTC()) {
		return nil
	}
	return new(Float(end.Sub(start).Seconds()))
}

// listMissing are the inputs that would answer what the bundle does not.
func listMissing(r *story.Result) []string {
	all := map[string]bool{}
	for i := range r.NotEvaluable {
		for _, m := range r.NotEvaluable[i].Missing {
			all[string(clip(m.Source, maxWord))] = true
		}
	}
	for i := range r.Findings {
		for _, m := range r.Findings[i].Missing {
			all[string(clip(m.Source, maxWord))] = true
		}
	}
	sources := slices.Sorted(maps.Keys(all))
	return show.NonNil(sources[:min(len(sources), maxMissing)])
}

// Write writes rows as lines of JSON. Its errors are those of w.
func Write(w io.Writer, all []Row) error {
	for i := range all {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&all[i]); err != nil {
			return err
		}
		if _, err := w.Write(show.ASCII(buf.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

// Read reads what Write wrote. A line that is no row of this schema is an error, and so is a file
// without any.
func Read(r io.Reader) ([]Row, error) {
	var all []Row
	for dec := json.NewDecoder(r); ; {
		var row Row
		err := dec.Decode(&row)
		switch {
		case errors.Is(err, io.EOF) && len(all) > 0:
			return all, nil
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, fmt.Errorf("row %d: %w", len(all)+1, err)
		case row.Schema != Schema || row.State == "":
			return nil, fmt.Errorf("row %d is none of %s", len(all)+1, Schema)
		}
		all = append(all, row)
	}
}

// Package states turns files that say how something was at one moment into events: configurations,
// listings, /proc, metrics, objects of Kubernetes.
package states

import (
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// Snapshot makes events of a file that says how something was at one moment: configurations,
// listings, /proc, metrics, objects of Kubernetes. Most of them are facts; docs/facts.md lists
// their names.
type Snapshot struct {
	reader  snapshotReader
	rows    KubectlRows // between the data of another format
	sources map[string]bool
}

// snapshotReader makes events of the data of one format.
type snapshotReader interface {
	takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event
	finishFile(dst []event.Event) []event.Event
}

// NewSnapshot starts with a file of the named format. A listing of which nothing else says when it
// was made has the date that was printed before it; zero for none.
func NewSnapshot(format string, printed event.Time) *Snapshot {
	s := &Snapshot{sources: map[string]bool{}}
	switch format {
	case "toml":
		s.reader = &settings{table: tomlSettings}
	case "json", "yaml":
		s.reader = newObjects()
	case "metrics":
		s.reader = newMetrics()
	case "mounts":
		s.reader = &mounts{}
	case "table":
		s.reader = &listings{snapshot: s, at: printed}
	case "boots":
		s.reader = &bootList{}
	case "packages":
		s.reader = packages{}
	case "properties":
		s.reader = &unitProperties{}
	case "outline":
		s.reader = &outline{}
	case "values":
		s.reader = &values{}
	case "collected":
		s.reader = &collected{}
	default:
		s.reader = packages{} // of an unknown format nothing is known
	}
	return s
}

// Datum appends the events that a datum tells of. A line that is none of the format's is read as a
// line of text.
func (s *Snapshot) Datum(dst []event.Event, e *snapshots.Datum) []event.Event {
	before := len(dst)
	if e.Text != "" {
		var taken bool
		if dst, taken = s.rows.TakeRow(dst, e.Text, e.Quote()); taken {
			return s.noteSources(dst, before)
		}
		r := event.Record{Pos: e.Pos, Lines: e.Lines, Text: e.Text, Raw: e.Raw, Wanted: true}
		dst = messages.Append(dst, &r)
	}
	return s.noteSources(s.reader.takeDatum(dst, e), before)
}

// Content takes what a traced program moved from or to a small file: the same as a snapshot of it.
func (s *Snapshot) Content(dst []event.Event, file, text string, at event.Quote) []event.Event {
	for e := range snapshots.ReadContent(file, text, at) {
		dst = s.Datum(dst, &e)
	}
	return dst
}

// Finish appends the events that need the whole file.
func (s *Snapshot) Finish(dst []event.Event) []event.Event {
	return s.noteSources(s.rows.Finish(s.reader.finishFile(dst)), len(dst))
}

// noteSources remembers the sources of new events, and leaves their times in UTC.
func (s *Snapshot) noteSources(dst []event.Event, from int) []event.Event {
	for i := from; i < len(dst); i++ {
		dst[i].Start.T, dst[i].End.T = dst[i].Start.T.UTC(), dst[i].End.T.UTC()
		s.sources[dst[i].Source] = true
	}
	return dst
}

// Sources are those that the file was found to be, also where it tells of nothing: a
// listing without a process of interest is a listing.
func (s *Snapshot) Sources() map[string]bool { return s.sources }

// Node is the only node whose object a file of Kubernetes holds; empty when it holds none or
// several.
func (s *Snapshot) Node() string {
	var n *nodes
	switch r := s.reader.(type) {
	case *objects:
		n = &r.nodes
	case *outline:
		n = &r.nodes
	case *listings:
		n = &r.nodes
	default:
		return ""
	}
	for name := range n.names {
		if len(n.names) == 1 {
			return name
		}
	}
	return ""
}

// Taken is what the file says about when other files were made: a manifest of its bundle, the
// output of date of all that was collected with it.
func (s *Snapshot) Taken() Taken {
	switch r := s.reader.(type) {
	case *collected:
		return r.taken.Taken
	case *values:
		return r.taken.Taken
	case *outline:
		return r.taken.Taken
	case *bootList:
		return Taken{Zoned: r.Zoned()}
	}
	return Taken{}
}

// Taken says when files of a snapshot were made. The zero Taken says nothing.
type Taken struct {
	Node  string                // whose files they are; empty when it does not say
	All   event.Time            // when the whole was made, to some minutes
	Files map[string]event.Time // by their path from where this file is
	Zoned event.Time            // that, or another moment, with the offset of the node's zone; zero where that is not shown
	// Face is what the node's clock showed at the moment UTC, which is known then.
	Face, UTC event.Time
}

// taken is a Taken in the making.
type taken struct{ Taken }

// collecting is how long a collector may take: what it got was made between its date and that much
// later.
const collecting = 5 * time.Minute

// takeDate takes the output of date.
func (t *taken) takeDate(line string) {
	if at, ok := stamp.Date(line); ok && t.All.IsZero() {
		t.All = at
		t.All.Prec = collecting
		if _, offset := at.T.Zone(); offset != 0 && at.Lacks == 0 { // date -u says nothing about the zone
			t.Zoned = at
		}
	}
}

// takeClock takes a row of timedatectl:
//
//	    Local time: Wed 2023-11-08 10:01:02 CST
//	Universal time: Wed 2023-11-08 02:01:02 UTC
func (t *taken) takeClock(name, value string) {
	_, date, _ := strings.Cut(value, " ") // the weekday
	at, ok := stamp.Date(date)
	switch {
	case !ok:
	case name == "Local time":
		t.Face = at
	case name == "Universal time" && at.Lacks == 0:
		t.UTC = at
	}
}

// addItem takes a row of a manifest.
func (t *taken) addItem(name string, at event.Time) {
	if name == "" || !at.Known || len(t.Files) == maxListed {
		return
	}
	if t.Files == nil {
		t.Files = map[string]event.Time{}
	}
	t.Files[name] = at
}

// WantedDatum says whether a line of metrics may matter.
func WantedDatum(line []byte) bool {
	for _, name := range metricNames {
		if strings.HasPrefix(string(line), name) {
			return true
		}
	}
	return false
}

// addFact appends a fact that a datum tells; none when the value is empty.
func addFact(dst []event.Event, source, name, value string, e *snapshots.Datum) []event.Event {
	return facts.Append(dst, source, name, value, e.Quote())
}

// maxListed bounds the events that are kept of one kind and one file.
const maxListed = 5000

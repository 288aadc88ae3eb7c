package incident

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident/kept"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/observe/syscalls"
	"github.com/plegdiag/plegdiag/internal/observe/tasks"
	"github.com/plegdiag/plegdiag/internal/observe/threads"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// file is one input file while it is read, and what it gave. Bundles hold 200 000: what most files
// have not is in a part of its own.
type file struct {
	account  *File                 // outlives the rest
	place    *layout.Place         // what the path shows
	modified int64                 // by the archive that it came in, in ns since 1970; 0 when nothing says
	sources  *timeline.FileSources // nil for a file that has none
	events   *kept.Events          // nil for a file that has none
	rare     *rareParts            // nil for most files
	named    string                // the node that stands before every line; empty for most
}

// rareParts are what few files have.
type rareParts struct {
	watch   *lineWatch     // of the line that is watched; nil for most files
	section *parse.Section // of a transcript, while it is read; else nil
	dated   event.Time     // what date printed before that section; zero where it did not
	seen    tasks.Seen     // of containers, by its listings and commands
	// later runs what is left to do when the bytes of the file are in memory, while those that follow
	// it in an archive are read; nil for a file that is no such member.
	later chan<- func()
	// isLate says that later has something of this file: it belongs to whoever runs that.
	isLate bool
	link   *bundle.Link // of an entry that only points to a file; else nil
	asked  int          // lines that hold what rules ask for by text
	dumps  []*Dump
	// wholeDumps asks for dumps with their goroutines, and not for the events of these.
	wholeDumps bool
	// What makes sense only together with other files.
	tracePart *traces.Part      // of a trace that strace -ff wrote; else nil
	summary   *syscalls.Summary // of a trace, where summaries are asked for; of a set in its first file
	threads   threads.Files
	legends   threads.Legends
	object    string        // the only node whose Kubernetes object the file holds; empty for none or several
	taken     *states.Taken // when the files beside it were made; nil for all but a few files
	queried   time.Time     // when collect asked for it, by its manifest; zero when that is not known
}

func newFile(path string) *file { return places{}.newFile(path) }

// places keeps one of each place: most files of a bundle are in a few.
type places map[layout.Place]*layout.Place

func (p places) newFile(path string) *file {
	place := layout.Of(path)
	one := p[place]
	if one == nil {
		one = &place
		p[place] = one
	}
	return &file{account: &File{Path: path, Note: place.Note}, place: one}
}

// readRare is what the file has of the rare parts: a copy, or none.
func (f *file) readRare() (r rareParts) {
	if f.rare != nil {
		r = *f.rare
	}
	return r
}

// makeRare is where the file keeps its rare parts.
func (f *file) makeRare() *rareParts {
	if f.rare == nil {
		f.rare = &rareParts{}
	}
	return f.rare
}

// watching is the watch of a line of the file; nil for most files.
func (f *file) watching() *lineWatch {
	if f.rare == nil {
		return nil
	}
	return f.rare.watch
}

// store is where the file keeps its events.
func (f *file) store() *kept.Events {
	if f.events == nil {
		f.events = &kept.Events{}
	}
	return f.events
}

// builder is the builder of a source, see [timeline.FileSources.Builder].
func (f *file) builder(host, name string) *timeline.SourceBuilder {
	return f.fileSources().Builder(host, name)
}

// fileSources is where the file keeps its sources.
func (f *file) fileSources() *timeline.FileSources {
	if f.sources == nil {
		f.sources = timeline.NewFileSources(f.account.Path, f.place.Foreign)
	}
	return f.sources
}

// refusedFile is something that was not read, or not to its end: an entry of a bundle, or an input.
func refusedFile(path, reason string) *file {
	f := newFile(path)
	*f.account = File{Path: path, Format: "refused", Err: reason}
	return f
}

// maxReasons bounds the distinct reasons kept for one file: they quote hostile input.
const maxReasons = 50

// addSkip accounts for input that was lost.
func (f *file) addSkip(s *event.Skip) {
	f.account.Skipped += s.Lines
	f.watching().noteSkip(s)
	if f.account.FirstSkip == "" {
		f.account.FirstSkip = s.Error()
	}
	if f.account.Skips == nil {
		f.account.Skips = map[string]int{}
	}
	if _, known := f.account.Skips[s.Reason]; known || len(f.account.Skips) < maxReasons {
		f.account.Skips[s.Reason]++
	}
}

// addError accounts for an error of a sequence; it says whether the sequence has ended.
func (f *file) addError(err error) (ended bool) {
	if s, ok := errors.AsType[*event.Skip](err); ok {
		f.addSkip(s)
		return false
	}
	f.account.Err = describeError(err, f.account.Used)
	return true
}

// describeError is an error as the account shows it.
func describeError(err error, used int) string {
	return fmt.Sprintf("%v; %d lines kept", err, used)
}

// addStats takes over how many lines there were.
func (f *file) addStats(stats lines.Stats) {
	f.account.Lines += stats.Lines
	f.account.Blank += stats.Blank
}

// input is the file, or the section of it that is read now, as a reader of a format wants it.
func (f *file) input(r io.Reader, want func(line []byte) bool, stats *lines.Stats) lines.Input {
	in := lines.Input{Path: f.account.Path, R: r, Want: want, Stats: stats}
	if s := f.readRare().section; s != nil {
		in.As, in.Before, in.State, in.Header, in.Program = s.As, s.Before, s.State(), s.Header, s.Program()
	}
	return in
}

// sourceNamed is the builder of the source with that name, of lines that name no host.
func (f *file) sourceNamed(name string) *timeline.SourceBuilder { return f.builder("", name) }

// appendSources adds what the file covers and shows about clocks, in a fixed order.
func (f *file) appendSources(all []*timeline.Source) []*timeline.Source {
	rare := f.readRare()
	f.sources.Seal()
	for s := range f.sources.All() {
		s.Cut, s.Earlier = f.account.Err, f.place.Earlier
		if f.modified != 0 {
			s.Modified = time.Unix(0, f.modified).UTC()
		}
		if s.Cut == "" && strings.HasSuffix(s.Name, ".log") {
			s.Until = rare.queried
		}
		all = append(all, s)
	}
	if t := rare.taken; t != nil && (t.All.Known || t.Zoned.Known || t.Face.Known && t.UTC.Known) {
		s := &timeline.Source{File: f.account.Path, Clues: &timeline.Clues{}}
		if t.All.Known {
			s.Seen = []event.Time{t.All}
		}
		switch {
		case t.Face.Known && t.UTC.Known:
			s.Pairs = []timeline.Pair{{Local: t.Face, True: t.UTC.T}}
		case t.Zoned.Known:
			s.Pairs = []timeline.Pair{timeline.PairOf(t.Zoned)}
		}
		all = append(all, s)
	}
	return all
}

// mainComponent is the one component that wrote the file, empty when there are several.
func (f *file) mainComponent() string {
	component := ""
	for s := range f.sources.All() {
		c := s.Name[:len(s.Name)-len(path.Ext(s.Name))]
		if s.First.IsZero() && f.sources.Len() > 1 || c == "" {
			continue
		}
		if component != "" && component != c {
			return ""
		}
		component = c
	}
	return component
}

// newMaker is a maker whose events are those of the file, asked what rules ask for by text. Nothing
// of it stays when a log has been read: bundles hold 200 000 files.
func (f *file) newMaker(asked *messages.Lines) *eventMaker {
	return &eventMaker{events: f.store(), lives: kept.NewLives(f.store()), lines: asked, asked: f.readRare().asked, watch: f.watching()}
}

// takeMade takes over what a maker has besides events: the sources that these name, and the late
// pairs.
func (f *file) takeMade(m *eventMaker) {
	m.makeLatest()
	m.keepBegun(m.young)
	if m.asked > 0 {
		f.makeRare().asked = m.asked
	}
	if len(m.named) > 0 {
		f.fileSources().AddNames(m.named)
	}
	for source, pairs := range m.latePairs {
		source.AddPairs(pairs...)
	}
}

// addEvents keeps events as they are.
func (f *file) addEvents(events []event.Event) {
	for i := range events {
		f.store().Add(&events[i])
	}
}

// dropRest drops what is not needed when a file has been read: the state of that, the sources of a
// file of which nothing comes onto the timeline, and whose lines show no time and no writer, and
// the room for what it has not. Most files of a bundle are settings.
func (f *file) dropRest() {
	if f.events != nil && f.events.Len() == 0 {
		f.events = nil
	}
	r := f.readRare()
	switch {
	case r.tracePart != nil: // its set is read when all files are known
	case f.events == nil && r.dumps == nil && r.summary == nil && r.taken == nil && f.sources.IsSilent():
		f.sources = nil
	default:
		f.sources.Seal()
	}
}

// dropHosts removes what is of a host that is not to be kept; keep is asked with "" for what names
// none.
func (f *file) dropHosts(keep func(host string) bool) {
	f.events.KeepOnly(func(e *event.Event) bool { return keep(e.Host) })
	f.sources.DropHosts(keep)
	if f.rare == nil {
		return
	}
	f.rare.dumps = slices.DeleteFunc(f.rare.dumps, func(d *Dump) bool { return !keep(d.host) })
	if !keep("") {
		f.rare.threads, f.rare.legends = threads.Files{}, threads.Legends{}
	}
}

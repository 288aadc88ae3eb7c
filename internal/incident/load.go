package incident

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Inputs say what to read.
type Inputs struct {
	Paths  []string      // a bundle, a directory, loose files; "-" is Stdin
	Stdin  io.Reader     // read for the path "-"
	Limits bundle.Limits // of what is read; zero fields are its defaults
	Root   *os.Root      // no path leads outside of it; nil for the whole machine
	// Progress is called with the number of bytes read, from several goroutines; nil is not called.
	Progress func(n int)
}

// Options say what to read, and what the user knows about it.
type Options struct {
	Inputs
	// Zone and Year are those of stamps that carry none; nil and 0 infer them.
	Zone *time.Location
	Year int
	// Context asks for the lines around those that are quoted; the inputs are read a second time
	// for them.
	Context bool
	Catalog *language.Catalog
	// Node is the one to analyse where the inputs hold several, by its name or its host's; empty
	// takes the only one that shows a stall.
	Node string
	// Watch is a line whose reading is to be explained, by a path or the end of one; see
	// [Incident.Readings]. Zero for none.
	Watch event.Pos
	// Choose chooses the window that is analysed, of an incident that was made of all the evidence;
	// an end that is zero is no limit. Nil analyses all. Its error is that of Load.
	Choose   func(inc *Incident) (timeline.Window, error)
	AllNodes bool // choose none, and keep the evidence of all: for a list of what there is
}

// ErrNothing is returned when no input held a line that could be read.
var ErrNothing = errors.New("nothing to analyse: no input holds a format that plegdiag reads")

// Load reads the inputs and makes an incident of them. Files that cannot be read are in the
// account, not in the error: an error means that there is no incident.
func Load(ctx context.Context, o Options) (*Incident, error) {
	files, err := readEvidence(ctx, o)
	if err != nil {
		return nil, err
	}
	inc := &Incident{}
	node, err := keepNode(files, o, inc)
	if err != nil {
		return nil, err
	}
	joinSamples(files)
	joinCgroups(files)
	joinKills(files)
	joinSeen(files)
	dateReadings(files)
	markBootSteps(files)
	watches := watchesOf(files)
	in := moveToTimeline(files)
	inc.Files = accountsOf(files)
	inc.Timeline = timeline.Build(in, timeline.Options{Zone: o.Zone, Year: o.Year})
	inc.Timeline.Node = node
	inc.nameNode()
	inc.takeNamed(files)
	dateFiles(inc)
	inc.judge(o.Catalog)
	if err := inc.chooseWindow(o); err != nil {
		return nil, err
	}
	inc.Readings = explainReadings(watches, o, inc)
	if o.Context {
		inc.Context = readContext(ctx, o.Inputs, inc)
	}
	if !anyLineUsed(inc.Files) {
		inc.Unread = true
		inc.Result.MarkUnread()
		return inc, ErrNothing
	}
	inc.Result.MarkUnrecognised(parse.DescribeFormats(formatsOf(inc.Files)), slices.ContainsFunc(inc.Files, func(f *File) bool { return f.Format == "goroutines" }))
	return inc, nil
}

// nameNode gives the node the name that a snapshot has, where no line of a log names its host, or
// where the bundle's own account has a name that is no part of the host's: a kubelet can call its
// node otherwise than the host (--hostname-override).
func (inc *Incident) nameNode() {
	fact := inc.Timeline.Facts["node.name"]
	other := fact.Value != "" && !strings.HasPrefix(fact.Value, inc.Node) && !strings.HasPrefix(inc.Node, fact.Value)
	collected := len(fact.Evidence) > 0 && path.Base(fact.Evidence[0].Pos.File) == "manifest.json"
	if inc.Node == "" || other && collected && len(inc.LeftOut) == 0 {
		inc.Node = fact.Value
	}
}

// takeNamed gives the node the name, or the address, by which talosctl was asked for its lines,
// where nothing else names it.
func (inc *Incident) takeNamed(files []*file) {
	name := ""
	for _, f := range files {
		if f.named != "" && name != "" && f.named != name {
			return // of several
		}
		name = cmp.Or(f.named, name)
	}
	inc.Node = cmp.Or(inc.Node, name)
}

// judge asks the rules what the timeline shows, and looks for the node beside them.
func (inc *Incident) judge(catalog *language.Catalog) {
	var of node.Node
	var wg sync.WaitGroup
	wg.Go(func() { of = node.Find(inc.Timeline) })
	answers := rules.Evaluate(catalog, inc.Timeline)
	wg.Wait()
	inc.Result = story.Tell(catalog, inc.Timeline, of, answers)
	inc.Window = findWindow(inc)
	inc.countUses()
}

// chooseWindow judges anew what lies in the window that is asked for.
func (inc *Incident) chooseWindow(o Options) (err error) {
	if o.Choose == nil {
		return nil
	}
	if inc.Chosen, err = o.Choose(inc); err != nil || inc.Chosen.IsZero() {
		return err
	}
	inc.Timeline = restrictTimeline(inc.Timeline, inc.Chosen)
	inc.judge(o.Catalog)
	return nil
}

// moveToTimeline moves what the files hold into one input of the timeline; of the files only their
// accounts are left. The events are not copied: they stay where the stores of the files have put
// them.
func moveToTimeline(files []*file) timeline.Input {
	events, sources := joinDumpEvents(files)
	n := 0
	for _, f := range files {
		if f.events != nil {
			n += f.events.Len()
		}
	}
	in := timeline.Input{Events: slices.Grow(events, n), Sources: sources}
	for _, f := range files {
		in.Events = slices.AppendSeq(in.Events, f.events.All())
		in.Sources = f.appendSources(in.Sources)
		f.events, f.sources, f.rare = nil, nil, nil
	}
	return in
}

func formatsOf(files []*File) (formats []string) {
	for _, f := range files {
		formats = append(formats, f.Format)
	}
	return formats
}

// accountsOf are the accounts of files, in their order.
func accountsOf(files []*file) []*File {
	all := make([]*File, len(files))
	for i, f := range files {
		all[i] = f.account
	}
	return all
}

// dateFiles copies the resolved times of the sources into the account.
func dateFiles(inc *Incident) {
	byPath := make(map[string]*File, len(inc.Files))
	for _, f := range inc.Files {
		byPath[f.Path] = f
	}
	for _, c := range inc.Timeline.Coverage {
		f := byPath[c.File]
		if f == nil || c.Start.IsZero() {
			continue
		}
		if f.Start.IsZero() || c.Start.Before(f.Start) {
			f.Start = c.Start
		}
		if c.End.After(f.End) {
			f.End = c.End
		}
	}
}

// findWindow is when it happened: the stalls and the root finding; without both, what the evidence
// spans, and else the signs or the node's conditions.
func findWindow(inc *Incident) timeline.Window {
	var w timeline.Window
	for _, s := range inc.Timeline.Stalls {
		w = w.Union(s.Window)
	}
	for _, f := range inc.Result.Findings {
		if f.Role == language.Root || f.Role == language.Link {
			w = w.Union(timeline.Window{Start: f.Start, End: cmp.Or(f.End, f.Start)})
		}
	}
	for _, known := range []bool{true, false} { // listings hold any date, and are asked last
		if w.IsZero() {
			for _, c := range inc.Timeline.Coverage {
				if known == (c.Source != "") {
					w = w.Union(timeline.Window{Start: c.Start, End: c.End})
				}
			}
		}
	}
	// a file whose blocks are not in order has a span that does not hold all of it
	for _, s := range inc.Result.Signs {
		if in := s.Window; w.IsZero() || !in.IsZero() && !overlaps(w, in.Start, cmp.Or(in.End, in.Start)) {
			w = w.Union(in)
		}
	}
	if w.IsZero() { // from when to when the conditions of a node held that is described
		for _, e := range inc.Timeline.Events {
			if e.Kind == event.KindNodeCondition && e.Start.Known {
				w = w.Union(timeline.Window{Start: e.Start.T, End: e.Last().T})
			}
		}
	}
	return w
}

// anyLineUsed says whether anything of the files could be read.
func anyLineUsed(files []*File) bool {
	return slices.ContainsFunc(files, func(f *File) bool { return f.Used > 0 || f.SetAside })
}

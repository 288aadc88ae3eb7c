package incident

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/observe"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Options say what to read and what the reader knows better than the evidence.
type Options struct {
	Inputs []string  // a bundle, a directory, loose files; "-" is Stdin
	Stdin  io.Reader // read for the input "-"
	// Zone and Year are those of stamps that carry none; nil and 0 infer them.
	Zone   *time.Location
	Year   int
	Limits bundle.Limits // of what is read; zero fields are its defaults
	// Context asks for the lines around those that are quoted; it reads the inputs a second time.
	Context bool
	// Progress is told how many bytes of the inputs were read, from several goroutines; nil is told nothing.
	Progress func(n int)
	Catalog  *rules.Catalog
	// Node is the one to analyse where the inputs hold several, by its name or its host's; empty takes the
	// only one that shows a stall.
	Node     string
	AllNodes bool // choose none: for a list of what there is
}

// ErrNothing is returned when no input held a line that could be read.
var ErrNothing = errors.New("nothing to analyse: no input holds a format that plegdiag reads")

// Load reads the inputs and answers with what they say. Files that cannot be
// read are in the account, not in the error: an error means that there is
// nothing to answer.
func Load(ctx context.Context, o Options) (*Incident, error) {
	files, err := read(ctx, o)
	if err != nil {
		return nil, err
	}
	inc := &Incident{}
	if err := keepNode(files, o, inc); err != nil {
		return nil, err
	}
	joinSamples(files)
	dateReadings(files)
	events, sources := observeDumps(files)
	in := timeline.Input{Events: slices.Grow(events, kept(files)), Sources: slices.Grow(sources, len(files))}
	inc.Files = make([]File, 0, len(files))
	for i, f := range files {
		for e := range f.events.all() {
			in.Events = append(in.Events, *e)
		}
		files[i] = nil // the copies are what stays
		in.Sources = append(in.Sources, f.sourceList()...)
		inc.Files = append(inc.Files, f.account)
	}
	inc.Timeline = timeline.Build(in, timeline.Options{Zone: o.Zone, Year: o.Year})
	if inc.Node == "" { // no line of a log names its host: a snapshot of the node may
		inc.Node = inc.Timeline.Facts["node.name"].Value
	}
	inc.Result = story.Tell(o.Catalog, inc.Timeline, rules.Evaluate(o.Catalog, inc.Timeline))
	dateFiles(inc)
	inc.Window = window(inc)
	if o.Context {
		inc.Context = readContext(ctx, o, inc)
	}
	if !anyUsed(inc.Files) {
		inc.Unread = true
		inc.Result.MarkUnread()
		return inc, ErrNothing
	}
	return inc, nil
}

// read walks the inputs and reads every file, at most GOMAXPROCS at once, each
// into its own slot, so that the result does not depend on who was first.
func read(ctx context.Context, o Options) ([]*file, error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	watched := observe.NewLines(o.Catalog.Lines())
	r := &reader{
		logs:    lines.NewLiterals(append(observe.Literals(), watched.Literals()...)),
		limiter: make(chan struct{}, runtime.GOMAXPROCS(0)),
		room:    traces.MaxHeldParts,
	}
	options := bundle.Options{Inputs: o.Inputs, Stdin: o.Stdin, Limits: o.Limits, Progress: o.Progress, ReadAhead: func(src io.Reader) io.Reader { return readAhead(ctx, &wg, src) }}
	var files []*file
	var failures []error
	for f, err := range bundle.Files(ctx, options) {
		if err != nil {
			if link, ok := errors.AsType[*bundle.Link](err); ok {
				slot := newFile(link.Pos.File)
				slot.link = link
				files = append(files, slot)
			} else if skip, ok := errors.AsType[*event.Skip](err); ok {
				files = append(files, refused(skip.Pos.File, skip.Reason))
			} else {
				input, reason, _ := strings.Cut(err.Error(), ": ") // bundle names the input first
				files = append(files, refused(input, reason))
				failures = append(failures, err)
			}
			continue
		}
		slot := newFile(f.Path)
		slot.watch.lines, slot.modified = watched, f.ModTime
		files = append(files, slot)
		if f.Stream {
			r.read(ctx, f, slot)
			continue
		}
		r.limiter <- struct{}{}
		wg.Go(func() {
			defer func() { <-r.limiter }()
			r.read(ctx, f, slot)
		})
	}
	wg.Wait()
	followLinks(files)
	readSets(ctx, files)
	if len(failures) == len(files) {
		return nil, errors.Join(append(failures, ctx.Err())...) // not a single file
	}
	return files, ctx.Err()
}

// refused is something that was not read, or not to its end: an entry of a bundle, or an input.
func refused(path, reason string) *file {
	return &file{account: File{Path: path, Format: "refused", Err: reason}}
}

// followLinks says of every link whether what it points to was read under its own name.
func followLinks(files []*file) {
	here := map[string]bool{}
	for _, f := range files {
		if f.link != nil {
			continue
		}
		for name := f.account.Path; name != "." && name != "/" && !here[name]; name = path.Dir(name) {
			here[name] = true // links to directories are as good
		}
	}
	for _, f := range files {
		if f.link == nil {
			continue
		}
		f.account.Format = "link"
		f.account.Err = f.link.Reason
		for _, target := range layout.Link(f.account.Path, f.link.Target, f.link.Hard) {
			if here[target] {
				f.account.Note, f.account.Err = "link to "+target+", which is read", ""
				break
			}
		}
	}
}

// reader reads single files; its tables are shared and never written to while files are read side by side.
type reader struct {
	logs    *lines.Literals
	limiter chan struct{}
	room    int64 // for parts of traces inside of archives; only the walk itself reads those
}

// read reads one file into its slot, by the format that its first bytes have.
func (r *reader) read(ctx context.Context, f bundle.File, slot *file) {
	src, err := f.Open()
	if err != nil {
		slot.account.Format, slot.account.Err = "unknown", err.Error()
		return
	}
	defer src.Close()
	in, err := parse.Open(src, f.Path)
	switch {
	case errors.Is(err, parse.ErrEmpty):
		slot.account.Format = "empty"
		return
	case err != nil:
		slot.account.Format, slot.account.Err = "unknown", err.Error()
		return
	}
	slot.account.Format = in.Name
	switch read := in.Reader.(type) {
	case parse.Records:
		if traces.HasCalls(in.Head) {
			slot.readBoth(ctx, read, in.R, r.logs)
		} else {
			slot.readLog(ctx, read, in.R, r.logs)
		}
	case parse.Syscalls:
		if !r.isPart(f, &in, slot) {
			slot.readStrace(ctx, read, in.R)
		}
	case parse.Samples:
		slot.readSamples(ctx, read, in.R)
	case parse.Data:
		slot.readSnapshot(ctx, read, in)
	case parse.Dump:
		slot.readDump(in.R)
	default:
		slot.account.Format = "unknown"
		slot.countUnknown(in.R)
	}
}

// isPart keeps a file that strace -ff wrote until all parts of its set are known.
func (r *reader) isPart(f bundle.File, in *parse.Opened, slot *file) bool {
	part, ok := traces.NewPart(f.Path, in.Head)
	switch {
	case ok && !f.Stream:
		part.Open = parse.TextOpener(f.Path, f.Open)
	case ok:
		in.R, ok = part.Hold(in.R, &r.room)
	}
	if ok {
		slot.part = part
	}
	return ok
}

// readSets reads the traces that strace -ff wrote.
func readSets(ctx context.Context, files []*file) {
	var parts []*traces.Part
	byPath := map[string]*file{}
	for _, f := range files {
		if f.part != nil {
			parts = append(parts, f.part)
			byPath[f.account.Path] = f
		}
	}
	for _, set := range traces.Sets(parts) {
		trace := observe.NewTrace()
		readCalls(ctx, trace, traces.Merge(set, trace.Filter()), func(path string) *file { return byPath[path] })
		for _, p := range set {
			f := byPath[p.Path]
			f.account.Lines, f.account.Blank = p.Stats.Lines, p.Stats.Blank
			if p.Err != nil {
				f.account.Err = reason(p.Err, f.account.Used)
			}
		}
	}
}

// countUnknown accounts for a file that no format fits: all its lines are skipped, for one reason.
func (f *file) countUnknown(r io.Reader) {
	for line, err := range lines.All(r) {
		if err != nil {
			f.account.Err = err.Error()
			return
		}
		f.account.Lines++
		if len(bytes.TrimSpace(line.Bytes)) == 0 {
			f.account.Blank++
		} else {
			f.account.Skipped++
		}
	}
	f.skip(&event.Skip{Pos: event.Pos{File: f.account.Path, Line: 1}, Reason: "no known format"})
}

// readAhead reads src in a goroutine of its own, so that inflating an archive and
// reading its lines go on side by side. The goroutine ends with src, with ctx, or when the reader is closed: an
// archive need not be read to its end.
func readAhead(ctx context.Context, wg *sync.WaitGroup, src io.Reader) io.ReadCloser {
	const size, depth = 256 << 10, 4
	ctx, stop := context.WithCancel(ctx)
	full, free := make(chan chunk, depth), make(chan []byte, depth)
	for range depth {
		free <- nil // allocated when it is needed: most archives inside of a directory are small
	}
	wg.Go(func() {
		defer close(full)
		for {
			var buf []byte
			select {
			case buf = <-free:
			case <-ctx.Done():
				return
			}
			if buf == nil {
				buf = make([]byte, size)
			}
			n, err := io.ReadFull(src, buf)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = shortRead(src, err)
			}
			select {
			case full <- chunk{buf[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	return &aheadReader{full: full, free: free, stop: stop}
}

// shortRead tells the end of src, which io.ReadFull reports as an unexpected
// one, from an archive that was cut: that one fails again with the same error.
func shortRead(src io.Reader, err error) error {
	var one [1]byte
	if n, again := src.Read(one[:]); n == 0 && again != nil {
		return again
	}
	return err
}

type chunk struct {
	bytes []byte
	err   error
}

type aheadReader struct {
	full <-chan chunk
	free chan<- []byte
	stop context.CancelFunc
	now  chunk
	rest []byte
}

// Close ends the reading ahead; it does not wait for a read that has begun.
func (a *aheadReader) Close() error {
	a.stop()
	return nil
}

// Read gives what was read ahead; an error comes after the bytes before it.
func (a *aheadReader) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.bytes != nil {
			a.free <- a.now.bytes[:cap(a.now.bytes)]
		}
		next, ok := <-a.full
		if !ok {
			return 0, context.Canceled
		}
		a.now, a.rest = next, next.bytes
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// kept is how many events the files hold.
func kept(files []*file) (n int) {
	for _, f := range files {
		n += f.events.n
	}
	return n
}

// dateFiles copies the resolved times of the sources into the account.
func dateFiles(inc *Incident) {
	byPath := make(map[string]*File, len(inc.Files))
	for i := range inc.Files {
		byPath[inc.Files[i].Path] = &inc.Files[i]
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

// window is when it happened: the stalls and the root finding; without both, what the evidence spans.
func window(inc *Incident) timeline.Window {
	var w timeline.Window
	for _, s := range inc.Timeline.Stalls {
		w = widen(w, s.Window)
	}
	for _, f := range inc.Result.Findings {
		if f.Role == rules.Root || f.Role == rules.Link {
			w = widen(w, timeline.Window{Start: f.Start, End: f.End})
		}
	}
	for _, known := range []bool{true, false} { // listings hold any date, and are asked last
		if w.IsZero() {
			for _, c := range inc.Timeline.Coverage {
				if known == (c.Source != "") {
					w = widen(w, timeline.Window{Start: c.Start, End: c.End})
				}
			}
		}
	}
	return w
}

func widen(w, by timeline.Window) timeline.Window {
	if by.Start.IsZero() {
		return w
	}
	if by.End.IsZero() {
		by.End = by.Start
	}
	if w.IsZero() {
		return by
	}
	if by.Start.Before(w.Start) {
		w.Start = by.Start
	}
	if by.End.After(w.End) {
		w.End = by.End
	}
	return w
}

func anyUsed(files []File) bool {
	return slices.ContainsFunc(files, func(f File) bool { return f.Used > 0 })
}

// reason is an error as the account shows it.
func reason(err error, used int) string {
	return fmt.Sprintf("%v; %d lines kept", err, used)
}

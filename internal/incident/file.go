package incident

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/observe"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// file is one input file while it is read, and what it gave.
type file struct {
	watch
	account  File
	place    layout.Place // what the path says
	link     *bundle.Link // of an entry that only points to a file; else nil
	object   string       // the only node whose Kubernetes object it holds; empty for none or several
	dumps    []dump
	threads  observe.Threads
	legends  observe.Legends
	parts    fewMap[section, part]
	hosts    fewMap[string, host] // those that lines name; "" for lines that name none
	pairs    int
	modified time.Time      // by the archive that it came in; zero when nothing says
	part     *traces.Part   // of a trace in several files, which are read together
	losses   []event.Event  // what the log says is missing from it
	taken    *observe.Taken // when files beside it were made; nil for all but a few files

	timed bool // some line has a time: settings, and "-- No entries --", are nobody's log
	// the writer of the line before, so that a run of lines of one writer costs one look-up
	unit   string
	host   *host
	source *part
}

// section is what one component of one node wrote in a file.
type section struct{ host, name string }

// host is what the lines of one node in a file are.
type host struct {
	name        string
	lines       int
	daemon      int        // lines of the kubelet or a runtime
	from, to    int        // lines where it begins and ends
	first, last event.Time // of all its writers
}

// part is one component's lines of a file.
type part struct {
	timeline.Source
	carried event.Time     // by the carrier's stamp, when the last of them was written
	written *time.Location // of the last stamp with an offset
	offset  time.Duration  // of the last pair, see turned
	kept    int            // offsets that were met, of pairs
	run     int            // pairs in a row of one offset
}

// maxBoots bounds the lines kept of one source that carry the time since boot; of
// those a boot and a sleep take one each, and a drifting clock some.
const maxBoots = 256

// bootEvery is how often a line is kept for its two clocks: a clock drifts by less than a second in that time. Lines that put
// the boot so far apart are of another one, or the clock was set.
const (
	bootEvery = 10 * time.Minute
	otherBoot = time.Minute
)

// boot keeps a line that shows both clocks: the first of every boot, and every so often another. Of too many the last ones count.
func (p *part) boot(rec *event.Record) {
	b := timeline.Boot{Uptime: rec.Uptime, At: rec.Time, Line: rec.Pos.Line}
	switch {
	case rec.Outer.Lacks == event.LacksBoot:
		b.Read = true
	case rec.Outer.Known:
		b.At = rec.Outer
	}
	if !b.At.Known || b.At.Lacks == event.LacksBoot {
		return
	}
	n := len(p.Boots)
	if n > 0 {
		last := &p.Boots[n-1]
		later := b.At.T.Sub(last.At.T) - (b.Uptime - last.Uptime) // by which it puts the boot
		if since := b.Uptime - last.Uptime; since >= 0 && since < bootEvery && (later.Abs() < otherBoot || b.At.Lacks != last.At.Lacks) {
			if b.Read && later > 0 {
				*last = b // it was read with less delay
			}
			return
		}
	}
	if n == maxBoots {
		p.Boots = p.Boots[:copy(p.Boots, p.Boots[1:])]
	}
	b.At.T = b.At.T.UTC()
	p.Boots = append(p.Boots, b)
}

func newFile(path string) *file {
	place := layout.Of(path)
	return &file{account: File{Path: path, Note: place.Note}, place: place}
}

// dump is a goroutine dump, and when it was taken as far as its own file tells.
type dump struct {
	*stackdump.Dump
	at    event.Time
	inLog bool   // part of a log message
	host  string // as its lines name it; empty when they do not
}

// skip notes input that was lost.
func (f *file) skip(s *event.Skip) {
	f.account.Skipped += s.Lines
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

// maxReasons bounds the distinct reasons kept for one file: they quote hostile input.
const maxReasons = 50

// failed takes an error of a sequence; it says whether the sequence has ended.
func (f *file) failed(err error) bool {
	if s, ok := errors.AsType[*event.Skip](err); ok {
		f.skip(s)
		return false
	}
	f.account.Err = reason(err, f.account.Used)
	return true
}

// readLog reads a file of log lines.
func (f *file) readLog(ctx context.Context, read parse.Records, r io.Reader, wanted *lines.Literals) {
	var stats lines.Stats
	var dumps stackdump.Collector
	var traces kernelTraces
	want := func(line []byte) bool { return dumps.Pending() || wanted.Match(line) || traces.want(line) } // headers are among the literals
	in := lines.Input{Path: f.account.Path, R: r, Want: want, Stats: &stats}
	watching := f.aside()
	for rec, err := range read(in) {
		if err != nil {
			if f.failed(err) {
				break
			}
			continue
		}
		f.account.Used += rec.Lines
		f.writer(&rec)
		f.clock(&rec)
		f.span(&rec)
		if rec.Wanted {
			if rec.Unit == "" && f.place.Foreign {
				rec.Unit = foreignUnit
			}
			f.lost(&rec)
			if found := dumps.Add(&rec); f.found(found) && found[len(found)-1].Source.Line == rec.Pos.Line {
				continue // the message is a dump, and nothing else
			}
			traces.add(&rec)
			watching.record(&rec, &f.source.Source)
		}
		if ctx.Err() != nil {
			break
		}
	}
	watching.wait()
	f.found(dumps.Close())
	traces.finish(f)
	f.keepAll(f.losses)
	f.learn()
	f.account.Lines, f.account.Blank = stats.Lines, stats.Blank
	if f.asked > maxAsked && f.account.Err == "" {
		f.account.Err = fmt.Sprintf("%d lines hold a text that rules ask for; only the first %d were shown to them", f.asked, maxAsked)
	}
	f.account.Component = f.mainComponent()
}

// keepAll keeps events that are whole.
func (f *file) keepAll(events []event.Event) {
	for i := range events {
		f.events.add(&events[i])
	}
}

// found keeps the dumps that the log carried; it says whether there were any.
func (f *file) found(dumps []stackdump.Found) bool {
	for _, d := range dumps {
		f.dumps = append(f.dumps, dump{Dump: stackdump.Parse(d.Source), at: d.At, inLog: true, host: d.Host})
	}
	return len(dumps) > 0
}

// foreignUnit is who writes the lines of a file that is none of the node's daemons'.
const foreignUnit = "container"

// learn takes over what the watch found out about the file's sources. Of the watch only the events stay: bundles hold
// 50 000 files.
func (f *file) learn() {
	known := map[string]bool{}
	for p := range f.parts.all() {
		known[p.name] = true
	}
	for name := range f.sources {
		if !known[name] {
			f.sourceOf(name)
		}
	}
	for s, pairs := range f.late {
		s.Pairs = append(s.Pairs, pairs...)
	}
	f.watch = watch{events: f.events, asked: f.asked}
}

// writer notes whose line it is.
func (f *file) writer(rec *event.Record) {
	if f.host == nil || rec.Host != f.host.name {
		f.host, f.source = f.hostOf(rec.Host), nil
		if f.host.lines == 0 {
			f.host.from = rec.Pos.Line
		}
	}
	if !f.timed && !rec.Time.IsZero() {
		f.timed, f.source = true, nil
	}
	if f.source == nil || rec.Unit != f.unit {
		f.unit = rec.Unit
		component := observe.Writer(rec.Unit)
		if rec.Unit == "" && f.timed && !f.place.Foreign {
			component = f.place.Component
		}
		name := "" // lines of nobody known
		if component != "" {
			name = component + ".log"
		}
		f.source = f.partOf(rec.Host, name)
	}
	f.host.lines++
	f.host.to = rec.Pos.Line
	if isDaemon(f.source.Name) {
		f.host.daemon++
	}
}

func (f *file) hostOf(name string) *host {
	if h := f.hosts.get(name); h != nil {
		return h
	}
	if f.hosts.len() >= maxHosts {
		if h := f.hosts.get(""); h != nil {
			return h
		}
		name = ""
	}
	h := &host{name: name}
	f.hosts.add(name, h)
	return h
}

// maxHosts bounds the names of hosts that are told apart in one file.
const maxHosts = 1000

// span notes what the writer's part of the file spans, in time and in levels.
func (f *file) span(rec *event.Record) {
	s := f.source
	if !rec.Time.IsZero() {
		reach(&s.First, &s.Last, rec.Time)
		reach(&f.host.first, &f.host.last, rec.Time)
		if s.carried = rec.Time; !rec.Outer.IsZero() {
			s.carried = rec.Outer
		}
	}
	if rec.Level != event.NoLevel && (s.Level == event.NoLevel || rec.Level < s.Level) {
		s.Level = rec.Level
	}
}

// reach widens what lines span by one of them. Times since boot, and those that no clock of a node can
// have shown, count only where there are no others.
func reach(first, last *event.Time, t event.Time) {
	switch weak := weakStamp(t); {
	case first.IsZero(), !weak && weakStamp(*first):
		*first, *last = t, t
	case !weak || weakStamp(*first):
		*last = t
	}
}

func weakStamp(t event.Time) bool {
	return t.Lacks == event.LacksBoot || t.Lacks&(event.LacksYear|event.LacksDate) == 0 && !event.Plausible(t.T)
}

// maxLosses bounds the losses kept of one file: a log that says so of every other line has told enough.
const maxLosses = 4096

// lost keeps what the writers of the file say is missing from it. What journald
// suppressed lies behind the last line that it kept of the unit.
func (f *file) lost(rec *event.Record) {
	if len(f.losses) == maxLosses || !observe.TellsLoss(rec) {
		return
	}
	own := *rec // the line at hand stays off the heap: there are millions of them
	e, ok := observe.Loss(&own)
	if !ok {
		return
	}
	of, _ := e.Get(event.FieldOf)
	if p := f.parts.get(section{f.host.name, of.Text() + ".log"}); p != nil && !e.End.IsZero() && p.carried.Known && p.carried.Lacks == e.Start.Lacks && p.carried.T.Before(e.Start.T) {
		e.Start = p.carried
	}
	e.Source = f.source.Name
	f.losses = append(f.losses, e)
}

// sourceOf is the part of the file with that name, of lines that name no node.
func (f *file) sourceOf(name string) *part { return f.partOf("", name) }

func (f *file) partOf(host, name string) *part {
	p := section{host, name}
	s := f.parts.get(p)
	if s == nil {
		s = &part{Source: timeline.Source{File: f.account.Path, Name: name}}
		f.parts.add(p, s)
	}
	return s
}

// maxSeen bounds the banners of journalctl in one file that are kept: of files that somebody put together.
const maxSeen = 64

// maxPairs bounds the double stamps kept of one file: a zone is clear after a few.
const maxPairs = 256

// clock keeps moments that are stamped twice and the offsets that stamps carry,
// and leaves the record's own times in UTC.
func (f *file) clock(rec *event.Record) {
	if rec.Outer.Known && !rec.Time.Known {
		if len(f.source.Seen) < maxSeen {
			f.source.Seen = append(f.source.Seen, rec.Outer)
		}
		return
	}
	if f.pairs < maxPairs {
		f.pairs++
		if !f.place.Foreign || rec.Outer.IsZero() { // else a container's own clock
			f.zone(rec.Time)
		}
		f.zone(rec.Outer)
		f.pair(rec)
	} else if rec.Outer.Known && f.turned(rec) {
		f.pair(rec)
	}
	f.turn(rec)
	if rec.Uptime > 0 {
		f.source.boot(rec)
	}
	rec.Time.T, rec.Outer.T = rec.Time.T.UTC(), rec.Outer.T.UTC()
}

// Bounds of the turns of a clock that are noted of one source: more of them are of two clocks. Of the pairs of
// each offset some are kept, for one alone is an odd line.
const (
	maxTurns = 16
	leastRun = 4
)

// turn notes that the stamps with an offset change it.
func (f *file) turn(rec *event.Record) {
	t := rec.Time
	if t.Lacks != 0 || !t.Known {
		t = rec.Outer
	}
	if !t.Known || t.Lacks != 0 || f.place.Foreign {
		return
	}
	s, zone := f.source, t.T.Location()
	if zone == s.written || zone == time.UTC || len(s.Turns) > maxTurns {
		return
	}
	s.written = zone
	_, seconds := t.T.Zone()
	turn := timeline.Turn{From: t.T.UTC(), Offset: time.Duration(seconds) * time.Second}
	if before := s.Last; before.Known && before.Lacks == 0 {
		turn.After = before.T
	} else if s.carried.Known && s.carried.Lacks == 0 {
		turn.After = s.carried.T
	}
	s.Turns = append(s.Turns, turn)
}

// turned says that the two stamps of a line differ by another offset than those of the lines
// before: a clock that is turned shows it somewhere in the log, not in its first lines. It looks at the time of day only, and
// keeps the line before, too.
func (f *file) turned(rec *event.Record) bool {
	const quarter, day = 15 * 60, 86400
	s := f.source
	apart := (rec.Time.T.Unix() - rec.Outer.T.Unix()) % day
	offset := time.Duration((apart+day+quarter/2)%day/quarter) * quarter * time.Second
	if offset != s.offset {
		if s.run > 0 {
			f.pair(&event.Record{Time: s.Last, Outer: s.carried})
		}
		s.offset, s.run = offset, 0
		s.kept++
	}
	s.run++
	return s.run <= leastRun && s.kept <= maxTurns
}

func (f *file) zone(t event.Time) {
	if t.IsZero() || t.Lacks != 0 || t.T.Location() == time.UTC {
		return // an epoch, which says nothing of a zone
	}
	if f.source.Zones == nil {
		f.source.Zones = map[int]int{}
	}
	_, seconds := t.T.Zone()
	f.source.Zones[seconds]++
}

func (f *file) pair(rec *event.Record) {
	if rec.Outer.IsZero() || rec.Time.IsZero() || rec.Outer.Lacks == event.LacksBoot {
		return
	}
	if rec.Outer.Lacks != 0 && rec.Time.Lacks == 0 {
		f.source.Pairs = append(f.source.Pairs, timeline.Pair{Local: rec.Outer, True: rec.Time.T.UTC()})
	}
	if rec.Outer.Lacks == 0 && rec.Time.Lacks != 0 {
		f.source.Pairs = append(f.source.Pairs, timeline.Pair{Local: rec.Time, True: rec.Outer.T.UTC()})
	}
}

// readStrace reads a trace.
func (f *file) readStrace(ctx context.Context, read parse.Syscalls, r io.Reader) {
	var stats lines.Stats
	trace := observe.NewTrace()
	calls := read(traces.Input{Input: lines.Input{Path: f.account.Path, R: r, Stats: &stats}, Calls: trace.Filter(), Go: func(f func()) { go f() }})
	readCalls(ctx, trace, calls, func(string) *file { return f })
	f.account.Lines, f.account.Blank = stats.Lines, stats.Blank
}

// maxPaste bounds a log that somebody pasted a trace into: it is held to be read twice. In a longer one the trace is text.
const maxPaste = 8 << 20

// readBoth reads a log with a trace in it. The account is that of the log, which loses no line.
func (f *file) readBoth(ctx context.Context, read parse.Records, r io.Reader, wanted *lines.Literals) {
	text, _ := io.ReadAll(io.LimitReader(r, maxPaste+1))
	r = io.MultiReader(bytes.NewReader(text), r) // which fails again, if it did
	f.readLog(ctx, read, r, wanted)
	if len(text) > maxPaste {
		return
	}
	trace := observe.NewTrace()
	account := f.account
	f.account = File{Path: account.Path} // what is no line of a trace is one of the log
	readCalls(ctx, trace, traces.Read(traces.Input{Input: lines.Input{Path: account.Path, R: bytes.NewReader(text)}, Calls: trace.Filter()}), func(string) *file { return f })
	f.account = account
}

// readCalls follows the calls of one trace; of says which file is at a path.
func readCalls(ctx context.Context, trace *observe.Trace, calls iter.Seq2[*traces.Syscall, error], of func(path string) *file) {
	var f *file
	var events []event.Event
	keep := func() {
		for i := range events {
			of(events[i].Pos().File).events.add(&events[i])
		}
	}
	for call, err := range calls {
		if skip, ok := errors.AsType[*event.Skip](err); ok {
			of(skip.Pos.File).skip(skip)
			continue
		}
		if err != nil {
			f = cmp.Or(f, of(""))
			f.failed(err)
			break
		}
		if f == nil || f.account.Path != call.Pos.File {
			f = of(call.Pos.File)
			f.account.Component = "strace"
		}
		f.used(call)
		events = trace.Call(events[:0], call)
		keep()
		if ctx.Err() != nil {
			break
		}
	}
	events = trace.Finish(events[:0])
	keep()
}

// used accounts for the lines of a call, and for the time that they span.
func (f *file) used(call *traces.Syscall) {
	f.account.Used += call.Lines
	from, to := call.Span()
	if !from.Known {
		return
	}
	source := f.sourceOf("strace")
	if !source.First.Known || from.T.Before(source.First.T) {
		source.First = from
	}
	if !source.Last.Known || to.T.After(source.Last.T) {
		source.Last = to
	}
}

// log takes a line of a log that stands in a file of another format.
func (f *file) log(rec *event.Record) {
	f.writer(rec)
	f.clock(rec)
	f.span(rec)
	f.lost(rec)
	f.watch.record(&line{*rec, &f.source.Source})
}

// readSnapshot reads a file that says how something was at one moment.
func (f *file) readSnapshot(ctx context.Context, read parse.Data, opened parse.Opened) {
	var stats lines.Stats
	snapshot := observe.NewSnapshot(opened.Name)
	var events []event.Event
	for datum, err := range read(lines.Input{Path: f.account.Path, R: opened.R, Want: observe.WantedDatum, Stats: &stats}) {
		if err != nil {
			if f.failed(err) {
				break
			}
			continue
		}
		f.account.Used += datum.Lines
		if datum.Log != nil {
			f.log(datum.Log)
			continue
		}
		if f.place.Foreign {
			continue // of something else, or not in force
		}
		events = snapshot.Datum(events[:0], &datum)
		for i := range events {
			f.events.add(&events[i])
		}
		if ctx.Err() != nil {
			break
		}
	}
	for _, e := range snapshot.Finish(nil) {
		f.events.add(&e)
	}
	f.keepAll(f.losses)
	for name := range snapshot.Sources() {
		f.sourceOf(name)
	}
	f.learn()
	f.object = snapshot.Node()
	if taken := snapshot.Taken(); taken.All.Known || len(taken.Files) > 0 || taken.Face.Known {
		f.taken = &taken
	}
	f.account.Component = f.mainComponent()
	f.account.Lines, f.account.Blank = stats.Lines, stats.Blank
}

// maxDump bounds a dump that is read as a whole: a million goroutines take about 1 GiB.
const maxDump = 2 << 30

// readDump reads a file that is a goroutine dump.
func (f *file) readDump(r io.Reader) {
	text, err := io.ReadAll(io.LimitReader(r, maxDump))
	d := stackdump.Parse(stackdump.Source{File: f.account.Path, Line: 1, Text: string(text)})
	f.account.Lines, f.account.Used, f.account.Blank = d.Lines, d.Used, d.Blank
	for _, s := range d.Skips {
		f.skip(s)
	}
	f.account.Skipped = d.Skipped
	if err != nil {
		f.account.Err = reason(err, d.Used)
	}
	f.account.Component = observe.Program(d)
	f.dumps = append(f.dumps, dump{Dump: d, at: stackdump.TimeInName(f.account.Path)})
}

// sourceList is what the file covers, in a fixed order. A journal of the whole
// node covers each of its writers from its first line to its last: a writer that
// is silent in between had nothing to say.
func (f *file) sourceList() []timeline.Source {
	writers := map[string]int{} // by host
	for p := range f.parts.all() {
		writers[p.host]++
	}
	var all []timeline.Source
	entries := slices.SortedFunc(slices.Values(f.parts.entries), func(a, b fewEntry[section, part]) int {
		return cmp.Or(cmp.Compare(a.key.name, b.key.name), cmp.Compare(a.key.host, b.key.host))
	})
	for _, e := range entries {
		p, s := e.key, e.value.Source
		if h := f.hosts.get(p.host); h != nil && writers[p.host] > 1 && !s.First.IsZero() {
			s.First, s.Last = h.first, h.last
		}
		s.Cut, s.Modified, s.Foreign = f.account.Err, f.modified, f.place.Foreign
		s.Earlier = f.place.Earlier
		all = append(all, s)
	}
	if t := f.taken; t != nil && (t.All.Known || t.Face.Known && t.UTC.Known) {
		s := timeline.Source{File: f.account.Path}
		if t.All.Known {
			s.Seen = []event.Time{t.All}
		}
		if t.Face.Known && t.UTC.Known {
			s.Pairs = []timeline.Pair{{Local: t.Face, True: t.UTC.T}}
		}
		all = append(all, s)
	}
	return all
}

// mainComponent is the one component that wrote the file, empty when there are several.
func (f *file) mainComponent() string {
	component := ""
	for p, s := range f.parts.all() {
		c := p.name[:len(p.name)-len(path.Ext(p.name))]
		if s.First.IsZero() && f.parts.len() > 1 || c == "" {
			continue
		}
		if component != "" && component != c {
			return ""
		}
		component = c
	}
	return component
}

// observeDumps makes events of all dumps. A dump that is there twice, in its own
// file and in the log, counts once: quoted from the file, dated by the log.
func observeDumps(files []*file) ([]event.Event, []timeline.Source) {
	kept := foldDumps(files)
	dateDumps(kept, files)
	var events []event.Event
	var sources []timeline.Source
	for _, d := range kept {
		events = observe.Dump(events, d.Dump, d.at)
		if program := observe.Program(d.Dump); program != "" {
			sources = append(sources, timeline.Source{File: d.File, Name: "goroutines." + program, First: d.at, Last: d.at})
		}
	}
	return events, sources
}

// foldDumps leaves one of every set of copies.
func foldDumps(files []*file) []*dump {
	var kept []*dump
	byPrint := map[string][]*dump{}
	for _, f := range files {
		for i := range f.dumps {
			d := &f.dumps[i]
			print := d.Fingerprint()
			twins := byPrint[print]
			if at := slices.IndexFunc(twins, func(twin *dump) bool { return !apart(twin.at, d.at) }); at >= 0 {
				merge(twins[at], d)
				continue
			}
			byPrint[print] = append(twins, d)
			kept = append(kept, d)
		}
	}
	return kept
}

// apart says that two dumps with the same goroutines are no copies: they were taken at different times, and nothing has moved since.
// A program takes some time to write its dump, and gives it to its log and to a file, each with a time of its own.
func apart(a, b event.Time) bool {
	const writing = 5 * time.Second
	return !a.IsZero() && !b.IsZero() && a.T.Sub(b.T).Abs() > writing+max(a.Prec, b.Prec)
}

// dateDumps gives dumps that carry no time the one at which a log says they were
// written: by the file's name, or, where the file was renamed, when the
// program wrote exactly one and exactly one is there.
func dateDumps(dumps []*dump, files []*file) {
	byName, byProgram := map[string]event.Time{}, map[string][]event.Time{}
	for _, f := range files {
		for e := range f.events.all() {
			if e.Kind != event.KindDumpWritten {
				continue
			}
			name, _ := e.Get(event.FieldPath)
			if _, twice := byName[path.Base(name.Text())]; !twice {
				byProgram[e.Component] = append(byProgram[e.Component], e.Start)
			}
			byName[path.Base(name.Text())] = e.Start
		}
	}
	undated := map[string][]*dump{}
	for _, d := range dumps {
		if d.at.IsZero() {
			d.at = byName[path.Base(d.File)]
		}
		if d.at.IsZero() {
			program := observe.Program(d.Dump)
			undated[program] = append(undated[program], d)
		}
	}
	for program, all := range undated {
		if len(all) == 1 && len(byProgram[program]) == 1 {
			all[0].at = byProgram[program][0]
		}
	}
}

// merge keeps of two copies the better text and the better time.
func merge(twin, d *dump) {
	at := twin.at
	if at.IsZero() || !d.at.IsZero() && d.at.Prec < at.Prec {
		at = d.at
	}
	if twin.inLog && !d.inLog {
		*twin = *d
	}
	twin.at = at
}

package incident

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident/copies"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/goroutines"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Dump is a goroutine dump and what its file or its log shows about it.
type Dump struct {
	*stackdump.Dump
	Program string     // empty when it is not known
	At      event.Time // when it was taken, as written; zero when not known
	PID     int        // 0 when not known
	Unit    string     // that wrote it to a log; empty for a dump in a file of its own
	// Copies are where the same dump stands again, Fragments where pieces of it do: a log that
	// drops lines keeps the rest of a dump.
	Copies, Fragments []event.Pos

	inLog   bool
	foreign bool   // a program that is none of the node's wrote it: its goroutines tell nothing of the node
	host    string // as the lines of a log name it; empty when they do not
	digest  *series.Digest
	// What is left of the goroutines where the evidence is read: their events, without times, and
	// where the first one stands.
	events []event.Event
	pos    event.Pos
}

// Cut says that a log lost lines of the dump.
func (d *Dump) Cut() bool { return d.inLog && len(d.Skips) > 0 }

// ReadDumps finds the goroutine dumps in files and logs among the inputs, in their order. A dump
// that a log carries and a file holds too is named once, and so is what a log kept of one that
// stands elsewhere whole; files that were given are never folded into one another. What cannot be
// read is in the account of its file. The error says that an input does not exist, or that the
// context ended.
func ReadDumps(ctx context.Context, in Inputs) ([]*Dump, []*File, error) {
	r := reader{}
	r.readFormat = func(ctx context.Context, f bundle.File, opened parse.Opened, slot *file) {
		slot.makeRare().wholeDumps = true
		switch read := opened.Reader.(type) {
		case parse.Records:
			if opened.Name == parse.Prose { // who asks for dumps means those that it quotes
				read = parse.ReadQuotes
			}
			slot.readDumpsOfLog(ctx, read, opened.R)
		case parse.Dump:
			slot.readDump(f, opened.R)
		}
	}
	files, failures, err := r.readInputs(ctx, in)
	return joinDumps(files, true), accountsOf(files), joinMissing(failures, err)
}

// maxDump bounds a dump that is read as a whole: a million goroutines take about 1 GiB.
const maxDump = 2 << 30

// readDump reads a file of nothing but goroutine dumps.
func (f *file) readDump(in bundle.File, r io.Reader) {
	var text strings.Builder
	size := min(max(in.Size, 0), maxDump)
	if in.Stream { // what an archive says of its members' sizes is not trusted
		size = min(size, 16<<20)
	}
	text.Grow(int(size))
	n, err := io.Copy(&text, io.LimitReader(r, maxDump))
	if n == maxDump && err == nil {
		err = fmt.Errorf("only the first %d bytes are read", n)
	}
	first := f.input(nil, nil, nil).Before + 1
	src := stackdump.Source{File: in.Path, Line: first, Text: text.String()}
	rare := f.rare
	if rare != nil && rare.section != nil {
		src.Followed = !rare.section.Last
	}
	if rare == nil || rare.later == nil || rare.section != nil { // a file of sections is read in their order
		f.parseDump(src, err)
		return
	}
	rare.isLate = true
	rare.later <- func() {
		f.parseDump(src, err)
		f.dropRest()
	}
}

// parseDump takes the dumps of a file's text. Failed is why the text ends early; nil when it does
// not.
func (f *file) parseDump(src stackdump.Source, failed error) {
	d := stackdump.Parse(src)
	skipped := f.account.Skipped + d.Skipped
	f.account.Used += d.Used
	f.addStats(lines.Stats{Lines: d.Lines, Blank: d.Blank})
	for _, s := range d.Skips {
		f.addSkip(s)
	}
	f.account.Skipped = skipped // of the skips themselves not all are kept
	if failed != nil {
		f.addError(failed)
		d.Incomplete = true
	}
	f.account.Component = goroutines.Program(d)
	one := Dump{PID: layout.DumpPID(src.File)}
	if at, ok := layout.DumpTime(src.File); ok {
		one.At = event.Time{T: at, Prec: time.Second, Known: true}
	} else {
		one.At = titleTime(src.Text)
	}
	f.addDumps(d, one)
}

// titleTime is when a dump was taken by what somebody wrote above it; zero where that is no time.
//
//	# 2023-09-27T11:20:31Z  curl -sk …/debug/pprof/goroutine?debug=2
func titleTime(text string) event.Time {
	line, _, _ := strings.Cut(text[:min(len(text), maxTitle)], "\n")
	title, ok := strings.CutPrefix(line, "#")
	words := strings.Fields(title)
	if !ok || len(words) == 0 {
		return event.Time{}
	}
	at, err := time.Parse(time.RFC3339, words[0])
	if err != nil {
		return event.Time{}
	}
	return event.Time{T: at, Prec: time.Second, Known: true}
}

// maxTitle bounds the first line of a file of dumps.
const maxTitle = 200

// readDumpsOfLog reads of a log nothing but goroutine dumps, and where it says that one was
// written. It follows neither the sources nor the clocks of the log.
func (f *file) readDumpsOfLog(ctx context.Context, read parse.Records, r io.Reader) {
	var stats lines.Stats
	var dumps stackdump.Collector
	for rec, err := range read(lines.Input{Path: f.account.Path, R: r, Want: dumps.Want, Stats: &stats}) {
		if err != nil {
			if f.addError(err) {
				break
			}
			continue
		}
		f.account.Used += rec.Lines
		if rec.Wanted {
			f.addFoundDumps(dumps.Add(&rec))
			f.addDumpsWritten(rec)
		}
		if ctx.Err() != nil {
			break
		}
	}
	f.addFoundDumps(dumps.Close())
	f.addStats(stats)
}

// addDumpsWritten keeps the event of a record that says that a dump was written. It takes a copy,
// so that the reader's record stays off the heap: there are millions of them.
func (f *file) addDumpsWritten(rec event.Record) {
	nameForeignUnit(&rec, *f.place)
	for _, e := range messages.Append(nil, &rec) {
		if e.Kind == event.KindDumpWritten {
			f.store().Add(&e)
		}
	}
}

// addFoundDumps keeps the dumps that a log carried.
func (f *file) addFoundDumps(found []stackdump.Found) {
	for _, d := range found {
		f.addDumps(stackdump.Parse(d.Source), Dump{At: d.At, PID: d.PID, Unit: d.Unit, inLog: true, host: d.Host})
	}
}

// addDumps keeps the dumps of one text, of which one may follow the other; like is what they have
// in common.
func (f *file) addDumps(d *stackdump.Dump, like Dump) {
	f.watching().noteDump(d)
	for _, part := range d.Split() {
		if part.Headers == 0 {
			continue
		}
		one := like
		one.Dump, one.Program = part, programOf(part, like.Unit, f.account.Path)
		one.foreign = like.inLog && f.place.Foreign && !slices.Contains(podPrograms, one.Program)
		one.digest = series.NewDigest(part)
		if !f.readRare().wholeDumps {
			one.observe()
		}
		f.makeRare().dumps = append(f.makeRare().dumps, &one)
	}
}

// podPrograms are the programs of a node that run as pods. Any other program in the log of a pod is
// none of the node's, even if its frames are those of a daemon whose packages it uses: a builder of
// images has containerd's, the API server the kubelet's.
var podPrograms = []string{"cni", "csi", "kube-proxy"}

// observe makes the events of a dump and drops its goroutines, which take ten times the memory.
// When the dump was taken, and whether another file holds it too, is not known before all files are
// read.
func (d *Dump) observe() {
	var made []event.Event
	if !d.foreign {
		made = goroutines.Dump(nil, d.Dump, d.Program)
	}
	if d.Unit == "" && !d.foreign { // else the log has it as a line
		made = goroutines.Panicked(made, d.Dump, d.Program)
	}
	d.events, d.pos = event.Compact(made), d.Pos()
	d.DropText()
}

// programOf names the component whose goroutines a dump holds: by its frames or, where none tells,
// by the unit whose log carries it, or the name of that log; empty where that is not known. Shims
// write into the log of containerd.
func programOf(d *stackdump.Dump, unit, file string) string {
	if program := goroutines.Program(d); program != "" {
		return program
	}
	switch writer := daemon.Writer(unit); {
	case writer == "kubelet", writer == "dockerd", writer == "crio":
		return writer
	case writer == "" && daemon.Component("", file) == "kubelet": // other names also stand for a container's log
		return "kubelet"
	}
	return ""
}

// joinDumpEvents are the events of all dumps, with their times, and a source of each program's.
func joinDumpEvents(files []*file) (events []*event.Event, sources []*timeline.Source) {
	all := joinDumps(files, false)
	latest := latestDumps(all)
	for _, d := range all {
		goroutines.Date(d.events, d.At)
		if earlier := d.findEarlier(latest[d.Program]); earlier != nil {
			goroutines.BoundStarts(d.events, d.digest, earlier.digest, earlier.At)
		}
		for i := range d.events {
			events = append(events, &d.events[i])
		}
		if d.Program != "" && !d.foreign {
			sources = append(sources, &timeline.Source{File: d.File, Name: "goroutines." + d.Program, First: d.At, Last: d.At})
		}
	}
	return events, sources
}

// latestDumps are the dumps whose times compare, by program, the latest first.
func latestDumps(all []*Dump) map[string][]*Dump {
	latest := map[string][]*Dump{}
	for _, d := range all {
		if !d.At.IsZero() && d.At.Lacks == 0 {
			latest[d.Program] = append(latest[d.Program], d)
		}
	}
	for _, of := range latest {
		slices.SortStableFunc(of, func(a, b *Dump) int { return b.At.T.Compare(a.At.T) })
	}
	return latest
}

// findEarlier is the last dump of the same process before this one, of those of its program; nil
// when there is none, or when the times of the dumps do not compare.
func (d *Dump) findEarlier(latest []*Dump) *Dump {
	if d.At.IsZero() || d.At.Lacks != 0 {
		return nil
	}
	before := sort.Search(len(latest), func(i int) bool { return latest[i].At.T.Before(d.At.T) })
	for _, o := range latest[before:min(before+maxEarlier, len(latest))] {
		if (o.PID == 0 || d.PID == 0 || o.PID == d.PID) && series.SameProcess(o.digest, d.digest) {
			return o
		}
	}
	return nil
}

// maxEarlier is how many dumps before one are compared with it: more than a node has shims whose
// dumps may lie between two of one process.
const maxEarlier = 512

// joinDumps are the dumps of all files, each once, with the time that a log gives it. With
// everyFile dumps in files of their own stay, even if they are the same: a user who names two wants
// to see both.
func joinDumps(files []*file, everyFile bool) []*Dump {
	var all []*Dump
	for _, f := range files {
		all = append(all, f.readRare().dumps...)
	}
	byName, byProgram := dumpsWritten(files)
	for _, d := range all { // before copies are folded: two files may hold the same goroutines at two times
		if d.At.IsZero() {
			d.At = byName[path.Base(d.File)]
		}
	}
	all = foldFragments(foldCopies(all, everyFile))
	dateRenamedDumps(all, byProgram)
	return all
}

// foldCopies leaves one of every set of copies, with the best time that one of them has. A daemon
// writes a dump to a file and to its log: the file is quoted, for logs cut lines.
func foldCopies(all []*Dump, everyFile bool) []*Dump {
	type twins struct {
		dumps []*Dump
		times copies.Times
	}
	byPrint := map[string]*twins{}
	folded := map[*Dump]bool{}
	for _, inLog := range []bool{false, true} {
		for _, d := range all {
			if d.inLog != inLog {
				continue
			}
			same := byPrint[d.digest.Print]
			if same == nil {
				same = &twins{}
				byPrint[d.digest.Print] = same
			}
			twin := same.times.Len()
			if inLog || !everyFile {
				twin = same.times.Next(0, d.At)
			}
			if twin == same.times.Len() {
				same.dumps = append(same.dumps, d)
				same.times.Add(d.At)
				continue
			}
			folded[d] = true
			same.dumps[twin].addCopy(d)
			same.times.Set(twin, same.dumps[twin].At)
		}
	}
	return slices.DeleteFunc(all, func(d *Dump) bool { return folded[d] })
}

// addCopy notes a copy, and takes over a better time and the process from it.
func (d *Dump) addCopy(twin *Dump) {
	d.Copies = append(d.Copies, twin.Pos())
	if copies.IsBetter(twin.At, d.At) {
		d.At = twin.At
	}
	d.PID = cmp.Or(d.PID, twin.PID)
}

// Pos is where the dump begins.
func (d *Dump) Pos() event.Pos {
	switch {
	case d.pos.File != "":
		return d.pos
	case len(d.Goroutines) == 0:
		return event.Pos{File: d.File}
	}
	return d.Goroutines[0].Pos
}

// foldFragments leaves out what a log kept of a dump that stands elsewhere whole, and notes there
// where it is.
func foldFragments(all []*Dump) []*Dump {
	var times copies.Times
	digests := make([]*series.Digest, len(all))
	for i, d := range all {
		times.Add(d.At)
		digests[i] = d.digest
	}
	wholes := series.FindWholes(digests, func(i int) bool { return all[i].Cut() })
	folded := map[*Dump]bool{}
	for _, d := range all {
		if !d.Cut() {
			continue
		}
		rest := wholes.Of(d.digest)
		for at := times.NextOf(rest, d.At); at < len(rest); at = times.NextOf(rest, d.At) {
			whole := all[rest[at]]
			rest = rest[at+1:]
			if !folded[whole] && d.isFragmentOf(whole) {
				whole.Fragments = append(whole.Fragments, append(d.Fragments, d.Pos())...)
				folded[d] = true
				break
			}
		}
	}
	return slices.DeleteFunc(all, func(d *Dump) bool { return folded[d] })
}

// isFragmentOf says whether a dump that lost lines in a log shows nothing but goroutines of another
// one, which wait as long in the same state.
func (d *Dump) isFragmentOf(whole *Dump) bool {
	otherProcess := d.PID != 0 && whole.PID != 0 && d.PID != whole.PID
	return !otherProcess && !copies.TakenApart(d.At, whole.At) && d.digest.IsPartOf(whole.digest)
}

// dumpsWritten is when the logs say that dumps were written into files: by the name of the file,
// and by the program that wrote it.
func dumpsWritten(files []*file) (byName map[string]event.Time, byProgram map[string][]event.Time) {
	byName, byProgram = map[string]event.Time{}, map[string][]event.Time{}
	for _, f := range files {
		for e := range f.events.All() {
			if e.Kind != event.KindDumpWritten {
				continue
			}
			name := path.Base(e.FieldText(event.FieldPath))
			if _, twice := byName[name]; !twice {
				byProgram[e.Component] = append(byProgram[e.Component], e.Start)
			}
			byName[name] = e.Start
		}
	}
	return byName, byProgram
}

// dateRenamedDumps gives a dump that has no time the one at which a log says that one was written,
// where the program wrote exactly one and exactly one has no time.
func dateRenamedDumps(dumps []*Dump, byProgram map[string][]event.Time) {
	undated := map[string][]*Dump{} // by program
	for _, d := range dumps {
		if d.At.IsZero() {
			undated[d.Program] = append(undated[d.Program], d)
		}
	}
	for program, all := range undated {
		if len(all) == 1 && len(byProgram[program]) == 1 {
			all[0].At = byProgram[program][0]
		}
	}
}

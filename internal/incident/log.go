package incident

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident/kept"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/loss"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/observe/threads"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// readLog reads a file of log lines. Of the lines those are looked at that hold one of the wanted
// strings, among them the headers of goroutine dumps.
func (r *reader) readLog(ctx context.Context, read parse.Records, src io.Reader, f *file) {
	var stats lines.Stats
	var dumps stackdump.Collector
	var kernel kernelTraces
	var rows states.KubectlRows
	want := func(line []byte) bool { return dumps.Pending() || kernel.wantsLine(line) }
	in := f.input(src, want, &stats)
	in.Literals, in.Go, in.Spare = r.wanted, func(f func()) { go f() }, &spareRows
	log := logReader{file: f}
	maker := runningMaker{newMaker: func() *eventMaker { return f.newMaker(r.lines) }}
	for rec, err := range read(in) {
		if err != nil {
			if f.addError(err) {
				break
			}
			continue
		}
		f.account.Used += rec.Lines
		nameRelayedUnit(&rec)
		if rec.Unit == "" && rec.Caller != "" && !f.place.Foreign {
			rec.Unit = log.callers.Program(rec.Caller, rec.PID)
		}
		source := log.addToSource(&rec)
		if f.watching() != nil {
			f.watching().noteRecord(rec, strings.TrimSuffix(source.Name, ".log"))
		}
		log.addReboot(&rec)
		if rec.Wanted && rec.Text != event.RebootBanner {
			nameForeignUnit(&rec, *f.place)
			log.addLoss(&rec)
			log.addTold(&rec, source)
			found := dumps.Add(&rec)
			f.addFoundDumps(found)
			if n := len(found); n > 0 && found[n-1].Source.Line == rec.Pos.Line {
				continue // the message is a dump, and nothing else
			}
			if row := strings.TrimPrefix(rec.Raw, "> "); rec.Text == row || states.BeginsWithDates(row) { // a line without a header
				made, taken := rows.TakeRow(nil, row, event.Quote{Pos: rec.Pos, Text: rec.Raw})
				if f.addEvents(made); taken {
					continue
				}
			}
			if dumps.Pending() && strings.Contains(rec.Text, "_Handler(") {
				continue // a call of a goroutine that is read whole
			}
			kernel.addRecord(&rec)
			maker.addRecord(&rec, source)
		}
		if ctx.Err() != nil {
			break
		}
	}
	maker.makeRemaining()
	f.addFoundDumps(dumps.Close())
	f.addEvents(kernel.events())
	f.addEvents(rows.Finish(nil))
	f.addEvents(log.losses)
	f.addEvents(log.boots)
	if maker.maker != nil {
		f.takeMade(maker.maker)
	}
	kernel.tellMore(f.events)
	f.addStats(stats)
	if asked := f.readRare().asked; asked > maxAsked && f.account.Err == "" {
		const text = "%d lines hold a text that rules ask for; only the first %d were shown to them"
		f.account.Err = fmt.Sprintf(text, asked, maxAsked)
	}
	f.account.Component = f.mainComponent()
}

// maxTold bounds the lines of one source that tell the wall clock in their words.
const maxTold = 256

// spareRows keeps the memory of small logs: bundles hold 50 000.
var spareRows sync.Pool

// nameRelayedUnit names the kubelet as the writer of a line with one of its source files or texts,
// which came under the tag of whoever started it or passed its lines on: docker, env, logger, a
// script.
func nameRelayedUnit(rec *event.Record) {
	if rec.Caller == "" || rec.Unit == "" || daemon.Writer(rec.Unit) == daemon.Kubelet.Component {
		return
	}
	if daemon.IsKubeletFile(rec.Caller) || daemon.IsKubeletText(rec.Text) || daemon.IsKubeletText(rec.Value("err")) {
		rec.Unit = daemon.Kubelet.Component
	}
}

// nameForeignUnit names the writer of a line that names none itself and stands in a file that none
// of the node's daemons wrote: one of a container can hold their words for reasons of its own.
func nameForeignUnit(rec *event.Record, place layout.Place) {
	if rec.Unit == "" && (place.Foreign || rec.Contained && place.Component == "") {
		rec.Unit = "container"
	}
}

// logReader follows the records of a log: whose they are, and what is missing between them.
type logReader struct {
	*file
	dated  bool          // a line has a time: settings, and "-- No entries --", are no log
	losses []event.Event // what the log says is missing from it
	boots  []event.Event // where journalctl says that the machine started between two lines
	anew   bool          // the last of them has no time yet
	before event.Time    // of the last dated line
	// The source of the record before, and by what it was found: mostly the next one is of the
	// same.
	source     *timeline.SourceBuilder
	host, unit string
	callers    daemon.KlogPrograms // by their process
}

// addToSource adds a record to its source, which it returns.
func (l *logReader) addToSource(rec *event.Record) *timeline.SourceBuilder {
	if !l.dated && !rec.Time.IsZero() {
		l.dated, l.source = true, nil
	}
	if l.source == nil || rec.Unit != l.unit || rec.Host != l.host {
		l.host, l.unit = rec.Host, rec.Unit
		l.source = l.builder(rec.Host, l.sourceName(rec.Unit))
	}
	l.source.AddRecord(rec)
	return l.source
}

// addTold keeps the moments that a record tells, of which a few show its clock.
func (l *logReader) addTold(rec *event.Record, source *timeline.SourceBuilder) {
	if len(source.Told) < maxTold {
		if at, ok := messages.ToldClock(rec); ok {
			source.AddTold(rec, at)
		}
	}
	if len(source.Pairs) < 2*timeline.MaxPairs {
		if at, ok := messages.ToldMoment(rec); ok && event.Plausible(at) {
			source.AddPairs(timeline.Pair{Local: rec.Time, True: at, Late: true})
		} else if at, ok := messages.ToldZone(rec); ok && event.Plausible(at.T) {
			source.AddPairs(timeline.PairOf(at))
		}
	}
}

// sourceName is the source of what a unit writes; empty for an unknown program.
func (l *logReader) sourceName(unit string) string {
	component := daemon.Writer(unit)
	if unit == "" && l.dated && !l.place.Foreign {
		component = l.place.Component
	}
	if component == "" {
		return ""
	}
	return event.LogOf(component)
}

// maxLosses bounds the losses kept of one file: a log may report one with every other line.
const maxLosses = 4096

// addLoss keeps what lines of the file say is missing from it. What journald
// suppressed lies behind the last line that it kept of the unit.
func (l *logReader) addLoss(rec *event.Record) {
	if len(l.losses) == maxLosses || !loss.Tells(rec) {
		return
	}
	kept := *rec // the record itself stays off the heap: there are millions of them
	e, ok := loss.NewEvent(&kept)
	if !ok {
		return
	}
	if b := l.sources.Find(l.host, e.FieldText(event.FieldOf)+".log"); b != nil && !e.End.IsZero() {
		if last := b.Carried; last.Known && last.Lacks == e.Start.Lacks && last.T.Before(e.Start.T) {
			e.Start = last
		}
	}
	e.Source = l.source.Name
	l.losses = append(l.losses, e)
}

// addReboot keeps where journalctl says that another boot begins. The machine started before the
// first line below that, and in a log that shows the newest lines first, before the last one above.
func (l *logReader) addReboot(rec *event.Record) {
	if rec.Text == event.RebootBanner {
		if l.anew = len(l.boots) < maxLosses; l.anew {
			e := event.New(event.KindBoot, "the machine starts: here the journal of another boot begins")
			e.Component, e.Source, e.Evidence = "kernel", l.sourceName(l.unit), []event.Quote{{Pos: rec.Pos, Text: rec.Raw}}
			l.boots = append(l.boots, e)
		}
		return
	}
	if !rec.Time.Known {
		return
	}
	if l.anew {
		e := &l.boots[len(l.boots)-1]
		e.Start, e.Host, l.anew = rec.Time, rec.Host, false
		if l.before.Known && l.before.T.After(rec.Time.T) {
			e.Start = l.before
		}
	}
	l.before = rec.Time
}

// kernelTraces are the stacks that the kernel printed, of each host in a file, mostly of one.
type kernelTraces []hostTraces

type hostTraces struct {
	host string
	*threads.KernelTraces
}

// maxTracedHosts bounds the hosts of one file whose stacks are read.
const maxTracedHosts = 1000

func (k kernelTraces) wantsLine(line []byte) bool {
	for _, t := range k {
		if t.Want(line) {
			return true
		}
	}
	return false
}

func (k *kernelTraces) addRecord(rec *event.Record) {
	for _, t := range *k {
		if t.host == rec.Host {
			t.Add(rec)
			return
		}
	}
	if len(*k) < maxTracedHosts {
		t := hostTraces{rec.Host, &threads.KernelTraces{}}
		*k = append(*k, t)
		t.Add(rec)
	}
}

// tellMore adds to lockups of CPUs, and to lacks of memory, what the lines below say of them.
func (k kernelTraces) tellMore(events *kept.Events) {
	for _, t := range k {
		if !t.KnowsMore() {
			continue
		}
		for e := range events.All() {
			t.TellMore(e)
		}
	}
}

// events are what the stacks amount to.
func (k kernelTraces) events() (all []event.Event) {
	for _, t := range k {
		made := t.Finish()
		for i := range made {
			made[i].Host = t.host
		}
		all = append(all, made...)
	}
	return all
}

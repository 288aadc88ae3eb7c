package incident

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/observe/syscalls"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// ReadTraces sums up the traces among the inputs, each by itself, in the order of their first
// files; what strace -ff wrote into several files is one trace. Date is for traces that know no
// date; nil leaves them without one. What cannot be read is in the account of its file. The error
// says that an input does not exist, or that the context ended.
func ReadTraces(ctx context.Context, in Inputs, date *traces.Date) ([]*syscalls.Summary, []*File, error) {
	r := reader{traces: traceReader{room: traces.MaxHeldParts, newMaker: newTraceSummary, date: date}}
	r.readFormat = r.readTraceFormat
	files, failures, err := r.readInputs(ctx, in)
	var all []*syscalls.Summary
	for _, f := range files {
		if summary := f.readRare().summary; summary != nil {
			all = append(all, summary)
		}
	}
	return all, accountsOf(files), joinMissing(failures, err)
}

func (r *reader) readTraceFormat(ctx context.Context, f bundle.File, in parse.Opened, slot *file) {
	switch in.Reader.(type) {
	case parse.Syscalls:
		r.traces.readTrace(ctx, f, in, slot)
	case parse.Records:
		if traces.HasCalls(in.Head) { // in the middle of a ticket, or of a journal
			r.traces.readTrace(ctx, f, in, slot)
		}
	}
}

// traceReader reads traces, of one file or of several.
type traceReader struct {
	newMaker func(name string, form traces.Form, files traceFiles) traceMaker
	date     *traces.Date // of traces that know none; nil leaves them so
	room     int64        // bytes left for parts of traces inside of archives; only the walk itself reads those
}

// traceMaker makes something of one trace, call by call.
type traceMaker interface {
	callFilter() *traces.CallFilter
	addCall(call *traces.Syscall)
	finishTrace()
}

// traceFiles are the files of one trace.
type traceFiles struct {
	all    []*file
	byPath map[string]*file // where strace -ff wrote them; else nil
}

// fileAt is the file at a path; the first one for a path that is of none.
func (t traceFiles) fileAt(path string) *file { return cmp.Or(t.byPath[path], t.all[0]) }

// readTrace reads a trace, or keeps a file that strace -ff wrote until all parts of its set are
// known.
func (r *traceReader) readTrace(ctx context.Context, f bundle.File, in parse.Opened, slot *file) {
	if slot.readRare().section != nil || !r.keepTracePart(f, &in, slot) {
		r.readWholeTrace(ctx, in, slot)
	}
}

// readWholeTrace reads a trace that is all in one file.
func (r *traceReader) readWholeTrace(ctx context.Context, in parse.Opened, slot *file) {
	var stats lines.Stats
	files := traceFiles{all: []*file{slot}}
	maker := r.newMaker(slot.account.Path, traces.ReadForm(in.Head.Text), files)
	input := traces.Input{Input: slot.input(in.R, nil, &stats), Calls: maker.callFilter()}
	input.Go = func(f func()) { go f() }
	r.readCalls(ctx, traces.Read(input), files, maker)
	slot.addStats(stats)
	maker.finishTrace()
}

func (r *traceReader) keepTracePart(f bundle.File, in *parse.Opened, slot *file) bool {
	part, ok := traces.NewPart(f.Path, in.Head.Text)
	switch {
	case ok && !f.Stream:
		part.Open = slot.watching().tapOpener(parse.TextOpener(f.Path, f.Open))
	case ok:
		in.R, ok = part.Hold(in.R, &r.room)
	}
	if ok {
		slot.makeRare().tracePart = part
	}
	return ok
}

// readSets reads the traces that strace -ff wrote.
func (r *traceReader) readSets(ctx context.Context, files []*file) {
	var parts []*traces.Part
	byPath := map[string]*file{}
	for _, f := range files {
		if part := f.readRare().tracePart; part != nil {
			parts = append(parts, part)
			byPath[f.account.Path] = f
		}
	}
	for _, set := range traces.Sets(parts) {
		files := traceFiles{byPath: byPath}
		for _, p := range set {
			files.all = append(files.all, byPath[p.Path])
		}
		maker := r.newMaker(traces.SetName(set), traces.SetForm(set), files)
		r.readCalls(ctx, traces.Merge(set, maker.callFilter()), files, maker)
		for i, p := range set {
			f := files.all[i]
			f.addStats(p.Stats)
			if p.Err != nil {
				f.addError(p.Err)
			}
		}
		maker.finishTrace()
	}
}

// maxPaste bounds a log with a trace in it: its bytes are kept, to be read twice. In a longer
// one the trace is text.
const maxPaste = 8 << 20

// readLogAndTrace reads a log with a trace in it. The account is that of the log, which loses no
// line.
func (r *reader) readLogAndTrace(ctx context.Context, read parse.Records, in parse.Opened, slot *file) {
	text, _ := io.ReadAll(io.LimitReader(in.R, maxPaste+1))
	r.readLog(ctx, read, io.MultiReader(bytes.NewReader(text), in.R), slot) // in.R fails again, if it did
	if len(text) > maxPaste {
		return
	}
	log := slot.account
	slot.account = &File{Path: log.Path} // what is no line of a trace is one of the log
	in.R = bytes.NewReader(text)
	r.traces.readWholeTrace(ctx, in, slot)
	slot.account = log
}

// readCalls accounts for the calls of one trace and gives them to the maker.
func (r *traceReader) readCalls(
	ctx context.Context, calls iter.Seq2[*traces.Syscall, error], files traceFiles, maker traceMaker,
) {
	if r.date != nil {
		calls = traces.WithDate(calls, *r.date)
	}
	f := files.all[0]
	var source *timeline.SourceBuilder // of f
	for call, err := range calls {
		if err != nil {
			at := f
			if skip, ok := errors.AsType[*event.Skip](err); ok {
				at = files.fileAt(skip.Pos.File)
			}
			if at.addError(err) {
				break
			}
			continue
		}
		if f.account.Path != call.Pos.File {
			f, source = files.fileAt(call.Pos.File), nil
		}
		f.watching().noteCall(call)
		f.account.Component = "strace"
		f.account.Used += call.Lines
		if source == nil {
			source = f.sourceNamed("strace")
		}
		if from, to := call.Span(); from.Known {
			source.AddSpan(from, to)
		}
		maker.addCall(call)
		if ctx.Err() != nil {
			break
		}
	}
}

// traceEvents makes events of a trace, and keeps each in the file in which its line stands.
type traceEvents struct {
	trace   *syscalls.Trace
	files   traceFiles
	program string        // that is traced, where the command before says so; else empty
	made    []event.Event // of the latest call
}

func newTraceEvents(_ string, _ traces.Form, files traceFiles) traceMaker {
	t := &traceEvents{trace: syscalls.NewTrace(), files: files}
	if s := files.all[0].readRare().section; s != nil {
		t.program = s.Program()
	}
	return t
}

func (t *traceEvents) callFilter() *traces.CallFilter { return t.trace.Filter() }

func (t *traceEvents) addCall(call *traces.Syscall) { t.addEvents(t.trace.Call(t.made[:0], call)) }

func (t *traceEvents) finishTrace() {
	t.addEvents(t.trace.Finish(t.made[:0]))
	t.addFileStates()
}

// addFileStates makes the events of snapshots of what the traced program read and wrote: the state
// of a cgroup is the same fact, whoever reads it.
func (t *traceEvents) addFileStates() {
	snapshot := states.NewSnapshot("values", event.Time{})
	var made []event.Event
	byQuote := map[event.Quote]*syscalls.FileState{}
	for i := range t.trace.FileStates {
		state := &t.trace.FileStates[i]
		byQuote[state.Quote] = state
		made = snapshot.Content(made, state.Path, state.Text, state.Quote)
	}
	made = snapshot.Finish(made)
	for i := range made {
		e := &made[i]
		for _, q := range e.Evidence {
			state := byQuote[q]
			if state == nil {
				continue
			}
			if e.Start = state.At; state.Opened.Text != "" {
				e.Evidence = append(e.Evidence, state.Opened)
			}
		}
	}
	t.addEvents(made)
	for name := range snapshot.Sources() {
		t.files.all[0].sourceNamed(name)
	}
}

func (t *traceEvents) addEvents(made []event.Event) {
	for i := range made {
		if made[i].Kind == event.KindSyscall && made[i].Component == "process" {
			made[i].Component = cmp.Or(t.program, made[i].Component)
		}
		f := t.files.fileAt(made[i].Pos().File)
		f.watching().noteEvent(&made[i])
		f.store().Add(&made[i])
	}
	t.made = made
}

// traceSummary sums a trace up, and keeps that in its first file.
type traceSummary struct {
	*syscalls.Summary
	files traceFiles
}

func newTraceSummary(name string, form traces.Form, files traceFiles) traceMaker {
	return &traceSummary{syscalls.NewSummary(name, form), files}
}

func (t *traceSummary) callFilter() *traces.CallFilter { return t.Filter() }

func (t *traceSummary) addCall(call *traces.Syscall) { t.Add(call) }

func (t *traceSummary) finishTrace() {
	var stats lines.Stats
	for _, f := range t.files.all {
		a := f.account
		stats.Lines += a.Lines
		stats.Blank += a.Blank
		t.Skipped += a.Skipped
		t.FirstSkip = cmp.Or(t.FirstSkip, a.FirstSkip)
		if t.files.byPath != nil {
			t.Files = append(t.Files, a.Path)
		}
	}
	t.Finish(stats)
	t.files.all[0].makeRare().summary = t.Summary
}

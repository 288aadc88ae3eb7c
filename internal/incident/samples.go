package incident

import (
	"context"
	"io"
	"strconv"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/observe/threads"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// readSamples reads samples of threads. What its rows say only together with other
// files, the files of one thread in /proc and what ids stand for, waits in f.
func (f *file) readSamples(ctx context.Context, read parse.Samples, r io.Reader) {
	var stats lines.Stats
	f.account.Component = "samples"
	joined, cover := threads.NewSamples(), sampleCover{file: f}
	var events []event.Event
	for s, err := range read(f.input(r, nil, &stats)) {
		if err != nil {
			if f.addError(err) {
				break
			}
			continue
		}
		f.account.Used += s.Lines
		f.watching().noteSample(&s)
		if s.Part {
			f.placeInSession(&s)
		}
		s.Time.T = s.Time.T.UTC()
		cover.addSample(&s)
		switch {
		case s.Legend != samples.NoLegend:
			f.makeRare().legends.Add(&s)
		case s.Part:
			f.makeRare().threads.Add(&s)
		default:
			events = joined.Sample(events[:0], &s)
			f.addEvents(events)
		}
		if ctx.Err() != nil {
			break
		}
	}
	f.addEvents(joined.Finish(nil))
	f.addStats(stats)
}

// placeInSession gives a file of a thread what the session knows that prints it: its date, and the
// round of a loop, each of which is a look of its own.
func (f *file) placeInSession(s *samples.Sample) {
	rare := f.readRare()
	if rare.dated.Known && !s.Time.Known {
		s.Time = rare.dated
	}
	if rare.section != nil && rare.section.Round > 1 {
		s.Group += ":" + strconv.Itoa(rare.section.Round)
	}
}

// sampleCover notes what a file of samples covers. Its silence means something only where it is of
// threads that were looked at; calls that have ended, and legends, are no such look.
type sampleCover struct {
	file *file
	// The scan whose time is noted: all its rows carry one.
	name   string // of the source
	at     event.Time
	asleep bool // one of its rows is of a sleeping thread
}

// addSample notes the time of a row.
func (c *sampleCover) addSample(s *samples.Sample) {
	name := ""
	switch {
	case s.Ended, s.Disk != nil:
		name = threads.SourceEnded
	case s.Count > 0:
		name = threads.SourceSummary
	case s.Part:
		name = threads.SourceThreads
	case s.TID > 0 || s.Walk != samples.NoWalk:
		name = threads.SourceSamples
	default:
		return
	}
	if name != c.name || s.Time != c.at || s.Uptime > 0 {
		c.name, c.at, c.asleep = name, s.Time, false
		source := c.file.sourceNamed(name)
		source.AddSpan(s.Time, s.Time)
		if name == threads.SourceSamples {
			source.Samples++
		}
		if s.Uptime > 0 {
			source.AddBoot(&event.Record{Pos: s.Pos, Time: s.Time, Uptime: s.Uptime})
		}
	}
	if name == threads.SourceSamples && s.State == "S" && !c.asleep {
		c.asleep = true
		c.file.sourceNamed(threads.SourceSleepers).AddSpan(s.Time, s.Time)
	}
}

// joinSamples joins what several files show of one thing: the files of a thread in /proc,
// and samples with what their ids stand for, which a sampler writes into the same directory.
func joinSamples(files []*file) {
	var parts threads.Files
	var legends threads.Legends
	var first *file // with files of /proc: it keeps the events of all
	for _, f := range files {
		if r := f.rare; r != nil {
			parts.Merge(&r.threads)
			legends.Merge(&r.legends)
			r.threads, r.legends = threads.Files{}, threads.Legends{}
		}
		if first == nil && f.sources.Has("", threads.SourceThreads) {
			first = f
		}
	}
	if first != nil {
		var names threads.Names
		for _, f := range files {
			for e := range f.events.All() {
				names.Add(e)
			}
		}
		first.addEvents(parts.Events(findMachine(files), &names))
	}
	if legends.Empty() {
		return
	}
	for _, f := range files {
		for e := range f.events.All() {
			legends.Resolve(e)
		}
	}
}

// findMachine is the processor of the node, where the bundle names only one.
func findMachine(files []*file) string {
	machine := ""
	for _, f := range files {
		for e := range f.events.All() {
			if e.Kind != event.KindFact || e.FieldText(event.FieldName) != facts.Machine {
				continue
			}
			value := e.FieldText(event.FieldValue)
			if machine != "" && machine != value {
				return ""
			}
			machine = value
		}
	}
	return machine
}

// joinCgroups makes one event of what several files tell of one cgroup: a limit and what is used of
// it stand in two files, which are collected, or printed in a shell, one by one.
func joinCgroups(files []*file) {
	type place struct{ host, path string }
	seen := map[place]*event.Event{}
	for _, f := range files {
		var readings []event.Event
		f.events.KeepOnly(func(e *event.Event) bool {
			dir := states.CgroupPath(e)
			if dir == "" {
				return true
			}
			at := place{e.Host, dir}
			first := seen[at]
			if first == nil {
				seen[at] = e
				return true
			}
			more, joined := states.JoinCgroup(first, e)
			readings = append(readings, more...)
			return !joined
		})
		for i := range readings {
			f.store().Add(&readings[i])
		}
	}
}

// joinKills makes one event of the two lines that the kernel writes of a process which it kills for
// memory: the first tells its cgroup, or its score up to 4.20, the second that it is done. Where
// there are such lines, the others about the lack of memory say nothing more.
func joinKills(files []*file) {
	for _, f := range files {
		var above *event.Event
		killed := false
		f.events.KeepOnly(func(e *event.Event) bool {
			if e.Kind != event.KindOOMKill {
				return true
			}
			joined := above != nil && above.IDs.PID == e.IDs.PID && above.Pos().Line+maxBetweenKill > e.Pos().Line && above.Host == e.Host
			if joined {
				states.JoinKill(above, e)
				above = nil
				return false
			}
			above, killed = e, true
			return true
		})
		if killed {
			f.events.KeepOnly(func(e *event.Event) bool { return e.Kind != event.KindOutOfMemory })
		}
	}
}

// maxBetweenKill is how many lines of other writers may stand between the two.
const maxBetweenKill = 20

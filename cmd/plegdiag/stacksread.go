package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// foundDump is a goroutine dump and where it comes from.
type foundDump struct {
	*stackdump.Dump
	program string
	at      event.Time
	pid     int    // 0 when nothing tells
	unit    string // that wrote it to a log
	inLog   bool   // part of a log, so that a file of its own may hold a copy
	// fragments are where pieces of the dump stand: a log that cuts long lines keeps the end of each.
	fragments []event.Pos
}

// maxDump bounds what is read of a file that is a dump: one of a million goroutines takes about 1 GiB.
const maxDump = 2 << 30

// readDumps finds the dumps in all inputs, in their order. What cannot be read goes to stderr.
func readDumps(ctx context.Context, inputs []string, s streams) ([]foundDump, error) {
	var all []foundDump
	err := eachFile(ctx, inputs, s, func(f bundle.File, in parse.Opened) error {
		found, err := readDumpsOf(f, in)
		all = append(all, found...)
		return err
	})
	all = foldFragments(foldCopies(all))
	for _, d := range all {
		if len(d.Skips) > 0 {
			warn(s.err, fmt.Sprintf("%d of %d lines not understood; first: %s", d.Skipped, d.Lines, d.Skips[0]))
		}
	}
	return all, err
}

// readDumpsOf finds the dumps of one file. What was found before an error is valid.
func readDumpsOf(f bundle.File, in parse.Opened) ([]foundDump, error) {
	switch read := in.Reader.(type) {
	case parse.Records:
		return dumpsOfLog(read, f.Path, in.R)
	case parse.Dump:
	default:
		return nil, nil
	}
	var text strings.Builder
	if !f.Stream { // what an archive says of its members' sizes is not trusted
		text.Grow(int(min(max(f.Size, 0), maxDump)))
	}
	n, err := io.Copy(&text, io.LimitReader(in.R, maxDump))
	if n == maxDump && err == nil {
		err = fmt.Errorf("only the first %d bytes are read", n)
	}
	d := stackdump.Parse(stackdump.Source{File: f.Path, Line: 1, Text: text.String()})
	return split(d, foundDump{at: stackdump.TimeInName(f.Path), pid: stackdump.PIDInName(f.Path)}), err
}

// dumpsOfLog finds the dumps among the lines of a log.
func dumpsOfLog(read parse.Records, path string, r io.Reader) ([]foundDump, error) {
	var c stackdump.Collector
	var all []foundDump
	var lost *event.Skip // the first
	add := func(found []stackdump.Found) {
		for _, f := range found {
			all = append(all, split(stackdump.Parse(f.Source), foundDump{at: f.At, pid: f.PID, unit: f.Unit, inLog: true})...)
		}
	}
	for rec, err := range read(lines.Input{Path: path, R: r, Want: c.Want}) {
		if err == nil {
			add(c.Add(&rec))
			continue
		}
		skip, ok := errors.AsType[*event.Skip](err)
		if !ok {
			add(c.Close())
			return all, err
		}
		if lost == nil {
			lost = skip
		}
	}
	if add(c.Close()); len(all) == 0 && lost != nil {
		return nil, lost // it may be why
	}
	return all, nil
}

// split takes the dumps of one text apart; what is common to them stands in like.
func split(d *stackdump.Dump, like foundDump) []foundDump {
	var all []foundDump
	for _, part := range d.Split() {
		like.Dump, like.program = part, observe.Program(part)
		if part.Headers > 0 {
			all = append(all, like)
		}
	}
	return all
}

// foldCopies leaves one of a dump that a daemon wrote to its log and to a file
// too: the file, with the time of the log.
func foldCopies(all []foundDump) []foundDump {
	for i := range all {
		d := &all[i]
		if !d.inLog {
			continue
		}
		twin := slices.IndexFunc(all, func(o foundDump) bool {
			return o.Dump != nil && !o.inLog && len(o.Goroutines) == len(d.Goroutines) && o.Fingerprint() == d.Fingerprint()
		})
		if twin < 0 {
			continue
		}
		if all[twin].at.IsZero() {
			all[twin].at = d.at
		}
		if all[twin].pid == 0 {
			all[twin].pid = d.pid
		}
		d.Dump = nil
	}
	return slices.DeleteFunc(all, func(d foundDump) bool { return d.Dump == nil })
}

// foldFragments leaves out what a log kept of a dump that stands elsewhere whole.
func foldFragments(all []foundDump) []foundDump {
	for i := range all {
		d := &all[i]
		whole := slices.IndexFunc(all, func(o foundDump) bool { return o.Dump != nil && d.fragmentOf(&o) })
		if whole < 0 {
			continue
		}
		all[whole].fragments = append(all[whole].fragments, append(d.fragments, d.Goroutines[0].Pos)...)
		d.Dump = nil
	}
	return slices.DeleteFunc(all, func(d foundDump) bool { return d.Dump == nil })
}

// cut says that a log lost lines of the dump.
func (d *foundDump) cut() bool { return d.inLog && len(d.Skips) > 0 }

// wholeFirst orders dumps of which a log lost lines behind the others.
func wholeFirst(a, b foundDump) int {
	switch {
	case b.cut() && !a.cut():
		return -1
	case a.cut() && !b.cut():
		return 1
	}
	return 0
}

// fragmentOf says whether a dump that lost lines in a log shows nothing but goroutines of another one, which then wait as
// long in the same state: what was written a minute later waits for a minute more.
func (d *foundDump) fragmentOf(whole *foundDump) bool {
	if !d.cut() || len(d.Goroutines) == 0 || len(d.Goroutines) >= len(whole.Goroutines) {
		return false
	}
	if d.pid != 0 && whole.pid != 0 && d.pid != whole.pid {
		return false
	}
	known := make(map[uint64]*stackdump.Goroutine, len(whole.Goroutines))
	for i := range whole.Goroutines {
		known[whole.Goroutines[i].ID] = &whole.Goroutines[i]
	}
	return !slices.ContainsFunc(d.Goroutines, func(g stackdump.Goroutine) bool {
		is := known[g.ID]
		return is == nil || is.State != g.State || is.Wait != g.Wait
	})
}

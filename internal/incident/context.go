package incident

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Surroundings are the lines around one quoted line, as written, in their order.
type Surroundings struct {
	Before, After []string
}

// Bounds of what is read around quoted lines.
const (
	contextLines  = 2       // before and after each
	maxContext    = 300     // bytes of one line
	maxContextual = 2000    // quoted lines that get any
	maxReread     = 1 << 30 // bytes of one file
)

// readContext reads the inputs once more, for the lines around those that the findings and the
// stalls quote. What cannot be read again, as stdin, gives none, and that is no error.
func readContext(ctx context.Context, in Inputs, inc *Incident) map[event.Pos]Surroundings {
	wanted := quotedLines(inc)
	found := map[event.Pos]Surroundings{}
	if len(wanted) == 0 {
		return found
	}
	// An error is one of the context: the report is complete without these lines.
	isWanted := func(path string) bool { return len(wanted[path]) > 0 }
	_ = rereadInputs(ctx, in, isWanted, func(path string, opened parse.Opened) {
		readAround(path, opened, wanted[path], found)
	})
	return found
}

// quotedLines are the numbers of the lines that findings and stalls quote, by file.
func quotedLines(inc *Incident) map[string]map[int]bool {
	all := map[string]map[int]bool{}
	n := 0
	add := func(quotes []event.Quote) {
		for _, q := range quotes {
			if q.Pos.Line == 0 || n == maxContextual {
				continue
			}
			if all[q.Pos.File] == nil {
				all[q.Pos.File] = map[int]bool{}
			}
			if !all[q.Pos.File][q.Pos.Line] {
				all[q.Pos.File][q.Pos.Line] = true
				n++
			}
		}
	}
	for _, f := range inc.Result.Findings {
		for _, s := range f.Chain {
			add(s.Evidence)
		}
		for _, a := range f.Contradictions {
			add(a.Evidence)
		}
	}
	for _, s := range inc.Timeline.Stalls {
		add(s.Evidence)
		add(s.NotReadyEvidence)
	}
	return all
}

// readAround reads one file up to the last line that is wanted.
func readAround(path string, in parse.Opened, wanted map[int]bool, found map[event.Pos]Surroundings) {
	if in.Entries { // entries of a journal are no lines
		return
	}
	var before []string // the last lines
	var open []int      // quoted lines that want more after them
	left := len(wanted)
	read := 0
	for line, err := range lines.All(in.R) {
		if err != nil || read > maxReread || left == 0 && len(open) == 0 {
			return
		}
		read += len(line.Bytes)
		text := string(line.Bytes[:min(len(line.Bytes), maxContext)])
		still := open[:0]
		for _, n := range open {
			s := found[event.Pos{File: path, Line: n}]
			s.After = append(s.After, text)
			found[event.Pos{File: path, Line: n}] = s
			if line.N < n+contextLines {
				still = append(still, n)
			}
		}
		open = still
		if wanted[line.N] {
			left--
			open = append(open, line.N)
			found[event.Pos{File: path, Line: line.N}] = Surroundings{Before: append([]string{}, before...)}
		}
		if before = append(before, text); len(before) > contextLines {
			before = before[1:]
		}
	}
}

// Passage is some lines of one file, as they are quoted in reports.
type Passage struct {
	Path  string
	First int      // the number of the first line, from 1
	Lines []string // each at most event.MaxRaw bytes
	More  bool     // the file goes on behind them
}

// Reasons why there is no passage.
var (
	ErrNoFile  = errors.New("no such file in the inputs")
	ErrEntries = errors.New("its lines are entries of a journal, which are no text")
)

// AmbiguousError says that a path is the end of several.
type AmbiguousError struct{ Paths []string }

func (e *AmbiguousError) Error() string { return fmt.Sprintf("the end of %d paths", len(e.Paths)) }

// ReadPassage reads at most count lines of a file of the inputs, from the line of the position on.
// The end of a path is enough where only one file has it.
// Of a long line that holds the text around, the part is read in which it stands; empty for none.
func ReadPassage(ctx context.Context, in Inputs, from event.Pos, count int, around string) (Passage, error) {
	var found []Passage
	var entries bool
	isWanted := func(path string) bool { return isWatched(path, from.File) }
	err := rereadInputs(ctx, in, isWanted, func(path string, opened parse.Opened) {
		if entries = opened.Entries; entries {
			return
		}
		found = append(found, readPassage(path, opened, from.Line, count, around))
	})
	for _, p := range found {
		if p.Path == from.File {
			return p, err
		}
	}
	switch {
	case err != nil:
		return Passage{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		several := &AmbiguousError{}
		for _, p := range found {
			several.Paths = append(several.Paths, p.Path)
		}
		return Passage{}, several
	case entries:
		return Passage{}, ErrEntries
	}
	return Passage{}, ErrNoFile
}

// readPassage reads one file up to the line behind the last that is wanted.
func readPassage(path string, in parse.Opened, first, count int, around string) Passage {
	p := Passage{Path: path, First: first}
	for line, err := range lines.All(in.R) {
		switch {
		case err != nil:
			return p
		case line.N >= first+count:
			p.More = true
			return p
		case line.N >= first:
			p.Lines = append(p.Lines, string(partAround(line.Bytes, around)))
		}
	}
	return p
}

// Bounds of the part of a long line that is read around a text, in bytes.
const (
	partBytes  = 3 << 10
	partBefore = 200
)

// partAround is the part of a line in which a text stands, or its first bytes.
func partAround(line []byte, text string) []byte {
	if i := bytes.Index(line, []byte(text)); text != "" && i > partBefore && len(line) > partBytes {
		line = line[i-partBefore:]
		return line[:min(len(line), partBytes)]
	}
	return line[:min(len(line), event.MaxRaw)]
}

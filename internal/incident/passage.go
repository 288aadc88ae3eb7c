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

package incident

import (
	"context"

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

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/plegdiag/plegdiag/internal/incident"
)

// Bounds of what is told on stderr one by one. The report has all, and so has plegdiag ls.
const (
	maxErrors   = 100 // files that could not be read, or not to their end: evidence is missing
	maxWarnings = 20  // files with lines that were not understood
	maxTrivial  = 3   // of them where none is a log or a dump: no parser was made for most files of a sosreport
)

// warnOfLoss says on stderr what the account in the report says in detail: what could not be read, the links that lead out of
// the bundle as one, and of the files with lines that were not understood those that matter.
func warnOfLoss(w io.Writer, inc *incident.Incident) {
	warnOfNodes(w, inc)
	var links linkWarnings
	var skipped []*incident.File
	errors := 0
	for i := range inc.Files {
		f := &inc.Files[i]
		switch {
		case f.Err == "":
		case f.Format == "link":
			links.add(f.Path + ": " + f.Err)
		default:
			if errors++; errors <= maxErrors {
				warn(w, f.Path+": "+f.Err)
			}
		}
		if f.Skipped > 0 {
			skipped = append(skipped, f)
		}
	}
	if errors > maxErrors {
		warn(w, fmt.Sprintf("%d more files could not be read (plegdiag ls lists them)", errors-maxErrors))
	}
	warnOfSkips(w, skipped)
	links.tell(w)
}

// warnOfSkips tells of files with lines that were not understood: logs and dumps first, then those that lost most.
func warnOfSkips(w io.Writer, files []*incident.File) {
	slices.SortStableFunc(files, func(a, b *incident.File) int { return cmp.Compare(b.Skipped, a.Skipped) })
	var told, trivial []*incident.File
	for _, f := range files {
		if !f.Start.IsZero() || f.Component != "" || f.Format == "goroutines" {
			told = append(told, f)
		} else {
			trivial = append(trivial, f)
		}
	}
	shown := min(max(len(told), maxTrivial), maxWarnings, len(files))
	told = append(told, trivial...)
	for _, f := range told[:shown] {
		warn(w, fmt.Sprintf("%s: %d of %d lines not understood; first: %s", f.Path, f.Skipped, f.Lines, f.FirstSkip))
	}
	left, lines := told[shown:], 0
	for _, f := range left {
		lines += f.Skipped
	}
	if len(left) > 0 {
		warn(w, fmt.Sprintf("%d more files with lines that were not understood, %d in all (plegdiag ls lists them)", len(left), lines))
	}
}

// linkWarnings tell of links as one: a node has hundreds.
type linkWarnings struct {
	first string
	count int
}

func (l *linkWarnings) add(text string) {
	if l.count++; l.count == 1 {
		l.first = text
	}
}

func (l *linkWarnings) tell(w io.Writer) {
	switch l.count {
	case 0:
	case 1:
		warn(w, l.first)
	default:
		warn(w, fmt.Sprintf("%d links are not followed (plegdiag ls lists them)", l.count))
	}
}

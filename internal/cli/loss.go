package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/plegdiag/plegdiag/internal/incident"
)

// Bounds of what stderr names one by one. The report and plegdiag ls have all.
const (
	maxErrors   = 100 // files that could not be read, or not to their end: evidence is missing
	maxWarnings = 20  // files with lines that were not understood
	maxTrivial  = 3   // of them where none is a log or a dump: no parser was made for most files of a sosreport
)

// WarnOfLoss says on stderr what the account in the report says in detail: what could not be read,
// and of the files with lines that were not understood those that matter.
func WarnOfLoss(w io.Writer, inc *incident.Incident) {
	warnOfNodes(w, inc)
	warnOfWindow(w, inc)
	WarnOfErrors(w, inc.Files)
	var skipped []*incident.File
	for _, f := range inc.Files {
		if f.Skipped > 0 && !saysWhy(f) {
			skipped = append(skipped, f)
		}
	}
	warnOfSkips(w, skipped)
	WarnOfLinks(w, inc.Files)
}

// WarnOfErrors names the files that could not be read, or not to their end.
func WarnOfErrors(w io.Writer, files []*incident.File) {
	var all []string
	for _, f := range files {
		if f.Err != "" && f.Format != "link" {
			text := f.Path + ": " + f.Err
			if saysWhy(f) {
				text += fmt.Sprintf("; "+notUnderstood, f.Skipped, f.Lines)
			}
			all = append(all, text)
		}
	}
	warnFirst(w, all, maxErrors, "%d more files could not be read (plegdiag ls lists them)")
}

// saysWhy says whether the error of a file is also why lines of it were not understood.
func saysWhy(f *incident.File) bool { return f.Err != "" && f.Skipped > 0 && f.FirstSkip == "" }

const notUnderstood = "%d of %d lines not understood"

// warnFirst prints the first warnings, and how many more there are.
func warnFirst(w io.Writer, all []string, most int, more string) {
	for _, text := range all[:min(len(all), most)] {
		Warn(w, text)
	}
	if len(all) > most {
		Warn(w, fmt.Sprintf(more, len(all)-most))
	}
}

// WarnOfLinks says how many links lead out of the inputs: a node has hundreds.
func WarnOfLinks(w io.Writer, files []*incident.File) {
	var links []string
	for _, f := range files {
		if f.Err != "" && f.Format == "link" {
			links = append(links, f.Path+": "+f.Err)
		}
	}
	switch len(links) {
	case 0:
	case 1:
		Warn(w, links[0])
	default:
		Warn(w, fmt.Sprintf("%d links are not followed (plegdiag ls lists them)", len(links)))
	}
}

// warnOfSkips names files with lines that were not understood: logs and dumps first, then those
// that lost most.
func warnOfSkips(w io.Writer, files []*incident.File) {
	slices.SortStableFunc(files, func(a, b *incident.File) int { return cmp.Compare(b.Skipped, a.Skipped) })
	var named, trivial []*incident.File
	for _, f := range files {
		if !f.Start.IsZero() || f.Component != "" || f.Format == "goroutines" {
			named = append(named, f)
		} else {
			trivial = append(trivial, f)
		}
	}
	shown := min(max(len(named), maxTrivial), maxWarnings, len(files))
	named = append(named, trivial...)
	for _, f := range named[:shown] {
		text := fmt.Sprintf("%s: "+notUnderstood, f.Path, f.Skipped, f.Lines)
		if f.FirstSkip != "" {
			text += "; first: " + f.FirstSkip
		}
		Warn(w, text)
	}
	left, lines := named[shown:], 0
	for _, f := range left {
		lines += f.Skipped
	}
	if len(left) > 0 {
		const text = "%d more files with lines that were not understood, %d in all (plegdiag ls lists them)"
		Warn(w, fmt.Sprintf(text, len(left), lines))
	}
}

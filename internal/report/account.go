package report

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// account is what people read of the files: those that say something by themselves, then the others
// by directory. A sosreport has 30 000 files, of which a hundred matter.
type account struct {
	Files []*incident.File
	// Folded stand for the files of one directory each: sums, the time that they cover together,
	// "sys/** (120 files)" for a path.
	Folded []*incident.File
	Left   int // files that are folded
}

// Bounds of the account. What they fold, the command ls lists, and so do --verbose and JSON.
const (
	maxSilent = 40 // files that may be folded are listed up to here
	maxAlike  = 10 // of one format and component; where there are more of them, each says little
	maxLossy  = 40 // files of which something was lost
)

// newAccount folds files where there are many; verbose lists all. Files that were not read to their
// end come first, then those that lost lines.
func newAccount(files []*incident.File, verbose bool) account {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *incident.File) int { return cmp.Compare(problemRank(a), problemRank(b)) })
	listed := listedFiles(files)
	left := len(files) - len(listed)
	if verbose || left <= maxSilent {
		return account{Files: files}
	}
	a := account{Left: left}
	alike := map[kind][]*incident.File{}
	for i, f := range files {
		if listed[i] {
			a.Files = append(a.Files, f)
		} else {
			alike[kindOf(f)] = append(alike[kindOf(f)], f)
		}
	}
	for _, of := range alike {
		a.Folded = append(a.Folded, foldByDirectory(of)...)
	}
	slices.SortFunc(a.Folded, func(x, y *incident.File) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(x.Format, y.Format),
			strings.Compare(x.Component, y.Component), strings.Compare(x.Node, y.Node), x.Start.Compare(y.Start))
	})
	return a
}

// kind is what makes files alike.
type kind struct {
	format, component, node string
	dated                   bool
}

func kindOf(f *incident.File) kind {
	return kind{f.Format, f.Component, f.Node, !f.Start.IsZero()}
}

// listedFiles finds the files that say something by themselves, by index: the few of a kind that
// are dated or of a component, and those of which something was lost.
func listedFiles(files []*incident.File) map[int]bool {
	listed, kinds := map[int]bool{}, map[kind]int{}
	for _, f := range files {
		kinds[kindOf(f)]++
	}
	var lossy []int
	for i, f := range files {
		k := kindOf(f)
		switch {
		case f.Format == "link": // what it points to may be read, and is in the account itself
		case f.Err != "" || f.Skipped > 0 || f.Note != "":
			lossy = append(lossy, i)
		case (k.dated || k.component != "") && kinds[k] <= maxAlike:
			listed[i] = true
		}
	}
	slices.SortStableFunc(lossy, func(a, b int) int { return compareLoss(files[a], files[b]) })
	for _, i := range lossy[:min(len(lossy), maxLossy)] {
		listed[i] = true
	}
	return listed
}

// compareLoss orders files by what was lost of them: those that could not be read to their end
// first, then by lines.
func compareLoss(a, b *incident.File) int {
	switch {
	case a.Err != "" && b.Err == "":
		return -1
	case a.Err == "" && b.Err != "":
		return 1
	}
	return cmp.Compare(b.Skipped, a.Skipped)
}

// problemRank orders files by how much of them is missing: 0 not read to the end, 1 lines lost, 2
// nothing. That a link is not followed is no problem.
func problemRank(f *incident.File) int {
	switch {
	case f.Err != "" && f.Format != "link":
		return 0
	case f.Skipped > 0:
		return 1
	}
	return 2
}

// foldByDirectory folds files of one kind: as deep in the tree as the rows stay few. Twice as many
// files are worth one row more.
func foldByDirectory(files []*incident.File) []*incident.File {
	most, deepest := bits.Len(uint(len(files)/2)), 0
	for _, f := range files {
		deepest = max(deepest, strings.Count(f.Path, "/"))
	}
	groups := map[string][]*incident.File{"": files}
	for depth := 1; depth <= deepest; depth++ {
		deeper := map[string][]*incident.File{}
		for _, f := range files {
			dir := directoryOf(f.Path, depth)
			deeper[dir] = append(deeper[dir], f)
		}
		if len(deeper) > most {
			break
		}
		groups = deeper
	}
	var all []*incident.File
	for dir, of := range groups {
		all = append(all, foldFiles(dir, of))
	}
	return all
}

// directoryOf is where a file lies, its first depth names.
func directoryOf(path string, depth int) string {
	end := 0
	for range depth {
		next := strings.IndexByte(path[end:], '/')
		if next < 0 {
			break
		}
		end += next + 1
	}
	return path[:end]
}

// foldFiles is one row for files of one kind in a directory.
func foldFiles(dir string, files []*incident.File) *incident.File {
	if len(files) == 1 {
		return files[0]
	}
	sum := *files[0]
	where := dir + "*"
	for _, f := range files[1:] {
		sum.Lines += f.Lines
		sum.Used += f.Used
		sum.Blank += f.Blank
		sum.Skipped += f.Skipped
		sum.Events += f.Events
		sum.Findings = max(sum.Findings, f.Findings)
		sum.FirstSkip = cmp.Or(sum.FirstSkip, f.FirstSkip)
		if f.Start.Before(sum.Start) {
			sum.Start = f.Start
		}
		if f.End.After(sum.End) {
			sum.End = f.End
		}
	}
	if slices.ContainsFunc(files, func(f *incident.File) bool { return strings.Contains(f.Path[len(dir):], "/") }) {
		where += "*"
	}
	sum.Path = fmt.Sprintf("%s (%s)", where, show.Plural(len(files), "file"))
	sum.Note, sum.Err = summarizeFailures(files)
	return &sum
}

// summarizeFailures says of how many files of one format something went wrong; to point elsewhere
// is no error of a link.
func summarizeFailures(files []*incident.File) (note, err string) {
	failed := slices.DeleteFunc(slices.Clone(files), func(f *incident.File) bool { return f.Err == "" })
	switch {
	case len(failed) == 0:
		return "", ""
	case files[0].Format == "link":
		return fmt.Sprintf("%d of them are not followed", len(failed)), ""
	}
	return "", fmt.Sprintf("%d of them; first: %s: %s", len(failed), failed[0].Path, failed[0].Err)
}

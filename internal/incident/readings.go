package incident

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/observe/processes"
)

// snapshot is when a file, or all files below a directory, were made, and of which node they are.
type snapshot struct {
	at   event.Time
	node string
}

// dateReadings gives files the time at which collect asked for them, and readings and the states of
// listed units that of their file, by the manifest of its bundle or the date that was collected
// with it. It drops readings that have none: without a time a number grows at no rate.
func dateReadings(files []*file) {
	snapshots := map[string]snapshot{} // by path; that of a directory ends with a slash
	for _, f := range files {
		taken := f.readRare().taken
		if taken == nil {
			continue
		}
		dir := path.Dir(f.account.Path)
		for name, at := range taken.Files {
			snapshots[path.Join(dir, name)] = snapshot{at, cmp.Or(taken.Node, dir)}
		}
		if taken.All.Known {
			root := collectorRoot(dir)
			snapshots[root+"/"] = snapshot{taken.All, cmp.Or(f.place.Node, reportName(root))}
		}
	}
	for _, f := range files {
		if s, ok := snapshots[f.account.Path]; ok && s.at.Lacks == 0 {
			f.makeRare().queried = s.at.T
		}
		for e := range f.events.All() {
			if e.Kind == event.KindProcess {
				dateListed(e, snapshots, f.account.Path)
			}
			listed := e.Kind == event.KindUnit && e.Open
			if e.Kind != event.KindCount && !listed || e.Start.Known {
				continue
			}
			s, ok := findSnapshot(snapshots, f.account.Path)
			if ok && listed {
				e.Start, e.End = s.at, s.at
			} else if ok {
				e.Start = s.at
				e.Fields = append(slices.Clip(e.Fields), event.Field{Key: event.FieldNode, Value: event.String(s.node)})
			}
		}
		f.events.KeepOnly(func(e *event.Event) bool { return e.Kind != event.KindCount || e.Start.Known })
	}
}

// longestCollecting is how long a collector works, and twelve hours for a date without its zone:
// what it lists is no older than this when it writes down its own date.
const longestCollecting = 13 * time.Hour

// dateListed gives a listed process the date that was collected with it, where only its youngest
// process tells when a listing was made, and began long before that date: no process of it began
// later.
func dateListed(e *event.Event, snapshots map[string]snapshot, file string) {
	s, ok := findSnapshot(snapshots, file)
	if ok && e.Basis == processes.ByYoungest && s.at.Lacks == 0 && e.End.Lacks&^event.LacksZone == 0 && s.at.T.Sub(e.End.T) > longestCollecting {
		e.Start, e.End, e.Basis = s.at, s.at, "the date that was collected with the listing"
	}
}

// collectorRoot is the directory that a collector wrote to. Dir is where it put the output of
// date: sos has it in sos_commands/date.
func collectorRoot(dir string) string {
	root, _, ok := strings.Cut("/"+dir, "/sos_commands/")
	if !ok {
		return dir
	}
	return cmp.Or(strings.TrimPrefix(root, "/"), ".")
}

// reportName is what the directories of two sosreports of one node have in common: of
// sosreport-node-1-2026-11-20-abcdefg all before the date. Of any other directory it is the whole
// path: nothing shows that two of them are of one node.
func reportName(root string) string {
	name := path.Base(root)
	if n := len(name) - len("-2026-11-20-abcdefg"); strings.HasPrefix(name, "sosreport-") && n > 0 && isDate(name[n+1:n+11]) {
		return name[:n]
	}
	return root
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// findSnapshot finds what says when a file was made: its own row, or the nearest directory
// above it.
func findSnapshot(snapshots map[string]snapshot, file string) (snapshot, bool) {
	if s, ok := snapshots[file]; ok {
		return s, true
	}
	for dir := range layout.Parents(file) {
		if s, ok := snapshots[dir+"/"]; ok {
			return s, true
		}
	}
	return snapshot{}, false
}

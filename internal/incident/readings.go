package incident

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// snapshot is when a file or all below a directory was made, and of which node it is.
type snapshot struct {
	at   event.Time
	node string
}

// dateReadings gives readings the time of their file, by the manifest of its bundle or the date that was collected with it, and
// drops those that have none: without a time a number grows at no rate.
func dateReadings(files []*file) {
	made := map[string]snapshot{} // by path; that of a directory ends with a slash
	for _, f := range files {
		dir := path.Dir(f.account.Path)
		for name, at := range f.taken.Files {
			made[path.Join(dir, name)] = snapshot{at, cmp.Or(f.taken.Node, dir)}
		}
		if f.taken.All.Known {
			root := collectedBelow(dir)
			made[root+"/"] = snapshot{f.taken.All, cmp.Or(f.place.Node, reportName(root))}
		}
	}
	for _, f := range files {
		for e := range f.events.all() {
			if e.Kind != event.KindCount || e.Start.Known {
				continue
			}
			if s, ok := madeAt(made, f.account.Path); ok {
				e.Start = s.at
				e.Fields = append(slices.Clip(e.Fields), event.Field{Key: event.FieldNode, Value: event.String(s.node)})
			}
		}
		f.events.filter(func(e *event.Event) bool { return e.Kind != event.KindCount || e.Start.Known })
	}
}

// collectedBelow is the directory that a collector wrote to, of one in it where the output of date lies: sos has it in sos_commands/date.
func collectedBelow(dir string) string {
	root, _, ok := strings.Cut("/"+dir, "/sos_commands/")
	if !ok {
		return dir
	}
	return cmp.Or(strings.TrimPrefix(root, "/"), ".")
}

// reportName is what two reports of one node have in common in the name of their directory, which is sosreport-node-1-2026-11-20-abcdefg: all
// before the date. Of any other directory it is the whole path: nobody says that two of them are of one node.
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

// madeAt finds what says when a file was made: its own row, or the nearest directory above it.
func madeAt(made map[string]snapshot, file string) (snapshot, bool) {
	if s, ok := made[file]; ok {
		return s, true
	}
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if s, ok := made[dir+"/"]; ok || dir == "." || dir == "/" {
			return s, ok
		}
	}
}

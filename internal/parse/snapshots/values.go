package snapshots

import (
	"bytes"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadValues reads the small files of /proc, /sys and cgroups, and what grep . prints of several of
// them:
//
//	MemTotal:       24731708 kB                    /proc/meminfo
//	some avg10=0.11 avg60=0.06 avg300=0.12 total=2071150
//	frozen 1                                       cgroup.events
//	32768                                          /proc/sys/kernel/pid_max
//	/sys/fs/cgroup/freezer/kubepods/freezer.state:FROZEN
//
// The path of a datum is the file and the name in it; a line without a name has the file alone. The
// value is what follows, and NAME=value pairs of it are fields.
func ReadValues(in lines.Input) iter.Seq2[Datum, error] {
	file := in.Place()
	return lineData(in, func(line []byte) (Datum, bool) {
		text := strings.TrimSpace(string(line))
		if name, ok := cutFileBanner(text); ok {
			file = name
			return Datum{}, true
		}
		name, text := cutFilePrefix(text, file)
		return readValueLine(name, text), true
	})
}

// cutFileBanner is what head and tail print before each of several files, as "==> /proc/loadavg
// <==".
func cutFileBanner(text string) (string, bool) {
	text, ok := strings.CutPrefix(text, "==> ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(text, " <==")
}

// cutFilePrefix takes off the name that grep puts before a line.
func cutFilePrefix(text, file string) (string, string) {
	if strings.HasPrefix(text, "/proc/") || strings.HasPrefix(text, "/sys/") {
		head := text[:pathEnd(text)]
		i := strings.LastIndexByte(head, ':')
		base := strings.LastIndexByte(head, '/') + 1
		if first := strings.IndexByte(head[base:], ':'); first > 0 { // the value begins with 8:0, as of io.max
			i = base + first
		}
		if i > 0 {
			return text[:i], strings.TrimSpace(text[i+1:])
		}
	}
	return file, text
}

// pathEnd is where the path at the start of a line must have ended: names of cgroups hold colons,
// but no blanks.
func pathEnd(text string) int {
	if i := strings.IndexAny(text, " \t"); i > 0 {
		return i
	}
	return len(text)
}

// ReadContent reads what such a file holds, as a trace shows it. All its data have that place.
func ReadContent(file, text string, at event.Quote) iter.Seq[Datum] {
	return func(yield func(Datum) bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			e := readValueLine(file, line)
			e.Pos, e.Raw = at.Pos, at.Text
			if !yield(e) {
				return
			}
		}
	}
}

// readValueLine takes a line of such a file apart.
func readValueLine(file, text string) Datum {
	e := Datum{Path: []string{file}, Value: text}
	name, rest, ok := strings.Cut(text, " ")
	if colon, after, found := strings.Cut(text, ":"); found && isName(strings.TrimSpace(colon), "./") {
		name, rest, ok = strings.TrimSpace(colon), after, true
	} else if tab, after, found := strings.Cut(text, "\t"); found && !strings.Contains(tab, " ") {
		name, rest, ok = tab, after, true
	}
	if ok && name != "" && !lines.IsDigit(name[0]) {
		e.Path, e.Value = append(e.Path, name), strings.TrimSpace(rest)
	}
	for word := range strings.FieldsSeq(e.Value) {
		if key, value, ok := strings.Cut(word, "="); ok && len(e.Fields) < 20 {
			e.Fields = append(e.Fields, event.Pair{Key: key, Value: value})
		}
	}
	return e
}

// valueFiles are names of files whose content does not show what they are.
var valueFiles = []string{
	"pid_max", "threads-max", "file-nr", "loadavg", "freezer.state", "cgroup.freeze", "cgroup.events", "cgroup.stat", "pids.current", "pids.max", "pids.events",
	"nf_conntrack_count", "nf_conntrack_max", "waiting", "memory.events", "cpu.stat", "cpu.max", "io.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "buddyinfo", "cgroups", "meminfo", "io.pressure", "cpu.pressure", "memory.pressure", "io", "cpu", "memory", "date",
}

// HoldsOneValue says that a file holds a single value and nothing else, by its name.
func HoldsOneValue(file string) bool {
	switch path.Base(file) {
	case "uptime", "pid_max", "threads-max", "nf_conntrack_count", "nf_conntrack_max", "freezer.state", "cgroup.freeze", "pids.current", "pids.max", "cpu.cfs_quota_us", "cpu.cfs_period_us":
		return true
	}
	return false
}

// IsValueFile says that a file is one of those by its name.
func IsValueFile(file string) bool {
	name, isText := strings.CutSuffix(path.Base(file), ".txt")
	switch {
	case !slices.Contains(valueFiles, name):
		return false
	case name == "waiting":
		return strings.Contains(file, "fuse/connections/")
	case name == "date" || len(name) > 6: // no other program calls its file so
		return true
	}
	return !isText && strings.Contains(file, "pressure/")
}

// isNodeFile says that a line names a file of /proc that is about the node; what is about one
// process is read as threads.
func isNodeFile(line []byte, prefix string) bool {
	name, ok := bytes.CutPrefix(line, []byte(prefix))
	return ok && len(name) > 0 && !lines.IsDigit(name[0])
}

// SniffValues gives its share to content that shows what it is, and one half to any other short
// lines.
func SniffValues(head *lines.Head) float64 {
	all, good, short, known := 0, 0, 0, false
	for _, line := range head.Lines {
		all++
		if len(line) < 120 && !lines.IsNoise(line) {
			short++
		}
		switch {
		case lines.StartsWith(line, "MemTotal:", "#subsys_name", "some avg10=", "full avg10=", "==> /sys/"),
			lines.StartsWith(line, "Node ") && bytes.Contains(line, []byte(", zone ")), isNodeFile(line, "==> /proc/"),
			(lines.StartsWith(line, "/sys/fs/cgroup/", "/sys/fs/fuse/") || isNodeFile(line, "/proc/")) &&
				bytes.IndexByte(line[:pathEnd(string(line))], ':') > 0:
			known = true
			good++
		case known && (short == all || len(readValueLine("", string(line)).Path) == 2):
			good++
		}
	}
	switch {
	case all == 0:
		return 0
	case known:
		return float64(good) / float64(all)
	case short == all:
		return 0.5
	}
	return 0
}

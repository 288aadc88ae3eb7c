package states

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// values reads the small files of /proc, /sys and cgroups.
type values struct {
	groups []cgroup // in the order in which they are met
	byPath map[string]int
	taken  taken
	memory int64 // of the node, in kB, by the row of it that comes first

	tracked, mayTrack *snapshots.Datum // connections, and how many there may be; nil where not shown
	fuse              []fuseConnection // in the order in which they are met
}

// fuseConnection is what /sys/fs/fuse/connections/N/waiting showed of one connection of FUSE.
type fuseConnection struct {
	path   string
	least  float64 // of the requests that waited for the server, of all looks
	quotes []event.Quote
}

// cgroup is what the files of one cgroup say.
type cgroup struct {
	path            string
	fields          []event.Field
	quotes          []event.Quote
	freezer, frozen bool // a file says whether it is frozen; it is
	// how many periods of CPU time there were, and in how many of them it was used up
	periods, throttled float64
	quota, period      float64 // microseconds of CPU time that it may have in each period
	told               bool    // worth an event
}

// sizes are the rows of /proc/meminfo that are facts, in bytes.
var sizes = map[string]string{
	"MemTotal": "memory.total-bytes", "MemAvailable": "memory.available-bytes", "Dirty": "memory.dirty-bytes",
	"Writeback": "memory.writeback-bytes", "SUnreclaim": "memory.slab-unreclaimable-bytes",
}

// limits are files of /proc/sys that hold one number.
var limits = map[string]string{"pid_max": "node.pid-max", "threads-max": "node.threads-max"}

func (v *values) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Path) == 0 {
		return dst
	}
	file, name := e.Path[0], ""
	if len(e.Path) > 1 {
		name = e.Path[1]
	}
	base := strings.TrimSuffix(path.Base(file), ".txt")
	if fact := sizes[name]; fact != "" && strings.HasSuffix(e.Value, " kB") {
		if kb, err := strconv.ParseInt(strings.TrimSuffix(e.Value, " kB"), 10, 64); err == nil && kb < 1<<50 {
			switch name {
			case "MemTotal":
				v.memory = kb
			case "MemAvailable":
				dst = addAvailable(dst, float64(kb), float64(v.memory), e)
			case "SUnreclaim":
				if v.memory > 0 && kb < v.memory {
					dst = addFact(dst, facts.Node, "memory.unreclaimable-percent", strconv.FormatInt(kb*100/v.memory, 10), e)
				}
			}
			return addFact(dst, facts.Node, fact, strconv.FormatInt(kb<<10, 10), e)
		}
	}
	switch {
	case name == "some" || name == "full":
		return v.appendPressure(dst, file, name, e)
	case limits[base] != "":
		return addNumber(dst, limits[base], e.Value, e)
	case base == "loadavg":
		return appendLoad(dst, e)
	case base == "file-nr":
		return appendOpenFiles(dst, e)
	case base == "nf_conntrack_count":
		v.tracked = copyOf(e)
	case base == "nf_conntrack_max":
		v.mayTrack = copyOf(e)
	case base == "waiting" && strings.Contains(file, "/fuse/connections/"):
		v.noteFuse(file, e)
	case base == "date":
		v.taken.takeDate(e.Raw)
		return dst
	case name == "Node":
		return appendFreeBlocks(dst, e)
	case base == "cgroups" || name == "memory" && strings.Count(e.Value, "\t") == 2:
		return appendCgroupCount(dst, name, e)
	}
	v.noteCgroup(file, base, name, e)
	return dst
}

// addNumber appends a fact that must be a number.
func addNumber(dst []event.Event, name, value string, e *snapshots.Datum) []event.Event {
	value = strings.TrimSpace(value)
	if _, err := strconv.ParseFloat(value, 64); err != nil {
		return dst
	}
	return addFact(dst, facts.Node, name, value, e)
}

// appendPressure: some avg10=0.11 avg60=0.06 avg300=0.12 total=2071150 of the node; that of a
// cgroup is not the node's.
func (v *values) appendPressure(dst []event.Event, file, name string, e *snapshots.Datum) []event.Event {
	base := path.Base(file)
	for _, what := range [...]string{"cpu", "io", "memory"} {
		if !strings.Contains(base, what) || strings.Contains(file, "cgroup") || strings.HasSuffix(base, ".pressure") {
			continue
		}
		for _, avg := range [...]string{"avg10", "avg300"} {
			if value, ok := e.Field(avg); ok {
				dst = addNumber(dst, "pressure."+what+"."+name+"."+avg, value, e)
			}
		}
		break
	}
	return dst
}

// appendLoad: 5.38 3.87 2.38 6/129 11952; the fourth is the threads that run and those that are.
func appendLoad(dst []event.Event, e *snapshots.Datum) []event.Event {
	f := strings.Fields(e.Value)
	if len(f) != 5 || !strings.Contains(f[3], "/") {
		return dst
	}
	_, threads, _ := strings.Cut(f[3], "/")
	dst = addFact(dst, facts.Node, "node.load", strings.Join(f[:3], " "), e)
	if n, err := strconv.ParseUint(threads, 10, 32); err == nil {
		dst = append(dst, facts.NewReading(facts.Node, facts.OfThreads, float64(n), event.Time{}, e.Quote()))
	}
	return addNumber(dst, "node.threads", threads, e)
}

// nearlyAll is the share of a limit from which on the next that asks may be refused.
const nearlyAll = 0.98

// appendOpenFiles: 1048576 0 1048576 of /proc/sys/fs/file-nr: files that are open, those that are
// free since then (0 from 2.6 on), and the limit of the whole kernel.
func appendOpenFiles(dst []event.Event, e *snapshots.Datum) []event.Event {
	f := strings.Fields(e.Value)
	if len(f) != 3 {
		return dst
	}
	open, err := strconv.ParseUint(f[0], 10, 64)
	limit, err2 := strconv.ParseUint(f[2], 10, 64)
	if err != nil || err2 != nil || limit == 0 || float64(open) < nearlyAll*float64(limit) {
		return dst
	}
	return append(dst, newTableFull("open-files", "the node has "+f[0]+" files open, of "+f[2]+" at most", e.Quote()))
}

// newTableFull is the event of a table or a limit of the whole kernel that is full.
func newTableFull(what, text string, quotes ...event.Quote) event.Event {
	e := event.New(event.KindTableFull, text, event.FieldWhat.Text(what))
	e.Component, e.Source, e.Evidence = "node", facts.Node, quotes
	return e
}

// copyOf keeps a datum beyond the next step.
func copyOf(e *snapshots.Datum) *snapshots.Datum {
	kept := *e
	return &kept
}

// appendTracked compares the connections that the kernel tracks with how many there may be.
func (v *values) appendTracked(dst []event.Event) []event.Event {
	if v.tracked == nil || v.mayTrack == nil {
		return dst
	}
	count, err := strconv.ParseUint(v.tracked.Value, 10, 64)
	most, err2 := strconv.ParseUint(v.mayTrack.Value, 10, 64)
	if err != nil || err2 != nil || most == 0 || float64(count) < nearlyAll*float64(most) {
		return dst
	}
	text := "the kernel tracks " + v.tracked.Value + " connections, of " + v.mayTrack.Value + " at most"
	return append(dst, newTableFull("connections", text, v.tracked.Quote(), v.mayTrack.Quote()))
}

// noteFuse notes how many requests wait for the server of a connection of FUSE.
func (v *values) noteFuse(file string, e *snapshots.Datum) {
	n, err := strconv.ParseFloat(e.Value, 64)
	i := slices.IndexFunc(v.fuse, func(c fuseConnection) bool { return c.path == file })
	switch {
	case err != nil:
	case i >= 0:
		c := &v.fuse[i]
		c.least, c.quotes = min(c.least, n), append(c.quotes, e.Quote())
	case len(v.fuse) < maxListed:
		v.fuse = append(v.fuse, fuseConnection{file, n, []event.Quote{e.Quote()}})
	}
}

// appendFuse makes facts of the connections on which requests waited at every look, of several: one
// request may wait for a moment on any.
func (v *values) appendFuse(dst []event.Event) []event.Event {
	for _, c := range v.fuse {
		if len(c.quotes) < 2 || c.least == 0 {
			continue
		}
		e, _ := facts.New("fuse.waiting", strconv.FormatFloat(c.least, 'f', -1, 64))
		e.Component, e.Source, e.Evidence = "kernel", facts.Node, c.quotes
		dst = append(dst, e)
	}
	return dst
}

// minOrders is less than MAX_ORDER of any kernel (11), and more than /proc/pagetypeinfo has types
// of pages (6).
const minOrders = 9

// appendFreeBlocks: Node 0, zone   Normal   2045   8024 …: free blocks by order.
func appendFreeBlocks(dst []event.Event, e *snapshots.Datum) []event.Event {
	f := strings.Fields(e.Value)
	if len(f) < minOrders+3 || f[1] != "zone" || f[2] != "Normal" {
		// what the kernel allocates from is Normal; /proc/pagetypeinfo has such lines, too, with
		// other numbers
		return dst
	}
	return addFact(dst, facts.Node, "memory.free-blocks."+strings.TrimSuffix(f[0], ","), strings.Join(f[3:], " "), e)
}

// appendCgroupCount: memory 4 14 1 of /proc/cgroups: name, hierarchy, how many, enabled.
func appendCgroupCount(dst []event.Event, name string, e *snapshots.Datum) []event.Event {
	f := strings.Fields(e.Value)
	if name != "memory" || len(f) != 3 {
		return dst
	}
	if f[2] == "0" {
		return addFact(dst, facts.Node, "kernel.memory-cgroups", "disabled", e)
	}
	return addNumber(dst, "kernel.memory-cgroups", f[1], e)
}

// noteCgroup notes what a file of a cgroup says.
func (v *values) noteCgroup(file, base, name string, e *snapshots.Datum) {
	field, freezer, frozen, periods, quota, period := event.Field{}, false, false, 0.0, 0.0, 0.0
	n, err := strconv.ParseFloat(e.Value, 64)
	switch {
	case base == "freezer.state":
		field, freezer, frozen = event.FieldState.Text(e.Value), true, e.Value == "FROZEN" || e.Value == "FREEZING"
	case base == "cgroup.freeze", base == "cgroup.events" && name == "frozen":
		freezer, frozen = true, e.Value == "1"
	case base == "pids.current" && err == nil:
		field = event.FieldPIDs.Number(n)
	case base == "pids.max":
		field = event.FieldPIDsMax.Number(n)
		if err != nil {
			field = event.FieldPIDsMax.Text(e.Value)
		}
	case base == "pids.events" && name == "max" && err == nil:
		field = event.FieldForksRefused.Number(n)
	case (base == "memory.events" || base == "memory.oom_control") && name == "oom_kill" && err == nil: // of version 2, and 1
		field = event.FieldOOMKills.Number(n)
	case base == "cgroup.stat" && name == "nr_dying_descendants" && err == nil:
		field = event.FieldDying.Number(n)
	case base == "cpu.stat" && name == "nr_throttled" && err == nil:
		field = event.FieldThrottled.Number(n)
	case base == "cpu.stat" && name == "nr_periods" && err == nil:
		periods = n
	case base == "cpu.max": // of version 2: 1000 100000; without a limit, max 100000
		if quota, period = parseQuota(e.Value); quota == 0 {
			return
		}
	case base == "cpu.cfs_quota_us" && err == nil && n > 0: // of version 1; without a limit, -1
		quota = n
	case base == "cpu.cfs_period_us" && err == nil:
		period = n
	case base == "io.max":
		field = event.FieldIOMax.Text(e.Value)
	default:
		return
	}
	dir := path.Dir(file)
	if strings.HasPrefix(dir, "sys/fs/cgroup/") {
		dir = "/" + dir // as a shell printed it
	}
	i, known := v.byPath[dir]
	if !known {
		if len(v.groups) == maxListed {
			return
		}
		if v.byPath == nil {
			v.byPath = map[string]int{}
		}
		i = len(v.groups)
		v.byPath[dir] = i
		v.groups = append(v.groups, cgroup{path: dir})
	}
	g := &v.groups[i]
	g.quotes = append(g.quotes, e.Quote())
	if field.Key == event.FieldIOMax && slices.ContainsFunc(g.fields, func(f event.Field) bool { return f.Key == field.Key }) {
		field = event.Field{} // of another device
	}
	if field.Key != "" {
		g.fields = append(g.fields, field)
	}
	if field.Key == event.FieldThrottled {
		g.throttled = n
	}
	g.periods, g.quota, g.period = max(g.periods, periods), max(g.quota, quota), max(g.period, period)
	g.freezer, g.frozen = g.freezer || freezer, g.frozen || frozen
	g.told = g.told || frozen || field.Key == event.FieldPIDs ||
		field.Key == event.FieldPIDsMax && err == nil || quota > 0 || field.Key == event.FieldIOMax ||
		(field.Key == event.FieldDying || field.Key == event.FieldThrottled || field.Key == event.FieldForksRefused || field.Key == event.FieldOOMKills) && n > 0
}

func (v *values) finishFile(dst []event.Event) []event.Event {
	dst = v.appendFuse(v.appendTracked(dst))
	for _, g := range v.groups {
		if !g.told {
			continue
		}
		e := event.Event{Kind: event.KindCgroup, Component: "node", Source: facts.Node, Evidence: g.quotes}
		e.Fields = append([]event.Field{event.FieldPath.Text(g.path)}, g.fields...)
		if g.freezer {
			e.AddFields(event.FieldFrozen.Bool(g.frozen))
		}
		if g.periods > 0 && g.throttled > 0 {
			e.AddFields(event.FieldThrottledShare.Number(math.Round(100 * g.throttled / g.periods)))
		}
		if g.quota > 0 && g.period > 0 {
			e.AddFields(event.FieldCPUMax.Number(math.Round(1000*g.quota/g.period) / 10))
		}
		if unit, ok := strings.CutSuffix(path.Base(g.path), ".service"); ok {
			e.AddText(event.FieldDaemon, daemon.Named(unit))
		}
		facts.MarkFull(&e, event.FieldPIDs, event.FieldPIDsMax)
		e.IDs.Container, e.IDs.PodUID = scan.FindID(g.path), scan.PodUID(g.path)
		e.Text = "cgroup " + g.path
		if g.path == "." {
			e.Text = "a cgroup" // nothing shows where its file was printed
		}
		switch {
		case g.frozen && e.FieldText(event.FieldState) == "FREEZING":
			e.Text += " is being frozen: a process in it has not stopped yet"
		case g.frozen:
			e.Text += " is frozen"
		}
		dst = appendPIDReading(append(dst, e), &e)
	}
	return dst
}

// parseQuota returns the microseconds of cpu.max; zeros where there is no limit.
func parseQuota(value string) (quota, period float64) {
	first, second, _ := strings.Cut(value, " ")
	quota, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, 0
	}
	period, err = strconv.ParseFloat(second, 64)
	if err != nil || period <= 0 {
		return 0, 0
	}
	return quota, period
}

package states

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/systemd"
	"github.com/plegdiag/plegdiag/internal/observe/processes"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/observe/tasks"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// listings reads listings with a header. A file may hold several, and a date before one says when
// it was made.
type listings struct {
	snapshot  *Snapshot
	kind      string
	header    event.Quote
	headed    bool       // the listing has a header; else header is its first row
	at        event.Time // when the listing was made, as a line before it says; zero when none does
	processes processes.Listing
	tools     toolListing
	units     unitCounts
	daemons   listedUnits
	nodes     nodes
	activity  activity
	files     openFiles
	memory    topMemory
	tasks     []tasks.Task
}

// topMemory is what the first of top's lines about memory says, of which the second gives the rest.
type topMemory struct{ total, free float64 }

func (t *listings) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if e.Text != "" {
		if at, ok := stamp.Date(e.Text); ok {
			t.at = at
		} else if t.kind == "ps" {
			t.processes.ExtendRow(e)
		}
		return dst
	}
	if len(e.Path) > 0 && len(e.Fields) > 0 {
		return t.takeBareRow(dst, e)
	}
	if len(e.Path) > 0 && e.Value == "" { // a control group of a tree
		return dst
	}
	if len(e.Path) > 0 {
		dst = t.endListing(dst)
		t.headed = true
		t.kind, t.header = e.Value, e.Quote()
		if source := tableSources[t.kind]; source != "" {
			t.snapshot.sources[source] = true
		}
		if t.kind == "sar" {
			t.activity.takeHeader(e.Raw)
		}
		return dst
	}
	if len(e.Fields) == 0 {
		return dst
	}
	return t.takeRow(dst, e)
}

// takeBareRow takes a row that says by itself what it is.
func (t *listings) takeBareRow(dst []event.Event, e *snapshots.Datum) []event.Event {
	switch e.Path[0] {
	case "system":
		t.activity.takeSystem(e)
		t.snapshot.sources[facts.Node] = true
		return addFact(dst, facts.Node, "kernel.version", e.Column("release"), e)
	case "memory":
		t.snapshot.sources[facts.Node] = true
		return t.takeTopMemory(dst, e)
	case "container":
		t.takeTask(e)
		return appendContainerState(dst, e)
	case "file system":
		t.snapshot.sources[facts.Node] = true
		return appendFileSystem(dst, e)
	case "node":
		return t.nodes.appendListedNode(dst, e)
	case "file":
		t.files.takeRow(e)
		t.snapshot.sources[facts.Processes] = true
		return dst
	}
	if t.kind != "ps" || t.headed {
		dst = t.endListing(dst)
		t.kind, t.headed, t.header = "ps", false, e.Quote()
		t.snapshot.sources[facts.Processes] = true
	}
	if e.Path[0] != "tree" {
		return t.processes.TakeRow(dst, e)
	}
	t.processes.Part = true // a tree of pstree is without the kernel's threads, one of control groups without all threads
	all := e.Fields
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Key != "PID" {
			n++
		}
		one := *e
		one.Fields, all = all[:n], all[n:]
		if _, thread := one.Field("TID"); !thread { // a tree shows no states
			dst = t.processes.TakeRow(dst, &one)
		}
	}
	return dst
}

// takeRow takes a row below a header.
func (t *listings) takeRow(dst []event.Event, e *snapshots.Datum) []event.Event {
	switch t.kind {
	case "ps":
		return t.processes.TakeRow(dst, e)
	case "df":
		return appendFileSystem(dst, e)
	case "free":
		return appendFreeMemory(dst, e)
	case "units":
		t.units.countUnit(e)
		t.daemons.takeRow(e, t.at)
	case "events":
		k := rowEvent(e.Fields, e.Quote(), t.at)
		return t.nodes.appendEvent(dst, &k)
	case "nodes":
		return t.nodes.appendListedNode(dst, e)
	case "pods":
		return appendListedPod(dst, e)
	case "sar":
		return t.activity.takeRow(dst, e)
	case "docker", "crictl", "tasks":
		t.takeTask(e)
		return appendContainerState(dst, e)
	case "devices":
		return appendDeviceLoad(dst, e)
	case "jobs", "bus", "vmstat", "cpu", "sources":
		return t.tools.takeRow(dst, t.kind, e)
	}
	return dst
}

// tableSources are the sources that a listing is by being there.
var tableSources = map[string]string{
	"ps": facts.Processes, "units": facts.Units, "df": facts.Node, "free": facts.Node,
	"events": facts.Kubernetes, "nodes": facts.Kubernetes, "jobs": facts.Units,
	"devices": facts.Node, "vmstat": facts.Node, "cpu": facts.Node, "sar": facts.Node, "files": facts.Processes,
}

// endListing finishes the listing at hand.
func (t *listings) endListing(dst []event.Event) []event.Event {
	dst = t.processes.Finish(dst, t.header, t.at)
	dst = t.daemons.finishListing(t.units.finishListing(dst, t.header, t.at))
	dst = t.tools.finishListing(dst, t.kind, t.header)
	t.processes, t.units, t.daemons, t.tools = processes.Listing{}, unitCounts{}, listedUnits{}, toolListing{}
	return dst
}

func (t *listings) finishFile(dst []event.Event) []event.Event {
	dst = t.files.finishFile(t.activity.finishFile(t.endListing(dst)))
	return t.nodes.finishFile(dst)
}

// appendFileSystem is a row of df or df -i.
func appendFileSystem(dst []event.Event, e *snapshots.Datum) []event.Event {
	target, source := e.Column("Mounted on"), e.Column("Filesystem")
	ev := event.Event{Kind: event.KindFileSystem, Component: "node", Source: facts.Node, Evidence: []event.Quote{e.Quote()}}
	ev.Fields = []event.Field{event.FieldTarget.Text(target), event.FieldSource.Text(source)}
	_, ofInodes := e.Field("Inodes") // busybox heads the share of those with Use%, too
	told := false
	for _, column := range [...]string{"Use%", "Capacity", "IUse%"} {
		value, _ := e.Field(column)
		n, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		switch {
		case err != nil:
			continue
		case ofInodes || column == "IUse%":
			ev.AddFields(event.FieldInodesPercent.Number(n))
			ev.Text = target + " has used " + value + " of its inodes"
		default:
			ev.AddFields(event.FieldUsedPercent.Number(n))
			ev.Text = target + " is " + value + " full"
		}
		told = true
	}
	isImage := func(root string) bool { return strings.HasPrefix(target, root) }
	if !told || target == "" || scan.FindID(target) != "" || slices.ContainsFunc(imageRoots, isImage) {
		return dst // what holds a container's files shows as its own row
	}
	return append(dst, ev)
}

// imageRoots are where images are mounted that nobody writes to: squashfs of snapd, and discs. They
// are full from the start.
var imageRoots = []string{"/snap/", "/var/lib/snapd/snap/", "/media/", "/cdrom"}

// appendFreeMemory is a row of free. Its unit is that of an option, which the output does not show,
// but the share needs none.
func appendFreeMemory(dst []event.Event, e *snapshots.Datum) []event.Event {
	available, told := e.Field("available")
	t, a := freeSize(e.Column("total")), freeSize(available)
	if cached, old := e.Field("cached"); old && !told { // up to procps 3.3.9
		a, told = freeSize(e.Column("free"))+freeSize(e.Column("buffers"))+freeSize(cached), true
	}
	if e.Column("") != "Mem:" || !told || available == "" && a == 0 {
		return dst
	}
	if strings.ContainsAny(available, "KMGT") {
		dst = addAvailableBytes(dst, a, e)
	}
	return addAvailable(dst, a, t, e)
}

// takeTopMemory takes one of the two lines of top about memory. What of it is available stands in
// the second; top up to procps 3.3.9 does not estimate it, and says what is free, and what is kept
// of files, which is at most as much.
func (t *listings) takeTopMemory(dst []event.Event, e *snapshots.Datum) []event.Event {
	size := func(name string) float64 { return freeSize(strings.ToUpper(e.Column(name))) }
	if e.Column("of") == "Mem" {
		t.memory = topMemory{size("total"), size("free") + size("buffers")}
		return dst
	}
	memory := t.memory
	t.memory = topMemory{}
	available := memory.free + size("cached") + size("cached Mem")
	if _, told := e.Field("avail Mem"); told {
		available = size("avail Mem")
	}
	if unit, _, named := strings.Cut(strings.TrimLeft(e.Raw, " "), "iB "); named && len(unit) == 1 {
		dst = addAvailableBytes(dst, available*freeSize("1"+unit), e)
	}
	return addAvailable(dst, available, memory.total, e)
}

// addAvailableBytes appends how much memory is available.
func addAvailableBytes(dst []event.Event, available float64, e *snapshots.Datum) []event.Event {
	return addFact(dst, facts.Node, "memory.available-bytes", strconv.FormatInt(int64(available), 10), e)
}

// addAvailable appends the share of the memory that is available.
func addAvailable(dst []event.Event, available, total float64, e *snapshots.Datum) []event.Event {
	if total <= 0 || available > total {
		return dst
	}
	return addFact(dst, facts.Node, "memory.available-percent", strconv.Itoa(int(available/total*100)), e)
}

// freeSize reads 24731708, 23Gi, 668Mi, 8.6M.
func freeSize(s string) float64 {
	number := strings.TrimRight(s, "BKMGTPi")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	for i, unit := range "KMGTP" {
		if strings.HasPrefix(s[len(number):], string(unit)) {
			for range i + 1 {
				n *= 1024
			}
		}
	}
	return n
}

// unitCounts counts the units of a listing by type: scopes and mounts that nobody removes make PID
// 1 slow.
type unitCounts struct {
	total, failed int
	byType        map[string]int
	types         map[string]bool
	inactive      bool // the listing has units that are not active, too: --all
}

// countedTypes are the types of units that leak.
var countedTypes = []string{"scope", "mount", "service", "device"}

func (u *unitCounts) countUnit(e *snapshots.Datum) {
	name, state := e.Column("UNIT"), e.Column("ACTIVE")
	if state == "failed" {
		u.failed++
	}
	u.inactive = u.inactive || state == "inactive"
	u.total++
	if u.byType == nil {
		u.byType, u.types = map[string]int{}, map[string]bool{}
	}
	kind := name[strings.LastIndexByte(name, '.')+1:]
	if len(u.types) < 2 {
		u.types[kind] = true
	}
	for _, t := range countedTypes {
		if t == kind {
			u.byType[kind]++
		}
	}
}

// finishListing adds the counts. A listing of failed units, or of those of one type, tells nothing
// of the others.
func (u *unitCounts) finishListing(dst []event.Event, header event.Quote, at event.Time) []event.Event {
	whole := len(u.types) > 1 && u.failed < u.total && !systemd.ListsSomeUnits(header.Pos.File)
	if u.failed > 0 && u.failed == u.total || whole {
		dst = facts.Append(dst, facts.Units, "systemd.units.failed", strconv.Itoa(u.failed), header)
	}
	for _, t := range countedTypes {
		if whole || u.types[t] && u.failed < u.total {
			dst = facts.Append(dst, facts.Units, "systemd.units."+t, strconv.Itoa(u.byType[t]), header)
		}
	}
	if !whole {
		return dst
	}
	dst = facts.Append(dst, facts.Units, "systemd.units", strconv.Itoa(u.total), header)
	of := facts.OfActiveUnits
	if u.inactive {
		of = facts.OfUnits
	}
	return append(dst, facts.NewReading(facts.Units, of, float64(u.total), at, header))
}

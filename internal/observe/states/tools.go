package states

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// toolListing is what the rows of one listing of systemctl list-jobs, busctl, chronyc sources,
// vmstat or iostat come to.
type toolListing struct {
	jobs, connections int
	sources           int               // servers of time
	followed          bool              // the clock follows one of them
	last              map[string]string // values of the last row, by their facts
	quote             event.Quote       // of that row
}

// lastFacts are columns of which the last row counts: vmstat's and iostat's first is an average
// since boot.
var lastFacts = map[string]string{
	"b": "node.uninterruptible", "wa": "cpu.iowait-percent", "%iowait": "cpu.iowait-percent", "st": "cpu.steal-percent", "%steal": "cpu.steal-percent",
}

// swapTraffic is what goes out to swap in a second and comes back, in KiB: the lesser of the two.
// What only goes out was not needed.
const swapTraffic = "memory.swap-traffic"

func (l *toolListing) takeRow(dst []event.Event, kind string, e *snapshots.Datum) []event.Event {
	switch kind {
	case "bus":
		if strings.HasPrefix(e.Column("NAME"), ":1.") { // well-known names have a connection of that kind, too
			l.connections++
		}
		return dst
	case "jobs":
		l.jobs++
		return appendJob(dst, e)
	case "sources":
		l.sources++
		l.followed = l.followed || strings.Contains("*o", e.Column("mark")) // o: one that ticks, of ntpd
		return dst
	}
	l.last, l.quote = map[string]string{}, e.Quote()
	for name, fact := range lastFacts {
		if v, ok := e.Field(name); ok {
			l.last[fact] = withPoint(v)
		}
	}
	in, err := strconv.Atoi(e.Column("si"))
	out, err2 := strconv.Atoi(e.Column("so"))
	if err == nil && err2 == nil {
		l.last[swapTraffic] = strconv.Itoa(min(in, out))
	}
	return dst
}

// appendJob is a row of systemctl list-jobs.
func appendJob(dst []event.Event, e *snapshots.Datum) []event.Event {
	unit, kind, state := e.Column("UNIT"), e.Column("TYPE"), e.Column("STATE")
	if len(dst) >= maxListed {
		return dst
	}
	job := event.Event{
		Kind: event.KindSystemdJob, Component: "systemd", Source: facts.Units, Text: "the job to " + kind + " " + unit + " is " + state,
		Fields:   []event.Field{event.FieldUnit.Text(unit), event.FieldType.Text(kind), event.FieldState.Text(state)},
		Evidence: []event.Quote{e.Quote()},
	}
	job.IDs.Container = scan.FindID(unit)
	return append(dst, job)
}

// finishListing adds what was counted.
func (l *toolListing) finishListing(dst []event.Event, kind string, header event.Quote) []event.Event {
	switch {
	case kind == "jobs":
		return facts.Append(dst, facts.Units, "systemd.jobs", strconv.Itoa(l.jobs), header)
	case kind == "sources" && l.followed:
		return facts.Append(dst, facts.Node, "clock.synchronized", "yes", header)
	case kind == "sources" && l.sources > 0:
		return facts.Append(dst, facts.Node, "clock.synchronized", "no", header)
	case kind == "bus" && l.connections > 0:
		return facts.Append(dst, facts.Node, "dbus.connections", strconv.Itoa(l.connections), header)
	}
	for _, fact := range [...]string{"node.uninterruptible", "cpu.iowait-percent", "cpu.steal-percent", swapTraffic} {
		if v := l.last[fact]; v != "" {
			dst = facts.Append(dst, facts.Node, fact, v, l.quote)
		}
	}
	return dst
}

// passingStates are those in which a container is for a moment only, or not at all when all is
// well: of docker ps, of crictl ps, of ctr task ls, of runc list.
var passingStates = []string{"Removal In Progress", "Dead", "Unknown", "UNKNOWN", "PAUSED", "PAUSING", "paused"}

// appendContainerState is a row of docker ps or of crictl that shows a container in such a state.
func appendContainerState(dst []event.Event, e *snapshots.Datum) []event.Event {
	state := e.Column("STATUS", "STATE")
	for _, s := range passingStates {
		if !strings.HasPrefix(state, s) {
			continue
		}
		id := e.Column("CONTAINER ID", "CONTAINER", "TASK", "ID")
		ev := event.Event{
			Kind: event.KindContainerState, Component: "node", Source: facts.Node, Text: "a listing shows container " + scan.Short(id) + " as " + s,
			Fields:   []event.Field{event.FieldState.Text(s), event.FieldName.Text(e.Column("NAMES", "NAME"))},
			Evidence: []event.Quote{e.Quote()},
		}
		ev.IDs.Container, ev.IDs.Sandbox = id, e.Column("POD ID")
		return append(dst, ev)
	}
	return dst
}

// From here on a device is busy, or slow: a disk that does what it is asked for answers within some
// tens of milliseconds.
const (
	busyPercent = 95
	slowAwait   = 200 // milliseconds
)

// decimal reads a number that sysstat prints.
func decimal(value string) (float64, error) { return strconv.ParseFloat(withPoint(value), 64) }

// withPoint writes a number with a point, for which many languages have a comma.
func withPoint(value string) string { return strings.Replace(value, ",", ".", 1) }

// appendDeviceLoad is a row of iostat -x or sar -d about a device that is busy or slow.
func appendDeviceLoad(dst []event.Event, e *snapshots.Datum) []event.Event {
	device := strings.TrimSuffix(e.Column("Device", "Device:", "DEV"), ":")
	util, err := decimal(e.Column("%util"))
	await := 0.0
	for _, name := range [...]string{"await", "r_await", "w_await", "f_await"} {
		if v, err := decimal(e.Column(name)); err == nil {
			await = max(await, v)
		}
	}
	if err != nil || device == "" || util < busyPercent && await < slowAwait || len(dst) >= maxListed {
		return dst
	}
	return append(dst, event.Event{
		Kind: event.KindDeviceLoad, Component: "node", Source: facts.Node,
		Text:     device + " is busy for " + withPoint(e.Column("%util")) + " % of the time; a request waits for up to " + strconv.FormatFloat(await, 'f', -1, 64) + " ms",
		Fields:   []event.Field{event.FieldDevice.Text(device), event.FieldUsedPercent.Number(util), event.FieldAwait.Number(await)},
		Evidence: []event.Quote{e.Quote()},
	})
}

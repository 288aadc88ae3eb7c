package states

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// processes reads a listing of ps. Of most processes it keeps nothing but their number; runtimes,
// shims, runc, CNI plugins, mount and umount become events, and so does every thread in state D or
// Z.
type processes struct {
	events           []event.Event
	ages             []time.Duration // of events; -1 where the listing does not say
	pids             map[int]bool
	rows             int
	last             processRow
	threads          int // by NLWP
	zombies, blocked int
	threaded         bool       // a row is a thread
	whole            bool       // the listing has PID 1
	self, youngest   event.Time // when ps was started, and the last of all
}

// maxPIDs bounds the processes that are told apart: the kernel's own limit.
const maxPIDs = 1 << 22

// processRow is what the columns of a row say, whatever ps was asked for.
type processRow struct {
	pid, tid    int
	state       string
	comm, args  string
	ppid, count string // of threads
	wchan       string
	started     event.Time
	age         time.Duration // -1 where no column says
}

// column is the value of the first of some columns that a row has.
func column(e *snapshots.Datum, names ...string) string {
	for _, name := range names {
		if v, ok := e.Field(name); ok {
			return v
		}
	}
	return ""
}

// readRow takes the columns of a row. Under ps -m the threads of a process stand below it and have
// no id.
func (p *processes) readRow(e *snapshots.Datum) processRow {
	r := processRow{
		state: strings.TrimLeft(column(e, "STAT", "S", "STATE"), "-"), ppid: column(e, "PPID"), count: column(e, "NLWP", "THCNT"),
		wchan: knownValue(column(e, "WCHAN")), started: startTime(column(e, "STARTED", "START", "STIME")),
		age: parseElapsed(column(e, "ELAPSED")),
	}
	var err error
	if r.pid, err = strconv.Atoi(column(e, "PID", "TGID")); err != nil {
		r.pid = p.last.pid
	}
	if r.tid, err = strconv.Atoi(column(e, "LWP", "TID", "SPID")); err != nil {
		r.tid = r.pid
	}
	last := e.Fields[len(e.Fields)-1]
	if r.args = last.Value; last.Key != "CMD" && last.Key != "COMMAND" && last.Key != "ARGS" {
		r.args = column(e, "ARGS", "CMD", "COMMAND", "COMM")
	}
	r.args = withoutTree(r.args)
	r.comm = commandName(e, r.args)
	if r.args == "-" {
		r.args, r.comm = p.last.args, p.last.comm
	}
	return r
}

// takeRow takes the row of a process or of a thread.
func (p *processes) takeRow(dst []event.Event, e *snapshots.Datum) []event.Event {
	r := p.readRow(e)
	first := p.countRow(&r)
	if first && (strings.HasPrefix(r.comm, "kubelet") || strings.Contains(r.args, "hyperkube kubelet")) {
		dst = addFlags(dst, r.args, e)
	}
	ev, told := processEvent(r.comm, r.args, first)
	switch {
	case strings.HasPrefix(r.state, "Z"):
		p.zombies++
		told = told || p.zombies <= maxZombies
	case strings.HasPrefix(r.state, "D"):
		p.blocked++
		told = true
	}
	if told && len(p.events) < maxListed {
		p.events, p.ages = append(p.events, r.completeEvent(ev, e)), append(p.ages, r.age)
	}
	return dst
}

// countRow notes a row; it says whether it is the first of its process.
func (p *processes) countRow(r *processRow) (first bool) {
	p.threaded = p.threaded || r.tid != r.pid || p.rows > 0 && r.pid == p.last.pid
	first = !p.pids[r.pid]
	if p.pids == nil {
		p.pids = map[int]bool{}
	}
	if len(p.pids) < maxPIDs {
		p.pids[r.pid] = true
	}
	if n, err := strconv.Atoi(r.count); err == nil && first {
		p.threads += n
	}
	if r.started.Known && r.started.T.After(p.youngest.T) {
		p.youngest = r.started
	}
	if r.comm == "ps" && r.started.Known {
		p.self = r.started
	}
	p.whole = p.whole || r.pid == 1
	p.last = *r
	p.rows++
	return first
}

// completeEvent finishes the event of a row.
func (r *processRow) completeEvent(ev event.Event, e *snapshots.Datum) event.Event {
	for _, f := range [...]event.Field{
		event.FieldState.Text(r.state), event.FieldWchan.Text(r.wchan), event.FieldArgs.Text(clipText(r.args)),
	} {
		if f.Value.Text() != "" {
			ev.AddFields(f)
		}
	}
	if ppid, err := strconv.Atoi(r.ppid); err == nil {
		ev.AddFields(event.FieldPPID.Int(ppid))
	}
	if r.age >= 0 {
		ev.AddFields(event.FieldAge.Duration(r.age))
	}
	ev.IDs.PID, ev.Start, ev.Source, ev.Evidence = r.pid, r.started, facts.Processes, []event.Quote{quoteOf(e)}
	if r.tid != r.pid {
		ev.IDs.TID = r.tid
	}
	if r.state != "" {
		ev.Text = inState(ev.Text, r.state[:1])
	}
	return ev
}

// inState words what a process does by the letter of its state; one that is stopped or dead does
// not run.
func inState(text, letter string) string {
	name := strings.TrimSuffix(text, " is running")
	switch letter {
	case "T":
		return name + " is stopped by a signal (state T)"
	case "t":
		return name + " is stopped by a debugger (state t)"
	case "Z":
		return name + " is a zombie (state Z)"
	}
	return text + ", state " + letter
}

// maxZombies bounds the zombies that are told one by one; all of them are counted.
const maxZombies = 100

// clipText bounds a command line in a field; the evidence has all of it.
func clipText(args string) string { return args[:min(len(args), 500)] }

// withoutTree takes off what ps f draws before the command of a child: |   \_ runc init.
func withoutTree(args string) string {
	if before, command, ok := strings.Cut(args, `\_ `); ok && strings.Trim(before, " |") == "" {
		return command
	}
	return args
}

// knownValue is a value of ps; - and ? stand for none.
func knownValue(s string) string {
	if s == "-" || s == "?" || s == "0" {
		return ""
	}
	return s
}

// commandName is the name of a process: its own column, else the base name of what was started,
// without the brackets of a kernel's thread.
func commandName(e *snapshots.Datum, args string) string {
	for i, f := range e.Fields[:len(e.Fields)-1] {
		if f.Key == "COMMAND" || f.Key == "COMM" || f.Key == "CMD" && i > 0 {
			return f.Value
		}
	}
	name, _, _ := strings.Cut(args, " ")
	name = strings.TrimRight(strings.TrimLeft(name, "["), "]:")
	if strings.HasPrefix(args, "[") { // [kworker/0:1]
		return name
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}

// daemons are processes that are told because of their age and state.
var daemons = []struct{ comm, component string }{
	{"containerd-shim", "shim"},
	{"docker-containerd-shim", "shim"},
	{"docker-containe", "containerd"},
	{"containerd", "containerd"},
	{"dockerd", "dockerd"},
	{"kubelet", "kubelet"},
	{"crio", "crio"},
	{"conmon", "shim"},
	{"umount", "process"},
	{"mount", "process"},
	{"fusermount", "process"},
	{"nsenter", "process"},
	{"dbus-daemon", "dbus"},
	{"systemd", "systemd"},
}

// processEvent says what a process is; told is false for one that matters only by its state. Only
// the first row of a process tells what it is.
func processEvent(comm, args string, first bool) (ev event.Event, told bool) {
	ev = event.Event{Kind: event.KindProcess, Component: "process", Text: comm + " is running"}
	if comm == "runc" || comm == "docker-runc" || strings.HasPrefix(args, "runc ") {
		ev, _ = messages.RuncCommand(args)
		return ev, first
	}
	if strings.Contains(args, "/opt/cni/bin/") {
		_, plugin, _ := strings.Cut(args, "/opt/cni/bin/")
		plugin, _, _ = strings.Cut(plugin, " ")
		return messages.CniEvent(plugin), first
	}
	ev.Fields = []event.Field{event.FieldComm.Text(comm)}
	for _, d := range daemons {
		if strings.HasPrefix(comm, d.comm) && (len(comm) == len(d.comm) || comm[len(d.comm)] == '-' || len(comm) == 15) {
			ev.Component = d.component
			if d.component == "shim" {
				ev.IDs.Container = shimContainer(args)
			}
			if strings.HasSuffix(d.comm, "containerd-shim") { // one name for all generations of it
				ev.Fields = []event.Field{event.FieldComm.Text("containerd-shim")}
			}
			return ev, first && (d.component != "systemd" || comm == "systemd")
		}
	}
	return ev, false
}

// shimContainer is the container or sandbox that a shim was started for: -id of v2, -workdir of v1,
// --id and -c of conmon.
func shimContainer(args string) string {
	words := strings.Fields(args)
	for i, w := range words {
		if (w == "-id" || w == "--id" || w == "-c" || w == "--cid") && i+1 < len(words) {
			return scan.ContainerID(words[i+1])
		}
	}
	return scan.FindID(args)
}

// startTime is when a process began, where ps says so to the second (lstart).
func startTime(s string) event.Time {
	if t, ok := stamp.Date(s); ok {
		return t
	}
	return event.Time{}
}

// parseElapsed reads etime ([[days-]hours:]minutes:seconds) and etimes (seconds); -1 when there is
// none.
func parseElapsed(s string) time.Duration {
	days, clock, ok := strings.Cut(s, "-")
	if !ok {
		days, clock = "0", s
	}
	total, err := strconv.ParseInt(days, 10, 32)
	if err != nil || s == "" {
		return -1
	}
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return -1
	}
	total *= 24 * 3600
	seconds := int64(0)
	for _, part := range parts {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 0 {
			return -1
		}
		seconds = seconds*60 + n
	}
	return time.Duration(total+seconds) * time.Second
}

// finishListing gives the events their times and adds what was counted. The listing was made when
// ps itself was started, or when the line before it says.
func (p *processes) finishListing(dst []event.Event, header event.Quote, at event.Time) []event.Event {
	if p.rows == 0 {
		return dst
	}
	if p.self.Known {
		at = p.self
	} else if !at.Known {
		at = p.youngest // it was there
	}
	for i := range p.events {
		e := &p.events[i]
		if e.Start.IsZero() && p.ages[i] >= 0 && at.Known {
			e.Start = at.Add(-p.ages[i])
		}
		if e.Start.Known && at.Known && e.Start.Lacks == at.Lacks && !at.T.Before(e.Start.T) {
			e.End, e.Open = at, true
		}
	}
	dst = append(dst, p.events...)
	if !p.whole {
		return dst // a part of the processes, as grep leaves it
	}
	dst = facts.Append(dst, facts.Processes, "node.processes", strconv.Itoa(len(p.pids)), header)
	dst = facts.Append(dst, facts.Processes, "node.zombies", strconv.Itoa(p.zombies), header)
	dst = facts.Append(dst, facts.Processes, "node.uninterruptible", strconv.Itoa(p.blocked), header)
	threads := p.threads
	if p.threaded {
		threads = p.rows
	}
	if !p.self.Known && at == p.youngest {
		at = event.Time{} // the listing is younger than that, nobody says how much
	}
	dst = append(dst, facts.Reading(facts.Processes, facts.OfProcesses, float64(len(p.pids)), at, header))
	if threads > 0 {
		dst = facts.Append(dst, facts.Processes, "node.threads", strconv.Itoa(threads), header)
		dst = append(dst, facts.Reading(facts.Processes, facts.OfThreads, float64(threads), at, header))
	}
	return dst
}

// Package processes knows what a listing of processes shows: runtimes, shims and runc, who is
// stopped, stuck in the kernel or not collected, and how many there are of all.
package processes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/children"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/kernelwait"
	"github.com/plegdiag/plegdiag/internal/observe/messages/tools"
	"github.com/plegdiag/plegdiag/internal/observe/realtime"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// Listing reads a listing of ps. Of most processes it keeps nothing but their number; runtimes,
// shims, runc, CNI plugins, mount and umount become events, and so does every thread in state D, T,
// t or Z, and every one in a wait of the kernel where nobody stands who has nothing to do.
type Listing struct {
	events           []event.Event
	ages             []time.Duration // of events; -1 where the listing does not say
	pids             map[int]bool
	children         children.Counts
	parents          []string // of sandboxes, which are shims
	realtime         realtime.CPUs
	inside           map[int]bool // shims, and what they have started in containers
	rows             int
	last             processRow
	threads          int // by NLWP
	zombies, blocked int
	stopped          int
	threaded         bool        // a row is a thread
	whole            bool        // the listing has PID 1
	Part             bool        // it leaves out others whatever it has: a screen of top, a tree
	self, youngest   event.Time  // when ps was started, and the last of all
	selfClock        string      // when ps, or what its output went through, was started, where that is no whole date: 18:22
	lastClock        string      // the latest time of day at which a process was started: 09:17
	tree             []int       // the latest process at each depth, as ps f draws them
	row              event.Quote // of the latest row
	first            bool        // it is the first of its process
	told             bool        // it made the latest of events
}

// maxTold bounds the events of one listing.
const maxTold = 5000

// maxPIDs bounds the processes that are told apart: the kernel's own limit.
const maxPIDs = 1 << 22

// processRow is what the columns of a row say, whatever ps was asked for.
type processRow struct {
	pid, tid    int
	state       string
	comm, args  string
	ppid, count string // of threads
	times       int    // such rows, where uniq has counted them; else 1
	wchan       string
	cgroup      string
	started     event.Time
	since       string        // the start as printed, where it is no whole date
	cpu         string        // percent of one CPU, now; of top alone, as ps has the mean since the start
	average     string        // percent of one CPU since the start; of ps and PID 1 alone
	cpuTime     time.Duration // taken since the start; of top and of PID 1
	age         time.Duration // -1 where no column says
}

// readRow takes the columns of a row. Under ps -m the threads of a process stand below it and have
// no id.
func (p *Listing) readRow(e *snapshots.Datum) processRow {
	r := processRow{
		state: strings.TrimLeft(e.Column("STAT", "S", "STATE"), "-"), ppid: e.Column("PPID"), count: e.Column("NLWP", "THCNT"),
		wchan: knownValue(e.Column("WCHAN")), started: startTime(e.Column("STARTED", "START", "STIME")),
		age: parseElapsed(e.Column("ELAPSED")), cgroup: knownValue(e.Column("CGROUP")),
	}
	r.times, _ = strconv.Atoi(cmp.Or(e.Column("COUNT"), "1"))
	if !r.started.Known && r.age < 0 {
		r.since = knownValue(e.Column("STARTED", "START", "STIME"))
	}
	pid, tid := e.Column("PID", "TGID"), e.Column("LWP", "TID", "SPID")
	var err error
	if r.tid, err = strconv.Atoi(tid); err == nil && pid == "" && r.tid != 1 {
		p.Part = true // top -H, which does not say whose the threads are
	} else if r.pid, err = strconv.Atoi(cmp.Or(pid, tid)); err != nil {
		r.pid = p.last.pid
	}
	if r.tid == 0 {
		r.tid = r.pid
	}
	if _, top := e.Field("TIME+"); top {
		p.Part = true // of as many rows as the terminal has
		r.cpu, r.cpuTime = strings.Replace(e.Column("%CPU", "CPU%"), ",", ".", 1), parseCPUTime(e.Column("TIME+"))
	} else if r.pid == 1 {
		r.average, r.cpuTime = e.Column("%CPU", "C"), parseCPUTime(e.Column("TIME"))
	}
	last := e.Fields[len(e.Fields)-1]
	if r.args = last.Value; last.Key != "CMD" && last.Key != "COMMAND" && last.Key != "ARGS" {
		r.args = e.Column("ARGS", "CMD", "COMMAND", "COMM")
	}
	if r.state == "" && strings.HasSuffix(r.args, "] <defunct>") { // ps -ef has no column of states
		r.state = "Z"
	}
	r.args = p.cutTree(&r)
	r.comm = commandName(e, r.args)
	if r.args == "-" {
		r.args, r.comm = p.last.args, p.last.comm
	}
	return r
}

// TakeRow takes the row of a process or of a thread.
func (p *Listing) TakeRow(dst []event.Event, e *snapshots.Datum) []event.Event {
	r := p.readRow(e)
	first := p.countRow(&r)
	if first && (strings.HasPrefix(r.comm, "kubelet") || strings.Contains(r.args, "hyperkube kubelet")) {
		dst = facts.AppendKubeletFlags(dst, r.args, e.Quote())
	}
	p.row, p.first = e.Quote(), first
	if first {
		p.children.Add(r.ppid, r.comm, p.row)
		if r.comm == "pause" && len(p.parents) < maxTold {
			p.parents = append(p.parents, r.ppid)
		}
	}
	p.realtime.Add(e.Column("CLS", "POL", "SCH"), e.Column("PSR", "P", "CPU"), e.Column("%CPU"), r.comm, p.row)
	p.told = p.addEvent(&r, e)
	return dst
}

// addEvent makes an event of a row that matters; it says whether it did.
func (p *Listing) addEvent(r *processRow, e *snapshots.Datum) bool {
	ev, told := NewEvent(r.comm, r.args, p.first)
	p.noteInside(r, ev.Component)
	told = told || slices.Contains(debuggers, r.comm) || kernelwait.IsNotable(kernelwait.OfCut(r.wchan)) || strings.HasPrefix(r.state, "D") || strings.HasPrefix(r.state, "Z") && p.zombies <= maxZombies
	if busy, err := strconv.ParseFloat(r.average, 64); err == nil && busy >= busyInit && (r.comm == "systemd" || r.comm == "init") {
		told = true
		ev.Component, ev.Text = "systemd", "systemd (PID 1) is running"
		ev.AddFields(event.FieldCPUAverage.Number(busy), event.FieldCPUTime.Duration(r.cpuTime))
	}
	if busy, err := strconv.ParseFloat(r.cpu, 64); err == nil && busy >= busyKswapd && strings.HasPrefix(r.comm, "kswapd") {
		told = true
		ev.Component, ev.Text = "kernel", r.comm+" is running"
	}
	if !told && isStopped(r.state) && p.stopped <= maxStopped {
		ev.Component = networkDaemon(r.comm)
		told = ev.Component != "process" || !p.isInside(r) // what a pod does with its own processes is its affair
	}
	if !told || len(p.events) >= maxTold {
		return false
	}
	p.events, p.ages = append(p.events, r.completeEvent(ev, e)), append(p.ages, r.age)
	return true
}

// debuggers hold the process that they are attached to until somebody tells them to let it go on.
// strace and its like let each thread go on at once.
var debuggers = []string{"gdb", "gdbserver", "dlv", "lldb", "lldb-server", "rr"}

// noteInside notes a shim, and what runs below one.
func (p *Listing) noteInside(r *processRow, component string) {
	ppid, err := strconv.Atoi(r.ppid)
	if component != "shim" && r.comm != "conmon" && (err != nil || !p.inside[ppid]) {
		return
	}
	if p.inside == nil {
		p.inside = map[int]bool{}
	}
	if len(p.inside) < maxPIDs {
		p.inside[r.pid] = true
	}
}

// isInside says that a process is one of a container, by its parents or by its cgroup.
func (p *Listing) isInside(r *processRow) bool {
	return p.inside[r.pid] || strings.Contains(r.cgroup, "kubepods") || scan.FindID(r.cgroup) != ""
}

// busyInit is what PID 1 takes of a CPU, in percent over its life, that is told: of a node that
// works it is below 1.
const busyInit = 30

// busyKswapd is what a thread that frees memory takes of a CPU, in percent, that is told.
const busyKswapd = 50

// isStopped tells the states of a process that a signal or a tracer has stopped.
func isStopped(state string) bool {
	return strings.HasPrefix(state, "T") || strings.HasPrefix(state, "t")
}

// leastWidth is that of the narrowest terminal that wraps a row of ps.
const leastWidth = 72

// ExtendRow takes a line that a terminal, or whoever pasted it, broke off the command of the row
// before it.
func (p *Listing) ExtendRow(e *snapshots.Datum) {
	row := p.row
	if p.rows == 0 || e.Pos.Line != row.Pos.Line+1 || len(row.Text) < leastWidth || e.Text == "" || e.Text[0] == ' ' {
		return
	}
	gap := ""
	if strings.HasSuffix(row.Text, " ") || e.Text[0] == '-' || e.Text[0] == '/' {
		gap = " "
	}
	r := p.last
	r.args += gap + e.Text
	p.last, p.row = r, e.Quote()
	if p.told { // again, with all of its command
		last := len(p.events) - 1
		quotes := p.events[last].Evidence
		p.events, p.ages = p.events[:last], p.ages[:last]
		if p.told = p.addEvent(&r, e); p.told {
			p.events[last].Evidence = append(quotes, e.Quote())
		}
	}
}

// countRow notes a row; it says whether it is the first of its process.
func (p *Listing) countRow(r *processRow) (first bool) {
	p.threaded = p.threaded || r.tid != r.pid || p.rows > 0 && r.pid == p.last.pid
	first = !p.pids[r.pid] && r.pid != 0
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
	if isClock(r.since) {
		p.lastClock = max(p.lastClock, r.since)
	}
	switch {
	case r.comm == "ps" && r.started.Known:
		p.self = r.started
	case r.comm == "ps" || strings.HasSuffix(r.comm, "grep"):
		p.selfClock = cmp.Or(r.since, p.selfClock)
	}
	switch {
	case strings.HasPrefix(r.state, "Z"):
		p.zombies += r.times
	case strings.HasPrefix(r.state, "D"):
		p.blocked += r.times
	case isStopped(r.state):
		p.stopped += r.times
	}
	p.whole = p.whole || r.pid == 1
	p.last = *r
	p.rows += r.times
	return first
}

// completeEvent finishes the event of a row.
func (r *processRow) completeEvent(ev event.Event, e *snapshots.Datum) event.Event {
	for _, f := range [...]event.Field{
		event.FieldState.Text(r.state), event.FieldWchan.Text(r.wchan), event.FieldWaits.Text(kernelwait.OfCut(r.wchan)),
		event.FieldArgs.Text(scan.Clip(r.args)), event.FieldSince.Text(r.since), event.FieldCgroup.Text(r.cgroup),
	} {
		if f.Value.Text() != "" {
			ev.AddFields(f)
		}
	}
	if ppid, err := strconv.Atoi(r.ppid); err == nil {
		ev.AddFields(event.FieldPPID.Int(ppid))
	}
	if percent, err := strconv.ParseFloat(r.cpu, 64); err == nil && percent >= 0 && percent < 1e6 {
		ev.AddFields(event.FieldCPUPercent.Number(percent))
		if percent >= wholeCPU {
			ev.Text += ", takes " + r.cpu + " % of a CPU"
		}
	}
	if r.cpuTime > 0 && r.average == "" {
		ev.AddFields(event.FieldCPUTime.Duration(r.cpuTime))
	}
	if r.age >= 0 {
		ev.AddFields(event.FieldAge.Duration(r.age))
	}
	ev.IDs.PID, ev.Start, ev.Source, ev.Evidence = r.pid, r.started, facts.Processes, []event.Quote{e.Quote()}
	if r.tid != r.pid {
		ev.IDs.TID = r.tid
	}
	if ev.IDs.Container == "" && ev.Component != "shim" { // a shim may run in the cgroup of its sandbox
		ev.IDs.Container = scan.FindID(r.cgroup)
	}
	if r.state != "" {
		ev.Text = inState(ev.Text, r.state[:1])
	}
	if r.wchan != "" && (strings.HasPrefix(r.state, "D") || kernelwait.IsNotable(kernelwait.OfCut(r.wchan))) {
		ev.Text += " in " + r.wchan
	}
	if r.times > 1 {
		ev.AddFields(event.FieldCount.Int(r.times))
		ev.Text += " (" + strconv.Itoa(r.times) + "×)"
	}
	return ev
}

// inState words what a process does by the letter of its state; one that is stopped, dead or stuck
// in the kernel does not run.
func inState(text, letter string) string {
	name, rest, _ := strings.Cut(text, " is running") // which says what it takes of a CPU, too
	switch letter {
	case "D":
		return name + " is in state D" + rest
	case "T":
		return name + " is stopped by a signal (state T)" + rest
	case "t":
		return name + " is stopped by a debugger (state t)" + rest
	case "Z":
		return name + " is a zombie (state Z)" + rest
	}
	return text + ", state " + letter
}

// maxZombies bounds the zombies that are told one by one; all of them are counted.
const maxZombies = 100

// maxStopped bounds the stopped processes that are told although they are no daemon's.
const maxStopped = 100

// networkDaemon is the component of a process by its name, where it is no runtime, shim or runc:
// cni for the daemons of network plugins, else process.
func networkDaemon(comm string) string {
	for _, name := range daemon.NetworkPlugins {
		if strings.HasPrefix(comm, name) {
			return "cni"
		}
	}
	return "process"
}

// cutTree takes off what ps f draws before the command of a child, four signs for each generation.
// The parent of a row is the latest process of the generation before:
//
//	|   \_ runc init
func (p *Listing) cutTree(r *processRow) (args string) {
	before, args, drawn := strings.Cut(r.args, `\_ `)
	if drawn = drawn && strings.Trim(before, " |") == ""; !drawn {
		before, args = "", r.args
	}
	depth := (len(before) + 3) / 4
	if drawn && r.ppid == "" && depth > 0 && depth <= len(p.tree) {
		r.ppid = strconv.Itoa(p.tree[depth-1])
	}
	p.tree = append(p.tree[:min(depth, len(p.tree))], r.pid)
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
			if name, whole := strings.CutPrefix(f.Value, "["); whole && strings.HasSuffix(name, "]") {
				return strings.TrimSuffix(name, "]") // it has no command line, or has no more
			}
			return f.Value
		}
	}
	name, _, _ := strings.Cut(args, " ")
	if strings.HasPrefix(name, "[") {
		name = strings.TrimRight(name[1:], "]:")
	}
	name = strings.TrimSuffix(name, ":")
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, ".") { // [kworker/0:1], and so without its brackets
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

// plugins are plugins of the CNI by whose names no other program goes, for listings that do not
// show where a program lies. A plugin is run without arguments.
var plugins = []string{
	"calico", "calico-ipam", "cilium-cni", "aws-cni", "azure-vnet", "azure-vnet-ipam", "host-local", "whereabouts",
}

// NewEvent says what a process is; told is false for one that matters only by its state. Only
// the first row of a process tells what it is.
func NewEvent(comm, args string, first bool) (ev event.Event, told bool) {
	ev = event.Event{Kind: event.KindProcess, Component: "process", Text: comm + " is running"}
	if comm == "runc" || comm == "docker-runc" || strings.HasPrefix(comm, "runc:[") || strings.HasPrefix(args, "runc ") {
		if strings.HasPrefix(comm, "runc:[") && !strings.HasSuffix(args, "init") {
			args = "runc init" // by the name that it gives itself
		}
		ev, _ = tools.RuncCommand(args)
		return ev, first
	}
	if ev, ok := wrappedRunc(args); ok {
		return ev, first
	}
	if strings.Contains(args, "/opt/cni/bin/") {
		_, plugin, _ := strings.Cut(args, "/opt/cni/bin/")
		plugin, _, _ = strings.Cut(plugin, " ")
		return tools.NewCNIProcess(plugin), first
	}
	if slices.Contains(plugins, comm) && !strings.Contains(args, " ") {
		return tools.NewCNIProcess(comm), first
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

// wrappedRunc is a script that stands in the place of runc: its interpreter is the process. It asks
// systemd for nothing itself; the runc that it starts is a process of its own.
//
//	/bin/sh /usr/local/sbin/runc --root /run/containerd/runc/k8s.io … create …
func wrappedRunc(args string) (ev event.Event, ok bool) {
	interpreter, command, _ := strings.Cut(args, " ")
	script, _, _ := strings.Cut(command, " ")
	if !strings.HasPrefix(interpreter, "/") || !strings.HasPrefix(script, "/") || !strings.HasSuffix(script, "/runc") {
		return ev, false
	}
	if ev, ok = tools.RuncCommand(command); !ok {
		return ev, false
	}
	ev.Fields = slices.DeleteFunc(ev.Fields, func(f event.Field) bool { return f.Key == event.FieldSystemdCgroup })
	ev.AddFields(event.FieldSystemdCgroup.Bool(false))
	ev.Text = strings.Replace(ev.Text, "runc ", "runc, a script of "+interpreter+", ", 1)
	return ev, true
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

// ByYoungest is the basis of the time of a listing that neither ps itself nor a line before it
// dates.
const ByYoungest = "the youngest process of the listing began then"

// shortLived are programs that run for one task: since when one runs is since when it is at it.
var shortLived = []string{"umount", "mount", "fusermount", "nsenter"}

// isStateAlone says that only the state of a process matters, as of a daemon that is stuck in the
// kernel: since when it has been in it a listing does not show.
func isStateAlone(e *event.Event) bool {
	if e.Component == "runc" || e.Component == "cni" || slices.Contains(shortLived, e.FieldText(event.FieldComm)) {
		return false
	}
	state := e.FieldText(event.FieldState)
	return state != "" && strings.Contains("DTtZ", state[:1]) || kernelwait.IsNotable(e.FieldText(event.FieldWaits))
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

// wholeCPU is what a thread takes, in percent, that does nothing else.
const wholeCPU = 90

// parseCPUTime is top's TIME+: minutes, seconds and hundredths, as 11:11.58 or 8385:29. 0 for
// anything else.
func parseCPUTime(s string) time.Duration {
	whole, _, _ := strings.Cut(s, ".")
	return max(0, parseElapsed(whole))
}

// ageByClock is how old a process is at least that began at a time of day, as ps prints it of what
// is younger than a day, when ps itself was started at the time clock.
func ageByClock(e *event.Event, clock string) (age time.Duration, ok bool) {
	since, err := time.Parse("15:04", e.FieldText(event.FieldSince))
	now, errNow := time.Parse("15:04", clock)
	if err != nil || errNow != nil {
		return 0, false
	}
	age = (now.Sub(since)+24*time.Hour)%(24*time.Hour) - time.Minute
	return age, age >= time.Minute
}

// isClock says that ps prints a start as a time of day: 09:17.
func isClock(since string) bool {
	_, err := time.Parse("15:04", since)
	return err == nil && len(since) == len("15:04")
}

// ageByDay is how old a process is at least whose start ps prints as a day or a year, Oct13, Oct 13
// or 2018: it began before the day on which ps ran, which is as old as the latest start that is
// printed as a time of day. ps aux prints the day from 24 hours on, ps -ef from midnight on
// (procps, pr_bsdstart and pr_stime). Where no start is a time of day, ps is taken to have run
// later than ten past midnight.
func ageByDay(e *event.Event, lastClock string) (age time.Duration, ok bool) {
	day := strings.ReplaceAll(e.FieldText(event.FieldSince), " ", "")
	if _, err := time.Parse("Jan2", day); err != nil {
		if _, err := time.Parse("2006", day); err != nil {
			return 0, false
		}
	}
	clock, err := time.Parse("15:04", cmp.Or(lastClock, "00:10"))
	age = time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute
	return age, err == nil && age > 0
}

// shims are the numbers of the shims of containerd in a listing, also of those that are seen only
// as parents. conmon is none: it has other locks.
func (p *Listing) shims() map[string]bool {
	all := map[string]bool{}
	for _, parent := range p.parents {
		all[parent] = true
	}
	for i := range p.events {
		if e := &p.events[i]; e.Component == "shim" {
			all[strconv.Itoa(e.IDs.PID)] = e.FieldText(event.FieldComm) != "conmon"
		}
	}
	return all
}

// isZombie says that a process has ended and waits for its parent to collect it: all of its threads
// have.
func isZombie(e *event.Event) bool {
	state := e.FieldText(event.FieldState)
	return strings.HasPrefix(state, "Z") && !strings.Contains(state, "l")
}

// leastZombies is from how many ended processes on a part of a listing tells of them: fewer
// somebody may be about to collect.
const leastZombies = 5

// appendUncollected adds how many processes of a part of a listing have ended, where they are many,
// and whose they are, where most have one parent.
func (p *Listing) appendUncollected(dst []event.Event, header event.Quote) []event.Event {
	if p.zombies < leastZombies {
		return dst
	}
	children, parent := map[string]int{}, ""
	for i := range p.events {
		ppid := p.events[i].FieldText(event.FieldPPID)
		if !isZombie(&p.events[i]) || ppid == "" || ppid == "1" {
			continue
		}
		if children[ppid]++; 2*children[ppid] > min(p.zombies, maxZombies) {
			parent, header = ppid, p.events[i].Evidence[0]
		}
	}
	if parent == "" {
		return facts.Append(dst, facts.Processes, "listed.zombies", strconv.Itoa(p.zombies), header)
	}
	name := "process " + parent
	for i := range p.events {
		if e := &p.events[i]; strconv.Itoa(e.IDs.PID) == parent {
			name = cmp.Or(e.FieldText(event.FieldComm), e.Component) + " (" + parent + ")"
		}
	}
	return facts.Append(dst, facts.Processes, "parent.zombies", name+" has not collected "+strconv.Itoa(children[parent]), header)
}

// Finish gives the events their times and adds what was counted. The listing was made when
// ps itself was started, or when the line before it says.
func (p *Listing) Finish(dst []event.Event, header event.Quote, at event.Time) []event.Event {
	if p.rows == 0 {
		return dst
	}
	basis := ""
	if p.self.Known {
		at = p.self
	} else if !at.Known || at.Lacks == p.youngest.Lacks && p.youngest.T.After(at.T) {
		at, basis = p.youngest, ByYoungest // it was there
	}
	shims := p.shims()
	for i := range p.events {
		e := &p.events[i]
		age, ok := ageByClock(e, p.selfClock)
		unreaped := isZombie(e) && shims[e.FieldText(event.FieldPPID)]
		if unreaped {
			e.AddFields(event.FieldUnreaped.Bool(true))
		}
		if !ok && (e.Component == "runc" || unreaped) { // of others it does not matter
			if age, ok = ageByDay(e, p.lastClock); ok {
				e.Text += ", since " + e.FieldText(event.FieldSince)
			}
		}
		if ok {
			e.AddFields(event.FieldAge.Duration(age))
		}
		if e.Start.IsZero() && p.ages[i] >= 0 && at.Known {
			e.Start = at.Add(-p.ages[i])
		}
		switch {
		case !e.Start.Known || !at.Known:
		case isStateAlone(e):
			e.Start, e.End, e.Begun, e.Open, e.Basis = at, at, true, true, basis
		case e.Start.Lacks == at.Lacks && !at.T.Before(e.Start.T):
			e.End, e.Open = at, true
		}
	}
	dst = p.realtime.AppendFact(p.children.AppendShimChildren(append(dst, p.events...), shims))
	if !p.whole || p.Part { // a part of the processes, as grep leaves it
		return p.appendUncollected(dst, header)
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
	dst = append(dst, facts.NewReading(facts.Processes, facts.OfProcesses, float64(len(p.pids)), at, header))
	if threads > 0 {
		dst = facts.Append(dst, facts.Processes, "node.threads", strconv.Itoa(threads), header)
		dst = append(dst, facts.NewReading(facts.Processes, facts.OfThreads, float64(threads), at, header))
	}
	return dst
}

package linux

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// oomKill is the line of mm/oom_kill.c, whatever stands before it:
//
//	Killed process 1422 (containerd) total-vm:1234kB, anon-rss:…                    (3.10, 4.x)
//	Out of memory: Kill process 1422 (containerd) score 980 or sacrifice child      (the line above it, ≤ 4.20)
//	Memory cgroup out of memory: Killed process 1422 (containerd) total-vm:…        (≥ 5.0)
func oomKill(r *event.Record) (event.Event, bool) {
	rest := scan.After(r.Raw, "Killed process ")
	if rest == "" && strings.Contains(r.Raw, " or sacrifice child") {
		rest = scan.After(r.Raw, "Kill process ")
	}
	pid := scan.Digits(rest)
	comm, ok := scan.Between(strings.TrimLeft(rest[len(pid):], ","), "(", ")")
	if pid == "" || !ok {
		return event.Event{}, false
	}
	if strings.HasPrefix(comm, "(") { // what systemd starts, before it is the program: (d-logind)
		comm += ")"
	}
	// The kubelet raises the score of every container without guaranteed memory; daemons of the node
	// have none or a lower one.
	score, _ := strconv.Atoi(scan.Digits(scan.After(rest, "oom_score_adj:")))
	e := killedForMemory(comm, pid, "", score > 0)
	e.AddNumber(event.FieldUID, scan.Digits(scan.After(rest, "UID:")))
	switch {
	case strings.Contains(r.Raw, "emory cgroup out of memory"):
		e.AddFields(event.FieldScope.Text("cgroup"))
	case strings.Contains(r.Raw, "Out of memory"):
		e.AddFields(event.FieldScope.Text("node"))
	}
	return e, true
}

// oomVictimChosen is the line above it, since 5.0 (dump_oom_summary):
//
//	oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=…,mems_allowed=0,oom_memcg=/kubepods/…,task_memcg=/kubepods/…,task=java,pid=4711,uid=0
//	oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/kubepods.sl      (a console cuts it)
//
// Whose memory was at its end stands before whom the kernel kills for it.
func oomVictimChosen(r *event.Record) (event.Event, bool) {
	text := scan.After(r.Raw, "oom-kill:constraint=")
	constraint, _, _ := strings.Cut(text, ",")
	field := func(name string) string {
		value, _, _ := strings.Cut(scan.After(text, ","+name+"="), ",")
		return strings.TrimRight(value, " \r")
	}
	comm, pid := field("task"), scan.Digits(field("pid"))
	scope := "node"
	if constraint == "CONSTRAINT_MEMCG" {
		scope = "cgroup"
	}
	if comm == "" || pid == "" {
		text := map[string]string{"node": "the node has no memory left, and the kernel kills for it", "cgroup": "a cgroup has no memory left, and the kernel kills for it"}[scope]
		return event.New(event.KindOutOfMemory, text, event.FieldScope.Text(scope)), constraint == "CONSTRAINT_NONE" || scope == "cgroup"
	}
	e := killedForMemory(comm, pid, field("task_memcg"), false)
	e.AddNumber(event.FieldUID, scan.Digits(field("uid")))
	e.AddFields(event.FieldScope.Text(scope))
	return e, true
}

// oomInvoked is the first line of all: it names the process that needed memory, which need not be
// the one that is killed for it:
//
//	runc:[2:INIT] invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), order=0, oom_score_adj=-998
//
// Or it found nobody whom it may kill, and of a whole node's memory it panics then:
//
//	Out of memory and no killable processes...
func oomInvoked(r *event.Record) (event.Event, bool) {
	if strings.Contains(r.Message(), "Out of memory and no killable processes") {
		return event.New(event.KindOutOfMemory, "no memory is left, and no process may be killed for it"), true
	}
	comm, _, found := strings.Cut(r.Message(), " invoked oom-killer: ")
	comm = comm[strings.LastIndexByte(comm, ' ')+1:]
	return event.New(event.KindOutOfMemory, comm+" needs memory that its cgroup or the node does not have", event.FieldComm.Text(comm)), found && comm != ""
}

// oomVictimLives is mm/oom_kill.c's word, since 4.6, on a process that was killed a second ago and
// still has its memory: it sleeps in the kernel, or waits for a lock that somebody holds who does.
//
//	oom_reaper: unable to reap pid:4242 (java)
func oomVictimLives(r *event.Record) (event.Event, bool) {
	rest := scan.After(r.Message(), "oom_reaper: unable to reap pid:")
	comm, ok := scan.Between(rest, "(", ")")
	e := event.New(event.KindOutOfMemory, "the kernel has killed "+comm+" for memory, and cannot take its memory away", event.FieldComm.Text(comm))
	e.IDs.PID, _ = strconv.Atoi(scan.Digits(rest))
	return e, ok && comm != ""
}

// killedForMemory is the event of a process that the kernel kills. That of a pod is no daemon of
// the node, whatever its name is.
func killedForMemory(comm, pid, cgroup string, ofPod bool) event.Event {
	e := event.New(event.KindOOMKill, "the kernel kills "+comm+" for memory", event.FieldComm.Text(comm))
	e.IDs.PID, _ = strconv.Atoi(pid)
	if cgroup != "" {
		e.AddFields(event.FieldCgroup.Text(cgroup))
		e.IDs.Container = scan.FindID(cgroup)
	}
	if ofPod || strings.Contains(cgroup, "kubepods") || e.IDs.Container != "" {
		e.AddFields(event.FieldOfPod.Bool(true))
		e.Text += ", in a container"
	} else if name := daemon.RuntimeOf(comm); daemon.IsRuntime(name) {
		e.AddFields(event.FieldRuntime.Text(name))
	}
	return e
}

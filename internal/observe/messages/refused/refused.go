// Package refused knows what any program of the node prints when the kernel refuses it something: a
// process, a cgroup, an access, room on a disk, a descriptor; when a layer on the disk is not
// there; and when Windows' service for containers does not answer. The words are Go's, glibc's, the
// kernel's or hcsshim's, whoever wrote the line.
package refused

import (
	"path"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Table is what any of the node's daemons, or a shell, prints when it gets no process or cgroup,
// may not do something, or has lost the bus. The words are those of Go, glibc or the kernel, not
// the daemon's.
var Table = table.Table{
	Relays:  []string{table.HostProgram},
	Unnamed: "node",
	Rows: []table.Row{
		{[]string{"fork/exec ", "pthread_create failed", "create new OS thread", "-thread limit", "crun: clone: "}, forkFailed},
		{[]string{"fork/exec ", ": fork: Cannot allocate memory", "ailed to fork: Cannot allocate memory"}, noMemory},
		{[]string{": fork: ", "Cannot fork", "CAN'T FORK", "ailed to fork", "unable to fork: "}, shellForkFailed},
		{cgroupMakers, cgroupFailed},
		{[]string{"dbus: connection closed by user"}, busClosed},
		{[]string{"avc:  denied", "avc: denied", " apparmor=", "SELinux is preventing "}, accessDenied},
		{literalsOfLayers(), layersDamaged},
		{computeCalls, hostCompute},
	},
}

// Append appends what a message of the kubelet, that an Event repeats, says of calls that the
// kernel refused.
func Append(dst []event.Event, message string, at event.Time, quotes []event.Quote) []event.Event {
	r := event.Record{Unit: "kubelet", Text: message, Raw: message, Time: at, Wanted: true}
	for _, t := range []*table.Table{&Table, &Limits} {
		for _, row := range t.Rows {
			if !scan.ContainsAny(message, row.Literals) {
				continue
			}
			if e, ok := row.Observe(&r); ok {
				e.Source = facts.Kubernetes
				table.Complete(&e, &r, "kubelet")
				e.Evidence, e.Level = quotes, event.Warning
				dst = append(dst, e)
			}
		}
	}
	return dst
}

// forkFailed is EAGAIN of clone(2): a limit of processes or threads is reached.
//
//	fork/exec /usr/bin/containerd-shim-runc-v2: resource temporarily unavailable    (os/exec)
//	runtime/cgo: pthread_create failed: Resource temporarily unavailable            (runtime/cgo; the process aborts)
//	runtime/cgo: pthread_create failed: No space left on device                     (seen beside 20 000 zombies)
//	runtime: failed to create new OS thread (have 12 already; errno=11)             (runtime/os_linux.go; it aborts)
//	runtime: program exceeds 10000-thread limit                                     (runtime/proc.go; it aborts)
//	Container creation error: crun: clone: Resource temporarily unavailable         (crun)
func forkFailed(r *event.Record) (event.Event, bool) {
	e := event.Event{Kind: event.KindForkFailed}
	if crash.IsOfThread(strings.TrimLeft(r.Message(), " ")) {
		e.Fields = []event.Field{event.FieldFatal.Bool(true)}
		e.Text = "no thread can be made, the process aborts"
		return e, true
	}
	inside := scan.ContainsAny(r.Raw, insideContainer)
	if strings.Contains(r.Raw, "failed to create new OS thread (") && strings.Contains(r.Raw, "; errno=11)") { // of a child whose words somebody repeats
		e.Fields, e.Text = []event.Field{event.FieldFatal.Bool(false)}, "a child could make no thread"
		return e, !inside
	}
	before, why, ok := strings.Cut(r.Raw, "pthread_create failed: ")
	if ok && (strings.HasPrefix(why, "Resource temporarily unavailable") || strings.HasPrefix(why, "No space left on device")) {
		e.Fields, e.Text = []event.Field{event.FieldFatal.Bool(false)}, "a child could make no thread"
		if scan.ContainsAny(before, []string{"OCI runtime ", "runc did not terminate s"}) { // what runc printed as it ended
			e.Component, e.Text = "runc", "runc could make no thread"
			if speaker := daemon.Component(r.Unit, r.Pos.File); speaker != "" {
				e.Source = event.LogOf(speaker)
			}
		}
		return e, !inside
	}
	if strings.Contains(r.Raw, "crun: clone: Resource temporarily unavailable") {
		return event.New(
			event.KindForkFailed, "crun can make no process", event.FieldProgram.Text("crun"), event.FieldFatal.Bool(false),
		), true
	}
	program, rest, ok := strings.Cut(scan.After(r.Raw, "fork/exec "), ": ")
	if !ok || strings.ContainsAny(program, " \t\"") || !strings.HasPrefix(rest, "resource temporarily unavailable") ||
		inside && !scan.ContainsAny(program, []string{"runc", "containerd-shim", "/proc/self/exe", "crun"}) {
		return event.Event{}, false
	}
	e.Fields = []event.Field{event.FieldProgram.Text(program), event.FieldFatal.Bool(false)}
	e.Text = "cannot start " + program + ": no more processes may be made"
	return e, true
}

// noMemory is ENOMEM of clone(2) or execve(2): the kernel has no memory for it, or has promised all
// of it (vm.overcommit_memory=2):
//
//	failed to start shim: fork/exec /usr/bin/containerd-shim: cannot allocate memory: unknown
//	-bash: fork: Cannot allocate memory
func noMemory(r *event.Record) (event.Event, bool) {
	program, rest, ok := strings.Cut(scan.After(r.Raw, "fork/exec "), ": ")
	refused := ok && !strings.ContainsAny(program, " \t\"") && strings.HasPrefix(rest, "cannot allocate memory")
	if unit, _, found := strings.Cut(r.Message(), ": Failed to fork: Cannot allocate memory"); found { // systemd
		program, refused = unit, !strings.Contains(unit, " ")
	}
	if shell, _, found := strings.Cut(r.Message(), ": fork: Cannot allocate memory"); found {
		program, refused = strings.TrimLeft(shell, "-"), !strings.Contains(shell, " ")
	}
	return event.New(
		event.KindNoMemory, "the kernel has no memory to start "+program, event.FieldProgram.Text(program),
	), refused && !scan.ContainsAny(r.Raw, insideContainer)
}

// shellForkFailed is a shell, or what starts programs for others, that can make no process. For Go
// programs this is forkFailed:
//
//	bash: fork: retry: Resource temporarily unavailable      (also: No child processes)
//	sh: 1: Cannot fork                                       (dash)
//	sshd[411]: error: fork: Resource temporarily unavailable
//	CRON[33]: (CRON) CAN'T FORK (do_command): Resource temporarily unavailable
//	systemd[1]: kubelet.service: Failed to fork: Resource temporarily unavailable
func shellForkFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	dash := strings.HasSuffix(strings.TrimSpace(text), ": Cannot fork")
	if !dash && !scan.ContainsAny(text, []string{"esource temporarily unavailable", "No child processes"}) {
		return event.Event{}, false
	}
	who := r.Unit
	if shell, _, ok := strings.Cut(text, ": "); ok && who == "" && !strings.Contains(shell, " ") {
		who = strings.TrimLeft(shell, "-")
	}
	e := event.New(event.KindForkFailed, who+" can start no process", event.FieldFatal.Bool(false))
	e.AddText(event.FieldComm, who)
	return e, who != "" && !scan.ContainsAny(r.Raw, insideContainer)
}

// insideContainer are words of errors about a process that was started in a container: there the
// pod's own limits hold, and nobody else meets them. The runtime that starts it still runs on the
// node.
var insideContainer = []string{
	"exec failed", "ExecSync", "failed to exec in container", "robe for ", "robe failed", "robe errored", "hook failed",
	"container_linux.go", "process_linux.go", "starting container process", "container init",
}

// cgroupMakers stand before the path of a cgroup that could not be made.
var cgroupMakers = []string{
	"mkdir /sys/fs/cgroup/", "mkdir: /sys/fs/cgroup/", "mkdir: cannot create directory ‘/sys/fs/cgroup/", "mkdir: cannot create directory '/sys/fs/cgroup/",
}

// cgroupFailed is the kernel refusing a cgroup:
//
//	mkdir /sys/fs/cgroup/memory/kubepods/besteffort/pod98211fca-…: cannot allocate memory
//	mkdir /sys/fs/cgroup/memory/kubepods.slice/…: no space left on device
//	mkdir /sys/fs/cgroup/pids/kubepods.slice/…: read-only file system      (somebody has mounted it so)
//	mkdir: cannot create directory ‘/sys/fs/cgroup/memory/x’: Cannot allocate memory      (in a shell)
func cgroupFailed(r *event.Record) (event.Event, bool) {
	path, rest, ok := strings.Cut(scan.After(r.Raw, cgroupMakers...), ": ")
	path, rest = strings.TrimRight(path, "'’"), strings.ToLower(rest[:min(len(rest), 40)])
	controller, _, named := strings.Cut(path, "/")
	e := event.Event{Kind: event.KindCgroupFailed}
	for _, reason := range []string{"cannot allocate memory", "no space left on device", "read-only file system"} {
		if ok && named && !strings.ContainsAny(path, " \"") && strings.HasPrefix(rest, reason) {
			e.Fields = []event.Field{event.FieldController.Text(controller), event.FieldError.Text(reason)}
			e.Text = "no " + controller + " cgroup can be made: " + reason
			return e, true
		}
	}
	return event.Event{}, false
}

// busClosed is a daemon whose connection to the bus was closed, as by a restart of the bus, and
// that opens no other (godbus' ErrClosed; libcontainer's one connection per process):
//
//	failed to create container for [kubepods burstable pod…] : dbus: connection closed by user
func busClosed(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindBusUnreachable, "its connection to the bus was closed, and it opens no other")
	e.Fields = []event.Field{
		event.FieldError.Text("connection closed by user"), event.FieldRunc.Bool(false), event.FieldAgain.Bool(false),
		event.FieldOnContainer.Bool(table.AboutContainer(r)),
	}
	return e, true
}

// startedProgram is the daemon that a child of systemd is about to become, as containerd: until
// then it bears the end of the name in parentheses, "(ntainerd)" (rename_process_from_path of
// systemd). Empty for any other process.
func startedProgram(line, comm string) string {
	end := strings.TrimSuffix(strings.TrimPrefix(comm, "("), ")")
	if len(comm) != len(end)+2 {
		return ""
	}
	for _, key := range []string{` path="`, ` name="`} {
		file, _ := scan.Between(line, key, `"`)
		if program := path.Base(file); strings.HasSuffix(program, end) && daemon.Writer(program) != "" {
			return program
		}
	}
	return ""
}

// accessDenied is what a security module of the kernel forbade a daemon of the node; what it
// forbids containers is their own affair. The line is the kernel's, or that of auditd or of
// journald's audit:
//
//	AVC avc:  denied  { setsched } for  pid=1 comm="systemd" scontext=system_u:system_r:init_t:s0 tcontext=…
//	audit: type=1400 audit(1594.1:7): apparmor="DENIED" operation="signal" profile="docker-default" pid=7 comm="runc" … signal=kill peer="runc"
//	SELinux is preventing /usr/bin/runc from entrypoint access on the file /pause.      (setroubleshoot)
func accessDenied(r *event.Record) (event.Event, bool) {
	comm, _ := scan.Between(r.Raw, ` comm="`, `"`)
	by, what := "apparmor", ""
	if rest := scan.After(r.Raw, "SELinux is preventing "); rest != "" {
		by = "selinux"
		comm = path.Base(scan.FirstWord(rest))
		what, _ = scan.Between(rest, " from ", " access")
	} else if rest := scan.After(r.Raw, "denied  { ", "denied { "); rest != "" {
		by = "selinux"
		what, _, _ = strings.Cut(rest, " }")
	} else if strings.Contains(r.Raw, `apparmor="DENIED"`) {
		what, _ = scan.Between(r.Raw, ` operation="`, `"`)
		if what == "signal" && strings.Contains(r.Raw, " signal=kill") {
			what = "sigkill" // as SELinux calls it
		}
	}
	permissive := strings.Contains(r.Raw, "permissive=1")
	text := by + " forbids " + comm + " " + what
	if program := startedProgram(r.Raw, comm); program != "" {
		comm, text = program, by+" does not let systemd start "+program+": "+what
	}
	return event.New(
		event.KindDenied, text, event.FieldComm.Text(comm), event.FieldBy.Text(by), event.FieldWhat.Text(what),
	), comm != "" && what != "" && !permissive && (comm == "systemd" || daemon.Writer(comm) != "" || strings.HasPrefix(comm, "runc") || comm == "conmon")
}

package tools

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Listings is processes in lines that have no header, because somebody pasted a few of them: one
// process a line, whatever stands before its command. Listings with a header are read by processes.
var Listings = table.Table{
	Component: "node",
	Rows: []table.Row{
		{[]string{"runc --root", "runc --log", "runc --systemd-cgroup", "runc --debug"}, runcProcess},
		{[]string{"runc init", "runc:[2:INIT]", "runc:[1:CHILD]", "/proc/self/exe init"}, runcInit},
		{[]string{"/opt/cni/bin/"}, cniProcess},
		{[]string{" GNU/Linux"}, unameMachine},
		{scan.WithDigit("memory\t", ""), memoryCgroups},
		{cookieDates, udevCookie},
		{[]string{" semaphores with keys prefixed by "}, udevCookiesEnded},
		{[]string{"containerd-shim"}, shimProcess},
	},
}

// runcVerbs are runc's commands that talk to the kernel or to systemd; "init" is the container's
// own side.
var runcVerbs = []string{"create", "start", "run", "update", "delete", "kill", "exec", "events", "state", "pause", "resume"}

// runcProcess is a runc that was alive when the listing was made:
//
//	20713 runc --root /var/run/docker/runtime-runc/moby --log … --systemd-cgroup create --bundle … <id>
func runcProcess(r *event.Record) (event.Event, bool) {
	before, command, ok := strings.Cut(r.Message(), "runc --")
	if !ok {
		return event.Event{}, false
	}
	e, ok := RuncCommand("runc --" + command)
	e.IDs.PID = firstNumber(before, 1)
	return e, ok
}

// isSystemdCgroupFlag is runc's choice of the systemd cgroup driver.
func isSystemdCgroupFlag(word string) bool {
	return word == "--systemd-cgroup" || word == "--systemd-cgroup=true"
}

// runcInit is the container's own side of runc, with what ps shows of its sleep;
// between create and start it is there for a moment, waiting for exec.fifo.
//
//	5 D root      14378  13862  0  80   0 - 269979 refrig Sep30 ?       00:00:00 /usr/local/bin/runc init     (ps -elf)
//	14378 14378 13862 Ds   __refrigerator   runc:[2:INIT]   runc init                                         (ps -eLo …,wchan:32)
//	root        329  0.0  0.0 126772  9812 ?        Dsl  00:36   0:00 /proc/self/exe init                     (ps aux, an old runc)
func runcInit(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if scan.ContainsAny(text, []string{"grep ", "INFO: task", "task:", "pid="}) {
		return event.Event{}, false
	}
	e := event.Event{Kind: event.KindProcess, Component: "runc", Source: facts.Processes, Text: "runc init is there"}
	state, wchan := "", ""
	for w := range strings.FieldsSeq(text) {
		switch {
		case state == "" && isProcessState(w):
			state = w[:1]
		case wchan == "" && isWaitChannel(w):
			wchan = w
		}
	}
	e.IDs.PID = firstNumber(text, 100) // smaller ones are flags and priorities
	e.Fields = []event.Field{
		event.FieldComm.Text("runc"), event.FieldVerb.Text("init"), event.FieldState.Text(state),
		event.FieldWchan.Text(wchan),
	}
	if wchan != "" {
		e.Text = "runc init sleeps in " + wchan
	}
	return e, e.IDs.PID != 0 && (state != "" || wchan != "")
}

// isWaitChannel tells the WCHAN column of ps: a function of the kernel, which ps cuts at 6
// letters unless told otherwise.
func isWaitChannel(w string) bool {
	for i := range len(w) {
		if !scan.IsWord(w[i]) || 'A' <= w[i] && w[i] <= 'Z' {
			return false
		}
	}
	return strings.Contains(w, "_") || w == "refrig"
}

// isProcessState tells the STAT column of ps: "D", "Ssl", "R+".
func isProcessState(w string) bool {
	return strings.ContainsAny(w[:1], "DRSTtZI") && strings.Trim(w[1:], "sl+<NL") == ""
}

// cniProcess is a CNI plugin that was alive when the listing was made.
func cniProcess(r *event.Record) (event.Event, bool) {
	before, plugin, _ := strings.Cut(r.Message(), "/opt/cni/bin/")
	if i := strings.IndexAny(plugin, " \t"); i >= 0 {
		plugin = plugin[:i]
	}
	e := NewCNIProcess(plugin)
	e.IDs.PID = firstNumber(before, 1) // a listing of the directory has none
	return e, plugin != "" && e.IDs.PID != 0 && !strings.HasPrefix(strings.TrimLeft(before, " "), "-rw")
}

// shimProcess is a shim that was alive when the listing was made. Its id is that
// of the sandbox, under dockerd that of the container:
//
//	24310 /usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id <id> -address /run/containerd/containerd.sock
//	24310 docker-containerd-shim -namespace moby -workdir /var/lib/docker/containerd/daemon/io.containerd.runtime.v1.linux/moby/<id> -address …
func shimProcess(r *event.Record) (event.Event, bool) {
	before, command, ok := strings.Cut(r.Message(), "containerd-shim")
	if !ok || !strings.Contains(command, " -namespace ") {
		return event.Event{}, false
	}
	e := event.Event{
		Kind: event.KindProcess, Component: "shim", Source: facts.Processes,
		Fields: []event.Field{event.FieldComm.Text("containerd-shim")},
	}
	dir, _, _ := strings.Cut(scan.After(command, " -workdir "), " ")
	e.IDs.Container = cmp.Or(scan.ContainerID(scan.After(command, " -id ")), scan.ContainerID(path.Base(dir)))
	e.IDs.PID = firstNumber(before, 1)
	e.Text = "the shim of " + scan.Short(e.IDs.Container) + " is running"
	return e, e.IDs.Container != "" && e.IDs.PID != 0
}

// treeMarks are what systemd-cgls and systemctl status draw before a process.
const treeMarks = "├└─│|`"

// firstNumber is the first word of s that is a number of at least that size: the pid in every
// listing that names it before the command. 0 when there is none.
func firstNumber(s string, least int) int {
	for w := range strings.FieldsSeq(s) {
		if n, err := strconv.Atoi(strings.TrimLeft(w, treeMarks)); err == nil && n >= least {
			return n
		}
	}
	return 0
}

// unameMachine is what uname -a printed: "Linux node-1 5.10.0-8-amd64 #1 SMP Debian … x86_64
// GNU/Linux".
func unameMachine(r *event.Record) (event.Event, bool) {
	before, ok := strings.CutSuffix(strings.TrimSpace(r.Message()), " GNU/Linux")
	words := strings.Fields(before)
	if !ok || len(words) < 5 || words[0] != "Linux" {
		return event.Event{}, false
	}
	return facts.New(facts.Machine, words[len(words)-1])
}

// memoryCgroups is a row of /proc/cgroups: subsystem, hierarchy, number of cgroups, enabled.
func memoryCgroups(r *event.Record) (event.Event, bool) {
	words := strings.Split(r.Raw, "\t")
	if len(words) != 4 || words[0] != "memory" {
		return event.Event{}, false
	}
	if _, err := strconv.Atoi(words[2]); err != nil {
		return event.Event{}, false
	}
	if words[3] == "0" {
		words[2] = "disabled"
	}
	e, ok := facts.New("kernel.memory-cgroups", words[2])
	e.Source = "node"
	return e, ok
}

// RuncCommand reads runc's command line:
//
//	runc --root /var/run/docker/runtime-runc/moby --log … --systemd-cgroup create --bundle … <id>
func RuncCommand(args string) (event.Event, bool) {
	words := strings.Fields(args)
	verb := ""
	e := event.Event{
		Kind: event.KindProcess, Component: "runc", Source: facts.Processes, Text: "runc is running",
		Fields: []event.Field{event.FieldComm.Text("runc")},
	}
	var rest []string // what follows the verb
	for i, w := range words {
		if i > 0 && (slices.Contains(runcVerbs, w) || w == "init" && i == 1) {
			verb, rest = w, words[i+1:]
			break
		}
	}
	if verb == "" {
		return e, false // its command line is not there
	}
	e.Text = "runc " + verb + " is running"
	e.AddFields(event.FieldVerb.Text(verb))
	// Of init the command line shows no more. CRI-O gives the flag to create alone, and runc knows it
	// of the container: runc --root /run/runc update --resources - <id>
	asked := slices.ContainsFunc(words, isSystemdCgroupFlag)
	if verb != "init" && (asked || verb == "create" || !runsForCRIO(words)) {
		e.AddFields(event.FieldSystemdCgroup.Bool(asked))
	}
	for _, w := range slices.Backward(rest) { // kill has the signal behind the id
		if e.IDs.Container = scan.ContainerID(w); e.IDs.Container != "" {
			break
		}
	}
	return e, true
}

// runsForCRIO says that a command line of runc can be CRI-O's (1.34): before the verb stands --root
// alone, while containerd and docker name a log there, too.
func runsForCRIO(words []string) bool {
	return len(words) > 3 && words[1] == "--root" && slices.Contains(runcVerbs, words[3])
}

// NewCNIProcess is a CNI plugin that was alive when the listing was made.
func NewCNIProcess(plugin string) event.Event {
	e := event.Event{
		Kind: event.KindProcess, Component: "cni", Source: facts.Processes,
		Text: "CNI plugin " + plugin + " is running",
	}
	e.Fields = []event.Field{event.FieldComm.Text("cni"), event.FieldPlugin.Text(plugin)}
	return e
}

// cookieDates stand behind a value of one digit, which fills ten columns.
var cookieDates = []string{
	"          Mon ", "          Tue ", "          Wed ", "          Thu ", "          Fri ", "          Sat ", "          Sun ",
}

// udevCookie is a row of dmsetup udevcookies: a semaphore that device-mapper's user waits for until
// udev's rules complete it. A cookie begins with libdm's DM_COOKIE_MAGIC, 0x0D4D.
//
//	0xd4db2de    11730944   1          Tue May 19 17:55:18 2015  Tue May 19 17:55:18 2015
func udevCookie(r *event.Record) (event.Event, bool) {
	words := strings.Fields(r.Message())
	if len(words) < 3 || !strings.HasPrefix(words[0], "0xd4d") {
		return event.Event{}, false
	}
	value, err := strconv.Atoi(words[2])
	return event.Event{
		Kind: event.KindUdevCookie, Component: "udev", Source: "udevcookies",
		Fields: []event.Field{
			event.FieldCookie.Text(words[0]), event.FieldValue.Int(value),
		}, Text: "cookie " + words[0] + " is not complete",
	}, err == nil && value > 0
}

// udevCookiesEnded is what dmsetup udevcomplete_all says of the cookies that it has completed, in
// place of the rules that should have:
//
//	2 semaphores with keys prefixed by 3405 (0xd4d) destroyed. 0 skipped.
func udevCookiesEnded(r *event.Record) (event.Event, bool) {
	before, rest, ok := strings.Cut(r.Message(), " semaphores with keys prefixed by 3405 (0xd4d)")
	ended, err := strconv.Atoi(before[strings.LastIndexByte(before, ' ')+1:])
	return event.Event{
		Kind: event.KindUdevCookie, Component: "udev", Source: "udevcookies",
		Fields: []event.Field{event.FieldValue.Int(ended)},
		Text:   strconv.Itoa(ended) + " cookies were not complete, until dmsetup completed them",
	}, ok && err == nil && ended > 0 && strings.HasPrefix(rest, " destroyed")
}

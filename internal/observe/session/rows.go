package session

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
)

// rows are lines that only the command tells the meaning of which printed them: most of these
// commands are those that a report asks for. Make makes the event of such a line; ok is false where
// it tells of a node that works.
var rows = []struct {
	asks func(command string) bool
	row  *regexp.Regexp
	make func(command string, m []string, quotes []event.Quote) (e event.Event, ok bool)
}{
	// "1234 containerd 1048569 of 1048576": 1 the name, 2 its open files, 3 their limit
	{asksFor("Max open files"), regexp.MustCompile(`^[1-9]\d{0,6} ([A-Za-z][\w.-]{1,14}) (\d{1,9}) of (\d{1,9})$`), manyOpenFiles},
	// "0b1c2d3e4f50 does not answer", "0b1c2d3e4f50 rc=124", of a loop that asks one by one: 1 the id
	{asksFor(""), regexp.MustCompile(`^([0-9a-f]{12,64})(?:: | )(?:` + endedInTime + `|(?:rc|exit|status|exit status)[=: ]*124)$`), silentObject},
	// "0b1c2d3e4f50 124" of a loop that prints the status of timeout: 1 the id
	{asksFor("timeout ", "$?"), regexp.MustCompile(`^([0-9a-f]{12,64}):? 124$`), silentObject},
	// "124 0b1c2d3e4f50" of a loop that prints the status of timeout first: 1 the id
	{asksFor("timeout "), regexp.MustCompile(`^124[ :]+([0-9a-f]{12,64})$`), silentObject},
	// "/var/lib/kubelet/pods/…/reports  rc=137": 1 the path, of a command that timeout has ended
	{asksFor("timeout "), regexp.MustCompile(`^(/\S{1,300}?)[: ]+(?:` + endedInTime + `|(?:rc|exit|status|exit status)[=: ]*(?:124|137))$`), silentPath},
	// "2201 ds_am State: T (stopped) do_signal_stop": 1 the pid, 2 the name, 3 the state
	{asksFor("fanotify", "fdinfo"), regexp.MustCompile(`^([1-9]\d{0,6}) (\S.{0,14}?) State:\s+([TtD]) \([a-z ]+\)`), mutedListener},
	// "communications error to 10.99.0.2#53: timed out" of dig, nslookup and host
	{asksResolver, regexp.MustCompile(`^;; (?:no servers could be reached|connection timed out; no servers could be reached|communications error to \S+: timed out)$`), silentResolver},
	// "Ncat: TIMEOUT.", and "000 0.000000 Connection timed out" of curl -w '%{http_code}
	// %{time_connect} %{errormsg}': 1 the reason
	{asksAPIServer, regexp.MustCompile(`^(?:Ncat: |000 \d+\.\d+ )((?:TIMEOUT|Connection timed out|No route to host|Failed to connect|Connection refused).*)$`), silentAPIServer},
	// "u_str LISTEN 0 4096 /run/docker.sock 20412 * 0 users:(("dockerd",pid=1341,fd=10))":
	// 1 the path, 2 the name, 3 the pid; awk leaves less of it
	{asksFor("ss "), regexp.MustCompile(`^u_str +LISTEN +(?:\d+ +\d+ +)?(/\S+) .*users:\(\("([^"]{1,15})",pid=(\d{1,7}),`), listeningSocket},
	// "dockerd 9077 root 8u unix 0xffff9d1c 0t0 60118 /run/docker.sock type=STREAM (LISTEN)" of lsof,
	// which said neither type nor state before 4.89: 1 the name, 2 the pid, 3 the path
	{asksFor("lsof "), regexp.MustCompile(`^([A-Za-z][\w.-]{0,14}) +(\d{1,7}) +\S+ +\d+[rwu]? +unix +0x[0-9a-f]+ +0t0 +\d+ (/\S+)(?: type=STREAM(?: \(LISTEN\))?)?$`), openSocket},
	// "2113.402 (4120.771 ms): containerd/1190 fdatasync(fd: 8</var/lib/…/meta.db>) = 0" of perf:
	// 1 the milliseconds, 2 the name, 3 the thread, 4 the path
	{asksFor("perf trace"), regexp.MustCompile(`^ *\d+\.\d+ \( *(\d+\.\d+) ms\): ([^/]{1,15})/(\d{1,7}) f(?:data)?sync\(fd: \d+<([^>]+)>`), slowSync(1, 2, 3, 4)},
	// "13:07:21 containerd 1010 S 0 0 17210.92 meta.db" of ext4slower and its like: 1 the name, 2 the
	// pid, 3 the milliseconds, 4 the file
	{asksFor("slower"), regexp.MustCompile(`^\d\d:\d\d:\d\d +(\S.{0,14}?) +(\d{1,7}) +S +\d+ +\d+ +(\d+\.\d+) (\S.*)$`), slowSync(3, 1, 2, 4)},
	// "FreezerState=frozen" of systemctl show
	{asksFor("systemctl show "), regexp.MustCompile(`^FreezerState=(frozen|freezing)$`), frozenUnit},
	// "5.4.217-126.408.amzn2.x86_64", also among what else a line of commands prints, as docker's
	// 17.03.2-ce: 1 the version
	{asksForRelease, regexp.MustCompile(`^([3-9]\.\d+\.\d+[\w.+~-]*)$`), kernelRelease},
	// "61127 runc fanotify_handle_event" of a loop
	{asksForWaits, waitRow, waitingProcess(1, 2, 3, 4)},
	{asksForWaits, stateFirst, waitingProcess(1, 3, 2, 4)},
	{asksForWaits, nameFirst, waitingProcess(2, 1, 3, 4)},
}

// shownUnit is the unit that systemctl show tells of: 1 its name.
var shownUnit = regexp.MustCompile(`\bsystemctl show (?:-\S+ (?:\S+=?\S* )?)*?([a-z][\w@.-]*)`)

// frozenUnit is the event of a service that somebody has frozen (systemctl freeze, since 246).
func frozenUnit(command string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	unit := shownUnit.FindStringSubmatch(command)
	if unit == nil {
		return e, false
	}
	owner := daemon.OfService(strings.TrimSuffix(unit[1], ".service"))
	e = event.New(event.KindCgroup, "the cgroup of "+unit[1]+" is frozen", event.FieldPath.Text(unit[1]), event.FieldFrozen.Bool(true))
	e.AddText(event.FieldDaemon, owner)
	e.Component, e.Source, e.Evidence = "node", facts.Node, quotes
	return e, owner != ""
}

// endedInTime is what loops print of whom timeout has ended.
const endedInTime = `does not answer|hangs|timed out|timeout`

// asksFor tells the commands that hold all of some words.
func asksFor(words ...string) func(command string) bool {
	return func(command string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(command, w) })
	}
}

// asksForRelease tells a line of commands with uname -r, alone or among others.
func asksForRelease(command string) bool {
	return slices.Contains(splitCommands(command), "uname -r")
}

// resolverQuestion is a question to the resolver of the machine.
var resolverQuestion = regexp.MustCompile(`(?:^|[;&|] *)(?:dig|nslookup|host) `)

func asksResolver(command string) bool { return resolverQuestion.MatchString(command) }

// apiServerQuestion is a question to an API server: at its port, at one of its paths, or at the
// name that a cloud gives it. otherQuestion is one to the kubelet, kube-proxy, the controller
// manager or the scheduler, which have such paths, too.
var (
	apiServerQuestion = regexp.MustCompile(`\b(?:nc|ncat|curl)\b.*(?:\b6443\b|/(?:ready|live)z\b|\.eks\.amazonaws\.com|\.azmk8s\.io)`)
	otherQuestion     = regexp.MustCompile(`\b102(?:4[89]|5\d)\b`)
)

func asksAPIServer(command string) bool {
	return apiServerQuestion.MatchString(command) && !otherQuestion.MatchString(command)
}

// silentAPIServer is the event of an API server that does not answer somebody on the node.
func silentAPIServer(_ string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	e = repeated.APIServerSilent(m[1])
	e.Component, e.Source, e.Evidence = "node", facts.Commands, quotes
	return e, true
}

// silentResolver is the event of a server of names that does not answer.
func silentResolver(_ string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	text := strings.TrimPrefix(m[0], ";; ")
	e = event.New(event.KindHealthFailed, "no server of names answers on the node: "+text, event.FieldService.Text("dns"), event.FieldError.Text(text))
	e.Component, e.Source, e.Evidence = "node", facts.Commands, quotes
	return e, true
}

// runtimeSockets are the runtimes that are units of their own, by their sockets; /var/run leads to
// /run.
var runtimeSockets = map[string]string{
	"/run/containerd/containerd.sock": "containerd", "/var/run/containerd/containerd.sock": "containerd",
	"/run/crio/crio.sock": "crio", "/var/run/crio/crio.sock": "crio", "/run/docker.sock": "dockerd", "/var/run/docker.sock": "dockerd",
}

// listeningSocket is the event of a process that listens at the socket of a runtime, in a row of
// ss. systemd does so for docker before its start, and shows nothing about that.
func listeningSocket(_ string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	return heardSocket(m[1], m[2], m[3], quotes)
}

// openSocket is the same in a row of lsof. A client has a socket without a path.
func openSocket(_ string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	return heardSocket(m[3], m[1], m[2], quotes)
}

func heardSocket(file, comm, pid string, quotes []event.Quote) (e event.Event, ok bool) {
	daemon := runtimeSockets[file]
	e = event.New(
		event.KindSocketHeard, comm+" listens at "+file, event.FieldDaemon.Text(daemon), event.FieldPath.Text(file), event.FieldComm.Text(comm),
	)
	e.IDs.PID, _ = strconv.Atoi(pid)
	e.Component, e.Source, e.Evidence = daemon, facts.Commands, quotes
	return e, daemon != "" && comm != "systemd"
}

// absentFile is a file that somebody does not find: 1 its path.
//
//	ls: cannot access '/run/docker.sock': No such file or directory
var absentFile = regexp.MustCompile(`^(?:ls|stat): cannot (?:access|stat|statx) ['‘"]?(/[^\s'’":]+)['’"]?: No such file or directory$`)

// absentSockets are the events of somebody who finds no file of a runtime's socket.
func absentSockets(asked event.Quote, answer []event.Quote) (all []event.Event) {
	for _, quote := range answer {
		m := absentFile.FindStringSubmatch(quote.Text)
		if m == nil || runtimeSockets[m[1]] == "" {
			continue
		}
		daemon := runtimeSockets[m[1]]
		e := event.New(event.KindSocketAbsent, "the file of the socket of "+daemon+" is not there: "+m[1], event.FieldGone.Text(daemon), event.FieldPath.Text(m[1]))
		e.Component, e.Source, e.Evidence = daemon, facts.Commands, []event.Quote{asked, quote}
		all = append(all, e)
	}
	return all
}

// slowSync makes the event of a file whose content was a long time on its way to the disk, of a row
// with these parts: how many milliseconds, who waited, its id, and the file.
func slowSync(ms, comm, id, file int) func(command string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	return func(_ string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
		took, _ := strconv.ParseFloat(m[ms], 64)
		seconds := int(took / 1000)
		e = event.New(
			event.KindSyscall, m[comm]+" waits for the sync of "+m[file], event.FieldComm.Text(m[comm]), event.FieldName.Text("fdatasync"),
			event.FieldPath.Text(m[file]), event.FieldTook.Duration(time.Duration(seconds)*time.Second), event.FieldReturned.Bool(true),
		)
		e.IDs.TID, _ = strconv.Atoi(m[id])
		e.Component, e.Source, e.Evidence = daemon.Named(m[comm]), facts.Commands, quotes
		return e, e.Component != "" && seconds >= 1
	}
}

// readRows returns the events of the lines that a command printed.
func readRows(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	for _, r := range rows {
		if !r.asks(command) {
			continue
		}
		for _, quote := range answer {
			m := r.row.FindStringSubmatch(quote.Text)
			if m == nil {
				continue
			}
			if e, ok := r.make(command, m, []event.Quote{asked, quote}); ok {
				all = append(all, e)
			}
		}
	}
	noteAnswered(all, answer)
	return all
}

// answeredRow is what a loop that prints the status of timeout prints of who answered:
// "0b1c2d3e4f50 rc=0", "0b1c2d3e4f50 0", "0 0b1c2d3e4f50".
var answeredRow = regexp.MustCompile(`^(?:[0-9a-f]{12,64}:? (?:(?:rc|exit|status|exit status)[=: ]*)?0|0[ :]+[0-9a-f]{12,64})$`)

// noteAnswered says of a container or sandbox that did not answer how many others of the same loop
// did.
func noteAnswered(all []event.Event, answer []event.Quote) {
	answered := 0
	for _, quote := range answer {
		if answeredRow.MatchString(quote.Text) {
			answered++
		}
	}
	for i := range all {
		if e := &all[i]; answered > 0 && e.Kind == event.KindCommandHung && e.IDs.Container != "" {
			e.AddFields(event.FieldOthersAnswered.Int(answered))
		}
	}
}

// statusRow is a row of such a loop whose statuses somebody counted: 1 the number, 2 the status.
//
//	21 rc=0
//	 1 rc=124
var statusRow = regexp.MustCompile(`^\s*(\d{1,6}) (?:(?:rc|exit|status|exit status)[=: ]*)?(0|124)$`)

// readStatuses returns the event of containers or sandboxes that did not answer, where a command
// counted the statuses of a loop.
func readStatuses(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	if !countsKinds.MatchString(command) || !asksFor("timeout ", "$?")(command) {
		return nil
	}
	answered, silent := 0, 0
	var quotes []event.Quote
	for _, quote := range answer {
		m := statusRow.FindStringSubmatch(quote.Text)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if m[2] == "0" {
			answered += n
		} else {
			silent, quotes = silent+n, []event.Quote{asked, quote}
		}
	}
	if silent == 0 {
		return nil
	}
	asks := asksEach(command)
	e, ok := eventOfHung(asks, 0, quotes...)
	if !ok {
		return nil
	}
	e.Text = fmt.Sprintf("%s does not come back for %d of %d", asks, silent, silent+answered)
	e.AddFields(event.FieldCount.Int(silent))
	if answered > 0 {
		e.AddFields(event.FieldOthersAnswered.Int(answered))
	}
	return append(all, e)
}

// manyOpenFiles is the fact about a process that has nearly all files open that it may have.
func manyOpenFiles(_ string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	open, _ := strconv.Atoi(m[2])
	limit, _ := strconv.Atoi(m[3])
	if open*100 < limit*nearLimit {
		return e, false
	}
	e, ok = facts.New("counted.open-files", m[2])
	e.AddFields(event.FieldProgram.Text(m[1]), event.FieldLimit.Int(limit), event.FieldFull.Bool(true))
	e.Component, e.Source, e.Evidence = "counted", facts.Commands, quotes
	return e, ok
}

// asksEach is what a loop asks of one container or sandbox after the other; empty for others.
func asksEach(command string) string {
	for _, c := range [...]string{"ctr -n k8s.io tasks metrics", "crictl inspectp", "crictl inspect", "docker inspect", "docker top"} {
		if strings.Contains(command, c+" ") {
			return c
		}
	}
	return ""
}

// silentObject is the event of a container or sandbox that did not answer.
func silentObject(command string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	asks := asksEach(command)
	if asks == "" {
		return e, false
	}
	if e, ok = eventOfHung(asks+" "+m[1], 0, quotes...); ok {
		e.IDs.Container = m[1]
	}
	return e, ok
}

// touches is a command of a loop that timeout ends, which looks at a path: 1 its name.
var touches = regexp.MustCompile(`\btimeout [^;|&]*?\b(stat|ls|df|du)\b`)

// silentPath is the event of a path at which a look did not come back.
func silentPath(command string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	program := touches.FindStringSubmatch(command)
	if program == nil {
		return e, false
	}
	return eventOfHung(program[1]+" "+m[1], 0, quotes...)
}

// mutedListener is the event of a process that listens with fanotify and is stopped, or stuck in
// the kernel.
func mutedListener(_ string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	e = event.New(
		event.KindProcess, m[2]+" listens with fanotify, and is in state "+m[3],
		event.FieldComm.Text(m[2]), event.FieldState.Text(m[3]), event.FieldListens.Text("fanotify"),
	)
	e.IDs.PID, _ = strconv.Atoi(m[1])
	e.Component, e.Source, e.Evidence = "process", facts.Commands, quotes
	return e, true
}

// kernelRelease is the fact about the kernel that runs.
func kernelRelease(_ string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	all := facts.Append(nil, facts.Node, "kernel.version", m[1], quotes[1])
	if len(all) == 0 {
		return e, false
	}
	return all[0], true
}

// propertyNumber is how busctl get-property prints a number.
var propertyNumber = regexp.MustCompile(`^u (\d{1,9})$`)

// numberOfProperty is such a number, where an answer is nothing else; else 0. What it counts the
// command tells.
func numberOfProperty(answer []event.Quote) (n int) {
	if len(answer) == 1 {
		if m := propertyNumber.FindStringSubmatch(answer[0].Text); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
	}
	return n
}

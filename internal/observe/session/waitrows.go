package session

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/kernelwait"
)

// loopOverWaits is a loop of a shell that prints what processes or threads wait in, of each a line:
// 1 the process where the loop goes over its threads.
//
//	for p in /proc/[0-9]*; do echo "${p#/proc/} $(<$p/comm) $(<$p/wchan)"; done
//	for t in /proc/1234/task/*; do echo "${t##*/} $(cat $t/comm) $(cat $t/wchan)"; done
var loopOverWaits = regexp.MustCompile(`\bfor \w+ in .*(?:/proc/([1-9]\d{0,6})/task/|/proc\b|pgrep|pidof|\bps ).*\bdo\b.*/wchan\b`)

// waitRow is a line of its answer that begins with a number; what has the path or the whole words
// of the state is read as a thread of /proc. 1 the number, 2 the name, 3 the letter of the state, 4
// what it waits in.
//
//	61127 runc fanotify_handle_event
//	118291 worker-1 D request_wait_answer
var waitRow = regexp.MustCompile(`^([1-9]\d{0,6})[ \t:]+(\S.{0,14}?)[ \t:]+(?:([DSRTtI])[ \t]+)?([a-z_]\w*_[\w.]+)$`)

// choosesHung is a command of a shell that goes on only with what is in state D.
var choosesHung = regexp.MustCompile(`\bcase \S+ in \(?["']?D\S*\)|[ =]=? *["']?D["']? *\]|\^?State:?(?:\.|\\s[+*]?|\\t|[ \t])D\b`)

// waitingProcess is the event of a process or a thread that waits for something with a name.
func waitingProcess(command string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	loop := loopOverWaits.FindStringSubmatch(command)
	comm, state, function := m[2], m[3], m[4]
	waits := kernelwait.OfCut(function)
	if state == "" && choosesHung.MatchString(command) {
		state = "D"
	}
	if waits == "" || state != "D" && !kernelwait.IsNotable(waits) {
		return e, false
	}
	text := comm + " is in " + function
	if state == "D" {
		text = comm + " is in state D in " + function
	}
	e = event.New(event.KindProcess, text, event.FieldComm.Text(comm), event.FieldWchan.Text(function), event.FieldWaits.Text(waits))
	e.AddText(event.FieldState, state)
	e.IDs.PID, _ = strconv.Atoi(m[1])
	if len(loop) > 1 && loop[1] != "" {
		e.IDs.TID = e.IDs.PID
		e.IDs.PID, _ = strconv.Atoi(loop[1])
	}
	e.Component, e.Source, e.Evidence = daemon.OfProcess(comm), facts.Processes, []event.Quote{quotes[1], quotes[0]}
	if e.Component == "" {
		e.Component = "process"
	}
	return e, true
}

// asksForWaits tells such loops, whose answers nothing counts.
func asksForWaits(command string) bool {
	return loopOverWaits.MatchString(command) && !strings.Contains(command, "uniq -c")
}

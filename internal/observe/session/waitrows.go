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

// waitRow, stateFirst and nameFirst are lines of its answer that name a process; what has the path
// or the whole word of the state is read as a thread of /proc. The number, the name, the letter of
// the state and what it waits in stand in this order:
//
//	61127 runc fanotify_handle_event             118291 worker-1 D request_wait_answer
//	118291 D worker-1 request_wait_answer
//	runc 61127 fanotify_handle_event             runc/61127 D fanotify_handle_event
var (
	waitRow    = regexp.MustCompile(`^([1-9]\d{0,6})[ \t:]+(\S.{0,14}?)[ \t:]+(?:([DSRTtI])[ \t]+)?([a-z_]\w*_[\w.]+)$`)
	stateFirst = regexp.MustCompile(`^([1-9]\d{0,6})[ \t:]+([DSRTtI])[ \t]+(\S.{0,14}?)[ \t:]+([a-z_]\w*_[\w.]+)$`)
	nameFirst  = regexp.MustCompile(`^([A-Za-z]\S{0,14}?)[ \t:/]+([1-9]\d{0,6})[ \t:]+(?:([DSRTtI])[ \t]+)?([a-z_]\w*_[\w.]+)$`)
)

// choosesHung is a command of a shell that goes on only with what is in state D.
var choosesHung = regexp.MustCompile(`\bcase \S+ in \(?["']?D\S*\)|[ =]=? *["']?D["']? *\]|\^?State:?(?:\.|\\s[+*]?|\\t|[ \t])D\b`)

// waitingProcess makes the event of a process or a thread that waits for something with a name, of
// a row with these parts: its number, its name, the letter of its state, what it waits in.
func waitingProcess(id, name, letter, wchan int) func(command string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
	return func(command string, m []string, quotes []event.Quote) (e event.Event, ok bool) {
		comm, state, function := m[name], m[letter], m[wchan]
		waits := kernelwait.OfCut(function)
		if state == "" && choosesHung.MatchString(command) {
			state = "D"
		}
		if waits == "" || state != "D" && !kernelwait.IsNotable(waits) {
			return e, false
		}
		if letter > name && stateFirst.MatchString(m[0]) { // whose letter is no part of the name
			return e, false
		}
		text := comm + " is in " + function
		if state == "D" {
			text = comm + " is in state D in " + function
		}
		e = event.New(event.KindProcess, text, event.FieldComm.Text(comm), event.FieldWchan.Text(function), event.FieldWaits.Text(waits))
		e.AddText(event.FieldState, state)
		e.IDs.PID, _ = strconv.Atoi(m[id])
		if loop := loopOverWaits.FindStringSubmatch(command); loop[1] != "" {
			e.IDs.TID = e.IDs.PID
			e.IDs.PID, _ = strconv.Atoi(loop[1])
		}
		e.Component, e.Source, e.Evidence = daemon.OfProcess(comm), facts.Processes, []event.Quote{quotes[1], quotes[0]}
		if e.Component == "" {
			e.Component = "process"
		}
		return e, true
	}
}

// asksForWaits tells such loops, whose answers nothing counts.
func asksForWaits(command string) bool {
	return loopOverWaits.MatchString(command) && !strings.Contains(command, "uniq -c")
}

package session

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/kernelwait"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// countsFrames is a command that counts what threads do in the kernel, of files in /proc, or of
// columns that awk took out of a list of ps; other lists of ps are read by their columns.
var countsFrames = regexp.MustCompile(`(?:/(?:stack|wchan|syscall)\b|\bps\b.*\bwchan\b.*\bawk\b).*\|\s*uniq\s+-c\b`)

// frameRow is a line of such a count:
//
//	61 [<0>] register_shrinker_prepared+0x25/0x70
//	 5 runc copy_net_ns
//	 5 rpc_wait_bit_killable
//
// 1 the number, 2 the name of the process, 3 the function.
var frameRow = regexp.MustCompile(`^\s*(\d{1,6})\s+(?:([A-Za-z][\w.:/\[\]-]{0,15})\s+)?(?:\[<[0-9a-f]*>\]\s+)?([a-z_][a-z0-9_.]{3,63})(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?$`)

// framedRow is such a line whose function stands before the name: 1 the number, 2 the function, 3
// the name.
//
//	21 request_wait_answer runc:[2:INIT]
var framedRow = regexp.MustCompile(`^\s*(\d{1,6})\s+([a-z_][a-z0-9_]{3,63})\s+([A-Za-z][\w.:/\[\]-]{0,15})$`)

// stackRow is such a line with the first functions of a stack, the innermost first, which tr or
// paste has joined: 1 the number, 2 the functions.
//
//	38 [<0>] rwsem_down_write_slowpath+0x370/0x570;[<0>] register_shrinker_prepared+0x25/0x70;
var stackRow = regexp.MustCompile(`^\s*(\d{1,6})\s+(\[<[0-9a-f]*>\] [a-z_]\S+[;,| ].*\[<[0-9a-f]*>\] .*)$`)

// stackFrame is a function of it: 1 its name.
var stackFrame = regexp.MustCompile(`\[<[0-9a-f]*>\] ([a-z_][a-zA-Z0-9_.]{2,63})`)

// functionOfStack is the function of such a stack that says what is waited for; empty where none
// does.
func functionOfStack(functions string) string {
	var outermostFirst []string
	for _, m := range stackFrame.FindAllStringSubmatch(functions, -1) {
		outermostFirst = append(outermostFirst, m[1])
	}
	slices.Reverse(outermostFirst)
	_, function := kernelwait.Of(strings.Join(outermostFirst, " "), "")
	return function
}

// countedFrame is the function that grep -c counts at the end of a command: 1 the function.
var countedFrame = regexp.MustCompile(`/(?:stack|wchan)\b.*\|\s*grep\s+(?:-\w+\s+)*-\w*c\w*\s+["']?([a-z_][a-z0-9_]{3,63})["']?\s*$`)

// crowded are waits in which one thread of many is seen while the other side works, and several at
// once are not.
var crowded = []string{"file-server", "fuse", "fanotify", kernelwait.NetworkLock, "shrinker", "pid-namespace", "gpu"}

// leastCrowd is how many threads are told: fewer meet by chance.
const leastCrowd = 3

// tracedRow is a line of such a count of what status says: 1 the number, 2 the letter of the state,
// 3 the tracer.
//
//	31 t 2290417
var tracedRow = regexp.MustCompile(`^\s*(\d{1,6}) ([tT]) ([1-9]\d{0,6})\s*$`)

// readTraced returns the event of a daemon whose threads are held by a tracer, where a command
// counted what their status says.
func readTraced(command string, s *parse.Section, answer []event.Quote) (all []event.Event) {
	if !strings.Contains(command, "TracerPid") || s.Program() == "" {
		return nil
	}
	for _, quote := range answer {
		m := tracedRow.FindStringSubmatch(quote.Text)
		if m == nil {
			continue
		}
		e := event.New(
			event.KindProcess, s.Program()+" is stopped by a debugger (state "+m[2]+"): process "+m[3]+" traces it",
			event.FieldComm.Text(s.Program()), event.FieldState.Text(m[2]),
		)
		e.Component, e.Source, e.Evidence = daemon.OfProcess(s.Program()), facts.Processes, []event.Quote{s.Quote, quote}
		all = append(all, e)
	}
	return all
}

// readCrowds returns the events of a command that counted in which functions of the kernel threads
// are.
func readCrowds(command string, s *parse.Section, answer []event.Quote) (all []event.Event) {
	add := func(number, comm, function string, quotes ...event.Quote) {
		count, _ := strconv.Atoi(number)
		waits := kernelwait.OfCut(function)
		if count < leastCrowd || !slices.Contains(crowded, waits) {
			return
		}
		whose := number + " threads"
		if comm != "" {
			whose += " of " + comm
		}
		e := event.New(
			event.KindProcess, whose+" are in "+function, event.FieldWchan.Text(function), event.FieldWaits.Text(waits), event.FieldCount.Int(count),
		)
		e.AddText(event.FieldComm, comm)
		e.Component, e.Source, e.Evidence = daemon.OfProcess(comm), facts.Processes, quotes
		if e.Component == "" {
			e.Component = "process"
		}
		all = append(all, e)
	}
	if m := countedFrame.FindStringSubmatch(command); m != nil && s.Number > 0 {
		add(strconv.Itoa(s.Number), s.Program(), m[1], s.Quote, s.Counted)
		return all
	}
	if !countsFrames.MatchString(command) {
		return nil
	}
	for _, quote := range answer {
		if m := framedRow.FindStringSubmatch(quote.Text); m != nil && kernelwait.OfCut(m[2]) != "" {
			add(m[1], m[3], m[2], s.Quote, quote)
		} else if m := frameRow.FindStringSubmatch(quote.Text); m != nil {
			comm := m[2]
			if comm == "" {
				comm = s.Program()
			}
			add(m[1], comm, m[3], s.Quote, quote)
		} else if m := stackRow.FindStringSubmatch(quote.Text); m != nil {
			add(m[1], s.Program(), functionOfStack(m[2]), s.Quote, quote)
		}
	}
	return all
}

// countsPrograms is a command that counts processes by their names.
var countsPrograms = regexp.MustCompile(`\bps (?:-e ?|ax ?|-A ?)?-?e?o ?(?:comm|ucmd|ucomm)=?(?: |$).*\|\s*uniq\s+-c\b`)

// pluginRow is a line of such a count that names a plugin of the CNI: 1 the number, 2 the plugin.
var pluginRow = regexp.MustCompile(`^\s*(\d{3,6}) (host-local|bridge|calico|calico-ipam|cilium-cni|flannel|aws-cni|azure-vnet|azure-vnet-ipam|multus|whereabouts|terway|kube-ovn|antrea|loopback|portmap|macvlan|ipvlan)$`)

// readPlugins returns the events of plugins of the CNI of which hundreds run: each ends within
// seconds, unless it hangs.
func readPlugins(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	if !countsPrograms.MatchString(command) {
		return nil
	}
	for _, quote := range answer {
		if m := pluginRow.FindStringSubmatch(quote.Text); m != nil {
			count, _ := strconv.Atoi(m[1])
			e := event.New(
				event.KindProcess, m[1]+" processes of the CNI plugin "+m[2]+" run",
				event.FieldComm.Text("cni"), event.FieldPlugin.Text(m[2]), event.FieldCount.Int(count),
			)
			e.Component, e.Source, e.Evidence = "cni", facts.Processes, []event.Quote{asked, quote}
			all = append(all, e)
		}
	}
	return all
}

// countsEnds is a command that counts when containers ended, by the API server.
var countsEnds = regexp.MustCompile(`\bfinishedAt\b.*\|\s*uniq\s+-c\b`)

// endedRow is a line of such a count whose times are cut off behind the minute or the second: 1 the
// number, 2 the time.
//
//	397 2025-02-03T04:00
var endedRow = regexp.MustCompile(`^\s*(\d{1,6}) "?(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::\d\dZ?)?"?$`)

// leastEnded is how many containers of one minute are told: a node ends fewer by itself.
const leastEnded = 100

// readEnds returns the facts about minutes in which many containers ended.
func readEnds(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	if !countsEnds.MatchString(command) {
		return nil
	}
	for _, quote := range answer {
		m := endedRow.FindStringSubmatch(quote.Text)
		if m == nil {
			continue
		}
		at, ok := stamp.Date(m[2] + ":00Z")
		if n, _ := strconv.Atoi(m[1]); n < leastEnded || !ok {
			continue
		}
		e, _ := facts.New("counted.ended", m[1])
		at.Prec = time.Minute
		e.Start, e.Component, e.Source, e.Evidence = at, "counted", facts.Commands, []event.Quote{asked, quote}
		all = append(all, e)
	}
	return all
}

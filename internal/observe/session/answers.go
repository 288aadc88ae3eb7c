package session

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/children"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// countsKinds is a command that counts lines of each kind: its answer has a number before each.
var countsKinds = regexp.MustCompile(`\|\s*uniq\s+-c\b`)

// printsOther is a command whose answer has no such row: what goes to a file, sysctl, a number
// alone.
var printsOther = regexp.MustCompile(`>|^\w+=|^(?:timeout \d+ )?sysctl\b|\|\s*wc\s+-l\s*$`)

// findKindCount is the only one of the commands of a line that counts lines of each kind, where no
// other prints such rows; else empty.
func findKindCount(line string) (found string) {
	if !countsKinds.MatchString(line) {
		return ""
	}
	for _, command := range splitCommands(line) {
		switch {
		case printsOther.MatchString(strings.ReplaceAll(command, "2>/dev/null", "")):
		case found == "" && countsKinds.MatchString(command):
			found = command
		default:
			return ""
		}
	}
	return found
}

// splitCommands are the commands of a line, between semicolons that no quotation holds.
func splitCommands(line string) (all []string) {
	quote, start := rune(0), 0
	for i, r := range line {
		switch {
		case r == quote:
			quote = 0
		case quote != 0:
		case r == '\'' || r == '"':
			quote = r
		case r == ';':
			all = append(all, strings.TrimSpace(line[start:i]))
			start = i + 1
		}
	}
	return append(all, strings.TrimSpace(line[start:]))
}

// kindRow is a line of its answer: 1 the number, 2 the kind.
var kindRow = regexp.MustCompile(`^\s*(\d{1,9})\s+(\S.*)$`)

// sumKinds is how many lines a command has counted, and its row with the most of them, with the
// program that the row names. The first lines of a long answer are not there: there were at least
// so many. A row "-" of busctl stands for names that nobody has taken.
func sumKinds(answer []event.Quote) (sum int, most event.Quote, program string) {
	highest := 0
	for _, quote := range answer {
		m := kindRow.FindStringSubmatch(quote.Text)
		if m == nil || m[2] == "-" {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		sum += n
		if n > highest {
			highest, most, program = n, quote, m[2]
		}
	}
	if !isProgram.MatchString(program) {
		program = ""
	}
	return sum, most, program
}

// childrenOf is a command that lists the children of one process.
var childrenOf = regexp.MustCompile(`\bps\b.* --ppid\b|\bpgrep\b.* -P`)

// appendChildren adds how many children of one name a shim has, of a row such as
// "1388 /bin/bash -c /scripts/ready.sh". That the process is a shim the command says.
func appendChildren(dst []event.Event, command string, quotes ...event.Quote) []event.Event {
	m := kindRow.FindStringSubmatch(quotes[len(quotes)-1].Text)
	if m == nil || !strings.Contains(command, "shim") {
		return dst
	}
	number, _ := strconv.Atoi(m[1])
	if e, ok := children.Counted(number, path.Base(strings.Fields(m[2])[0]), quotes...); ok {
		dst = append(dst, e)
	}
	return dst
}

// alikeProcesses is a command that counts processes by their command lines: 1 the columns before
// them, as "ppid," or "user,ppid,".
var alikeProcesses = regexp.MustCompile(`\bps (?:-e ?|ax ?|-A ?)?-?e?o ?((?:(?:ppid|user|uid|ruser|euser|stat|s|state)=?,)*)(?:args|cmd|command)=?(?: |$)`)

// leastAlike is how many processes of one command line a node has that leaks them: workers and
// connections of servers are fewer.
const leastAlike = 1000

// leastClients is how many of a program it has that asks one thing, and ends with the answer.
const leastClients = 100

// probingPrograms are such programs, of which probes are made.
var probingPrograms = []string{
	"curl", "wget", "pg_isready", "redis-cli", "mysqladmin", "grpc_health_probe", "grpc-health-probe", "ncat", "etcdctl", "mongosh", "nc", "pgrep",
}

// appendAlike adds how many processes have one command line, of the highest row that a node which
// works does not have, as "3911 redis-cli -h localhost ping".
func appendAlike(dst []event.Event, counting string, asked event.Quote, answer []event.Quote) []event.Event {
	before := strings.Count(alikeProcesses.FindStringSubmatch(counting)[1], ",")
	highest, program, at := 0, "", event.Quote{}
	for _, quote := range answer {
		m := kindRow.FindStringSubmatch(quote.Text)
		if m == nil {
			continue
		}
		number, _ := strconv.Atoi(m[1])
		if words := strings.Fields(m[2]); number > highest && len(words) > before && isLeaked(number, words[before]) {
			highest, program, at = number, path.Base(words[before]), quote
		}
	}
	if highest == 0 {
		return dst
	}
	e, _ := facts.New("counted.alike", strconv.Itoa(highest))
	e.AddText(event.FieldProgram, program)
	e.Component, e.Source, e.Evidence = "counted", facts.Commands, []event.Quote{asked, at}
	return append(dst, e)
}

// isLeaked says that so many processes of one command line are more than what works on a node. A
// thread of the kernel has its name in brackets.
func isLeaked(number int, program string) bool {
	if number < leastAlike && (number < leastClients || !slices.Contains(probingPrograms, path.Base(program))) {
		return false
	}
	return !strings.HasPrefix(program, "[")
}

// isProgram tells the name of a program from a pid, and from a row of several words.
var isProgram = regexp.MustCompile(`^[A-Za-z][\w.-]{1,14}$`)

// suspendedRow is a volume of device-mapper that is suspended, as dmsetup info -c prints its name
// and suspended: 1 the name, of "vg0-containerd:Suspended".
var suspendedRow = regexp.MustCompile(`^(\S{1,128}?)[: ]\s*Suspended$`)

// suspendedVolumes are events of such volumes.
func suspendedVolumes(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	if !strings.Contains(command, "dmsetup info") {
		return nil
	}
	name := ""
	for _, quote := range answer {
		if rest, ok := strings.CutPrefix(quote.Text, "Name:"); ok { // of the form with one property on each line
			name = strings.TrimSpace(rest)
			continue
		}
		suspended := ""
		if state, ok := strings.CutPrefix(quote.Text, "State:"); ok && strings.TrimSpace(state) == "SUSPENDED" {
			suspended = name
		} else if m := suspendedRow.FindStringSubmatch(quote.Text); m != nil {
			suspended = m[1]
		}
		if suspended == "" {
			continue
		}
		e := event.New(
			event.KindFreeze, "the volume "+suspended+" is suspended",
			event.FieldState.Text("frozen"), event.FieldPath.Text(suspended), event.FieldProgram.Text("dmsetup"),
		)
		e.Component, e.Source, e.Evidence = "node", facts.Commands, []event.Quote{asked, quote}
		all = append(all, e)
	}
	return all
}

// listsFrozen is a command that prints the paths of the files of cgroups that are frozen.
var listsFrozen = regexp.MustCompile(`\bgrep -[a-z]*l[a-z]* .*(\^frozen 1|FROZEN)|\bgrep -[a-z]*L[a-z]* THAWED\b`)

// frozenCgroup is the event of such a cgroup. Each path is a section of its own, because it may
// stand above what its file holds; here nothing follows it.
func (c *Commands) frozenCgroup(command string, s *parse.Section) (e event.Event, ok bool) {
	asked := c.listsFrozen
	c.listsFrozen = event.Quote{}
	if s.Filled > 0 {
		return e, false
	}
	if listsFrozen.MatchString(command) {
		c.listsFrozen = s.Quote
		return e, false
	}
	dir := path.Dir(strings.TrimSpace(s.Quote.Text))
	if asked.Pos.Line == 0 || !strings.HasPrefix(dir, "/sys/fs/cgroup/") {
		return e, false
	}
	c.listsFrozen = asked
	return frozenAt(dir, asked, s.Quote), true
}

// frozenAt is the event of a cgroup that is frozen.
func frozenAt(dir string, quotes ...event.Quote) event.Event {
	e := event.New(event.KindCgroup, "cgroup "+dir+" is frozen", event.FieldPath.Text(dir), event.FieldFrozen.Bool(true))
	e.Component, e.Source, e.Evidence = "node", facts.Node, quotes
	e.IDs.Container, e.IDs.PodUID = scan.FindID(dir), scan.PodUID(dir)
	return e
}

// countedFreezer is a row of a command that reads the freezers again and again, and counts what
// they said with uniq -c: 1 how often, 2 the directory, 3 what a freezer of version 1 said.
//
//	60 /sys/fs/cgroup/freezer/kubepods.slice/kubepods-besteffort.slice/freezer.state:FROZEN
var countedFreezer = regexp.MustCompile(`^\s*(\d{1,6}) (/sys/fs/cgroup/\S+)/(?:freezer\.state:(FROZEN|FREEZING)|cgroup\.freeze:1|cgroup\.events:frozen 1)$`)

// leastFrozen is how often a loop must find a cgroup frozen: runc and kubelet freeze one for
// milliseconds.
const leastFrozen = 10

// frozenRows are the events of such rows.
func frozenRows(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	if !countsKinds.MatchString(command) {
		return nil
	}
	for _, quote := range answer {
		m := countedFreezer.FindStringSubmatch(quote.Text)
		if m == nil {
			continue
		}
		if n, _ := strconv.Atoi(m[1]); n < leastFrozen {
			continue
		}
		e := frozenAt(m[2], asked, quote)
		e.AddText(event.FieldState, m[3])
		all = append(all, e)
	}
	return all
}

// trimLines are the lines of an answer without colours and blanks at their ends.
func trimLines(answer []event.Quote) []event.Quote {
	all := slices.Clone(answer)
	for i := range all {
		all[i].Text = strings.TrimRight(string(lines.WithoutColours(nil, []byte(all[i].Text))), " \t\r")
	}
	return all
}

// hereDocument is a command that reads what follows it, up to a line with a word: 1 the word.
//
//	ssh node-7 'bash -s' <<'X'
var hereDocument = regexp.MustCompile(`<<-?\s*['"]?(\w{1,20})['"]?\s*$`)

// takeHereDocument gives a command what it reads, which stands before its answer.
func takeHereDocument(command string, answer []event.Quote) (whole string, rest []event.Quote) {
	m := hereDocument.FindStringSubmatch(command)
	if m == nil {
		return command, answer
	}
	whole = command
	for i, quote := range answer {
		if strings.TrimSpace(quote.Text) == m[1] {
			return whole, answer[i+1:]
		}
		whole += "; " + quote.Text
	}
	return command, answer
}

// takeAnswer returns the events of a command that a report asks for, and notes what it counted.
func (c *Commands) takeAnswer(command string, s *parse.Section) (all []event.Event) {
	command, answer := takeHereDocument(command, trimLines(s.First))
	if s.Number > 0 || !c.counts.addEach(command, s.Quote, answer) {
		c.counts.add(count{command: command, number: s.Number, limit: s.Limit}, s.Quote, s.Counted)
	}
	if n := numberOfProperty(answer); n > 0 {
		c.counts.add(count{command: command, number: n}, s.Quote, answer[0])
	}
	if counting := findKindCount(command); counting != "" {
		sum, most, program := sumKinds(answer)
		switch {
		case sum == 0:
		case childrenOf.MatchString(counting):
			all = appendChildren(all, counting, s.Quote, most)
		case alikeProcesses.MatchString(counting):
			all = appendAlike(all, counting, s.Quote, answer)
		default:
			c.counts.add(count{command: counting, number: sum, program: program}, s.Quote, most)
		}
	}
	c.fuse.take(command, answer)
	if command != "" {
		c.absent = append(c.absent, absentSockets(s.Quote, answer)...)
	}
	if e, ok := c.frozenCgroup(command, s); ok {
		all = append(all, e)
	}
	all = append(all, frozenRows(command, s.Quote, answer)...)
	if e, ok := absentPause(command, s.Quote, answer); ok {
		all = append(all, e)
	}
	all = append(append(all, readCrowds(command, s, answer)...), readPlugins(command, s.Quote, answer)...)
	all = c.takeEvents(append(all, readConditions(command, answer)...), command, answer)
	all = append(append(all, readCountedLines(command, s.Quote, answer)...), readTraced(command, s, answer)...)
	all = append(append(all, readStatuses(command, s.Quote, answer)...), readEnds(command, s.Quote, answer)...)
	if e, ok := throttledCgroup(command, s, answer); ok {
		all = append(all, e)
	}
	return append(append(all, suspendedVolumes(command, s.Quote, answer)...), readRows(command, s.Quote, answer)...)
}

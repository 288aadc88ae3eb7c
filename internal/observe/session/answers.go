package session

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
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

// isProgram tells the name of a program from a pid, and from a row of several words.
var isProgram = regexp.MustCompile(`^[A-Za-z][\w.-]{1,14}$`)

// ofLimit is a process with its open files and its limit, as the command prints them that a report
// asks for: 1 the name, 2 the files, 3 the limit, of "1234 containerd 1048569 of 1048576".
var ofLimit = regexp.MustCompile(`^[1-9]\d{0,6} ([A-Za-z][\w.-]{1,14}) (\d{1,9}) of (\d{1,9})$`)

// openFiles are facts about processes that have nearly all files open that they may have.
func openFiles(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	if !strings.Contains(command, "Max open files") {
		return nil
	}
	for _, quote := range answer {
		m := ofLimit.FindStringSubmatch(quote.Text)
		if m == nil {
			continue
		}
		open, _ := strconv.Atoi(m[2])
		limit, _ := strconv.Atoi(m[3])
		if open*100 < limit*nearLimit {
			continue
		}
		e, _ := facts.New("counted.open-files", m[2])
		e.AddFields(event.FieldProgram.Text(m[1]), event.FieldLimit.Int(limit), event.FieldFull.Bool(true))
		e.Component, e.Source, e.Evidence = "counted", facts.Commands, []event.Quote{asked, quote}
		all = append(all, e)
	}
	return all
}

// silentRow is what a loop prints that asks for containers or sandboxes one by one, of each that
// did not answer in time: 1 the id.
var silentRow = regexp.MustCompile(`^([0-9a-f]{12,64})(?:: | )(?:does not answer|hangs|(?:rc|exit|status|exit status)[=: ]*124)$`)

// silentObjects are events of the containers that did not answer such a loop.
func silentObjects(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	for _, quote := range answer {
		m := silentRow.FindStringSubmatch(quote.Text)
		if m == nil {
			continue
		}
		for _, c := range [...]string{"ctr -n k8s.io tasks metrics", "crictl inspectp", "crictl inspect", "docker inspect", "docker top"} {
			if !strings.Contains(command, c+" ") {
				continue
			}
			if e, ok := eventOfHung(c+" "+m[1], 0, asked, quote); ok {
				e.IDs.Container = m[1]
				all = append(all, e)
			}
		}
	}
	return all
}

// listenerRow is a process that listens with fanotify, as the command prints it that a report asks
// for: 1 the pid, 2 the name, 3 the state, of "2201 ds_am State: T (stopped) do_signal_stop".
var listenerRow = regexp.MustCompile(`^([1-9]\d{0,6}) (\S.{0,14}?) State:\s+([TtD]) \([a-z ]+\)`)

// mutedListeners are events of processes that listen with fanotify and are stopped, or stuck in the
// kernel.
func mutedListeners(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	if !strings.Contains(command, "fanotify") || !strings.Contains(command, "fdinfo") {
		return nil
	}
	for _, quote := range answer {
		m := listenerRow.FindStringSubmatch(quote.Text)
		if m == nil {
			continue
		}
		e := event.New(
			event.KindProcess, m[2]+" listens with fanotify, and is in state "+m[3],
			event.FieldComm.Text(m[2]), event.FieldState.Text(m[3]), event.FieldListens.Text("fanotify"),
		)
		e.IDs.PID, _ = strconv.Atoi(m[1])
		e.Component, e.Source, e.Evidence = "process", facts.Commands, []event.Quote{asked, quote}
		all = append(all, e)
	}
	return all
}

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
	e = event.New(event.KindCgroup, "cgroup "+dir+" is frozen", event.FieldPath.Text(dir), event.FieldFrozen.Bool(true))
	e.Component, e.Source, e.Evidence = "node", facts.Node, []event.Quote{asked, s.Quote}
	e.IDs.Container, e.IDs.PodUID = scan.FindID(dir), scan.PodUID(dir)
	return e, true
}

// kernelRelease is the version of a kernel alone on its line, as uname -r prints it.
var kernelRelease = regexp.MustCompile(`^\d+\.\d+\.\d+[\w.+~-]*$`)

// kernelVersion is the fact that uname -r tells among what else a line of commands prints. Alone it
// is read as what it is.
func kernelVersion(command string, asked event.Quote, answer []event.Quote) []event.Event {
	if !slices.Contains(splitCommands(command), "uname -r") || command == "uname -r" {
		return nil
	}
	for _, quote := range answer {
		if !kernelRelease.MatchString(quote.Text) {
			continue
		}
		return facts.Append(nil, facts.Node, "kernel.version", quote.Text, quote)
	}
	return nil
}

// trimLines are the lines of an answer without colours and blanks at their ends.
func trimLines(answer []event.Quote) []event.Quote {
	all := slices.Clone(answer)
	for i := range all {
		all[i].Text = strings.TrimRight(string(lines.WithoutColours(nil, []byte(all[i].Text))), " \t\r")
	}
	return all
}

// takeAnswer returns the events of a command that a report asks for, and notes what it counted.
func (c *Commands) takeAnswer(command string, s *parse.Section) (all []event.Event) {
	answer := trimLines(s.First)
	if counting := findKindCount(command); counting != "" {
		if sum, most, program := sumKinds(answer); sum > 0 {
			c.counts.add(count{command: counting, number: sum, program: program}, s.Quote, most)
		}
	}
	if e, ok := c.frozenCgroup(command, s); ok {
		all = append(all, e)
	}
	for _, read := range [...]func(string, event.Quote, []event.Quote) []event.Event{
		openFiles, silentObjects, mutedListeners, suspendedVolumes, kernelVersion,
	} {
		all = append(all, read(command, s.Quote, answer)...)
	}
	return all
}

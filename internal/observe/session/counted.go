package session

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
)

// numbers are what a command counts whose output somebody gave to wc -l or grep -c: the first that
// matches. Below least it is what any node shows, and no fact: a filter may have left out the rest.
var numbers = []struct {
	command *regexp.Regexp
	fact    string
	least   int
}{
	{regexp.MustCompile(`\binotify\b`), "counted.inotify", 100},
	{regexp.MustCompile(`\bbusctl\b.*\blist\b|\bss\b.*\bsystem_bus_socket\b`), "counted.bus-connections", 200},
	{regexp.MustCompile(`\bps\b.*(defunct|\bZ\b|\^Z|[zZ]{2}|zombie)`), "counted.zombies", 200},
	{regexp.MustCompile(`(\bps\b|\bpgrep\b).*containerd-shim`), "counted.shims", 300},
	{countsProbes, "counted.alike", leastClients},
	{regexp.MustCompile(`\bps\s+(-?[A-Za-z]*[LTHm][A-Za-z]*)\b`), "counted.threads", 30000},
	{regexp.MustCompile(`/proc/(\[0-9\]\*|\*)/task`), "counted.threads", 30000},
	{regexp.MustCompile(`\bps\s+-?[a-z]*(e|ax)[a-z]*\b`), "counted.processes", 20000},
	{regexp.MustCompile(`/proc/\S*/task\b|/proc/\$\(.*\)/task\b`), "counted.process-threads", 2000},
	{regexp.MustCompile(`/proc/\S*/fd\b|/proc/\$\(.*\)/fd\b|\blsof\b.* -p\b`), "counted.open-files", 20000},
	{regexp.MustCompile(`^busctl\b.*\bNNames$`), "systemd.units", 10000},
	{regexp.MustCompile(`\bsystemctl\b.*\blist-units\b|\bsystemctl\s*\|`), "systemd.units", 10000},
	{regexp.MustCompile(`\bmount\b|/proc/\w+/mount(s|info)|/proc/mounts|\bfindmnt\b|/etc/mtab`), "counted.mounts", 5000},
	{regexp.MustCompile(`\bip\s+(-\w+\s+)*(l|link|a|addr|address)\b|/sys/class/net\b|\bifconfig\b.*-a`), "counted.interfaces", 2000},
	{regexp.MustCompile(`/sys/fs/cgroup\b`), "counted.cgroups", 10000},
	{regexp.MustCompile(`/var/lib/cni/networks/`), "counted.addresses", 200},
	{regexp.MustCompile(`\b(docker|crictl|nerdctl)\b.*\b(ps|pods)\b|\bctr\b.*\b(c|containers|t|task|tasks)\b`), "counted.containers", 1000},
}

// countsProbes is a command that counts the processes of one of probingPrograms: 1 its name.
//
//	ps aux | grep -c '[p]g_isready'
//	pgrep -fc redis-cli
var countsProbes = regexp.MustCompile(`\b(?:ps\b[^|;]*(?:\||-C\b)|pgrep\b).*[ '"/](` + strings.Join(probingPrograms[:len(probingPrograms)-2], "|") + `)\b`)

// oneLetter is what keeps a grep from finding itself: [d]efunct.
var oneLetter = regexp.MustCompile(`\[(\w)\]`)

// counts gathers what somebody counted in one file, and the limits of the kernel beside it. Its
// zero value holds nothing.
type counts struct {
	events []event.Event
	limits map[string]int // by the fact that they bound
}

// limitOf names the limits of a number, as commands call them.
var limitOf = map[string][]string{"counted.threads": {"pid_max", "threads-max"}, "counted.inotify": {"max_user_instances"}, "counted.mounts": {"mount-max"}}

// count is what a command counted, or the limit that it printed.
type count struct {
	command       string
	number, limit int
	program       string // that has the most of what is counted; empty where none is named
}

// add takes a command with its number or limit.
func (c *counts) add(n count, quotes ...event.Quote) {
	for fact, names := range limitOf {
		named := func(name string) bool { return strings.Contains(n.command, name) }
		if n.limit > 0 && slices.ContainsFunc(names, named) {
			c.bound(fact, n.limit)
		}
	}
	if e, ok := counted(n.command, n.number, quotes...); ok {
		if m := countsProbes.FindStringSubmatch(oneLetter.ReplaceAllString(n.command, "$1")); m != nil {
			n.program = m[1]
		}
		e.AddText(event.FieldProgram, n.program)
		c.events = append(c.events, e)
	}
}

// printsOne is a command that prints one line, and printsCount one whose line is a number or begins
// with one.
var (
	printsOne   = regexp.MustCompile(`^(?:sudo )?(?:date\b|hostname$|nproc$|uname\b|uptime$|sysctl (?:-n )?[\w.]+$|cat /proc/(?:sys/\S+|loadavg|uptime)$)`)
	printsCount = regexp.MustCompile(`(?:^|\| *)(?:sudo )?(?:wc -l\b|grep -\w*c\w*\b)[^|]*$`)
)

// addEach takes the commands of one line that print one line each, up to the first that does not.
// It is false where the first does not.
//
//	# date -u; wc -l < /proc/1/mountinfo; cat /proc/sys/fs/mount-max; df -h
func (c *counts) addEach(command string, asked event.Quote, answer []event.Quote) (taken bool) {
	all := splitCommands(command)
	if len(all) < 2 {
		return false
	}
	for i, one := range all[:min(len(all), len(answer))] {
		counts := printsCount.MatchString(one)
		words := strings.Fields(answer[i].Text)
		if !counts && !printsOne.MatchString(one) || len(words) == 0 {
			return taken
		}
		taken = true
		n := count{command: one}
		if counts {
			n.number, _ = strconv.Atoi(words[0])
		} else {
			n.limit, _ = strconv.Atoi(words[len(words)-1])
		}
		c.add(n, asked, answer[i])
	}
	return taken
}

// bound notes a limit of a number; the lowest counts.
func (c *counts) bound(fact string, limit int) {
	if c.limits == nil {
		c.limits = map[string]int{}
	}
	if known := c.limits[fact]; known == 0 || limit < known {
		c.limits[fact] = limit
	}
}

// finish returns facts about numbers that are higher than a node that works has, each with its
// limit where the file shows it.
func (c *counts) finish() []event.Event {
	var kept []event.Event
	for _, e := range c.events {
		limit := c.limits[e.FieldText(event.FieldName)]
		number, _ := strconv.Atoi(e.FieldText(event.FieldValue))
		if limit > 0 {
			e.AddFields(event.FieldLimit.Int(limit))
			if number*100 >= limit*nearLimit {
				e.AddFields(event.FieldFull.Bool(true))
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// nearLimit is from how many per cent of a limit on a number has reached it: some have ended since.
const nearLimit = 99

// counted is a number that somebody counted at a prompt, where it is more than a node that works
// has.
func counted(command string, number int, quotes ...event.Quote) (e event.Event, ok bool) {
	command = oneLetter.ReplaceAllString(command, "$1")
	for _, c := range numbers {
		if !c.command.MatchString(command) {
			continue
		}
		if number < c.least {
			return event.Event{}, false
		}
		e, ok = facts.New(c.fact, strconv.Itoa(number))
		e.Component, _, _ = strings.Cut(c.fact, ".")
		e.Source, e.Evidence = facts.Commands, quotes
		return e, ok
	}
	return event.Event{}, false
}

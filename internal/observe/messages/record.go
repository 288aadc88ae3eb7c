// Package messages turns the lines of logs into events. The text of a log message stands in exactly
// one place, the table of the component that prints it, old and new spellings side by side.
package messages

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/loss"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// row is one message of one component. Its literals are what the prefilter
// looks for: one of them stands in every spelling of the message, is at least
// six bytes long and holds nothing that a log format would escape.
type row struct {
	literals []string
	// observe makes the event; ok is false when the line only looks like the message.
	observe func(r *event.Record) (e event.Event, ok bool)
}

// says makes the same event of every line that holds all of the parts.
func says(kind event.Kind, text string, parts ...string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		for _, part := range parts {
			if !strings.Contains(r.Raw, part) {
				return event.Event{}, false
			}
		}
		return event.New(kind, text), true
	}
}

// factFrom makes a fact of a line; none where value finds nothing in it.
func factFrom(name string, value func(*event.Record) string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) { return facts.New(name, value(r)) }
}

// versionField is the version in the first line of a daemon that writes logrus:
//
//	info starting containerd  revision=… version=1.6.20
//	info Docker daemon  commit=… graphdriver(s)=overlay2 version=20.10.24
func versionField(r *event.Record) string {
	v := r.Value("version")
	return scan.Version(v)
}

// bootEdge is one end of a runtime's start, from its first line to the one that it is ready; a start that
// hangs has the first alone. The pid tells one start from the next.
func bootEdge(daemon string, edge event.Edge) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		e := event.New(event.KindDaemonBoot, daemon+" begins to work", event.FieldDaemon.Text(daemon))
		e.Span = event.Span{Key: "boot/" + daemon + "/" + strconv.Itoa(r.PID), Edge: edge}
		return e, true
	}
}

// table is everything one component is known to say.
type table struct {
	component string // empty for what any known component may print
	rows      []row
	// relays are other components that repeat such messages as errors of their own calls; the empty
	// one stands for every program that is no daemon of the node, as those in containers.
	relays []string
	// unnamed is the component of a line that does not say who wrote it; empty when such a line
	// counts for nothing.
	unnamed string
}

// hostProgram stands among a table's relays for the programs of the node that start others, and for
// the logins on it.
const hostProgram = "host"

// hostPrograms are their syslog identifiers.
var hostPrograms = []string{
	"smartd",
	"sshd", "sshd-session", "cron", "crond", "CRON", "CROND", "anacron", "su", "sudo", "login", "bash", "sh", "rsyslogd",
	"audit", "auditd", "systemd-udevd", "systemd-journald", "systemctl", "systemd-run", "dbus-send", "busctl", "NetworkManager", "polkitd",
}

// writerOf is the component that writes under a syslog identifier, or hostProgram.
func writerOf(unit string) string {
	owner := daemon.Writer(unit)
	if owner == "" && slices.Contains(hostPrograms, unit) {
		return hostProgram
	}
	return owner
}

// tables in the order in which they are tried; every matching row makes an event.
var tables = []table{
	kubeletTable, containerdTable, dockerdTable, crioTable, systemdTable, operatorTable, busTable, runcTable,
	kernelTable, apiServerTable, listingTable, commandTable, refusedTable, unitTable, versionTable, nriTable, reservedTable, daemonTable, limitsTable, toolTable,
	udevTable, clockTable, noiseTable,
}

// Literals are the strings of which one stands in every line that [Record] can make something of.
func Literals() []string {
	var all []string
	for _, t := range tables {
		for _, row := range t.rows {
			all = append(all, row.literals...)
		}
	}
	all = slices.Concat(all, dumpLiterals, traceLiterals, loss.Literals())
	slices.Sort(all)
	return slices.Compact(all)
}

// dumpLiterals stand in a log message that carries a goroutine dump.
var dumpLiterals = []string{"=== BEGIN goroutine stack dump ===", "goroutine "}

// Record appends to dst the events that one log record tells of. Most records tell of none or one.
// An error of gRPC whose writer is not known tells what its description tells.
func Record(dst []event.Event, r *event.Record) []event.Event {
	before := len(dst)
	if dst = appendRecord(dst, r); len(dst) > before || r.Unit != "" {
		return dst
	}
	if described, ok := DescribedError(r.Text); ok {
		said := *r
		said.Text = described
		dst = appendRecord(dst, &said)
	}
	return dst
}

// DescribedError is what an error of gRPC describes; ok is false when the text begins with none. Who
// reports such an error is not who made it.
//
//	rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. …
func DescribedError(text string) (described string, ok bool) {
	text = strings.TrimSpace(text)
	for strings.HasPrefix(text, "rpc error: code = ") {
		_, rest, found := strings.Cut(text, " desc = ")
		if !found {
			break
		}
		text, ok = rest, true
	}
	return text, ok
}

// appendRecord is Record for what a record says itself.
func appendRecord(dst []event.Event, r *event.Record) []event.Event {
	owner := writerOf(r.Unit)
	written := r
	if !isSpelled(r) {
		spelled := *r
		spelled.Raw = spellOut(r)
		r = &spelled
	}
	found := rowsOf().rowsIn(r.Raw)
	if found == (rowSet{}) {
		return dst
	}
	first := 0
	for i := range tables {
		t := &tables[i]
		at := first
		first += len(t.rows)
		if r.Unit != "" && owner != t.component && t.component != "" && !slices.Contains(t.relays, owner) {
			continue // somebody else's line: an agent that ships logs repeats the daemons' words
		}
		for j := range t.rows {
			if !found.hasRow(at + j) {
				continue
			}
			component := t.component
			if speaker := daemon.Component(r.Unit, r.Pos.File); component == "" || speaker != "" && slices.Contains(t.relays, speaker) {
				component = speaker
			}
			if component == "" && (r.Unit == "" || owner == hostProgram) {
				component = t.unnamed
			}
			if component == "" {
				break
			}
			e, ok := t.rows[j].observe(r)
			if !ok {
				continue
			}
			completeEvent(&e, written, component)
			dst = append(dst, e)
		}
	}
	return dst
}

// isSpelled says that the line as written shows the words of its message. Journald's JSON gives a
// message with colours as numbers, colours stand inside of words, and a syslog daemon says "last
// message repeated".
func isSpelled(r *event.Record) bool {
	return r.Repeats == 0 && len(r.Pieces) == 0 && strings.IndexByte(r.Raw, '\x1b') < 0 &&
		!strings.HasSuffix(r.Raw, "[") && !strings.HasPrefix(r.Raw, "[")
}

// spellOut is all that the record says, on one line.
func spellOut(r *event.Record) string {
	var said strings.Builder
	said.WriteString(r.Text)
	for _, f := range r.Fields {
		said.WriteString(" " + f.Key + `="` + f.Value + `"`)
	}
	return said.String()
}

// completeEvent fills in what every event of a line has in common.
func completeEvent(e *event.Event, r *event.Record, component string) {
	if e.Component == "" {
		e.Component = component
	}
	if e.Start.IsZero() {
		e.Start = r.Time
	}
	if e.Level == event.NoLevel {
		e.Level = r.Level
	}
	if e.IDs.PID == 0 {
		e.IDs.PID = r.PID
	}
	if e.Source == "" {
		e.Source = e.Component + ".log"
	}
	if r.Repeats > 0 {
		e.AddFields(event.FieldRepeats.Int(r.Repeats))
	}
	e.Evidence = append(e.Evidence, event.Quote{Pos: r.Pos, Text: r.Raw})
}

// crashEvent is the last word of a Go program:
//
//	panic: runtime error: invalid memory address or nil pointer dereference
//	fatal error: concurrent map read and map write
//	runtime: program exceeds 10000-thread limit
//
// Only a journal tells whose it is: a file without writers may hold any program's.
func crashEvent(r *event.Record) (event.Event, bool) {
	text := r.Message()
	for _, mark := range crashMarks {
		if reason, ok := strings.CutPrefix(text, mark); ok && r.Unit != "" {
			e := event.New(event.KindCrash, daemon.Writer(r.Unit)+" crashes: "+reason, event.FieldReason.Text(reason))
			return e, true
		}
	}
	return event.Event{}, false
}

var crashMarks = []string{"panic: ", "fatal error: ", "runtime: program "}

// errorOf is what a line gives as its error: klog's err, logrus' error.
func errorOf(r *event.Record) string { return r.Value("error", "err") }

// errorFields are an error, and whether it is that of a call that ran into its own time limit.
func errorFields(reason string) []event.Field {
	return []event.Field{event.FieldError.Text(reason), event.FieldDeadline.Bool(isDeadline(reason))}
}

// isDeadline tells a call that ran into its own time limit. Go prints the text
// since context exists; grpc adds the code as number (≤ 1.8) or name. CRI-O says it of the request
// that was sent before.
func isDeadline(s string) bool {
	return scan.ContainsAny(s, []string{
		"context deadline exceeded", "DeadlineExceeded", "operation timeout", "requests that are timing out in CRI-O",
	})
}

// traceLiterals stand in the line before a stack, in every spelling, or in one of its registers.
var traceLiterals = []string{
	"blocked for more than", "hung_task_timeout_secs", "I/O wait for more than", "Show Blocked State", "Show State", " ppid:", " 0x0000", "ORIG_RAX", "Call Trace:",
	"Call trace:",
	// what comes before the stack of a CPU
	"BUG: unable to handle", "kernel NULL pointer dereference", "general protection fault", "kernel BUG at ",
	"Unable to handle kernel", "Internal error: Oops", "Oops: ", "soft lockup", "hard LOCKUP", "detected stall", "NMI backtrace for cpu ",
	// what comes before one that somebody pasted
	"cat /proc/", " TASK: ", "sched:sched_switch:",
}

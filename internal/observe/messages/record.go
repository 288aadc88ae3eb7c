// Package messages turns the lines of logs into events. It finds the rows of a line; the tables
// stand in the packages below it, by who writes. The text of a log message stands in exactly one
// place, the table of the component that prints it, old and new spellings side by side.
package messages

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/loss"
	"github.com/plegdiag/plegdiag/internal/observe/messages/kubelet"
	"github.com/plegdiag/plegdiag/internal/observe/messages/linux"
	"github.com/plegdiag/plegdiag/internal/observe/messages/network"
	"github.com/plegdiag/plegdiag/internal/observe/messages/refused"
	"github.com/plegdiag/plegdiag/internal/observe/messages/runtimes"
	"github.com/plegdiag/plegdiag/internal/observe/messages/systemd"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/messages/talos"
	"github.com/plegdiag/plegdiag/internal/observe/messages/tools"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// tables in the order in which they are tried; every matching row makes an event.
var tables = []table.Table{
	kubelet.Table, runtimes.Containerd, runtimes.Dockerd, runtimes.CRIO, systemd.Table, systemd.OpenRC, tools.Operator, systemd.Bus, runtimes.Runc,
	linux.Table, kubelet.ControlPlane, kubelet.Cluster, kubelet.Machined, kubelet.Etcd, tools.Listings, tools.Commands, tools.Clients, systemd.Units, tools.Versions, runtimes.NRI, runtimes.Crictl, runtimes.Reserved, runtimes.Guests, runtimes.Sandboxes, runtimes.Supervisor, refused.Table, refused.Limits, tools.Addresses, tools.Health, tools.Probes, tools.Storage, tools.Counts, network.Table, network.Lock, linux.Faults,
	systemd.Udev, tools.Clock, talos.Table, noiseTable, kernelNoise, toolNoise,
}

// Literals are the strings of which one stands in every line that [EventOf] can make something of.
func Literals() []string {
	var all []string
	for _, t := range tables {
		for _, row := range t.Rows {
			all = append(all, row.Literals...)
		}
	}
	all = slices.Concat(all, clockLiterals, dumpLiterals, traceLiterals, taskStates, loss.Literals(), []string{tools.DetectorWords})
	slices.Sort(all)
	return slices.Compact(all)
}

// dumpLiterals stand in a log message that carries a goroutine dump.
var dumpLiterals = []string{"=== BEGIN goroutine stack dump ===", "oroutine "}

// Append appends to dst the events that one log record tells of. Most records tell of none or one.
// An error of gRPC whose writer is not known tells what its description tells.
func Append(dst []event.Event, r *event.Record) []event.Event {
	if r.Unit == "conmon" {
		return appendConmon(dst, r)
	}
	before := len(dst)
	if daemon.Writer(r.Unit) == "" && isApplication(r.Raw) {
		own := slices.DeleteFunc(appendOwn(nil, r), func(e event.Event) bool { return !slices.Contains(ownWords, e.Kind) })
		return append(dst, own...)
	}
	if told, repeated, ok := tools.AppendDetected(dst, r); ok {
		for i := range repeated {
			told = appendOwn(told, &repeated[i])
		}
		for i := before; i < len(told); i++ {
			told[i].Source, told[i].Evidence = told[before].Source, told[before].Evidence
		}
		return told
	}
	if dst = appendOwn(dst, r); len(dst) > before || r.Unit != "" {
		return dst
	}
	if described, ok := DescribedError(r.Text); ok {
		said := *r
		said.Text = described
		dst = appendOwn(dst, &said)
	}
	return dst
}

// DescribedError is what an error of gRPC describes; ok is false when the text begins with none.
// Who reports such an error is not who made it.
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

// appendOwn appends the events that a record tells of in its own words, unlike what it repeats.
func appendOwn(dst []event.Event, r *event.Record) []event.Event {
	owner := table.WriterOf(r.Unit)
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
	heading, before := r.Unit == "" && isHeading(written.Raw), len(dst)
	for place := range found.all() {
		t := place.table
		if heading && !t.Told || r.Unit != "" && owner != t.Component && t.Component != "" && !slices.Contains(t.Relays, owner) {
			continue // somebody else's line: an agent that ships logs repeats the daemons' words
		}
		component := t.Component
		if component == "" || len(t.Relays) > 0 {
			if speaker := daemon.Component(r.Unit, r.Pos.File); component == "" || speaker != "" && slices.Contains(t.Relays, speaker) {
				component = speaker
			}
		}
		if component == "" && (r.Unit == "" || owner == table.HostProgram) {
			component = t.Unnamed
		}
		if component == "" {
			continue
		}
		e, ok := place.row.Observe(r)
		bare := written.Text == written.Raw
		if ok && t.Component == linux.Table.Component {
			ok = !namesTemplate(&e) && (!bare || !isQuoted(written.Raw, place.row.Literals))
		} else if ok && bare && isMarkedUp(written.Raw, place.row.Literals) {
			e.AddFields(event.FieldQuoted.Bool(true))
		}
		if ok {
			table.Complete(&e, written, component)
			dst = append(dst, e)
		}
	}
	if len(dst) > before+1 { // what a row makes of any line is said better by another
		rest := slices.DeleteFunc(dst[before:], func(e event.Event) bool { return e.FieldText(event.FieldWhat) == event.Unnamed })
		dst = dst[:before+len(rest)]
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

// isHeading says that a line is a heading of Markdown, "## The node is down", or a comment.
func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	return len(rest) < len(line) && len(line)-len(rest) <= 6 && strings.HasPrefix(rest, " ")
}

// spellOut is all that the record says, on one line. The level of a line after which its program
// ends is looked for as logrus writes it.
func spellOut(r *event.Record) string {
	var said strings.Builder
	said.WriteString(r.Text)
	if r.Level == event.Fatal {
		said.WriteString(" level=fatal")
	}
	for _, f := range r.Fields {
		said.WriteString(" " + f.Key + `="` + f.Value + `"`)
	}
	return said.String()
}

// taskStates stand in the line before the stack of a task, since Linux 5.10.
var taskStates = scan.WithEach(" state:", "RSDTtXZPI", " stack:")

// traceLiterals stand in the line before a stack, in every spelling, or in one of its registers.
var traceLiterals = []string{
	"blocked for more than", "hung_task_timeout_secs", "I/O wait for more than", "Show Blocked State", "Show State", " flags:0x", " 0x00000", " 0x00004", " 0x80000", " 0x80004", "ORIG_RAX", "Call Trace:",
	"Call trace:", "Workqueue: ",
	// what comes before the stack of a CPU
	"BUG: unable to handle", "kernel NULL pointer dereference", "general protection fault", "kernel BUG at ",
	"divide error: ", "invalid opcode: ", "stack segment: ", "double fault: ",
	"Unable to handle kernel", "Internal error: Oops", "Oops: 00", "Oops: Kernel ", "soft lockup", "hard LOCKUP", "detected stall", "NMI backtrace for cpu ", "Task dump for CPU ",
	// where the head of one is lost
	"schedule+0x", "schedule_preempt_disabled+0x", "schedule_timeout+0x",
	// what comes before one that somebody pasted
	"cat /proc/", " TASK: f", "sched:sched_switch:",
}

// Package observe turns what was written (log records, goroutines, syscalls)
// into what happened: typed events with ids and intervals. The text of a log
// message stands in exactly one place, the table of the component that prints
// it, old and new spellings side by side. It knows no rule and no terminal.
package observe

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/layout"
)

// row is one message of one component. Its literals are what the prefilter
// looks for: one of them stands in every spelling of the message, is at least
// six bytes long and holds nothing that a log format would escape.
type row struct {
	literals []string
	// observe makes the event; ok is false when the line only looks like the message.
	observe func(r *event.Record) (e event.Event, ok bool)
}

// table is everything one component is known to say.
type table struct {
	component string // empty for what any known component may print
	rows      []row
	// relays are other components that repeat such messages as errors of their own calls.
	relays []string
}

// writers maps syslog identifiers, or a part of them, to the component that
// writes under them; distributions rename daemons ("dockerd-current",
// "atomic-openshift-node"). A line of anybody else is no daemon's.
var writers = []struct{ part, component string }{
	{"kubelet", "kubelet"},
	{"kubenswrapper", "kubelet"}, // starts it on OpenShift since 4.10
	{"hyperkube", "kubelet"},
	{"kubelite", "kubelet"},
	{"k3s", "kubelet"},
	{"rke2", "kubelet"},
	{"openshift-node", "kubelet"},
	{"origin-node", "kubelet"},
	{"containerd", "containerd"},
	{"docker", "dockerd"},
	{"crio", "crio"},
	{"cri-o", "crio"},
	{"terway", "cni"},
	{"udevd", "udev"},
	{"ntpd", "clock"},
	{"chronyd", "clock"},
	{"timesyncd", "clock"},
	{"dbus", "dbus"},
}

// Writer is the component that writes under a syslog identifier; empty for one that is not known.
func Writer(unit string) string {
	switch unit {
	case "":
		return ""
	case "systemd", "systemd-logind", "init.scope": // journalctl -o with-unit names the unit
		return "systemd"
	case "kernel":
		return "kernel"
	case "sudo":
		return operator
	}
	if strings.HasSuffix(unit, ".scope") { // of a container, under the name of who runs it
		return ""
	}
	for _, w := range writers {
		if strings.Contains(unit, w.part) {
			return w.component
		}
	}
	return ""
}

// tables in the order in which they are tried; every matching row makes an event.
var tables = []table{kubeletTable, containerdTable, dockerdTable, crioTable, systemdTable, operatorTable, busTable, runcTable, kernelTable, listingTable, unitTable, versionTable, daemonTable, udevTable, clockTable, noiseTable}

// Literals are the strings of which one stands in every line that [Record] can make something of.
func Literals() []string {
	var all []string
	for _, t := range tables {
		for _, row := range t.rows {
			all = append(all, row.literals...)
		}
	}
	all = slices.Concat(all, dumpLiterals, traceLiterals, lossLiterals())
	slices.Sort(all)
	return slices.Compact(all)
}

// dumpLiterals stand in a log message that carries a goroutine dump.
var dumpLiterals = []string{"=== BEGIN goroutine stack dump ===", "goroutine "}

// Record appends to dst the events that one log record tells of. Most records tell of none or one.
func Record(dst []event.Event, r *event.Record) []event.Event {
	owner := Writer(r.Unit)
	written := r
	if !isSpelled(r) {
		spelled := *r
		spelled.Raw = spell(r)
		r = &spelled
	}
	found := rowsOf().in(r.Raw)
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
			if !found.has(at + j) {
				continue
			}
			component := t.component
			if speaker := Component(r.Unit, r.Pos.File); component == "" || slices.Contains(t.relays, speaker) {
				component = speaker
			}
			if component == "" {
				break
			}
			e, ok := t.rows[j].observe(r)
			if !ok {
				continue
			}
			finish(&e, written, component)
			dst = append(dst, e)
		}
	}
	return dst
}

// isSpelled says that the line as written shows the words of its message. Journald's JSON gives
// a message with colours as numbers, colours stand inside of words, and a syslog daemon says "last message repeated".
func isSpelled(r *event.Record) bool {
	return r.Repeats == 0 && len(r.Pieces) == 0 && strings.IndexByte(r.Raw, '\x1b') < 0 && !strings.HasSuffix(r.Raw, "[") && !strings.HasPrefix(r.Raw, "[")
}

// spell is all that the record says, on one line.
func spell(r *event.Record) string {
	var said strings.Builder
	said.WriteString(r.Text)
	for _, f := range r.Fields {
		said.WriteString(" " + f.Key + `="` + f.Value + `"`)
	}
	return said.String()
}

// finish fills in what every event of a line has in common.
func finish(e *event.Event, r *event.Record, component string) {
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
		e.Fields = append(e.Fields, event.FieldRepeats.Int(r.Repeats))
	}
	e.Evidence = append(e.Evidence, event.Quote{Pos: r.Pos, Text: r.Raw})
}

// runtimeOf is the runtime whose process, unit or socket has this name, without
// its ending; the name itself when it is none that is known.
func runtimeOf(name string) string {
	for _, r := range runtimes {
		if slices.Contains(r.names, name) {
			return r.component
		}
	}
	return name
}

// isRuntime says that a name is one of those that runtimeOf gives.
func isRuntime(name string) bool {
	return slices.ContainsFunc(runtimes, func(r runtime) bool { return r.component == name })
}

// runtime is how one container runtime is called.
type runtime struct {
	component   string
	names       []string // of the process, the unit and the socket
	description string   // what its unit file says, which systemd prints up to 248 instead of the unit's name
}

// runtimes are those that a kubelet may talk to. The first of its names is the unit's.
var runtimes = []runtime{
	{"containerd", []string{"containerd", "docker-containerd", "snap.microk8s.daemon-containerd"}, "containerd container runtime"},
	{"dockerd", []string{"docker", "dockerd", "dockerd-current"}, "Docker Application Container Engine"},
	{"crio", []string{"crio", "cri-o"}, "Container Runtime Interface for OCI (CRI-O)"},
	{"cri-dockerd", []string{"cri-docker", "cri-dockerd"}, "CRI Interface for Docker Application Container Engine"},
}

// kubeletUnit is the kubelet as systemd names it.
var kubeletUnit = runtime{"kubelet", []string{"kubelet"}, "kubelet: The Kubernetes Node Agent"}

// daemonNamed is the daemon whose process or unit has this name; empty when it is none whose restart matters.
func daemonNamed(name string) string {
	if name == "kubelet" || isRuntime(runtimeOf(name)) {
		return runtimeOf(name)
	}
	return ""
}

// crash is the last word of a Go program:
//
//	panic: runtime error: invalid memory address or nil pointer dereference
//	fatal error: concurrent map read and map write
//	runtime: program exceeds 10000-thread limit
//
// Only a journal tells whose it is: a file without writers may hold any program's.
func crash(r *event.Record) (event.Event, bool) {
	text := r.Message()
	for _, mark := range crashMarks {
		if reason, ok := strings.CutPrefix(text, mark); ok && r.Unit != "" {
			e := event.Event{Kind: event.KindCrash, Text: Writer(r.Unit) + " crashes: " + reason}
			e.Fields = []event.Field{event.FieldReason.Text(reason)}
			return e, true
		}
	}
	return event.Event{}, false
}

var crashMarks = []string{"panic: ", "fatal error: ", "runtime: program "}

// Component names the component that writes under a syslog identifier, or the
// one that the file's path speaks of; empty when neither is known.
func Component(unit, path string) string {
	if c := Writer(unit); c != "" {
		return c
	}
	if unit != "" {
		return ""
	}
	return layout.Of(path).Component
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// errorOf is what a line gives as its error: klog's err, logrus' error.
func errorOf(r *event.Record) string {
	if s, ok := r.Field("error"); ok {
		return s
	}
	s, _ := r.Field("err")
	return s
}

// isDeadline tells a call that ran into its own time limit. Go prints the text
// since context exists; grpc adds the code as number (≤ 1.8) or name.
func isDeadline(s string) bool {
	return strings.Contains(s, "context deadline exceeded") || strings.Contains(s, "DeadlineExceeded") || strings.Contains(s, "operation timeout")
}

// between is the text after the first open and before the next close; ok is false when either is missing.
func between(s, open, close string) (string, bool) {
	_, rest, ok := strings.Cut(s, open)
	if !ok {
		return "", false
	}
	in, _, ok := strings.Cut(rest, close)
	return in, ok
}

// containerID is the id at the start of s, as long as it was written: 64 hex
// digits, or a piece of at least 6 where somebody cut it ("40585f73...").
func containerID(s string) string {
	s = strings.TrimLeft(s, `"\ `)
	n := 0
	for n < len(s) && isHex(s[n]) {
		n++
	}
	if n < minID || n > 64 || n < len(s) && isWord(s[n]) {
		return ""
	}
	if n < 64 && !strings.ContainsAny(s[:n], "0123456789") {
		return "" // a word such as "facade"
	}
	return s[:n]
}

// minID is the shortest piece of an id that is believed; docker prints 12, write-ups fewer.
const minID = 6

// findID is the first full container id (64 hex digits) in s.
func findID(s string) string {
	for i := 0; i+64 <= len(s); i++ {
		n := 0
		for n < 64 && isHex(s[i+n]) {
			n++
		}
		if n == 64 && (i+64 == len(s) || !isWord(s[i+64])) && (i == 0 || !isWord(s[i-1])) {
			return s[i : i+64]
		}
		i += n
	}
	return ""
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// fact is an event that says something about the node as a whole.
func fact(name, value string) (event.Event, bool) {
	if value == "" {
		return event.Event{}, false
	}
	return event.Event{Kind: event.KindFact, Fields: []event.Field{event.FieldName.Text(name), event.FieldValue.Text(value)}, Text: name + " = " + value}, true
}

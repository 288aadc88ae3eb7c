package states

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/kernelwait"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// collected reads what plegdiag collect writes about its own work. What did not answer it is
// evidence.
type collected struct {
	calls   []event.Event            // that had no answer; told when it is known what else did
	quick   map[string]time.Duration // by endpoint: how long a call took that needs no lock
	answers map[[2]string]int        // by endpoint and method: how many were answered without an error
	spoke   map[string]bool          // by endpoint: whether anything was answered
	taken   taken
}

// lockless are calls that a daemon answers while its locks are held.
var lockless = []string{"Version", "GET /_ping", "AUTH"}

// privateBus is PID 1's own socket: whoever connects there speaks to nobody else.
const privateBus = "/private"

// keptOutcomes are the outcomes that are worth an event. Skipped things are in the manifest, and so
// are absent ones.
var keptOutcomes = []string{"timeout", "stuck", "denied", "failed", "capped"}

// sockets are the items that need the socket of a runtime, and that runtime. That its file is
// absent says something where the runtime runs, see [restarts.MarkRunning].
var sockets = map[string]string{
	"runtime/cri-containerd.jsonl": "containerd", "runtime/cri-crio.jsonl": "crio", "runtime/docker.jsonl": "dockerd",
}

func (c *collected) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Path) != 1 {
		return dst
	}
	switch e.Path[0] {
	case "bundle":
		c.taken.Node = e.Column("node")
		for _, f := range [...][2]string{{"node", "node.name"}, {"tool", "collect.version"}} {
			dst = addFact(dst, facts.Collected, f[1], e.Column(f[0]), e)
		}
		dst = addFact(dst, facts.Collected, "collect.sealed", describeEnd(e), e)
		for _, name := range facts.FleetFacts {
			dst = addFact(dst, facts.Collected, "node."+name, e.Column("fleet."+name), e)
		}
	case "rpc":
		return c.takeCall(dst, e)
	case "item":
		return c.takeItem(dst, e)
	}
	return dst
}

// describeEnd says why a bundle is incomplete and what it lacks; empty when it is whole.
func describeEnd(e *snapshots.Datum) string {
	why, missing := e.Column("sealed"), strings.Fields(e.Column("missing"))
	if why == "" {
		return ""
	}
	text := "collect stopped"
	if after, err := strconv.ParseFloat(e.Column("sealed_after"), 64); err == nil && after > 0 && after < 1e6 {
		text += fmt.Sprintf(" after %s", time.Duration(after*float64(time.Second)).Round(100*time.Millisecond))
	} else if len(missing) > 0 {
		text = "collect left something out"
	}
	text += " (" + why + ")"
	switch more := len(missing) - 1; more {
	case -1:
		return text
	case 0:
		return text + "; " + missing[0] + " is missing, or a part of it"
	default:
		return text + fmt.Sprintf("; %s and %d more are missing, or parts of them", missing[0], more)
	}
}

// takeItem is a thing that was not got, or not whole.
func (c *collected) takeItem(dst []event.Event, e *snapshots.Datum) []event.Event {
	outcome := e.Column("outcome")
	c.taken.addItem(e.Column("name"), parseStamp(e.Column("start")))
	runtime := sockets[e.Column("name")]
	absent := outcome == "absent" && runtime != ""
	if !absent && !slices.Contains(keptOutcomes, outcome) {
		return dst
	}
	ev := event.Event{
		Kind: event.KindCollectItem, Component: "node", Source: facts.Collected,
		Evidence: []event.Quote{e.Quote()},
	}
	ev.Start, ev.End = parseStamp(e.Column("start")), parseStamp(e.Column("end"))
	ev.Open = absent || outcome == "timeout" || outcome == "stuck"
	name := e.Column("name")
	if outcome == "timeout" && isOfKubelet(name) {
		ev.Component = "kubelet"
	}
	ev.Fields = []event.Field{event.FieldItem.Text(name), event.FieldOutcome.Text(outcome)}
	for _, f := range [...]event.Key{event.FieldWhy, event.FieldWchan, event.FieldDropped} {
		ev.AddText(f, e.Column(string(f)))
	}
	if waits, _ := kernelwait.Of(functionsOf(e.Column("stack")), e.Column("wchan")); waits != "" && ev.Open {
		ev.AddFields(event.FieldWaits.Text(waits))
	}
	if absent {
		ev.AddText(event.FieldRuns, runtime)
		ev.Text = "collect found no file of the socket of " + runtime
		return append(dst, ev)
	}
	ev.Text = "collecting " + name + ": " + outcome
	if why := e.Column("why"); why != "" {
		ev.Text += ", " + why
	}
	if wchan := e.Column("wchan"); wchan != "" {
		ev.Text += "; the reader waited in " + wchan
	}
	return append(dst, ev)
}

// isOfKubelet says that the kubelet itself is asked for an item: by its ports, not by its journal.
func isOfKubelet(item string) bool {
	return strings.HasPrefix(item, "kubelet/") || strings.HasPrefix(item, "dumps/kubelet-")
}

// takeCall is one question and its answer, or its silence.
func (c *collected) takeCall(dst []event.Event, e *snapshots.Datum) []event.Event {
	start, endpoint, method := parseStamp(e.Column("start")), e.Column("endpoint"), e.Column("method")
	seconds, err := strconv.ParseFloat(e.Column("seconds"), 64)
	if !start.Known || err != nil || seconds < 0 || seconds > 1e6 {
		return dst
	}
	took := time.Duration(seconds * float64(time.Second))
	failure := e.Column("error")
	refused := isRefusal(failure)
	answered := refused || e.Column("answered") == "true"
	ev := event.Event{
		Kind: event.KindCollectRPC, Component: daemonOf(e.Column("api"), endpoint, method),
		Source: facts.Collected, Evidence: []event.Quote{e.Quote()},
		Start: start, End: event.Time{T: start.T.Add(took), Prec: start.Prec, Known: true}, Open: !answered,
		IDs: event.IDs{Container: e.Column("container"), Sandbox: e.Column("sandbox")},
		Fields: []event.Field{
			event.FieldAPI.Text(e.Column("api")), event.FieldMethod.Text(method),
			event.FieldAnswered.Bool(answered), event.FieldEndpoint.Text(endpoint),
		},
	}
	if e.Column("api") == "dbus" {
		ev.AddFields(
			event.FieldMember.Text(method[strings.LastIndexByte(method, '.')+1:]),
			event.FieldPrivate.Bool(strings.HasSuffix(endpoint, privateBus)),
		)
	}
	if ready, _, _ := strings.Cut(e.Column("detail.NetworkReady"), " "); ready != "" {
		ev.AddFields(event.FieldNetwork.Bool(ready == "true"))
	}
	if deadline, err := strconv.ParseFloat(e.Column("deadline"), 64); err == nil && deadline < 1e6 {
		ev.AddFields(event.FieldDeadline.Duration(time.Duration(deadline * float64(time.Second))))
	}
	ev.AddText(event.FieldError, failure)
	if refused {
		ev.AddFields(event.FieldGone.Text(ev.Component))
		ev.Begun, ev.Open = true, true // nobody has listened there before, nor after
		c.answered(endpoint, method, took, false)
		ev.Text = called(method, &ev.IDs) + " of collect was refused: nothing listens on " + endpoint
		return append(dst, ev)
	}
	if answered {
		c.answered(endpoint, method, took, failure == "")
		ev.Text = called(method, &ev.IDs) + fmt.Sprintf(" answered collect in %s", took.Round(time.Millisecond))
		return append(dst, ev)
	}
	ev.Text = called(method, &ev.IDs) + fmt.Sprintf(" gave collect no answer in %s", took.Round(100*time.Millisecond))
	if strings.Contains(failure, "connect: resource temporarily unavailable") {
		ev.Text = called(method, &ev.IDs) + " of collect found the queue of " + endpoint + " full: nobody takes connections"
	}
	if len(c.calls) < maxListed {
		c.calls = append(c.calls, ev)
	}
	return dst
}

// isRefusal says that the kernel answered a call itself: no process listens on the socket, or the
// socket is not there. gRPC wraps what connect returned.
func isRefusal(failure string) bool {
	return strings.Contains(failure, "connection refused") || strings.Contains(failure, "connect: no such file or directory")
}

// answered counts an answer. An error that comes back is one, but of an id that nobody knows it
// says nothing.
func (c *collected) answered(endpoint, method string, took time.Duration, well bool) {
	if c.spoke == nil {
		c.quick, c.answers, c.spoke = map[string]time.Duration{}, map[[2]string]int{}, map[string]bool{}
	}
	c.spoke[endpoint] = true
	if !well {
		return
	}
	c.answers[[2]string{endpoint, method}]++
	if slices.Contains(lockless, method) {
		c.quick[endpoint] = took
	}
}

// called names a call as people write it: ContainerStatus(40585f73).
func called(method string, ids *event.IDs) string {
	if id := ids.Container + ids.Sandbox; id != "" {
		return method + "(" + scan.Short(id) + ")"
	}
	return method
}

// daemonOf is who answers. What a connection to the bus begins with the bus itself answers, and the
// rest PID 1.
func daemonOf(api, endpoint, method string) string {
	switch {
	case api == "dbus" && !strings.HasSuffix(endpoint, privateBus) &&
		(method == "AUTH" || strings.HasPrefix(method, "org.freedesktop.DBus.Hello")):
		return "dbus"
	case api == "dbus":
		return "systemd"
	case api == "docker":
		return "dockerd"
	case strings.Contains(endpoint, "crio"):
		return "crio"
	}
	return "containerd"
}

// functionsOf are the functions of a kernel stack as the manifest writes it, blanks between:
// without offsets.
func functionsOf(stack string) string {
	var all []string
	for line := range strings.FieldsSeq(stack) {
		name, _, _ := strings.Cut(line, "+0x")
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// parseStamp is a time that collect wrote.
func parseStamp(text string) event.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return event.Time{}
	}
	return event.At(t.UTC())
}

// finishFile tells of the calls without an answer, beside what the same daemon did answer.
func (c *collected) finishFile(dst []event.Event) []event.Event {
	for i := range c.calls {
		ev := &c.calls[i]
		place, _ := ev.Get(event.FieldEndpoint)
		asked, _ := ev.Get(event.FieldMethod)
		endpoint, method := place.Text(), asked.Text()
		if took, ok := c.quick[endpoint]; ok {
			ev.AddFields(event.FieldVersionTook.Duration(took))
			ev.Text += fmt.Sprintf(", while the daemon answered another call in %s", took.Round(time.Millisecond))
		}
		others := c.answers[[2]string{endpoint, method}]
		if ev.IDs.Container+ev.IDs.Sandbox != "" && others > 0 {
			ev.AddFields(event.FieldOthersAnswered.Int(others))
			ev.Text += fmt.Sprintf(", and the same call of %d others", others)
		}
		if !c.spoke[endpoint] {
			ev.AddFields(event.FieldMute.Bool(true))
			ev.Text += "; nothing else was answered there"
		}
		dst = append(dst, *ev)
	}
	return dst
}

package states

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// nodes collects what the API says about nodes. A file that tells of several
// nodes tells no facts, for nobody says which of them is ours.
type nodes struct {
	names      map[string]bool
	conditions []condition
	versions   []event.Event
	pending    []event.Event // changes of the Ready condition that the kubelet's events tell
	listed     int           // events so far
}

// condition is one of a node's status.
type condition struct {
	node, kind, status, reason, message string
	since, beat                         event.Time
	quotes                              []event.Quote
}

// nodeVersions are the fields of status.nodeInfo that are facts, with the names that kubectl
// describe gives them.
var nodeVersions = []struct{ key, described, fact string }{
	{"kubeletVersion", "Kubelet Version", "kubelet.version"},
	{"containerRuntimeVersion", "Container Runtime Version", "runtime"},
	{"kernelVersion", "Kernel Version", "kernel.version"},
	{"osImage", "OS Image", "os.name"},
}

func (n *nodes) addName(name string) {
	if n.names == nil {
		n.names = map[string]bool{}
	}
	if len(n.names) < maxListed {
		n.names[name] = true
	}
}

// addVersion notes a version of the node's software. That of the runtime says which runtime it is:
// containerd://1.6.20.
func (n *nodes) addVersion(fact, value string, q event.Quote) {
	if fact == "runtime" {
		name, v, ok := strings.Cut(value, "://")
		if !ok {
			return
		}
		if fact = runtimeFacts[name]; fact == "" {
			return
		}
		value = scan.Version(v)
	}
	if fact == "kubelet.version" {
		value = scan.Version(value)
	}
	n.versions = facts.Append(n.versions, facts.Kubernetes, fact, value, q)
}

// runtimeFacts are the runtimes by the names that they give themselves.
var runtimeFacts = map[string]string{"containerd": "containerd.version", "docker": "docker.version", "cri-o": "crio.version"}

// kubeEvent is an event of the API.
type kubeEvent struct {
	kind, name, namespace, reason, message, level, count, from, age string
	first, last                                                     event.Time
	quotes                                                          []event.Quote
}

// appendEvent appends an event that is about a node or warns. Ready and NotReady of the kubelet's
// own are kept until it is clear that they are one node's; the node controller says NodeNotReady
// also when it hears nothing.
func (n *nodes) appendEvent(dst []event.Event, k *kubeEvent) []event.Event {
	node := strings.EqualFold(k.kind, "node")
	if node {
		n.addName(k.name)
	}
	if !node && k.level != "Warning" && k.reason != "Killing" || n.listed == maxListed || len(k.quotes) == 0 {
		return dst
	}
	n.listed++
	e := event.Event{
		Kind: event.KindKubeEvent, Component: "kubernetes", Source: facts.Kubernetes, Start: k.first,
		Evidence: k.quotes, Text: k.reason + ": " + clipText(k.message),
	}
	if e.Start.IsZero() {
		e.Start = k.last
	}
	if k.last.Known && e.Start.Known && k.last.T.After(e.Start.T) {
		e.End = k.last
	}
	e.Fields = []event.Field{
		event.FieldReason.Text(k.reason), event.FieldObject.Text(k.kind), event.FieldName.Text(k.name),
		event.FieldMessage.Text(clipText(k.message)), event.FieldType.Text(k.level),
		event.FieldFrom.Text(k.from),
	}
	if c, err := strconv.Atoi(k.count); err == nil {
		e.AddFields(event.FieldCount.Int(c))
	}
	if k.age != "" {
		e.AddFields(event.FieldAge.Text(k.age))
	}
	if strings.EqualFold(k.kind, "pod") {
		e.IDs.Pod = k.namespace + "/" + k.name
	}
	if node && strings.HasPrefix(k.from, "kubelet") {
		n.keepReadiness(k.reason, k.first, k.quotes)
		if k.last.Known && !k.last.T.Equal(k.first.T) {
			n.keepReadiness(k.reason, k.last, k.quotes)
		}
	}
	dst = append(dst, e)
	if strings.HasPrefix(k.from, "kernel-monitor") {
		dst = k.kernelLine(dst)
	}
	return dst
}

// kernelLine makes events of the line of the kernel that node-problem-detector repeats as the
// message of an event.
func (k *kubeEvent) kernelLine(dst []event.Event) []event.Event {
	at := k.last
	if !at.Known {
		at = k.first
	}
	before := len(dst)
	dst = messages.Record(dst, &event.Record{Unit: "kernel", Text: k.message, Raw: k.message, Time: at, Wanted: true})
	for i := before; i < len(dst); i++ {
		dst[i].Source, dst[i].Evidence = facts.Kubernetes, k.quotes
	}
	return dst
}

// readiness is the node becoming Ready or NotReady, as the kubelet says it.
func readiness(ready bool, at event.Time, quotes []event.Quote) event.Event {
	e := event.Event{
		Kind: event.KindNodeNotReady, Component: "kubelet", Source: facts.Kubernetes, Start: at,
		Evidence: quotes, Text: "node became NotReady",
	}
	if ready {
		e.Kind, e.Text = event.KindNodeReady, "node became Ready"
	}
	return e
}

// keepReadiness keeps the node becoming Ready or NotReady.
func (n *nodes) keepReadiness(reason string, at event.Time, quotes []event.Quote) {
	if at.Known && (reason == "NodeReady" || reason == "NodeNotReady") {
		n.pending = append(n.pending, readiness(reason == "NodeReady", at, quotes))
	}
}

// finishFile tells conditions of all nodes, and what only one node can have.
func (n *nodes) finishFile(dst []event.Event) []event.Event {
	one := len(n.names) <= 1
	for i := range n.conditions {
		if i < maxListed {
			dst = n.conditions[i].appendEvents(dst, one)
		}
	}
	if one {
		dst = append(append(dst, n.versions...), n.pending...)
	}
	return dst
}

// appendEvents tells a condition; of Ready, also what the kubelet said about it.
func (c *condition) appendEvents(dst []event.Event, ours bool) []event.Event {
	if len(c.quotes) == 0 {
		return dst
	}
	e := event.Event{Kind: event.KindNodeCondition, Component: "kubernetes", Source: facts.Kubernetes, Evidence: c.quotes}
	if c.since.Known && c.beat.Known && !c.beat.T.Before(c.since.T) {
		e.Start, e.End, e.Open = c.since, c.beat, true
	}
	e.Fields = []event.Field{
		event.FieldNode.Text(c.node), event.FieldCondition.Text(c.kind), event.FieldStatus.Text(c.status),
		event.FieldReason.Text(c.reason), event.FieldMessage.Text(clipText(c.message)),
	}
	e.Text = "condition " + c.kind + " of " + c.node + " is " + c.status + ": " + c.reason
	dst = append(dst, e)
	if c.kind != "Ready" || !ours || c.status == "Unknown" {
		return dst
	}
	if c.since.Known && (c.status == "False" || c.beat.Known && c.beat.T.Sub(c.since.T) < freshFor) {
		r := readiness(c.status != "False", c.since, c.quotes)
		if c.status == "False" {
			r.Fields = []event.Field{
				event.FieldReason.Text(c.reason), event.FieldPLEG.Bool(strings.Contains(c.message, "PLEG is not healthy")),
			}
		}
		dst = append(dst, r)
	}
	return c.appendComplaint(dst)
}

// fresh is how long ago a node may have become Ready for that to be news.
const freshFor = 24 * time.Hour

// appendComplaint is the complaint that the condition quotes. It was written with the heartbeat.
func (c *condition) appendComplaint(dst []event.Event) []event.Event {
	_, text, ok := strings.Cut(c.message, "PLEG is not healthy: ")
	if !ok || !c.beat.Known || c.status != "False" {
		return dst
	}
	r := event.Record{Text: "PLEG is not healthy: " + text, Wanted: true}
	e, ok := messages.PLEGUnhealthy(&r)
	if !ok {
		return dst
	}
	e.Component, e.Source, e.Start, e.Evidence = "kubelet", facts.Kubernetes, c.beat, c.quotes
	return append(dst, e)
}

// appendEvent takes a row of kubectl get events. Its age counts from a moment that only a date
// above the listing tells.
func (t *listings) appendEvent(dst []event.Event, e *snapshots.Datum) []event.Event {
	kind, name, ok := strings.Cut(column(e, "OBJECT"), "/")
	if !ok {
		kind, name = column(e, "KIND"), column(e, "NAME")
	}
	k := kubeEvent{
		kind: kind, name: name, namespace: column(e, "NAMESPACE"), reason: column(e, "REASON"),
		message: column(e, "MESSAGE"), level: column(e, "TYPE"),
		count: column(e, "COUNT"), from: column(e, "SOURCE"), age: column(e, "LAST SEEN"), quotes: []event.Quote{quoteOf(e)},
	}
	k.last = timeAgo(t.at, k.age)
	k.first = timeAgo(t.at, column(e, "FIRST SEEN"))
	return t.nodes.appendEvent(dst, &k)
}

// timeAgo is the moment that a relative age of kubectl means: 5m12s, 38d, 2d3h; zero without a
// moment to count from.
func timeAgo(at event.Time, age string) event.Time {
	age, _, _ = strings.Cut(age, " ")
	d, ok := relativeAge(age)
	if !ok || !at.Known {
		return event.Time{}
	}
	t := at.Add(-d)
	t.Prec = max(t.Prec, time.Second)
	if i := len(age) - 1; i >= 0 && !strings.Contains(age, "s") {
		t.Prec = map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[age[i]]
	}
	return t
}

func relativeAge(s string) (d time.Duration, ok bool) {
	for s != "" {
		n := len(s) - len(strings.TrimLeft(s, "0123456789"))
		if n == 0 || n > 6 || n == len(s) {
			return 0, false
		}
		v, _ := strconv.Atoi(s[:n])
		unit := map[byte]time.Duration{
			's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'y': 365 * 24 * time.Hour,
		}[s[n]]
		if unit == 0 {
			return 0, false
		}
		d += time.Duration(v) * unit
		s, ok = s[n+1:], true
	}
	return d, ok
}

// appendListedNode is a row of kubectl get nodes. Which of them is ours nobody says; a listing of
// one has no other.
func appendListedNode(dst []event.Event, e *snapshots.Datum) []event.Event {
	name, status := column(e, "NAME"), column(e, "STATUS")
	ev := event.Event{
		Kind: event.KindNodeCondition, Component: "kubernetes", Source: facts.Kubernetes,
		Evidence: []event.Quote{quoteOf(e)},
	}
	ready := "True"
	if strings.HasPrefix(status, "NotReady") {
		ready = "False"
	}
	ev.Fields = []event.Field{event.FieldNode.Text(name), event.FieldCondition.Text("Ready"), event.FieldStatus.Text(ready)}
	ev.Text = "node " + name + " is " + status
	return append(dst, ev)
}

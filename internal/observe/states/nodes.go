package states

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/kubelet"
	"github.com/plegdiag/plegdiag/internal/observe/messages/refused"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// nodes collects what the API says about nodes. A file that tells of several
// nodes tells no facts, for nobody says which of them is ours.
type nodes struct {
	names      map[string]bool
	conditions []condition
	versions   []event.Event
	hosts      []event.Event // of the kubelets whose Events are listed
	hints      []event.Event // see addHint
	pending    []change      // of the Ready condition, as the kubelet's events tell
	starts     []moment      // of the kubelet, by its own events
	listed     int           // events so far
}

// change is the node becoming Ready or NotReady.
type change struct {
	event event.Event
	when  moment
}

// moment is when an event came: a time, or how long before it was listed.
type moment struct {
	at   event.Time
	age  time.Duration
	aged bool
}

// follows says that a moment comes at most a minute after a start of the kubelet, which reports
// itself NotReady until its runtime has answered.
func (m moment) follows(start moment) bool {
	after := start.age - m.age
	if m.at.Known && start.at.Known {
		after = m.at.T.Sub(start.at.T)
	} else if !m.aged || !start.aged {
		return false
	}
	return after >= 0 && after <= time.Minute
}

// condition is one of a node's status.
type condition struct {
	node, kind, status, reason, message string
	since, beat                         event.Time
	quotes                              []event.Quote
	poster                              *condition // posted by another daemon of the node since; nil for none
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

// addNode notes the node that kubectl describes.
func (n *nodes) addNode(name string, e *snapshots.Datum) {
	if name == "" || strings.ContainsAny(name, "<> ") { // <unset>
		return
	}
	n.addName(name)
	n.hosts = facts.Append(n.hosts, facts.Kubernetes, "node.name", name, e.Quote())
}

// addHint notes a node that the file may be about: that of a described pod (node-1/10.0.0.7,
// without the address where none is known), or one that is listed and not Ready.
func (n *nodes) addHint(value string, e *snapshots.Datum) {
	name, _, _ := strings.Cut(value, "/")
	if strings.ContainsAny(name, "<> ") || len(n.hints) == maxListed { // <none>
		return
	}
	n.hints = facts.Append(n.hints, facts.Kubernetes, "node.name", name, e.Quote())
}

// appendHint appends the node of the hints if they agree, and the file names no other.
func (n *nodes) appendHint(dst []event.Event) []event.Event {
	others := func(e event.Event) bool {
		return e.FieldText(event.FieldValue) != n.hints[0].FieldText(event.FieldValue)
	}
	if len(n.hints) == 0 || len(n.names) > 0 || slices.ContainsFunc(n.hints, others) {
		return dst
	}
	return append(dst, n.hints[0])
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
	kind, name, namespace, reason, message, level, count, from string
	host                                                       string // on which the kubelet runs; mostly not said
	// as kubectl prints them: how long before its listing the event came last and first
	age, oldest string
	first, last event.Time
	quotes      []event.Quote
}

// ofNode says that the event is about a node.
func (k *kubeEvent) ofNode() bool { return strings.EqualFold(k.kind, "node") }

// appendEvent appends an event that is about a node or warns. Ready and NotReady of the kubelet's
// own are kept until it is clear that they are one node's; the node controller says NodeNotReady
// also when it hears nothing.
func (n *nodes) appendEvent(dst []event.Event, k *kubeEvent) []event.Event {
	node := k.ofNode()
	if node && k.name != "" {
		n.addName(k.name)
	}
	oldest, aged := relativeAge(cmp.Or(k.oldest, k.age))
	when := moment{k.first, oldest, aged}
	if k.message == "Starting kubelet." && n.listed < maxListed { // kubectl describe names no node in it
		n.starts = append(n.starts, when)
	}
	if !node && k.level != "Warning" && k.reason != "Killing" || n.listed == maxListed || len(k.quotes) == 0 {
		return dst
	}
	n.listed++
	e := event.Event{
		Kind: event.KindKubeEvent, Component: "kubernetes", Source: facts.Kubernetes, Start: k.first,
		Evidence: k.quotes, Text: k.reason + k.describe() + ": " + scan.Clip(k.message),
	}
	if node && strings.HasSuffix(k.message, " status is now: "+k.reason) { // the message says the reason
		e.Text = scan.Clip(k.message)
	}
	if e.Start.IsZero() {
		e.Start = k.last
	}
	if k.last.Known && e.Start.Known && k.last.T.After(e.Start.T) {
		e.End = k.last
	}
	e.Fields = []event.Field{
		event.FieldReason.Text(k.reason), event.FieldObject.Text(k.kind), event.FieldName.Text(k.name),
		event.FieldMessage.Text(scan.Clip(k.message)), event.FieldType.Text(k.level),
		event.FieldFrom.Text(k.from),
	}
	if c, err := strconv.Atoi(k.count); err == nil {
		e.AddFields(event.FieldCount.Int(c))
	}
	if k.age != "" {
		e.AddFields(event.FieldAge.Text(k.age))
	}
	host := k.host
	if node && host == "" {
		host = k.name
	}
	if host != "" {
		n.addName(host)
		n.hosts = facts.Append(n.hosts, facts.Kubernetes, "node.name", host, k.quotes[0])
	}
	if strings.EqualFold(k.kind, "pod") {
		e.IDs.Pod = k.namespace + "/" + k.name
	}
	if node && strings.HasPrefix(k.from, "kubelet") {
		n.keepReadiness(k.reason, when, k.quotes)
		if k.last.Known && !(k.first.Known && k.last.T.Equal(k.first.T)) {
			n.keepReadiness(k.reason, moment{at: k.last}, k.quotes)
		}
	}
	dst = append(dst, e)
	at := k.last
	if !at.Known {
		at = k.first
	}
	if node {
		n.keepTransition(k, at)
	}
	if k.reason == "BackOff" && !node {
		dst = k.appendCrashLoop(dst, at)
	}
	before := len(dst)
	if k.level == "Warning" && k.byKubelet() {
		dst = refused.Append(dst, k.message, at, k.quotes)
		dst = k.appendServed(dst, at)
	}
	refused, call := len(dst), k.failedCall()
	if call != "" {
		dst = kubelet.AppendFailedCall(dst, call, k.message, e.IDs.Pod, at, k.quotes)
	}
	for i := before; i < len(dst); i++ {
		dst[i].AddNumber(event.FieldRepeats, k.count)
		if i >= refused {
			if k.reason == "FailedSync" { // another Event may tell the same more exactly
				dst[i].AddFields(event.FieldCaller.Bool(true))
			}
			dst[i].Text = k.describeCall(&dst[i])
		}
	}
	if call != "" {
		return dst
	}
	return k.appendRepeatedLine(dst, dst[before:], at)
}

// appendRepeatedLine appends what a line of a log tells that the Event repeats. What told holds was
// told of its message already.
func (k *kubeEvent) appendRepeatedLine(dst, told []event.Event, at event.Time) []event.Event {
	line, writer := repeatedLine(k.from, k.reason, k.message)
	for _, e := range appendRepeated(nil, line, writer, at, k.quotes) {
		switch {
		case slices.ContainsFunc(told, func(o event.Event) bool { return o.Kind == e.Kind }):
			continue
		case e.Kind == event.KindGCFailed:
			e.AddNumber(event.FieldRepeats, k.count)
		case e.Kind == event.KindNetdevBusy:
			e.AddNumber(event.FieldCount, k.count)
		}
		dst = append(dst, e)
	}
	return dst
}

// appendCrashLoop tells of a container that ends each time, which older kubelets do not name:
//
//	Back-off restarting failed container cilium-agent in pod cilium-hnswx_kube-system(13b0884b-…)
func (k *kubeEvent) appendCrashLoop(dst []event.Event, at event.Time) []event.Event {
	rest, ok := strings.CutPrefix(k.message, "Back-off restarting failed container")
	if !ok {
		return dst
	}
	name, pod, _ := strings.Cut(strings.TrimSpace(rest), " in pod ")
	pod, _, _ = strings.Cut(pod, "(")
	pod, namespace, _ := strings.Cut(pod, "_")
	e := kubelet.CrashLoop(name, cmp.Or(namespace, k.namespace), cmp.Or(pod, k.name))
	e.Component, e.Source, e.Start, e.Evidence = "kubernetes", facts.Kubernetes, at, k.quotes
	return append(dst, e)
}

// keepTransition keeps what Karpenter says of a node whose condition Ready changed:
//
//	Status condition transitioned, Type: Ready, Status: True -> Unknown, Reason: NodeStatusUnknown, Message: Kubelet stopped posting node status.
func (n *nodes) keepTransition(k *kubeEvent, at event.Time) {
	rest, ok := strings.CutPrefix(k.message, "Status condition transitioned, Type: Ready, Status: ")
	if !ok {
		return
	}
	change, rest, _ := strings.Cut(rest, ", Reason: ")
	_, status, _ := strings.Cut(change, " -> ")
	reason, message, _ := strings.Cut(rest, ", Message: ")
	if status == "False" || status == "Unknown" {
		n.conditions = append(n.conditions, condition{
			node: k.name, kind: "Ready", status: status, reason: reason, message: message, since: at, quotes: k.quotes,
		})
	}
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
func (n *nodes) keepReadiness(reason string, when moment, quotes []event.Quote) {
	if reason == "NodeReady" || reason == "NodeNotReady" {
		n.pending = append(n.pending, change{readiness(reason == "NodeReady", when.at, quotes), when})
	}
}

// appendReadiness appends the changes that the kubelet's events tell, and says which are those of
// its start.
func (n *nodes) appendReadiness(dst []event.Event) []event.Event {
	for _, c := range n.pending {
		if c.event.Kind == event.KindNodeNotReady && slices.ContainsFunc(n.starts, c.when.follows) {
			c.event.AddFields(event.FieldNever.Bool(true))
		}
		dst = append(dst, c.event)
	}
	return dst
}

// finishFile tells conditions of all nodes, and what only one node can have.
func (n *nodes) finishFile(dst []event.Event) []event.Event {
	one := len(n.names) <= 1
	for name := range n.names {
		for i := range n.conditions {
			if c := &n.conditions[i]; one && c.node == "" { // the name stood below them
				c.node = name
			}
		}
	}
	for i := range n.conditions {
		if i < maxListed {
			n.findPoster(&n.conditions[i])
			dst = n.conditions[i].appendEvents(dst, one)
		}
	}
	if one {
		dst = n.appendReadiness(append(append(dst, n.versions...), n.hosts...))
	}
	return n.appendHint(dst)
}

// postedLate is how long after the kubelet was found silent another daemon of the node has posted
// its condition: node-problem-detector does so every five minutes (heartbeatPeriod).
const postedLate = 5 * time.Minute

// findPoster finds, of a node whose kubelet is silent, a condition that a daemon of the node has
// posted since. NetworkUnavailable is set from elsewhere, too.
func (n *nodes) findPoster(c *condition) {
	if c.kind != "Ready" || c.status != "Unknown" || !c.since.Known {
		return
	}
	for i := range n.conditions {
		o := &n.conditions[i]
		if o.node == c.node && o.status != "Unknown" && o.kind != "NetworkUnavailable" && o.beat.Known && o.beat.T.Sub(c.since.T) >= postedLate {
			c.poster = o
			return
		}
	}
}

// appendEvents tells a condition; of Ready, also what the kubelet said about it.
func (c *condition) appendEvents(dst []event.Event, ours bool) []event.Event {
	if len(c.quotes) == 0 {
		return dst
	}
	e := event.Event{Kind: event.KindNodeCondition, Component: "kubernetes", Source: facts.Kubernetes, Evidence: c.quotes}
	switch {
	case !c.since.Known:
	case c.status == "Unknown": // set by the controller, some time after the node's last heartbeat
		e.Start, e.Open = c.since, true
	case c.beat.Known && !c.beat.T.Before(c.since.T):
		e.Start, e.End, e.Open = c.since, c.beat, true
	}
	e.Fields = []event.Field{
		event.FieldNode.Text(c.node), event.FieldCondition.Text(c.kind), event.FieldStatus.Text(c.status),
		event.FieldReason.Text(c.reason), event.FieldMessage.Text(scan.Clip(c.message)),
	}
	of := ""
	if c.node != "" {
		of = " of " + c.node
	}
	e.Text = "condition " + c.kind + of + " is " + c.status + ": " + c.reason
	if c.poster != nil {
		e.AddText(event.FieldPosted, c.poster.kind)
		e.Evidence = slices.Concat(c.quotes, c.poster.quotes)
	}
	dst = append(dst, e)
	if c.kind != "Ready" && c.status == "True" {
		line, writer := repeatedLine("", c.reason, c.message)
		dst = appendRepeated(dst, line, writer, c.since, c.quotes)
	}
	if c.kind != "Ready" || !ours || c.status == "Unknown" {
		return dst
	}
	if c.since.Known && (c.status == "False" || c.beat.Known && c.beat.T.Sub(c.since.T) < freshFor) {
		r := readiness(c.status != "False", c.since, c.quotes)
		if c.status == "False" {
			r.Fields = []event.Field{
				event.FieldReason.Text(c.reason), event.FieldPLEG.Bool(strings.Contains(c.message, "PLEG is not healthy")),
			}
			if !c.beat.Known {
				r.Fields = append(r.Fields, kubelet.PLEGThreshold(c.message)...)
			}
		}
		dst = append(dst, r)
	}
	return c.appendComplaint(dst)
}

// downFor is how long a runtime has no answer for a kubelet that finds it down.
const downFor = 30 * time.Second

// freshFor is how long ago a node may have become Ready for that to be news.
const freshFor = 24 * time.Hour

// appendComplaint is the complaint that the condition quotes. It was written with the heartbeat.
func (c *condition) appendComplaint(dst []event.Event) []event.Event {
	if strings.Contains(c.message, "container runtime is down") && c.beat.Known && c.status == "False" {
		down := event.New(event.KindRuntimeDown, "container runtime is down")
		down.Component, down.Source, down.Start, down.Evidence = "kubelet", facts.Kubernetes, c.beat, c.quotes
		if c.since.Known && !c.beat.T.Before(c.since.T) { // it has said so ever since
			down.Start, down.End = c.since, c.beat
		}
		dst = append(dst, down)
	}
	if _, said, ok := strings.Cut(c.message, "container runtime not ready: "); ok && c.beat.Known && c.status == "False" {
		if e, ok := kubelet.RuntimeNotReady(said); ok {
			e.Component, e.Source, e.Start, e.Evidence = "kubelet", facts.Kubernetes, c.beat, c.quotes
			lasts := c.since.Known && c.beat.T.Sub(c.since.T) >= downFor
			if lasts {
				e.Start = c.since
			}
			dst = append(dst, e)
			if lasts && e.Kind != event.KindRuntimeDown {
				down := event.New(event.KindRuntimeDown, "the runtime is not ready, and has not been for "+c.beat.T.Sub(c.since.T).String())
				down.Component, down.Source, down.Start, down.End, down.Evidence = "kubelet", facts.Kubernetes, c.since.Add(downFor), c.beat, c.quotes
				dst = append(dst, down)
			}
		}
	}
	_, text, ok := strings.Cut(c.message, "PLEG is not healthy: ")
	if !ok || !c.beat.Known || c.status != "False" {
		return dst
	}
	r := event.Record{Text: "PLEG is not healthy: " + text, Wanted: true}
	r.Raw = r.Text
	e, ok := kubelet.EventedFull(&r)
	if !ok {
		e, ok = kubelet.PLEGUnhealthy(&r)
	}
	if !ok {
		return dst
	}
	e.Component, e.Source, e.Start, e.Evidence = "kubelet", facts.Kubernetes, c.beat, c.quotes
	return append(dst, e)
}

// addCondition takes a row of conditions as kubectl describe prints it.
func (n *nodes) addCondition(node string, row []event.Pair, q event.Quote) {
	cells := event.Record{Fields: row}
	c := condition{
		node: node, kind: cells.Value("Type"), status: cells.Value("Status"), reason: cells.Value("Reason"),
		message: cells.Value("Message"), quotes: []event.Quote{q},
	}
	c.since, _ = stamp.Date(cells.Value("LastTransitionTime"))
	c.beat, _ = stamp.Date(cells.Value("LastHeartbeatTime"))
	n.conditions = append(n.conditions, c)
}

// rowEvent is the Event in a row that kubectl printed. Its ages count from the moment of the print,
// which only a date above the row tells; at is zero without one.
func rowEvent(row []event.Pair, q event.Quote, at event.Time) kubeEvent {
	cells := event.Record{Fields: row}
	k := kubeEvent{
		kind: cells.Value("KIND"), name: cells.Value("NAME"), namespace: cells.Value("NAMESPACE"),
		reason: cells.Value("REASON"), message: cells.Value("MESSAGE"), level: cells.Value("TYPE"),
		count: cells.Value("COUNT"), from: cells.Value("SOURCE"), age: cells.Value("LAST SEEN"),
		quotes: []event.Quote{q},
	}
	if last, ok := stamp.Date(k.age); ok { // of kubectl get -w
		k.last, k.age = last, ""
		k.first, _ = stamp.Date(cells.Value("FIRST SEEN"))
	} else {
		k.oldest, _, _ = strings.Cut(cells.Value("FIRST SEEN"), " ")
		k.last, k.first = timeAgo(at, k.age), timeAgo(at, k.oldest)
	}
	if k.from == "kubelet" {
		k.host = cells.Value("HOST")
	}
	if k.kind == "" && (strings.HasPrefix(k.reason, "Node") || nodeReasons[k.reason] || isProblemDetector(k.from)) {
		k.kind = "Node"
	}
	return k
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

// appendListedNode is a row of kubectl get nodes. Which of them is ours nobody says, unless only
// one is not Ready.
func (n *nodes) appendListedNode(dst []event.Event, e *snapshots.Datum) []event.Event {
	name, status := e.Column("NAME"), e.Column("STATUS")
	ev := event.Event{
		Kind: event.KindNodeCondition, Component: "kubernetes", Source: facts.Kubernetes,
		Evidence: []event.Quote{e.Quote()},
	}
	ready := "True"
	if strings.HasPrefix(status, "NotReady") {
		ready = "False"
		n.addHint(name, e)
	}
	ev.Fields = []event.Field{event.FieldNode.Text(name), event.FieldCondition.Text("Ready"), event.FieldStatus.Text(ready)}
	ev.Text = "node " + name + " is " + status
	return append(dst, ev)
}

// appendListedPod is a row of kubectl get pods whose container ends each time it is started. What
// else a pod may wait for, a row does not say.
func appendListedPod(dst []event.Event, e *snapshots.Datum) []event.Event {
	if !strings.HasSuffix(e.Column("STATUS"), "CrashLoopBackOff") { // or Init:CrashLoopBackOff
		return dst
	}
	return append(dst, crashLoop("", e.Column("NAMESPACE"), e.Column("NAME"), e))
}

// crashLoop is a container that a listing shows so.
func crashLoop(name, namespace, pod string, e *snapshots.Datum) event.Event {
	ev := kubelet.CrashLoop(name, namespace, pod)
	ev.Component, ev.Source, ev.Evidence = "kubernetes", facts.Kubernetes, []event.Quote{e.Quote()}
	return ev
}

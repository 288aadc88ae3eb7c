package snapshots

import (
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// kubectl prints events and conditions as rows of words. What a row says is found by the shapes of
// its words, not by where they stand: tickets have rows whose columns a forum joined with single
// blanks, rows without their header, and rows whose start is cut off.
//
//	get events       5m12s  Warning  FailedKillPod  pod/web-0  error killing pod: …
//	-A, -o wide      default  2m  Normal  NodeNotReady  node/node-1  kubelet, node-1  Node node-1 …  2m  1  node-1.16d3c2
//	get -w, ≤ 1.7    2017-03-09 18:45:36 +0100 CET  2017-03-09 18:43:35 +0100 CET  2  web-0  Pod  Warning  …
//	get, ≤ 1.13      6m55s  7m  1  node-1  Node    Normal  NodeNotReady  kubelet, node-1  Node node-1 status …
//	describe         Warning  TaskHung  5m23s (x3 over 1h)  kernel-monitor  INFO: task dockerd:6500 blocked …
//	describe, ≤ 1.7  1h  2s  25  kubelet, node-1  spec.containers{web}  Warning  Unhealthy  Liveness probe …

// The names of what a row of events says, as kubectl's headers have them.
const (
	cellType      = "TYPE"
	cellReason    = "REASON"
	cellNamespace = "NAMESPACE"
	cellKind      = "KIND"
	cellName      = "NAME"
	cellSource    = "SOURCE"
	cellHost      = "HOST" // of the source
	cellMessage   = "MESSAGE"
	cellLast      = "LAST SEEN"
	cellFirst     = "FIRST SEEN"
	cellCount     = "COUNT"
)

// CutEvent cuts a row that kubectl printed of an Event: TYPE, REASON and MESSAGE, and what else the
// row has of NAMESPACE, KIND, NAME, SOURCE, HOST, LAST SEEN, FIRST SEEN and COUNT. Ok is false for
// a line that is no such row.
func CutEvent(line string) (fields []event.Pair, ok bool) {
	if len(line) > maxRow {
		return nil, false
	}
	line = plainRow(line)
	r := eventRow{line: line, words: joinDates(line, cutWords(line))}
	return r.fields, r.readRow()
}

// joinDates makes one word of each date that Go prints, 2017-03-09 18:45:36 +0100 CET: kubectl
// writes it in the place of an age where it watches.
func joinDates(line string, words []column) []column {
	const parts = 4
	for i := 0; i+parts <= len(words); i++ {
		if last := words[i+parts-1]; len(words[i].name) == len(time.DateOnly) && words[i].name[4] == '-' {
			date := line[words[i].at : last.at+len(last.name)]
			if _, err := time.Parse("2006-01-02 15:04:05 -0700", strings.TrimSuffix(date, " "+last.name)); err == nil {
				words[i].name = date
				words = slices.Delete(words, i+1, i+parts)
			}
		}
	}
	return words
}

// BeginsWithDates says that a line may be a row of an Event whose first cells are dates, not the
// stamp of a log.
func BeginsWithDates(line string) bool {
	date := len(time.DateTime)
	if len(line) < 2*date || line[4] != '-' || line[10] != ' ' || line[date] != ' ' || line[date+1] != '+' && line[date+1] != '-' {
		return false // as most lines of logs
	}
	line = line[:min(len(line), 100)]
	words := joinDates(line, cutWords(line))
	return len(words) > 1 && len(words[0].name) > len(time.DateTime) && len(words[1].name) > len(time.DateTime)
}

// maxRow is the longest row that is looked at, in bytes: an Event's message has at most 1024.
const maxRow = 4 << 10

// eventRow is a row while it is cut.
type eventRow struct {
	line   string
	words  []column
	fields []event.Pair
}

func (r *eventRow) addCell(name, value string) {
	if value != "" {
		r.fields = append(r.fields, event.Pair{Key: name, Value: value})
	}
}

// wordAt is a word of the row; empty behind its end.
func (r *eventRow) wordAt(i int) string {
	if i >= len(r.words) {
		return ""
	}
	return r.words[i].name
}

func (r *eventRow) readRow() bool {
	const most = 12 // words before the type
	for i := range r.words[:min(len(r.words), most)] {
		if w := r.words[i].name; w == "Normal" || w == "Warning" {
			r.addCell(cellType, w)
			// Gardener's health checks name an Event after the unit that they restart
			unit := r.wordAt(i+1) == "kubelet" || r.wordAt(i+1) == "containerd"
			return (isReason(r.wordAt(i+1)) || unit) && r.readFrom(i, i+1)
		}
	}
	// the start of the row is cut off
	return isReason(r.wordAt(0)) && len(r.words) > 2 && r.readFrom(0, 0)
}

// readFrom reads the row around its type at one word and its reason at another.
func (r *eventRow) readFrom(kind, reason int) bool {
	r.addCell(cellReason, r.words[reason].name)
	rest := reason + 1
	switch old, ok := r.readStart(kind); {
	case !ok:
		return false
	case old == "describe":
		return r.readMessage(rest, len(r.words))
	case old == "get":
		return r.readSource(rest)
	}
	if isAge(r.wordAt(rest)) { // describe
		from := r.readAges(rest)
		if cut := kind == reason; kind > 0 || cut && !isReporter(strings.Trim(r.wordAt(from), "{},")) {
			return false
		}
		return r.readSource(from)
	}
	object, name, ok := strings.Cut(r.wordAt(rest), "/")
	if !ok || !isObjectKind(object) || name == "" {
		return false
	}
	r.addCell(cellKind, object)
	r.addCell(cellName, name)
	if rest++; isFieldPath(r.wordAt(rest)) {
		rest++
	}
	if known := strings.TrimSuffix(r.wordAt(rest), ","); kind != reason && (known != r.wordAt(rest) || isReporter(known)) {
		return r.readSource(rest)
	}
	return r.readMessage(rest, len(r.words))
}

// readStart reads what stands before the type. Old says whose layout of old it is: get's or
// describe's, which have everything but the reason and the message there.
func (r *eventRow) readStart(kind int) (old string, ok bool) {
	at := 0
	if kind > 0 && !isAge(r.wordAt(0)) {
		r.addCell(cellNamespace, r.wordAt(0))
		at = 1
	}
	if at == kind {
		return "", at == 0
	}
	if !isAge(r.wordAt(at)) {
		return "", false
	}
	if next := r.readAges(at); next == kind {
		return "", true
	}
	if !isAge(r.wordAt(at+1)) || !isCount(r.wordAt(at+2)) || at+3 >= kind {
		return "", false
	}
	r.addCell(cellCount, r.wordAt(at+2))
	object := r.wordAt(at + 4)
	if at+4 < kind && (at+5 == kind || isFieldPath(r.wordAt(at+5))) && isObjectKind(object) {
		r.fields = setCells(r.fields, cellLast, r.wordAt(at), cellFirst, r.wordAt(at+1))
		r.addCell(cellName, r.wordAt(at+3))
		r.addCell(cellKind, object)
		return "get", true
	}
	r.fields = setCells(r.fields, cellLast, r.wordAt(at+1), cellFirst, r.wordAt(at))
	r.readReporter(at + 3)
	return "describe", true
}

// setCells drops the cells of some names and adds them with these values; names and values take
// turns.
func setCells(fields []event.Pair, cells ...string) []event.Pair {
	kept := fields[:0]
	for _, f := range fields {
		if f.Key != cells[0] && f.Key != cells[2] {
			kept = append(kept, f)
		}
	}
	for i := 0; i < len(cells); i += 2 {
		kept = append(kept, event.Pair{Key: cells[i], Value: cells[i+1]})
	}
	return kept
}

// readAges reads "5m" or "5m (x3 over 10m)", and returns the word behind it.
func (r *eventRow) readAges(at int) int {
	r.addCell(cellLast, r.wordAt(at))
	count, repeated := strings.CutPrefix(r.wordAt(at+1), "(x")
	if first := strings.TrimSuffix(r.wordAt(at+3), ")"); repeated && r.wordAt(at+2) == "over" && isAge(first) {
		r.addCell(cellCount, count)
		r.addCell(cellFirst, first)
		return at + 4
	}
	return at + 1
}

// readSource reads who reports the event, and its message.
func (r *eventRow) readSource(at int) bool {
	next, ok := r.readReporter(at)
	return ok && r.readMessage(next, len(r.words))
}

// readReporter reads who reports the event, and returns the word behind it: "kubelet", "kubelet,
// node-1", "{kubelet node-1}" (≤ 1.5).
func (r *eventRow) readReporter(at int) (next int, ok bool) {
	source := r.wordAt(at)
	name := strings.Trim(source, "{},")
	if source == "" || name == "" {
		return at, false
	}
	r.addCell(cellSource, name)
	at++
	if strings.HasSuffix(source, ",") || strings.HasPrefix(source, "{") && !strings.HasSuffix(source, "}") {
		r.addCell(cellHost, strings.TrimRight(r.wordAt(at), "}"))
		at++
	}
	return at, true
}

// readMessage reads the message, from one word to another, without what -o wide prints behind it:
// when the event was first seen, how often, and its name.
func (r *eventRow) readMessage(from, to int) bool {
	if n := to - from; n > 3 && isEventName(r.wordAt(to-1)) && isCount(r.wordAt(to-2)) && isAge(r.wordAt(to-3)) {
		r.addCell(cellFirst, r.wordAt(to-3))
		r.addCell(cellCount, r.wordAt(to-2))
		to -= 3
	}
	if from >= to {
		return false
	}
	last := r.words[to-1]
	r.addCell(cellMessage, r.line[r.words[from].at:last.at+len(last.name)])
	return true
}

// isReason knows the reason of an Event or a condition: one word of letters and digits that begins
// with a capital.
func isReason(w string) bool {
	if len(w) < 3 || w[0] < 'A' || w[0] > 'Z' {
		return false
	}
	lower := false
	for i := range len(w) {
		c := w[i]
		if c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z' {
			return false
		}
		lower = lower || c >= 'a'
	}
	return lower
}

// isAge knows how long ago something was, as kubectl writes it: 5m12s, 38d, <unknown>. A date of
// joinDates stands for one.
func isAge(w string) bool {
	if w == "<unknown>" || w == "<invalid>" || strings.Contains(w, " ") {
		return true
	}
	digits := 0
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
		case digits == 0 || strings.IndexByte("smhdy", c) < 0:
			return false
		default:
			digits = 0
		}
	}
	return w != "" && digits == 0
}

func isCount(w string) bool { return isWhole(w) }

// objectKinds are the objects whose events tell of a node, as get events and kubectl events write
// them.
var objectKinds = []string{
	"node", "pod", "daemonset", "deployment", "replicaset", "statefulset", "job", "cronjob", "service",
	"endpoints", "persistentvolumeclaim", "persistentvolume", "horizontalpodautoscaler", "lease", "namespace",
}

func isObjectKind(w string) bool {
	for _, kind := range objectKinds {
		if strings.EqualFold(w, kind) {
			return true
		}
	}
	return false
}

// isFieldPath knows the part of an object that an event is about: spec.containers{web}.
func isFieldPath(w string) bool { return strings.HasPrefix(w, "spec.") && strings.HasSuffix(w, "}") }

// isReporter knows components that report events about nodes and pods: of Kubernetes, and the
// monitors of node-problem-detector.
func isReporter(w string) bool {
	switch w {
	case "kubelet", "kube-proxy", "node-controller", "default-scheduler", "taint-eviction-controller", "health-checker", "abrt-adaptor":
		return true
	}
	return strings.HasSuffix(w, "-monitor")
}

// isEventName knows the name of an Event: its object's, and a number in hexadecimal digits.
func isEventName(w string) bool {
	dot := strings.LastIndexByte(w, '.')
	return dot > 0 && len(w)-dot > 8 && strings.Trim(w[dot+1:], "0123456789abcdef") == ""
}

// CutCondition cuts a row of the conditions that kubectl describe node prints: Type, Status,
// LastHeartbeatTime, LastTransitionTime, Reason and Message. Of a row without its start, the type
// is told by its reason, and of KubeletNotReady the status, too. Ok is false for a line that is no
// such row.
//
//	Ready  False  Tue, 10 Sep 2019 02:16:48 -0700  Tue, 10 Sep 2019 02:02:54 -0700  KubeletNotReady  PLEG is not …
//	Ready  Unknown  Mon, 03 Aug ... 12:01  NodeStatusUnknown  Kubelet stopped posting node status.
func CutCondition(line string) (fields []event.Pair, ok bool) {
	if len(line) > maxRow {
		return nil, false
	}
	line = plainRow(line)
	words := cutWords(line)
	at := 0
	kind := ""
	if len(words) > 1 && isReason(words[0].name) && isStatus(words[1].name) {
		kind, at = words[0].name, 1
	}
	if at >= len(words) || !isStatus(words[at].name) {
		return cutNotReady(line)
	}
	status := words[at].name
	at++
	beat, at, hasBeat := cutDate(line, words, at)
	since, at, hasSince := cutDate(line, words, at)
	if !hasBeat || !hasSince { // somebody has left the dates out, or all but a few letters of them
		at = slices.IndexFunc(words, func(w column) bool { return lines.StartsWith([]byte(w.name), "Kubelet", "NodeStatus") })
		if at < 0 || at > longestDates || kind == "" || !strings.HasSuffix(kind, "Pressure") && kind != "Ready" && kind != "OutOfDisk" {
			return nil, false
		}
	}
	if at >= len(words) || !isReason(words[at].name) {
		return nil, false
	}
	reason := words[at].name
	if kind == "" {
		kind = conditionOf[reason]
	}
	message := ""
	if at+1 < len(words) {
		message = strings.TrimRight(line[words[at+1].at:], " \t")
	}
	return []event.Pair{
		{Key: "Type", Value: kind},
		{Key: "Status", Value: status},
		{Key: "LastHeartbeatTime", Value: beat},
		{Key: "LastTransitionTime", Value: since},
		{Key: "Reason", Value: reason},
		{Key: "Message", Value: message},
	}, kind != ""
}

// cutNotReady cuts the end of a row of the condition Ready, from its reason on, or from a part of
// its second date:
//
//	KubeletNotReady              container runtime network not ready: NetworkReady=false reason:…
//	Jul 2017 09:06:21 -0700         KubeletNotReady                 runtime network not ready: …
func cutNotReady(line string) (fields []event.Pair, ok bool) {
	cells := cutCells(line)
	at := slices.IndexFunc(cells, func(c column) bool { return c.name == notReady })
	if at < 0 || at > 1 || at+1 >= len(cells) || at == 1 && strings.Trim(cells[0].name[len(cells[0].name)-1:], "0123456789") != "" {
		return nil, false
	}
	return []event.Pair{
		{Key: "Type", Value: conditionOf[notReady]},
		{Key: "Status", Value: "False"},
		{Key: "Reason", Value: notReady},
		{Key: "Message", Value: strings.TrimRight(line[cells[at+1].at:], " \t")},
	}, true
}

// notReady is the reason of a kubelet that says itself that it is not ready.
const notReady = "KubeletNotReady"

// longestDates is at which word of a row of conditions its reason stands, at most.
const longestDates = 14

// conditionOf are the conditions that only one of them has as its reason.
var conditionOf = map[string]string{notReady: "Ready", "KubeletReady": "Ready", "NodeStatusUnknown": "Ready", "NodeStatusNeverUpdated": "Ready"}

func isStatus(w string) bool { return w == "True" || w == "False" || w == "Unknown" }

// cutDate cuts "Tue, 10 Sep 2019 02:16:48 -0700" off the words; next is the word behind it.
func cutDate(line string, words []column, at int) (date string, next int, ok bool) {
	const parts = 6
	if at+parts > len(words) || !strings.HasSuffix(words[at].name, ",") || len(words[at].name) != len("Tue,") ||
		strings.Count(words[at+4].name, ":") != 2 {
		return "", at, false
	}
	last := words[at+parts-1]
	return line[words[at].at : last.at+len(last.name)], at + parts, true
}

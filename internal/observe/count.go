package observe

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// What is counted, as the field "of" of a event.KindCount says. Different ways of counting are never mixed.
const (
	ofThreads     = "threads"      // of the node; each of them takes a process id
	ofProcesses   = "processes"    // of the node
	ofPIDs        = "pids"         // processes and threads of one cgroup, as its pids controller counts them
	ofUnits       = "units"        // that systemd has loaded
	ofActiveUnits = "active units" // of a listing that leaves out the others
)

// reading is one reading of a number that may run out. It says something only together with a later one,
// so that a reading whose time stays unknown is dropped.
func reading(source, of string, value float64, at event.Time, q event.Quote, more ...event.Field) event.Event {
	e := event.Event{Kind: event.KindCount, Component: "node", Source: source, Start: at, Evidence: []event.Quote{q}}
	e.Fields = append([]event.Field{event.FieldOf.Text(of), event.FieldValue.Number(value)}, more...)
	e.Text = strconv.FormatFloat(value, 'f', -1, 64) + " " + of
	return e
}

// pidsAvailable is what the kubelet's eviction manager found, every 10 s from -v=3 on. Quantities are written
// as Kubernetes does (32k); what is not available is used, by threads.
//
//	≤ 1.20  eviction manager: observations: signal=pid.available, available: 31240, capacity: 32768, time: 2019-05-02 10:00:00.1 +0000 UTC m=+120.5
//	≥ 1.21  "Eviction manager:" log="observations" signal="pid.available" resourceName="" available="31240" capacity="32768" time="…"
func pidsAvailable(r *event.Record) (event.Event, bool) {
	text := r.Message()
	available, ok := r.Field("available")
	capacity, _ := r.Field("capacity")
	if ok {
		signal, _ := r.Field("signal")
		log, _ := r.Field("log")
		ok = signal == "pid.available" && log == "observations"
	} else if rest, found := strings.CutPrefix(text, "eviction manager: observations: signal=pid.available, "); found {
		available, ok = between(rest, "available: ", ",")
		capacity, _, _ = strings.Cut(after(rest, "capacity: "), ",")
	}
	free, known := quantity(available)
	limit, limited := quantity(capacity)
	if !ok || !known || !limited || free > limit {
		return event.Event{}, false
	}
	at, ok := r.Field("time")
	if !ok {
		_, at, _ = strings.Cut(text, ", time: ")
	}
	at, _, _ = strings.Cut(at, " m=")
	when, _ := stamp.Date(strings.TrimSuffix(at, " UTC")) // it has the year, which the line lacks
	e := reading("", ofThreads, limit-free, when, event.Quote{}, event.FieldLimit.Number(limit))
	e.Evidence = nil // the line, as of any event of a log
	return e, true
}

// quantity reads a whole number as Kubernetes writes it: 31240, 32k, 4M.
func quantity(s string) (float64, bool) {
	n := strings.TrimRight(s, "kMG")
	v, err := strconv.ParseUint(n, 10, 40)
	scale := map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[s[len(n):]]
	return float64(v) * scale, err == nil && scale > 0
}

// nodeCounts are gauges of the node exporter: what each counts, and the gauge with its limit.
var nodeCounts = map[string]struct{ of, limit string }{
	"node_processes_threads": {ofThreads, "node_processes_max_threads"},
	"node_processes_pids":    {ofProcesses, "node_processes_max_processes"},
	"node_systemd_units":     {ofUnits, ""},
}

// exporter puts together what one scrape of the node exporter tells.
type exporter struct {
	at     event.Time // node_time_seconds: the exporter's own clock
	values map[string]float64
	most   float64 // of what was added up last: the line that is quoted
	quotes map[string]event.Quote
}

// exporterClock is the gauge that says when the others were read.
const exporterClock = "node_time_seconds"

// sample takes one value; units are counted by state and come in several.
func (x *exporter) sample(name string, v float64, e *snapshots.Datum) {
	if name == exporterClock {
		x.at = event.Time{T: time.Unix(int64(v), 0).UTC(), Prec: time.Second, Known: true}
		return
	}
	if x.values == nil {
		x.values, x.quotes = map[string]float64{}, map[string]event.Quote{}
	}
	if _, seen := x.values[name]; !seen || v > x.most {
		x.quotes[name], x.most = quoteOf(e), v
	}
	x.values[name] += v
}

func (x *exporter) finish(dst []event.Event) []event.Event {
	for _, name := range [...]string{"node_processes_threads", "node_processes_pids", "node_systemd_units"} {
		v, ok := x.values[name]
		if !ok {
			continue
		}
		e := reading(Metrics, nodeCounts[name].of, v, x.at, x.quotes[name])
		if limit, ok := x.values[nodeCounts[name].limit]; ok {
			e.Fields = append(e.Fields, event.FieldLimit.Number(limit))
		}
		dst = append(dst, e)
	}
	return dst
}

// rlimit is what the kubelet's /stats/summary says of process ids: node.rlimit.time, maxpid, curproc.
type rlimit struct {
	at             event.Time
	limit, current float64
	quote          event.Quote
}

func (l *rlimit) datum(e *snapshots.Datum) {
	if len(e.Path) != 3 || e.Path[0] != "node" || e.Path[1] != "rlimit" {
		return
	}
	v, _ := strconv.ParseFloat(e.Value, 64)
	switch e.Path[2] {
	case "time":
		l.at, _ = stamp.Date(e.Value)
	case "maxpid":
		l.limit = v
	case "curproc":
		l.current, l.quote = v, quoteOf(e)
	}
}

func (l *rlimit) finish(dst []event.Event) []event.Event {
	if l.current <= 0 || l.limit <= 0 {
		return dst
	}
	return append(dst, reading(Metrics, ofThreads, l.current, l.at, l.quote, event.FieldLimit.Number(l.limit)))
}

package states

import (
	"strconv"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// nodeCounts are gauges of the node exporter: what each counts, and the gauge with its limit.
var nodeCounts = map[string]struct{ of, limit string }{
	"node_processes_threads": {facts.OfThreads, "node_processes_max_threads"},
	"node_processes_pids":    {facts.OfProcesses, "node_processes_max_processes"},
	"node_systemd_units":     {facts.OfUnits, ""},
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

// addSample takes one value; units are counted by state and come in several.
func (x *exporter) addSample(name string, v float64, e *snapshots.Datum) {
	if name == exporterClock {
		x.at = event.Time{T: time.Unix(int64(v), 0).UTC(), Prec: time.Second, Known: true}
		return
	}
	if x.values == nil {
		x.values, x.quotes = map[string]float64{}, map[string]event.Quote{}
	}
	if _, seen := x.values[name]; !seen || v > x.most {
		x.quotes[name], x.most = e.Quote(), v
	}
	x.values[name] += v
}

func (x *exporter) finishFile(dst []event.Event) []event.Event {
	for _, name := range [...]string{"node_processes_threads", "node_processes_pids", "node_systemd_units"} {
		v, ok := x.values[name]
		if !ok {
			continue
		}
		e := facts.NewReading(facts.Metrics, nodeCounts[name].of, v, x.at, x.quotes[name])
		if limit, ok := x.values[nodeCounts[name].limit]; ok {
			e.AddFields(event.FieldLimit.Number(limit))
		}
		dst = append(dst, e)
	}
	return dst
}

// rlimit is what the kubelet's /stats/summary says of process ids: node.rlimit.time, maxpid,
// curproc.
type rlimit struct {
	at             event.Time
	limit, current float64
	quote          event.Quote
}

func (l *rlimit) takeDatum(e *snapshots.Datum) {
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
		l.current, l.quote = v, e.Quote()
	}
}

func (l *rlimit) finishFile(dst []event.Event) []event.Event {
	if l.current <= 0 || l.limit <= 0 {
		return dst
	}
	return append(dst, facts.NewReading(facts.Metrics, facts.OfThreads, l.current, l.at, l.quote, event.FieldLimit.Number(l.limit)))
}

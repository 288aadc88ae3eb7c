package states

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// metrics reads the /metrics of the kubelet and of the node exporter. What a relist lasts is observed when it
// ends, so that the one that hangs is not in it.
type metrics struct {
	series map[string]*series // by name and operation
	order  []string
	node   exporter
}

// series is a histogram or summary, or a counter.
type series struct {
	name, operation string
	unit            float64 // seconds per unit of the values
	count, sum, p99 float64
	total, errors   float64
	has             map[string]bool
	buckets         []bucket
	quotes          map[string]event.Quote
}

type bucket struct {
	le, n float64
	quote event.Quote
}

// metricNames begin the lines that matter: Kubernetes up to 1.13 counts microseconds, from 1.14 on seconds.
var metricNames = []string{
	"kubelet_pleg_", "kubelet_runtime_operations", "kubelet_evented_pleg_", "kubernetes_build_info", "kubelet_running_pod", "kubelet_running_container",
	"container_runtime_", "kubelet_docker_operations", "node_processes_", "node_systemd_units", exporterClock,
}

// durations are the names of what is measured, and the facts or events that they are, with the seconds of one unit.
var durations = map[string]struct {
	name string
	unit float64
}{
	"kubelet_pleg_relist_duration_seconds":            {"relist", 1},
	"kubelet_pleg_relist_latency_microseconds":        {"relist", 1e-6},
	"kubelet_pleg_relist_interval_seconds":            {"relist-interval", 1},
	"kubelet_pleg_relist_interval_microseconds":       {"relist-interval", 1e-6},
	"kubelet_runtime_operations_duration_seconds":     {"operation", 1},
	"kubelet_runtime_operations_latency_microseconds": {"operation", 1e-6},
}

// gauges are single numbers that are facts.
var gauges = map[string]string{
	"kubelet_pleg_discard_events": "kubelet.pleg-discarded-events", "kubelet_pleg_last_seen_seconds": "kubelet.pleg-last-seen",
	"kubelet_evented_pleg_connection_error_count": "kubelet.evented-pleg-connection-errors", "kubelet_running_pods": "kubelet.running-pods",
	"kubelet_running_pod_count": "kubelet.running-pods",
}

func newMetrics() *metrics { return &metrics{series: map[string]*series{}} }

func (m *metrics) datum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Path) != 1 {
		return dst
	}
	name := e.Path[0]
	if name == "kubernetes_build_info" {
		v, ok := e.Field("git_version")
		if !ok {
			v, _ = e.Field("gitVersion") // up to 1.18
		}
		return addFact(dst, facts.Metrics, "kubelet.version", scan.Version(v), e)
	}
	v, err := strconv.ParseFloat(e.Value, 64)
	if err != nil || math.IsNaN(v) {
		return dst
	}
	if fact := gauges[name]; fact != "" {
		return addFact(dst, facts.Metrics, fact, strconv.FormatFloat(v, 'f', -1, 64), e)
	}
	if strings.HasPrefix(name, "node_") {
		m.node.sample(name, v, e)
		return dst
	}
	m.sample(name, v, e)
	return dst
}

// sample adds a value to its series.
func (m *metrics) sample(name string, v float64, e *snapshots.Datum) {
	operation, _ := e.Field("operation_type")
	switch name {
	case "kubelet_runtime_operations", "kubelet_runtime_operations_total":
		s := m.of("operation", operation, 1)
		s.total = v
		s.see("total", e)
		return
	case "kubelet_runtime_operations_errors", "kubelet_runtime_operations_errors_total":
		s := m.of("operation", operation, 1)
		s.errors = v
		s.see("errors", e)
		return
	}
	base, part := name, "quantile"
	for _, suffix := range [...]string{"bucket", "sum", "count"} {
		if b, ok := strings.CutSuffix(name, "_"+suffix); ok {
			base, part = b, suffix
		}
	}
	d, ok := durations[base]
	if !ok {
		return
	}
	s := m.of(d.name, operation, d.unit)
	switch part {
	case "count":
		s.count = v
	case "sum":
		s.sum = v * d.unit
	case "bucket":
		le, _ := e.Field("le")
		if bound, err := strconv.ParseFloat(le, 64); err == nil && len(s.buckets) < 200 {
			s.buckets = append(s.buckets, bucket{bound, v, quoteOf(e)})
		}
		return
	default:
		if q, _ := e.Field("quantile"); q != "0.99" {
			return
		}
		s.p99, part = v*d.unit, "p99"
	}
	s.see(part, e)
}

func (m *metrics) of(name, operation string, unit float64) *series {
	key := name + "/" + operation
	s := m.series[key]
	if s == nil {
		s = &series{name: name, operation: operation, has: map[string]bool{}, quotes: map[string]event.Quote{}}
		if len(m.series) < maxListed {
			m.series[key] = s
			m.order = append(m.order, key)
		}
	}
	s.unit = unit
	return s
}

func (s *series) see(part string, e *snapshots.Datum) {
	s.has[part] = true
	s.quotes[part] = quoteOf(e)
}

// quantile sets p99 to the upper bound of the bucket that holds it; one in the last bucket has none, and p99 is +Inf.
func (s *series) quantile() {
	slices.SortFunc(s.buckets, func(a, b bucket) int {
		switch {
		case a.le < b.le:
			return -1
		case a.le > b.le:
			return 1
		}
		return 0
	})
	n := len(s.buckets)
	if n == 0 || s.buckets[n-1].n <= 0 {
		return
	}
	for _, b := range s.buckets {
		if b.n >= 0.99*s.buckets[n-1].n {
			s.p99, s.has["p99"], s.quotes["p99"] = b.le, true, b.quote
			return
		}
	}
}

// finish tells of relist as facts, of each operation as an event.
func (m *metrics) finish(dst []event.Event) []event.Event {
	for _, key := range m.order {
		s := m.series[key]
		s.quantile()
		if s.name == "operation" {
			dst = s.event(dst)
			continue
		}
		name := "kubelet." + s.name
		if s.has["count"] {
			dst = facts.Append(dst, facts.Metrics, name+"-count", text(s.count), s.quotes["count"])
		}
		if s.has["count"] && s.has["sum"] && s.count > 0 {
			dst = facts.Append(dst, facts.Metrics, name+"-mean-seconds", text(s.sum/s.count), s.quotes["sum"])
		}
		if s.has["p99"] {
			dst = facts.Append(dst, facts.Metrics, name+"-p99-seconds", text(s.p99), s.quotes["p99"])
		}
	}
	return m.node.finish(dst)
}

// text writes a number for a fact, to the microsecond.
func text(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }

// event is what the calls of one type came to.
func (s *series) event(dst []event.Event) []event.Event {
	e := event.Event{Kind: event.KindRuntimeOperation, Component: "kubelet", Source: facts.Metrics, Text: s.operation + " calls of the kubelet"}
	e.Fields = []event.Field{event.FieldOperation.Text(s.operation)}
	count := s.count
	if s.has["total"] {
		count = s.total
	}
	add := func(part string, field event.Key, v float64) {
		if s.has[part] && !math.IsInf(v, 0) {
			e.Fields = append(e.Fields, field.Number(v))
		}
		if s.has[part] {
			e.Evidence = append(e.Evidence, s.quotes[part])
		}
	}
	add("total", event.FieldCount, count)
	if !s.has["total"] {
		add("count", event.FieldCount, count)
	}
	add("errors", event.FieldErrors, s.errors)
	if s.count > 0 {
		add("sum", event.FieldMeanSeconds, math.Round(s.sum/s.count*1e6)/1e6)
	}
	add("p99", event.FieldP99Seconds, s.p99)
	if len(e.Evidence) == 0 {
		return dst
	}
	return append(dst, e)
}

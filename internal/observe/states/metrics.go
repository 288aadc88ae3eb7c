package states

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// metrics reads the /metrics of the kubelet and of the node exporter. What a relist lasts is
// observed when it ends, so that the one that hangs is not in it.
type metrics struct {
	series map[string]*series // by name and operation
	order  []string
	node   exporter
	quotas throttling
}

// series is a histogram or summary, or a counter.
type series struct {
	name, operation string
	// values are, in seconds, its total and errors, count, sum and p99, as far as there are any,
	// with their lines.
	values  map[string]float64
	quotes  map[string]event.Quote
	buckets []bucket
}

type bucket struct {
	le, n float64
	quote event.Quote
}

// metricNames begin the lines that matter: Kubernetes up to 1.13 counts microseconds, from 1.14 on
// seconds.
var metricNames = []string{
	"kubelet_pleg_", "kubelet_runtime_operations", "kubelet_evented_pleg_", "kubernetes_build_info",
	"kubelet_running_pod", "kubelet_running_container", "container_cpu_cfs_",
	"container_runtime_", "kubelet_docker_operations", "node_processes_", "node_systemd_units", exporterClock,
}

// durations are the names of what is measured, and the facts or events that they are, with the
// seconds of one unit.
var durations = map[string]struct {
	name string
	unit float64
}{
	"kubelet_pleg_relist_duration_seconds":            {"relist", 1},
	"kubelet_pleg_relist_latency_microseconds":        {"relist", 1e-6},
	"kubelet_pleg_pod_relist_duration_seconds":        {"pod-relist", 1}, // of one pod; Kubernetes ≥ 1.36
	"kubelet_pleg_relist_interval_seconds":            {"relist-interval", 1},
	"kubelet_pleg_relist_interval_microseconds":       {"relist-interval", 1e-6},
	"kubelet_runtime_operations_duration_seconds":     {"operation", 1},
	"kubelet_runtime_operations_latency_microseconds": {"operation", 1e-6},
}

// operationCounts are the counters of calls, up to Kubernetes 1.13 and since.
var operationCounts = map[string]string{
	"kubelet_runtime_operations": "total", "kubelet_runtime_operations_total": "total",
	"kubelet_runtime_operations_errors": "errors", "kubelet_runtime_operations_errors_total": "errors",
}

// gauges are single numbers that are facts.
var gauges = map[string]string{
	"kubelet_pleg_discard_events": "kubelet.pleg-discarded-events", "kubelet_pleg_last_seen_seconds": "kubelet.pleg-last-seen",
	"kubelet_evented_pleg_connection_error_count": "kubelet.evented-pleg-connection-errors",
	"kubelet_running_pods":                        "kubelet.running-pods",
	"kubelet_running_pod_count":                   "kubelet.running-pods",
}

func newMetrics() *metrics { return &metrics{series: map[string]*series{}} }

func (m *metrics) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Path) != 1 {
		return dst
	}
	name := e.Path[0]
	if name == "kubernetes_build_info" {
		// the latter up to 1.18
		return addFact(dst, facts.Metrics, "kubelet.version", scan.Version(e.Column("git_version", "gitVersion")), e)
	}
	v, err := strconv.ParseFloat(e.Value, 64)
	if err != nil || math.IsNaN(v) {
		return dst
	}
	if fact := gauges[name]; fact != "" {
		return addFact(dst, facts.Metrics, fact, strconv.FormatFloat(v, 'f', -1, 64), e)
	}
	if strings.HasPrefix(name, "node_") {
		m.node.addSample(name, v, e)
		return dst
	}
	if strings.HasPrefix(name, "container_cpu_cfs_") {
		m.quotas.addSample(name, v, e)
		return dst
	}
	m.addSample(name, v, e)
	return dst
}

// addSample adds a value to its series.
func (m *metrics) addSample(name string, v float64, e *snapshots.Datum) {
	operation := e.Column("operation_type")
	if part := operationCounts[name]; part != "" {
		m.seriesOf("operation", operation).setValue(part, v, e.Quote())
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
	s := m.seriesOf(d.name, operation)
	switch part {
	case "bucket":
		if bound, err := strconv.ParseFloat(e.Column("le"), 64); err == nil && len(s.buckets) < 200 {
			s.buckets = append(s.buckets, bucket{bound, v, e.Quote()})
		}
		return
	case "sum":
		v *= d.unit
	case "quantile":
		if e.Column("quantile") != "0.99" {
			return
		}
		v, part = v*d.unit, "p99"
	}
	s.setValue(part, v, e.Quote())
}

func (m *metrics) seriesOf(name, operation string) *series {
	key := name + "/" + operation
	s := m.series[key]
	if s == nil {
		s = &series{name: name, operation: operation, values: map[string]float64{}, quotes: map[string]event.Quote{}}
		if len(m.series) < maxListed {
			m.series[key] = s
			m.order = append(m.order, key)
		}
	}
	return s
}

func (s *series) setValue(part string, v float64, q event.Quote) {
	s.values[part], s.quotes[part] = v, q
}

// setQuantile sets p99 to the upper bound of the bucket that holds it; one in the last bucket has
// none, and p99 is +Inf.
func (s *series) setQuantile() {
	slices.SortFunc(s.buckets, func(a, b bucket) int { return cmp.Compare(a.le, b.le) })
	n := len(s.buckets)
	if n == 0 || s.buckets[n-1].n <= 0 {
		return
	}
	for _, b := range s.buckets {
		if b.n >= 0.99*s.buckets[n-1].n {
			s.setValue("p99", b.le, b.quote)
			return
		}
	}
}

// finishFile tells of relist as facts, of each operation as an event.
func (m *metrics) finishFile(dst []event.Event) []event.Event {
	for _, key := range m.order {
		s := m.series[key]
		s.setQuantile()
		if s.name == "operation" {
			dst = s.appendEvent(dst)
			continue
		}
		name := "kubelet." + s.name
		count, counted := s.values["count"]
		sum, summed := s.values["sum"]
		if counted {
			dst = facts.Append(dst, facts.Metrics, name+"-count", factNumber(count), s.quotes["count"])
		}
		if summed && count > 0 {
			dst = facts.Append(dst, facts.Metrics, name+"-mean-seconds", factNumber(sum/count), s.quotes["sum"])
		}
		if p99, ok := s.values["p99"]; ok {
			dst = facts.Append(dst, facts.Metrics, name+"-p99-seconds", factNumber(p99), s.quotes["p99"])
		}
	}
	return m.quotas.finishFile(m.node.finishFile(dst))
}

// factNumber writes a number for a fact, to the microsecond.
func factNumber(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }

// appendEvent is what the calls of one type came to.
func (s *series) appendEvent(dst []event.Event) []event.Event {
	e := event.Event{
		Kind: event.KindRuntimeOperation, Component: "kubelet", Source: facts.Metrics,
		Text: s.operation + " calls of the kubelet",
	}
	e.Fields = []event.Field{event.FieldOperation.Text(s.operation)}
	add := func(part string, field event.Key, v float64) (known bool) {
		q, known := s.quotes[part]
		if known && !math.IsInf(v, 0) {
			e.AddFields(field.Number(v))
		}
		if known {
			e.Evidence = append(e.Evidence, q)
		}
		return known
	}
	if !add("total", event.FieldCount, s.values["total"]) {
		add("count", event.FieldCount, s.values["count"])
	}
	add("errors", event.FieldErrors, s.values["errors"])
	if count := s.values["count"]; count > 0 {
		add("sum", event.FieldMeanSeconds, math.Round(s.values["sum"]/count*1e6)/1e6)
	}
	add("p99", event.FieldP99Seconds, s.values["p99"])
	if len(e.Evidence) == 0 {
		return dst
	}
	return append(dst, e)
}

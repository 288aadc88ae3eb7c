package states

import (
	"math"
	"strconv"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// ranges reads the answer of Prometheus to a query, over a range or for one moment:
//
//	{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"node_processes_threads",…},"values":[[1699408800,"20102"],…]}]}}
//
// Numbers with a limit are readings; of the percentiles of relist the highest is a fact.
type ranges struct {
	series   string // the place of the current one in the answer
	name     string
	quantile string
	at       event.Time
	most     map[string]float64 // by fact
	quotes   map[string]event.Quote
}

// relistPercentiles are facts by the name of a summary, which Kubernetes has had up to 1.14 and
// recording rules have.
var relistPercentiles = map[string]string{
	"kubelet_pleg_relist_duration_seconds":                                  "kubelet.relist-p99-seconds",
	"kubelet_pleg_relist_interval_seconds":                                  "kubelet.relist-interval-p99-seconds",
	"node_quantile:kubelet_pleg_relist_duration_seconds:histogram_quantile": "kubelet.relist-p99-seconds",
}

func (r *ranges) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	p := e.Path
	if len(p) < 5 || p[0] != "data" || p[1] != "result" {
		return dst
	}
	if p[2] != r.series {
		r.series, r.name, r.quantile = p[2], "", ""
	}
	last := p[len(p)-1]
	switch p[3] {
	case "metric":
		switch last {
		case "__name__":
			r.name = e.Value
		case "quantile":
			r.quantile = e.Value
		}
	case "values", "value":
		if last == "0" {
			r.at = epochTime(e.Value)
			return dst
		}
		return r.takeValue(dst, e)
	}
	return dst
}

// epochTime is a moment in seconds since 1970.
func epochTime(s string) event.Time {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 || v > 1<<40 {
		return event.Time{}
	}
	seconds, fraction := math.Modf(v)
	return event.Time{T: time.Unix(int64(seconds), int64(fraction*1e9)).UTC(), Prec: time.Second, Known: true}
}

func (r *ranges) takeValue(dst []event.Event, e *snapshots.Datum) []event.Event {
	v, err := strconv.ParseFloat(e.Value, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return dst
	}
	if count, ok := nodeCounts[r.name]; ok {
		return append(dst, facts.NewReading(facts.Metrics, count.of, v, r.at, e.Quote()))
	}
	fact := relistPercentiles[r.name]
	if fact == "" || r.quantile != "0.99" {
		return dst
	}
	if most, seen := r.most[fact]; !seen || v > most {
		if r.most == nil {
			r.most, r.quotes = map[string]float64{}, map[string]event.Quote{}
		}
		r.most[fact], r.quotes[fact] = v, e.Quote()
	}
	return dst
}

func (r *ranges) finishFile(dst []event.Event) []event.Event {
	for _, fact := range [...]string{"kubelet.relist-p99-seconds", "kubelet.relist-interval-p99-seconds"} {
		if v, ok := r.most[fact]; ok {
			dst = facts.Append(dst, facts.Metrics, fact, factNumber(v), r.quotes[fact])
		}
	}
	return dst
}

package states

import (
	"math"
	"path"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// cgroupPeriods are the names under which cAdvisor counts the periods of a cgroup, and those in
// which it had used up its CPU time.
const cgroupPeriods, cgroupThrottled = "container_cpu_cfs_periods_total", "container_cpu_cfs_throttled_periods_total"

// throttling is what the kubelet's /metrics/cadvisor say of the cgroups of daemons:
//
//	container_cpu_cfs_periods_total{container="",id="/system.slice/containerd.service",…} 132711 1690877611022
//	container_cpu_cfs_throttled_periods_total{container="",id="/system.slice/containerd.service",…} 118004 1690877611022
type throttling struct {
	order  []string
	counts map[string]map[string]float64 // by the cgroup and the name
	quotes map[string]event.Quote        // of the throttled periods
}

// addSample takes one of these lines, of a cgroup of services.
func (t *throttling) addSample(name string, v float64, e *snapshots.Datum) {
	id := e.Column("id")
	if !strings.HasSuffix(id, ".service") && !strings.HasSuffix(id, ".slice") || strings.HasPrefix(id, "/kubepods") || name != cgroupPeriods && name != cgroupThrottled {
		return
	}
	if t.counts == nil {
		t.counts, t.quotes = map[string]map[string]float64{}, map[string]event.Quote{}
	}
	if t.counts[id] == nil {
		if len(t.order) == maxListed {
			return
		}
		t.order = append(t.order, id)
		t.counts[id] = map[string]float64{}
	}
	t.counts[id][name] = v
	if name == cgroupThrottled {
		t.quotes[id] = e.Quote()
	}
}

// finishFile appends an event for each cgroup that was throttled.
func (t *throttling) finishFile(dst []event.Event) []event.Event {
	for _, id := range t.order {
		periods, throttled := t.counts[id][cgroupPeriods], t.counts[id][cgroupThrottled]
		if periods <= 0 || throttled <= 0 {
			continue
		}
		e := event.New(
			event.KindCgroup, "cgroup "+id, event.FieldPath.Text(id), event.FieldThrottled.Number(throttled),
			event.FieldThrottledShare.Number(math.Round(100*throttled/periods)),
		)
		e.AddText(event.FieldDaemon, daemon.OfService(strings.TrimSuffix(path.Base(id), ".service")))
		e.Component, e.Source, e.Evidence = "node", facts.Node, []event.Quote{t.quotes[id]}
		dst = append(dst, e)
	}
	return dst
}

package restarts

import (
	"slices"
	"sort"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// longestBeginning is how long an API server finds no etcd at most while both begin.
const longestBeginning = 2 * time.Minute

// mostBeginnings is how often a control plane begins at most in logs of one that does not end again
// and again.
const mostBeginnings = 2

// markEtcdBegins marks that nobody listened at etcd's port while a control plane began: the API
// server begins beside etcd and tries until that is there, and afterwards the node is Ready, which
// is told by somebody who has read the node at the API server.
func markEtcdBegins(events []*event.Event) {
	var runs [][]*event.Event
	var ready time.Time // the last word of that
	for _, e := range events {
		switch {
		case !e.Start.Known || e.Start.Lacks != 0:
		case e.Kind == event.KindNodeReady, e.Kind == event.KindNodeCondition && e.FieldText(event.FieldCondition) == "Ready" && e.FieldText(event.FieldStatus) == "True":
			if at := e.Last().T; at.After(ready) {
				ready = at
			}
		case e.Kind == event.KindEtcdTrouble && e.FieldText(event.FieldWhat) == "gone":
			if n := len(runs); n > 0 && e.Start.T.Sub(runs[n-1][len(runs[n-1])-1].Start.T) < longestBeginning {
				runs[n-1] = append(runs[n-1], e)
			} else {
				runs = append(runs, []*event.Event{e})
			}
		}
	}
	if len(runs) > mostBeginnings {
		return
	}
	for _, run := range runs {
		first, last := run[0].Start.T, run[len(run)-1].Start.T
		if last.Sub(first) >= longestBeginning || !ready.After(last) {
			continue
		}
		for _, e := range run {
			e.AddFields(event.FieldRestarting.Bool(true))
		}
	}
}

// longestReady is how long after its kubelet's start a node is Ready that has begun.
// Some seconds before it says that it has started it asks the API server.
const (
	longestReady = 5 * time.Minute
	beforeStart  = 10 * time.Second
)

// markNodeBegins marks what a kubelet meets that begins beside its API server and the network of
// its node, which was Ready soon after: nobody at the API server's port, and no network yet.
func markNodeBegins(events []*event.Event) {
	starts, ready := timesOf(events, event.KindKubeletStart), timesOf(events, event.KindNodeReady)
	for _, e := range events {
		switch e.Kind {
		case event.KindAPIFailed, event.KindCertificate:
			if e.FieldText(event.FieldReason) != "refused" {
				continue
			}
		case event.KindNetworkNotReady:
		default:
			continue
		}
		if !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		start, started := lastUntil(starts, e.Start.T.Add(beforeStart))
		if at, became := firstFrom(ready, e.Last().T); started && became && at.Sub(start) < longestReady {
			e.AddFields(event.FieldRestarting.Bool(true))
		}
	}
}

// lastUntil is the last of times, which are in order, that is not after t.
func lastUntil(times []time.Time, t time.Time) (last time.Time, ok bool) {
	i := sort.Search(len(times), func(i int) bool { return times[i].After(t) })
	if i == 0 {
		return last, false
	}
	return times[i-1], true
}

// firstFrom is the first of times, which are in order, that is not before t.
func firstFrom(times []time.Time, t time.Time) (first time.Time, ok bool) {
	i := sort.Search(len(times), func(i int) bool { return !times[i].Before(t) })
	if i == len(times) {
		return first, false
	}
	return times[i], true
}

// timesOf are when events of a kind were, in their order.
func timesOf(events []*event.Event, kind event.Kind) (times []time.Time) {
	for _, e := range events {
		if e.Kind == kind && e.Start.Known && e.Start.Lacks == 0 {
			times = append(times, e.Start.T)
		}
	}
	return times
}

// earlyFailure is how long after its kubelet's start a node may still wait for its network plugin's
// pod, and goodAfter how long nothing may fail any more, in a log that goes on, until that is over:
// the kubelet tries each pod anew after some seconds.
const (
	earlyFailure = 5 * time.Minute
	goodAfter    = 3 * time.Minute
)

// notYetThere are the reasons for which the CNI fails while the pod that serves it has not begun.
var notYetThere = []string{"cni-no-daemon", "cni-no-file", "cni-no-program", "cni-no-address", "cni-no-api-server"}

// markNetworkBegins marks that sandboxes got no network while a node began, as the pod of its
// network plugin did, too: its kubelet had just started, and no such call fails any more in a log
// that goes on.
func markNetworkBegins(events []*event.Event, endOfLog func(file string) time.Time) {
	var next time.Time // the failure after those that were looked at
	starts := timesOf(events, event.KindKubeletStart)
	isEarly := func(at time.Time) bool {
		start, started := lastUntil(starts, at)
		return started && at.Sub(start) < earlyFailure
	}
	over := false // the failures that were looked at last ended
	for _, e := range slices.Backward(events) {
		if !slices.Contains(notYetThere, e.FieldText(event.FieldReason)) || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		last := e.Last().T
		if after := next; after.IsZero() {
			over = endOfLog(e.Pos().File).Sub(last) >= goodAfter
		} else if after.Sub(last) >= goodAfter {
			over = true
		}
		next = e.Start.T
		if over = over && isEarly(last); over {
			e.AddFields(event.FieldRestarting.Bool(true))
		}
	}
}

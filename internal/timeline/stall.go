package timeline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// The kubelet's own numbers (pkg/kubelet/pleg/generic.go, pkg/kubelet/kubelet.go).
const (
	// relistThreshold is the threshold where a line does not say it.
	relistThreshold = 3 * time.Minute
	// complaintPause is the longest pause between two complaints: syncLoop backs off from 100 ms to
	// 5 s.
	complaintPause = 5 * time.Second
	// conditionDelay is how late the node's condition can change: the kubelet checks its status
	// every 10 s, and writes it through a server that can be slow.
	conditionDelay = time.Minute
	// sameStart is how far apart the starts can be that the complaints of one stall give: stamps
	// are cut to the second, and a kubelet can get no CPU between reading the clock and writing.
	// The starts of two stalls are apart by the duration of a relist that was too slow.
	sameStart = 30 * time.Second
	// podTimeouts is how long relist takes for two time-outs of runtimeRequestTimeout (2 min by
	// default): up to 1.31 of one pod, which is inspected again when that failed; later of two pods
	// (podsOfTooth).
	podTimeouts = 2 * 2 * time.Minute
	// inspectedOnce is the first minor version of Kubernetes 1 whose relist does not inspect a pod
	// again that it could not inspect (kubernetes#128518). One pod then costs 2 min, less than the
	// threshold.
	inspectedOnce = 32
	// toothSlack is how much longer a tooth can take: for the other pods, and a second until the
	// next relist.
	toothSlack = 25 * time.Second
	// runtimeThreshold is how long the kubelet waits for a good answer to Status before it says that
	// the runtime is down: maxWaitForContainerRuntime.
	runtimeThreshold = 30 * time.Second
	// settling is how long after its start a kubelet may find no runtime on an ordinary boot: the
	// runtime starts beside it.
	settling = 5 * time.Minute
	// firstRelist is how long a kubelet needs from its start until its first relist has listed the
	// pods.
	firstRelist = 30 * time.Second
)

// kubeletLog is the source of what a kubelet wrote itself.
const kubeletLog = "kubelet.log"

// findStalls computes the periods in which relist did not complete: a line that was written at t
// and says "last seen active a ago" gives the start t-a. Lines with the same start are one stall;
// another start is another stall. Version is the kubelet's, empty when it is not known.
func findStalls(events []*event.Event, coverage []Coverage, version string) []Stall {
	s := readSigns(events, coverage)
	all := append(s.stallsFromComplaints(), s.stallsBeforeFirstRelist()...)
	all = append(all, s.stallsOfRuntime(all)...)
	slices.SortStableFunc(all, func(a, b Stall) int { return a.Start.Compare(b.Start) })
	s.markSeries(all, version)
	return all
}

// podsOfTooth says whose time-outs make a tooth of four minutes.
func podsOfTooth(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	switch {
	case major != "1" || err != nil:
		return "one pod, or with kubelet 1.32 or later of two pods"
	case n >= inspectedOnce:
		return "two pods"
	}
	return "one pod"
}

// markSeries finds what only several stalls in a row show: a saw-tooth, and a stall that comes back
// after a restart of the kubelet. In both, pods hang: they were listed each time.
func (s *signs) markSeries(all []Stall, version string) {
	for i := 1; i < len(all); i++ {
		before, stall := &all[i-1], &all[i]
		if e := firstEventFrom(s.starts, before.End); e != nil && stall.Start.After(e.Start.T) &&
			e.Start.T.Sub(before.End) <= conditionDelay && stall.Start.Sub(e.Start.T) <= firstRelist {
			stall.Restarted = e.Start.T
			continue
		}
		if period := stall.Start.Sub(before.Start); period >= podTimeouts-sameStart &&
			period <= podTimeouts+toothSlack {
			before.Tooth = max(before.Tooth, 1)
			stall.Tooth = before.Tooth + 1
		}
	}
	for i := range all {
		stall := &all[i]
		switch {
		case stall.Phase != PhaseUnknown:
		case stall.Tooth > 0:
			stall.Phase = PhasePod
			stall.PhaseBasis = "it ends after 4 minutes, two time-outs of " + podsOfTooth(version) + ", and begins again"
		case !stall.Restarted.IsZero():
			stall.Phase = PhasePod
			stall.PhaseBasis = "after a restart of the kubelet relist listed the pods and stuck again"
		}
	}
}

// dumpedLate is how long after the last line of a stall that goes on a dump is still of it: collect
// reads the journals first, and writes two dumps of the kubelet 20 s apart.
const dumpedLate = time.Minute

// markSlowRelists marks relists that two dumps of one stall show at different pods: relist is then
// slow, but goes on. Addresses are valid only within one relist, so dumps without a time, and dumps
// of different stalls, show nothing.
func markSlowRelists(events []*event.Event, all []Stall) {
	const most = 100 // dumps; a bundle holds a handful
	var relists []*event.Event
	for _, e := range events {
		if e.Kind == event.KindRelist && e.FieldText(event.FieldPodPtr) != "" && e.Last().Known && len(relists) < most {
			relists = append(relists, e)
		}
	}
	within := func(e *event.Event, s *Stall) bool {
		after := complaintPause
		if s.Open {
			after = dumpedLate
		}
		return !e.Last().T.Before(s.Start) && !e.Last().T.After(s.End.Add(after))
	}
	for _, e := range relists {
		i := slices.IndexFunc(all, func(s Stall) bool { return within(e, &s) })
		if i >= 0 && slices.ContainsFunc(relists, func(other *event.Event) bool {
			return within(other, &all[i]) && other.FieldText(event.FieldPodPtr) != e.FieldText(event.FieldPodPtr) &&
				!other.Last().T.Equal(e.Last().T)
		}) {
			e.SetField(event.FieldMoved.Bool(true))
		}
	}
}

// toEvent makes an event of the stall, so that rules can tie their steps to it.
func (s *Stall) toEvent() *event.Event {
	e := &event.Event{
		Kind: event.KindStall, Component: "kubelet", Source: kubeletLog, Host: s.Host, Start: event.At(s.Start),
		End: event.At(s.End), Open: s.Open,
		Text: "relist did not complete", Evidence: s.Evidence,
	}
	if s.RuntimeDown {
		e.Text = "the runtime did not answer the kubelet"
	}
	e.Fields = []event.Field{
		{Key: event.FieldPhase, Value: event.String(string(s.Phase))},
		{Key: event.FieldThreshold, Value: event.Duration(s.Threshold)},
	}
	return e
}

// complaint is one line of the sync loop that skips its work because PLEG is not healthy.
type complaint struct {
	*event.Event
	start     time.Time // of the relist that does not end
	threshold time.Duration
}

// signs are the events about relist and about the node's condition, each kind in the order of time.
type signs struct {
	complaints      []complaint
	never           []*event.Event // complaints before any relist has succeeded
	down            []*event.Event // complaints that the runtime is down
	starts          []*event.Event // of kubelets
	notReady, ready []*event.Event
	// calls that reached their deadline, by the step of relist that makes them
	listErrors []*event.Event
	podErrors  []*event.Event
	// lists that waited for a lock for a minute or more, in a dump of the runtime
	listWaits []*event.Event
	relists   []*event.Event // relist goroutines in dumps whose phase is known
	undated   []*event.Event // those in dumps without a time
	logEnd    time.Time      // the kubelet's last line
	denseEnd  time.Time      // the last of a log of which nobody chose the lines
}

func readSigns(events []*event.Event, coverage []Coverage) *signs {
	s := &signs{}
	for _, c := range coverage {
		if c.Source == kubeletLog {
			s.logEnd = laterTime(s.logEnd, c.End)
			if c.IsDense() {
				s.denseEnd = laterTime(s.denseEnd, c.End)
			}
		}
	}
	for _, e := range events {
		if e.Start.IsZero() {
			if e.Kind == event.KindRelist {
				s.undated = append(s.undated, e)
			}
			continue
		}
		switch e.Kind {
		case event.KindPLEGUnhealthy:
			s.addComplaint(e)
		case event.KindKubeletStart:
			s.starts = append(s.starts, e)
		case event.KindRuntimeDown:
			s.down = append(s.down, e)
		case event.KindNodeNotReady:
			s.notReady = append(s.notReady, e)
			s.addNotReady(e)
		case event.KindNodeReady:
			s.ready = append(s.ready, e)
		case event.KindRelist:
			if knownPhase(e) != PhaseUnknown {
				s.relists = append(s.relists, e)
			}
		case event.KindCRIError, event.KindRelistFailed:
			s.addFailedCall(e)
		case event.KindLockWait, event.KindLockQueue:
			if isListCall(e.FieldText(event.FieldCall)) && e.Duration() >= time.Minute {
				s.listWaits = append(s.listWaits, e)
			}
		}
	}
	return s
}

// addComplaint adds a complaint. A line with an age below its own threshold is none; one that is
// cut before its age goes on with the complaint before it, or shows the threshold alone.
func (s *signs) addComplaint(e *event.Event) {
	if e.FieldText(event.FieldNever) == "true" {
		s.never = append(s.never, e)
		return
	}
	threshold, _ := e.FieldDuration(event.FieldThreshold)
	threshold = max(threshold, relistThreshold) // where a line names it, it is that or ten minutes
	start := e.Start.T.Add(-threshold)
	if age, aged := e.FieldDuration(event.FieldAge); aged && age < threshold {
		return
	} else if aged {
		start = e.Start.T.Add(-age)
	} else if n := len(s.complaints); n > 0 && e.Start.T.Sub(s.complaints[n-1].Start.T) <= 2*complaintPause {
		start = s.complaints[n-1].start
	}
	s.complaints = append(s.complaints, complaint{e, start, threshold})
}

// addNotReady adds the complaint about PLEG that a condition gives as its reason. One of the API
// that was seen only later has no age at its transition; the kubelet made it when the threshold had
// passed.
func (s *signs) addNotReady(e *event.Event) {
	threshold, ok := e.FieldDuration(event.FieldThreshold)
	if !ok || e.FieldText(event.FieldPLEG) != "true" {
		return
	}
	if age, aged := e.FieldDuration(event.FieldAge); !aged || age < threshold {
		s.complaints = append(s.complaints, complaint{e, e.Start.T.Add(-threshold), threshold})
		return
	}
	s.addComplaint(e)
}

// addFailedCall adds a call of relist that reached its deadline: GetPods lists, updateCache asks
// for one pod. A relist that ended with an error of GetPods was there, whatever the error.
func (s *signs) addFailedCall(e *event.Event) {
	if e.FieldText(event.FieldDeadline) != "true" && e.Kind != event.KindRelistFailed {
		return
	}
	switch method := e.FieldText(event.FieldMethod); {
	case method == "" || isListCall(method):
		s.listErrors = append(s.listErrors, e)
	case method == "ContainerStatus" || method == "PodSandboxStatus" || method == event.PodStatus:
		s.podErrors = append(s.podErrors, e)
	}
}

// isListCall says that GetPods makes the call.
func isListCall(method string) bool {
	switch method {
	case "ListContainers", "ListPodSandbox", "StreamContainers", "StreamPodSandboxes":
		return true
	}
	return false
}

// stallsFromComplaints makes one stall of all complaints that give the same start.
func (s *signs) stallsFromComplaints() []Stall {
	complaints := s.complaints
	slices.SortStableFunc(complaints, func(a, b complaint) int { return a.start.Compare(b.start) })
	var all []Stall
	for len(complaints) > 0 {
		n := 1
		for n < len(complaints) && complaints[n].start.Sub(complaints[0].start) <= sameStart {
			n++
		}
		run := complaints[:n]
		slices.SortStableFunc(run, func(a, b complaint) int { return compareEvents(a.Event, b.Event) })
		start, threshold := run[0].start, run[0].threshold
		stall := newStall(start, threshold, run[0].Event, run[n-1].Event)
		s.addOutcome(&stall, start.Add(threshold-time.Second)) // stamps are rounded down
		all = append(all, stall)
		complaints = complaints[n:]
		if len(complaints) == 0 && !areAllShown(run) && stall.Ready.IsZero() && s.denseEnd.Sub(stall.End) <= 2*complaintPause {
			all[len(all)-1].Open = true
		}
	}
	return all
}

// areAllShown says that the last complaints follow each other as the kubelet writes them. Of lines
// that somebody chose, one or two of many show that the others were left out: then no line after
// them does not mean that there was none.
func areAllShown(run []complaint) bool {
	n := len(run)
	return n > 1 && run[n-1].Start.T.Sub(run[n-2].Start.T) <= 2*complaintPause
}

// newStall makes a stall from its first and its last complaint.
func newStall(start time.Time, threshold time.Duration, first, last *event.Event) Stall {
	s := Stall{
		Window: Window{start, last.Start.T}, Threshold: threshold, Phase: PhaseUnknown,
		Evidence: event.FirstMessages(first.Evidence, 1),
	}
	if last != first {
		s.Evidence = append(s.Evidence, event.FirstMessages(last.Evidence, 1)...)
	}
	if first.Source == kubeletLog {
		s.Host = first.Host
	}
	return s
}

// stallsBeforeFirstRelist finds kubelets whose first relist does not end. Such complaints are
// normal in a kubelet's first moments, so only a run that is longer than the threshold counts. A
// pause, or a kubelet that starts, ends a run.
func (s *signs) stallsBeforeFirstRelist() []Stall {
	var all []Stall
	for never := s.never; len(never) > 0; {
		n := 1
		for n < len(never) && never[n].Start.T.Sub(never[n-1].Start.T) <= conditionDelay &&
			!s.hasStartBetween(never[n-1], never[n]) {
			n++
		}
		first, last := never[0], never[n-1]
		if last.Start.T.Sub(first.Start.T) > relistThreshold {
			stall := newStall(first.Start.T, relistThreshold, first, last)
			// The time of a relist is stored as soon as the lists are there.
			stall.Phase, stall.PhaseBasis = PhaseList, "no relist of this kubelet has listed the pods yet"
			s.addOutcome(&stall, first.Start.T)
			all = append(all, stall)
		}
		never = never[n:]
	}
	return all
}

// stallsOfRuntime finds the runs of complaints that the runtime is down which no other stall
// explains. A pause ends a run.
func (s *signs) stallsOfRuntime(others []Stall) []Stall {
	down := slices.DeleteFunc(s.down, func(e *event.Event) bool { return s.hasStartBefore(e, settling) })
	var all []Stall
	for len(down) > 0 {
		n := 1
		for n < len(down) && down[n].Start.T.Sub(down[n-1].Last().T) <= conditionDelay {
			n++
		}
		first, last := down[0], down[n-1]
		stall := newStall(first.Start.T.Add(-runtimeThreshold), runtimeThreshold, first, last)
		stall.RuntimeDown, stall.End = true, last.Last().T // a condition has gone on since it changed
		if !slices.ContainsFunc(others, func(o Stall) bool { return !stall.Start.After(o.End) && !stall.End.Before(o.Start) }) {
			s.addOutcome(&stall, first.Start.T)
			all = append(all, stall)
		}
		down = down[n:]
	}
	return all
}

// hasStartBefore says that a kubelet started at most that long before an event.
func (s *signs) hasStartBefore(e *event.Event, most time.Duration) bool {
	start := firstEventFrom(s.starts, e.Start.T.Add(-most))
	return start != nil && !start.Start.T.After(e.Start.T)
}

func (s *signs) hasStartBetween(a, b *event.Event) bool {
	e := firstEventFrom(s.starts, a.Start.T.Add(1))
	return e != nil && !e.Start.T.After(b.Start.T)
}

// firstEventFrom is the first event at t or later; nil when there is none.
func firstEventFrom(events []*event.Event, t time.Time) *event.Event {
	if i := indexFrom(events, t); i < len(events) {
		return events[i]
	}
	return nil
}

func indexFrom(events []*event.Event, t time.Time) int {
	i, _ := slices.BinarySearchFunc(events, t, func(e *event.Event, t time.Time) int { return e.Start.T.Compare(t) })
	return i
}

// countBetween counts the events from one moment to another.
func countBetween(events []*event.Event, from, to time.Time) int {
	return max(0, indexFrom(events, to)-indexFrom(events, from))
}

// addOutcome adds what the other lines show: recovery, the node's condition, the phase. unhealthy
// is the moment from which on the condition can have changed.
func (s *signs) addOutcome(stall *Stall, unhealthy time.Time) {
	limit := stall.End.Add(conditionDelay)
	if e := firstEventFrom(s.notReady, unhealthy); e != nil && e.Start.T.Before(limit) {
		stall.NotReady, stall.NotReadyEvidence = e.Start.T, e.Evidence
	} else if e := s.notReadyAt(stall, unhealthy); e != nil {
		stall.NotReady, stall.NotReadyEvidence = e.Start.T, e.Evidence
	}
	if e := firstEventFrom(s.ready, stall.End); e != nil && e.Start.T.Before(limit) {
		stall.Ready, stall.ReadyEvidence = e.Start.T, e.Evidence
	}
	// A kubelet that continues to write without a complaint for two pauses has recovered.
	stall.Open = stall.Ready.IsZero() && s.logEnd.Sub(stall.End) <= 2*complaintPause
	if phase := s.phaseFromStacks(stall); phase != PhaseUnknown {
		stall.Phase, stall.PhaseBasis = phase, "the relist goroutine in a dump of the kubelet"
	} else if stall.Phase == PhaseUnknown {
		if stall.Phase = s.phaseFromErrors(stall); stall.Phase != PhaseUnknown {
			stall.PhaseBasis = "the calls that failed"
		} else if s.hasListWait(stall) {
			stall.Phase, stall.PhaseBasis = PhaseList, "lists that wait for a lock in a dump of the runtime"
		}
	}
}

// notReadyAt is how the node had become NotReady during the stall, before PLEG was unhealthy, and
// stayed so. A runtime that answers nobody makes it so after two minutes, PLEG after three.
func (s *signs) notReadyAt(stall *Stall, unhealthy time.Time) *event.Event {
	e := firstEventFrom(s.notReady, stall.Start)
	if e != nil && !e.Start.T.After(unhealthy) {
		if ready := firstEventFrom(s.ready, e.Start.T); ready == nil || ready.Start.T.After(unhealthy) {
			return e
		}
	}
	return nil
}

// hasListWait says that a dump from within the stall shows a list that waits for a lock. No call
// fails where its deadline is longer than the stall. A list that hangs does so for every caller.
func (s *signs) hasListWait(stall *Stall) bool {
	return slices.ContainsFunc(s.listWaits, func(e *event.Event) bool {
		return !e.Last().T.Before(stall.Start) && !e.Last().T.After(stall.End)
	})
}

// phaseFromStacks is the phase of a relist goroutine that waited during the stall.
func (s *signs) phaseFromStacks(stall *Stall) Phase {
	const most = 100 // dumps; a bundle holds a handful
	for _, e := range s.relists[:min(most, len(s.relists))] {
		if !e.Start.T.After(stall.End.Add(conditionDelay)) && !e.Last().T.Before(stall.Start) {
			return knownPhase(e)
		}
	}
	// A single dump of a kubelet without a time was made because of the stall.
	if len(s.relists) == 0 && len(s.undated) == 1 {
		return knownPhase(s.undated[0])
	}
	return PhaseUnknown
}

// knownPhase is the phase that a relist goroutine is in.
func knownPhase(e *event.Event) Phase {
	if p := Phase(e.FieldText(event.FieldPhase)); p == PhaseList || p == PhasePod {
		return p
	}
	return PhaseUnknown
}

// phaseFromErrors is the phase whose calls reached their deadline during the stall. A list that
// hangs does so for every caller, so it counts first.
func (s *signs) phaseFromErrors(stall *Stall) Phase {
	from, to := stall.Start.Add(1), stall.End.Add(2*complaintPause)
	list, pod := countBetween(s.listErrors, from, to), countBetween(s.podErrors, from, to)
	switch {
	case list > 0 && list >= pod:
		return PhaseList
	case pod > 0:
		return PhasePod
	}
	return PhaseUnknown
}

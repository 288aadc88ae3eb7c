// Package scopes tells whether systemd answered others while it started the scope of a container.
package scopes

import (
	"slices"
	"sort"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// MarkAnswered marks long scope starts during which systemd finished others, or answered collect on
// the bus: systemd did answer then. The events are in the order of time.
func MarkAnswered(events []*event.Event) {
	var scopes, answers []*event.Event
	for _, e := range events {
		switch {
		case e.Kind == event.KindScopeStart && e.Start.Known:
			scopes = append(scopes, e)
		case isAnswerOfSystemd(e):
			answers = append(answers, e)
		}
	}
	ends := make([]time.Time, len(scopes)+1) // when the first of a scope and those after it was started
	for i, e := range slices.Backward(scopes) {
		if ends[i] = ends[i+1]; !e.Open && (ends[i].IsZero() || e.Last().T.Before(ends[i])) {
			ends[i] = e.Last().T
		}
	}
	for i, long := range scopes {
		if long.Duration() >= longScope && (startedAnother(long, scopes[i+1:], ends[i+1:]) || isAskedDuring(long, answers)) {
			long.SetField(event.FieldOthersAnswered.Bool(true))
		}
	}
}

// startedAnother says whether one of some scopes, which begin later, was started during a long one.
func startedAnother(long *event.Event, later []*event.Event, ends []time.Time) bool {
	from, until := long.Start.T.Add(scopeSlack), long.Last().T.Add(-scopeSlack)
	for i, other := range later {
		if other.Start.T.After(from) {
			return !ends[i].IsZero() && ends[i].Before(until)
		}
		if end := other.Last().T; !other.Open && end.After(from) && end.Before(until) {
			return true
		}
	}
	return false
}

// isAnswerOfSystemd says that PID 1 answered collect at once on the system bus. Its own socket
// tells less: runc is a client of the bus, and PID 1 may have lost that.
func isAnswerOfSystemd(e *event.Event) bool {
	return e.Kind == event.KindCollectRPC && e.Component == "systemd" && e.Start.Known && e.Duration() < quickAnswer &&
		e.FieldText(event.FieldPrivate) == "false" && e.FieldText(event.FieldAnswered) == "true" && e.FieldText(event.FieldError) == ""
}

// isAskedDuring says that one of some calls was made while a scope was not started, and so after
// runc had asked for it: PID 1 reads the bus in order. What goes on at the end of the input goes on
// for a while.
func isAskedDuring(long *event.Event, calls []*event.Event) bool {
	from, until := long.Start.T.Add(scopeSlack), long.Last().T.Add(-scopeSlack)
	if long.Open {
		until = long.Last().T.Add(stillOpen)
	}
	i := sort.Search(len(calls), func(i int) bool { return calls[i].Start.T.After(from) })
	return i < len(calls) && calls[i].Start.T.Before(until)
}

// A scope normally starts within a second; one that takes longScope is worth a look. The stamps of
// two programs can be scopeSlack apart.
const (
	longScope  = 10 * time.Second
	scopeSlack = 2 * time.Second
	// quickAnswer is what PID 1 takes at most for an answer while it is not busy.
	quickAnswer = time.Second
	// stillOpen is for how long after the last line about it a scope counts as not started.
	stillOpen = time.Minute
)

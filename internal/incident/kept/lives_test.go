package kept

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// log adds events to a file as its log is read.
type log struct {
	events Events
	lives  Lives
}

func newLog() *log {
	l := &log{}
	l.lives = NewLives(&l.events)
	return l
}

func (l *log) add(at time.Time, e event.Event) {
	e.Start = event.Time{T: at, Known: true}
	e.Evidence = []event.Quote{{Text: "a line"}}
	l.lives.LookAt(&e, e.Start)
	if !l.lives.Keep(&e, e.Start) {
		l.events.Add(&e)
	}
}

// count is how many events of a kind there are, and how many lines they stand for.
func (l *log) count(kind event.Kind) (events, lines int) {
	for e := range l.events.All() {
		if e.Kind == kind {
			events++
			lines += e.Count()
		}
	}
	return events, lines
}

var midnight = time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)

func exit(id string) event.Event {
	e := event.New(event.KindTaskExit, "container exited")
	e.IDs.Container, e.Level = id, event.Info
	return e
}

func removal(id string) event.Event {
	e := event.New(event.KindCRICall, "RemoveContainer", event.FieldMethod.Text("RemoveContainer"), event.FieldOutcome.Text("ok"))
	e.IDs.Container, e.Level = id, event.Info
	e.Span = event.Span{Key: "cri/RemoveContainer/" + id, Edge: event.End}
	return e
}

// runJobs lets a container exit every 2 s for two hours. It is removed a second later.
func runJobs(l *log, remove func(id string) bool) (jobs int) {
	for ; jobs < 3600; jobs++ {
		at, id := midnight.Add(time.Duration(jobs)*2*time.Second), fmt.Sprintf("%064x", jobs)
		l.add(at, exit(id))
		if remove(id) {
			l.add(at.Add(time.Second), removal(id))
		}
	}
	return jobs
}

func TestLivesOfJobs(t *testing.T) {
	l := newLog()
	jobs := runJobs(l, func(string) bool { return true })
	events, lines := l.count(event.KindTaskExit)
	require.Equal(t, jobs, lines)
	require.True(t, slices.ContainsFunc(slices.Collect(l.events.All()), func(e *event.Event) bool {
		return e.Count() == 30 && e.Text == "container exited, and 29 more like it in this minute"
	}))
	const waiting = 20 * 30 // at the end it is not known what comes
	require.Less(t, events, firstOfKind+120+waiting)
}

// TestLivesCountEachMethod: an event that says which call failed stands for calls of that method.
func TestLivesCountEachMethod(t *testing.T) {
	l := newLog()
	methods := []string{"ContainerStatus", "RemoveContainer"}
	for n := range 3600 {
		method := methods[n%2]
		e := event.New(event.KindCRIError, method+" failed", event.FieldMethod.Text(method), event.FieldError.Text("rpc error: code = NotFound desc = x"))
		e.IDs.Container = fmt.Sprintf("%064x", n)
		l.add(midnight.Add(time.Duration(n)*2*time.Second), e)
	}
	for _, method := range methods {
		require.True(t, slices.ContainsFunc(slices.Collect(l.events.All()), func(e *event.Event) bool {
			return e.Count() == 15 && e.Text == method+" failed, and 14 more like it in this minute"
		}), method)
	}
}

func TestLivesWithoutEnd(t *testing.T) {
	l := newLog()
	left := fmt.Sprintf("%064x", 1000)
	runJobs(l, func(id string) bool { return id != left })
	require.True(t, slices.ContainsFunc(slices.Collect(l.events.All()), func(e *event.Event) bool {
		return e.Kind == event.KindTaskExit && e.IDs.Container == left && e.Count() == 1
	}))
}

// What lies within ten minutes of trouble stays, and what is dropped is counted.
func TestLivesNearTrouble(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		l := newLog()
		var exits, troubles []time.Time
		at := midnight
		for n := range 400 + r.IntN(2000) {
			at = at.Add(time.Duration(r.IntN(8000)) * time.Millisecond)
			id := fmt.Sprintf("%064x", n)
			if r.IntN(900) == 0 {
				troubles = append(troubles, at)
				l.add(at, event.New(event.KindPLEGUnhealthy, "PLEG is not healthy"))
				continue
			}
			exits = append(exits, at)
			l.add(at, exit(id))
			l.add(at, removal(id))
		}
		kept := map[time.Time]bool{}
		lines := 0
		for e := range l.events.All() {
			if e.Kind == event.KindTaskExit {
				kept[e.Start.T] = true
				lines += e.Count()
			}
		}
		require.Len(t, exits, lines)
		for _, exit := range exits {
			if slices.ContainsFunc(troubles, func(at time.Time) bool { return at.Sub(exit).Abs() <= calm }) {
				require.True(t, kept[exit], exit)
			}
		}
	})
}

package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// showsNode says that what was looked at shows how the node was: it covers a time in which a stall
// would be seen, a line in it says that the node or its runtime answers, or it is more than
// somebody chooses and pastes. Without that, routine shows nothing.
func (s *story) showsNode() bool { return s.coversStall() || s.answers() || s.hasMuchEvidence() }

// answers says that a node or its runtime answers for itself.
func (s *story) answers() bool {
	return slices.ContainsFunc(s.timeline.Events, func(e *event.Event) bool {
		return slices.ContainsFunc(answersOfHealth, func(sort eventSort) bool { return sort.fits(e) }) ||
			e.Kind == event.KindCRICall && !e.Open && !e.End.IsZero()
	})
}

// hasMuchEvidence says that the logs and traces have many lines, or that somebody sampled the
// node's threads.
func (s *story) hasMuchEvidence() bool {
	lines, threads := 0, 0
	for i := range s.timeline.Coverage {
		c := &s.timeline.Coverage[i]
		if c.Source == "samples.proc" { // of one thread somebody has only looked
			threads++
		} else if c.Source == "samples" {
			return true
		}
		if c.Source != "" {
			lines += c.Lines
		}
	}
	return lines >= manyLines || threads >= manyThreads
}

// manyLines and manyThreads are more than somebody chooses and pastes.
const (
	manyLines   = 200
	manyThreads = 20
)

// coversStall says that a dense log of the kubelet or a runtime was looked at, or a whole dump of
// one, or what relist asks for was asked, and the kubelet looked at besides.
func (s *story) coversStall() bool {
	return s.answersLists() || slices.ContainsFunc(s.timeline.Coverage, func(c timeline.Coverage) bool {
		return c.IsDense() && slices.Contains(logsOfStalls, c.Source)
	}) || slices.ContainsFunc(s.timeline.Events, func(e *event.Event) bool {
		return e.Kind == event.KindGoroutine && e.FieldText(event.FieldExcerpt) == "" && slices.Contains(dumpsOfStalls, e.Source)
	})
}

// answersLists says that the runtime answered collect the lists that relist asks for, and that the
// kubelet's log or its goroutines were collected with that: a relist that hangs in one pod shows
// there.
func (s *story) answersLists() bool {
	return slices.ContainsFunc(s.timeline.Coverage, func(c timeline.Coverage) bool {
		return c.Source == "kubelet.log" || c.Source == "goroutines.kubelet"
	}) && slices.ContainsFunc(s.timeline.Events, func(e *event.Event) bool {
		return e.Kind == event.KindCollectRPC && e.FieldText(event.FieldAnswered) == "true" && e.FieldText(event.FieldGone) == "" &&
			slices.Contains(listsOfRelist, e.FieldText(event.FieldMethod))
	})
}

// knowsRoutine says that plegdiag knows what some line says.
func (s *story) knowsRoutine() bool {
	return slices.ContainsFunc(s.timeline.Coverage, func(c timeline.Coverage) bool {
		return c.Source != "" && !strings.HasSuffix(c.Source, ".log")
	}) || slices.ContainsFunc(s.timeline.Events, func(e *event.Event) bool { return e.Kind != event.KindLogLine })
}

// describeUnrecognised says whose lines were read where they show neither trouble nor that the node
// is well.
func (s *story) describeUnrecognised() string {
	switch writers := s.nameWriters(); {
	case !isRecognised(s.timeline):
		return fmt.Sprintf(nothingRecognised, anotherKind)
	case s.knowsRoutine():
		return fmt.Sprintf(tooLittle, s.describeRoutine()) + s.describeRestarts()
	case writers != "":
		return fmt.Sprintf(nothingKnown, writers)
	}
	return fmt.Sprintf(nothingKnown, "the node's programs")
}

// nameWriters names whose lines, dumps and traces were read, logs first: "containerd, kubelet".
func (s *story) nameWriters() string {
	var logs, others []string
	for i := range s.timeline.Coverage {
		source := s.timeline.Coverage[i].Source
		if writer, isLog := strings.CutSuffix(source, ".log"); isLog {
			logs = append(logs, writer)
		} else if source != "" && source != "collect" { // the account of collect is of what was asked for
			others = append(others, DescribeSource(source))
		}
	}
	slices.Sort(logs)
	slices.Sort(others)
	names := slices.Concat(slices.Compact(logs), slices.Compact(others))
	if left := len(names) - maxNamed; left > 0 {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(moreSources, left)
	}
	return strings.Join(names, ", ")
}

// describeRoutine says what was looked at where all of it is routine.
func (s *story) describeRoutine() string {
	var window timeline.Window
	for i := range s.timeline.Coverage {
		if c := &s.timeline.Coverage[i]; !c.Start.IsZero() {
			window = window.Union(timeline.Window{Start: c.Start, End: c.End})
		}
	}
	text := routineOnly
	if writers := s.nameWriters(); writers != "" {
		text += " of " + writers
	}
	from, to := event.TimeOfDay(window.Start), event.TimeOfDay(window.End)
	if window.End.Sub(window.Start) >= 24*time.Hour { // the times alone would look like a few hours
		from, to = window.Start.UTC().Format("01-02 15:04:05"), window.End.UTC().Format("01-02 15:04:05")
	}
	switch {
	case window.IsZero():
	case window.End.Sub(window.Start) < time.Second:
		text += fmt.Sprintf(momentOf, from)
	default:
		text += fmt.Sprintf(fromTo, from, to)
	}
	return text
}

// describeHealthy says what was looked at, and how little that is where it is.
func (s *story) describeHealthy() string {
	switch routine := s.describeRoutine() + s.describeRestarts() + s.describeWorkload(); {
	case s.coversStall():
		return routine
	case s.hasMuchEvidence():
		return routine + showsNoStall
	default:
		return routine + tooFewLines
	}
}

// describeWorkload says which container ends at each start, which the node does not make it; empty
// for none.
func (s *story) describeWorkload() string {
	signs := listWorkload(s.timeline)
	if len(signs) == 0 {
		return ""
	}
	text, others := signs[0].Text, map[string]bool{}
	for _, e := range s.timeline.Events {
		if isOfWorkload(e) && e.Text != text {
			others[e.Text] = true
		}
	}
	if len(others) > 0 {
		text += " " + event.OthersText(len(others))
	}
	return fmt.Sprintf(andWorkload, text)
}

// describeRestarts says which daemons were restarted; empty for none.
func (s *story) describeRestarts() (text string) {
	times := map[string][]*event.Event{}
	for _, e := range s.timeline.Events {
		if e.Kind == event.KindDaemonRestart {
			times[e.Component] = append(times[e.Component], e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(times)) {
		all := times[name]
		last := event.TimeOfDay(all[len(all)-1].End.T)
		if len(all) == 1 {
			text += fmt.Sprintf(restartedOnce, name, last)
		} else {
			text += fmt.Sprintf(restartedOften, name, len(all), last)
		}
	}
	return text
}

// maxNamed bounds the sources that a sentence names.
const maxNamed = 4

// isRecognised says whether anything in the input is of the node's programs, of its kernel, or of a
// tool that looks at them.
func isRecognised(tl *timeline.Timeline) bool {
	if slices.ContainsFunc(tl.Coverage, func(c timeline.Coverage) bool { return c.Source != "" }) {
		return true
	}
	return slices.ContainsFunc(tl.Events, func(e *event.Event) bool { return e.Source != "" })
}

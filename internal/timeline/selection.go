package timeline

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Filter says which events somebody wants to see. Its zero value takes all of them.
type Filter struct {
	Since, Until time.Time // an interval counts when it touches them; zero has no limit. With either, undated events are left out
	Components   []string
	Kinds        []string // "cri.call", or a group of them: "kubelet"
	// Container is an id or the beginning of one, of a container or a sandbox; Pod is namespace/name, a name or a uid.
	// Both take what belongs together: a pod's events are those of its sandboxes and containers too.
	Container, Pod string
	Grep           *regexp.Regexp // looks at the text of the event and at its lines
}

// Select returns the events that the filter takes, in their order. The pointers are into the timeline.
func (t *Timeline) Select(f Filter) []*event.Event {
	follows := t.findFollowed(f)
	var all []*event.Event
	for i := range t.Events {
		e := &t.Events[i]
		if f.matchesTime(e) && f.matchesKindAndComponent(e) && follows.containsEvent(e) && f.matchesText(e) {
			all = append(all, e)
		}
	}
	return all
}

func (f *Filter) matchesTime(e *event.Event) bool {
	if f.Since.IsZero() && f.Until.IsZero() {
		return true
	}
	return !e.Start.IsZero() && (f.Until.IsZero() || !e.Start.T.After(f.Until)) && !e.Last().T.Before(f.Since)
}

func (f *Filter) matchesKindAndComponent(e *event.Event) bool {
	kind := len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds, func(k string) bool {
		return string(e.Kind) == k || strings.HasPrefix(string(e.Kind), k+".")
	})
	return kind && (len(f.Components) == 0 || slices.Contains(f.Components, e.Component))
}

func (f *Filter) matchesText(e *event.Event) bool {
	return f.Grep == nil || f.Grep.MatchString(e.Text) ||
		slices.ContainsFunc(e.Evidence, func(q event.Quote) bool { return f.Grep.MatchString(q.Text) })
}

// followed are the names by which one container or one pod goes; nil follows nobody.
type followedNames map[string]bool

// follow gathers the names of what the filter follows: of a container itself, of a pod its uid, its sandboxes
// and its containers, as far as an event names two of them together.
func (t *Timeline) findFollowed(f Filter) followedNames {
	if f.Container == "" && f.Pod == "" {
		return nil
	}
	names := followedNames{}
	for i := range t.Events {
		for _, id := range namesOf(&t.Events[i]) {
			if f.Container != "" && isID(id) && strings.HasPrefix(id, f.Container) || f.Pod != "" && f.matchesPod(id) {
				names[id] = true
			}
		}
	}
	if f.Pod == "" {
		return names
	}
	for grown := -1; grown != len(names); {
		grown = len(names)
		for i := range t.Events {
			e := &t.Events[i]
			if names.containsEvent(e) {
				for _, id := range namesOf(e) {
					names[id] = true
				}
			}
		}
	}
	return names
}

// LineFilter is the filter for lines of logs, which no observer knows. Its checks are in the order of their cost.
type LineFilter struct {
	filter   Filter
	spelled  []string // of whom the line must speak
	followed bool
}

// LineFilter makes the filter for lines of it: one is of a container or a pod where one of their names stands in it.
func (t *Timeline) LineFilter(f Filter) LineFilter {
	follows := t.findFollowed(f)
	l := LineFilter{filter: f, followed: follows != nil}
	for name := range follows {
		l.spelled = append(l.spelled, spellings(name)...)
	}
	if f.Container != "" {
		l.spelled = append(l.spelled, f.Container)
	}
	return l
}

// Dated says that a line of that time is asked for.
func (l *LineFilter) MatchesTime(at event.Time) bool {
	return l.filter.matchesTime(&event.Event{Start: at})
}

// Speaks says that a line is of whom is followed, and matches.
func (l *LineFilter) MatchesLine(line string) bool {
	if l.filter.Grep != nil && !l.filter.Grep.MatchString(line) {
		return false
	}
	return !l.followed || slices.ContainsFunc(l.spelled, func(name string) bool { return strings.Contains(line, name) })
}

// Names says that lines of a component are asked for.
func (l *LineFilter) MatchesComponent(component string) bool {
	return l.filter.matchesKindAndComponent(&event.Event{Kind: event.KindLogLine, Component: component})
}

// spellings are the ways in which lines write a name: an id also as short as docker and crictl cut it, a pod as namespace/name and,
// by the kubelet up to 1.20, as name_namespace.
func spellings(name string) []string {
	if namespace, pod, ok := strings.Cut(name, "/"); ok {
		return []string{name, pod + "_" + namespace}
	}
	if isID(name) && len(name) > shortID {
		return []string{name[:shortID]}
	}
	return []string{name}
}

// shortID is how much of an id docker and crictl print.
const shortID = 12

func namesOf(e *event.Event) []string {
	all := []string{e.IDs.Container, e.IDs.Sandbox, e.IDs.Pod, e.IDs.PodUID}
	return slices.DeleteFunc(all, func(id string) bool { return id == "" })
}

func isID(s string) bool { return len(s) >= minID && strings.Trim(s, "0123456789abcdef") == "" }

func (f *Filter) matchesPod(name string) bool {
	return name == f.Pod || strings.HasSuffix(name, "/"+f.Pod)
}

// take says whether an event speaks of what is followed. Ids that were cut short where they were written count
// as the longer ones that begin with them.
func (names followedNames) containsEvent(e *event.Event) bool {
	if names == nil {
		return true
	}
	for _, id := range namesOf(e) {
		if names[id] {
			return true
		}
		if len(id) < 64 && isID(id) {
			for name := range names {
				if strings.HasPrefix(name, id) {
					return true
				}
			}
		}
	}
	return false
}

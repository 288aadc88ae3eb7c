package timeline

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Filter says which events to select. Its zero value selects all.
type Filter struct {
	// an interval that overlaps them counts; zero is no limit. With either, undated events are left
	// out
	Since, Until time.Time
	Components   []string
	Kinds        []string // "cri.call", or a group of them: "kubelet"
	// Container is the id of a container or a sandbox, or the beginning of one. Pod is
	// namespace/name, a name or a uid; it also selects the events of the pod's sandboxes and
	// containers.
	Container, Pod string
	Grep           *regexp.Regexp // searches the text of the event and its lines
}

// Select returns the events that match the filter, in their order. They are those of the timeline,
// not copies.
func (t *Timeline) Select(f Filter) []*event.Event {
	follows := t.findFollowed(f)
	var all []*event.Event
	for _, e := range t.Events {
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

// followedNames are all names of one container or one pod. Nil accepts every event.
type followedNames map[string]bool

// findFollowed collects the names of what the filter follows: the container itself, or of a pod its
// uid, its sandboxes and its containers, as far as an event names two of them together.
func (t *Timeline) findFollowed(f Filter) followedNames {
	if f.Container == "" && f.Pod == "" {
		return nil
	}
	names := followedNames{}
	for _, e := range t.Events {
		for _, id := range namesOf(e) {
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
		for _, e := range t.Events {
			if names.containsEvent(e) {
				for _, id := range namesOf(e) {
					names[id] = true
				}
			}
		}
	}
	return names
}

// LineFilter is the filter for lines of logs that no event was made of. Call its cheapest check
// first: MatchesTime, MatchesLine, MatchesComponent.
type LineFilter struct {
	filter   Filter
	spelled  []string // names of which the line must contain one
	followed bool
}

// LineFilter makes a filter for lines from f. A line is about a container or a pod if it contains
// one of their names.
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

// MatchesTime says whether the filter accepts a line of that time.
func (l *LineFilter) MatchesTime(at event.Time) bool {
	return l.filter.matchesTime(&event.Event{Start: at})
}

// MatchesLine says whether a line is about what the filter follows, and contains what it searches.
func (l *LineFilter) MatchesLine(line string) bool {
	if l.filter.Grep != nil && !l.filter.Grep.MatchString(line) {
		return false
	}
	return !l.followed || slices.ContainsFunc(l.spelled, func(name string) bool { return strings.Contains(line, name) })
}

// MatchesComponent says whether the filter accepts lines of a component.
func (l *LineFilter) MatchesComponent(component string) bool {
	return l.filter.matchesKindAndComponent(&event.Event{Kind: event.KindLogLine, Component: component})
}

// spellings are the ways in which lines write a name: an id also as docker and crictl shorten it, a
// pod as namespace/name and, in kubelets up to 1.20, as name_namespace.
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

// containsEvent says whether an event has one of the names. An id that was written short counts as
// the longer ones that begin with it.
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

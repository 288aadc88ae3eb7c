package rules

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// subjects are what events are about: values of one field, as the names of nodes.
type subjects struct {
	whole map[string]bool // in small letters
	short map[string]bool // those that have a domain, without it
}

func (s *subjects) add(name string) {
	if s.whole == nil {
		s.whole, s.short = map[string]bool{}, map[string]bool{}
	}
	name = strings.ToLower(name)
	s.whole[name] = true
	if short, _, cut := strings.Cut(name, "."); cut {
		s.short[short] = true
	}
}

// has says whether a name is one of them: it, or one of them, may leave out its domain.
func (s *subjects) has(name string) bool {
	name = strings.ToLower(name)
	if short, _, cut := strings.Cut(name, "."); cut {
		return s.whole[name] || s.whole[short]
	}
	return s.whole[name] || s.short[name]
}

// isOne says that all events are about the same.
func (s *subjects) isOne() bool { return len(s.whole) == 1 }

// findSubjects reads what the events of an effect are about, where the effect asks for it.
func (e *effectSpans) findSubjects(x *index) {
	for _, ev := range e.all {
		e.about.add(subjectOf(x.events[ev], event.Key(e.rule.Same)))
	}
}

// subjectOf is what an event is about: the value of a field, or the name of the node that an Event
// of the API is about. Empty where it does not say.
func subjectOf(e *event.Event, key event.Key) string {
	if key == event.FieldNode && strings.EqualFold(e.FieldText(event.FieldObject), "node") {
		return e.FieldText(event.FieldName)
	}
	return e.FieldText(key)
}

// subjectsOf are what an event of a tell is about, by the field that the effect asks for. One that
// does not say which node it is about is about the one of its writer. Nil where nothing names it.
func (e *effectSpans) subjectsOf(x *index, tell int32) []string {
	key := event.Key(e.rule.Same)
	if asked := subjectOf(x.events[tell], key); asked != "" {
		return []string{asked}
	}
	if key != event.FieldNode {
		return nil
	}
	return x.namesOfNode(x.events[tell])
}

// sharesSubject says whether the effect is about the same as an event of a tell. For one of which
// nothing says what it is about, an effect speaks that knows only one.
func (e *effectSpans) sharesSubject(x *index, tell int32) bool {
	names := e.subjectsOf(x, tell)
	return len(names) == 0 && e.about.isOne() || slices.ContainsFunc(names, e.about.has)
}

// aboutTells is which events of the effect are about the same as one of some events of tells.
func (e *effectSpans) aboutTells(x *index, tells []int32) (isAbout func(ev int32) bool) {
	var asked subjects
	unnamed := false
	for _, tell := range tells {
		names := e.subjectsOf(x, tell)
		unnamed = unnamed || len(names) == 0
		for _, name := range names {
			asked.add(name)
		}
	}
	return func(ev int32) bool {
		return unnamed && e.about.isOne() || asked.has(subjectOf(x.events[ev], event.Key(e.rule.Same)))
	}
}

// mayBeOfOneMachine says whether nothing shows that two events are of two machines. Names in one
// file do not: a machine may be renamed, and incident has dropped the lines of others.
func (x *index) mayBeOfOneMachine(a, b int32) bool { return x.compareMachines(a, b) != twoMachines }

// areOfOneMachine says whether two events are of one machine, as far as lines tell of machines:
// where several are known, an event that names none is of none of them for certain.
func (x *index) areOfOneMachine(a, b int32) bool {
	one := x.compareMachines(a, b)
	return one == oneMachine || one == anyMachine && !x.severalHosts
}

// sameness says whether two events are of one machine.
type sameness uint8

const (
	twoMachines sameness = iota
	anyMachine           // of one of them nothing tells a machine
	oneMachine
)

// compareMachines compares the machines of two events. Who names none is of the node.
func (x *index) compareMachines(a, b int32) sameness {
	p, q := x.events[a], x.events[b]
	if p.Host == q.Host || p.Pos().File == q.Pos().File {
		return oneMachine
	}
	pair := [2]string{p.Host, q.Host}
	one, known := x.oneMachine[pair]
	if !known {
		one = compareHosts(x.nameMachine(p.Host), x.nameMachine(q.Host))
		x.oneMachine[pair] = one
	}
	return one
}

// nameMachine is the host that a name tells of; empty for none.
func (x *index) nameMachine(host string) string {
	if event.IsDefaultHost(host) {
		return x.timeline.Node
	}
	return host
}

// compareHosts says whether two names of hosts are of one machine.
func compareHosts(a, b string) sameness {
	var own subjects
	own.add(a)
	switch {
	case (a == "") != (b == ""):
		return anyMachine
	case own.has(b):
		return oneMachine
	}
	return twoMachines
}

// mayBeOfOneChain says whether nothing shows that two events are of two machines. What tells of the
// control plane, or is what the control plane tells of a node, goes with the events of any.
func (x *index) mayBeOfOneChain(a, b int32) bool {
	return !x.severalHosts || isOfCluster(x.events[a]) || isOfCluster(x.events[b]) || x.mayBeOfOneMachine(a, b)
}

// maxMachines bounds the machines that are told apart.
const maxMachines = 16

// splitByMachine lists events by the machine that they may be of. One whose name tells nothing may
// be of each of them.
func (x *index) splitByMachine(events []int32) [][]int32 {
	var first []int32 // of each machine
	if x.severalHosts {
		for _, ev := range events {
			isKnown := func(other int32) bool { return x.mayBeOfOneMachine(other, ev) }
			if x.nameMachine(x.events[ev].Host) != "" && len(first) < maxMachines && !slices.ContainsFunc(first, isKnown) {
				first = append(first, ev)
			}
		}
	}
	if len(first) < 2 {
		return [][]int32{events}
	}
	all := make([][]int32, len(first))
	for i := range first {
		for _, ev := range events {
			if x.mayBeOfOneMachine(first[i], ev) {
				all[i] = append(all[i], ev)
			}
		}
	}
	return all
}

// listWriters returns events of signs, one for each machine, file and kind.
func (x *index) listWriters(signs []sign) []int32 {
	if !x.severalHosts {
		return nil
	}
	type place struct {
		host, file string
		kind       event.Kind
	}
	known := map[place]bool{}
	var all []int32
	for _, t := range signs {
		for _, ev := range t.events {
			e := x.events[ev]
			if at := (place{e.Host, e.Pos().File, e.Kind}); !known[at] {
				known[at] = true
				all = append(all, ev)
			}
		}
	}
	return all
}

func isOfCluster(e *event.Event) bool {
	switch e.Kind {
	case event.KindNodeCondition, event.KindKubeEvent, event.KindEtcdTrouble, event.KindTunnelBroken, event.KindClientRefused:
		return true
	}
	return false
}

// nameSeveralHosts says whether the hosts of events have more than one name, besides those that
// tell nothing.
func nameSeveralHosts(events []*event.Event) bool {
	first, ignored := "", ""
	for _, e := range events {
		switch {
		case e.Host == first || e.Host == ignored:
		case event.IsDefaultHost(e.Host):
			ignored = e.Host
		case first != "":
			return true
		default:
			first = e.Host
		}
	}
	return false
}

// writer is who wrote a line: a program on a host.
type writer struct{ host, source string }

// maxNodeNames is how many names a program can have for its own node: its host's, with and without
// a domain, that of its object, and that of its provider. One that uses more names is no program of
// one node, but a controller, or a list.
const maxNodeNames = 4

// namesOfNode are the names of the node on which an event was written: that of its host, and those
// by which the same writer calls its node. Nil where it calls none, or too many.
func (x *index) namesOfNode(e *event.Event) []string {
	if x.nodeNames == nil {
		x.nodeNames = map[writer][]string{}
		for _, e := range x.events {
			x.addNodeName(writer{e.Host, e.Source}, e.Host)
			x.addNodeName(writer{e.Host, e.Source}, e.FieldText(event.FieldNode))
		}
	}
	if names := x.nodeNames[writer{e.Host, e.Source}]; len(names) <= maxNodeNames {
		return names
	}
	return nil
}

func (x *index) addNodeName(by writer, name string) {
	names := x.nodeNames[by]
	if name != "" && len(names) <= maxNodeNames && !slices.Contains(names, name) {
		x.nodeNames[by] = append(names, name)
	}
}

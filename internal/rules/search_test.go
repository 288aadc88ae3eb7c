package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// TestSearchAgainstOracle compares the search with an enumeration of every
// assignment, which knows neither lookups nor bounds nor the order of steps.
// The rules of a draw share an index, as those of a catalogue do.
func TestSearchAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl := line(rapid.SliceOfN(rapid.Custom(drawEvent), 0, 8).Draw(t, "events")...)
		x := newIndex(tl)
		for range rapid.IntRange(1, 3).Draw(t, "rules") {
			text := drawRule(t)
			rule := &catalogOfRapid(t, text).Rules[0]
			s := newSearch(rule, x, language.Confirmed)
			got := map[string][2]int{}
			for _, m := range s.findMatches() {
				key := ""
				if s.per != none {
					key = m.bound[s.per]
				}
				got[key] = [2]int{int(m.verdict), m.points}
			}
			require.False(t, s.isSpent())
			require.Equal(t, oracle(rule, x), got, "%s", text)
		}
		require.False(t, slices.ContainsFunc(x.marks, func(mark uint64) bool { return mark != 0 }), "something stays marked")
	})
}

// TestSearchOfPileUps holds that two steps which each gather hundreds of events are searched to the
// end, also where no pair of them gathers enough.
func TestSearchOfPileUps(t *testing.T) {
	const rule = `id: pile
title: T
role: root
mechanism: m
needs: [{any: [kubelet.log], collect: c}]
steps:
  - {id: waiting, role: cause, text: w, weight: 50, kind: goroutine.wait, all: true, min: 10}
  - {id: failed, role: symptom, text: f, weight: 50, kind: kubelet.cri-error, all: true, min: 10}
edges:
  - {from: waiting, to: failed, overlap: 5m, relation: r}
verdict: {likely: "waiting and failed"}
headline: h
`
	for _, c := range []struct {
		name         string
		apart, again float64 // seconds between two failures, and between two waits
		want         int
	}{{"enough", 20, 0, 1}, {"too few failures for each wait", 90, 0, 0}, {"too few waits for each failure", 20, 90, 0}} {
		t.Run(c.name, func(t *testing.T) {
			var events []event.Event
			for i := range 400 {
				events = append(events, ev("goroutine.wait", when(10000+float64(i)*c.again)), ev("kubelet.cri-error", when(6000+float64(i)*c.apart)))
			}
			s := newSearch(&catalogOf(t, rule).Rules[0], newIndex(line(events...)), language.Confirmed)
			require.Len(t, s.findMatches(), c.want)
			require.False(t, s.isSpent())
		})
	}
}

// TestSearchOfFlappingNode holds that hundreds of incidents that are alike are searched to the
// end: for the containers of which a verdict asks something, and not for those that only exit
// beside them.
func TestSearchOfFlappingNode(t *testing.T) {
	const rule = `id: flapping
title: T
role: root
mechanism: m
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: exit, role: cause, text: e, weight: 10, kind: containerd.task-exit, bind: {container: cid}}
  - {id: stack, role: mechanism, text: s, weight: 45, kind: kernel.frame}
  - {id: hung, role: mechanism, text: h, weight: 15, kind: kernel.hung-task}
  - {id: late, role: symptom, text: l, weight: 10, all: true, kind: containerd.state-timeout, bind: {container: cid}}
  - {id: stall, role: symptom, text: p, weight: 10, kind: kubelet.pleg-unhealthy}
edges:
  - {from: exit, to: stack, gap: {min: -5s, max: 15m}, relation: starts}
  - {from: stack, to: late, overlap: 5m, relation: blocks}
  - {from: hung, to: stack, overlap: 5m, relation: shows}
  - {from: stack, to: stall, overlap: 10m, relation: delays}
verdict: {confirmed: "stack and late and stall", likely: "stack and late", possible: "hung and stack"}
per: cid
headline: h
`
	var events []event.Event
	of := func(container int) func(*event.Event) {
		return func(e *event.Event) { e.IDs.Container = fmt.Sprintf("%08x%056x", uint32(container)*2654435761, 1) }
	}
	for i := range 200 {
		at := float64(i) * 600
		for j := range 10 {
			events = append(events, ev("containerd.task-exit", when(at+float64(j)), of(10*i+j)), ev("kernel.frame", when(at+20+float64(j)/1000)),
				ev("containerd.state-timeout", when(at+30+float64(j)), of(10*i)), ev("kubelet.pleg-unhealthy", when(at+200+5*float64(j))))
		}
		events = append(events, ev("kernel.hung-task", when(at+20)), ev("kernel.hung-task", when(at+140)))
	}
	s := newSearch(&catalogOf(t, rule).Rules[0], newIndex(line(events...)), language.Confirmed)
	found := s.findMatches()
	require.GreaterOrEqual(t, len(found), maxFindings)
	for _, m := range found {
		require.NotEqual(t, none, m.chosen[3], "the container of a match is late")
	}
	require.False(t, s.isSpent())
}

// TestThreadOfSeveralContainers holds that a thread of which nothing shows the container proves the
// cause for one container that waits, and makes it likely for each of two.
func TestThreadOfSeveralContainers(t *testing.T) {
	const rule = `id: shared
title: T
role: root
mechanism: m
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: thread, role: mechanism, text: t, weight: 50, kind: thread.sample}
  - {id: deleted, role: symptom, text: d, weight: 20, kind: containerd.delete-failed, bind: {container: cid}}
  - {id: late, role: symptom, text: l, weight: 20, kind: containerd.state-timeout, bind: {container: cid}}
edges:
  - {from: thread, to: [deleted, late], overlap: 5m, relation: blocks}
verdict: {confirmed: "thread and deleted and late"}
per: cid
headline: h
`
	events := []event.Event{ev("thread.sample", when(1))}
	for i, want := range []language.Verdict{language.Confirmed, language.Likely} {
		of := container([]string{idA, idB}[i])
		events = append(events, ev("containerd.delete-failed", when(10), of), ev("containerd.state-timeout", when(20), of))
		s := newSearch(&catalogOf(t, rule).Rules[0], newIndex(line(events...)), language.Confirmed)
		found := s.findMatches()
		s.lowerShared(found)
		require.Len(t, found, i+1)
		for _, m := range found {
			require.Equal(t, want, m.verdict)
		}
	}
}

func catalogOfRapid(t *rapid.T, text string) *language.Catalog {
	packed, err := language.Pack(language.Files{FS: fstest.MapFS{"rule.yaml": {Data: []byte(text)}}})
	require.NoError(t, err, "%s", text)
	cat, err := language.Unpack(string(packed)) // odd rules on purpose: lint would refuse them
	require.NoError(t, err, "%s", text)
	return cat
}

// drawRule writes a random rule of up to four steps over the kinds a, b and c
// with binds, gaps, overlaps, counts, absences and contradictions.
func drawRule(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("id: r\ntitle: t\nrole: root\nheadline: h\nneeds: [{any: [containerd.log], collect: c}]\nsteps:\n")
	n := rapid.IntRange(1, 4).Draw(t, "steps")
	kind := rapid.SampledFrom([]string{"a", "b", "c"})
	match := rapid.SampledFrom([]string{"", "", "", "bad: false", "n|gte: 1", "n|in: [0, 2]", "n|exists: false", "n: 1, bad|exists: true"})
	bind := rapid.SampledFrom([]string{
		"", "container: cid", "lock: lock", "container: cid, lock: lock", "pid: pid",
		"container|optional: cid", "container|optional: cid, lock: lock",
	})
	bound := map[string]bool{}
	pattern := func(label string) string {
		text, asked := bind.Draw(t, label+" bind"), match.Draw(t, label+" match")
		if !strings.Contains(text, "lock") && rapid.IntRange(0, 3).Draw(t, label+" captures") == 0 {
			asked, bound["lock"] = `said|captures: "lost {lock} by {}"`, true
		}
		for part := range strings.SplitSeq(text, ", ") {
			if _, name, ok := strings.Cut(part, ": "); ok {
				bound[name] = true
			}
		}
		return fmt.Sprintf("{kind: %s, match: {%s}, bind: {%s}}", kind.Draw(t, label+" kind"), asked, text)
	}
	for i := range n {
		fmt.Fprintf(&b, "  - {id: s%d, role: symptom, text: x, weight: %d, any: [%s", i, rapid.IntRange(1, 60).Draw(t, "weight"), pattern("first"))
		if rapid.IntRange(0, 3).Draw(t, "alternative") == 0 {
			b.WriteString(", " + pattern("second"))
		}
		b.WriteString("]")
		if rapid.Bool().Draw(t, "all") {
			fmt.Fprintf(&b, ", all: true, min: %d", rapid.IntRange(1, 3).Draw(t, "min"))
		}
		b.WriteString("}\n")
	}
	if n > 1 {
		b.WriteString("edges:\n")
		for range rapid.IntRange(1, 4).Draw(t, "edges") {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			to := (from + rapid.IntRange(1, n-1).Draw(t, "step")) % n
			end := rapid.SampledFrom([]string{"start", "end"})
			if rapid.Bool().Draw(t, "overlap") {
				fmt.Fprintf(&b, "  - {from: s%d, to: s%d, overlap: 2s}\n", from, to)
			} else {
				fmt.Fprintf(&b, "  - {from: s%d, to: s%d, gap: {min: -2s, max: 6s}, from_at: %s, to_at: %s}\n", from, to, end.Draw(t, "at"), end.Draw(t, "at"))
			}
		}
	}
	binds := "" // of conditions, which may only use what steps bind
	if bound["cid"] {
		binds = rapid.SampledFrom([]string{"container: cid", "container|optional: cid"}).Draw(t, "binds")
	}
	fmt.Fprintf(&b, "absent: [{id: gone, kind: c, bind: {%s}, before: s0, source: containerd.log}]\n", binds)
	fmt.Fprintf(&b, "rules_out:\n  - {kind: %s, match: {bad: true}, bind: {%s}, during: s0, effect: %s, why: w}\n",
		kind.Draw(t, "against"), binds, rapid.SampledFrom([]string{"ruled-out", "lowers"}).Draw(t, "effect"))
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("s%d", i)
	}
	fmt.Fprintf(&b, "verdict: {confirmed: %q, likely: %q, possible: %q}\n",
		strings.Join(all, " and "), "gone and s0", strings.Join(all, " or "))
	if len(bound) > 0 {
		names := slices.Sorted(maps.Keys(bound))
		// Every bind is also joined, so that none is unused.
		fmt.Fprintf(&b, "notes: [{text: \"{%s}\"}]\n", strings.Join(names, "} {"))
		if rapid.Bool().Draw(t, "per") {
			fmt.Fprintf(&b, "per: %s\n", rapid.SampledFrom(names).Draw(t, "group"))
		}
	}
	return b.String()
}

func drawEvent(t *rapid.T) event.Event {
	second := rapid.Float64Range(0, 12)
	e := ev(event.Kind(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "kind")))
	e.IDs.Container = rapid.SampledFrom([]string{"", "abcdef1111", "abcdef", "abcdef2222", "bbbbbb", "abc"}).Draw(t, "container")
	e.IDs.Lock = rapid.SampledFrom([]string{"", "0xc1", "0xc12"}).Draw(t, "lock")
	e.IDs.PID = rapid.IntRange(0, 2).Draw(t, "pid")
	e.Fields = []event.Field{{Key: "bad", Value: event.Bool(rapid.IntRange(0, 4).Draw(t, "bad") == 0)}}
	if said := rapid.SampledFrom([]string{"", "lost 0xc1 by x", "we lost 0xc12 by name", "lost by"}).Draw(t, "said"); said != "" {
		e.Fields = append(e.Fields, event.Field{Key: "said", Value: event.String(said)})
	}
	if n := rapid.IntRange(-1, 2).Draw(t, "n"); n >= 0 {
		e.Fields = append(e.Fields, event.Field{Key: "n", Value: event.Int(int64(n))})
	}
	e.Host = rapid.SampledFrom([]string{"", "node-1", "node-1", "node-2"}).Draw(t, "host")
	e.Evidence[0].Pos.File = rapid.SampledFrom([]string{"log", "other"}).Draw(t, "file")
	if rapid.IntRange(0, 5).Draw(t, "dated") == 0 {
		return e
	}
	start := float64(int(second.Draw(t, "start")))
	e.Start = at(start)
	if rapid.Bool().Draw(t, "long") {
		e.End = at(start + float64(rapid.IntRange(0, 6).Draw(t, "length")))
		e.Open = rapid.IntRange(0, 4).Draw(t, "open") == 0
		e.Begun = rapid.IntRange(0, 4).Draw(t, "begun") == 0
	}
	e.Start.Prec = rapid.SampledFrom([]time.Duration{0, 0, time.Second}).Draw(t, "precision")
	e.Evidence[0].Pos.Line = rapid.IntRange(1, 1<<20).Draw(t, "line")
	return e
}

// oracle enumerates every assignment of events to steps and returns, by group,
// the best verdict and score. It shares with the search the language itself
// (patterns, orders in time, agreement of ids, expressions), and nothing else.
func oracle(r *language.Rule, x *index) map[string][2]int {
	o := &enumeration{rule: r, index: x, per: slices.IndexFunc(r.Compiled.Variables, func(v language.Variable) bool { return v.Name == r.Per })}
	for i := range r.Steps {
		o.steps = append(o.steps, candidates(r, x, r.Steps[i].Compiled.Patterns))
	}
	best := map[string][2]int{}
	for _, o.group = range o.groups() {
		o.enumerate(make([]int, 0, len(o.steps)), func(a []int) {
			if !o.speaksOfGroup(a) || !o.maximal(a) {
				return
			}
			if v, points := o.rate(a); v >= language.Possible {
				if old, ok := best[o.group]; !ok || int(v) > old[0] || int(v) == old[0] && points > old[1] {
					best[o.group] = [2]int{int(v), points}
				}
			}
		})
	}
	return best
}

// candidate is an event that fits a pattern.
type candidate struct {
	event  int32
	values []string // by variable; empty where the pattern binds none
}

// candidates asks every event about every pattern.
func candidates(r *language.Rule, x *index, patterns []language.Pattern) []candidate {
	var all []candidate
	for ev, e := range x.events {
		for i := range patterns {
			if c := (candidate{int32(ev), make([]string, len(r.Compiled.Variables))}); fits(&patterns[i], e, c.values) {
				all = append(all, c)
				break
			}
		}
	}
	return all
}

func fits(p *language.Pattern, e *event.Event, values []string) bool {
	if e.Kind != p.Kind || !condition.AreMet(e, p.Compiled.Conditions) {
		return false
	}
	for _, b := range p.Compiled.Bindings {
		v, ok := b.Reading.Reader()(e)
		if values[b.Variable] = v.Text(); (!ok || v.Text() == "") && !b.Optional {
			return false
		}
	}
	return true
}

type enumeration struct {
	rule  *language.Rule
	index *index
	steps [][]candidate
	per   int
	group string
}

// mine says whether a candidate may serve a match of this group.
func (o *enumeration) mine(step, i int) bool {
	if o.per < 0 {
		return true
	}
	value := o.steps[step][i].values[o.per]
	if o.group == "" || value == "" {
		return value == ""
	}
	_, same := joinValues(&o.rule.Compiled.Variables[o.per], o.group, value)
	return same
}

func (o *enumeration) enumerate(a []int, emit func([]int)) {
	if len(a) == len(o.steps) {
		if o.consistent(a) && o.minimums(a) {
			emit(a)
		}
		return
	}
	for i := -1; i < len(o.steps[len(a)]); i++ {
		if i < 0 || o.mine(len(a), i) {
			o.enumerate(append(a, i), emit)
		}
	}
}

func (o *enumeration) at(a []int, step int) candidate { return o.steps[step][a[step]] }

func (o *enumeration) consistent(a []int) bool {
	for i := range a {
		for j := range i {
			if a[i] < 0 || a[j] < 0 {
				continue
			}
			p, q := o.at(a, i).event, o.at(a, j).event
			if p == q || o.areOfTwoMachines(o.index.events[p], o.index.events[q]) {
				return false
			}
		}
	}
	if _, ok := o.bound(a); !ok || !o.together(a) {
		return false
	}
	for _, e := range o.rule.Compiled.Ties {
		if a[e.From] >= 0 && a[e.To] >= 0 && o.order(a, &e) == impossible {
			return false
		}
	}
	return true
}

func (o *enumeration) areOfTwoMachines(p, q *event.Event) bool {
	return p.Host != "" && q.Host != "" && p.Host != q.Host && p.Pos().File != q.Pos().File
}

// together says that one can walk from each matched step to each other one.
func (o *enumeration) together(a []int) bool {
	n := len(a)
	walk := make([][]bool, n)
	for i := range walk {
		walk[i] = make([]bool, n)
		for j := range walk[i] {
			walk[i][j] = a[i] >= 0 && a[j] >= 0 && (i == j || o.tie(a, i, j) > 500)
		}
	}
	for _, e := range o.rule.Compiled.Ties {
		if a[e.From] >= 0 && a[e.To] >= 0 {
			walk[e.From][e.To], walk[e.To][e.From] = true, true
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				walk[i][j] = walk[i][j] || walk[i][k] && walk[k][j]
			}
		}
	}
	for i := range n {
		for j := range n {
			if a[i] >= 0 && a[j] >= 0 && !walk[i][j] {
				return false
			}
		}
	}
	return true
}

func (o *enumeration) order(a []int, e *language.Tie) order {
	return orderTied(e, o.index.spans[o.at(a, e.From).event], o.index.spans[o.at(a, e.To).event])
}

// bound are the longest values; ok is false when two of them do not agree.
func (o *enumeration) bound(a []int) ([]string, bool) {
	bound := make([]string, len(o.rule.Compiled.Variables))
	for v := range bound {
		if v == o.per {
			bound[v] = o.group
		}
		for i := range a {
			for j := range a {
				if a[i] >= 0 && a[j] >= 0 {
					if _, same := joinValues(&o.rule.Compiled.Variables[v], o.at(a, i).values[v], o.at(a, j).values[v]); !same {
						return nil, false
					}
				}
			}
			if a[i] >= 0 && len(o.at(a, i).values[v]) > len(bound[v]) {
				bound[v] = o.at(a, i).values[v]
			}
		}
	}
	return bound, true
}

// minimums counts, for each step with all: true, what would fit in its place.
func (o *enumeration) minimums(a []int) bool {
	bound, _ := o.bound(a)
	for i := range a {
		if a[i] < 0 || o.rule.Steps[i].Min < 2 {
			continue
		}
		count := 0
		for c := range o.steps[i] {
			b := slices.Clone(a)
			b[i] = c
			agree := true
			for v, value := range o.steps[i][c].values {
				if _, same := joinValues(&o.rule.Compiled.Variables[v], bound[v], value); !same {
					agree = false
				}
			}
			elsewhere := o.areOfTwoMachines(o.index.events[o.at(a, i).event], o.index.events[o.at(b, i).event])
			if c == a[i] || agree && !elsewhere && o.mine(i, c) && o.consistent(b) {
				count++
			}
		}
		if count < o.rule.Steps[i].Min {
			return false
		}
	}
	return true
}

func (o *enumeration) groups() []string {
	groups := []string{""}
	if o.per < 0 {
		return groups
	}
	var values []string
	for i := range o.steps {
		for _, c := range o.steps[i] {
			values = append(values, c.values[o.per])
		}
	}
	for _, v := range values {
		longest := v != "" && !slices.Contains(groups, v)
		for _, w := range values {
			if joined, same := joinValues(&o.rule.Compiled.Variables[o.per], v, w); same && joined != v {
				longest = false
			}
		}
		if longest {
			groups = append(groups, v)
		}
	}
	return groups
}

func (o *enumeration) speaksOfGroup(a []int) bool {
	if o.group == "" {
		return true
	}
	for i := range a {
		if a[i] >= 0 && o.at(a, i).values[o.per] != "" {
			return true
		}
	}
	return false
}

// maximal says that no step can be added. To a match of no group any may be, to one of a group only
// its own.
func (o *enumeration) maximal(a []int) bool {
	for i := range a {
		if a[i] >= 0 {
			continue
		}
		for c := range o.steps[i] {
			b := slices.Clone(a)
			b[i] = c
			if (o.group == "" || o.mine(i, c)) && o.consistent(b) && o.minimums(b) {
				return false
			}
		}
	}
	return true
}

func (o *enumeration) rate(a []int) (language.Verdict, int) {
	r := o.rule
	bound, _ := o.bound(a)
	var bits uint64
	points := 0
	for i := range a {
		if a[i] >= 0 {
			bits |= 1 << i
			points += r.Steps[i].Weight * o.quality(a, i)
		}
	}
	points = min(points, fullScore)
	steps := bits
	for i := range r.Absent {
		if o.absent(a, bound, &r.Absent[i]) {
			bits |= 1 << (language.MaxSteps + i)
		}
	}
	verdict := language.RuledOut
	for level := language.Possible; level <= language.Confirmed; level++ {
		if r.Verdict.Compiled[level].Holds(bits) {
			verdict = level
		}
	}
	if verdict == language.Confirmed && o.loose(a, steps&r.Verdict.Compiled[language.Confirmed].CollectLeaves()) {
		verdict = language.Likely
	}
	for i := range r.RulesOut {
		if !o.contradicted(a, bound, &r.RulesOut[i]) || verdict < language.Possible {
			continue
		}
		if r.RulesOut[i].Effect != "lowers" {
			return language.RuledOut, 0
		}
		verdict--
		points = max(0, points-20000)
	}
	return verdict, points
}

func (o *enumeration) tie(a []int, i, j int) int {
	best := 500
	for v, value := range o.at(a, i).values {
		if value != "" && o.at(a, j).values[v] != "" {
			best = max(best, o.rule.Compiled.Variables[v].Quality)
		}
	}
	return best
}

func (o *enumeration) quality(a []int, step int) int {
	lowest, edges := 1000, 0
	for i := range o.rule.Compiled.Ties {
		e := &o.rule.Compiled.Ties[i]
		if e.From != step && e.To != step || a[e.From] < 0 || a[e.To] < 0 {
			continue
		}
		edges++
		if e.To == step {
			q := 500
			switch o.order(a, e) {
			case certain:
				q = o.tie(a, e.From, e.To)
			case possible:
				q = o.tie(a, e.From, e.To) * 7 / 10
			}
			lowest = min(lowest, q)
		}
	}
	if edges > 0 {
		return lowest
	}
	best, others := 500, 0
	for j := range a {
		if j != step && a[j] >= 0 {
			others++
			best = max(best, o.tie(a, step, j))
		}
	}
	if others == 0 {
		return 1000
	}
	return best
}

func (o *enumeration) loose(a []int, steps uint64) bool {
	n := 0
	for i := range a {
		if steps&(1<<i) == 0 {
			continue
		}
		n++
		for j := range a {
			if i != j && steps&(1<<j) != 0 && o.tie(a, i, j) > 500 {
				return false
			}
		}
	}
	return n > 1
}

// agreeing are the events of a pattern that agree with what is bound, and are of no other machine;
// none when something is not bound.
func (o *enumeration) agreeing(a []int, bound []string, p *language.Pattern) []int32 {
	var events []int32
	for _, c := range candidates(o.rule, o.index, []language.Pattern{*p}) {
		ok := true
		for _, b := range p.Compiled.Bindings {
			_, same := joinValues(&o.rule.Compiled.Variables[b.Variable], bound[b.Variable], c.values[b.Variable])
			ok = ok && same && (b.Optional || bound[b.Variable] != "")
		}
		for i := range a {
			ok = ok && (a[i] < 0 || !o.areOfTwoMachines(o.index.events[o.at(a, i).event], o.index.events[c.event]))
		}
		if ok {
			events = append(events, c.event)
		}
	}
	return events
}

func (o *enumeration) contradicted(a []int, bound []string, against *language.Objection) bool {
	if a[against.Compiled.Anchor] < 0 {
		return false
	}
	anchor := o.index.spans[o.at(a, against.Compiled.Anchor).event]
	return slices.ContainsFunc(o.agreeing(a, bound, &against.Pattern), func(ev int32) bool {
		s := o.index.spans[ev]
		if !s.dated || !anchor.dated {
			return slices.ContainsFunc(against.Pattern.Compiled.Bindings, func(b language.Binding) bool { return !b.Optional })
		}
		return orderOverlap(anchor, s, 0) != impossible
	})
}

func (o *enumeration) absent(a []int, bound []string, absence *language.Absence) bool {
	if a[absence.Compiled.Anchor] < 0 || !o.index.spans[o.at(a, absence.Compiled.Anchor).event].dated {
		return false
	}
	for _, b := range absence.Pattern.Compiled.Bindings {
		if bound[b.Variable] == "" && !b.Optional {
			return false
		}
	}
	anchor := o.index.spans[o.at(a, absence.Compiled.Anchor).event]
	return !slices.ContainsFunc(o.agreeing(a, bound, &absence.Pattern), func(ev int32) bool {
		return !o.index.spans[ev].dated || o.index.spans[ev].startLo <= anchor.startHi
	})
}

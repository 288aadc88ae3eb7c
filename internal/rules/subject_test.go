package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TestSubjects: a name is one of others where it is equal to one of them, whatever its letters, or
// where one of the two leaves out its domain.
func TestSubjects(t *testing.T) {
	names := []string{"", "node-1", "NODE-1", "node-1.example.com", "node-1.example.org", "node-2", "node-2.example.com", "10.0.0.1", "10"}
	isSame := func(a, b string) bool {
		short, _, cutA := strings.Cut(a, ".")
		other, _, cutB := strings.Cut(b, ".")
		return strings.EqualFold(a, b) || cutA != cutB && strings.EqualFold(short, other)
	}
	for _, a := range names {
		var s subjects
		require.False(t, s.has(a))
		s.add(a)
		require.True(t, s.isOne())
		for _, b := range names {
			require.Equal(t, isSame(a, b), s.has(b), "%q and %q", a, b)
		}
	}
}

// TestNamesOfNode: who calls its node by some names is on it; who calls more nodes is a controller,
// and its lines are about none of them.
func TestNamesOfNode(t *testing.T) {
	made := func(host, source, node string) *event.Event {
		e := event.New(event.KindNodeCondition, "x", event.FieldNode.Text(node))
		e.Host, e.Source, e.Evidence = host, source, []event.Quote{{Text: "x"}}
		return &e
	}
	events := []*event.Event{made("node-1", "kubelet.log", ""), made("node-1", "kubelet.log", "ip-10-0-0-1.internal"), made("", "kubelet.log", "")}
	for node := range strings.FieldsSeq("a b c d e") {
		events = append(events, made("master-1", "kube-controller-manager.log", node))
	}
	x := newIndex(&timeline.Timeline{Events: events})
	require.Equal(t, []string{"node-1", "ip-10-0-0-1.internal"}, x.namesOfNode(events[0]))
	require.Empty(t, x.namesOfNode(events[2]))
	require.Empty(t, x.namesOfNode(events[3]))
}

// TestChainIsOfOneMachine: what goes on on another machine is no step of a chain, unless its name
// tells nothing, or a program of the control plane tells it.
func TestChainIsOfOneMachine(t *testing.T) {
	made := func(kind event.Kind, host, file string) event.Event {
		e := ev(kind, when(10))
		e.Host, e.Evidence[0].Pos.File = host, file
		return e
	}
	const rule = `id: r
title: T
role: root
mechanism: m
needs: [{any: [kubelet.log], collect: c}]
steps:
  - {id: waits, role: cause, text: w, weight: 50, kind: goroutine.wait}
  - {id: late, role: cause, text: l, weight: 50, kind: etcd.trouble}
  - {id: failed, role: symptom, text: f, weight: 50, kind: kubelet.cri-error}
edges:
  - {from: [waits, late], to: failed, overlap: 5m, relation: r}
verdict: {likely: "(waits or late) and failed"}
headline: h
`
	cat := catalogOf(t, rule)
	for _, c := range []struct {
		kind       event.Kind
		host, file string
		want       int
	}{
		{"goroutine.wait", "node-2", "b.log", 0},
		{"goroutine.wait", "node-2", "a.log", 1},
		{"goroutine.wait", "node-1.example.com", "b.log", 1},
		{"goroutine.wait", "localhost", "b.log", 1},
		{event.KindEtcdTrouble, "master-1", "b.log", 1},
	} {
		events := line(made(c.kind, c.host, c.file), made(event.KindCRIError, "node-1", "a.log"))
		require.Len(t, Evaluate(cat, events).Findings, c.want, c)
	}
}

// TestOtherMachineCompletesNothing: what a second machine shows is no further event of a step that
// gathers, and contradicts nothing, unless its name tells nothing, or the control plane tells it.
func TestOtherMachineCompletesNothing(t *testing.T) {
	const rule = `id: r
title: T
role: root
mechanism: m
needs: [{any: [kubelet.log], collect: c}]
steps:
  - {id: failed, role: cause, text: "{failed|count} calls", weight: 50, kind: kubelet.cri-error, bind: {path: path}, all: true, min: MIN}
verdict: {likely: failed}
tells:
  - {id: slow, text: slow, why: w, kind: slow, bind: {path: path}}
  - {id: many, text: "{many|count} lines", why: w, kind: many, min: 2, within: 1m}
rules_out:
  - {id: answers, kind: collect.rpc, why: it answers}
  - {id: ready, kind: node.condition, why: it is ready, during: failed}
  - {id: same, kind: thawed, bind: {path: path}, why: it was thawed}
headline: h
`
	made := func(kind event.Kind, second float64, host string) event.Event {
		e := ev(kind, when(second), field("path", "/a"))
		e.Host, e.Evidence[0].Pos.File = host, host+string(kind)+".log"
		return e
	}
	for name, c := range map[string]struct {
		min     string
		events  []event.Event
		ruled   bool
		counted int // of the first step; 0 for no finding
	}{
		"both of one machine":     {"2", []event.Event{made(event.KindCRIError, 1, "a"), made(event.KindCRIError, 2, "a"), made("x", 2, "b")}, false, 2},
		"one of another machine":  {"2", []event.Event{made(event.KindCRIError, 1, "a"), made(event.KindCRIError, 2, "b")}, false, 0},
		"one of a machine enough": {"1", []event.Event{made(event.KindCRIError, 1, "a"), made(event.KindCRIError, 2, "b")}, false, 1},
		"one of no known machine": {"2", []event.Event{made(event.KindCRIError, 1, "a"), made(event.KindCRIError, 2, "localhost"), made("x", 2, "b")}, false, 2},
		"answers there":           {"1", []event.Event{made(event.KindCRIError, 1, "a"), made("collect.rpc", 2, "b")}, false, 1},
		"answers here":            {"1", []event.Event{made(event.KindCRIError, 1, "a"), made("collect.rpc", 2, "a"), made("x", 2, "b")}, true, 0},
		"ready by the cluster":    {"1", []event.Event{made(event.KindCRIError, 1, "a"), made(event.KindNodeCondition, 1, "b")}, true, 0},
		"a sign, answers there":   {"1", []event.Event{made("slow", 1, "a"), made("collect.rpc", 2, "b")}, false, 1},
		"a sign, answers here":    {"1", []event.Event{made("slow", 1, "a"), made("collect.rpc", 2, "a"), made("x", 2, "b")}, true, 0},
		"a sign, thawed there":    {"1", []event.Event{made("slow", 1, "a"), made("thawed", 2, "b")}, false, 1},
		"a sign, thawed here":     {"1", []event.Event{made("slow", 1, "a"), made("thawed", 2, "a"), made("x", 2, "b")}, true, 0},
		"a row of two machines":   {"1", []event.Event{made("many", 1, "a"), made("many", 2, "b")}, false, 0},
		"a row of one machine":    {"1", []event.Event{made("many", 1, "a"), made("many", 2, "b"), made("many", 3, "a")}, false, 2},
		"a row, and no machine":   {"1", []event.Event{made("many", 1, "a"), made("x", 2, "b"), made("many", 3, "")}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := Evaluate(catalogOf(t, strings.ReplaceAll(rule, "MIN", c.min)), line(c.events...))
			require.Equal(t, c.ruled, len(r.RuledOut) == 1 && len(r.RuledOut[0].Evidence) > 0)
			if c.counted == 0 {
				require.Empty(t, r.Findings)
				return
			}
			require.Len(t, r.Findings, 1)
			require.Len(t, r.Findings[0].Chain[0].Events, c.counted)
		})
	}
}

// TestEffectIsOfOneMachine: where several machines are known, an effect that names none makes a
// sign likely only on the node, or by a line of the same file.
func TestEffectIsOfOneMachine(t *testing.T) {
	for name, c := range map[string]struct {
		sign, effect, other, file, node string
		want                            language.Verdict
	}{
		"one machine":                       {"a", "", "a", "x.log", "", language.Likely},
		"several machines":                  {"a", "", "b", "x.log", "", language.Possible},
		"several machines, a known effect":  {"a", "a", "b", "x.log", "", language.Likely},
		"of the node":                       {"a", "", "b", "x.log", "a", language.Likely},
		"of the node, with its domain":      {"a", "localhost", "b", "x.log", "a.example.com", language.Likely},
		"not of the node":                   {"a", "", "b", "x.log", "b", language.Possible},
		"of the same file":                  {"a", "", "b", "sign.log", "", language.Likely},
		"a sign of no machine":              {"", "a", "b", "x.log", "", language.Possible},
		"a sign of the node":                {"", "a", "b", "x.log", "a", language.Likely},
		"neither names one":                 {"", "", "b", "x.log", "", language.Likely},
		"a machine that tells nothing more": {"a", "", "localhost", "x.log", "", language.Likely},
	} {
		t.Run(name, func(t *testing.T) {
			sign, effect, other := sleeperOf("java", when(10)), ev("kubelet.stall", from(0, 200)), ev("x", when(1))
			sign.Host, effect.Host, other.Host = c.sign, c.effect, c.other
			sign.Evidence[0].Pos.File, effect.Evidence[0].Pos.File, other.Evidence[0].Pos.File = "sign.log", c.file, "other.log"
			tl := line(sign, effect, other, ev("y", func(e *event.Event) { e.Host = "a" }))
			tl.Node = c.node
			r := Evaluate(readFrozen(t), tl)
			require.Len(t, r.Findings, 1)
			require.Equal(t, c.want, r.Findings[0].Verdict)
		})
	}
}

package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

const captureRule = `id: lost
title: A volume is lost
role: root
needs: [{any: [acme-vold.log], collect: c}]
steps:
  - id: lost
    role: cause
    text: "{volume} of {host} is lost"
    kind: log.line
    match: {component: acme-vold, text|captures: "backend of {volume} lost on {host} after {} s"}
  - {id: back, role: recovery, text: "{vol} is back", kind: b, bind: {vol: volume, container|optional: cid}}
  - {id: other, role: symptom, text: "x", kind: c, bind: {container|optional: cid}}
verdict: {likely: lost and back}
headline: "{lost.volume} of {host} is lost, {other.vol} too"
`

// TestBindFromText: what stands in a placeholder's place joins events as a field does.
func TestBindFromText(t *testing.T) {
	cat := catalogOf(t, captureRule)
	require.Equal(t, []event.LineWatch{{Component: "acme-vold", Literal: "backend of"}}, cat.Lines())
	lost := func(volume string) event.Event {
		return ev(event.KindLogLine, when(1), field("text", "backend of "+volume+" lost on node-1 after 3 s"), func(e *event.Event) { e.Component = "acme-vold" })
	}
	back := func(volume string) event.Event { return ev("b", when(2), field("vol", volume)) }
	r := Evaluate(cat, line(lost("v1"), back("v2")))
	require.Empty(t, r.Findings, "another volume")
	r = Evaluate(cat, line(lost("v1"), lost("v2"), back("v2")))
	f := find(t, r, "lost")
	require.Equal(t, "v2 of node-1 is lost", f.Summary)
	require.Equal(t, "v2 of node-1 is lost", f.Chain[0].Text)

	var explained strings.Builder
	require.NoError(t, cat.Rules[0].Explain(&explained))
	require.Contains(t, strings.Join(strings.Fields(explained.String()), " "), "container = cid if it is given")
}

// TestOptionalBind: an event may lack an optional field, and one that has it must agree.
func TestOptionalBind(t *testing.T) {
	steps := func(bind string) *language.Catalog {
		return catalogOf(t, strings.Replace(readRule(t, "whole"), "kind: b, bind: {container: cid}", "kind: b, bind: {"+bind+": cid}", 1))
	}
	a, b, stranger, unnamed := ev("a", when(1), container(idA)), ev("b", when(2), container(idA)), ev("b", when(2), container(idB)), ev("b", when(2))
	verdict := func(cat *language.Catalog, second event.Event) language.Verdict {
		var best language.Verdict
		for _, f := range Evaluate(cat, line(a, second)).Findings {
			best = max(best, f.Verdict)
		}
		return best
	}
	require.Equal(t, language.Confirmed, verdict(steps("container|optional"), b))
	require.Equal(t, language.Possible, verdict(steps("container|optional"), stranger))
	require.Equal(t, language.Likely, verdict(steps("container|optional"), unnamed), "time alone ties it")
	require.Equal(t, language.Possible, verdict(steps("container"), unnamed))
}

// TestNeedByPath: a need is met by a file whose path is that of the source.
func TestNeedByPath(t *testing.T) {
	tl := line(ev("a", when(1), container(idA)), ev("b", when(2), container(idA)))
	for i := range tl.Coverage {
		tl.Coverage[i].Source, tl.Coverage[i].File = "", "bundle/var/log/acme/vold.log"
	}
	named := catalogOf(t, strings.ReplaceAll(readRule(t, "whole"), "containerd.log", `"path:var/log/acme/*.log"`))
	require.NotContains(t, find(t, Evaluate(named, tl), "whole").Missing, "path")
	require.Empty(t, newIndex(tl).listMissing(&named.Rules[0]))
	require.NotEmpty(t, newIndex(tl).listMissing(&catalogOf(t, strings.ReplaceAll(readRule(t, "whole"), "containerd.log", `"path:var/log/other/*.log"`)).Rules[0]))
}

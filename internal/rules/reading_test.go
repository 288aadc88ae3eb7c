package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          []string // nil where the text does not fit
	}{
		{"backend of {volume} is lost", "the backend of vol-17 is lost, again", []string{"vol-17"}},
		{"backend of {volume} is lost", "backend of vol 17 is lost", nil},
		{"backend of {volume} is lost", "backend of  is lost", nil},
		{"volume {volume}, host {host}", "volume v1,2, host a.b:", []string{"v1,2", "a.b:"}},
		{`volume "{volume}"`, `volume "v1"x"`, []string{"v1"}},
		{"{volume} lost", "lost, v1 lost", []string{"v1"}},
		{"lost {volume}", "lost v1 of a", []string{"v1"}},
		{"after {} s: {why}", "after 3.5 s: timeout", []string{"timeout"}},
		{"Status{Id:{container},", "&ContainerStatus{Id:40585f,Name:x}", []string{"40585f"}},
		{"lost (.*) {volume}", "lost (.*) v1", []string{"v1"}},
		{" lost {volume} ", "it is lost v1", []string{"v1"}},
		{"lost {volume}", "lost größe", []string{"größe"}},
	} {
		text, err := parseCaptures(c.pattern)
		require.NoError(t, err, c.pattern)
		fits, err := matchCaptures(c.pattern)
		require.NoError(t, err)
		require.Equal(t, c.want != nil, fits(event.String(c.text)), c.pattern)
		for i, name := range text.names {
			e := event.Event{Fields: []event.Field{{Key: "text", Value: event.String(c.text)}}}
			v, ok := reading{field: "text", text: c.pattern, placeholder: name}.reader()(&e)
			require.Equal(t, c.want != nil, ok)
			if ok {
				require.Equal(t, c.want[i], v.Text(), c.pattern)
			}
		}
	}
	for pattern, want := range map[string]string{
		"backend lost":                       "takes a text with a placeholder such as {volume}",
		"{a}{b}":                             "takes a text between two placeholders",
		"{a} and {a}":                        "names {a} twice",
		strings.Repeat("{} ", 17):            "takes at most 16 placeholders",
		"lost {Volume} of {volume-id} {1} {": "takes a text with a placeholder",
	} {
		_, err := parseCaptures(pattern)
		require.ErrorContains(t, err, want, pattern)
	}
}

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
	steps := func(bind string) *Catalog {
		return catalogOf(t, strings.Replace(whole, "kind: b, bind: {container: cid}", "kind: b, bind: {"+bind+": cid}", 1))
	}
	a, b, stranger, unnamed := ev("a", when(1), container(idA)), ev("b", when(2), container(idA)), ev("b", when(2), container(idB)), ev("b", when(2))
	verdict := func(cat *Catalog, second event.Event) Verdict {
		var best Verdict
		for _, f := range Evaluate(cat, line(a, second)).Findings {
			best = max(best, f.Verdict)
		}
		return best
	}
	require.Equal(t, Confirmed, verdict(steps("container|optional"), b))
	require.Equal(t, Possible, verdict(steps("container|optional"), stranger))
	require.Equal(t, Likely, verdict(steps("container|optional"), unnamed), "time alone ties it")
	require.Equal(t, Possible, verdict(steps("container"), unnamed))
}

// TestPathSource: the files of a source are named by the end of their path.
func TestPathSource(t *testing.T) {
	for pattern, files := range map[string][2]string{
		"path:var/log/acme/*.log":  {"sos-1/var/log/acme/vold.log", "var/log/acme/old/vold.log"},
		"path:/var/log/acme/*.log": {"var/log/acme/vold.log", "log/acme/vold.log"},
		"path:vold.log*":           {"a/vold.log.1.gz", "a/myvold.log"},
	} {
		c, err := newCondition("source", pattern)
		require.NoError(t, err)
		for i, want := range []bool{true, false} {
			e := event.Event{Source: "other.log", Evidence: []event.Quote{{Pos: event.Pos{File: files[i], Line: 1}}}}
			require.Equal(t, want, meetsConditions(&e, []condition{c}), "%s %s", pattern, files[i])
		}
	}
	c, err := newCondition("source|in", []any{"path:a/*.log", "path:b.log"})
	require.NoError(t, err)
	require.True(t, meetsConditions(&event.Event{Evidence: []event.Quote{{Pos: event.Pos{File: "x/b.log"}}}}, []condition{c}))
	require.False(t, meetsConditions(&event.Event{}, []condition{c}))
	for key, arg := range map[string]any{
		"source": "path:[", "source|in": []any{"path:a", "kubelet.log"}, "source|contains": "path:a",
	} {
		_, err := newCondition(key, arg)
		require.Error(t, err, key)
	}

	tl := line(ev("a", when(1), container(idA)), ev("b", when(2), container(idA)))
	for i := range tl.Coverage {
		tl.Coverage[i].Source, tl.Coverage[i].File = "", "bundle/var/log/acme/vold.log"
	}
	named := catalogOf(t, strings.ReplaceAll(whole, "containerd.log", `"path:var/log/acme/*.log"`))
	require.NotContains(t, find(t, Evaluate(named, tl), "whole").Missing, "path")
	require.Empty(t, newIndex(tl).listMissing(&named.Rules[0]))
	require.NotEmpty(t, newIndex(tl).listMissing(&catalogOf(t, strings.ReplaceAll(whole, "containerd.log", `"path:var/log/other/*.log"`)).Rules[0]))
}

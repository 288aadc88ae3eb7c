package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

const exposedRule = `
id: risky
title: t
role: root
headline: h
needs: [{any: [containerd.log], collect: c}]
steps: [{id: s, role: cause, text: x, kind: a}]
verdict: {likely: s}
exposed:
  - versions: [{fact: containerd.version, affected: "<1.6.24"}]
    facts: {overlay.options|lacks: volatile, cpus|gte: 8}
    text: every exit of a container syncs the disk.
`

func TestExposed(t *testing.T) {
	q := []event.Quote{{Pos: event.Pos{File: "versions.txt", Line: 3}, Text: "containerd 1.6.20"}}
	facts := func(version, options, cpus string) *timeline.Timeline {
		tl := line()
		tl.Facts = map[string]timeline.Fact{"containerd.version": {Value: version, Evidence: q}, "overlay.options": {Value: options}, "cpus": {Value: cpus}}
		return tl
	}
	exposed := func(tl *timeline.Timeline) []Exposure { return Evaluate(catalogOf(t, exposedRule), tl).Exposed }
	got := exposed(facts("1.6.20", "index=off", "16"))
	require.Len(t, got, 1)
	require.Equal(t, "every exit of a container syncs the disk (containerd.version = 1.6.20, cpus = 16, overlay.options = index=off)", got[0].String())
	require.Equal(t, q, got[0].Evidence)
	for name, tl := range map[string]*timeline.Timeline{
		"fixed":           facts("1.6.24", "index=off", "16"),
		"unknown version": facts("", "index=off", "16"),
		"volatile":        facts("1.6.20", "index=off,volatile", "16"),
		"small":           facts("1.6.20", "index=off", "4"),
	} {
		require.Empty(t, exposed(tl), name)
	}
	tl := facts("1.6.20", "index=off", "16")
	delete(tl.Facts, "overlay.options")
	require.Empty(t, exposed(tl), "a fact that is not known does not hold")
	tl = facts("1.6.20", "index=off", "16")
	tl.Events = pointersTo(ev("a", when(1)))
	require.Empty(t, exposed(tl), "the finding says more")
}

const forecastRule = `
id: runs-out
title: t
role: root
headline: h
needs: [{any: [containerd.log], collect: c}]
steps: [{id: s, role: cause, text: x, kind: other}]
verdict: {likely: s}
forecast:
  - {kind: count, value: n, rate: speed, limit: LIMIT, text: no process can start, bind: {pid: owner}}
`

func TestForecast(t *testing.T) {
	count := func(seconds float64, n float64, changes ...setup) event.Event {
		return ev("count", append([]setup{when(seconds), with("n", event.Number(n)), func(e *event.Event) { e.IDs.PID = 7 }}, changes...)...)
	}
	other := func(e *event.Event) { e.IDs.PID = 8 }
	forecasts := func(limit string, events ...event.Event) []Forecast {
		tl := line(events...)
		tl.Facts = map[string]timeline.Fact{"kernel.pid_max": {Value: "32768"}}
		tl.Coverage = []timeline.Coverage{{Source: "containerd.log", Start: at(0).T, End: at(300).T}}
		return Evaluate(catalogOf(t, strings.Replace(forecastRule, "LIMIT", limit, 1)), tl).Forecasts
	}
	got := forecasts("kernel.pid_max", count(0, 20000), count(50, 20900), count(100, 22000))
	require.Len(t, got, 1)
	require.InDelta(t, 20, got[0].Rate, 1e-9)
	require.Equal(t, at(100).T.Add(538*time.Second), got[0].At)
	require.Len(t, got[0].Evidence, 2)
	require.Empty(t, forecasts("kernel.pid_max", count(0, 20000), count(30, 22000)), "half a minute proves no rate")
	require.Empty(t, forecasts("kernel.pid_max", count(0, 20000), count(100, 19000)), "it shrinks")
	require.Empty(t, forecasts("kernel.pid_max", count(0, 20000), count(100, 22000, other)), "two things that grow each for itself")
	require.Empty(t, forecasts("kernel.pid_max", count(0, 20000), count(100, 40000)), "the limit is behind it")
	require.Empty(t, forecasts("threads_max", count(0, 20000), count(100, 22000)), "nobody knows the limit")
	require.Empty(t, forecasts("1e15", count(0, 20000), count(100, 22000)), "in a thousand years")

	require.Equal(t, at(100).T.Add(310*time.Second), got[0].Earliest, "±14.7 a second by three readings")
	require.Equal(t, at(100).T.Add(2020*time.Second), got[0].Latest)
	require.Equal(t, 3, got[0].Readings)
	require.Empty(t, forecasts("kernel.pid_max", count(0, 20000), count(50, 21900), count(100, 20500)), "it goes up and down")
	require.Empty(t, forecasts("kernel.pid_max", count(0, 20000), count(100, 21000)), "counts differ that much by chance")
	require.Empty(t, forecasts("kernel.pid_max", count(0, 1000), count(100, 1900)), "more than 30 times as far as it was watched")
	require.Empty(t, forecasts("kernel.pid_max", count(0, 20000), count(100, 32000)), "the log goes on after that, and nothing happened")
	require.Len(t, forecasts("most", count(0, 20000), count(100, 22000, with("most", event.Number(32768)))), 1, "the event itself knows the limit")
	got = forecasts("kernel.pid_max", count(-100, 31000), count(0, 20000), count(100, 22000))
	require.Len(t, got, 1, "what was before a clean-up does not count")
	require.Equal(t, 2, got[0].Readings)
	ps := func(e *event.Event) { e.Source = "processes" }
	require.Empty(t, forecasts("kernel.pid_max", count(0, 20000), count(100, 22000, ps)), "two ways to count")

	got = forecasts("4294967295", ev("count", from(0, 600), with("n", event.Number(4_000_000_000)), with("speed", event.Number(1000))))
	require.Len(t, got, 1)
	require.Equal(t, 10*time.Minute, got[0].Span)
	require.Equal(t, at(600).T.Add(294967*time.Second), got[0].At)
}

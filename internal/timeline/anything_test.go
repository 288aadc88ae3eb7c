package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// drawStamp draws any stamp that a parser can make, likely or not.
func drawStamp(t *rapid.T) event.Time {
	at := time.Unix(rapid.OneOf(rapid.Int64Range(1_700_000_000, 1_700_100_000), rapid.Int64Range(-62_167_219_200, 253_402_300_799)).Draw(t, "unix"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	lacks := rapid.SampledFrom([]event.Lacks{0, event.LacksZone, event.LacksZone | event.LacksYear, event.LacksZone | event.LacksYear | event.LacksDate, event.LacksBoot}).Draw(t, "lacks")
	switch {
	case lacks&event.LacksDate != 0:
		at = bootEpoch.Add(timeOfDay(at))
	case lacks&event.LacksYear != 0:
		at = inYear(at, 0)
	case lacks == event.LacksBoot:
		at = bootEpoch.Add(time.Duration(rapid.Int64Range(0, 1e18).Draw(t, "uptime")))
	}
	if rapid.IntRange(0, 9).Draw(t, "known") == 0 {
		return event.Time{}
	}
	return event.Time{T: at, Lacks: lacks, Prec: time.Duration(rapid.SampledFrom([]int{0, 1000, int(time.Second)}).Draw(t, "prec")), Known: true}
}

func drawEvent(t *rapid.T, line int) event.Event {
	file := rapid.SampledFrom([]string{"a.log", "b.log", "c.log"}).Draw(t, "file")
	e := ev(file, line, drawStamp(t), says(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "text")))
	e.Component = rapid.SampledFrom([]string{"kernel", "kubelet"}).Draw(t, "component")
	e.IDs.Container = rapid.SampledFrom([]string{"", "b39895a86a9ebfda", "40585f7349a6b41b"}).Draw(t, "container")
	if rapid.IntRange(0, 5).Draw(t, "step") == 0 {
		e.Kind = "clock.step"
		e.Fields = append(e.Fields, event.Field{Key: "step", Value: event.Duration(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "by")))})
	}
	if rapid.Bool().Draw(t, "lasts") && e.Start.Known {
		e.End = e.Start.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "for")))
	}
	return e
}

func drawSource(t *rapid.T, i int) *Source {
	s := &Source{Clues: &Clues{}, File: rapid.SampledFrom([]string{"a.log", "b.log", "c.log", "d.log"}).Draw(t, "file"), Name: fmt.Sprint("source", i), Foreign: rapid.Bool().Draw(t, "foreign"), Earlier: rapid.Bool().Draw(t, "earlier")}
	if s.First = drawStamp(t); s.First.Known {
		s.Last = s.First.Add(time.Duration(rapid.Int64Range(-int64(day), int64(30*day)).Draw(t, "spans")))
	}
	for range rapid.IntRange(0, 3).Draw(t, "pairs") {
		local, truth := drawStamp(t), drawStamp(t)
		if local.Known && local.Lacks&event.LacksZone != 0 {
			s.Pairs = append(s.Pairs, Pair{Local: local, True: truth.T, Late: rapid.Bool().Draw(t, "late")})
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "boots") {
		if at := drawStamp(t); at.Known && at.Lacks != event.LacksBoot {
			s.Boots = append(s.Boots, Boot{Uptime: time.Duration(rapid.Int64Range(1, 1e18).Draw(t, "uptime")), At: at, Line: rapid.IntRange(1, 9).Draw(t, "line"), Read: rapid.Bool().Draw(t, "read")})
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "turns") {
		turn := Turn{From: drawStamp(t).T, Offset: time.Duration(rapid.IntRange(-48, 56).Draw(t, "quarters")) * zoneStep}
		turn.After = turn.From.Add(-time.Duration(rapid.Int64Range(0, int64(2*day)).Draw(t, "after")))
		s.Turns = append(s.Turns, turn)
		s.Zones = []Zone{{int(turn.Offset / time.Second), rapid.IntRange(1, 9).Draw(t, "votes")}}
	}
	if at := drawStamp(t); at.Known && at.Lacks&^event.LacksZone == 0 {
		s.Seen = append(s.Seen, at)
	}
	return s
}

// Whatever stands in the logs: every stamp comes out as an instant in UTC or as none, and in which
// order files and lines are handed in changes nothing.
func TestBuildOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{}
		for i := range rapid.IntRange(0, 12).Draw(t, "events") {
			in.Events = append(in.Events, pointersTo(drawEvent(t, i+1))...)
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "sources") {
			in.Sources = append(in.Sources, drawSource(t, i))
		}
		var o Options
		if rapid.Bool().Draw(t, "tz") {
			o.Zone = time.FixedZone("x", 3600*rapid.IntRange(-12, 14).Draw(t, "zone"))
		}
		if rapid.Bool().Draw(t, "year") {
			o.Year = 2025
		}
		other := clone(Input{Events: rapid.Permutation(in.Events).Draw(t, "other order"), Sources: rapid.Permutation(in.Sources).Draw(t, "of sources")})
		for _, s := range other.Sources { // Build owns what it is given
			clues := *s.Clues
			clues.Boots, clues.Seen = append([]Boot(nil), s.Boots...), append([]event.Time(nil), s.Seen...)
			s.Clues = &clues
		}
		a, b := Build(in, o), Build(other, o)
		for i := range a.Events {
			for _, at := range [...]event.Time{a.Events[i].Start, a.Events[i].End} {
				require.Zero(t, at.Lacks)
				require.Equal(t, time.UTC, at.T.Location())
				require.GreaterOrEqual(t, at.Prec, time.Duration(0))
			}
		}
		require.Equal(t, a.Clocks, b.Clocks)
		require.Equal(t, a.Events, b.Events)
	})
}

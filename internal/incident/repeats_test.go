package incident

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Of an event that comes five times a second for an hour the first, some between and the last are
// kept, and they count all of them. One that comes every five seconds is kept each time.
func TestRepeats(t *testing.T) {
	start := time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		every time.Duration
		kept  int
	}{
		{200 * time.Millisecond, firstRepeats + 3600/20},
		{5 * time.Second, 720},
	} {
		var m eventMaker
		n := 0
		for after := time.Duration(0); after < time.Hour; after += tc.every {
			e := event.New(event.KindRuncFailed, "runc exec failed", event.FieldError.Text("exec "+strconv.Itoa(n)+": no such file"))
			e.Start = event.At(start.Add(after))
			e.Evidence = []event.Quote{{Pos: event.Pos{File: "f", Line: n + 1}}}
			m.addEvent(&e)
			n++
		}
		kept := slices.Collect(m.events.allEvents())
		counted, lines := 0, map[int]bool{}
		for _, e := range kept {
			counted += e.Count()
			lines[e.Pos().Line] = true
		}
		require.InDelta(t, tc.kept, len(kept), 3)
		require.Equal(t, n, counted)
		require.True(t, lines[1] && lines[2] && lines[n], "the first ones and the last")
	}
}

// What tells events apart: kinds, containers, words. What does not: numbers and ids in texts.
func TestRepeatKey(t *testing.T) {
	key := func(text string) string { return string(appendWithoutIDs(nil, text)) }
	require.Equal(t, "exec # of #: dead at #.#.#.#:#", key("exec 17 of 40585f7349a6: dead at 10.0.0.7:443"))
	require.Equal(t, "a faded cafe1", key("a faded cafe1"))
	a, b := event.Event{Kind: event.KindRuncFailed}, event.Event{Kind: event.KindRuncFailed}
	a.IDs.Container, b.IDs.Container = "40585f7349a6", "40585f7349a7"
	require.NotEqual(t, appendRepeatKey(nil, &a), appendRepeatKey(nil, &b))
}

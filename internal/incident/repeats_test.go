package incident

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/timeline"
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
		m := (&file{}).newMaker(nil)
		n := 0
		for after := time.Duration(0); after < time.Hour; after += tc.every {
			e := event.New(event.KindRuncFailed, "runc exec failed", event.FieldError.Text("exec "+strconv.Itoa(n)+": no such file"))
			e.Start = event.At(start.Add(after))
			e.Evidence = []event.Quote{{Pos: event.Pos{File: "f", Line: n + 1}}}
			m.addEvent(&e, e.Start)
			n++
		}
		kept := slices.Collect(m.events.All())
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

// TestCountedLines: lines that are counted before anything is made of them give the events that
// they give when everything is made of each.
func TestCountedLines(t *testing.T) {
	counted := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		ids := []string{strings.Repeat("1a2b3c4d", 8), strings.Repeat("5e6f7a8b", 8)}
		texts := []string{`ExecSync for "%s" failed`, `StopContainer for "%s" failed`, `nothing of "%s"`, `shim disconnected %s`}
		quick, slow := (&file{}).newMaker(&messages.Lines{}), (&file{rare: &rareParts{watch: &lineWatch{}}}).newMaker(&messages.Lines{}) // who watches a file sees each of its events
		source := timeline.NewFileSources("containerd.log", false).Builder("", "containerd.log")
		at := time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC)
		for n := range 200 + r.IntN(600) {
			pause := []int{0, -200, 900, 2500, 4000}[max(0, r.IntN(60)-55)]
			at = at.Add(time.Duration(pause+100) * time.Millisecond)
			text := fmt.Sprintf(texts[max(0, r.IntN(20)-16)], ids[r.IntN(2)])
			const reason = "start exec %s: OCI runtime exec failed: exec failed: container_linux.go:344: write init-p: broken pipe: exit %d"
			failed := fmt.Sprintf(reason, ids[r.IntN(2)], 1+max(0, r.IntN(20)-18))
			rec := event.Record{
				Pos: event.Pos{File: "containerd.log", Line: n + 1}, Lines: 1, Time: event.At(at), Unit: "containerd", Level: event.Error,
				Text: text, Fields: []event.Pair{{Key: "error", Value: failed}}, Raw: text + ` error="` + failed + `"`, Wanted: true,
			}
			quick.makeEvents(&line{rec, source})
			slow.makeEvents(&line{rec, source})
		}
		for _, r := range quick.repeated {
			if r.latest != nil {
				counted++
			}
		}
		quick.makeLatest()
		events := func(m *eventMaker) (all []event.Event) {
			for e := range m.events.All() {
				all = append(all, *e)
			}
			slices.SortStableFunc(all, func(a, b event.Event) int { return cmp.Compare(a.Pos().Line, b.Pos().Line) })
			return all
		}
		require.Equal(t, events(slow), events(quick))
	})
	require.Positive(t, counted, "some lines are only counted")
}

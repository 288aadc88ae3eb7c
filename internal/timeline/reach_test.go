package timeline

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestCoversStall holds that a source may show the cause of a stall exactly where some stall says
// so of the time of the source.
func TestCoversStall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Minute
		}
		tl := &Timeline{}
		start := noon
		for range rapid.IntRange(1, 6).Draw(t, "stalls") {
			start = start.Add(minutes("later", 30))
			tl.Stalls = append(tl.Stalls, Stall{Window: Window{start, start.Add(minutes("length", 20))}, Open: rapid.Bool().Draw(t, "open")})
		}
		from := noon.Add(minutes("from", 120) - time.Hour)
		c := Coverage{Start: from, End: from.Add(minutes("for", 20))}
		tl.Coverage = []Coverage{c}
		want := slices.ContainsFunc(tl.Stalls, func(s Stall) bool { return s.MayHaveCause(Window{c.Start, c.End}, true) })
		require.Equal(t, want, tl.CoversStall(func(*Coverage) bool { return true }))
		require.False(t, tl.CoversStall(func(*Coverage) bool { return false }))
	})
}

package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStampsThatNoClockShowsAreUndated(t *testing.T) {
	ended := ev("a.log", 3, at("2026-01-01T10:00:00Z"))
	ended.Start, ended.End = at("0001-01-01T00:00:00Z"), ended.Start
	endless := ev("a.log", 4, at("2026-01-01T10:00:01Z"))
	endless.End = at("9999-12-31T23:59:59Z")
	tl := Build(Input{
		Events: pointersTo(
			ev("a.log", 2, at("9999-12-31T23:59:59Z")), ev("a.log", 1, at("1970-01-01T01:11:34Z")), ended, endless,
		),
		Sources: []*Source{
			covers("a.log", "kubelet.log", "1970-01-01T01:11:34Z", "2026-01-01T10:00:01Z"),
			covers("b.log", "systemd.log", "0000-01-01T00:00:00Z", "9999-01-01T00:00:00Z"),
		},
	}, Options{})
	ten := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	for i, line := range []int{3, 4, 1, 2} { // undated events come last
		require.Equal(t, line, tl.Events[i].Pos().Line, i)
		require.False(t, tl.Events[i].End.Known, i)
		require.Equal(t, i < 2, tl.Events[i].Start.Known, i)
	}
	require.Equal(t, ten, tl.Events[0].Start.T)
	require.Equal(t, ten.Add(time.Second), tl.Events[1].Start.T)
	require.Equal(t, ten.Add(time.Second), tl.Coverage[0].Start)
	require.Equal(t, ten.Add(time.Second), tl.Coverage[0].End)
	require.Zero(t, tl.Coverage[1].Start)
	require.Equal(t, "stamps outside of the years 2013 to 2099, such as 1970-01-01 (a.log:1), count as undated", tl.Clocks[0].Note)
	require.Equal(t, "stamps outside of the years 2013 to 2099, such as 0000-01-01 (b.log), count as undated", tl.Clocks[1].Note)
	require.Zero(t, tl.Clocks[0].ResolveStamp(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), true, 9, ten))
}

// A node whose clock nobody has set counts from 1970. Where all say so, an order and a length are
// as good as any.
func TestNodeWithoutAClockKeepsItsTimes(t *testing.T) {
	tl := Build(Input{Events: pointersTo(
		ev("a.log", 1, at("1970-01-01T00:10:00Z")), ev("a.log", 2, at("1970-01-01T00:20:00Z")), ev("a.log", 3, at("1677-09-21T00:12:43Z")),
	)}, Options{})
	require.Equal(t, 10*time.Minute, tl.Events[1].Start.T.Sub(tl.Events[0].Start.T))
	require.False(t, tl.Events[2].Start.Known)
	require.Contains(t, tl.Clocks[0].Note, "years 1970 to 2099, such as 1677-09-21 (a.log:3)")
}

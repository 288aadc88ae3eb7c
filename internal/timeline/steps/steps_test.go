package steps

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// splitOneByOne is Split as it reads when every stamp is looked at.
func splitOneByOne(times []time.Time, s Step) (n, open int) {
	before := s.After.Add(-s.By)
	for i, t := range times {
		switch {
		case s.By > 0 && !t.Before(before.Add(s.By/2)):
			return i, 0
		case s.By > 0:
			n = i + 1
		case i > 0 && times[i-1].Sub(t) > -s.By/2 && !t.Before(s.After.Add(-Least)) && !times[i-1].After(before.Add(Least)):
			return i, 0
		case t.Before(s.After):
			n, open = i+1, 0
		case !t.After(before):
			open = i + 1 - n
		}
	}
	return n, open
}

// TestStamps holds that any steps split and move any stamps as if each was compared with each.
func TestStamps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		seconds := func(name string, from, until int) time.Duration {
			return time.Duration(rapid.IntRange(from, until).Draw(t, name)) * time.Second
		}
		var times []time.Time
		for i := range rapid.IntRange(0, 5*block).Draw(t, "stamps") {
			times = append(times, noon.Add(time.Duration(i)*20*time.Second+seconds("late", -120, 30)))
		}
		first, spread := append([]time.Time{}, times...), make([]time.Duration, len(times))
		s := NewStamps(times)
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			step := Step{By: seconds("by", -300, 300), After: noon.Add(seconds("after", 0, 3600))}
			if step.By == 0 {
				step.By = Least
			}
			n, open := splitOneByOne(times, step)
			own, ownOpen := s.Split(step)
			require.Equal(t, [2]int{n, open}, [2]int{own, ownOpen})
			s.Undo(n, open, step.By)
			for i := range times[:n+open] {
				times[i] = times[i].Add(step.By)
				if i >= n {
					spread[i] += step.By.Abs()
				}
			}
		}
		moved, longer := s.Sum()
		for i := range times {
			require.Equal(t, times[i].Sub(first[i]), moved[i])
			require.Equal(t, spread[i], longer[i])
		}
	})
}

// TestResolve holds that a line is moved by all steps that come after it, and between two stamps by
// those that its own stamp is before.
func TestResolve(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	moves := []Move{
		{Step{time.Minute, noon}, 10, 20},
		{Step{time.Minute, noon.Add(time.Hour)}, 29, 30},
		{Step{-time.Second, noon.Add(2 * time.Hour)}, 39, 40},
	}
	m := NewMoves(moves, false)
	for _, c := range []struct {
		line  int
		at    time.Duration
		moved time.Duration
	}{
		{9, -time.Minute, 119 * time.Second},
		{15, -time.Minute, 119 * time.Second},
		{15, time.Second, 59 * time.Second},
		{30, 70 * time.Minute, -time.Second},
		{40, 3 * time.Hour, 0},
	} {
		at := noon.Add(c.at)
		require.Equal(t, c.moved, m.Resolve(at, c.line).Sub(at), c)
	}
	last := NewMoves([]Move{{Step{time.Minute, noon}, -20, -19}}, true)
	require.Equal(t, noon.Add(time.Minute), last.Resolve(noon, 25))
	require.Equal(t, noon, last.Resolve(noon, 5))
	var none *Moves
	require.Equal(t, noon, none.Resolve(noon, 5))
}

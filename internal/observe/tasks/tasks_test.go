package tasks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

const id = "204df6b7bc752df41614281ffc83e9dbf4a0469744343a5493bb6c1e9ef090aa"

// shown is a container as a program shows it in a line of a file, so many seconds after another
// one.
func shown(by Reporter, state, file string, line, second int) Task {
	t := Task{Container: id, By: by, State: state, Quote: event.Quote{Pos: event.Pos{File: file, Line: line}, Text: "x"}}
	if by == CRI {
		t.Container = id[:cutLength]
	}
	if second > 0 {
		t.At = event.Time{T: time.Unix(int64(1_700_000_000+second), 0), Known: true}
	}
	return t
}

// Who says so is not enough: only where both others had it as stopped, one of them surely before
// the CRI was asked, is the CRI late.
func TestLostExits(t *testing.T) {
	for name, c := range map[string]struct {
		tasks   []Task
		found   int
		overdue bool
	}{
		"the CRI last":            {[]Task{shown(CRI, "Running", "a", 3, 9), shown(Containerd, "STOPPED", "b", 3, 1), shown(Runtime, "stopped", "c", 3, 2)}, 1, true},
		"the CRI first":           {[]Task{shown(CRI, "Running", "a", 3, 1), shown(Containerd, "STOPPED", "b", 3, 2), shown(Runtime, "stopped", "c", 3, 3)}, 1, false},
		"without times":           {[]Task{shown(CRI, "Running", "z", 3, 0), shown(Containerd, "STOPPED", "b", 3, 0), shown(Runtime, "stopped", "c", 3, 0)}, 1, false},
		"by their lines":          {[]Task{shown(CRI, "Running", "a", 9, 0), shown(Containerd, "STOPPED", "a", 3, 0), shown(Runtime, "stopped", "a", 6, 0)}, 1, true},
		"only one of them":        {[]Task{shown(CRI, "Running", "a", 9, 0), shown(Containerd, "STOPPED", "a", 3, 0)}, 1, false},
		"the CRI noted it":        {[]Task{shown(CRI, "Running", "a", 3, 1), shown(CRI, "Exited", "b", 3, 5), shown(Containerd, "STOPPED", "c", 3, 2)}, 0, false},
		"the CRI noted it before": {[]Task{shown(CRI, "Exited", "a", 3, 1), shown(Containerd, "STOPPED", "c", 3, 2)}, 0, false},
		"all run":                 {[]Task{shown(CRI, "Running", "a", 3, 1), shown(Containerd, "RUNNING", "c", 3, 2)}, 0, false},
	} {
		seen := Seen{Tasks: c.tasks}
		found := seen.LostExits()
		require.Len(t, found, c.found, name)
		if c.found > 0 {
			require.Equal(t, id, found[0].IDs.Container, name)
			require.Equal(t, c.overdue, found[0].FieldText(event.FieldOverdue) == "true", name)
		}
	}
}

// A process is missing on the node on which somebody asked for it.
func TestMissingInOneFile(t *testing.T) {
	task := shown(Containerd, "RUNNING", "a", 3, 0)
	task.PID = 42
	here, there := event.Quote{Pos: event.Pos{File: "a", Line: 9}}, event.Quote{Pos: event.Pos{File: "b", Line: 9}}
	seen := Seen{Tasks: []Task{task}, Missing: []Missing{{42, there}}}
	require.Empty(t, seen.LostExits())
	seen.Add(Seen{Missing: []Missing{{42, here}}})
	require.Len(t, seen.LostExits(), 1)
}

package states

import (
	"strconv"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// Task is a container that containerd lists as running.
type Task struct {
	Container string
	PID       int // of its first process
	Quote     event.Quote
}

// Missing is a process that somebody asked for and that is not there.
type Missing struct {
	PID   int
	Quote event.Quote
}

// takeTask notes a running container of ctr task ls. runc list is no record of containerd's: runc
// looks at the process.
func (t *listings) takeTask(e *snapshots.Datum) {
	pid, err := strconv.Atoi(column(e, "PID"))
	if id := column(e, "TASK"); err == nil && pid > 0 && column(e, "STATUS") == "RUNNING" && len(t.tasks) < maxListed {
		t.tasks = append(t.tasks, Task{id, pid, quoteOf(e)})
	}
}

// Tasks are the containers that a listing of containerd shows as running.
func (s *Snapshot) Tasks() []Task {
	if l, ok := s.reader.(*listings); ok {
		return l.tasks
	}
	return nil
}

// LostExits are the containers of which containerd says that they run, and whose process is not
// there.
func LostExits(tasks []Task, missing []Missing) (all []event.Event) {
	asked := map[int]event.Quote{}
	for _, m := range missing {
		asked[m.PID] = m.Quote
	}
	for _, task := range tasks {
		quote, ok := asked[task.PID]
		if !ok {
			continue
		}
		e := event.Event{
			Kind: event.KindContainerState, Component: "containerd", Source: facts.Node,
			Text:     "containerd has container " + scan.Short(task.Container) + " as running, and its process " + strconv.Itoa(task.PID) + " is not there",
			Fields:   []event.Field{event.FieldState.Text("RUNNING"), event.FieldExited.Bool(true)},
			Evidence: []event.Quote{task.Quote, quote},
		}
		e.IDs.Container, e.IDs.PID = task.Container, task.PID
		all = append(all, e)
	}
	return all
}

// Package tasks compares what several programs say of the same containers.
package tasks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Task is a container as a program shows it.
type Task struct {
	Container string
	By        Reporter
	State     string     // as that program prints it
	PID       int        // of its first process; 0 where the program does not print it
	At        event.Time // when that program was asked; zero where that is not known
	Quote     event.Quote
}

// isBefore says that a program was surely asked before another one: in one file by its lines, else
// by their times.
func (t *Task) isBefore(other *Task) bool {
	if t.Quote.Pos.File == other.Quote.Pos.File {
		return t.Quote.Pos.Line < other.Quote.Pos.Line
	}
	return t.At.Known && other.At.Known && t.At.Lacks == other.At.Lacks && t.At.T.Before(other.At.T)
}

// Reporter is who says how a container is. Only the CRI and containerd note that; the OCI
// runtime looks at the process.
type Reporter uint8

// Reporters, by the command that asks them.
const (
	CRI        Reporter = iota // crictl ps
	Containerd                 // ctr task ls
	Runtime                    // runc state, runc list
)

// Missing is a process that somebody asked for and that is not there.
type Missing struct {
	PID   int
	Quote event.Quote
}

// Seen is what commands have shown of containers, in one file or in all. Its zero value is ready.
type Seen struct {
	Tasks   []Task
	Missing []Missing
}

// Add adds what was seen elsewhere; it copies what other holds.
func (s *Seen) Add(other Seen) {
	s.Tasks, s.Missing = append(s.Tasks, other.Tasks...), append(s.Missing, other.Missing...)
}

// LostExits are the containers of which containerd says that they run, and whose process is not
// there, in the same file; and those that the CRI has as running, and another program as stopped,
// in the same file or in another one. It sorts the tasks of each file by their lines.
func (s *Seen) LostExits() (all []event.Event) {
	slices.SortStableFunc(s.Tasks, func(a, b Task) int {
		return cmp.Or(cmp.Compare(a.Quote.Pos.File, b.Quote.Pos.File), cmp.Compare(a.Quote.Pos.Line, b.Quote.Pos.Line))
	})
	type process struct {
		file string
		pid  int
	}
	asked := map[process]event.Quote{}
	for _, m := range s.Missing {
		asked[process{m.Quote.Pos.File, m.PID}] = m.Quote
	}
	for _, task := range s.Tasks {
		quote, ok := asked[process{task.Quote.Pos.File, task.PID}]
		if !ok || task.By != Containerd || task.State != "RUNNING" {
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
	return append(all, unseenEnds(s.Tasks)...)
}

// cutLength is how long an id is that crictl has cut.
const cutLength = 13

// unseenEnds are the containers that the CRI has as running at last, and the OCI runtime or the
// tasks of containerd as stopped. A stopped container does not run again: whoever had it so before
// the CRI was asked shows that the CRI is late.
func unseenEnds(tasks []Task) (all []event.Event) {
	last := map[string]int{} // of the CRI, by id: where it stands
	ended := map[string][]int{}
	for i, task := range tasks {
		id := task.Container
		switch key := id[:min(len(id), cutLength)]; {
		case len(key) < cutLength:
		case task.By == CRI:
			if at, known := last[key]; !known || !task.isBefore(&tasks[at]) {
				last[key] = i
			}
		case strings.EqualFold(task.State, "stopped"):
			ended[key] = append(ended[key], i)
		}
	}
	for i, shown := range tasks {
		key := shown.Container[:min(len(shown.Container), cutLength)]
		if shown.By != CRI || last[key] != i || shown.State != "Running" || len(ended[key]) == 0 {
			continue
		}
		var quotes [Runtime + 1]*event.Quote
		first := tasks[ended[key][0]]
		for _, at := range ended[key] {
			if other := &tasks[at]; quotes[other.By] == nil {
				quotes[other.By] = &other.Quote
			}
		}
		e := event.Event{
			Kind: event.KindContainerState, Component: "containerd", Source: facts.Node,
			Fields:   []event.Field{event.FieldState.Text(shown.State), event.FieldExited.Bool(true)},
			Evidence: []event.Quote{shown.Quote},
		}
		var who []string
		for by, name := range [...]string{Containerd: "containerd's list of tasks", Runtime: "the OCI runtime"} {
			if q := quotes[by]; q != nil {
				who = append(who, name)
				e.Evidence = append(e.Evidence, *q)
			}
		}
		if len(who) > 1 && slices.ContainsFunc(ended[key], func(at int) bool { return tasks[at].isBefore(&shown) }) {
			e.AddFields(event.FieldOverdue.Bool(true))
		}
		e.Text = "the CRI has container " + scan.Short(first.Container) + " as running, and " + strings.Join(who, " and ") + " as stopped"
		e.IDs.Container = first.Container
		all = append(all, e)
	}
	return all
}

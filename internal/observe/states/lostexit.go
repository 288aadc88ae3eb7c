package states

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// Task is a container as a program shows it.
type Task struct {
	Container string
	By        taskReporter
	State     string // as that program prints it
	PID       int    // of its first process; 0 where the program does not print it
	Quote     event.Quote
}

// taskReporter is who says how a container is. Only the CRI and containerd note that; the OCI
// runtime looks at the process.
type taskReporter uint8

const (
	criReporter  taskReporter = iota // crictl ps
	taskService                      // ctr task ls
	runtimeState                     // runc state, runc list
)

// Missing is a process that somebody asked for and that is not there.
type Missing struct {
	PID   int
	Quote event.Quote
}

// takeTask notes a container of ctr task ls, runc list or crictl ps. docker ps shows no STATE.
func (t *listings) takeTask(e *snapshots.Datum) {
	task := Task{Quote: quoteOf(e)}
	switch id, state := column(e, "TASK", "ID"), column(e, "STATUS"); {
	case column(e, "STATE") != "":
		task.Container, task.State = column(e, "CONTAINER", "CONTAINER ID"), column(e, "STATE")
	case column(e, "TASK") != "":
		task.Container, task.By, task.State = id, taskService, state
	default:
		task.Container, task.By, task.State = id, runtimeState, state
	}
	task.PID, _ = strconv.Atoi(column(e, "PID"))
	if task.Container != "" && len(t.tasks) < maxListed {
		t.tasks = append(t.tasks, task)
	}
}

// takeRuntimeState takes the id and the status of what runc state prints, which says first of which
// version it is:
//
//	{"ociVersion": "1.0.1-dev", "id": "b6684441…", "pid": 0, "status": "stopped", …
func (o *objects) takeRuntimeState(e *snapshots.Datum) {
	switch {
	case len(e.Path) != 1 || len(o.tasks) == maxListed:
	case e.Path[0] == "ociVersion":
		o.stated = Task{By: runtimeState}
	case e.Path[0] == "id" && o.stated.By == runtimeState:
		o.stated.Container = e.Value
	case e.Path[0] == "status" && o.stated.Container != "":
		o.stated.State, o.stated.Quote = e.Value, quoteOf(e)
		o.tasks = append(o.tasks, o.stated)
		o.stated = Task{}
	}
}

// otherNamespace finds the namespace in a command of ctr. The CRI's is k8s.io.
var otherNamespace = regexp.MustCompile(`\bctr\b.* (?:-n|--namespace)[ =](\S+)`)

// Tasks are the containers that the output of a command shows.
func (s *Snapshot) Tasks(command string) []Task {
	if m := otherNamespace.FindStringSubmatch(command); m != nil && m[1] != "k8s.io" {
		return nil
	}
	switch r := s.reader.(type) {
	case *listings:
		return r.tasks
	case *objects:
		return r.tasks
	}
	return nil
}

// LostExits are the containers of which containerd says that they run, and whose process is not
// there; and those that the CRI has as running, and another program as stopped. The tasks stand in
// the order in which somebody asked.
func LostExits(tasks []Task, missing []Missing) (all []event.Event) {
	asked := map[int]event.Quote{}
	for _, m := range missing {
		asked[m.PID] = m.Quote
	}
	for _, task := range tasks {
		quote, ok := asked[task.PID]
		if !ok || task.By != taskService || task.State != "RUNNING" {
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
	return append(all, unseenEnds(tasks)...)
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
		case task.By == criReporter:
			last[key] = i
		case strings.EqualFold(task.State, "stopped"):
			ended[key] = append(ended[key], i)
		}
	}
	for i, shown := range tasks {
		key := shown.Container[:min(len(shown.Container), cutLength)]
		if shown.By != criReporter || last[key] != i || shown.State != "Running" || len(ended[key]) == 0 {
			continue
		}
		var quotes [runtimeState + 1]*event.Quote
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
		for by, name := range [...]string{taskService: "containerd's list of tasks", runtimeState: "the OCI runtime"} {
			if q := quotes[by]; q != nil {
				who = append(who, name)
				e.Evidence = append(e.Evidence, *q)
			}
		}
		if len(who) > 1 && ended[key][0] < i {
			e.AddFields(event.FieldOverdue.Bool(true))
		}
		e.Text = "the CRI has container " + scan.Short(first.Container) + " as running, and " + strings.Join(who, " and ") + " as stopped"
		e.IDs.Container = first.Container
		all = append(all, e)
	}
	return all
}

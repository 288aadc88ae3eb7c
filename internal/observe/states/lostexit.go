package states

import (
	"regexp"
	"strconv"

	"github.com/plegdiag/plegdiag/internal/observe/tasks"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// takeTask notes a container of ctr task ls, runc list or crictl ps. docker ps shows no STATE.
func (t *listings) takeTask(e *snapshots.Datum) {
	task := tasks.Task{Quote: e.Quote(), At: t.at}
	switch id, state := e.Column("TASK", "ID"), e.Column("STATUS"); {
	case e.Column("STATE") != "":
		task.Container, task.State = e.Column("CONTAINER", "CONTAINER ID"), e.Column("STATE")
	case e.Column("TASK") != "":
		task.Container, task.By, task.State = id, tasks.Containerd, state
	default:
		task.Container, task.By, task.State = id, tasks.Runtime, state
	}
	task.PID, _ = strconv.Atoi(e.Column("PID"))
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
		o.stated = tasks.Task{By: tasks.Runtime}
	case e.Path[0] == "id" && o.stated.By == tasks.Runtime:
		o.stated.Container = e.Value
	case e.Path[0] == "status" && o.stated.Container != "":
		o.stated.State, o.stated.Quote = e.Value, e.Quote()
		o.tasks = append(o.tasks, o.stated)
		o.stated = tasks.Task{}
	}
}

// otherNamespace finds the namespace in a command of ctr. The CRI's is k8s.io.
var otherNamespace = regexp.MustCompile(`\bctr\b.* (?:-n|--namespace)[ =](\S+)`)

// Tasks are the containers that the output of a command shows.
func (s *Snapshot) Tasks(command string) []tasks.Task {
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

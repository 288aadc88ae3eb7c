package states

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
)

// CgroupPath is the directory of a cgroup that an event tells of, the same however it was written;
// empty for every other event.
func CgroupPath(e *event.Event) string {
	if e.Kind != event.KindCgroup {
		return ""
	}
	dir := strings.TrimLeft(e.FieldText(event.FieldPath), "/")
	if dir == "." {
		return "" // files were printed where they lie, and nothing shows where
	}
	return dir
}

// JoinCgroup adds what another event tells of the same cgroup, as of two files that were printed
// one after the other. It is false, and changes nothing, where both tell of the same file: these
// are two readings. A number of processes that now has its limit is a reading, too.
func JoinCgroup(e, more *event.Event) (readings []event.Event, ok bool) {
	for _, f := range more.Fields {
		if _, told := e.Get(f.Key); told && f.Key != event.FieldPath && f.Key != event.FieldDaemon {
			return nil, false
		}
	}
	for _, f := range more.Fields {
		if _, told := e.Get(f.Key); !told {
			e.AddFields(f)
		}
	}
	e.AddQuotes(more)
	if len(more.Text) > len(e.Text) {
		e.Text = more.Text // that it is frozen
	}
	if _, told := e.Get(event.FieldFull); !told {
		facts.MarkFull(e, event.FieldPIDs, event.FieldPIDsMax)
	}
	return appendPIDReading(nil, e), true
}

// appendPIDReading is a reading of how many processes and threads a cgroup of the node's own has.
// What a pod may have is the pod's affair.
func appendPIDReading(dst []event.Event, e *event.Event) []event.Event {
	pids, ok := e.Get(event.FieldPIDs)
	limit, limited := e.Get(event.FieldPIDsMax)
	n, _ := pids.Number()
	most, isNumber := limit.Number()
	if !ok || !limited || !isNumber || e.IDs.Container != "" || e.IDs.PodUID != "" {
		return dst
	}
	dir := e.FieldText(event.FieldPath)
	if _, below, found := strings.Cut(dir, "sys/fs/cgroup/"); found {
		dir = "/" + below
	}
	return append(
		dst,
		facts.NewReading(
			facts.Node, facts.OfPIDs, n, event.Time{}, e.Evidence[0], event.FieldLimit.Number(most),
			event.FieldPath.Text(dir),
		),
	)
}

// JoinKill adds to the line that tells the cgroup of a process what the line says by which it is
// killed.
func JoinKill(e, killed *event.Event) {
	for _, f := range killed.Fields {
		if _, told := e.Get(f.Key); !told && f.Key != event.FieldRuntime {
			e.AddFields(f)
		}
	}
	e.AddQuotes(killed)
}

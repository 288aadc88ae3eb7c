package states

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/processes"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// openFiles reads rows of lsof. They name a process by nine letters, which a shim and containerd
// share; the row of its program names it, and for a shim that of its directory the container.
type openFiles struct {
	order     []int
	processes map[int]*openProcess
}

type openProcess struct {
	program, container string
	quotes             []event.Quote
}

func (o *openFiles) takeRow(e *snapshots.Datum) {
	pid, err := strconv.Atoi(e.Column("PID"))
	path := strings.TrimSuffix(e.Column("NAME"), " (deleted)")
	descriptor := e.Column("FD")
	if err != nil || len(path) == 0 || path[0] != '/' || descriptor != "txt" && descriptor != "cwd" || len(o.order) >= maxListed {
		return
	}
	p := o.processes[pid]
	if p == nil {
		if o.processes == nil {
			o.processes = map[int]*openProcess{}
		}
		p = &openProcess{}
		o.processes[pid] = p
		o.order = append(o.order, pid)
	}
	switch {
	case descriptor == "txt" && p.program == "":
		p.program = path
	case descriptor == "cwd" && p.container == "" && strings.Contains(path, "/io.containerd.runtime."): // nobody else runs there
		p.container = scan.FindID(path)
	default:
		return
	}
	p.quotes = append(p.quotes, e.Quote())
}

// finishFile adds an event for each process that matters.
func (o *openFiles) finishFile(dst []event.Event) []event.Event {
	for _, pid := range o.order {
		p := o.processes[pid]
		name := p.program[strings.LastIndexByte(p.program, '/')+1:]
		if name == "" && p.container != "" {
			name = "containerd-shim"
		}
		ev, told := processes.NewEvent(name, p.program, true)
		if !told {
			continue
		}
		if ev.Component == "shim" && ev.IDs.Container == "" {
			ev.IDs.Container = p.container
		}
		ev.IDs.PID, ev.Source, ev.Evidence = pid, facts.Processes, p.quotes
		dst = append(dst, ev)
	}
	*o = openFiles{}
	return dst
}

// Package realtime knows how many CPUs the real-time threads of a listing take for themselves.
package realtime

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
)

// CPUs are those on which a real-time thread runs nearly all the time. The zero value has none.
type CPUs struct {
	busy   []int // by number
	quotes []event.Quote
	name   string // of the first such thread
}

// busyThread is the share of a CPU, in percent, from which on a thread leaves little to others. The
// kernel lets all real-time threads of a CPU have 95 (kernel.sched_rt_runtime_us).
const busyThread = 80

// maxCPUs bounds what is kept: the kernel's own limit (NR_CPUS of x86).
const maxCPUs = 8192

// Add takes a row of ps: the scheduling class (FF, RR or another, as ps prints it), the CPU that it
// was last on, its share of a CPU in percent, and its name. Columns that the listing lacks are
// empty.
func (c *CPUs) Add(class, cpu, percent, name string, row event.Quote) {
	if class != "FF" && class != "RR" {
		return
	}
	n, err := strconv.Atoi(cpu)
	share, errShare := strconv.ParseFloat(strings.Replace(percent, ",", ".", 1), 64)
	if err != nil || errShare != nil || share < busyThread || slices.Contains(c.busy, n) || len(c.busy) == maxCPUs {
		return
	}
	if c.busy = append(c.busy, n); len(c.busy) == 1 {
		c.name = name
	}
	if len(c.quotes) < 2 {
		c.quotes = append(c.quotes, row)
	} else {
		c.quotes[1] = row
	}
}

// AppendFact adds on how many CPUs real-time threads leave little time to others; nothing where
// there is none.
func (c *CPUs) AppendFact(dst []event.Event) []event.Event {
	if len(c.busy) == 0 {
		return dst
	}
	e, _ := facts.New("realtime.cpus", strconv.Itoa(len(c.busy)))
	e.AddText(event.FieldProgram, c.name)
	e.Component, e.Source, e.Evidence = "realtime", facts.Processes, c.quotes
	return append(dst, e)
}

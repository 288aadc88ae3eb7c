package threads

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// beginsShortage stands in the first line of what the kernel says when it finds no memory.
const beginsShortage = " invoked oom-killer: "

// usageMark stands in the lines of that report on what a cgroup uses.
var usageMark = []byte(": usage ")

// shortage is the report on a memory cgroup that has reached its limit, while its lines come in
// (mm/memcontrol.c, cgroup version 1):
//
//	runc:[2:INIT] invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=997
//	memory: usage 3145728kB, limit 3145728kB, failcnt 14406932
//	memory+swap: usage 3145728kB, limit 9007199254740988kB, failcnt 0
//	kmem: usage 3143468kB, limit 9007199254740988kB, failcnt 0
//
// The last line counts what the kernel itself keeps for the cgroup's processes; in most reports
// that is next to nothing.
type shortage struct {
	usage int // of the cgroup, in kB; 0 until its line
	line  event.Quote
}

// takeLine takes a line of the report, and gives the event of the last one.
func (s *shortage) takeLine(text string, r *event.Record, quote event.Quote) (event.Event, bool) {
	text = strings.TrimLeft(text, " \t")
	switch {
	case strings.Contains(text, beginsShortage):
		*s = shortage{}
	case strings.HasPrefix(text, "memory: usage "):
		s.usage, s.line = readKilobytes(text), quote
	case strings.HasPrefix(text, "kmem: usage ") && s.usage > 0:
		percent := int(float64(readKilobytes(text)) / float64(s.usage) * 100)
		e := event.New(
			event.KindCgroupMemory, "a memory cgroup has none left, and the kernel itself keeps "+strconv.Itoa(percent)+" % of it",
			event.FieldKernelPercent.Int(percent),
		)
		e.Component, e.Host = "kernel", r.Host
		e.Start, e.End = r.Time, r.Time
		e.Evidence = []event.Quote{s.line, quote}
		*s = shortage{}
		return e, percent >= kernelsOwn
	}
	return event.Event{}, false
}

// kernelsOwn is the share of a cgroup's memory, in percent, from which the kernel's own is most.
const kernelsOwn = 50

// readKilobytes reads the number behind "usage".
func readKilobytes(text string) int {
	n, _ := strconv.Atoi(scan.Digits(scan.After(text, "usage ")))
	return n
}

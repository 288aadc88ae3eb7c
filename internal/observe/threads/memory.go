package threads

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
)

// beginsShortage stands in the first line of what the kernel says when it finds no memory.
const beginsShortage = " invoked oom-killer: "

// limitOf stands in its line that names the cgroup, usageMark in those on what the cgroup uses.
const limitOf = " as a result of limit of "

var usageMark = []byte(": usage ")

// shortage is the report on a lack of memory, while its lines come in. Its stack shows whether a
// cgroup has reached its limit, or the node has no page left; of a cgroup of version 1 it tells
// what is used (mm/memcontrol.c):
//
//	runc:[2:INIT] invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=997
//	[<ffffffff811f4d91>] mem_cgroup_oom_synchronize+0x551/0x580
//	Task in /kubepods/burstable/pod0a1b2c3d-…/9f2c… killed as a result of limit of /kubepods/burstable/pod0a1b2c3d-…      (until 4.20)
//	memory: usage 3145728kB, limit 3145728kB, failcnt 14406932
//	memory+swap: usage 3145728kB, limit 9007199254740988kB, failcnt 0
//	kmem: usage 3143468kB, limit 9007199254740988kB, failcnt 0
//
// The last line counts what the kernel itself keeps for the cgroup's processes; in most reports
// that is next to nothing.
type shortage struct {
	first       event.Pos   // of its first line
	frames      int         // that were looked at
	cgroup      string      // that has reached its limit; empty until its line
	usage       int         // of the cgroup, in kB; 0 until its line
	named, line event.Quote // these two
}

// takeLine takes a line of the report, and gives the event of the last one.
func (s *shortage) takeLine(text string, r *event.Record, quote event.Quote) (event.Event, bool) {
	text = strings.TrimLeft(text, " \t")
	switch {
	case strings.Contains(text, beginsShortage):
		*s = shortage{first: quote.Pos}
	case strings.HasPrefix(text, "Task in "):
		_, s.cgroup, _ = strings.Cut(text, limitOf)
		s.named = quote
	case strings.HasPrefix(text, "memory: usage "):
		s.usage, s.line = readKilobytes(text), quote
	case strings.HasPrefix(text, "kmem: usage ") && s.usage > 0:
		percent := int(float64(readKilobytes(text)) / float64(s.usage) * 100)
		e := event.New(
			event.KindCgroupMemory, "a memory cgroup has none left, and the kernel itself keeps "+strconv.Itoa(percent)+" % of it",
			event.FieldKernelPercent.Int(percent),
		)
		e.Component, e.Host = "kernel", r.Host
		e.IDs.Container, e.IDs.PodUID = scan.FindID(s.cgroup), scan.PodUID(s.cgroup)
		e.Start, e.End = r.Time, r.Time
		e.Evidence = []event.Quote{s.line, quote}
		if s.cgroup != "" {
			e.Evidence = append(e.Evidence, s.named)
		}
		*s = shortage{}
		return e, percent >= kernelsOwn
	}
	return event.Event{}, false
}

// maxShortageFrames is how far its innermost frames lie from those that show who has no memory.
const maxShortageFrames = 12

// scopeOf is what has no memory by a line of the report's stack: of a cgroup the functions of
// mm/memcontrol.c come first, of the node those that look for a page. Empty for any other line.
//
//	out_of_memory+0x109/0x510
//	__alloc_pages_slowpath+0xad1/0xe10
func (s *shortage) scopeOf(text string) string {
	if s.first.Line == 0 || s.frames == maxShortageFrames {
		return ""
	}
	function, unsure, ok := kernel.ReadFrame(text)
	if !ok || unsure {
		return ""
	}
	s.frames++
	switch {
	case strings.HasPrefix(function, "mem_cgroup_"), strings.HasPrefix(function, "try_charge"):
		s.frames = maxShortageFrames
		return "cgroup"
	case strings.HasPrefix(function, "__alloc_pages"):
		s.frames = maxShortageFrames
		return "node"
	}
	return ""
}

// kernelsOwn is the share of a cgroup's memory, in percent, from which the kernel's own is most.
const kernelsOwn = 50

// readKilobytes reads the number behind "usage".
func readKilobytes(text string) int {
	n, _ := strconv.Atoi(scan.Digits(scan.After(text, "usage ")))
	return n
}

// tellScope says in the event of a report's first line who has no memory.
func (k *KernelTraces) tellScope(e *event.Event) {
	scope, ok := k.scopes[e.Pos()]
	if !ok || e.Kind != event.KindOutOfMemory {
		return
	}
	e.AddFields(event.FieldScope.Text(scope.what))
	e.Text = e.FieldText(event.FieldComm) + " needs memory, and its cgroup has none left"
	if scope.what == "node" {
		e.Text = e.FieldText(event.FieldComm) + " needs memory, and the node itself has none left"
	}
	e.Evidence = append(e.Evidence, scope.line)
}

// shortOf is what has no memory, and the line that shows it.
type shortOf struct {
	what string
	line event.Quote
}

package tools

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Counts is what somebody made of a goroutine dump with sort | uniq -c: headers or frames, each
// behind how often it is there.
var Counts = table.Table{Component: "node", Rows: []table.Row{
	{[]string{" goroutine [", "sync.runtime_Semacquire", "ttrpc.(*Client)."}, countedGoroutines},
}}

// fewGoroutines may wait for the same on a node that works.
const fewGoroutines = 20

// countedGoroutines is one such line:
//
//	5902 goroutine [semacquire, 182 minutes]:
//	 812 sync.runtime_SemacquireMutex
//	1042 github.com/containerd/ttrpc.(*Client).dispatch(0xc0001a2000)
//
// What waits for anything else than a lock or a shim may wait for work.
func countedGoroutines(r *event.Record) (event.Event, bool) {
	number, what, ok := strings.Cut(strings.TrimSpace(r.Message()), " ")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < fewGoroutines || r.Unit != "" {
		return event.Event{}, false
	}
	what = strings.TrimSpace(what)
	switch {
	case strings.HasPrefix(what, "goroutine [semacquire"), strings.HasPrefix(what, "goroutine [sync.Mutex."), strings.HasPrefix(what, "goroutine [sync.RWMutex."):
		state, _ := scan.Between(what, "[", "]")
		state, waited, _ := strings.Cut(state, ", ")
		e := event.New(
			event.KindLockQueue, number+" goroutines wait for locks", event.FieldWaiters.Int(n), event.FieldState.Text(state),
		)
		if minutes, err := strconv.Atoi(scan.Digits(waited)); err == nil && strings.Contains(waited, " minutes") {
			e.AddFields(event.FieldWait.Duration(time.Duration(minutes) * time.Minute))
		}
		return e, true
	case strings.HasPrefix(what, "sync.runtime_Semacquire"):
		return event.New(event.KindLockQueue, number+" goroutines wait for locks", event.FieldWaiters.Int(n)), true
	case strings.HasPrefix(what, "github.com/containerd/ttrpc.(*Client).dispatch"), strings.HasPrefix(what, "github.com/containerd/ttrpc.(*Client).Call"):
		e := event.New(
			event.KindGoroutine, number+" goroutines wait for answers of shims", event.FieldDoing.Text("ttrpc"), event.FieldCount.Int(n),
			event.FieldExcerpt.Bool(true),
		)
		e.Component = "containerd"
		return e, true
	}
	return event.Event{}, false
}

// Package crash reads why a program ended, from its last word: a line of a log, or the line before
// its goroutines.
package crash

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Read makes an event of the last word of a Go program, as its runtime prints it; ok is false for a
// line of anything else. The caller says where it stands:
//
//	panic: runtime error: invalid memory address or nil pointer dereference
//	fatal error: concurrent map read and map write
//	runtime: program exceeds 10000-thread limit
//	runtime: failed to create new OS thread (have 41 already; errno=11)
func Read(program, line string) (e event.Event, ok bool) {
	for _, mark := range []string{"panic: ", "fatal error: ", "runtime: program ", "runtime: ", "runtime/cgo: "} {
		if reason, ok := strings.CutPrefix(line, mark); ok {
			return Event(program, "crashes", reason), true
		}
	}
	return event.Event{}, false
}

// Event is the end of a program that says why it ends. How is the verb: "crashes", "ends".
func Event(program, how, reason string) event.Event {
	e := event.New(event.KindCrash, program+" "+how+": "+reason, event.FieldReason.Text(reason))
	if isDatabaseDamaged(reason) {
		says, _, _ := strings.Cut(reason, " (key[") // the keys themselves are long
		MarkDamaged(&e, program, how, says)
	}
	return e
}

// MarkDamaged says in the event of a program's end that it ended in its own database.
func MarkDamaged(e *event.Event, program, how, says string) {
	e.Text = program + " " + how + ": its database (bbolt) is damaged: " + says
	e.AddFields(event.FieldDamaged.Bool(true))
}

// isDatabaseDamaged says that bbolt does not understand its own file (go.etcd.io/bbolt, and
// boltdb/bolt before 2018: freelist.go, db.go, cursor.go, errors.go).
func isDatabaseDamaged(reason string) bool {
	return slices.ContainsFunc([]string{
		"failed to get all reachable pages", "invalid freelist page", "Page expected to be: ", "invalid page type: ",
		"invalid database",
	}, func(words string) bool { return strings.Contains(reason, words) }) ||
		strings.HasPrefix(reason, "page ") && strings.HasSuffix(reason, " already freed")
}

// IsOfThread says that a Go program ends because it can make no thread; the line begins with the
// reason:
//
//	runtime/cgo: pthread_create failed: Resource temporarily unavailable
//	runtime: failed to create new OS thread (have 41 already; errno=11)
//	runtime: program exceeds 10000-thread limit
func IsOfThread(line string) bool {
	return strings.HasPrefix(line, "runtime/cgo: pthread_create failed: Resource temporarily unavailable") ||
		strings.HasPrefix(line, "runtime: failed to create new OS thread") && strings.Contains(line, "errno=11") ||
		strings.HasPrefix(line, "runtime: program exceeds ") && strings.Contains(line, "-thread limit")
}

// Package session knows what the commands of a session show beside what their output holds: that
// one did not come back, what one counted, that one asked for a process or a unit and got no good
// answer, and whether a certificate is over.
package session

import (
	"regexp"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/observe/tasks"
	"github.com/plegdiag/plegdiag/internal/parse"
)

// Commands makes events of the commands of one file. Its zero value has seen none.
type Commands struct {
	counts counts
	certs  certificates
	fuse   fuseLooks
	seen   tasks.Seen // processes that are not there, and containers of crictl inspect
	// listsFrozen is the command that prints the paths of frozen cgroups, which follow; else zero
	listsFrozen event.Quote
	silent      parse.Section // the last command, where it looked for a process and printed nothing
	rows        states.KubectlRows
	absent      []event.Event // files of sockets that are not there, while nothing was started since
}

// Take returns the events of a section, all of which has been read.
func (c *Commands) Take(s *parse.Section) (all []event.Event) {
	add := func(e event.Event, ok bool) {
		if ok {
			all = append(all, e)
		}
	}
	command := parse.WithoutWrapper(s.Command)
	add(hungCommand(s))
	if s.Missing > 0 {
		c.seen.Missing = append(c.seen.Missing, tasks.Missing{PID: s.Missing, Quote: s.Missed})
	}
	c.certs.take(command, s)
	if task, ok := inspected(command, s.First); ok {
		c.seen.Tasks = append(c.seen.Tasks, task)
	}
	if startsSomething.MatchString(command) {
		c.absent = nil
	}
	all = append(append(all, askedUnits(command, s.Quote, s.First)...), c.takeAnswer(command, s)...)
	// an answer without a line is whole where another command follows
	if c.silent.Sought.IsMissed() && s.Command != "" {
		add(c.missed(&c.silent))
	}
	c.silent = parse.Section{}
	switch {
	case !s.Sought.IsMissed() || s.Broken.Pos.Line > 0:
	case s.Filled > 0:
		add(c.missed(s))
	default:
		c.silent = *s
	}
	return all
}

// missed notes a process that a command looked for in vain. It is an event where a daemon of the
// node was looked for by its name.
func (c *Commands) missed(s *parse.Section) (e event.Event, ok bool) {
	if s.Sought.PID > 0 {
		c.seen.Missing = append(c.seen.Missing, tasks.Missing{PID: s.Sought.PID, Quote: s.Quote})
		return event.Event{}, false
	}
	return absentProcess(s.Sought.Program, s.Quote, s.Sought.Shim)
}

// Finish returns the events that need all commands of the file.
func (c *Commands) Finish() []event.Event {
	all := append(append(c.counts.finish(), c.certs.finish()...), c.fuse.finish()...)
	return c.rows.Finish(append(all, c.absent...))
}

// startsSomething is a command after which a socket may be where it was not: systemctl restart
// docker, service docker start, reboot.
var startsSomething = regexp.MustCompile(`\b(?:re)?start\b|\breboot\b|\bkill\b`)

// Seen is what commands showed of containers one by one, and the processes that somebody looked for
// in vain.
func (c *Commands) Seen() tasks.Seen { return c.seen }

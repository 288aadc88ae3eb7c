package session

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/systemd"
)

// absentProcess is the event of a daemon of the node whose process somebody looked for by its name
// and did not find. Shim is a line about a shim of it, which only its daemon starts; zero without
// one. Ok is false for the name of any other program.
func absentProcess(program string, command, shim event.Quote) (e event.Event, ok bool) {
	name := daemon.Named(program)
	if name == "" {
		return event.Event{}, false
	}
	e = event.New(
		event.KindDaemonAbsent, "no process of "+program+" is there", event.FieldProgram.Text(program), event.FieldDaemon.Text(name),
	)
	e.Component, e.Source, e.Evidence = "node", facts.Commands, []event.Quote{command}
	if shim.Pos.Line > 0 {
		e.Text += ", and shims that it started are"
		e.AddFields(event.FieldShims.Bool(true))
		e.Evidence = append(e.Evidence, shim)
	}
	return e, true
}

// asksForState is the command that prints the states of units, one on each line.
var asksForState = regexp.MustCompile(`^systemctl\s+(?:-\S+\s+)*is-(?:active|failed)\s+([\w@.\- ]+)$`)

// unitStates are what it prints. Inactive is also a unit that is not there.
var unitStates = []string{"active", "inactive", "failed", "activating", "deactivating", "reloading"}

// askedUnits are the events of the daemons' units whose states a command printed: answer are its
// lines, in the order of the names.
func askedUnits(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	m := asksForState.FindStringSubmatch(command)
	if m == nil {
		return nil
	}
	for i, unit := range strings.Fields(m[1]) {
		if i == len(answer) {
			break
		}
		state := strings.TrimSpace(answer[i].Text)
		if !slices.Contains(unitStates, state) {
			break
		}
		if !strings.Contains(unit, ".") {
			unit += ".service"
		}
		if owner := daemon.OfUnit(unit); owner != "" {
			e := event.New(
				event.KindUnit, systemd.UnitText(unit, state), event.FieldUnit.Text(unit),
				event.FieldState.Text(state), event.FieldDaemon.Text(owner),
			)
			e.Component, e.Source, e.Evidence = "systemd", facts.Units, []event.Quote{asked, answer[i]}
			all = append(all, e)
		}
	}
	return all
}

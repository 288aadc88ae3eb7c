package session

import (
	"regexp"
	"strconv"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
)

// countsLog is a command that counts alike lines of a log, of which it has mostly taken off the
// times:
//
//	dmesg -T | grep 'blocked for more' | sed 's/.*INFO: //' | sort | uniq -c
var countsLog = regexp.MustCompile(`(?:\b(?:dmesg|journalctl)\b|/var/log/).*\|\s*uniq\s+-c\b`)

// logOfUnit is a command that asks for the log of one unit: 1 its name.
var logOfUnit = regexp.MustCompile(`\bjournalctl\b[^|]* (?:-u|--unit)[ =]?([\w@.-]+)`)

// readCountedLines returns the events of lines of a log that stand once for several. Of some a
// command has left so little that only the unit tells whose they are:
//
//	9 task jbd2/nvme1n1p1-:1160 blocked for more than 122 seconds.
//	412 dial tcp 10.0.0.10:6443: connect: no route to host
func readCountedLines(command string, asked event.Quote, answer []event.Quote) (all []event.Event) {
	if !countsLog.MatchString(command) {
		return nil
	}
	unit := ""
	if m := logOfUnit.FindStringSubmatch(command); m != nil {
		unit = m[1]
	}
	for _, quote := range answer {
		m := kindRow.FindStringSubmatch(quote.Text)
		if m == nil || len(readLine("", quote.Text, quote.Pos)) > 0 { // what is known with its number is read already
			continue
		}
		number, _ := strconv.Atoi(m[1])
		for _, line := range []string{m[2], "INFO: " + m[2]} { // sed often takes that off, too
			made := readLine(unit, line, quote.Pos)
			for i := range made {
				e := &made[i]
				e.Source, e.Evidence = facts.Commands, []event.Quote{asked, quote}
				if number > 1 {
					e.AddFields(event.FieldRepeats.Int(number))
				}
			}
			if all = append(all, made...); len(made) > 0 {
				break
			}
		}
	}
	return all
}

// readLine returns the events of a line of a log; unit is empty where its writer is not known.
func readLine(unit, line string, at event.Pos) []event.Event {
	return messages.Append(nil, &event.Record{Pos: at, Unit: unit, Text: line, Raw: line, Wanted: true})
}

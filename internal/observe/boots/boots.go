// Package boots tells of the latest start of a machine in its own records of them.
package boots

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// List follows a list of the starts of a machine, as [snapshots.ReadBoots] reads it. last prints
// the newest first, journalctl the oldest. Use the zero List for one file.
type List struct {
	latest, before bootRow // before is the row above, of journalctl
	told           bool    // last has come to the start before
	how            string  // how the time before the latest start ended; of last
	ending         event.Quote
	zoned          event.Time
}

// Zoned is a date of the list with the offset of the machine's zone; zero where it shows none.
func (b *List) Zoned() event.Time { return b.zoned }

// bootRow is a start.
type bootRow struct {
	start event.Time
	last  string // when its journal ends, as printed
	quote event.Quote
}

// Take takes a row.
func (b *List) Take(e *snapshots.Datum) {
	if len(e.Path) == 0 {
		return
	}
	quote := event.Quote{Pos: e.Pos, Text: e.Raw}
	switch what := e.Path[0]; {
	case what == "boot":
		last, _ := e.Field("last")
		end, _ := e.Field("end")
		row := bootRow{start: readBootDate(e.Value), last: last, quote: quote}
		if _, offset := row.start.T.Zone(); offset != 0 && row.start.Lacks == 0 {
			b.zoned = row.start
		}
		switch {
		case last != "":
			b.before, b.latest = b.latest, row
		case !b.latest.start.Known:
			b.latest = row
		default:
			if !b.told && b.how == "" && end != "" {
				b.how, b.ending = end, quote
			}
			b.told = true
		}
	case !b.told && b.latest.start.Known && b.how == "":
		b.how, b.ending = "shutdown", quote
		if what == "crash" {
			b.how = "crash"
		}
	}
}

// readBootDate reads the dates of these lists; that of last has no year and no seconds, and that of
// who no seconds.
func readBootDate(s string) event.Time {
	if t, ok := stamp.Date(s); ok {
		return t
	}
	if len(s) > 4 {
		if t, n := stamp.WithoutSeconds([]byte("[" + s[4:] + "] ")); n > 0 {
			return t
		}
	}
	t, _ := stamp.Date(s + ":00")
	t.Prec = time.Minute
	return t
}

// AppendLatest appends the event of the latest start, where the list has one.
func (b *List) AppendLatest(dst []event.Event) []event.Event {
	if !b.latest.start.Known {
		return dst
	}
	e := event.New(event.KindBootRecord, "the machine started")
	e.Start, e.End = b.latest.start, b.latest.start
	e.Component, e.Source, e.Evidence = "node", facts.Node, []event.Quote{b.latest.quote}
	if b.how != "" {
		e.AddFields(event.FieldHow.Text(b.how))
		e.Evidence = append(e.Evidence, b.ending)
	}
	if b.how == "crash" {
		e.Text += ", and had not been shut down before"
	}
	if b.before.last != "" {
		e.AddFields(event.FieldSince.Text(b.before.last))
		e.Evidence = append(e.Evidence, b.before.quote)
	}
	return append(dst, e)
}

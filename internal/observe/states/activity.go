package states

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// activity reads the listings of sar: a row for every ten minutes or so of a day. Of most columns
// the worst row is a fact. Rows of averages are not read.
type activity struct {
	date   string // of the rows, as 2026-11-20; empty where it is not known
	before string // clock of the rows before those of the latest clock
	latest string
	worst  map[string]float64 // by fact
	quotes map[string]event.Quote
	load   string // of the worst load
}

// takeSystem takes the line above the listings, which has the date.
func (a *activity) takeSystem(e *snapshots.Datum) {
	a.date = sarDate(column(e, "date"))
	a.before, a.latest = "", ""
}

// takeHeader takes the header of a listing: its clock is that of the row before the first one.
func (a *activity) takeHeader(line string) {
	f := strings.Fields(line)
	if len(f) > 1 && (f[1] == "AM" || f[1] == "PM") {
		f[0] += " " + f[1]
	}
	a.before, a.latest = "", f[0]
}

// sarDate reads the date of sar, which its locale spells: 2026-11-20, 11/20/2026, 11/20/26,
// 20.11.26. Where the day can be the month it is not known.
func sarDate(s string) string {
	if _, err := time.Parse(time.DateOnly, s); err == nil {
		return s
	}
	f := strings.FieldsFunc(s, func(c rune) bool { return c == '/' || c == '.' || c == '-' })
	if len(f) != 3 {
		return ""
	}
	var n [3]int
	for i := range f {
		v, err := strconv.Atoi(f[i])
		if err != nil {
			return ""
		}
		n[i] = v
	}
	month, day, year := n[0], n[1], n[2]
	if month > 12 && !strings.Contains(s, "-") {
		month, day = day, month
	} else if day <= 12 && day != month {
		return ""
	}
	if year < 100 {
		year += 2000
	}
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if date.Day() != day || int(date.Month()) != month {
		return ""
	}
	return date.Format(time.DateOnly)
}

// moment is the time of a clock of the day; zero where the date is not known.
func (a *activity) moment(clock string) event.Time {
	if a.date == "" {
		return event.Time{}
	}
	if face, err := time.Parse("03:04:05 PM", clock); err == nil {
		clock = face.Format(time.TimeOnly)
	}
	at, _ := stamp.Date(a.date + " " + clock)
	return at
}

func (a *activity) takeRow(dst []event.Event, e *snapshots.Datum) []event.Event {
	clock := column(e, "time")
	if clock == "Average:" {
		return dst
	}
	if clock != a.latest {
		a.before, a.latest = a.latest, clock
	}
	if _, ok := e.Field("%util"); ok {
		return a.appendDevice(dst, e)
	}
	if cpu, ok := e.Field("CPU"); !ok || cpu == "all" {
		a.noteWorst("cpu.iowait-percent", column(e, "%iowait"), 1, e)
		a.noteWorst("cpu.steal-percent", column(e, "%steal"), 1, e)
	}
	a.noteWorst("node.uninterruptible", column(e, "blocked"), 1, e)
	if a.noteWorst("node.load", column(e, "ldavg-1"), 1, e) {
		a.load = column(e, "ldavg-1") + " " + column(e, "ldavg-5") + " " + column(e, "ldavg-15")
	}
	free, err := decimal(column(e, "kbmemfree"))
	used, err2 := decimal(column(e, "kbmemused"))
	available, err3 := decimal(column(e, "kbavail"))
	if err == nil && err2 == nil && err3 == nil && free+used > 0 {
		a.noteWorst("memory.available-percent", strconv.Itoa(int(available/(free+used)*100)), -1, e)
	}
	a.noteWorst("node.threads", column(e, "plist-sz"), 1, e)
	if n, err := decimal(column(e, "plist-sz")); err == nil && len(dst) < maxListed {
		if at := a.moment(clock); at.Known { // processes and threads, as /proc/loadavg counts them
			dst = append(dst, facts.NewReading(facts.Node, facts.OfThreads, n, at, quoteOf(e)))
		}
	}
	return dst
}

// noteWorst keeps the highest value of a fact, or the lowest where sign is -1. It says whether this
// is it.
func (a *activity) noteWorst(fact, value string, sign float64, e *snapshots.Datum) bool {
	v, err := decimal(value)
	worst, seen := a.worst[fact]
	if err != nil || seen && v*sign <= worst*sign {
		return false
	}
	if a.worst == nil {
		a.worst, a.quotes = map[string]float64{}, map[string]event.Quote{}
	}
	a.worst[fact], a.quotes[fact] = v, quoteOf(e)
	return true
}

// appendDevice is a row of sar -d: what it says holds since the row before.
func (a *activity) appendDevice(dst []event.Event, e *snapshots.Datum) []event.Event {
	before := len(dst)
	dst = appendDeviceLoad(dst, e)
	if at := a.moment(a.latest); at.Known && len(dst) > before {
		ev := &dst[before]
		ev.Start = at
		if from := a.moment(a.before); from.Known && from.T.Before(at.T) {
			ev.Start, ev.End = from, at
		}
	}
	return dst
}

func (a *activity) finishFile(dst []event.Event) []event.Event {
	for _, fact := range [...]string{"cpu.iowait-percent", "cpu.steal-percent", "memory.available-percent", "node.load", "node.threads", "node.uninterruptible"} {
		v, ok := a.worst[fact]
		if !ok {
			continue
		}
		value := strconv.FormatFloat(v, 'f', -1, 64)
		if fact == "node.load" {
			value = a.load
		}
		dst = facts.Append(dst, facts.Node, fact, value, a.quotes[fact])
	}
	*a = activity{}
	return dst
}

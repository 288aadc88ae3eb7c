package states

import (
	"fmt"
	"path"
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
	stolen []stolenTime
}

// stolenTime are rows, one behind the other, in which the host gave much of the CPUs to others.
type stolenTime struct {
	from, to event.Time
	until    string  // the clock of the last row
	worst    float64 // in per cent
	quote    event.Quote
}

// muchStolen is how much steal, in per cent, tells by itself that the host is to blame.
const muchStolen = 30

// takeSystem takes the line above the listings, which has the date.
func (a *activity) takeSystem(e *snapshots.Datum) {
	a.date = sarDate(e.Column("date"), path.Base(e.Pos.File))
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
// 20.11.26. Where the day can be the month the name of the file decides, if it has the date or, as
// sysstat's own, the day: sar_20261107.txt, sar07. Else it is not known.
func sarDate(s, file string) string {
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
	if year < 100 {
		year += 2000
	}
	switch names := func(month, day int) bool {
		return strings.Contains(file, fmt.Sprintf("%d%02d%02d", year, month, day)) || strings.HasSuffix(file, fmt.Sprintf("sar%02d", day))
	}; {
	case month > 12 && !strings.Contains(s, "-"), day <= 12 && day != month && names(day, month) && !names(month, day):
		month, day = day, month
	case day <= 12 && day != month && !names(month, day):
		return ""
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
	clock := e.Column("time")
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
		a.noteWorst("cpu.iowait-percent", e.Column("%iowait"), 1, e)
		a.noteWorst("cpu.steal-percent", e.Column("%steal"), 1, e)
		a.noteStolen(e.Column("%steal"), e)
	}
	a.noteWorst("node.uninterruptible", e.Column("blocked"), 1, e)
	if a.noteWorst("node.load", e.Column("ldavg-1"), 1, e) {
		a.load = e.Column("ldavg-1") + " " + e.Column("ldavg-5") + " " + e.Column("ldavg-15")
	}
	free, err := decimal(e.Column("kbmemfree"))
	used, err2 := decimal(e.Column("kbmemused"))
	available, err3 := decimal(e.Column("kbavail"))
	if err == nil && err2 == nil && err3 == nil && free+used > 0 {
		a.noteWorst("memory.available-percent", strconv.Itoa(int(available/(free+used)*100)), -1, e)
	}
	a.noteWorst("node.threads", e.Column("plist-sz"), 1, e)
	if n, err := decimal(e.Column("plist-sz")); err == nil && len(dst) < maxListed {
		if at := a.moment(clock); at.Known { // processes and threads, as /proc/loadavg counts them
			dst = append(dst, facts.NewReading(facts.Node, facts.OfThreads, n, at, e.Quote()))
		}
	}
	return dst
}

// noteStolen notes a row with much steal, which holds since the row before.
func (a *activity) noteStolen(value string, e *snapshots.Datum) {
	percent, err := decimal(value)
	from, to := a.moment(a.before), a.moment(a.latest)
	if err != nil || percent < muchStolen || !from.Known || !to.Known || !from.T.Before(to.T) {
		return
	}
	if n := len(a.stolen); n > 0 && a.stolen[n-1].until == a.before {
		last := &a.stolen[n-1]
		if last.to, last.until = to, a.latest; percent > last.worst {
			last.worst, last.quote = percent, e.Quote()
		}
		return
	}
	if len(a.stolen) < maxListed {
		a.stolen = append(a.stolen, stolenTime{from, to, a.latest, percent, e.Quote()})
	}
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
	a.worst[fact], a.quotes[fact] = v, e.Quote()
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
		if !ok || fact == "cpu.steal-percent" && len(a.stolen) > 0 {
			continue
		}
		value := strconv.FormatFloat(v, 'f', -1, 64)
		if fact == "node.load" {
			value = a.load
		}
		dst = facts.Append(dst, facts.Node, fact, value, a.quotes[fact])
	}
	for _, s := range a.stolen {
		dst = facts.Append(dst, facts.Node, "cpu.steal-percent", strconv.FormatFloat(s.worst, 'f', -1, 64), s.quote)
		last := &dst[len(dst)-1]
		last.Start, last.End = s.from, s.to
	}
	*a = activity{}
	return dst
}

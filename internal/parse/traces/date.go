package traces

import (
	"iter"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// Date is what a reader knows better than a trace that was written with -t, -tt or nothing but -r.
type Date struct {
	// First is the date of its first line as the node's clock showed it, read as UTC. For a trace
	// with nothing but -r it is the moment of that line.
	First time.Time
	Zone  *time.Location // of the node; nil when that is not known either
}

// WithDate gives the calls of a trace the date that they lack. Stamps that lack nothing stay as
// they are. Where the zone is not known, times stay clock faces, which lack it.
func WithDate(calls iter.Seq2[*Syscall, error], d Date) iter.Seq2[*Syscall, error] {
	midnight := d.First.Truncate(24 * time.Hour)
	return func(yield func(*Syscall, error) bool) {
		for c, err := range calls {
			switch {
			case err != nil:
			case c.Start.Known && c.Start.Lacks&event.LacksDate != 0:
				since := c.Start.T.Sub(time.Unix(stamp.YearZero*86400, 0))
				c.Start = d.atZone(midnight.Add(since), c.Start.Prec)
			case !c.Start.Known && c.HasSince:
				c.Start = d.atZone(d.First.Add(c.Since), time.Microsecond)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// atZone reads a clock face in the zone.
func (d Date) atZone(face time.Time, prec time.Duration) event.Time {
	if d.Zone == nil {
		return event.Time{T: face, Lacks: event.LacksZone, Prec: prec, Known: true}
	}
	t := time.Date(face.Year(), face.Month(), face.Day(), face.Hour(), face.Minute(), face.Second(), face.Nanosecond(), d.Zone)
	return event.Time{T: t.UTC(), Prec: prec, Known: true}
}

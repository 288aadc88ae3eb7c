package messages

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// clockLiterals stand in lines of the kernel that say what the wall clock shows.
var clockLiterals = []string{"setting system clock to ", "audit: type="}

// ToldClock is the wall clock in a line of the kernel that is stamped with the time since boot
// alone, as it is written then (drivers/rtc/class.c, kernel/audit.c):
//
//	rtc_cmos 00:05: setting system clock to 2012-12-22T01:51:07 UTC (1356141067)
//	audit: type=1400 audit(1762615360.224:188): apparmor="STATUS" operation="profile_replace" …
func ToldClock(r *event.Record) (at event.Time, ok bool) {
	if r.Time.Lacks != event.LacksBoot {
		return at, false
	}
	if epoch, found := scan.Between(scan.After(r.Text, " setting system clock to "), " UTC (", ")"); found {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		return event.Time{T: time.Unix(seconds, 0).UTC(), Prec: time.Second, Known: true}, err == nil
	}
	if !strings.HasPrefix(r.Text, "audit: type=") {
		return at, false
	}
	whole, rest, _ := strings.Cut(scan.After(r.Text, " audit("), ".")
	fraction, _, found := strings.Cut(rest, ":")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	ms, errMS := strconv.ParseInt(fraction, 10, 64)
	return event.Time{T: time.Unix(seconds, ms*int64(time.Millisecond)).UTC(), Prec: time.Millisecond, Known: true}, found && len(fraction) == 3 && err == nil && errMS == nil
}

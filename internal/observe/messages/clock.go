package messages

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/systemd"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// clockLiterals stand in lines of the kernel that say what the wall clock shows.
var clockLiterals = []string{
	"setting system clock to ", "audit: type=", dockerInfo, "Machine: {Timestamp:", "eviction manager: observations: ", "Eviction manager:",
	"watchObservedRunningTime=", retryMark,
}

// What stands in lines of the kubelet that tell the time with year and zone.
const (
	monotonic  = " m=+" // behind every time that Go prints whole: the age of the process
	dockerInfo = "Docker Info: "
)

// ToldClock is the wall clock in a line of the kernel that is stamped with the time since boot
// alone, as it is written then.
func ToldClock(r *event.Record) (at event.Time, ok bool) {
	if r.Time.Lacks != event.LacksBoot {
		return at, false
	}
	return kernelClock(r.Text)
}

// ToldZone is the moment since which a unit is in its state, in the zone of the machine; see
// [systemd.ToldZone].
func ToldZone(r *event.Record) (at event.Time, ok bool) { return systemd.ToldZone(r) }

// kernelClock is the wall clock as the kernel tells it (drivers/rtc/class.c, kernel/audit.c):
//
//	rtc_cmos 00:05: setting system clock to 2012-12-22T01:51:07 UTC (1356141067)
//	audit: type=1400 audit(1762615360.224:188): apparmor="STATUS" operation="profile_replace" …
func kernelClock(text string) (at event.Time, ok bool) {
	if epoch, found := scan.Between(scan.After(text, " setting system clock to "), " UTC (", ")"); found {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		return event.Time{T: time.Unix(seconds, 0).UTC(), Prec: time.Second, Known: true}, err == nil
	}
	if !strings.HasPrefix(text, "audit: type=") {
		return at, false
	}
	whole, rest, _ := strings.Cut(scan.After(text, " audit("), ".")
	fraction, _, found := strings.Cut(rest, ":")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	ms, errMS := strconv.ParseInt(fraction, 10, 64)
	return event.Time{T: time.Unix(seconds, ms*int64(time.Millisecond)).UTC(), Prec: time.Millisecond, Known: true}, found && len(fraction) == 3 && err == nil && errMS == nil
}

// ToldMoment is the moment, with year and zone, that a line without them names a little after it
// was. The kernel does so in a syslog, too. The kubelet prints it when it starts (cAdvisor's
// manager.go, dockershim), every 10 s from -v=3 on (the eviction manager), after each pod's start
// (from 1.27 on) and where a volume fails (nestedpendingoperations):
//
//	Machine: {Timestamp:2021-01-20 11:42:11.940508631 +0000 UTC m=+0.318352187 NumCores:6 …}
//	Docker Info: &{ID:VK75:… SystemTime:2021-01-20T11:42:12.00124392Z LoggingDriver:json-file …}
//	eviction manager: observations: signal=memory.available, available: 7106568Ki, capacity: 7863912Ki, time: 2019-08-20 22:10:50.6022908 +0000 GMT m=+6143.769875301
//	"Observed pod startup duration" … watchObservedRunningTime="2023-09-01 23:35:07.122101053 +0000 UTC m=+1.084252474"
//	Operation for "{…}" failed. No retries permitted until 2025-05-09 12:28:16.528941133 +0000 UTC m=+121017.5 (durationBeforeRetry 2m2s). Error: …
func ToldMoment(r *event.Record) (at time.Time, ok bool) {
	if r.Time.Lacks&event.LacksZone == 0 || !r.Time.Known {
		return at, false
	}
	if clock, found := kernelClock(r.Text); found {
		return clock.T, true
	}
	if info, found := strings.CutPrefix(r.Text, dockerInfo+"&{"); found {
		now, _, _ := strings.Cut(scan.After(info, " SystemTime:"), " ")
		at, err := time.Parse(time.RFC3339, now)
		return at.UTC(), err == nil
	}
	before, after, found := strings.Cut(r.Raw, monotonic)
	if !found {
		return at, false
	}
	var since time.Duration // the moment was so long before the time that is printed
	for _, mark := range momentMarks {
		i := strings.LastIndex(before, mark)
		if i < 0 {
			continue
		}
		words := strings.SplitN(before[i+len(mark):], " ", 4)
		if len(words) < 3 {
			return at, false
		}
		if mark == retryMark {
			wait, _ := scan.Between(after, "(durationBeforeRetry ", ")")
			d, err := time.ParseDuration(wait)
			if err != nil {
				return at, false
			}
			since = d
		}
		at, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.Join(words[:3], " "))
		return at.Add(-since).UTC(), err == nil
	}
	return at, false
}

// retryMark is before the time at which the kubelet tries again with a volume.
const retryMark = "No retries permitted until "

// momentMarks stand before the times of which [ToldMoment] knows that they are the line's own.
var momentMarks = []string{"Machine: {Timestamp:", ", time: ", ` time="`, ` watchObservedRunningTime="`, ` observedRunningTime="`, retryMark}

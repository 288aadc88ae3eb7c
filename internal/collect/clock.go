//go:build linux

package collect

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// nodeClock is the clock of the node; tests set it. No other package reads it.
var nodeClock = time.Now //nolint:forbidigo // a collection happens now

// now is the time that is written down. Differences of it are wrong when somebody sets the clock.
func now() time.Time { return nodeClock().UTC() }

// moment is the time that bounds are counted from: it holds a reading that goes on when somebody
// sets the clock. A time in UTC has lost it (time.Time.UTC), and so no bound would be one.
func moment() time.Time { return nodeClock() }

// clockStep is how far the clock was set forward since a moment; zero when only differences of the
// clocks' rates show.
func clockStep(since time.Time) time.Duration {
	at := moment()
	step := at.Round(0).Sub(since.Round(0)) - at.Sub(since) // without its reading a time is the clock's
	if step.Abs() < time.Second {
		return 0
	}
	return step
}

// journalStart is from when on journals are collected: by the clock before and after it was set. It
// is in UTC, as all that is written down: to write a local time, Go reads /etc/localtime, from a
// disk that may not answer.
func (c *collector) journalStart() time.Time {
	return c.begun.Add(min(0, clockStep(c.begun))).Add(-c.opt.Since).UTC()
}

// clockReading is one moment by three clocks: dmesg uses one of them, the journal two, klog the
// third.
type clockReading struct {
	Realtime  time.Time
	Monotonic float64 // CLOCK_MONOTONIC, seconds
	Boottime  float64 // CLOCK_BOOTTIME, seconds
	BootID    string
}

func readClocks() clockReading {
	t := clockReading{
		Realtime: now(), Monotonic: readClock(unix.CLOCK_MONOTONIC),
		Boottime: readClock(unix.CLOCK_BOOTTIME),
	}
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	t.BootID = strings.TrimSpace(string(id))
	return t
}

func readClock(which int32) float64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(which, &ts); err != nil {
		return 0
	}
	return float64(ts.Sec) + float64(ts.Nsec)/1e9
}

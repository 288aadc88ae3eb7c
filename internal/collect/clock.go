package collect

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// now is the clock of the node. No other package reads it.
func now() time.Time { return time.Now().UTC() } //nolint:forbidigo // a collection happens now

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

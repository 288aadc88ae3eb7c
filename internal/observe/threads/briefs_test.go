package threads

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// samplesOf are the rows of a sampler that looks once a second: state says whether a thread is in
// fdatasync in a scan.
func samplesOf(scans, threads int, inCall func(scan, thread int) bool) []byte {
	var b strings.Builder
	b.WriteString("TS,PID,TID,USERNAME,ST,COMMAND,SYSCALL,WCHAN,EXE,CMDLINE,NSPID,KSTACK\n")
	start := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	for scan := range scans {
		at := start.Add(time.Duration(scan) * time.Second).Format("2006-01-02 15:04:05.000")
		for thread := range threads {
			place := "S,(etcd),epoll_pwait,do_epoll_wait,etcd,etcd,1,->do_epoll_wait()"
			if inCall(scan, thread) {
				place = "D,(etcd),fdatasync,folio_wait_bit,etcd,etcd,1,->do_fsync()->folio_wait_bit()"
			}
			fmt.Fprintf(&b, "%s,900,%d,root,%s\n", at, 901+thread, place)
		}
	}
	return []byte(b.String())
}

// TestBriefRuns: of waits of one second each, thousands, the first ones and one each 20 s are told,
// with how many they are; whatever lasts is told as it is.
func TestBriefRuns(t *testing.T) {
	const threads, scans = 4, 3600
	long := func(scan, thread int) bool { return thread == 3 && scan >= 1800 && scan < 1900 }
	events := named(watch(t, samplesOf(scans, threads, func(scan, thread int) bool {
		return scan%6 < 2 && thread < 3 || long(scan, thread)
	})), "fdatasync")
	count, lasting := 0, 0
	for _, e := range events {
		count += e.Count()
		if length := e.Duration(); length > time.Second {
			lasting++
			require.Equal(t, 99*time.Second, length)
			require.Equal(t, 904, e.IDs.TID)
		}
	}
	require.Equal(t, scans/6*3+1, count, "none is lost")
	require.Equal(t, 1, lasting)
	require.Less(t, len(events), firstBriefs+scans/20+3)
	require.Greater(t, len(events), scans/24)
}

// TestLongestBrief: of the brief waits in one stretch the longest is told.
func TestLongestBrief(t *testing.T) {
	events := named(watch(t, samplesOf(1200, 2, func(scan, thread int) bool {
		return scan%6 < 2 && thread == 0 || thread == 1 && scan >= 900 && scan < 906
	})), "fdatasync")
	var longest event.Event
	for _, e := range events {
		if length := e.Duration(); length == 5*time.Second {
			longest = e
		}
	}
	require.Equal(t, 902, longest.IDs.TID)
	require.Equal(t, 5, longest.Count(), "it stands for the four of the other thread, too")
}

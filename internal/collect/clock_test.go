package collect

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// TestMain lets this test's own binary be a helper, with a clock that is set at a moment: the
// arguments are helper, that moment, by how many seconds, and the task.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "helper" {
		at, _ := strconv.ParseInt(os.Args[2], 10, 64)
		step, _ := strconv.ParseInt(os.Args[3], 10, 64)
		setClock(time.Unix(0, at), step)
		if err := Helper(os.Args[4], os.Stdin, os.Stdout); err != nil {
			os.Exit(HelperStatus(err))
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// setClock sets the clock of this process at a moment, as settimeofday does: what counts the time
// since the start goes on.
func setClock(at time.Time, seconds int64) {
	nodeClock = func() time.Time {
		t := time.Now()
		if t.Round(0).After(at) {
			*(*uint64)(unsafe.Pointer(&t)) += uint64(seconds) << 30 // time.Time.wall: seconds above 30 bits of nanoseconds
		}
		return t
	}
}

// When somebody sets the clock meanwhile, every bound counts the time that has passed, and the
// manifest says by how much it was set.
func TestClockIsSet(t *testing.T) {
	defer func() { nodeClock = time.Now }()
	for _, step := range []int64{3600, -3600} {
		at := time.Now().Add(500 * time.Millisecond)
		setClock(at, step)
		dir := t.TempDir()
		socket := filepath.Join(dir, "silent")
		l, err := net.Listen("unix", socket)
		require.NoError(t, err)
		defer l.Close()
		path := filepath.Join(dir, "b.tgz")
		begun := time.Now()
		sum, err := Run(t.Context(), Options{
			Output: path, Since: time.Hour, Timeout: 60 * time.Second, MaxSize: 64 << 20,
			Only:    []string{"clock", "bus", "node"},
			Helper:  []string{"/proc/self/exe", "helper", strconv.FormatInt(at.UnixNano(), 10), strconv.FormatInt(step, 10)},
			Sockets: map[string]string{"dbus": socket},
		})
		require.NoError(t, err)
		require.Empty(t, sum.Sealed)
		require.Less(t, time.Since(begun), 30*time.Second)
		f, err := os.Open(path)
		require.NoError(t, err)
		v, err := bundle.Verify(f)
		f.Close()
		require.NoError(t, err)
		require.Empty(t, v.Problems)
		require.InDelta(t, step, v.Manifest.ClockStep, 0.5)
		require.InDelta(t, step, v.Manifest.End.Sub(v.Manifest.Start).Seconds(), 30)
		for _, i := range v.Manifest.Items {
			require.NotEqual(t, bundle.Timeout, i.Outcome, "%+v", i)
		}
	}
}

// Journals are collected from where they would be by either clock.
func TestJournalStart(t *testing.T) {
	defer func() { nodeClock = time.Now }()
	c := collector{begun: moment(), opt: Options{Since: time.Hour}}
	was := c.begun.Round(0)
	setClock(time.Time{}, 7200)
	require.WithinDuration(t, was.Add(-time.Hour), c.journalStart().Round(0), time.Second)
	setClock(time.Time{}, -7200)
	require.WithinDuration(t, was.Add(-3*time.Hour), c.journalStart().Round(0), time.Second)
	require.Equal(t, time.UTC, c.journalStart().Location())
}

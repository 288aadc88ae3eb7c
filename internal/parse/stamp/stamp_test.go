package stamp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

func TestStamps(t *testing.T) {
	for in, want := range map[string]string{
		"2024-02-29T23:59:60Z":             "2024-03-01T00:00:00Z±1s",
		"2025-02-29T00:00:00Z":             "-",
		"2025-11-08T09:30:11.885+08:00":    "2025-11-08T01:30:11.885Z±1ms",
		"2025-11-08T09:30:11,885000-0330":  "2025-11-08T13:00:11.885Z±1µs",
		"2025-11-08 09:30:11":              "2025-11-08T09:30:11Z-zone±1s",
		"2025-11-08T09:30:11.123456789123": "2025-11-08T09:30:11.123456789Z-zone",
		"0000-01-01T00:00:00Z":             "0000-01-01T00:00:00Z±1s",
		"1969-12-31T23:59:59.5Z":           "1969-12-31T23:59:59.5Z±100ms",
		"2025-11-08T09:30":                 "-",
	} {
		got, _ := stamp.ISO([]byte(in))
		require.Equal(t, want, parsetest.Time(got), in)
	}
	for y := -1; y < 2400; y += 7 {
		for m := 1; m <= 12; m++ {
			n, ok := stamp.Days(y, m, 28)
			require.True(t, ok)
			require.Equal(t, time.Date(y, time.Month(m), 28, 0, 0, 0, 0, time.UTC).Unix(), n*86400)
		}
	}
}

func TestDate(t *testing.T) {
	for in, want := range map[string]string{
		"Fri Nov 20 18:22:16 2026":        "2026-11-20T18:22:16Z-zone±1s",
		"Fri Nov  6 18:22:16 2026":        "2026-11-06T18:22:16Z-zone±1s",
		"Fri Nov 20 18:25:50 UTC 2026":    "2026-11-20T18:25:50Z±1s",
		"Fri Nov 20 18:25:50 CET 2026":    "2026-11-20T17:25:50Z±1s",
		"Tue 2020-07-07 14:13:10 EDT":     "2020-07-07T18:13:10Z±1s",
		"Fri Nov 20 18:25:50 CST 2026":    "2026-11-20T18:25:50Z-zone±1s",
		"Fri 20 Nov 2026 06:25:50 PM UTC": "2026-11-20T18:25:50Z±1s",
		"Fri 20 Nov 2026 12:25:50 AM CST": "2026-11-20T00:25:50Z-zone±1s",
		"Fri 2026-11-20 18:22:10 UTC":     "2026-11-20T18:22:10Z±1s",
		"Fri 2026-11-20 18:22:10 CST":     "2026-11-20T18:22:10Z-zone±1s",
		"Mon, 03 Jun 2019 13:54:18 +0800": "2019-06-03T05:54:18Z±1s",
		"2025-11-08T01:33:05Z":            "2025-11-08T01:33:05Z±1s",
		"2025-11-08T01:41:00.123456Z":     "2025-11-08T01:41:00.123456Z±1µs",
		"2026-11-20 18:25:50":             "2026-11-20T18:25:50Z-zone±1s",
		"2018-01-11 07:02:14 -0500 EST":   "2018-01-11T12:02:14Z±1s",
		"2018-01-11 07:02:14 CST here":    "-",
		"Fri Nov 31 18:22:16 2026":        "-",
		"19:32:47":                        "-",
		"Nov 20":                          "-",
		"Fri Nov 20":                      "-",
		"what Nov 20 18:22:16 2026 else":  "-",
		"":                                "-",
	} {
		got, ok := stamp.Date(in)
		if !ok {
			require.Equal(t, want, "-", in)
			continue
		}
		require.Equal(t, want, parsetest.Time(got), in)
	}
}

// TestShortDay: pastes and pages lose one of the two blanks before a day of one digit.
func TestShortDay(t *testing.T) {
	padded, n := stamp.Short([]byte("Jul  8 10:03:53 node-1 kernel: text"))
	require.Equal(t, 15, n)
	bare, n := stamp.Short([]byte("Jul 8 10:03:53 node-1 kernel: text"))
	require.Equal(t, 14, n)
	require.Equal(t, padded, bare)
	for _, text := range []string{"Jul 8  10:03:53 node-1", "Jul 0 10:03:53 node-1", "Jul 8 10:03 node-1 a", "Jul x 10:03:53 node-1"} {
		_, n := stamp.Short([]byte(text))
		require.Zero(t, n, text)
	}
}

// TestBroadcast: the line that stands on all terminals above a message for everybody.
func TestBroadcast(t *testing.T) {
	for in, want := range map[string]string{
		"Message from syslogd@node-1 at Nov 23 10:11:12 ...":                                        "node-1 0000-11-23T10:11:12Z-zone-year±1s",
		"Message from syslogd@node-1 at Fri Nov 20 18:22:16 2026 ...":                               "node-1 2026-11-20T18:22:16Z-zone±1s",
		"Broadcast message from systemd-journald@node-1.example.net (Fri 2026-11-20 18:22:10 UTC):": "node-1.example.net 2026-11-20T18:22:10Z±1s",
		"Broadcast message from root@node-1 (pts/0) (Fri Nov 20 18:22:16 2026):":                    "-",
		"Message from syslogd@node-1 at noon ...":                                                   "-",
		"Message from syslogd@node-1":                                                               "-",
	} {
		got, host, ok := stamp.Broadcast([]byte(in))
		if !ok {
			require.Equal(t, want, "-", in)
			continue
		}
		require.Equal(t, want, host+" "+parsetest.Time(got), in)
	}
}

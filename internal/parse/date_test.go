package parse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDate(t *testing.T) {
	for in, want := range map[string]string{
		"Fri Nov 20 18:22:16 2026":        "2026-11-20T18:22:16Z-zone±1s",
		"Fri Nov  6 18:22:16 2026":        "2026-11-06T18:22:16Z-zone±1s",
		"Fri Nov 20 18:25:50 UTC 2026":    "2026-11-20T18:25:50Z±1s",
		"Fri Nov 20 18:25:50 CST 2026":    "2026-11-20T18:25:50Z-zone±1s",
		"Fri 20 Nov 2026 06:25:50 PM UTC": "2026-11-20T18:25:50Z±1s",
		"Fri 20 Nov 2026 12:25:50 AM CST": "2026-11-20T00:25:50Z-zone±1s",
		"Fri 2026-11-20 18:22:10 UTC":     "2026-11-20T18:22:10Z±1s",
		"Fri 2026-11-20 18:22:10 CST":     "2026-11-20T18:22:10Z-zone±1s",
		"Mon, 03 Jun 2019 13:54:18 +0800": "2019-06-03T05:54:18Z±1s",
		"2025-11-08T01:33:05Z":            "2025-11-08T01:33:05Z±1s",
		"2025-11-08T01:41:00.123456Z":     "2025-11-08T01:41:00.123456Z±1µs",
		"2026-11-20 18:25:50":             "2026-11-20T18:25:50Z-zone±1s",
		"Fri Nov 31 18:22:16 2026":        "-",
		"19:32:47":                        "-",
		"Nov 20":                          "-",
		"what Nov 20 18:22:16 2026 else":  "-",
		"":                                "-",
	} {
		got, ok := Date(in)
		if !ok {
			require.Equal(t, want, "-", in)
			continue
		}
		require.Equal(t, want, stamp(got), in)
	}
}

package spelling

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearestNames(t *testing.T) {
	known := []string{"umount2-overlay-sync", "systemd-stuck", "systemd-gone", "runtime-latency", "bus", "but"}
	for wrong, want := range map[string][]string{
		"runtime-latncy":      {"runtime-latency"},
		"bsu":                 {"bus"}, // two neighbours changed places
		"bux":                 {"bus", "but"},
		"systemd":             {"systemd-stuck", "systemd-gone"},
		"umount overlay slow": {"umount2-overlay-sync"},
		"x":                   nil,
		"":                    nil,
		"nothing like it":     nil,
	} {
		require.Equal(t, want, NearestNames(wrong, known), wrong)
	}
	require.Len(t, NearestNames("a", []string{"ab", "ac", "ad", "ae"}), maxNearest)
}

func TestHints(t *testing.T) {
	require.Equal(t, `; did you mean "match"?`, DidYouMean("mtach", []string{"kind", "match"}))
	require.Empty(t, DidYouMean("colour", []string{"kind", "match"}))
	require.Empty(t, FormatHint(""))
}

package messages

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestDockerInfoInText: lines of docker info in a ticket that is mostly something else.
func TestDockerInfoInText(t *testing.T) {
	for in, want := range map[string]string{
		"Server Version: 19.03.11": "docker.version = 19.03.11", " Cgroup Driver: systemd": "docker.cgroup-driver = systemd",
		"the Server Version: 19.03.11": "", "Server Version: none": "", "Containers: 3": "",
	} {
		r := event.Record{Text: in, Raw: in, Wanted: true}
		var got strings.Builder
		for _, e := range Record(nil, &r) {
			got.WriteString(e.Text)
		}
		require.Equal(t, want, got.String(), in)
	}
}

// The lengths that systemd prints.
func TestSpans(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"3min 2s": 182 * time.Second, "2 weeks 3 days": 17 * 24 * time.Hour, "1h 4min": 64 * time.Minute, "350ms": 350 * time.Millisecond, "1 day 2h": 26 * time.Hour,
	} {
		got, ok := parseSpan(in)
		require.True(t, ok, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "soon", "3", "3parsec", "99999999999h"} {
		_, ok := parseSpan(in)
		require.False(t, ok, in)
	}
}

package observe

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

func TestLengths(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"03:32": 212 * time.Second, "1:02:03": 3723 * time.Second, "12-03:04:05": 12*24*time.Hour + 11045*time.Second, "652": 652 * time.Second,
		"": -1, "-": -1, "a:b": -1, "1:2:3:4": -1, "19:32-": -1,
	} {
		require.Equal(t, want, elapsed(in), in)
	}
	at := event.At(time.Date(2026, 11, 20, 18, 25, 0, 0, time.UTC))
	for in, want := range map[string]string{"5m12s": "18:19:48 1s", "2m": "18:23:00 1m0s", "2d3h": "15:25:00 1h0m0s", "5m (x3 over 10m)": "18:20:00 1m0s"} {
		got := ago(at, in)
		require.Equal(t, want, got.T.Format("15:04:05 ")+got.Prec.String(), in)
	}
	require.False(t, ago(at, "<unknown>").Known)
	require.False(t, ago(event.Time{}, "5m").Known, "nothing to count from")
	require.Equal(t, "0a1b2c3d-1111-2222-3333-444455556666", podUID("/sys/fs/cgroup/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice/x"))
	require.Empty(t, podUID("/sys/fs/cgroup/kubepods.slice"))
}

// The lengths that systemd prints.
func TestSpans(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"3min 2s": 182 * time.Second, "2 weeks 3 days": 17 * 24 * time.Hour, "1h 4min": 64 * time.Minute, "350ms": 350 * time.Millisecond, "1 day 2h": 26 * time.Hour,
	} {
		got, ok := span(in)
		require.True(t, ok, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "soon", "3", "3parsec", "99999999999h"} {
		_, ok := span(in)
		require.False(t, ok, in)
	}
}

// Every outcome that is worth an event is declared.
func TestKeptOutcomes(t *testing.T) {
	for _, outcome := range keptOutcomes {
		require.True(t, event.KindNamed(event.KindCollectItem).Field(event.FieldOutcome).Allows(event.String(outcome)), outcome)
	}
}

package condition

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestPathSource: the files of a source are named by the end of their path.
func TestPathSource(t *testing.T) {
	for pattern, files := range map[string][2]string{
		"path:var/log/acme/*.log":  {"sos-1/var/log/acme/vold.log", "var/log/acme/old/vold.log"},
		"path:/var/log/acme/*.log": {"var/log/acme/vold.log", "log/acme/vold.log"},
		"path:vold.log*":           {"a/vold.log.1.gz", "a/myvold.log"},
	} {
		c, err := New("source", pattern)
		require.NoError(t, err)
		for i, want := range []bool{true, false} {
			e := event.Event{Source: "other.log", Evidence: []event.Quote{{Pos: event.Pos{File: files[i], Line: 1}}}}
			require.Equal(t, want, AreMet(&e, []Condition{c}), "%s %s", pattern, files[i])
		}
	}
	c, err := New("source|in", []any{"path:a/*.log", "path:b.log"})
	require.NoError(t, err)
	require.True(t, AreMet(&event.Event{Evidence: []event.Quote{{Pos: event.Pos{File: "x/b.log"}}}}, []Condition{c}))
	require.False(t, AreMet(&event.Event{}, []Condition{c}))
	for key, arg := range map[string]any{
		"source": "path:[", "source|in": []any{"path:a", "kubelet.log"}, "source|contains": "path:a",
	} {
		_, err := New(key, arg)
		require.Error(t, err, key)
	}
}

package event

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSuppressed(t *testing.T) {
	s, ok := ParseSuppressed("Suppressed 4523 messages from docker.service")
	require.True(t, ok)
	require.Equal(t, Suppressed{4523, "docker.service"}, s)
	require.True(t, s.Of("dockerd"))
	require.True(t, s.Of("docker"))
	require.True(t, s.Of(""))
	require.False(t, s.Of("kubelet"))
	for _, text := range []string{"", "Suppressed", "Suppressed x messages from a.service", "Suppressed 1 messages from ", "Suppressed 3 messages from a or b", "Suppressed 99999999999 messages from a.service"} {
		_, ok := ParseSuppressed(text)
		require.False(t, ok, text)
	}
}

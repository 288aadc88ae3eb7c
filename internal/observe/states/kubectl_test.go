package states

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKubectlLiteralsAreLong: they are looked for together with those of the messages, and the
// shortest decides how fast.
func TestKubectlLiteralsAreLong(t *testing.T) {
	for _, text := range KubectlLiterals {
		require.GreaterOrEqual(t, len(text), 8, "%q", text)
	}
}

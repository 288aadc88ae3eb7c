package collect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// A part is rounded up, as df does: what has one block left of a million is full.
func TestShareOf(t *testing.T) {
	for _, c := range [][3]uint64{{0, 100, 0}, {1, 100, 1}, {9901, 10000, 100}, {9900, 10000, 99}, {100, 100, 100}, {0, 0, 0}} {
		require.Equal(t, c[2], shareOf(c[0], c[1]), "%v", c)
	}
}

// Where two programs hang in the kernel, no other is started.
func TestNoProgramAfterTwoThatHang(t *testing.T) {
	c := collector{}
	c.manifest.Items = []bundle.Item{{Outcome: bundle.Stuck}, {Outcome: bundle.Stuck}, {Outcome: bundle.OK}, {Outcome: bundle.Stuck}}
	require.Empty(t, c.whyNoProgram(2), "those before are of another step")
	c.manifest.Items = append(c.manifest.Items, bundle.Item{Outcome: bundle.Stuck})
	require.NotEmpty(t, c.whyNoProgram(2))
}

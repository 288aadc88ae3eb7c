package picture

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
)

// TestChooseChain: the chain of the headline's finding is drawn, which is the first, or else that
// of the best finding with one.
func TestChooseChain(t *testing.T) {
	var with, without story.Finding
	with.Chain = []rules.Step{{}}
	require.Equal(t, 0, chooseChain([]story.Finding{with, with}))
	require.Equal(t, 1, chooseChain([]story.Finding{without, with}))
	require.Negative(t, chooseChain([]story.Finding{without}))
}

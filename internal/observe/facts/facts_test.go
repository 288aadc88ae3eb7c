package facts

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Every name of a source is one that rules may ask for.
func TestSourcesOfFacts(t *testing.T) {
	require.Subset(t, event.Sources(), []string{Config, Node, Mounts, Units, Metrics, Kubernetes, Packages, Collected, Processes})
}

package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArchitectureNamesFiles: every file and package that ARCHITECTURE.md names is there.
func TestArchitectureNamesFiles(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	require.NoError(t, err)
	lines := strings.Count(string(text), "\n")
	require.LessOrEqual(t, lines, 150, "ARCHITECTURE.md is a map, not a book")
	named := 0
	for _, m := range regexp.MustCompile("`([a-z0-9]+/[a-z0-9/*_]*(?:\\.go)?|[a-z0-9]+/[a-zA-Z/*]+\\.yaml)`").FindAllStringSubmatch(string(text), -1) {
		name := strings.NewReplacer("ID.yaml", "*.yaml", "/…", "").Replace(m[1])
		here := func(pattern string) bool {
			found, err := filepath.Glob(pattern)
			require.NoError(t, err)
			return len(found) > 0
		}
		require.True(t, here("../"+name) || here("../../"+name), "ARCHITECTURE.md names %s, which is not there", m[1])
		named++
	}
	require.Greater(t, named, 30, "the expression finds the names")
}

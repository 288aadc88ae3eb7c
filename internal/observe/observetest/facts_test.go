package observetest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

// TestFactsAreDocumented: docs/facts.md names every fact that the goldens hold, and no other.
func TestFactsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(observetest.Testdata(t), "../../../docs/facts.md"))
	require.NoError(t, err)
	documented := map[string]bool{}
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.Contains(cells[1], ".") {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			documented[name[1]] = false
		}
	}
	for _, file := range observetest.SampleFiles(t, "*.golden") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\bfact .*?name="([^"]+)" value=`).FindAllStringSubmatch(string(text), -1) {
			found := false
			for name := range documented {
				prefix, open := strings.CutSuffix(name, "*")
				if name == m[1] || open && strings.HasPrefix(m[1], prefix) {
					documented[name], found = true, true
				}
			}
			require.True(t, found, "%s in %s", m[1], file)
		}
	}
	for name, seen := range documented {
		require.True(t, seen, "%s is documented and never seen", name)
	}
}

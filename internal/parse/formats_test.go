package parse

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFormatsAreDocumented: docs/formats.md has a row for every format, in the order in which they
// are tried.
func TestFormatsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/formats.md")
	require.NoError(t, err)
	var documented, names []string
	for line := range strings.Lines(string(doc)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(cells[1], " `") {
			documented = append(documented, strings.Trim(cells[1], " `"))
			require.NotEmpty(t, strings.TrimSpace(cells[2]))
			require.NotEmpty(t, strings.TrimSpace(cells[3]))
		}
	}
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	for _, r := range References {
		names = append(names, r.Name)
	}
	names = append(names, Prose)
	require.Equal(t, names, documented)
}

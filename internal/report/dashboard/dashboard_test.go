package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/fleet"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/schema/schematest"
)

var update = flag.Bool("update", false, "accept what is written now")

// answersOf are answers as DuckDB gives them, one of each sort of column.
func answersOf() []fleet.Answer {
	sum := strings.Repeat("ab", 32)
	return []fleet.Answer{
		{
			Question: fleet.Question{Name: "summary", Title: "What was read"},
			Columns:  []string{"bundles", "nodes", "confirmed", "failed", "healthy", "kinds_of_analysis"}, Rows: [][]any{{3.0, 2.0, 1.0, 1.0, 0.0, 2.0}},
		},
		{
			Question: fleet.Question{Name: "causes", Title: "Causes by nodes", About: "How many."},
			Columns:  []string{"cause", "nodes", "median_seconds", "first", "report"},
			Rows: [][]any{
				{"umount2-overlay-sync", 12.0, 90.5, "2026-10-01T12:00:00Z", "reports/" + sum + ".json"},
				{"<script>alert(1)</script>\x1b[31m", 3.0, nil, nil, "javascript:alert(1)"},
			},
		},
		{
			Question: fleet.Question{Name: "days", Title: "Stalls by day"},
			Columns:  []string{"day", "node_days", "stalls_per_node_day"},
			Rows:     [][]any{{"2026-10-03", 4.0, 0.5}, {"2026-10-01", 4.0, 1.0}},
		},
		{
			Question: fleet.Question{Name: "unexplained", Title: "What is not explained"},
			Columns:  []string{"looks", "words", "likeness", "share"}, Rows: [][]any{{2.0, []any{"a", "b"}, 0.75, 0.123}},
		},
		{Question: fleet.Question{Name: "failed", Title: "Bundles that could not be analysed"}},
	}
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test ./internal/report/dashboard -update accepts it")
}

func TestText(t *testing.T) {
	for name, o := range map[string]show.Options{"screen.txt": {}, "full.txt": {Full: true}, "narrow.txt": {Width: 40}} {
		var out strings.Builder
		require.NoError(t, Text(&out, answersOf(), o))
		checkGolden(t, name, out.String())
		for line := range strings.Lines(out.String()) {
			require.True(t, o.Full || lipgloss.Width(strings.TrimSuffix(line, "\n")) <= cmp.Or(o.Width, 80), line)
			require.NotContains(t, line, "\x1b")
		}
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, JSON(&out, answersOf(), "v1"))
	require.NoError(t, schematest.Check("fleet", out.Bytes()))
	var document struct {
		Schema  string
		Answers []struct {
			Name string
			Rows []map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &document))
	require.Equal(t, Schema, document.Schema)
	require.Len(t, document.Answers, 5)
	require.Equal(t, 90.5, document.Answers[1].Rows[0]["median_seconds"])
	require.Nil(t, document.Answers[1].Rows[1]["first"])
	require.Empty(t, document.Answers[4].Rows)
}

func TestHTML(t *testing.T) {
	var out bytes.Buffer
	link := func(report string) string {
		if strings.HasPrefix(report, "reports/") {
			return "../" + report
		}
		return ""
	}
	require.NoError(t, HTML(&out, answersOf(), "v1", link))
	page := out.String()
	require.NotContains(t, page, "<script", "what a bundle says is no markup")
	require.NotContains(t, page, "javascript:")
	require.NotContains(t, page, "\x1b")
	require.Equal(t, 1, strings.Count(page, `<a href="../reports/`))
	require.Contains(t, page, `<rect class="bar" width="25%"`, "3 of 12")
	require.Contains(t, page, "2026-10-01: 1.00 stalls per node-day")
	require.NotRegexp(t, `https?://`, page, "it needs nothing but itself")
	checkGolden(t, "page.html", regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAllString(page, "<style></style>"))
}

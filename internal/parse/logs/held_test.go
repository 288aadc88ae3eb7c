package logs

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

func TestJoinIsBounded(t *testing.T) {
	piece := "Nov 20 18:25:56 n x[1]: " + strings.Repeat("a", 1<<20) + "\n"
	log := io.MultiReader(
		strings.NewReader("Nov 20 18:25:56 n x[1]: time=\"2026-11-20T18:25:56Z\" level=info msg=\"open\n"),
		strings.NewReader(strings.Repeat(piece, 70)),
	)
	joined, total := 0, 0
	for rec, err := range ReadLines(lines.Input{R: log}) {
		if err == nil {
			joined = max(joined, rec.Lines)
			total += rec.Lines
			require.LessOrEqual(t, len(rec.Text), maxHeld)
		}
	}
	require.Equal(t, 71, total)
	require.Greater(t, joined, 60)
}

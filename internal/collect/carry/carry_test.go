package carry

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func encode(t require.TestingT, content []byte) string {
	var out bytes.Buffer
	require.NoError(t, Encode(bytes.NewReader(content), &out))
	for line := range strings.Lines(out.String()) {
		require.Less(t, len(line), 16<<10)
	}
	return out.String()
}

// Whatever is sent comes back, with other lines between, however often the log breaks and is read
// again.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := bytes.Repeat(rapid.SliceOf(rapid.Byte()).Draw(t, "content"), rapid.IntRange(0, 500).Draw(t, "times"))
		log := "plegdiag: 5 bytes\n" + strings.Replace(encode(t, content), "\n", "\nan error of somebody\n", 1)
		var others []string
		d := Decoder{Limit: 1 << 20, Other: func(line string) { others = append(others, line) }}
		for range 3 {
			cut := rapid.IntRange(0, len(log)).Draw(t, "cut")
			require.NoError(t, d.Read(strings.NewReader(log[:cut])))
			require.True(t, bytes.HasPrefix(content, d.Bytes()))
		}
		require.NoError(t, d.Read(strings.NewReader(log)))
		require.True(t, d.Whole())
		require.True(t, bytes.Equal(content, d.Bytes()))
		want := []string{"plegdiag: 5 bytes", "an error of somebody"}
		if len(content) == 0 {
			want = want[:1] // nobody reads behind the end
		}
		require.Equal(t, want, others)
	})
}

// What is lost or damaged is told, and what came before it stays.
func TestLoss(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 2500)
	lines := strings.SplitAfter(encode(t, content), "\n")
	require.Len(t, lines, 7) // five, the sum, nothing
	for name, c := range map[string]struct {
		log, want string
		kept      int
	}{
		"rotated":       {lines[0] + lines[2], "lines 2 to 2 of the bundle are lost", lineBytes},
		"end lost":      {lines[0] + lines[5], "lines 2 to 5 of the bundle are lost", lineBytes},
		"damaged":       {lines[0] + strings.Replace(lines[1], "M", "!", 1), "line 2 of the bundle is damaged", lineBytes},
		"other content": {strings.Join(lines[:4], "") + lines[4][:12] + "AAAA\n" + lines[5], "its sum is another one", 4*lineBytes + 3},
		"no number":     {"#plegdiag:x:AAAA\n", "line 1 of the bundle has no number", 0},
		"no end":        {lines[0] + "#plegdiag:end:x\n", "the end of the bundle is damaged", lineBytes},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decoder{Limit: 1 << 20}
			require.ErrorContains(t, d.Read(strings.NewReader(c.log)), c.want)
			require.False(t, d.Whole())
			require.Len(t, d.Bytes(), c.kept)
		})
	}
	d := Decoder{Limit: 10_000}
	require.ErrorIs(t, d.Read(strings.NewReader(strings.Join(lines, ""))), ErrTooLarge)
	d = Decoder{Limit: 1 << 20}
	require.NoError(t, d.Read(strings.NewReader(strings.Repeat("x", 1<<20)+"\n"+strings.Join(lines, ""))))
	require.True(t, d.Whole())
}

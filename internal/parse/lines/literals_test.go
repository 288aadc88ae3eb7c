package lines_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

func TestLiterals(t *testing.T) {
	l := lines.NewLiterals([]string{"abcdef", "xyz", "de", "", "PLEG is not healthy"})
	for in, want := range map[string]bool{
		"": false, "abcde": true, "abcdef": true, "..abcdef..": true, "xy": false, "..xyz": true,
		"d": false, "e": false, "PLEG is not health": false, "x PLEG is not healthy: y": true,
	} {
		require.Equal(t, want, l.Match([]byte(in)), in)
	}
	begins := lines.NewLiterals([]string{"\npanic: ", "PLEG is not healthy"})
	for in, want := range map[string]bool{"panic: x": true, "a panic: x": false, "a\npanic: x": true, "panic:": false} {
		require.Equal(t, want, begins.Match([]byte(in)), in)
		count := 0
		begins.All([]byte(in), func(id int) { count += 1 + id })
		require.Equal(t, want, count == 1, in)
	}
	require.False(t, lines.NewLiterals(nil).Match([]byte("anything")))
}

// TestLiteralsAreContains: the search finds what a loop over bytes.Contains finds.
func TestLiteralsAreContains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 9, -1), 0, 8).Draw(t, "words")
		line := []byte(rapid.StringOfN(rapid.RuneFrom([]rune("abcd")), 0, 60, -1).Draw(t, "line"))
		want := false
		for _, w := range words {
			want = want || w != "" && bytes.Contains(line, []byte(w))
		}
		if got := lines.NewLiterals(words).Match(line); got != want {
			t.Fatalf("%q in %q: %v", words, line, got)
		}
	})
}

// TestAllLiterals: each literal is found as often as it stands in the line, also where it overlaps
// with others or with itself.
func TestAllLiterals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 4, 9, -1), 0, 8).Draw(t, "words")
		line := rapid.StringOfN(rapid.RuneFrom([]rune("abcd")), 0, 60, -1).Draw(t, "line")
		want, got := map[int]int{}, map[int]int{}
		for i, w := range words {
			for at := range line {
				if slices.Index(words, w) == i && strings.HasPrefix(line[at:], w) {
					want[i]++
				}
			}
		}
		lines.NewLiterals(words).All([]byte(line), func(id int) { got[id]++ })
		if !maps.Equal(want, got) {
			t.Fatalf("%q in %q: %v, not %v", words, line, got, want)
		}
	})
	short := 0
	lines.NewLiterals([]string{"ab", "abcd"}).All([]byte("ab abcd"), func(id int) { short += 1 - id })
	require.Equal(t, 2, short)
}

func TestLiteralsDoNotAllocate(t *testing.T) {
	l := lines.NewLiterals(parsetest.Literals)
	line := []byte(parsetest.Hot["journal-short"])
	require.Zero(t, testing.AllocsPerRun(100, func() { l.Match(line) }))
}

func BenchmarkLiterals(b *testing.B) {
	l := lines.NewLiterals(parsetest.Literals)
	for _, name := range []string{"journal-short", "klog", "journal-json"} {
		b.Run(fmt.Sprintf("literals=%d/line=%s", len(parsetest.Literals), name), func(b *testing.B) {
			// Without the one literal that it holds.
			line := bytes.ReplaceAll([]byte(parsetest.Hot[name]), []byte("SyncLoop"), []byte("SyncLump"))
			line = bytes.ReplaceAll(line, []byte("SYSLOG"), []byte("SYSTEM"))
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if l.Match(line) {
					b.Fatal("matched")
				}
			}
		})
	}
}

package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTiles holds that a log of tiles goes on in time, and that each tile has a process of its own
// and containers of its own.
func TestTiles(t *testing.T) {
	for _, file := range tiledFiles(2*mega, 1) {
		var text bytes.Buffer
		require.NoError(t, file.write(&text))
		last := ""
		for line := range strings.Lines(text.String()) {
			require.LessOrEqual(t, last[:min(len(last), 19)], line[:19], file.path)
			last = line
		}
		if file.path != "node-1/containerd.log" {
			continue
		}
		exits, _ := countDistinct(text.String(), `received container exit event container_id:\\"([0-9a-f]{64})`)
		require.Greater(t, exits, 2)
		processes, starts := countDistinct(text.String(), `containerd\[(\d+)\]: \S+ level=info msg="starting containerd"`)
		require.Greater(t, starts, 2)
		require.Equal(t, starts, processes)
	}
}

// countDistinct counts what a pattern takes from a text, once each and in all.
func countDistinct(text, pattern string) (distinct, all int) {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		seen[m[1]] = true
		all++
	}
	return len(seen), all
}

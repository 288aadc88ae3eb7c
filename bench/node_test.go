package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The bundle is the same for the same seed, has its incident, and a line in eight is of interest.
func TestGenerate(t *testing.T) {
	interesting := []string{
		"ContainerDied", "from runtime service failed", "UpdateContainerResources for ", "exit event", "RemoveContainer for ",
		".scope - libcontainer", "PLEG is not healthy",
	}
	lines, hits := 0, 0
	kubelet, containerd := nodeIncident(incidentStart, victim)
	var text strings.Builder
	same, others := nodeFiles(3e6, 1), nodeFiles(3e6, 2)
	for i, file := range nodeFiles(3e6, 1) {
		var first, second, other bytes.Buffer
		require.NoError(t, file.write(&first))
		require.NoError(t, same[i].write(&second))
		require.NoError(t, others[i].write(&other))
		require.Equal(t, first.String(), second.String())
		require.NotEqual(t, first.String(), other.String())
		require.InDelta(t, 3e6*[]float64{0.54, 0.36, 0.1}[i], first.Len(), 2000)
		text.Write(first.Bytes())
	}
	for _, m := range append(kubelet, containerd...) {
		require.Contains(t, text.String(), m.text)
	}
	for line := range strings.Lines(text.String()) {
		lines++
		for _, s := range interesting {
			if strings.Contains(line, s) {
				hits++
				break
			}
		}
	}
	share := float64(hits) / float64(lines)
	require.InDelta(t, 0.12, share, 0.02)
}

// The trace is the same for the same seed, and holds its one hung call, begun and returned.
func TestGenerateTrace(t *testing.T) {
	var first, second, other bytes.Buffer
	require.NoError(t, generateTrace(&first, 3e6, 1, 24, 1))
	require.NoError(t, generateTrace(&second, 3e6, 1, 24, 1))
	require.NoError(t, generateTrace(&other, 3e6, 2, 24, 1))
	require.Equal(t, first.String(), second.String())
	require.NotEqual(t, first.String(), other.String())
	require.InDelta(t, 3e6, first.Len(), 1000)
	require.Equal(t, 1, strings.Count(first.String(), " umount2(\"/run/"))
	require.Equal(t, 1, strings.Count(first.String(), " <... umount2 resumed>) = 0 <"))
	lines := strings.Count(first.String(), "\n")
	require.InDelta(t, 0.29, float64(strings.Count(first.String(), " <unfinished ...>"))/float64(lines), 0.03)
}

// A variation is a rule, and not the one it was made of.
func TestVariation(t *testing.T) {
	const rule = "id: a\ntitle: t\nsteps:\n  - {id: s, match: {duration|gte: 30s}}\n"
	require.Equal(t, `id: a-variation-7
title: t
steps:
  - id: line_of_its_own
    role: symptom
    text: "a line"
    kind: log.line
    match: {text|contains: "variation 7 of a message"}
  - {id: s, match: {duration|gte: 30s8ms}}
`, varyRule(rule, 7))
}

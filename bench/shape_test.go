package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every shape is the same for the same seed and another for another one, has about the size that is
// asked for, and ten times as much of it has ten times the size.
func TestShapes(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			const size = 2 * mega
			first := shapeText(t, s.files(size, 1))
			require.Equal(t, first, shapeText(t, s.files(size, 1)))
			require.NotEqual(t, first, shapeText(t, s.files(size, 2)))
			require.InEpsilon(t, size, len(first), 0.4)
			require.InEpsilon(t, 10*len(first), len(shapeText(t, s.files(10*size, 1))), 0.4)
		})
	}
}

func shapeText(t *testing.T, files []textFile) string {
	t.Helper()
	var text bytes.Buffer
	for _, file := range files {
		require.NotContains(t, file.path, "%")
		require.NoError(t, file.write(&text))
	}
	return text.String()
}

// The names of shapes are what -shape takes.
func TestChooseShapes(t *testing.T) {
	all, err := chooseShapes("all")
	require.NoError(t, err)
	require.Len(t, all.shapes, len(shapes))
	require.True(t, all.neighbours && all.start && all.node && all.trace && all.fleet)
	two, err := chooseShapes("wide,strace")
	require.NoError(t, err)
	require.Equal(t, "wide", two.shapes[0].name)
	require.True(t, !two.node && two.trace && !two.fleet && !two.start)
	_, err = chooseShapes("round")
	require.ErrorContains(t, err, `no shape "round"; there are all, start, node, strace, fleet, neighbours, flapping`)
}

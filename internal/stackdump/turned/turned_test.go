package turned

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestText(t *testing.T) {
	first := event.Pos{File: "f", Line: 7}
	text, places := Text("c\nbb\n\na", nil, first)
	require.Equal(t, "a\n\nbb\nc", text)
	require.Equal(t, []event.Piece{
		{Off: 0, Pos: event.Pos{File: "f", Line: 10}},
		{Off: 2, Pos: event.Pos{File: "f", Line: 9}},
		{Off: 3, Pos: event.Pos{File: "f", Line: 8}},
		{Off: 6, Pos: event.Pos{File: "f", Line: 7}},
	}, places)
}

func TestTextOfALog(t *testing.T) {
	at := func(off, line int) event.Piece { return event.Piece{Off: off, Pos: event.Pos{File: "g", Line: line}} }
	text, places := Text("c\nbb\na", []event.Piece{at(0, 20), at(2, 23), at(5, 24)}, event.Pos{})
	require.Equal(t, "a\nbb\nc", text)
	require.Equal(t, []event.Piece{at(0, 24), at(2, 23), at(5, 20)}, places)
}

func TestAreLines(t *testing.T) {
	pieces := func(offsets ...int) (all []event.Piece) {
		for _, off := range offsets {
			all = append(all, event.Piece{Off: off})
		}
		return all
	}
	require.True(t, AreLines("a\nb\n", nil))
	require.True(t, AreLines("a\nb\n", pieces(0, 2)))
	require.False(t, AreLines("a\nb\n", pieces(0)), "one piece has both lines")
	require.False(t, AreLines("ab\n", pieces(0, 1)), "a line was cut")
}

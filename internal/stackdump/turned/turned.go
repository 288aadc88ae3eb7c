// Package turned puts texts into order whose last line stands first, as journalctl -r prints them.
// It knows nothing of what the lines say.
package turned

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Text puts the last line of a text first. Pieces says where the lines of text stand; nil when they
// follow each other from first on. The result's say it of the result.
func Text(text string, pieces []event.Piece, first event.Pos) (inOrder string, places []event.Piece) {
	var b strings.Builder
	b.Grow(len(text) + 1)
	all := strings.Split(text, "\n")
	at := len(text) + 1
	for i, line := range slices.Backward(all) {
		at -= len(line) + 1
		for len(pieces) > 1 && pieces[len(pieces)-1].Off > at {
			pieces = pieces[:len(pieces)-1]
		}
		pos := event.Pos{File: first.File, Line: first.Line + i}
		if len(pieces) > 0 {
			pos = pieces[len(pieces)-1].Pos
		}
		places = append(places, event.Piece{Off: b.Len(), Pos: pos})
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n"), places
}

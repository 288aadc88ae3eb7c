// Package turned puts texts into order whose last line stands first, as journalctl -r prints them.
// It knows nothing of what the lines say.
package turned

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// AreLines says that each of the pieces of a text is one line of it. What was cut inside of a line,
// or carries several lines, is in order itself.
func AreLines(text string, pieces []event.Piece) bool {
	if pieces == nil {
		return true
	}
	cut := func(p event.Piece) bool { return p.Off > 0 && text[p.Off-1] != '\n' }
	return len(pieces) == strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1 && !slices.ContainsFunc(pieces, cut)
}

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

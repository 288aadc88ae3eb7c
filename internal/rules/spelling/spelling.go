// Package spelling turns a name that nobody knows into the known names that it may stand for, and
// says them as a hint. It does not know what the names are of.
package spelling

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean proposes the nearest of the known words, when one is near: "; did you mean %q?".
func DidYouMean(word string, known []string) string { return FormatHint(NearestWord(word, known)) }

// FormatHint says a word as a hint: "; did you mean %q?". Of an empty one it says nothing.
func FormatHint(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", word)
}

// maxNearest bounds how many names are proposed.
const maxNearest = 3

// NearestNames returns the known names that a wrong one may stand for, at most three, in the order
// of known: those with the fewest edits, up to two, or else those that share most words, or
// beginnings of words, with it. It is nil where none is near.
func NearestNames(wrong string, known []string) []string {
	if near := namesByEdits(wrong, known); len(near) > 0 {
		return near[:min(len(near), maxNearest)]
	}
	words := splitWords(wrong)
	var best []string
	most := 1
	for _, name := range known {
		shared := 0
		for _, word := range splitWords(name) {
			if slices.ContainsFunc(words, func(w string) bool { return len(w) > 2 && strings.HasPrefix(word, w) }) {
				shared++
			}
		}
		if shared > most {
			best, most = nil, shared
		}
		if shared == most {
			best = append(best, name)
		}
	}
	return best[:min(len(best), maxNearest)]
}

func splitWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_./ ", r) })
}

// NearestWord is the known word with the fewest edits, up to two; empty when none is that near.
func NearestWord(word string, known []string) string {
	if near := namesByEdits(word, known); len(near) > 0 {
		return near[0]
	}
	return ""
}

// namesByEdits are the known names with the fewest edits, up to two.
func namesByEdits(word string, known []string) (best []string) {
	distance := 3
	for _, k := range known {
		d := countEdits(word, k)
		if d >= len(k) || d >= 3 {
			continue
		}
		if d < distance {
			best, distance = nil, d
		}
		if d == distance {
			best = append(best, k)
		}
	}
	return best
}

// countEdits counts the letters to add, drop, change or swap with their neighbour to turn a into b.
func countEdits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var rows [3][]int // two before, before, this
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[2] {
		rows[2][j] = j
	}
	for i := range len(a) {
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
		rows[2][0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			rows[2][j+1] = min(rows[1][j+1]+1, rows[2][j]+1, rows[1][j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				rows[2][j+1] = min(rows[2][j+1], rows[0][j-1]+1)
			}
		}
	}
	return rows[2][len(b)]
}

package rules

import "fmt"

// didYouMean proposes the nearest of the known words, when one is near: "; did you mean %q?".
func didYouMean(word string, known []string) string { return suggest(nearestWord(word, known)) }

func suggest(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", word)
}

// nearestWord is the known word with the fewest edits, up to two; empty when none is that near.
func nearestWord(word string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := countEdits(word, k); d < distance && d < len(k) {
			best, distance = k, d
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

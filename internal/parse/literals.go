package parse

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Literals is a set of byte strings to look for, all at once. It decides the
// speed of a whole run: most lines hold none of them and are not parsed beyond
// their header.
//
// It is the algorithm of Wu and Manber ("A fast algorithm for multi-pattern
// searching", 1994) with blocks of three bytes: a table says for each block how
// far the search may jump, so that longer literals make it faster.
type Literals struct {
	jump   [tableSize]uint8 // how far the window may move; 0: its last block ends a literal's head
	first  [tableSize]uint16
	next   []uint16 // chains of literals that share a block; 0 ends
	words  [][]byte
	window int      // length of the shortest of words
	short  [][]byte // literals of a block or less
}

const (
	block     = 3
	tableBits = 14 // 16 KiB, half of a first-level cache
	tableSize = 1 << tableBits
)

// blockHash folds the three bytes before end into an index of the tables. It reads four, which is one load.
func blockHash(b []byte, end int) uint32 {
	v := binary.LittleEndian.Uint32(b[end-4:]) >> 8
	return (v ^ v>>9) % tableSize
}

// NewLiterals prepares a set. Literals of six bytes and more are fast; those
// of three or less are looked for one by one. Empty ones are ignored.
func NewLiterals(literals []string) *Literals {
	l := &Literals{next: []uint16{0}, words: [][]byte{nil}}
	for _, s := range slices.Compact(slices.Sorted(slices.Values(literals))) {
		switch {
		case len(s) > block && len(l.words) < 1<<16-1:
			l.words = append(l.words, []byte(s))
			l.next = append(l.next, 0)
			if l.window == 0 || len(s) < l.window {
				l.window = len(s)
			}
		case s != "":
			l.short = append(l.short, []byte(s))
		}
	}
	l.window = min(l.window, 255)
	for i := range l.jump {
		l.jump[i] = uint8(max(0, l.window-block+1))
	}
	for i, w := range l.words[1:] {
		w = append([]byte{0}, w...) // for the fourth byte that blockHash loads
		for end := block; end <= l.window; end++ {
			h := blockHash(w, end+1)
			l.jump[h] = min(l.jump[h], uint8(l.window-end))
			if end == l.window {
				l.next[i+1] = l.first[h]
				l.first[h] = uint16(i + 1)
			}
		}
	}
	return l
}

// Match says whether line holds one of the literals. It does not allocate.
func (l *Literals) Match(line []byte) bool {
	for _, s := range l.short {
		if bytes.Contains(line, s) {
			return true
		}
	}
	if l.window == 0 {
		return false
	}
	for end := l.window; end <= len(line); {
		h := blockHash(line, end)
		if j := l.jump[h]; j != 0 {
			end += int(j)
			continue
		}
		rest := line[end-l.window:]
		for w := l.first[h]; w != 0; w = l.next[w] {
			if bytes.HasPrefix(rest, l.words[w]) {
				return true
			}
		}
		end++
	}
	return false
}

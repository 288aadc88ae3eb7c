package lines

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Literals is a set of byte strings to look for, all at once. It decides the
// speed of a whole run: most lines hold none of them and are not parsed beyond
// their header.
//
// It is the algorithm of Wu and Manber ("A fast algorithm for multi-pattern
// searching", 1994) with blocks of three bytes: a table says for each block how
// far the search may jump. All words are looked for by a part of them that is as long as
// the shortest of them, so that longer literals make it faster; of a longer
// word it is the part that is rarest in logs.
type Literals struct {
	jump   [tableSize]uint8 // how far the window may move; 0: its last block ends a word's part
	first  [tableSize]uint16
	next   []uint16 // chains of words that share a block; 0 ends
	heads  []uint32 // of words: what the part begins with, which most windows of a chain do not
	words  []literal
	window int       // length of the shortest of words
	short  []literal // literals of a block or less
	starts []literal // what a text may begin with
}

// literal is one of the set.
type literal struct {
	text []byte
	part int // where the part begins that is looked for
	id   int // its place in the list given to NewLiterals
}

const (
	block     = 3
	lookCost  = 18 // of looking at a word, where a jump that is one byte shorter costs 1
	tableBits = 14 // 16 KiB, half of a first-level cache
	tableSize = 1 << tableBits
)

// headOf is what a window begins with.
func headOf(b []byte, start int) uint32 { return binary.LittleEndian.Uint32(b[start:]) }

// blockHash folds the three bytes before end into an index of the tables. It reads four, which is
// one load.
func blockHash(b []byte, end int) uint32 {
	v := binary.LittleEndian.Uint32(b[end-4:]) >> 8
	return (v ^ v>>9) % tableSize
}

// NewLiterals prepares a set. Literals of eight bytes and more are fast; those of three or less are
// looked for one by one. Empty ones are ignored, and of equal ones all but the first. One that
// begins with a line break also stands where the rest of it begins the text that is searched.
func NewLiterals(literals []string) *Literals {
	l := &Literals{next: []uint16{0}, words: make([]literal, 1, len(literals)+1)}
	known := make(map[string]bool, len(literals))
	for i, s := range literals {
		switch w := (literal{text: []byte(s), id: i}); {
		case s == "" || known[s]:
		case len(s) > block && len(l.words) < 1<<16-1:
			l.words = append(l.words, w)
			l.next = append(l.next, 0)
			if l.window == 0 || len(s) < l.window {
				l.window = len(s)
			}
		default:
			l.short = append(l.short, w)
		}
		if rest, ok := strings.CutPrefix(s, "\n"); ok && rest != "" && !known[s] {
			l.starts = append(l.starts, literal{text: []byte(rest), id: i})
		}
		known[s] = true
	}
	l.window = min(l.window, 255)
	l.chooseParts()
	l.fillTables()
	return l
}

// chooseParts picks the part of each word that is looked for: the one whose blocks shorten the
// jumps through [typical] least.
func (l *Literals) chooseParts() {
	var seen [tableSize]int
	for end := block + 1; end <= len(typical); end++ {
		seen[blockHash([]byte(typical), end)]++
	}
	for i := range l.words[1:] {
		w := &l.words[i+1]
		padded := append([]byte{0}, w.text...) // for the fourth byte that blockHash loads
		least := -1
		for part := 0; part+l.window <= len(w.text); part++ {
			cost := 0
			for end := block; end <= l.window; end++ {
				cost += (end - block + 1) * seen[blockHash(padded, part+end+1)]
			}
			cost += lookCost * seen[blockHash(padded, part+l.window+1)]
			if least < 0 || cost < least {
				least, w.part = cost, part
			}
		}
	}
}

// fillTables computes the tables.
func (l *Literals) fillTables() {
	for i := range l.jump {
		l.jump[i] = uint8(max(0, l.window-block+1))
	}
	l.heads = make([]uint32, len(l.words))
	for i, w := range l.words[1:] {
		l.heads[i+1] = headOf(w.text, w.part)
		padded := append([]byte{0}, w.text[w.part:]...)
		for end := block; end <= l.window; end++ {
			h := blockHash(padded, end+1)
			l.jump[h] = min(l.jump[h], uint8(l.window-end))
			if end == l.window {
				l.next[i+1] = l.first[h]
				l.first[h] = uint16(i + 1)
			}
		}
	}
}

// Match says whether line holds one of the literals. It does not allocate.
func (l *Literals) Match(line []byte) bool {
	for i := range l.short {
		if bytes.Contains(line, l.short[i].text) {
			return true
		}
	}
	for i := range l.starts {
		if bytes.HasPrefix(line, l.starts[i].text) {
			return true
		}
	}
	if l.window == 0 {
		return false
	}
	// Each step waits for the table, so that two windows side by side take little longer than one.
	middle := (l.window + len(line) + 1) / 2
	front, back := l.window, middle
	for front < middle && back <= len(line) {
		a, b := blockHash(line, front), blockHash(line, back)
		i, j := l.jump[a], l.jump[b]
		if i == 0 {
			if l.anyStandsIn(line, front, a) {
				return true
			}
			i = 1
		}
		if j == 0 {
			if l.anyStandsIn(line, back, b) {
				return true
			}
			j = 1
		}
		front += int(i)
		back += int(j)
	}
	return l.matchIn(line, front, middle-1) || l.matchIn(line, back, len(line))
}

// matchIn says whether a word stands in line. It looks at the windows that end between end and
// last.
func (l *Literals) matchIn(line []byte, end, last int) bool {
	for end <= last {
		h := blockHash(line, end)
		j := l.jump[h]
		if j == 0 {
			if l.anyStandsIn(line, end, h) {
				return true
			}
			j = 1
		}
		end += int(j)
	}
	return false
}

// anyStandsIn says whether one of the words whose parts end in the block h stands in line with its
// part ending at end.
func (l *Literals) anyStandsIn(line []byte, end int, h uint32) bool {
	head := headOf(line, end-l.window)
	for w := l.first[h]; w != 0; w = l.next[w] {
		if l.heads[w] == head && l.words[w].standsIn(line, end-l.window) {
			return true
		}
	}
	return false
}

// All calls found with the place that each literal in line has in the list given to [NewLiterals],
// each time that it stands there.
func (l *Literals) All(line []byte, found func(id int)) {
	for i := range l.short {
		for range bytes.Count(line, l.short[i].text) {
			found(l.short[i].id)
		}
	}
	for i := range l.starts {
		if bytes.HasPrefix(line, l.starts[i].text) {
			found(l.starts[i].id)
		}
	}
	if l.window == 0 {
		return
	}
	for end := l.window; end <= len(line); {
		h := blockHash(line, end)
		if j := l.jump[h]; j != 0 {
			end += int(j)
			continue
		}
		head := headOf(line, end-l.window)
		for w := l.first[h]; w != 0; w = l.next[w] {
			if l.heads[w] == head && l.words[w].standsIn(line, end-l.window) {
				found(l.words[w].id)
			}
		}
		end++
	}
}

// standsIn says whether the word stands in line with its part beginning at at.
func (w *literal) standsIn(line []byte, at int) bool {
	at -= w.part
	return at >= 0 && bytes.HasPrefix(line[at:], w.text)
}

package redact

import (
	"encoding/binary"
)

// hint is a part of a word near which a secret can stand.
type hint struct {
	text string // in lower case
	at   int    // the three bytes of it that are rarest in logs
	// find adds the secrets near the hint, which stands at from.
	find func(l *search, from int)
}

// search is one search of a line.
type search struct {
	line    []byte
	found   []span
	done    int // up to where names were looked at
	block   *block
	cookies span // the last list of cookies that was read
	end     int  // of the values that were found: what is inside of them goes with them
	spent   int  // bytes that were read beyond hints, again and again where a line is hostile
}

func (l *search) add(rule Rule, from, to int) {
	if from < to {
		l.found = append(l.found, span{from: from, to: to, rule: rule})
		l.end = max(l.end, to)
	}
}

// addQuoted adds a value that needs quotes when a token takes its place.
func (l *search) addQuoted(rule Rule, from, to int, quote string) {
	if from < to {
		l.found = append(l.found, span{from: from, to: to, rule: rule, quote: quote})
	}
}

// isTired says that so much was read beyond hints that no honest line is like this. Only what is
// near a hint is still looked at.
func (l *search) isTired() bool {
	const often = 64
	return l.spent > often*len(l.line)+(64<<10)
}

// valueAt reads the value at p.
func (l *search) valueAt(p int) value {
	v := valueAt(l.line, p)
	l.spent += v.next - p
	return v
}

const (
	indexBits = 13
	lowerCase = 0x00202020 // makes letters lower; digits and most marks stay
)

// index finds all hints in one pass: three bytes of each of them, hashed, name the hints that can
// stand there.
type index struct {
	chainAt [1 << indexBits]uint16 // 1 + place in chains; 0 for none
	chains  [][]*hint
}

var allHints = newIndex(keyHints, otherHints, providerHints(), programHints())

func newIndex(tables ...[]hint) *index {
	x := &index{}
	for _, hints := range tables {
		for i := range hints {
			h := &hints[i]
			at := windowHash(windowOf(h.text[h.at:]))
			if x.chainAt[at] == 0 {
				x.chains = append(x.chains, nil)
				x.chainAt[at] = uint16(len(x.chains))
			}
			x.chains[x.chainAt[at]-1] = append(x.chains[x.chainAt[at]-1], h)
		}
	}
	return x
}

func windowHash(v uint32) uint32 { return (v * 0x9e3779b1) >> (32 - indexBits) }

// windowOf is the first three bytes of a text as findHints reads them.
func windowOf[T string | []byte](text T) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | lowerCase
}

// findHints appends the secrets of a line to found. A PEM block without an end is noted in k.
func findHints(line []byte, found []span, k *block) []span {
	l := search{line: line, found: found, block: k}
	x, last := allHints, len(line)-3
	for i := range last {
		v := (binary.LittleEndian.Uint32(line[i:]) | lowerCase) & 0xffffff
		if chain := x.chainAt[windowHash(v)]; chain != 0 {
			l.tryHints(x.chains[chain-1], i)
		}
	}
	if last >= 0 {
		if chain := x.chainAt[windowHash(windowOf(line[last:]))]; chain != 0 {
			l.tryHints(x.chains[chain-1], last)
		}
	}
	return l.found
}

// tryHints looks for the secrets near hints that can have their rarest bytes at at.
func (l *search) tryHints(chain []*hint, at int) {
	for _, h := range chain {
		if from := at - h.at; from >= l.end && hasFold(l.line[from:], h.text) {
			h.find(l, from)
		}
	}
}

// hasFold says whether b begins with a text, which is in lower case.
func hasFold(b []byte, text string) bool {
	if len(b) < len(text) {
		return false
	}
	for i := range len(text) {
		if lower(b[i]) != text[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// Package logic turns "(a or b) and c" into an expression that is asked of sets of ids. It does not
// know what the ids stand for.
package logic

import (
	"errors"
	"fmt"
	"strings"
)

// Expression is a condition over ids: a leaf, or a conjunction or disjunction of others.
type Expression struct {
	// leaf is the bit of an id; 0 in a node.
	leaf uint64
	any  bool // or; and otherwise
	of   []*Expression
}

// Holds evaluates over the bits that are true. It can only become truer as
// bits are added: there is no negation.
func (e *Expression) Holds(bits uint64) bool {
	if e.leaf != 0 {
		return bits&e.leaf != 0
	}
	for _, part := range e.of {
		if part.Holds(bits) == e.any {
			return e.any
		}
	}
	return !e.any
}

// CollectLeaves is every bit that the expression looks at.
func (e *Expression) CollectLeaves() uint64 {
	bits := e.leaf
	for _, part := range e.of {
		bits |= part.CollectLeaves()
	}
	return bits
}

// Implies says that the other holds wherever this one does. Of an expression
// with too many choices it says no.
func (e *Expression) Implies(other *Expression) bool {
	choices := e.ListChoices()
	for _, bits := range choices {
		if !other.Holds(bits) {
			return false
		}
	}
	return len(choices) > 0
}

// maxChoices bounds the sets of ids that are looked at one by one.
const maxChoices = 1 << 10

// ListChoices are sets of bits of which each makes the expression true, and one of
// which is in every set that does; nil when there are too many.
func (e *Expression) ListChoices() []uint64 {
	if e.leaf != 0 {
		return []uint64{e.leaf}
	}
	var all []uint64
	for i, part := range e.of {
		choices := part.ListChoices()
		switch {
		case choices == nil || len(all)+len(choices) > maxChoices || len(all)*len(choices) > maxChoices:
			return nil
		case i == 0 || e.any:
			all = append(all, choices...)
		default:
			var both []uint64
			for _, a := range all {
				for _, b := range choices {
					both = append(both, a|b)
				}
			}
			all = both
		}
	}
	return all
}

// maxNesting bounds the parentheses of an expression.
const maxNesting = 32

var spaceParentheses = strings.NewReplacer("(", " ( ", ")", " ) ")

// Parse reads "(a or b) and c"; and binds tighter than or. Bit gives
// the bit of an id; it never gives 0.
func Parse(s string, bit func(id string) uint64) (*Expression, error) {
	p := expressionParser{words: strings.Fields(spaceParentheses.Replace(s)), bit: bit}
	e, err := p.parseOr(0)
	if err == nil && len(p.words) > 0 {
		err = fmt.Errorf("expected and, or or the end, not %q", p.words[0])
	}
	return e, err
}

type expressionParser struct {
	words []string
	bit   func(id string) uint64
}

func (p *expressionParser) parseOr(depth int) (*Expression, error) {
	return p.parseChain("or", func() (*Expression, error) {
		return p.parseChain("and", func() (*Expression, error) { return p.parseOperand(depth) })
	})
}

// parseChain reads operands with one operator between them.
func (p *expressionParser) parseChain(operator string, operand func() (*Expression, error)) (*Expression, error) {
	e := &Expression{any: operator == "or"}
	for {
		part, err := operand()
		if err != nil {
			return nil, err
		}
		e.of = append(e.of, part)
		if len(p.words) == 0 || p.words[0] != operator {
			break
		}
		p.words = p.words[1:]
	}
	if len(e.of) == 1 {
		return e.of[0], nil
	}
	return e, nil
}

func (p *expressionParser) parseOperand(depth int) (*Expression, error) {
	if len(p.words) == 0 {
		return nil, errors.New("ends where an id is expected")
	}
	word := p.words[0]
	p.words = p.words[1:]
	switch word {
	case "and", "or", ")":
		return nil, fmt.Errorf("expected an id, not %q", word)
	case "(":
		if depth == maxNesting {
			return nil, errors.New("too many parentheses")
		}
		e, err := p.parseOr(depth + 1)
		if err != nil {
			return nil, err
		}
		if len(p.words) == 0 || p.words[0] != ")" {
			return nil, errors.New("missing )")
		}
		p.words = p.words[1:]
		return e, nil
	}
	return &Expression{leaf: p.bit(word)}, nil
}

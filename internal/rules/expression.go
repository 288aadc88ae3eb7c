package rules

import (
	"errors"
	"fmt"
	"strings"
)

// expression is a condition over ids: a leaf, or a conjunction or disjunction of others.
type expression struct {
	// leaf is the bit of a step or an absence; 0 in a node.
	leaf uint64
	any  bool // or; and otherwise
	of   []*expression
}

// holds evaluates over the bits that are true. It can only become truer as
// bits are added: there is no negation.
func (e *expression) holds(bits uint64) bool {
	if e.leaf != 0 {
		return bits&e.leaf != 0
	}
	for _, part := range e.of {
		if part.holds(bits) == e.any {
			return e.any
		}
	}
	return !e.any
}

// collectLeaves is every bit that the expression looks at.
func (e *expression) collectLeaves() uint64 {
	bits := e.leaf
	for _, part := range e.of {
		bits |= part.collectLeaves()
	}
	return bits
}

// implies says that the other holds wherever this one does. Of an expression
// with too many choices it says no.
func (e *expression) implies(other *expression) bool {
	choices := e.listChoices()
	for _, bits := range choices {
		if !other.holds(bits) {
			return false
		}
	}
	return len(choices) > 0
}

// maxChoices bounds the sets of ids that are looked at one by one.
const maxChoices = 1 << 10

// listChoices are sets of bits of which each makes the expression true, and one of
// which is in every set that does; nil when there are too many.
func (e *expression) listChoices() []uint64 {
	if e.leaf != 0 {
		return []uint64{e.leaf}
	}
	var all []uint64
	for i, part := range e.of {
		choices := part.listChoices()
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

// parseExpression reads "(a or b) and c"; and binds tighter than or. Bit gives
// the bit of an id; it never gives 0.
func parseExpression(s string, bit func(id string) uint64) (*expression, error) {
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

func (p *expressionParser) parseOr(depth int) (*expression, error) {
	return p.parseChain("or", func() (*expression, error) {
		return p.parseChain("and", func() (*expression, error) { return p.parseOperand(depth) })
	})
}

// parseChain reads operands with one operator between them.
func (p *expressionParser) parseChain(operator string, operand func() (*expression, error)) (*expression, error) {
	e := &expression{any: operator == "or"}
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

func (p *expressionParser) parseOperand(depth int) (*expression, error) {
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
	return &expression{leaf: p.bit(word)}, nil
}

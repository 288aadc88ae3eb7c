package condition

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// pattern is a regular expression that is not run over a text in which its words do not stand. A
// node in trouble has tens of thousands of errors, and the long alternations that some rules look
// for take a tenth of a millisecond for each.
type pattern struct {
	*regexp.Regexp
	// words is found when the first text is matched: most patterns meet none.
	words func() *words
}

// words are what stands in every match of an expression: a text, all of some words, or one of some.
type words struct {
	text  string
	all   []*words
	oneOf []*words
}

func parsePattern(s string) (*pattern, error) {
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	return &pattern{re, sync.OnceValue(func() *words {
		tree, err := syntax.Parse(s, syntax.Perl)
		if err != nil {
			return nil
		}
		return wordsOf(tree)
	})}, nil
}

// matchString says whether a text has a match.
func (p *pattern) matchString(text string) bool {
	return p.words().standIn(text) && p.MatchString(text)
}

// standIn says whether the words stand in a text; nil, of which nothing is known, says yes.
func (w *words) standIn(text string) bool {
	stands := func(w *words) bool { return w.standIn(text) }
	switch {
	case w == nil:
		return true
	case w.oneOf != nil:
		return slices.ContainsFunc(w.oneOf, stands)
	case w.all != nil:
		return !slices.ContainsFunc(w.all, func(w *words) bool { return !stands(w) })
	}
	return strings.Contains(text, w.text)
}

// shortestWord is what is worth to be looked for: shorter ones stand in every text.
const shortestWord = 3 // bytes

// wordsOf are the words of an expression; nil when none are known.
func wordsOf(re *syntax.Regexp) *words {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		// an invalid byte of a text matches U+FFFD, too
		if re.Flags&syntax.FoldCase == 0 && len(text) >= shortestWord && !slices.Contains(re.Rune, utf8.RuneError) {
			return &words{text: text}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return wordsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return wordsOf(re.Sub[0])
		}
	case syntax.OpConcat:
		var all []*words
		for _, part := range re.Sub {
			if w := wordsOf(part); w != nil {
				all = append(all, w)
			}
		}
		if all != nil {
			return &words{all: all}
		}
	case syntax.OpAlternate:
		var oneOf []*words
		for _, branch := range re.Sub {
			w := wordsOf(branch)
			if w == nil {
				return nil
			}
			oneOf = append(oneOf, w)
		}
		return &words{oneOf: oneOf}
	}
	return nil
}

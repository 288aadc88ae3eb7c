// Package redact replaces secrets in lines of text, and in whole bundles, by tokens such as
// <redacted:3f9c0a1b2d>. One value has one token wherever it stands in a bundle, so that what
// belongs together can still be seen. Lines stay lines, and what was replaced stays replaced:
// redacting twice is redacting once.
//
// It knows how programs write secrets, and nothing of what is wrong with a node. It cannot know
// every secret.
package redact

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Rule is one way in which secrets are written.
type Rule uint8

// The rules.
const (
	PEM         Rule = iota // a block of a key or a certificate
	Provider                // a value that its provider made to be recognised, as ghp_…
	URL                     // user:password@ of a URL, a signature in its query
	Header                  // Authorization of HTTP
	Cookie                  // Cookie and Set-Cookie of HTTP
	Registry                // auth of a registry
	Key                     // what follows a key such as password
	Environment             // the environment of a container
	Argument                // what a program takes as a password, as mysql -pSECRET
	Sentence                // "password is X"
	numRules
)

var ruleNames = [numRules]string{
	"pem", "provider token", "url", "authorization", "cookie", "registry", "key", "environment", "argument", "sentence",
}

// String is the name of the rule, as accounts and manifests have it.
func (r Rule) String() string { return ruleNames[r] }

// Counts says how many values each rule replaced.
type Counts [numRules]int

// Total is the sum.
func (c *Counts) Total() (n int) {
	for _, of := range c {
		n += of
	}
	return n
}

// Add adds other counts.
func (c *Counts) Add(other *Counts) {
	for r := range c {
		c[r] += other[r]
	}
}

// ByName has every rule, also those that replaced nothing: all of them ran.
func (c *Counts) ByName() map[string]int {
	named := make(map[string]int, numRules)
	for r := range numRules {
		named[r.String()] = c[r]
	}
	return named
}

// span is a part of a line that is a secret.
type span struct {
	from, to int
	rule     Rule
	quote    string // what the token needs around it, where the value had none; mostly empty
}

// mark begins every token, and shows that a value was replaced before.
const mark = "<redacted:"

// Redactor replaces secrets in the lines of one file, in their order. The zero Redactor has an
// empty key.
type Redactor struct {
	key    []byte
	counts Counts
	pem    block
	state  above

	found []span
	held  []byte // a line that is not complete yet
}

// New returns a Redactor. The same key gives the same value the same token.
func New(key []byte) *Redactor { return &Redactor{key: key} }

// Counts is what was replaced so far.
func (r *Redactor) Counts() *Counts { return &r.counts }

// Replaced is how many values were replaced so far.
func (r *Redactor) Replaced() int { return r.counts.Total() }

// tokenFor returns the token that replaces a value.
func (r *Redactor) tokenFor(value []byte) string {
	mac := hmac.New(sha256.New, r.key)
	mac.Write(value)
	return mark + hex.EncodeToString(mac.Sum(nil))[:10] + ">"
}

// maxRounds bounds how often a line is searched. A replaced value can show another one behind it.
const maxRounds = 8

// Line returns a line without its secrets. It is valid until line changes.
func (r *Redactor) Line(line []byte) []byte {
	for round := range maxRounds {
		r.found = r.found[:0]
		if round == 0 && r.pem.open {
			r.found = r.pem.findBody(line, r.found)
		}
		r.found = r.state.findLines(line, r.found)
		r.found = findHints(line, r.found, &r.pem)
		next := r.replaceSpans(line)
		if next == nil {
			break
		}
		line = next
	}
	r.state.noteLine(line)
	return line
}

// replaceSpans replaces what was found; nil when nothing was.
func (r *Redactor) replaceSpans(line []byte) []byte {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortStableFunc(r.found, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var out []byte
	done := 0
	for i := 0; i < len(r.found); i++ {
		s := r.found[i]
		for i+1 < len(r.found) && r.found[i+1].from < s.to { // two rules found parts of one value
			i++
			s.to = max(s.to, r.found[i].to)
		}
		value := line[s.from:s.to]
		if len(value) == 0 || bytes.HasPrefix(value, []byte(mark)) {
			continue
		}
		r.counts[s.rule]++
		out = append(out, line[done:s.from]...)
		out = append(out, s.quote...)
		out = append(out, r.tokenFor(value)...)
		out = append(out, s.quote...)
		done = s.to
	}
	if out == nil {
		return nil
	}
	return append(out, line[done:]...)
}

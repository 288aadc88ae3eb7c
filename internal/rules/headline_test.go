package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeadlinesOfAnySteps: whatever steps a cause is named by, what is left of its headline begins with
// what it is about, and holds no clause that hangs on one that was left out.
func TestHeadlinesOfAnySteps(t *testing.T) {
	catalog, err := Builtin()
	require.NoError(t, err)
	headlines := 0
	for i := range catalog.Rules {
		r := &catalog.Rules[i]
		for _, e := range r.Verdict.levels {
			if e == nil {
				continue
			}
			for _, steps := range e.ListChoices() {
				text := r.sketchHeadline(steps)
				if text == "" { // the title stands there then
					continue
				}
				headlines++
				for _, word := range []string{"it ", "its ", "which ", "by ", "of ", "in ", "and ", "they ", "their "} {
					require.False(t, strings.HasPrefix(text, word), "%s: %s", r.ID, text)
				}
				require.NotContains(t, text, "; which ", r.ID)
				first, _, _ := strings.Cut(text, ";")
				require.False(t, strings.HasSuffix(first, " for it"), "%s: %s", r.ID, text)
			}
		}
	}
	require.Greater(t, headlines, 300)
}

// sketchHeadline is the headline where exactly these steps were seen, with the names of placeholders
// for what they stand for.
func (r *Rule) sketchHeadline(steps uint64) string {
	return r.headline.joinClauses(func(c clause) (text string, complete bool) {
		for _, p := range c.parts {
			known := func(p part) bool { return r.isKnownFrom(p, steps) }
			if p.isPlaceholder() && !known(p) && !slices.ContainsFunc(p.others, known) {
				return "", false
			}
			text += p.literal + p.name
		}
		return text, true
	})
}

// isKnownFrom says whether one of the steps can fill a placeholder.
func (r *Rule) isKnownFrom(p part, steps uint64) bool {
	if p.step >= 0 {
		return steps>>p.step&1 != 0
	}
	for i := range r.Steps {
		for j := range r.Steps[i].patterns {
			for _, b := range r.Steps[i].patterns[j].bindings {
				if steps>>i&1 != 0 && b.variable == p.variable {
					return true
				}
			}
		}
	}
	return false
}

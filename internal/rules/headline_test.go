package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/rules/template"
)

// TestHeadlinesOfAnySteps: whatever steps a cause is named by, what is left of its headline begins
// with what it is about, and holds no clause that hangs on one that was left out.
func TestHeadlinesOfAnySteps(t *testing.T) {
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	headlines := 0
	for i := range catalog.Rules {
		r := &catalog.Rules[i]
		for _, e := range r.Verdict.Compiled {
			if e == nil {
				continue
			}
			for _, steps := range e.ListChoices() {
				text := sketchHeadline(r, steps)
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

// sketchHeadline is the headline where exactly these steps were seen, and all that it may say of
// them is known.
func sketchHeadline(r *language.Rule, steps uint64) string {
	e := &event.Event{Start: at(1), End: at(2), Text: "text"}
	for _, p := range r.Compiled.Headline.ListPlaceholders() {
		for _, name := range p.Names {
			e.Fields = append(e.Fields, event.Field{Key: event.Key(name.Field), Value: event.String(strings.ToUpper(name.Field))}) // no word of the headline is
		}
	}
	said := template.Seen{Steps: make([][]*event.Event, len(r.Steps)), Bound: make([]string, len(r.Compiled.Variables)), Own: template.OwnStep}
	for i := range r.Steps {
		if steps>>i&1 == 0 {
			continue
		}
		said.Steps[i] = []*event.Event{e, e}
		for j := range r.Steps[i].Compiled.Patterns {
			for _, b := range r.Steps[i].Compiled.Patterns[j].Compiled.Bindings {
				said.Bound[b.Variable] = r.Compiled.Variables[b.Variable].Name
			}
		}
	}
	return r.Compiled.Headline.Expand(said)
}

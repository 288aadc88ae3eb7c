package condition

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          []string // nil where the text does not fit
	}{
		{"backend of {volume} is lost", "the backend of vol-17 is lost, again", []string{"vol-17"}},
		{"backend of {volume} is lost", "backend of vol 17 is lost", nil},
		{"backend of {volume} is lost", "backend of  is lost", nil},
		{"volume {volume}, host {host}", "volume v1,2, host a.b:", []string{"v1,2", "a.b:"}},
		{`volume "{volume}"`, `volume "v1"x"`, []string{"v1"}},
		{"{volume} lost", "lost, v1 lost", []string{"v1"}},
		{"lost {volume}", "lost v1 of a", []string{"v1"}},
		{"after {} s: {why}", "after 3.5 s: timeout", []string{"timeout"}},
		{"Status{Id:{container},", "&ContainerStatus{Id:40585f,Name:x}", []string{"40585f"}},
		{"lost (.*) {volume}", "lost (.*) v1", []string{"v1"}},
		{" lost {volume} ", "it is lost v1", []string{"v1"}},
		{"lost {volume}", "lost größe", []string{"größe"}},
	} {
		text, err := parseCaptures(c.pattern)
		require.NoError(t, err, c.pattern)
		fits, err := operators[capturesOperator](c.pattern)
		require.NoError(t, err)
		require.Equal(t, c.want != nil, fits(event.String(c.text)), c.pattern)
		for i, name := range text.names {
			e := event.Event{Fields: []event.Field{{Key: "text", Value: event.String(c.text)}}}
			v, ok := Reading{Field: "text", text: c.pattern, Placeholder: name}.Reader()(&e)
			require.Equal(t, c.want != nil, ok)
			if ok {
				require.Equal(t, c.want[i], v.Text(), c.pattern)
			}
		}
	}
	for pattern, want := range map[string]string{
		"backend lost":                       "takes a text with a placeholder such as {volume}",
		"{a}{b}":                             "takes a text between two placeholders",
		"{a} and {a}":                        "names {a} twice",
		strings.Repeat("{} ", 17):            "takes at most 16 placeholders",
		"lost {Volume} of {volume-id} {1} {": "takes a text with a placeholder",
	} {
		_, err := parseCaptures(pattern)
		require.ErrorContains(t, err, want, pattern)
	}
}

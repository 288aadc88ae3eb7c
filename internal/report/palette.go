package report

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/plegdiag/plegdiag/internal/rules"
)

// styles are named by the part they play, never by how they look. Each one only
// repeats what the words already say.
type styles struct {
	critical lipgloss.Style // a proven cause
	warning  lipgloss.Style // a cause that is not proven, what speaks against it, what is lost
	heading  lipgloss.Style
	label    lipgloss.Style // the left column: roles, "do now"
	position lipgloss.Style // path:line
	quote    lipgloss.Style // the line as written
	command  lipgloss.Style // to be pasted into a shell
	plain    lipgloss.Style
	lanes    []lipgloss.Style // components of a timeline
}

// newStyles is the palette. It uses the 16 colours that the user's terminal
// theme defines, so that it fits dark and light ones without asking which it is.
func newStyles(r *lipgloss.Renderer) styles {
	if r == nil {
		r = lipgloss.NewRenderer(io.Discard)
		r.SetColorProfile(termenv.Ascii)
	}
	style := func(color string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(color)) }
	return styles{
		critical: style("1").Bold(true),
		warning:  style("3").Bold(true),
		heading:  r.NewStyle().Bold(true),
		label:    style("6"),
		position: style("4"),
		quote:    r.NewStyle().Faint(true),
		command:  style("2"),
		plain:    r.NewStyle(),
		lanes:    []lipgloss.Style{style("6"), style("2"), style("5"), style("3"), style("4")},
	}
}

func (s *styles) verdict(v rules.Verdict) lipgloss.Style {
	if v == rules.Confirmed {
		return s.critical
	}
	return s.warning
}

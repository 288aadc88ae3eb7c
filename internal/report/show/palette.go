package show

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Styles are named by the part they play, never by how they look. Each one only
// repeats what the words already say.
type Styles struct {
	Critical lipgloss.Style // a proven cause
	Warning  lipgloss.Style // a cause that is not proven, what speaks against it, what is lost
	Heading  lipgloss.Style
	Label    lipgloss.Style // the left column: roles, "do now"
	Position lipgloss.Style // path:line
	Quote    lipgloss.Style // the line as written
	Command  lipgloss.Style // to be pasted into a shell
	Plain    lipgloss.Style
	Lanes    []lipgloss.Style // components of a timeline
}

// NewStyles is the palette. It uses the 16 colours that the user's terminal
// theme defines, so that it fits dark and light ones without asking which it is.
func NewStyles(r *lipgloss.Renderer) Styles {
	if r == nil {
		r = lipgloss.NewRenderer(io.Discard)
		r.SetColorProfile(termenv.Ascii)
	}
	style := func(color string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(color)) }
	return Styles{
		Critical: style("1").Bold(true),
		Warning:  style("3").Bold(true),
		Heading:  r.NewStyle().Bold(true),
		Label:    style("6"),
		Position: style("4"),
		Quote:    r.NewStyle().Faint(true),
		Command:  style("2"),
		Plain:    r.NewStyle(),
		Lanes:    []lipgloss.Style{style("6"), style("2"), style("5"), style("3"), style("4")},
	}
}

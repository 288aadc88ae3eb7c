package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/term"
	"github.com/muesli/termenv"
	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/report/show"
)

// choice is a flag that takes one of a few words. An empty text means that it was not given.
type choice struct {
	text string
	of   []string
}

// newChoice is a choice of words; the first one is the default.
func newChoice(of ...string) choice { return choice{text: of[0], of: of} }

// newColorChoice is the flag that says when text is coloured.
func newColorChoice() choice { return newChoice("auto", "always", "never") }

// String implements pflag.Value.
func (c *choice) String() string { return c.text }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("want %s", strings.Join(c.of, ", "))
	}
	c.text = s
	return nil
}

// Type implements pflag.Value.
func (c *choice) Type() string { return "string" }

// bindChoice makes c a flag of cmd, with completion.
func bindChoice(cmd *cobra.Command, c *choice, name, short, about string) {
	cmd.Flags().VarP(c, name, short, about+": "+strings.Join(c.of, ", "))
	err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) //nolint:forbidigo // a broken table of flags, not an input: the flag was bound above
	}
}

func bindColor(cmd *cobra.Command, c *choice) {
	bindChoice(cmd, c, "color", "", "colour the text; auto also obeys NO_COLOR")
}

// showOptions says how stdout shows a report.
func (s streams) showOptions(color choice, verbose bool) show.Options {
	return show.Options{Version: version(), Verbose: verbose, Width: terminalWidth(s.out), Renderer: newRenderer(s.out, color.text)}
}

// newRenderer makes a renderer with the colours of a stream; nil means none. In auto the stream and
// the environment (NO_COLOR, TERM) decide.
func newRenderer(out io.Writer, color string) *lipgloss.Renderer {
	if color == "never" {
		return nil
	}
	r := lipgloss.NewRenderer(out)
	if color == "always" {
		r.SetColorProfile(termenv.ANSI)
	}
	return r
}

// terminalWidth is in columns; 0 when the stream is no terminal.
func terminalWidth(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return columns
}

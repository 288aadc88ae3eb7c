package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/term"
	"github.com/muesli/termenv"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/spelling"
)

// choice is a flag that takes one of a few words. An empty text means that it was not given.
type choice struct {
	text string
	of   []string
}

// newChoice is a choice of words; the first one is the default.
func newChoice(of ...string) choice { return choice{text: of[0], of: of} }

// newFormatChoice is a choice of the formats of a table.
func newFormatChoice[F any](formats []F, name func(F) string) choice {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = name(f)
	}
	return newChoice(names...)
}

// index is where the chosen word stands among the words; -1 when none was given.
func (c *choice) index() int { return slices.Index(c.of, c.text) }

// newColorChoice is the flag that says when text is coloured.
func newColorChoice() choice { return newChoice("auto", "always", "never") }

// String implements pflag.Value.
func (c *choice) String() string { return c.text }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		wrong := fmt.Errorf("%q is none of %s", s, strings.Join(c.of, ", "))
		if near := spelling.NearestNames(s, c.of); len(near) > 0 {
			wrong = fmt.Errorf("%w; did you mean %s?", wrong, strings.Join(near, " or "))
		}
		return wrong
	}
	c.text = s
	return nil
}

// Type implements pflag.Value.
func (c *choice) Type() string { return "string" }

// suggestNames is a hint for a name that does not exist: the nearest that do. The command list shows
// all of them.
func suggestNames(names []string, wrong, list string) string {
	if near := spelling.NearestNames(wrong, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return list + " shows all of them"
}

// explainFlags is the failure of flags that were not understood.
func explainFlags(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help lists the flags"
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := wrong.GetFlag()
		if number := explainNumber(flag.Value.Type(), wrong.GetValue()); number != "" {
			return usageError(hint, "--%s: %s", flag.Name, number)
		}
		return usageError(hint, "--%s: %w", flag.Name, errors.Unwrap(wrong))
	}
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok && missing.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := spelling.NearestNames(missing.GetSpecifiedName(), names); len(near) > 0 {
			hint = "did you mean --" + strings.Join(near, " or --") + "?"
		}
	}
	return usageError(hint, "%w", err)
}

// explainNumber says in plain words that a text is not what a flag of that type takes; empty for
// types that are no numbers.
func explainNumber(typ, text string) string {
	want := ""
	switch strings.TrimSuffix(typ, "Slice") {
	case "int", "int64":
		want = "a whole number"
	case "uint", "uint64":
		want = "a whole number of at least 0"
	case "float64":
		want = "a number"
	case "duration":
		want = "a length of time, as 90s, 2m or 1h30m"
	case "bool":
		want = "true or false"
	default:
		return ""
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil && want == "a whole number" && !strings.ContainsAny(text, ".eEpPxXnN") {
		return fmt.Sprintf("%q is too large", text)
	}
	return fmt.Sprintf("%q is not %s", text, want)
}

// bindChoice makes c a flag of cmd, with completion.
func bindChoice(cmd *cobra.Command, c *choice, name, short, about string) {
	cmd.Flags().VarP(c, name, short, about+": "+strings.Join(c.of, ", "))
	err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) //nolint:forbidigo // a broken table of flags, not an input: the flag was bound above
	}
}

// bindOutput makes c the flag --output.
func bindOutput(cmd *cobra.Command, c *choice) {
	bindChoice(cmd, c, "output", "o", "what goes to stdout")
}

func bindColor(cmd *cobra.Command, c *choice) {
	bindChoice(cmd, c, "color", "", "colour the text; auto also obeys NO_COLOR")
}

// showOptions says how stdout shows a report.
func (s streams) showOptions(color choice, verbose bool) show.Options {
	return show.Options{
		Version: version(), Verbose: verbose, Width: terminalWidth(s.out), Renderer: newRenderer(s.out, color.text),
	}
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

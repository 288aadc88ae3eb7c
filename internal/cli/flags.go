package cli

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

// Choice is a flag that takes one of a few words. An empty text means that it was not given.
type Choice struct {
	Text string
	Of   []string
}

// NewChoice is a choice of words; the first one is the default.
func NewChoice(of ...string) Choice { return Choice{Text: of[0], Of: of} }

// NewFormatChoice is a choice of the formats of a table.
func NewFormatChoice[F any](formats []F, name func(F) string) Choice {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = name(f)
	}
	return NewChoice(names...)
}

// Index is where the chosen word stands among the words; -1 when none was given.
func (c *Choice) Index() int { return slices.Index(c.Of, c.Text) }

// NewColorChoice is the flag that says when text is coloured.
func NewColorChoice() Choice { return NewChoice("auto", "always", "never") }

// String implements pflag.Value.
func (c *Choice) String() string { return c.Text }

// Set implements pflag.Value.
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.Of, s) {
		wrong := fmt.Errorf("%q is none of %s", s, strings.Join(c.Of, ", "))
		if near := spelling.NearestNames(s, c.Of); len(near) > 0 {
			wrong = fmt.Errorf("%w; did you mean %s?", wrong, strings.Join(near, " or "))
		}
		return wrong
	}
	c.Text = s
	return nil
}

// Type implements pflag.Value.
func (c *Choice) Type() string { return "string" }

// SuggestNames is a hint for a name that does not exist: the nearest that do. The command list
// shows all of them.
func SuggestNames(names []string, wrong, list string) string {
	if near := spelling.NearestNames(wrong, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return list + " shows all of them"
}

// ExplainFlags is the failure of flags that were not understood.
func ExplainFlags(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help lists the flags"
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := wrong.GetFlag()
		if number := ExplainNumber(flag.Value.Type(), wrong.GetValue()); number != "" {
			return UsageError(hint, "--%s: %s", flag.Name, number)
		}
		return UsageError(hint, "--%s: %w", flag.Name, errors.Unwrap(wrong))
	}
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok && missing.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := spelling.NearestNames(missing.GetSpecifiedName(), names); len(near) > 0 {
			hint = "did you mean --" + strings.Join(near, " or --") + "?"
		}
	}
	return UsageError(hint, "%w", err)
}

// ExplainNumber says in plain words that a text is not what a flag of that type takes; empty for
// types that are no numbers.
func ExplainNumber(typ, text string) string {
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

// BindChoice makes c a flag of cmd, with completion.
func BindChoice(cmd *cobra.Command, c *Choice, name, short, about string) {
	cmd.Flags().VarP(c, name, short, about+": "+strings.Join(c.Of, ", "))
	err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.Of, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) //nolint:forbidigo // a broken table of flags, not an input: the flag was bound above
	}
}

// BindOutput makes c the flag --output.
func BindOutput(cmd *cobra.Command, c *Choice) {
	BindChoice(cmd, c, "output", "o", "what goes to stdout")
}

// BindColor makes c the flag --color.
func BindColor(cmd *cobra.Command, c *Choice) {
	BindChoice(cmd, c, "color", "", "colour the text; auto also obeys NO_COLOR")
}

// ShowOptions says how stdout shows a report.
func (s Streams) ShowOptions(color Choice, verbose bool) show.Options {
	return show.Options{
		Version: s.Version, Verbose: verbose, Width: TerminalWidth(s.Out), Renderer: NewRenderer(s.Out, color.Text),
	}
}

// NewRenderer makes a renderer with the colours of a stream; nil means none. In auto the stream and
// the environment (NO_COLOR, TERM) decide.
func NewRenderer(out io.Writer, color string) *lipgloss.Renderer {
	if color == "never" {
		return nil
	}
	r := lipgloss.NewRenderer(out)
	if color == "always" {
		r.SetColorProfile(termenv.ANSI)
	}
	return r
}

// TerminalWidth is in columns; 0 when the stream is no terminal.
func TerminalWidth(out io.Writer) int {
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

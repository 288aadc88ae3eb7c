package authoring

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

func newRulesLint(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "lint [DIR...]",
		Short: "Say all that is wrong with rules, as file:line:col: reason",
		Long: `Check rule files: their syntax, that the kinds and fields they ask for exist, and that what they ask for
can be. Every mistake is a line file:line:col: reason. Exit status 1 when there is one. A line
file:line:col: warning: reason does not change the exit status; a later release counts it as a mistake.

A DIR is a directory of rules or one rule file (without DIR: here). They are checked together with the
built-in rules, as analyze --rules would load them.`,
		Example: `  plegdiag rules lint my-rules
  plegdiag rules lint my-rules/acme-backend-lost.yaml`,
		RunE: func(_ *cobra.Command, args []string) error { return rulesLint(s, args) },
	}
}

func rulesLint(s cli.Streams, dirs []string) error {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	checked, err := cli.CheckCatalog(dirs)
	if wrong, ok := errors.AsType[yamlfile.Problems](err); ok {
		return failLint(s, wrong)
	}
	if err != nil {
		return err
	}
	builtin, err := catalog.Builtin()
	if err != nil {
		return err
	}
	found := len(checked.Rules) - len(builtin.Rules)
	if found == 0 {
		err := fmt.Errorf("no rule in %s", strings.Join(dirs, ", "))
		return &cli.Failure{Status: cli.StatusFailed, Err: err, Hint: "a rule is a file that ends in .yaml"}
	}
	if n := len(checked.Warnings); n > 0 {
		if err := printProblems(s, checked.Warnings); err != nil {
			return err
		}
		const text = "%s, %s: a later release counts them as mistakes\n"
		_, err = fmt.Fprintf(s.Out, text, show.Plural(found, "rule"), show.Plural(n, "warning"))
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s, nothing wrong\n", show.Plural(found, "rule"))
	return err
}

func failLint(s cli.Streams, wrong yamlfile.Problems) error {
	if err := printProblems(s, wrong); err != nil {
		return err
	}
	mistakes := wrong.Mistakes()
	counted := show.Plural(mistakes, "mistake")
	if warnings := len(wrong) - mistakes; warnings > 0 {
		counted += " and " + show.Plural(warnings, "warning")
	}
	return &cli.Failure{Status: cli.StatusFailed, Err: fmt.Errorf("%s in the rules", counted)}
}

func printProblems(s cli.Streams, problems yamlfile.Problems) error {
	const enough = 2000 // columns
	out := bufio.NewWriter(s.Out)
	for _, p := range problems {
		fmt.Fprintln(out, show.Escape(p.Error(), enough))
	}
	return out.Flush()
}

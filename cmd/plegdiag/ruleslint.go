package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
)

func newRulesLint(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "lint [DIR...]",
		Short: "Say all that is wrong with rules, as file:line:col: reason",
		Long: `Check rule files: their syntax, that the kinds and fields they ask for exist, and that what they ask for
can be. Every mistake is a line file:line:col: reason. Exit status 1 when there is one. A line
file:line:col: warning: reason does not change the exit status; a later release counts it as a mistake.

A DIR is a directory of rules or one rule file; they are checked together with the built-in rules, as
analyze --rules would load them. Without DIR the built-in rules are checked.`,
		Example: `  plegdiag rules lint my-rules
  plegdiag rules lint`,
		RunE: func(_ *cobra.Command, args []string) error { return rulesLint(s, args) },
	}
}

func rulesLint(s streams, dirs []string) error {
	catalog, err := checkCatalog(dirs)
	if wrong, ok := errors.AsType[rules.Problems](err); ok {
		return failLint(s, wrong)
	}
	if err != nil {
		return err
	}
	found := len(catalog.Rules)
	if len(dirs) > 0 {
		own, err := rules.Builtin()
		if err != nil {
			return err
		}
		found -= len(own.Rules)
	}
	if found == 0 {
		return &failure{status: statusFailed, err: fmt.Errorf("no rule in %s", strings.Join(dirs, ", ")), hint: "a rule is a file that ends in .yaml"}
	}
	if n := len(catalog.Warnings); n > 0 {
		if err := printProblems(s, catalog.Warnings); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s, %s: a later release counts them as mistakes\n", count(found, "rule"), count(n, "warning"))
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s, nothing wrong\n", count(found, "rule"))
	return err
}

func failLint(s streams, wrong rules.Problems) error {
	if err := printProblems(s, wrong); err != nil {
		return err
	}
	mistakes := wrong.Mistakes()
	counted := count(mistakes, "mistake")
	if warnings := len(wrong) - mistakes; warnings > 0 {
		counted += " and " + count(warnings, "warning")
	}
	return &failure{status: statusFailed, err: fmt.Errorf("%s in the rules", counted)}
}

func printProblems(s streams, problems rules.Problems) error {
	const enough = 2000 // columns
	out := bufio.NewWriter(s.out)
	for _, p := range problems {
		fmt.Fprintln(out, show.Escape(p.Error(), enough))
	}
	return out.Flush()
}

// count is a number of things: "1 rule", "2 rules".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

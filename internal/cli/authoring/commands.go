// Package authoring has the commands of those who read, write and test rules: plegdiag rules.
package authoring

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// NewRules makes the command rules with its subcommands.
func NewRules(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Look into the catalogue of known causes, and extend it",
		Example: `  plegdiag rules list
  plegdiag rules explain umount2-overlay-sync
  plegdiag rules events cri.call
  plegdiag rules lint my-rules
  plegdiag rules test my-rules`,
		Args: cobra.ArbitraryArgs,
		RunE: cli.NeedCommand,
	}
	cmd.AddCommand(newRulesList(s), newRulesExplain(s), newRulesEvents(s), newRulesLint(s), newRulesTest(s))
	return cmd
}

func newRulesList(s cli.Streams) *cobra.Command {
	var dirs []string
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rules: id, role, title",
		Example: `  plegdiag rules list
  plegdiag rules list -o json`,
		Args: cli.CheckArguments(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error { return rulesList(s, dirs, output.Text) },
	}
	cli.BindOutput(cmd, &output)
	cli.BindRules(cmd, &dirs)
	return cmd
}

func rulesList(s cli.Streams, dirs []string, format string) error {
	catalog, err := cli.LoadCatalog(dirs)
	if err != nil {
		return err
	}
	if format == "json" {
		return report.RulesJSON(s.Out, catalog, report.Options{Version: s.Version})
	}
	widest := 0
	for _, r := range catalog.Rules {
		widest = max(widest, len(r.ID))
	}
	out := bufio.NewWriter(s.Out)
	for _, r := range catalog.Rules {
		fmt.Fprintf(out, "%-*s  %-12s  %s\n", widest, r.ID, r.Role, show.Escape(r.Title, cli.MaxRuleLine))
	}
	return out.Flush()
}

func newRulesExplain(s cli.Streams) *cobra.Command {
	var dirs []string
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Explain one rule: its mechanism, its steps, what it needs, what to do",
		Example: `  plegdiag rules explain cri-status-lock-exiting-update
  plegdiag rules explain acme-backend-lost --rules my-rules`,
		Args:              cli.CheckArguments(1, 1, "the id of a rule (plegdiag rules list)"),
		ValidArgsFunction: cli.CompleteRules,
		RunE:              func(_ *cobra.Command, args []string) error { return rulesExplain(s, args[0], dirs) },
	}
	cli.BindRules(cmd, &dirs)
	return cmd
}

func rulesExplain(s cli.Streams, id string, dirs []string) error {
	catalog, err := cli.LoadCatalog(dirs)
	if err != nil {
		return err
	}
	rule := catalog.Rule(id)
	if rule == nil {
		return cli.UsageError(cli.SuggestNames(catalog.IDs(), id, "plegdiag rules list"), "unknown rule %q", id)
	}
	var prose strings.Builder
	if err := rule.Explain(&prose); err != nil {
		return err
	}
	out := bufio.NewWriter(s.Out)
	for line := range strings.Lines(prose.String()) { // the file may be somebody else's: a terminal must not obey it
		fmt.Fprintln(out, show.Escape(strings.TrimSuffix(line, "\n"), cli.MaxRuleLine))
	}
	return out.Flush()
}

package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

func newRules(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Look into the catalogue of known causes, and extend it",
		Example: `  plegdiag rules list
  plegdiag rules explain umount2-overlay-sync
  plegdiag rules events cri.call
  plegdiag rules lint my-rules
  plegdiag rules test my-rules`,
		Args: cobra.ArbitraryArgs,
		RunE: needCommand,
	}
	cmd.AddCommand(newRulesList(s), newRulesExplain(s), newRulesEvents(s), newRulesLint(s), newRulesTest(s))
	return cmd
}

func newRulesList(s streams) *cobra.Command {
	var dirs []string
	output := newChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rules: id, role, title",
		Example: `  plegdiag rules list
  plegdiag rules list -o json`,
		Args: checkArguments(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error { return rulesList(s, dirs, output.text) },
	}
	bindOutput(cmd, &output)
	bindRules(cmd, &dirs)
	return cmd
}

func rulesList(s streams, dirs []string, format string) error {
	catalog, err := loadCatalog(dirs)
	if err != nil {
		return err
	}
	if format == "json" {
		return report.RulesJSON(s.out, catalog, report.Options{Version: version()})
	}
	widest := 0
	for _, r := range catalog.Rules {
		widest = max(widest, len(r.ID))
	}
	out := bufio.NewWriter(s.out)
	for _, r := range catalog.Rules {
		fmt.Fprintf(out, "%-*s  %-12s  %s\n", widest, r.ID, r.Role, show.Escape(r.Title, maxRuleLine))
	}
	return out.Flush()
}

func newRulesExplain(s streams) *cobra.Command {
	var dirs []string
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Explain one rule: its mechanism, its steps, what it needs, what to do",
		Example: `  plegdiag rules explain cri-status-lock-exiting-update
  plegdiag rules explain acme-backend-lost --rules my-rules`,
		Args:              checkArguments(1, 1, "the id of a rule (plegdiag rules list)"),
		ValidArgsFunction: completeRules,
		RunE:              func(_ *cobra.Command, args []string) error { return rulesExplain(s, args[0], dirs) },
	}
	bindRules(cmd, &dirs)
	return cmd
}

func rulesExplain(s streams, id string, dirs []string) error {
	catalog, err := loadCatalog(dirs)
	if err != nil {
		return err
	}
	rule := catalog.Rule(id)
	if rule == nil {
		return usageError(suggestNames(catalog.IDs(), id, "plegdiag rules list"), "unknown rule %q", id)
	}
	var prose strings.Builder
	if err := rule.Explain(&prose); err != nil {
		return err
	}
	out := bufio.NewWriter(s.out)
	for line := range strings.Lines(prose.String()) { // the file may be somebody else's: a terminal must not obey it
		fmt.Fprintln(out, show.Escape(strings.TrimSuffix(line, "\n"), maxRuleLine))
	}
	return out.Flush()
}

// maxRuleLine bounds a line of a rule that is shown, in columns; no rule file is that long.
const maxRuleLine = 1 << 20

func completeRules(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	dirs, _ := cmd.Flags().GetStringArray("rules") // nil when there is no such flag
	slices.Sort(dirs)
	catalog, err := loadCatalog(slices.Compact(dirs)) // cobra parses the flags twice while it completes
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []cobra.Completion
	for _, r := range catalog.Rules {
		ids = append(ids, cobra.CompletionWithDesc(r.ID, show.Escape(r.Title, maxRuleLine)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

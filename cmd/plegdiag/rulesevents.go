package main

import (
	"bufio"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report"
)

func newRulesEvents(s streams) *cobra.Command {
	output := newChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "events [KIND]",
		Short: "List the kinds of events, or the fields of one kind",
		Long: `List the kinds of events that rules can match, with what each is. With KIND: its fields and ids, of which type
they are, and which values they may have. A group such as kubelet lists the kinds that begin with it.`,
		Example: `  plegdiag rules events
  plegdiag rules events cri.call
  plegdiag rules events kubelet
  plegdiag rules events lock.held -o json`,
		Args:              checkArguments(0, 1, "at most one kind of event"),
		ValidArgsFunction: completeKinds,
		RunE: func(_ *cobra.Command, args []string) error {
			return rulesEvents(s, strings.Join(args, ""), output.text)
		},
	}
	bindOutput(cmd, &output)
	return cmd
}

// rulesEvents prints the kinds that a name stands for: one, those of a group, or all for an empty
// name.
func rulesEvents(s streams, name, format string) error {
	kinds := kindsNamed(name)
	if len(kinds) == 0 {
		return usageError(suggestNames(kindNames(), name, "plegdiag rules events"), "unknown kind %q", name)
	}
	out := bufio.NewWriter(s.out)
	var err error
	switch {
	case format == "json":
		err = report.EventsJSON(out, kinds, report.Options{Version: version()})
	case string(kinds[0].Kind) == name:
		err = report.EventKind(out, &kinds[0])
	default:
		err = report.EventTable(out, kinds)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

func kindsNamed(name string) []event.KindInfo {
	if kind := event.KindNamed(event.Kind(name)); kind != nil {
		return []event.KindInfo{*kind}
	}
	var kinds []event.KindInfo
	for _, kind := range event.Kinds() {
		if name == "" || strings.HasPrefix(string(kind.Kind), name+".") {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// kindNames are the kinds of events, then their groups.
func kindNames() []string {
	var names, groups []string
	for _, kind := range event.Kinds() {
		names = append(names, string(kind.Kind))
		if group, _, ok := strings.Cut(string(kind.Kind), "."); ok && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return append(names, groups...)
}

func completeKinds(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var kinds []cobra.Completion
	for _, kind := range event.Kinds() {
		kinds = append(kinds, cobra.CompletionWithDesc(string(kind.Kind), kind.About))
	}
	if len(args) > 0 {
		kinds = nil
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}

package authoring

import (
	"bufio"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/listing"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

func newRulesEvents(s cli.Streams) *cobra.Command {
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "events [KIND]",
		Short: "List the kinds of events, or the fields of one kind",
		Long: `List the kinds of events that rules can match, with what each is. With KIND: its fields and ids, of which type
they are, and which values they may have. A group such as kubelet lists the kinds that begin with it.`,
		Example: `  plegdiag rules events
  plegdiag rules events cri.call
  plegdiag rules events kubelet
  plegdiag rules events lock.held -o json`,
		Args:              cli.CheckArguments(0, 1, "at most one kind of event"),
		ValidArgsFunction: completeKinds,
		RunE: func(_ *cobra.Command, args []string) error {
			return rulesEvents(s, strings.Join(args, ""), output.Text)
		},
	}
	cli.BindOutput(cmd, &output)
	return cmd
}

// rulesEvents prints the kinds that a name stands for: one, those of a group, or all for an empty
// name.
func rulesEvents(s cli.Streams, name, format string) error {
	kinds := cli.KindsNamed(name)
	if len(kinds) == 0 {
		return cli.UsageError(cli.SuggestNames(cli.KindNames(), name, "plegdiag rules events"), "unknown kind %q", name)
	}
	out := bufio.NewWriter(s.Out)
	var err error
	switch {
	case format == "json":
		err = listing.EventsJSON(out, kinds, show.Options{Version: s.Version})
	case string(kinds[0].Kind) == name:
		err = listing.EventKind(out, &kinds[0])
	default:
		err = listing.EventTable(out, kinds)
	}
	if err != nil {
		return err
	}
	return out.Flush()
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

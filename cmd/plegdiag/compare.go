package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/comparison"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
)

type compareOptions struct {
	evidence cli.Evidence
	output   cli.Choice
	color    cli.Choice
}

func newCompare(s cli.Streams) *cobra.Command {
	o := compareOptions{
		output: cli.NewFormatChoice(report.CompareFormats, func(f report.CompareFormat) string { return f.Name }),
		color:  cli.NewColorChoice(),
	}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Put two bundles side by side: before and after a fix, canary and control",
		Long: `Analyse two bundles and put them side by side: stalls per day, how long relist stood still, how long each call of the CRI
took and how often it failed, findings gained and lost, facts that differ. Rates are per day of the kubelet's log, or
of all evidence where it is missing.`,
		Example: `  plegdiag compare node-1.tgz later
  plegdiag compare node-1.tgz later -o markdown`,
		Args: cli.CheckArguments(2, 2, "two inputs, each a bundle, a directory or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.Inputs = args
			return compareBundles(cmd.Context(), &o, s)
		},
	}
	cli.BindOutput(cmd, &o.output)
	o.evidence.BindFlags(cmd)
	cli.BindRules(cmd, &o.evidence.Rules)
	cli.BindColor(cmd, &o.color)
	return cmd
}

func compareBundles(ctx context.Context, o *compareOptions, s cli.Streams) error {
	sides := make([]*incident.Incident, len(o.evidence.Inputs))
	for i, input := range o.evidence.Inputs {
		side := o.evidence
		side.Inputs = []string{input}
		options, err := side.IncidentOptions(s)
		if err != nil {
			return err
		}
		sides[i], err = cli.LoadIncident(ctx, options, s)
		if err == nil && sides[i].Unread {
			err = incident.ErrNothing
		}
		if err != nil {
			return fmt.Errorf("%s: %w", input, err)
		}
		cli.WarnOfLoss(s.Err, sides[i])
	}
	format := report.CompareFormats[o.output.Index()]
	return format.Render(s.Out, comparison.Compare(sides[0], sides[1]), s.ShowOptions(o.color, false))
}

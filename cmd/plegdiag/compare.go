package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
)

type compareOptions struct {
	evidence evidence
	output   choice
	color    choice
}

func newCompare(s streams) *cobra.Command {
	o := compareOptions{
		output: newFormatChoice(report.CompareFormats, func(f report.CompareFormat) string { return f.Name }),
		color:  newColorChoice(),
	}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Put two bundles side by side: before and after a fix, canary and control",
		Long: `Analyse two bundles and put them side by side: stalls per day, how long relist stood still, how long each call of the CRI
took and how often it failed, findings gained and lost, facts that differ. Rates are per day of the kubelet's log, or
of all evidence where it is missing.`,
		Example: `  plegdiag compare node-1.tgz later
  plegdiag compare node-1.tgz later -o markdown`,
		Args: checkArguments(2, 2, "two inputs, each a bundle, a directory or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.inputs = args
			return compareBundles(cmd.Context(), &o, s)
		},
	}
	bindOutput(cmd, &o.output)
	o.evidence.bindFlags(cmd)
	bindRules(cmd, &o.evidence.rules)
	bindColor(cmd, &o.color)
	return cmd
}

func compareBundles(ctx context.Context, o *compareOptions, s streams) error {
	sides := make([]*incident.Incident, len(o.evidence.inputs))
	for i, input := range o.evidence.inputs {
		side := o.evidence
		side.inputs = []string{input}
		options, err := side.incidentOptions(s)
		if err != nil {
			return err
		}
		sides[i], err = loadIncident(ctx, options, s)
		if err == nil && sides[i].Unread {
			err = incident.ErrNothing
		}
		if err != nil {
			return fmt.Errorf("%s: %w", input, err)
		}
		warnOfLoss(s.err, sides[i])
	}
	format := report.CompareFormats[o.output.index()]
	return format.Render(s.out, incident.Compare(sides[0], sides[1]), s.showOptions(o.color, false))
}

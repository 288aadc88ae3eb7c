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
	o := compareOptions{color: newColorChoice()}
	for _, f := range report.CompareFormats {
		o.output.of = append(o.output.of, f.Name)
	}
	o.output.text = o.output.of[0]
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
	bindChoice(cmd, &o.output, "output", "o", "what goes to stdout")
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
		if sides[i], err = loadIncident(ctx, options, s); err != nil {
			return fmt.Errorf("%s: %w", input, err)
		}
		warnOfLoss(s.err, sides[i])
	}
	look := s.showOptions(o.color, false)
	for _, f := range report.CompareFormats {
		if f.Name == o.output.text {
			return f.Render(s.out, incident.Compare(sides[0], sides[1]), look)
		}
	}
	return nil
}

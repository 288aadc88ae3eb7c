package main

import (
	"context"
	"errors"
	"math"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
)

type lsOptions struct {
	evidence evidence
	output   choice
	verbose  bool
	color    choice
}

func newLs(s streams) *cobra.Command {
	o := lsOptions{
		output: newChoice("text", "json"),
		color:  newColorChoice(),
	}
	cmd := &cobra.Command{
		Use:   "ls INPUT...",
		Short: "List what a bundle holds and how each file is read",
		Long: `Read a bundle, a directory or loose files and list every file: its format, the component that wrote it, how many
lines were used, blank or skipped, which time it covers, and why anything was not read. Nothing is concluded.`,
		Example: `  plegdiag ls node-1.tgz
  plegdiag ls node-1.tgz -o json`,
		Args: checkArguments(1, math.MaxInt, "an input: a bundle, a directory, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.inputs = args
			return ls(cmd.Context(), &o, s)
		},
	}
	bindChoice(cmd, &o.output, "output", "o", "what goes to stdout")
	o.evidence.bindFlags(cmd)
	bindColor(cmd, &o.color)
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show every reason for skipped lines")
	return cmd
}

func ls(ctx context.Context, o *lsOptions, s streams) error {
	options, err := o.evidence.incidentOptions(s)
	if err != nil {
		return err
	}
	options.AllNodes = true
	inc, err := loadIncident(ctx, options, s)
	if err != nil && !errors.Is(err, incident.ErrNothing) {
		return err
	}
	nothing := err
	look := s.showOptions(o.color, o.verbose)
	render := report.FilesText
	if o.output.text == "json" {
		render = report.FilesJSON
	}
	if err := render(s.out, inc, look); err != nil {
		return err
	}
	if nothing != nil {
		return nothingToReadError(nothing)
	}
	return nil
}

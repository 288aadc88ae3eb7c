package main

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/report"
)

type lsOptions struct {
	evidence cli.Evidence
	output   cli.Choice
	verbose  bool
	color    cli.Choice
}

func newLs(s cli.Streams) *cobra.Command {
	o := lsOptions{
		output: cli.NewChoice("text", "json"),
		color:  cli.NewColorChoice(),
	}
	cmd := &cobra.Command{
		Use:   "ls INPUT...",
		Short: "List what a bundle holds and how each file is read",
		Long: `Read a bundle, a directory or loose files and list every file: its format, the component that wrote it, how many
lines were used, blank or skipped, which time it covers, and why anything was not read. Nothing is concluded.`,
		Example: `  plegdiag ls node-1.tgz
  plegdiag ls node-1.tgz -o json`,
		Args: cli.CheckArguments(1, math.MaxInt, "an input: a bundle, a directory, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.Inputs = args
			return ls(cmd.Context(), &o, s)
		},
	}
	cli.BindOutput(cmd, &o.output)
	o.evidence.BindFlags(cmd)
	cli.BindColor(cmd, &o.color)
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show every reason for skipped lines")
	return cmd
}

func ls(ctx context.Context, o *lsOptions, s cli.Streams) error {
	options, err := o.evidence.IncidentOptions(s)
	if err != nil {
		return err
	}
	options.AllNodes = true
	inc, err := cli.LoadIncident(ctx, options, s)
	if err != nil {
		return err
	}
	look := s.ShowOptions(o.color, o.verbose)
	render := report.FilesText
	if o.output.Text == "json" {
		render = report.FilesJSON
	}
	if err := render(s.Out, inc, look); err != nil {
		return err
	}
	if inc.Unread {
		return nothingToReadError()
	}
	return nil
}

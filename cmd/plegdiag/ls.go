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
		output: choice{text: "text", of: []string{"text", "json"}},
		color:  choice{text: "auto", of: []string{"auto", "always", "never"}},
	}
	cmd := &cobra.Command{
		Use:   "ls INPUT...",
		Short: "List what a bundle holds and how each file is read",
		Long: `Read a bundle, a directory or loose files and list every file: its format, whose it is, what became of each line
(lines = used + blank + skipped), what it covers in time, and why what was not read was not. Nothing is concluded.`,
		Example: `  plegdiag ls node-1.tgz
  plegdiag ls node-1.tgz -o json`,
		Args: arguments(1, math.MaxInt, "an input: a bundle, a directory, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.inputs = args
			return ls(cmd.Context(), &o, s)
		},
	}
	bindChoice(cmd, &o.output, "output", "o", "what goes to stdout")
	o.evidence.bind(cmd)
	bindChoice(cmd, &o.color, "color", "", "colour the text; auto also obeys NO_COLOR")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show every reason for skipped lines")
	return cmd
}

func ls(ctx context.Context, o *lsOptions, s streams) error {
	options, err := o.evidence.options(s)
	if err != nil {
		return err
	}
	options.AllNodes = true
	inc, err := load(ctx, options, s)
	if err != nil && !errors.Is(err, incident.ErrNothing) {
		return err
	}
	nothing := err
	look := report.Options{Version: version(), Verbose: o.verbose, Width: width(s.out), Renderer: renderer(s.out, o.color.text)}
	render := report.FilesText
	if o.output.text == "json" {
		render = report.FilesJSON
	}
	if err := render(s.out, inc, look); err != nil {
		return err
	}
	if nothing != nil {
		return nothingToRead(nothing)
	}
	return nil
}

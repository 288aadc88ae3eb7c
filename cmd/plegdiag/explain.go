package main

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
)

type explainOptions struct {
	evidence cli.Evidence
	line     string
	output   cli.Choice
	verbose  bool
	color    cli.Choice
}

func newExplain(s cli.Streams) *cobra.Command {
	o := explainOptions{output: cli.NewChoice("text", "json"), color: cli.NewColorChoice()}
	cmd := &cobra.Command{
		Use:   "explain INPUT... PATH:LINE",
		Short: "Explain how one line was read, and what it speaks for or against",
		Long: `Analyse the inputs as the command analyze does, and say of one line how it was read: its format, who wrote it, when and
how that is known, the event that was made of it, for or against which causes it is evidence, or why it was not used.

PATH:LINE is written as in reports. The end of a path is enough where only one file has it.`,
		Example: `  plegdiag explain node-1.tgz containerd.log:5
  plegdiag explain containerd.log stacks.log stacks.log:1 -o json`,
		Args: cli.CheckArguments(2, 1000, "an input, and the line to explain as PATH:LINE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			o.evidence.Inputs, o.line = args[:last], args[last]
			return explain(cmd.Context(), &o, s)
		},
	}
	cli.BindOutput(cmd, &o.output)
	o.evidence.BindFlags(cmd)
	cli.BindRules(cmd, &o.evidence.Rules)
	cli.BindColor(cmd, &o.color)
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show all places of rules that an event fits, and all evidence")
	return cmd
}

func explain(ctx context.Context, o *explainOptions, s cli.Streams) error {
	at, err := parsePosition(o.line)
	if err != nil {
		return err
	}
	options, err := o.evidence.IncidentOptions(s)
	if err != nil {
		return err
	}
	options.Watch = at
	inc, err := cli.LoadIncident(ctx, options, s)
	if err != nil {
		return err
	}
	reading, err := chooseReading(inc, at)
	if err != nil {
		return err
	}
	render := report.ExplainText
	if o.output.Text == "json" {
		render = report.ExplainJSON
	}
	return render(s.Out, inc, reading, s.ShowOptions(o.color, o.verbose))
}

// parsePosition reads a place as reports write it.
func parsePosition(text string) (event.Pos, error) {
	i := strings.LastIndexByte(text, ':')
	if i < 1 {
		return event.Pos{}, cli.UsageError("as containerd.log:841", "%q is not a line: PATH:LINE is wanted", text)
	}
	line, err := strconv.Atoi(text[i+1:])
	if err != nil || line < 1 {
		return event.Pos{}, cli.UsageError("lines are counted from 1", "%q is not the number of a line, in %q", text[i+1:], text)
	}
	return event.Pos{File: strings.TrimPrefix(path.Clean(text[:i]), "./"), Line: line}, nil
}

// chooseReading returns the reading of the only line that fits a place.
func chooseReading(inc *incident.Incident, at event.Pos) (*incident.Reading, error) {
	switch len(inc.Readings) {
	case 0:
		var paths []string
		for i := range inc.Files {
			paths = append(paths, inc.Files[i].Path)
		}
		return nil, cli.UsageError(cli.SuggestNames(paths, at.File, "plegdiag ls INPUT"), "no file %q in the inputs", at.File)
	case 1:
	default:
		var paths []string
		for i := range inc.Readings {
			paths = append(paths, inc.Readings[i].Pos.File)
		}
		const most = 5
		hint := "write more of the path: " + strings.Join(paths[:min(len(paths), most)], ", ")
		return nil, cli.UsageError(hint, "%q is the end of %d paths", at.File, len(paths))
	}
	r := &inc.Readings[0]
	if r.Missing {
		return nil, &cli.Failure{Status: cli.StatusUsage, Err: fmt.Errorf("%s has no line %d", r.Pos.File, at.Line), Hint: r.Unused}
	}
	return r, nil
}

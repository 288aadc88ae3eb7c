package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/rules"
)

type analyzeOptions struct {
	evidence evidence
	output   choice
	reports  []string
	force    bool
	failOn   choice
	color    choice
	verbose  bool
}

func newAnalyze(s streams) *cobra.Command {
	o := analyzeOptions{
		output: choice{text: report.Formats[0].Name},
		failOn: choice{of: []string{rules.Possible.String(), rules.Likely.String(), rules.Confirmed.String()}},
		color:  newColorChoice(),
	}
	for _, f := range report.Formats {
		o.output.of = append(o.output.of, f.Name)
	}
	cmd := &cobra.Command{
		Use:   "analyze INPUT...",
		Short: "Find the cause in a bundle, a directory or loose files, and report it",
		Long: `Read everything that was collected from a node and report why its runtime hung: the cause first, each
step with the lines that prove it, then what was ruled out, what is missing, and the account of every file.

An INPUT is a bundle (tar or zip, compressed by gzip, zstd, xz or bzip2, also one inside the other), a directory, a
file, or - for stdin. The content of a file decides how it is read, not its name.`,
		Example: `  plegdiag analyze node-1.tgz
  plegdiag analyze containerd.log stacks.log --tz +08:00
  plegdiag analyze node-1.tgz -o json --report node-1.md
  cat containerd.log | plegdiag analyze -`,
		Args: checkArguments(1, math.MaxInt, "an input: a bundle, a directory, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.inputs = args
			return analyze(cmd.Context(), &o, s)
		},
	}
	bindChoice(cmd, &o.output, "output", "o", "what goes to stdout")
	flags := cmd.Flags()
	flags.StringArrayVar(&o.reports, "report", nil, "also write the report to `FILE`, by its ending .txt, .md, .jira, .html or .json, or the timeline, by .timesketch.jsonl or .perfetto.json; may be repeated")
	flags.BoolVar(&o.force, "force", false, "overwrite the files of --report")
	o.evidence.bindFlags(cmd)
	bindRules(cmd, &o.evidence.rules)
	bindChoice(cmd, &o.failOn, "fail-on", "", "exit with 3 when a finding is at least this certain")
	bindColor(cmd, &o.color)
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show how scores came about, all evidence, every reason for skipped lines")
	return cmd
}

func analyze(ctx context.Context, o *analyzeOptions, s streams) error {
	options, err := o.evidence.incidentOptions(s)
	if err != nil {
		return err
	}
	files, err := reportFiles(o, s.in)
	if err != nil {
		return err
	}
	format, _ := report.ByName(o.output.text)
	options.Context = format.Context || slices.ContainsFunc(files, func(f reportFile) bool { return f.format.Context })
	inc, err := loadIncident(ctx, options, s)
	if err != nil && !errors.Is(err, incident.ErrNothing) {
		return err
	}
	nothing := err // the report says of every file why it holds nothing
	look := report.Options{Version: version(), Verbose: o.verbose, Inputs: o.evidence.inputs}
	var unwritten []error // the answer on stdout is printed all the same
	for _, f := range files {
		unwritten = append(unwritten, f.writeTarget(func(w io.Writer) error { return f.format.Render(w, inc, look) }))
	}
	look.Width, look.Renderer = terminalWidth(s.out), newRenderer(s.out, o.color.text)
	if err := errors.Join(append(unwritten, format.Render(s.out, inc, look))...); err != nil {
		return err
	}
	warnOfLoss(s.err, inc)
	if nothing != nil {
		return nothingToReadError(nothing)
	}
	return checkVerdicts(inc, o.failOn.text)
}

// checkVerdicts is the failure that --fail-on asks for; an empty failOn asks for none.
func checkVerdicts(inc *incident.Incident, failOn string) error {
	for _, f := range inc.Result.Findings {
		if isAtLeast(f.Verdict, failOn) {
			return &failure{status: statusVerdict, err: fmt.Errorf("%s is %s (--fail-on %s)", f.Rule, f.Verdict, failOn)}
		}
	}
	return nil
}

// isAtLeast says whether a verdict is at least the one of that name.
func isAtLeast(v rules.Verdict, name string) bool {
	for ; v > rules.NotEvaluable; v-- {
		if v.String() == name {
			return true
		}
	}
	return false
}

// reportFile is one file of --report.
type reportFile struct {
	outputFile
	format report.Format
}

// reportFiles checks the files of --report before the work begins.
func reportFiles(o *analyzeOptions, stdin io.Reader) ([]reportFile, error) {
	var files []reportFile
	for _, path := range o.reports {
		format, ok := report.ByEnding(path)
		if !ok {
			return nil, usageError("the ending says the format: .txt, .md, .jira, .html, .json, .timesketch.jsonl or .perfetto.json", "--report %q has no known ending", path)
		}
		file := reportFile{outputFile{"--report", path, o.force}, format}
		if err := file.checkTarget(o.evidence.inputs, stdin); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

type analyzeOptions struct {
	evidence cli.Evidence
	output   cli.Choice
	window   cli.Window
	reports  []string
	force    bool
	failOn   cli.Choice
	color    cli.Choice
	full     bool
	noPager  bool
	title    bool
	verbose  bool
	zone     string
}

func newAnalyze(s cli.Streams) *cobra.Command {
	o := analyzeOptions{
		output: cli.NewFormatChoice(report.Formats, func(f report.Format) string { return f.Name }),
		failOn: cli.Choice{Of: []string{language.Possible.String(), language.Likely.String(), language.Confirmed.String()}},
		color:  cli.NewColorChoice(),
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
  plegdiag analyze node-1.tgz --since 18:20 --until 18:40
  plegdiag analyze node-1.tgz --incident 1
  cat containerd.log | plegdiag analyze -`,
		Args: cli.CheckArguments(1, math.MaxInt, "an input: a bundle, a directory, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.Inputs = args
			return analyze(cmd.Context(), &o, s)
		},
	}
	cli.BindOutput(cmd, &o.output)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.reports, "report", nil, "also write the report to `FILE`, by its ending .txt, .md, .jira, .slack, .html or .json,"+
		" or the timeline, by .timesketch.jsonl or .perfetto.json; may be repeated")
	flags.BoolVar(&o.force, "force", false, "overwrite the files of --report")
	o.window.BindFlags(cmd)
	o.evidence.BindFlags(cmd)
	cli.BindRules(cmd, &o.evidence.Rules)
	cli.BindChoice(cmd, &o.failOn, "fail-on", "", "exit with 3 when a finding is at least this certain")
	cli.BindColor(cmd, &o.color)
	flags.BoolVar(&o.full, "full", false, "print the whole report, not one screen; files of --report hold it always")
	flags.BoolVar(&o.noPager, "no-pager", false, "with --full on a terminal: do not show the report in the pager (PAGER, or less)")
	flags.BoolVar(&o.title, "title", false, "print one line of at most 72 columns instead, as the subject of a ticket")
	flags.StringVar(&o.zone, "display-tz", "", "also show the time of the incident in this `ZONE`, as Europe/Berlin, +02:00 or local")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "with --full, and show how scores came about, all evidence, every reason for skipped lines")
	return cmd
}

func analyze(ctx context.Context, o *analyzeOptions, s cli.Streams) error {
	options, err := o.evidence.IncidentOptions(s)
	if err != nil {
		return err
	}
	zone, err := o.displayZone()
	if err != nil {
		return err
	}
	if options.Choose, err = o.window.Chooser(); err != nil {
		return err
	}
	files, refused, err := reportFiles(o, s)
	if err != nil {
		return err
	}
	format := report.Formats[o.output.Index()]
	options.Context = format.Context || slices.ContainsFunc(files, func(f reportFile) bool { return f.format.Context })
	inc, err := cli.LoadIncident(ctx, options, s)
	if err != nil {
		return err
	}
	look := report.Options{Version: s.Version, Verbose: o.verbose, Full: true, Zone: zone, Inputs: o.evidence.Inputs}
	unwritten := refused // the answer on stdout is printed all the same
	for _, f := range files {
		unwritten = append(unwritten, f.WriteTarget(func(w io.Writer) error { return f.format.Render(w, inc, look) }))
	}
	look.Full = o.full || o.verbose
	look.Width, look.Renderer = cli.TerminalWidth(s.Out), cli.NewRenderer(s.Out, o.color.Text)
	render := format.Render
	if o.title {
		render = writeSubject
	}
	print := func(w io.Writer) error { return render(w, inc, look) }
	if o.isPaged(&look) {
		err = pageOutput(s.Out, print)
	} else {
		err = print(s.Out)
	}
	if err := errors.Join(append(unwritten, err)...); err != nil {
		hint := ""
		if len(refused) > 0 {
			hint = "--force overwrites existing files; the answer was printed"
		}
		return &cli.Failure{Status: cli.StatusFailed, Err: err, Hint: hint}
	}
	cli.WarnOfLoss(s.Err, inc)
	if inc.Unread { // the report says of every file why it holds nothing
		return nothingToReadError()
	}
	if err := checkVerdicts(inc, o.failOn.Text); err != nil {
		return err
	}
	if inc.Unrecognised() {
		return &cli.Failure{Status: cli.StatusUnknown, Err: errors.New("nothing in the input was recognised that tells how the node was"), Hint: "plegdiag ls INPUT says how each file was read"}
	}
	return nil
}

// isPaged says that what goes to stdout is longer than a screen, and the user did not refuse a
// pager.
func (o *analyzeOptions) isPaged(look *report.Options) bool {
	return look.Full && !o.title && !o.noPager && o.output.Text == "text"
}

// writeSubject writes the subject line alone.
func writeSubject(w io.Writer, inc *incident.Incident, _ report.Options) error {
	_, err := fmt.Fprintln(w, report.Subject(inc))
	return err
}

// displayZone is the reader's zone; nil where UTC is enough. Unlike the zone of logs it may be that
// of this machine.
func (o *analyzeOptions) displayZone() (*time.Location, error) {
	if o.zone == "local" {
		return time.Local, nil //nolint:forbidigo // of the reader, who asks for it
	}
	return cli.ParseZone("display-tz", o.zone)
}

// checkVerdicts is the failure that --fail-on asks for; an empty failOn asks for none.
func checkVerdicts(inc *incident.Incident, failOn string) error {
	for _, f := range inc.Result.Findings {
		if isAtLeast(f.Verdict, failOn) {
			return &cli.Failure{Status: cli.StatusVerdict, Err: fmt.Errorf("%s is %s (--fail-on %s)", f.Rule, f.Verdict, failOn)}
		}
	}
	return nil
}

// isAtLeast says whether a verdict is at least the one of that name.
func isAtLeast(v language.Verdict, name string) bool {
	for ; v > language.NotEvaluable; v-- {
		if v.String() == name {
			return true
		}
	}
	return false
}

// reportFile is one file of --report.
type reportFile struct {
	cli.OutputFile
	format report.Format
}

// reportFiles checks the files of --report before the work begins. A file that exists is refused at
// once, and the answer is printed all the same: who waits for it needs it. Refused are the errors
// of those.
func reportFiles(o *analyzeOptions, s cli.Streams) (files []reportFile, refused []error, err error) {
	for _, path := range o.reports {
		format, ok := report.ByEnding(path)
		if !ok {
			const hint = "the ending says the format: .txt, .md, .jira, .slack, .html, .json, .timesketch.jsonl or .perfetto.json"
			return nil, nil, cli.UsageError(hint, "--report %q has no known ending", path)
		}
		file := reportFile{cli.OutputFile{Flag: "--report", Path: path, Force: o.force}, format}
		switch err := file.CheckTarget(o.evidence.Inputs, s.In); {
		case errors.Is(err, fs.ErrExist):
			cli.Warn(s.Err, path+" exists and is not overwritten: the report is only printed (--force overwrites it)")
			refused = append(refused, err)
		case err != nil:
			return nil, nil, err
		default:
			files = append(files, file)
		}
	}
	return files, refused, nil
}

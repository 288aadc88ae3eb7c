package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/fleet"
	"github.com/plegdiag/plegdiag/internal/batch"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/report/dashboard"
)

type fleetOptions struct {
	dir     string
	by      string
	split   string
	program string
	page    cli.OutputFile
	full    bool
	output  cli.Choice
	color   cli.Choice
}

func newFleet(s cli.Streams) *cobra.Command {
	o := fleetOptions{output: cli.NewChoice("text", "json", "sql"), color: cli.NewColorChoice(), page: cli.OutputFile{Flag: "--report"}}
	cmd := &cobra.Command{
		Use:   "fleet DIR",
		Short: "Ask what the rows of batch say of all nodes together",
		Long: `Answer from the rows in DIR, where plegdiag batch has written them: which causes on how many nodes, on which versions
more often than elsewhere, since when, stalls by day, before and after a change, what is not explained and looks alike,
which input is missing most often, which bundles failed.

DuckDB answers, as a program of its own (duckdb in PATH, or --duckdb); it needs no server and no network. -o sql prints
what it is asked, for another machine or as a beginning for questions of your own.`,
		Example: `  plegdiag batch bundles/ --out results --label ring=canary
  plegdiag fleet results --report results/fleet.html
  plegdiag fleet results --split 2026-10-01 --by ring
  plegdiag fleet results -o sql | duckdb`,
		Args: cli.CheckArguments(1, 1, "the directory in which plegdiag batch has written its rows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir = args[0]
			return runFleet(cmd.Context(), &o, s)
		},
	}
	cli.BindOutput(cmd, &o.output)
	cli.BindColor(cmd, &o.color)
	flags := cmd.Flags()
	flags.StringVar(&o.by, "by", "", "compare by the values of the label `KEY` (--label of plegdiag batch)")
	flags.StringVar(&o.split, "split", "", "compare before and after `TIME`, as 2026-10-01 or 2026-10-01T12:00:00Z; without a zone it is UTC")
	flags.StringVar(&o.page.Path, "report", "", "also write the answers to `FILE`, by its ending .html or .json; a page links to the reports of DIR")
	flags.BoolVar(&o.page.Force, "force", false, "overwrite the file of --report")
	flags.BoolVar(&o.full, "full", false, "print all rows and columns, and what they count")
	flags.StringVar(&o.program, "duckdb", "duckdb", "the `PROGRAM` that answers")
	return cmd
}

func runFleet(ctx context.Context, o *fleetOptions, s cli.Streams) error {
	asked, err := o.asked()
	if err != nil {
		return err
	}
	if o.output.Text == "sql" {
		asked.Rows = filepath.Join(o.dir, batch.Merged)
		_, err := io.WriteString(s.Out, fleet.Script(asked, ""))
		return err
	}
	write, err := o.pageWriter(s)
	if err != nil {
		return err
	}
	program, err := exec.LookPath(o.program)
	if err != nil {
		return &cli.Failure{
			Status: cli.StatusFailed, Err: fmt.Errorf("DuckDB is not there: %w", err),
			Hint: "it is one program: https://duckdb.org/install, or name yours with --duckdb; -o sql prints the questions for another machine",
		}
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	answers, err := fleet.Ask(ctx, program, o.dir, asked)
	if err != nil {
		return err
	}
	if o.page.Path != "" {
		err = o.page.WriteTarget(func(w io.Writer) error { return write(w, answers) })
	}
	if o.output.Text == "json" {
		return errors.Join(err, dashboard.JSON(s.Out, answers, s.Version))
	}
	look := s.ShowOptions(o.color, false)
	look.Full = o.full
	return errors.Join(err, dashboard.Text(s.Out, answers, look))
}

// asked checks the flags that the questions depend on, and that there are rows.
func (o *fleetOptions) asked() (fleet.Asked, error) {
	a := fleet.Asked{Rows: batch.Merged, Label: o.by}
	if o.by != "" && !labelKey.MatchString(o.by) {
		return a, cli.UsageError("keys are small letters, digits and _", "--by %q is not the key of a label", o.by)
	}
	if o.split != "" {
		at, err := time.Parse(time.RFC3339, o.split)
		if err != nil {
			at, err = time.Parse(time.DateOnly, o.split)
		}
		if err != nil {
			return a, cli.UsageError("as 2026-10-01 or 2026-10-01T12:00:00Z", "--split %q is no time", o.split)
		}
		a.Split = at
	}
	_, err := os.Stat(filepath.Join(o.dir, batch.Merged))
	if errors.Is(err, fs.ErrNotExist) {
		return a, &cli.Failure{Status: cli.StatusFailed, Err: err, Hint: "plegdiag batch INPUT... --out " + o.dir + " writes it"}
	}
	return a, err
}

// pageWriter checks --report before the work begins.
func (o *fleetOptions) pageWriter(s cli.Streams) (func(io.Writer, []fleet.Answer) error, error) {
	if o.page.Path == "" {
		return nil, nil
	}
	if err := o.page.CheckTarget([]string{filepath.Join(o.dir, batch.Merged)}, s.In); err != nil {
		return nil, err
	}
	switch filepath.Ext(o.page.Path) {
	case ".json":
		return func(w io.Writer, answers []fleet.Answer) error { return dashboard.JSON(w, answers, s.Version) }, nil
	case ".html":
		base, err := relativeDir(o.page.Path, o.dir)
		if err != nil {
			return nil, err
		}
		return func(w io.Writer, answers []fleet.Answer) error {
			return dashboard.HTML(w, answers, s.Version, func(report string) string { return o.linkReport(base, report) })
		}, nil
	}
	return nil, cli.UsageError("it ends in .html or .json", "--report %q has no ending that tells its format", o.page.Path)
}

// relativeDir is the way from the directory of a file to another directory.
func relativeDir(file, dir string) (string, error) {
	from, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
}

// reportPath is what batch calls the report of a bundle. Rows may come from elsewhere.
var reportPath = regexp.MustCompile(`^reports/[0-9a-f]{64}(-[0-9]+)?\.json$`)

// linkReport is the link to a report: to its page, if batch has written one.
func (o *fleetOptions) linkReport(base, report string) string {
	if !reportPath.MatchString(report) {
		return ""
	}
	page := strings.TrimSuffix(report, ".json") + ".html"
	if _, err := os.Stat(filepath.Join(o.dir, page)); err == nil {
		report = page
	}
	return filepath.ToSlash(filepath.Join(base, report))
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

func newVerify(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "verify BUNDLE",
		Short: "Check the files of a collected bundle against its manifest",
		Long: `Compare every file of a bundle that plegdiag collect wrote with the checksum in its manifest. If the bundle was cut before
the manifest, the files are checked by the checksums in their headers, and the exit status is 1. Problems go to
stderr. What collect could not get, or not as a whole, is listed with the reason.`,
		Example: `  plegdiag collect --only clock -o clock.tgz
  plegdiag verify clock.tgz`,
		Args: cli.CheckArguments(1, 1, "a bundle or -"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.CheckInputs(args); err != nil {
				return err
			}
			in := s.In
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			return verifyBundle(in, s)
		},
	}
}

func verifyBundle(in io.Reader, s cli.Streams) error {
	v, err := bundle.Verify(in)
	if err != nil {
		return err
	}
	for _, p := range v.Problems {
		cli.Warn(s.Err, p)
	}
	if len(v.Problems) > 0 {
		return &cli.Failure{Status: cli.StatusFailed, Err: fmt.Errorf("%d problems in %d files", len(v.Problems), v.Files)}
	}
	const enough = 300
	fmt.Fprintf(s.Out, "%s: %d files, %d bytes, as they were collected\n", show.Escape(v.Root, enough), v.Files, v.Bytes)
	if v.Manifest.Sealed != "" {
		fmt.Fprintf(s.Out, "incomplete: %s\n", show.Escape(v.Manifest.Sealed, enough))
		if len(v.Manifest.Missing) > 0 {
			fmt.Fprintf(s.Out, "missing or cut: %s\n", show.Escape(strings.Join(v.Manifest.Missing, ", "), enough))
		}
	}
	if step := v.Manifest.ClockStep; step != 0 {
		fmt.Fprintf(s.Out, "the node's clock was set meanwhile, by %+.1f s\n", step)
	}
	for i := range v.Manifest.DumpFiles {
		noteDumpFile(s.Out, &v.Manifest.DumpFiles[i])
	}
	for i := range v.Manifest.Items {
		switch item := &v.Manifest.Items[i]; item.Outcome {
		case bundle.OK, bundle.Empty, bundle.Absent:
		default:
			noteItem(s.Out, item, false)
		}
	}
	return nil
}

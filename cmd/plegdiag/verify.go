package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

func newVerify(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "verify BUNDLE",
		Short: "Check the files of a collected bundle against its manifest",
		Long: `Compare every file of a bundle that plegdiag collect wrote with the checksum in its manifest. If the bundle was cut before
the manifest, the files are checked by the checksums in their headers, and the exit status is 1. Problems go to
stderr. What collect could not get, or not as a whole, is listed with the reason.`,
		Example: `  plegdiag collect --only clock -o clock.tgz
  plegdiag verify clock.tgz`,
		Args: checkArguments(1, 1, "a bundle or -"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkInputs(args); err != nil {
				return err
			}
			in := s.in
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

func verifyBundle(in io.Reader, s streams) error {
	v, err := bundle.Verify(in)
	if err != nil {
		return err
	}
	for _, p := range v.Problems {
		warn(s.err, p)
	}
	if len(v.Problems) > 0 {
		return &failure{status: statusFailed, err: fmt.Errorf("%d problems in %d files", len(v.Problems), v.Files)}
	}
	const enough = 300
	fmt.Fprintf(s.out, "%s: %d files, %d bytes, as they were collected\n", show.Escape(v.Root, enough), v.Files, v.Bytes)
	if v.Manifest.Sealed != "" {
		fmt.Fprintf(s.out, "incomplete: %s\n", show.Escape(v.Manifest.Sealed, enough))
		if len(v.Manifest.Missing) > 0 {
			fmt.Fprintf(s.out, "missing or cut: %s\n", show.Escape(strings.Join(v.Manifest.Missing, ", "), enough))
		}
	}
	if step := v.Manifest.ClockStep; step != 0 {
		fmt.Fprintf(s.out, "the node's clock was set meanwhile, by %+.1f s\n", step)
	}
	for i := range v.Manifest.DumpFiles {
		noteDumpFile(s.out, &v.Manifest.DumpFiles[i])
	}
	for i := range v.Manifest.Items {
		switch item := &v.Manifest.Items[i]; item.Outcome {
		case bundle.OK, bundle.Empty, bundle.Absent:
		default:
			noteItem(s.out, item, false)
		}
	}
	return nil
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/plegdiag/plegdiag/internal/cli"
)

func newMan(s cli.Streams) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "man [COMMAND...]",
		Short: "Print the manual page of plegdiag or of one of its commands",
		Example: `  plegdiag man analyze > plegdiag-analyze.1
  plegdiag man --dir man1`,
		Args: cli.CheckArguments(0, math.MaxInt, "no argument"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" {
				return manTree(cmd.Root(), dir, args)
			}
			return manPage(cmd.Root(), args, s)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands into the directory `DIR`, which is made when it is missing")
	return cmd
}

// manHeader has no date of today: the same program prints the same pages.
func manHeader() *doc.GenManHeader {
	released := buildTime()
	return &doc.GenManHeader{Section: "1", Manual: "plegdiag", Source: "plegdiag " + version(), Date: &released}
}

func manPage(root *cobra.Command, args []string, s cli.Streams) error {
	cmd, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		var names []string
		_ = visitCommands(root, func(cmd *cobra.Command) error { // which cannot fail
			names = append(names, strings.TrimPrefix(cmd.CommandPath(), root.Name()+" "))
			return nil
		})
		wrong := strings.Join(args, " ")
		return cli.UsageError(cli.SuggestNames(names, wrong, "plegdiag --help"), "no command %q", wrong)
	}
	return doc.GenMan(cmd, manHeader(), s.Out)
}

func manTree(root *cobra.Command, dir string, args []string) error {
	if len(args) > 0 {
		return cli.UsageError("plegdiag man "+strings.Join(args, " ")+" prints one page", "--dir writes the pages of all commands")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return visitCommands(root, func(cmd *cobra.Command) error {
		var page bytes.Buffer
		if err := doc.GenMan(cmd, manHeader(), &page); err != nil {
			return err
		}
		name := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		if err := os.WriteFile(name, page.Bytes(), 0o644); err != nil {
			return fmt.Errorf("manual page: %w", err)
		}
		return nil
	})
}

func visitCommands(cmd *cobra.Command, act func(*cobra.Command) error) error {
	errs := []error{act(cmd)}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			errs = append(errs, visitCommands(sub, act))
		}
	}
	return errors.Join(errs...)
}

// buildTime is the commit's time where the build knows it, else the first moment of Unix time.
func buildTime() time.Time {
	t, err := time.Parse(time.RFC3339, commitDate())
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return t
}

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/listing"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

const linesName = "lines"

// newLines is the command that mcp starts for lines of a file in a bundle. At a terminal, sed does
// that.
func newLines(s streams) *cobra.Command {
	count, around := 0, ""
	cmd := &cobra.Command{
		Use:     linesName + " INPUT PATH:LINE",
		Hidden:  true,
		Short:   "The part of mcp that reads lines of a file in a bundle; mcp starts it itself",
		Example: "  # plegdiag mcp starts it",
		Args:    checkArguments(2, 2, "an input, and its first line as PATH:LINE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printPassage(cmd.Context(), args[0], args[1], count, around, s)
		},
	}
	cmd.Flags().IntVar(&count, "count", 20, "how many lines")
	cmd.Flags().StringVar(&around, "around", "", "of a long line the part in which this `TEXT` stands")
	return cmd
}

func printPassage(ctx context.Context, input, position string, count int, around string, s streams) error {
	from, err := parsePosition(position)
	if err != nil {
		return err
	}
	passage, err := incident.ReadPassage(ctx, s.inputs([]string{input}), from, count, around)
	if several, ok := errors.AsType[*incident.AmbiguousError](err); ok {
		const most = 5
		hint := "write more of the path: " + strings.Join(several.Paths[:min(len(several.Paths), most)], ", ")
		return usageError(hint, "%q is %w", from.File, several)
	}
	if err != nil {
		return &failure{status: statusUsage, err: err, hint: "the report's files say which there are; explain says how an entry was read"}
	}
	return listing.PassageJSON(s.out, &passage, show.Options{Version: version()})
}

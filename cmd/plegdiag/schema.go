package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/schema"
)

func newSchema(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of an output, or list those that have one",
		Long: `Print the JSON Schema (draft 2020-12) of what plegdiag writes for programs. Without NAME: which outputs have one, and
what each is. NAME may also be what a document has as its "schema". Fields are added to an output, never renamed or
removed: a schema takes fields that it does not know.`,
		Example: `  plegdiag schema
  plegdiag schema report > report.schema.json
  plegdiag schema plegdiag.rows/v1`,
		Args:              cli.CheckArguments(0, 1, "at most one name of an output"),
		ValidArgsFunction: completeSchemas,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listSchemas(s)
			}
			return printSchema(s, args[0])
		},
	}
}

func listSchemas(s cli.Streams) error {
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, o := range schema.Outputs() {
		fmt.Fprintf(out, "%s\t%s\t%s\n", o.Name, o.Command(), o.About)
	}
	return out.Flush()
}

func printSchema(s cli.Streams, name string) error {
	text := schema.Text(name)
	if text == nil {
		var names []string
		for _, o := range schema.Outputs() {
			names = append(names, o.Name)
		}
		return cli.UsageError(cli.SuggestNames(names, name, "plegdiag schema"), "unknown output %q: want %s", name, strings.Join(names, ", "))
	}
	_, err := s.Out.Write(text)
	return err
}

func completeSchemas(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, o := range schema.Outputs() {
		names = append(names, cobra.CompletionWithDesc(o.Name, o.About))
	}
	if len(args) > 0 {
		names = nil
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

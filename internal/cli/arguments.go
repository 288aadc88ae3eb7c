package cli

import (
	"github.com/spf13/cobra"
)

// NeedCommand is run by commands that only have subcommands: it says which there are.
func NeedCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		const hint = " --help lists the commands; to analyse a bundle: plegdiag analyze BUNDLE"
		return UsageError(cmd.CommandPath()+hint, "no command given")
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return UsageError(SuggestNames(names, args[0], cmd.CommandPath()+" --help"), "unknown command %q", args[0])
}

// CheckArguments checks the number of arguments; what names them in the message.
func CheckArguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return UsageError(cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		case len(args) > most:
			return UsageError(cmd.CommandPath()+" --help", "unexpected argument %q", args[most])
		}
		return nil
	}
}

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
)

func newCompletion(s cli.Streams) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh, fish or powershell",
		Long: `Print a completion script. It completes commands, flags, formats, verdicts, rule ids and outputs.
To try it in a running bash: source <(plegdiag completion bash)`,
		Example: `  plegdiag completion bash > plegdiag.bash
  plegdiag completion zsh > _plegdiag`,
		Args:      cli.CheckArguments(1, 1, "a shell: bash, zsh, fish or powershell"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.Out, true)
			case "zsh":
				return root.GenZshCompletion(s.Out)
			case "fish":
				return root.GenFishCompletion(s.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(s.Out)
			}
			return cli.UsageError(cli.SuggestNames(shells, args[0], "plegdiag completion --help"), "unknown shell %q: want %s", args[0], strings.Join(shells, ", "))
		},
	}
}

package main

import (
	"github.com/spf13/cobra"
)

func newRoot(s streams) *cobra.Command {
	asked := false
	cmd := &cobra.Command{
		Use:   "plegdiag",
		Short: "Why did this node go NotReady? Offline forensics for hung container runtimes",
		Long: `plegdiag reads what was collected from a Kubernetes node that reported "PLEG is not healthy":
journals, containerd and dockerd logs, goroutine dumps, strace output. It says which lock, syscall or
bus held the runtime, shows the lines that prove it, and what speaks against it. Where the evidence
does not show the cause, it says so and prints the command that would decide.

Exit status: 0 analysed, whatever was found; 1 could not; 2 usage; 3 only with --fail-on; 4 nothing in the
input was recognised.`,
		Example: `  plegdiag analyze node-1.tgz
  plegdiag rules list`,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) { applyPreferences(cmd, s) },
		Args:             cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asked {
				return printVersion(s)
			}
			return needCommand(cmd, args)
		},
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	// A version template of cobra's would do, but text/template makes the linker keep every method.
	cmd.Flags().BoolVarP(&asked, "version", "v", false, "version for plegdiag")
	cmd.SetIn(s.in)
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return explainFlags(cmd, err)
	})
	cmd.AddCommand(
		newAnalyze(s), newExplain(s), newTimeline(s), newCompare(s), newStacks(s), newSyscalls(s), newCollect(s), newHelper(s),
		newVerify(s), newRedact(s), newBatch(s), newBatchWorker(s), newConfined(s), newLines(s), newFleet(s), newMCP(s), newRules(s), newSchema(s), newLs(s), newVersion(s), newEnv(s), newCompletion(s), newMan(s),
	)
	return cmd
}

// needCommand is run by commands that only have subcommands: it says which there are.
func needCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		const hint = " --help lists the commands; to analyse a bundle: plegdiag analyze BUNDLE"
		return usageError(cmd.CommandPath()+hint, "no command given")
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return usageError(suggestNames(names, args[0], cmd.CommandPath()+" --help"), "unknown command %q", args[0])
}

// checkArguments checks the number of arguments; what names them in the message.
func checkArguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		case len(args) > most:
			return usageError(cmd.CommandPath()+" --help", "unexpected argument %q", args[most])
		}
		return nil
	}
}

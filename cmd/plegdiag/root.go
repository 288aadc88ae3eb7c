package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/cli/authoring"
)

func newRoot(s cli.Streams) *cobra.Command {
	asked := false
	cmd := &cobra.Command{
		Use:   "plegdiag",
		Short: "Why did this node go NotReady? Offline forensics for hung container runtimes",
		Long: `plegdiag reads what was collected from a Kubernetes node that reported "PLEG is not healthy":
journals, logs of the kubelet and the runtime, goroutine dumps, strace output. It says which lock,
syscall or bus held the runtime, shows the lines that prove it, and what speaks against it. Where the
evidence does not show the cause, it says so and prints the command that would decide.

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
			return cli.NeedCommand(cmd, args)
		},
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	// A version template of cobra's would do, but text/template makes the linker keep every method.
	cmd.Flags().BoolVarP(&asked, "version", "v", false, "version for plegdiag")
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.Err)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.ExplainFlags(cmd, err)
	})
	cmd.AddCommand(
		newAnalyze(s), newExplain(s), newTimeline(s), newCompare(s), newStacks(s), newSyscalls(s), newCollect(s), newHelper(s),
		newVerify(s), newRedact(s), newBatch(s), newBatchWorker(s), newConfined(s), newLines(s), newFleet(s), newMCP(s), authoring.NewRules(s), newSchema(s), newLs(s), newVersion(s), newEnv(s), newCompletion(s), newMan(s),
	)
	hideEmptyDefaults(cmd)
	return cmd
}

// hideEmptyDefaults takes "(default [])" out of the help of all commands: pflag prints it for empty
// maps and lists of numbers, and it tells nothing.
func hideEmptyDefaults(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "stringToString", "uintSlice":
			f.DefValue = ""
		}
	})
	for _, sub := range cmd.Commands() {
		hideEmptyDefaults(sub)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/collect"
	"github.com/plegdiag/plegdiag/internal/collect/put"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// helperName is the hidden command by which collect starts itself for whatever may block.
const helperName = "collect-helper"

type collectOptions struct {
	collect.Options
	maxSize string
	dryRun  bool
	json    bool
	put     putOptions
	node    nodeOptions
	chroot  string
	lines   bool
}

func newCollect(s cli.Streams) *cobra.Command {
	o := collectOptions{}
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "On a sick node: collect a bundle, without hanging and without harm",
		Long: `Collect what analyze reads, from the node that this runs on, as root: clocks, kernel stacks of all threads, the kernel's
log, cgroups, goroutines of the daemons, how long each call to the runtime and to PID 1 takes, journals,
configuration. It ends within --timeout and some seconds, whatever hangs; the bundle's manifest says what hung.
Environments of processes and containers, kubeconfigs and Secrets are never read; secrets in arguments, logs and
configuration are replaced by tokens, as plegdiag redact does it, environments that daemons logged as a whole.

Without -o the bundle is ./plegdiag-NODE-TIME.tgz. A name that ends in .zst packs it with zstd. Through ssh nothing
is written on the node: ssh NODE plegdiag collect -o - > NODE.tgz
SIGINT and SIGTERM end the collection; the bundle then holds what was collected. Do not restart the daemons before
the bundle is complete.

--put URL sends the bundle once it is written. It stays where it is when that fails, and without -o it is removed when
it does not. The URL is a secret: it is in no log and not in the bundle. Give it by --put-url-file or ` + putVariable + ` where
other users can read the list of processes before plegdiag has started.

--node NAME asks through the API server instead, with your kubeconfig and from anywhere: the Node and its Events, and
of the kubelet goroutines, metrics, configuration, stats and logs. It works while the node is NotReady, but sees no
kernel stacks and no runtime; --debug-pod adds these where the node still starts pods. kubectl plegdiag collect NODE is
the same, if the program is in the path as ` + pluginName + `.`,
		Example: `  plegdiag collect --dry-run
  plegdiag collect --dry-run --node node-1
  plegdiag collect --only clock,node -o - | plegdiag verify -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.node.takeNode(cmd, args); err != nil {
				return err
			}
			if err := o.node.checkFlags(cmd.Flags()); err != nil {
				return err
			}
			return collectBundle(cmd.Context(), &o, s)
		},
	}
	f := cmd.Flags()
	o.node.bindFlags(f)
	f.StringVar(&o.chroot, "chroot", "", "collect below the directory `DIR`: in a privileged pod with hostPID, where the node's / is mounted")
	f.BoolVar(&o.lines, "lines", false, "with -o -: print the bundle as lines that a log can carry")
	_ = f.MarkHidden("lines") // for --debug-pod; it is there
	f.StringVarP(&o.Output, "output", "o", "", "bundle `FILE` to write; - is stdout")
	f.BoolVar(&o.Force, "force", false, "overwrite the bundle")
	f.DurationVar(&o.Since, "since", 2*time.Hour, "how far back journals go")
	f.DurationVar(&o.Timeout, "timeout", 3*time.Minute, "when to end, whatever hangs")
	f.StringVar(&o.maxSize, "max-size", "200M", "the `SIZE` that the bundle may have (K, M, G)")
	f.IntVar(&o.MinFree, "min-free", 256, "MiB that must stay free on the file system of the bundle; 0 may fill it")
	f.BoolVar(&o.dryRun, "dry-run", false, "only list what would be touched, with hazards and bounds")
	f.StringSliceVar(&o.Only, "only", nil, "`STEPS` to take, as --dry-run names them, with commas")
	f.StringSliceVar(&o.Skip, "skip", nil, "`STEPS` to leave out")
	f.BoolVar(&o.json, "json", false, "log each item to stderr as a line of JSON")
	f.BoolVar(&o.NoRedact, "no-redact", false, "keep arguments and logs as they are, with the tokens and passwords in them")
	f.BoolVar(&o.NoSignal, "no-signal", false, "send no SIGUSR1 to daemons that give no dump through a socket")
	f.BoolVar(&o.RemoveDumps, "remove-dumps", false, "remove the files that such daemons write, once they are in the bundle")
	f.BoolVar(&o.ProbeRemote, "probe-remote", false, "also ask network file systems how full they are")
	f.StringVar(&o.Journal, "journal", "", "directory `DIR` that holds a journal's files, to be read without journalctl")
	f.StringVar(&o.KubeletToken, "kubelet-token", "", "`FILE` with a token for the kubelet's port 10250")
	f.StringSliceVar(&o.AllowKill, "allow-kill", nil, "KILLS the daemons of these `NAMES` (SIGQUIT) for their goroutines, last of all: kubelet, containerd, …")
	f.StringVar(&o.Strace, "strace", "", "`PID` to trace for 5 s, which SLOWS it; "+collect.Suspicious+" chooses one that looks stuck")
	f.BoolVar(&o.SysrqW, "sysrq-w", false, "have the kernel WRITE the stacks of all threads in state D to its log and its consoles")
	o.put.bindFlags(f)
	f.StringToStringVar(&o.Sockets, "socket", nil, "where a daemon listens, `KIND=PLACE`: cri, docker, containerd-debug, dbus, kubelet, kubelet-healthz")
	return cmd
}

// collectBundle checks the options, and collects on this node or through the API server.
func collectBundle(ctx context.Context, o *collectOptions, s cli.Streams) error {
	size, ok := cli.ParseSize(o.maxSize)
	if !ok || size < 1<<20 {
		return cli.UsageError("as 200M or 1G; 1M is the least", "--max-size %s is not a size of a bundle", o.maxSize)
	}
	if o.Timeout <= 0 || o.Since <= 0 {
		return cli.UsageError("plegdiag collect --help", "--timeout and --since must be positive")
	}
	if pid, err := strconv.Atoi(o.Strace); o.Strace != "" && o.Strace != collect.Suspicious && (err != nil || pid <= 1) {
		return cli.UsageError("a PID, or "+collect.Suspicious, "--strace %s is not a process that can be traced", o.Strace)
	}
	var err error
	if o.Put, err = o.put.request(o.Output); err != nil {
		return err
	}
	o.MaxSize, o.Version, o.Helper = size, s.Version, []string{"/proc/self/exe", helperName}
	if o.Output == "-" && !o.dryRun {
		f, ok := s.Out.(*os.File)
		if !ok {
			return errors.New("stdout is not a file")
		}
		o.Stdout = f
	}
	if o.node.name != "" {
		return collectThroughAPIServer(ctx, o, s)
	}
	if runtime.GOOS != "linux" {
		return &cli.Failure{
			Status: cli.StatusFailed, Err: errors.New("collect looks at the node that it runs on, and only on Linux"),
			Hint: "plegdiag collect --node NAME asks through the API server, from anywhere",
		}
	}
	if o.chroot != "" {
		if err := collect.ChangeRoot(o.chroot); err != nil {
			return err
		}
	}
	if o.dryRun {
		if err := collect.WritePlan(s.Out, &o.Options); err != nil {
			return cli.UsageError("plegdiag collect --dry-run", "%w", err)
		}
		return nil
	}
	if !o.lines {
		return collectNode(ctx, o, s)
	}
	if o.Output != "-" {
		return cli.UsageError("-o -", "--lines is for a bundle that goes to stdout")
	}
	var end func() error
	if o.Stdout, end, err = printLines(s); err != nil {
		return err
	}
	return errors.Join(collectNode(ctx, o, s), end())
}

// collectNode collects on the node that this runs on.
func collectNode(ctx context.Context, o *collectOptions, s cli.Streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.Noted = func(item bundle.Item) { noteItem(s.Err, &item, o.json) }
	sum, err := collect.Run(ctx, o.Options)
	if err != nil {
		return err
	}
	cli.Warn(s.Err, fmt.Sprintf("%d bytes: %s", sum.Bytes, countOutcomes(sum.Items)))
	for _, h := range sum.Left {
		cli.Warn(s.Err, fmt.Sprintf("left behind: PID %d (%s), in %s; it ends when the kernel lets it go", h.PID, h.Task, h.WChan))
	}
	for i := range sum.DumpFiles {
		noteDumpFile(s.Err, &sum.DumpFiles[i])
	}
	if sum.Sealed != "" {
		cli.Warn(s.Err, "the bundle is incomplete: "+sum.Sealed)
	}
	if sum.Unsynced != "" {
		cli.Warn(s.Err, "all is written, but the disk has not confirmed it: fsync waits in "+sum.Unsynced)
	}
	if o.Put == nil {
		return nil
	}
	stop()
	return sendBundle(s, sum.Path, func(ctx context.Context) (put.Report, error) {
		return collect.Send(ctx, &o.Options, sum.Path)
	})
}

// countOutcomes says how many items had which outcome.
func countOutcomes(items map[bundle.Outcome]int) string {
	parts := make([]string, 0, len(items))
	for _, outcome := range []bundle.Outcome{
		bundle.OK, bundle.Capped, bundle.Empty, bundle.Absent, bundle.Denied,
		bundle.Failed, bundle.Skipped, bundle.Timeout, bundle.Stuck,
	} {
		if n := items[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	return strings.Join(parts, ", ")
}

// noteItem prints one item as soon as it is collected.
func noteItem(w io.Writer, item *bundle.Item, asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(w).Encode(item) // progress: what cannot be written is not missed
		return
	}
	text := fmt.Sprintf("%-8s %s", item.Outcome, item.Name)
	if item.Why != "" {
		text += ": " + item.Why
	}
	if item.WChan != "" {
		text += ", in " + item.WChan
	}
	const enough = 300
	fmt.Fprintln(w, show.Escape(text, enough))
}

// noteDumpFile says what became of a file that a daemon wrote on the node.
func noteDumpFile(w io.Writer, f *bundle.DumpFile) {
	text := fmt.Sprintf("left on the node: %s, %d bytes, of %s (PID %d)", f.Path, f.Bytes, f.Writer, f.PID)
	if f.Removed {
		text = fmt.Sprintf("removed from the node: %s of %s (PID %d)", f.Path, f.Writer, f.PID)
	}
	if f.Why != "" {
		text += ": " + f.Why
	}
	const enough = 300
	fmt.Fprintln(w, show.Escape(text, enough))
}

// newHelper is the command that collect starts for what may hang.
func newHelper(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:                helperName,
		Hidden:             true,
		Short:              "A part of collect that may hang; collect starts it itself",
		Example:            "  # plegdiag collect starts it",
		DisableFlagParsing: true,
		Args:               cli.CheckArguments(1, 1, "a task"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := collect.Helper(args[0], s.In, s.Out); err != nil {
				return &cli.Failure{Status: collect.HelperStatus(err), Err: err}
			}
			return nil
		},
	}
}

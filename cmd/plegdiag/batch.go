package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/batch"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

type batchOptions struct {
	evidence cli.Evidence
	out      string
	each     bool
	shard    string
	jobs     int
	timeout  time.Duration
	memory   string
	labels   map[string]string
	retry    bool
	pages    bool
}

func newBatch(s cli.Streams) *cobra.Command {
	var o batchOptions
	cmd := &cobra.Command{
		Use:   "batch INPUT... --out DIR",
		Short: "Analyse many bundles, each on its own, and write reports and rows",
		Long: `Analyse every bundle in a process of its own, with bounds of time and memory. A bundle that is hostile or broken costs
its own row, which says why, and nothing else. In DIR are then a report of each bundle, reports/SHA256.json, and in
rows.jsonl the rows of all of them, for SQL: one for each finding, and one for a bundle without (docs/fleet.md).

An INPUT is a bundle, a directory, @FILE for a list of them, one a line, or - for a list on stdin. Of a directory
every archive below it is a bundle; with --each every entry of it is one, also an unpacked bundle.

What is done stays done as long as version, rules and settings are the same: run the same command again after an
interruption, or with more bundles. A bundle counts once, whatever it is called. Runs with different --shard may share DIR, at
the same time and on several machines. Without an INPUT the rows in DIR are merged again.

Exit status: 0 all bundles were tried, whatever became of them; 1 some were not; 2 usage.`,
		Example: `  plegdiag batch node-1.tgz two.tgz --out results --label cluster=east
  ls *.tgz | plegdiag batch - --out results -j 2 --timeout 2m --memory 1G
  plegdiag batch . --out results --shard 0/4`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.Inputs = args
			return runBatch(cmd.Context(), &o, s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", "", "the directory `DIR` for reports and rows, which is made when it is missing")
	flags.BoolVar(&o.each, "each", false, "every entry of a directory is a bundle, also a directory or a file that is no archive")
	flags.StringVar(&o.shard, "shard", "", "only the part `I/N` of the bundles, I from 0; I alone or /N alone takes the other from the"+
		" environment: JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID, and SLURM_ARRAY_TASK_COUNT")
	flags.IntVarP(&o.jobs, "jobs", "j", 0, "how many bundles at the same time; as many as there are CPUs when not given")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute, "when to give up a bundle")
	flags.StringVar(&o.memory, "memory", "2G", "how much memory one bundle may take (M, G)")
	flags.StringToStringVar(&o.labels, "label", nil, "put `KEY=VALUE` on every row; may be repeated")
	flags.BoolVar(&o.pages, "html", false, "also write a page of each report, reports/SHA256.html")
	flags.BoolVar(&o.retry, "retry-failed", false, "also try the bundles again that failed before")
	o.evidence.BindReading(cmd)
	cli.BindRules(cmd, &o.evidence.Rules)
	if err := cmd.MarkFlagDirname("out"); err != nil {
		panic(err) //nolint:forbidigo // a broken table of flags, not an input: the flag was bound above
	}
	return cmd
}

// leastMemory is what one bundle needs at least, in bytes: the program with its rules takes a third
// of it.
const leastMemory = 128 << 20

// requireLinux returns the error of a command that has to bound what a bundle may take.
func requireLinux(command, hint string) error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return &cli.Failure{
		Status: cli.StatusFailed, Err: errors.New(command + " bounds what each bundle may take, and only on Linux"),
		Hint: hint,
	}
}

// runBatch checks the flags, analyses, and says what was done.
func runBatch(ctx context.Context, o *batchOptions, s cli.Streams) error {
	if err := requireLinux("batch", "plegdiag analyze BUNDLE, for one bundle after the other"); err != nil {
		return err
	}
	options, err := o.batchOptions(s)
	if err != nil {
		return err
	}
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	stop := make(chan struct{})
	options.Stop = stop
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		caught := <-signals
		cli.Warn(s.Err, fmt.Sprintf("%s: the bundles that run are finished, no other is begun; a second signal kills them", caught))
		close(stop)
		<-signals
		kill()
	}()
	notify, done := startTally(s.Err)
	options.Notify = notify
	tally, err := batch.Run(ctx, options)
	done()
	if none, ok := errors.AsType[*batch.NoArchiveError](err); ok {
		return &cli.Failure{Status: cli.StatusFailed, Err: none, Hint: "--each takes every entry of the directory as a bundle"}
	}
	if err != nil {
		return err
	}
	return sayTally(&tally, o.out, s)
}

// sayTally says what a run did; its failure is that some bundles were not tried.
func sayTally(t *batch.Tally, out string, s cli.Streams) error {
	if t.Passed > 0 {
		cli.Warn(s.Err, fmt.Sprintf("passed over, because no archives: %d (--each takes every entry of a directory)", t.Passed))
	}
	said := fmt.Sprintf("%s: %d analysed, %d done before", countThings(t.Tried, "bundle"), t.Analysed, t.Before)
	if t.Twice > 0 {
		said += fmt.Sprintf(", %d the same as another", t.Twice)
	}
	if t.Failed > 0 {
		said += fmt.Sprintf("; %d failed, their rows say why", t.Failed)
	}
	_, err := fmt.Fprintf(s.Out, "%s\n%s: %s of %s\n", said, filepath.Join(out, batch.Merged), countThings(t.Rows, "row"), countThings(t.Bundles, "bundle"))
	if err == nil && t.Stopped {
		return &cli.Failure{Status: cli.StatusFailed, Err: errors.New("stopped before all bundles were tried"), Hint: "the same command goes on"}
	}
	return err
}

// countThings says how many there are: "1 row", "2 rows".
func countThings(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// batchOptions checks the flags before the work begins.
func (o *batchOptions) batchOptions(s cli.Streams) (batch.Options, error) {
	e := &o.evidence
	if o.out == "" {
		return batch.Options{}, cli.UsageError("plegdiag batch INPUT... --out DIR", "--out is missing")
	}
	if err := cli.CheckInputs(withoutLists(e.Inputs)); err != nil {
		return batch.Options{}, err
	}
	memory, ok := cli.ParseSize(o.memory)
	if !ok || memory < leastMemory {
		return batch.Options{}, cli.UsageError("as 512M or 2G; 128M is the least", "--memory %s is not a size for a bundle", o.memory)
	}
	if o.timeout <= 0 || o.jobs < 0 {
		return batch.Options{}, cli.UsageError("plegdiag batch --help", "--timeout must be positive, --jobs not negative")
	}
	if err := checkLabels(o.labels); err != nil {
		return batch.Options{}, err
	}
	shard, err := parseShard(o.shard)
	if err != nil {
		return batch.Options{}, err
	}
	jobs := o.jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	if _, err := e.IncidentOptions(s); err != nil { // what is wrong with them is no bundle's fault
		return batch.Options{}, err
	}
	identity, err := o.identity()
	return batch.Options{
		Inputs: e.Inputs, List: s.In, Each: o.each, Out: o.out, Shard: shard, Jobs: jobs,
		RetryFailed: o.retry, Pages: o.pages, Labels: o.labels, Identity: identity,
		Worker: batch.Worker{Program: o.worker(), Bound: o.timeout, Memory: memory},
	}, err
}

// withoutLists are the inputs that are no lists.
func withoutLists(inputs []string) (kept []string) {
	for _, input := range inputs {
		if !strings.HasPrefix(input, "@") {
			kept = append(kept, input)
		}
	}
	return kept
}

// Bounds of labels.
const (
	maxLabels     = 32
	maxLabelValue = 256 // bytes
)

// labelKey is what a column of SQL can be called without quotes.
var labelKey = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

func checkLabels(labels map[string]string) error {
	const hint = "as --label cluster=east; keys are small letters, digits and _"
	if len(labels) > maxLabels {
		return cli.UsageError(hint, "more than %d labels", maxLabels)
	}
	for key, value := range labels {
		if !labelKey.MatchString(key) || len(value) > maxLabelValue || strings.ToValidUTF8(value, "") != value {
			return cli.UsageError(hint, "--label %s=%s is not a label", key, value)
		}
	}
	return nil
}

// Where the engines that start a batch say which part each of them has.
var (
	shardIndexes = []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"}
	shardCount   = "SLURM_ARRAY_TASK_COUNT"
)

// parseShard reads --shard. What it leaves out, or all of it, comes from the environment; a count
// that is nowhere means that there is one part.
func parseShard(text string) (batch.Shard, error) {
	const hint = "as --shard 0/4, or --shard /4 in a Job that is Indexed"
	index, count, _ := strings.Cut(text, "/")
	from := "--shard " + text
	if count == "" {
		count = os.Getenv(shardCount)
	}
	if count == "" {
		if text != "" {
			return batch.Shard{}, cli.UsageError(hint, "%s does not say how many parts there are", from)
		}
		return batch.Shard{}, nil
	}
	for _, name := range shardIndexes {
		if index == "" {
			index = os.Getenv(name)
			from += " " + name + "=" + index
		}
	}
	i, wrongIndex := strconv.Atoi(index)
	n, wrongCount := strconv.Atoi(count)
	if wrongIndex != nil || wrongCount != nil || n < 1 || i < 0 || i >= n {
		return batch.Shard{}, cli.UsageError(hint, "%s: part %q of %q is none; parts count from 0", strings.TrimSpace(from), index, count)
	}
	return batch.Shard{Index: i, Count: n}, nil
}

// identity is by what results are known to be still good.
func (o *batchOptions) identity() (batch.Identity, error) {
	builtin, err := catalog.Builtin()
	if err != nil {
		return batch.Identity{}, err
	}
	var trees []language.Files
	for _, dir := range o.evidence.Rules {
		tree, err := cli.RuleFiles(dir)
		if err != nil {
			return batch.Identity{}, err
		}
		tree.Dir = "" // the same rules elsewhere are the same
		trees = append(trees, tree)
	}
	digest, err := builtin.ExtendedDigest(trees...)
	if err != nil {
		return batch.Identity{}, err
	}
	built, err := preciseVersion()
	return batch.Identity{Version: built, Catalog: digest, Settings: strings.Join(o.evidence.Reading(), " ")}, err
}

// preciseVersion is the version; of a program that was built of no commit alone with a digest of
// it, because others have the same version.
func preciseVersion() (string, error) {
	name := version()
	if name != "(devel)" && !strings.Contains(name, "+dirty") {
		return name, nil
	}
	file, err := os.Open(ownProgram)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return name + " " + hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// ownProgram is this program's file, also when another one has got its name.
const ownProgram = "/proc/self/exe"

// worker is the command that analyses one bundle.
func (o *batchOptions) worker() []string {
	args := []string{ownProgram, workerName}
	if o.pages {
		args = append(args, "--html")
	}
	for _, dir := range o.evidence.Rules {
		args = append(args, "--rules="+dir)
	}
	for _, flag := range o.evidence.Reading() {
		args = append(args, "--"+flag)
	}
	return args
}

const workerName = "batch-worker"

// newBatchWorker is the command that batch starts for each bundle.
func newBatchWorker(s cli.Streams) *cobra.Command {
	e, task := cli.Evidence{}, batch.Task{Version: s.Version}
	cmd := &cobra.Command{
		Use:     workerName + " BUNDLE",
		Hidden:  true,
		Short:   "The part of batch that reads one bundle; batch starts it itself",
		Example: "  # plegdiag batch starts it",
		Args:    cli.CheckArguments(1, 1, "a bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.Inputs = args
			options, err := e.IncidentOptions(s)
			if err != nil {
				return err
			}
			err = batch.Work(cmd.Context(), options, task)
			if own, ok := errors.AsType[*batch.MachineError](err); ok {
				return &cli.Failure{Status: batch.StatusMachine, Err: own}
			}
			return err
		},
	}
	e.BindReading(cmd)
	cli.BindRules(cmd, &e.Rules)
	cmd.Flags().Int64Var(&task.Memory, "memory", math.MaxInt64, "bytes")
	cmd.Flags().StringVar(&task.Dir, "out", "", "the directory for the results")
	cmd.Flags().BoolVar(&task.Pages, "html", false, "also a page of each report")
	return cmd
}

// tellEvery is how often the progress is told where there is no terminal, as in the log of a pod.
const tellEvery = 30 * time.Second

// startTally tells how far a batch is: as a bar on a terminal, elsewhere as a line now and then.
func startTally(out io.Writer) (notify func(batch.Progress), done func()) {
	if f, ok := out.(*os.File); ok && term.IsTerminal(f.Fd()) {
		var bar *progressbar.ProgressBar
		return func(p batch.Progress) {
				if bar == nil {
					bar = progressbar.NewOptions(p.All, progressbar.OptionSetWriter(out), progressbar.OptionShowCount(),
						progressbar.OptionThrottle(200*time.Millisecond), progressbar.OptionClearOnFinish())
				}
				bar.Describe(tellProgress(p))
				_ = bar.Set(p.Done) // a terminal that went away is no reason to stop
			}, func() {
				if bar != nil {
					_ = bar.Finish()
				}
			}
	}
	tick := time.NewTicker(tellEvery)
	return func(p batch.Progress) {
		select {
		case <-tick.C:
			cli.Warn(out, fmt.Sprintf("%d of %d bundles, %s", p.Done, p.All, tellProgress(p)))
		default:
		}
	}, tick.Stop
}

// tellProgress says what failed, and how long it still takes.
func tellProgress(p batch.Progress) string {
	left := "time left not known"
	if p.Left > 0 || p.Done == p.All {
		left = event.DurationText(p.Left.Round(time.Second)) + " left"
	}
	return fmt.Sprintf("%d failed, %s", p.Failed, left)
}

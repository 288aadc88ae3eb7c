package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/schema/schematest"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "plegdiag" && len(os.Args) == 3 && os.Args[1] == "stuck-victim" {
		stuckVictim()
	}
	if isPlugin(os.Args[0]) {
		main()
	}
	switch os.Args[0] {
	case shimStandIn:
		standInForShim()
	case daemonStandIn:
		standInForDaemon(os.Args[1])
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case dumperStandIn:
			standInForDumper()
		case shimStandIn:
			standInForShim()
		}
	}
	atOnce := 8
	if raced { // collect works as long as it waits, then
		atOnce = 4
	}
	// The tests of collect mostly wait, for daemons that do not answer. The flag -parallel says
	// otherwise.
	_ = flag.Set("test.parallel", strconv.Itoa(max(atOnce, runtime.GOMAXPROCS(0))))
	testscript.Main(m, map[string]func(){"plegdiag": main})
}

// raceOptions is the variable with the options of the race detector: without those of make race a
// program sleeps a second before it exits.
const raceOptions = "GORACE"

// racedScripts are those that run with the race detector, which makes each take many times as long:
// every command as its help shows it, and those that start what no other does. The workers of batch
// and the ends of archives have tests of their own packages.
var racedScripts = []string{
	"testdata/script/examples.txtar", "testdata/script/nodes.txtar", "testdata/script/collectnode.txtar", "testdata/script/syscalls.txtar",
}

// TestScript runs the program as its users do. Beside a script's own files there are a small
// incident (testdata/node-1) as containerd.log, stacks.log and the bundle node-1.tgz, a copy of it
// in later, a trace of a shim as shim.strace, a user's rule with its fixtures in my-rules, and
// .examples.sh: every example that the help shows. $INCIDENTS is the testdata of the repository.
// "fits OUTPUT FILE" fails unless all documents in FILE fit the schema of that output.
func TestScript(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	if raced {
		scripts = racedScripts
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"fits": fitsSchema},
		Setup: func(env *testscript.Env) error {
			incidents, err := filepath.Abs("../../testdata")
			env.Setenv("INCIDENTS", incidents)
			env.Setenv(raceOptions, os.Getenv(raceOptions))
			shell := strings.Join(examples(newRoot(cli.Streams{})), "\n")
			return errors.Join(
				err,
				os.WriteFile(filepath.Join(env.WorkDir, ".examples.sh"), []byte(shell), 0o644),
				os.CopyFS(env.WorkDir, os.DirFS("testdata/node-1")),
				os.CopyFS(env.WorkDir, os.DirFS("testdata/traces")),
				os.CopyFS(filepath.Join(env.WorkDir, "my-rules"), os.DirFS("../../testdata/my-rules")),
				os.CopyFS(filepath.Join(env.WorkDir, "later"), os.DirFS("testdata/node-1")),
				tgz(filepath.Join(env.WorkDir, "node-1.tgz"), os.DirFS("testdata/node-1")),
				hostileBundles(env.WorkDir),
			)
		},
	})
}

// fitsSchema is the command fits of the scripts.
func fitsSchema(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: fits OUTPUT FILE")
	}
	if err := schematest.Check(args[0], []byte(ts.ReadFile(args[1]))); (err != nil) != neg {
		ts.Fatalf("%s, %s: %v", args[0], args[1], err)
	}
}

// tgz writes a tree as a bundle.
func tgz(path string, tree fs.FS) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(f)
	out := tar.NewWriter(zip)
	return errors.Join(out.AddFS(tree), out.Close(), zip.Close(), f.Close())
}

// hostileBundles writes node-1.tgz with something behind it: two.tgz another bundle, junk.tgz what
// is no bundle, both longer than is inflated ahead; cut.tgz ends in the middle of that.
func hostileBundles(dir string) error {
	kubelet := `E1120 09:33:12.400000    1530 kubelet.go:2010] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.4s ago; threshold is 3m0s"` + "\n"
	long := fstest.MapFS{"long/kubelet.log": {Data: []byte(strings.Repeat(kubelet, 20_000))}}
	second := filepath.Join(dir, ".second.tgz")
	var junk bytes.Buffer
	zip := gzip.NewWriter(&junk)
	_, junked := zip.Write(bytes.Repeat([]byte("no tar, "), 1<<19))
	err := errors.Join(tgz(second, long), junked, zip.Close())
	node, read := os.ReadFile(filepath.Join(dir, "node-1.tgz"))
	more, readMore := os.ReadFile(second)
	both := slices.Concat(node, more)
	return errors.Join(
		err, read, readMore,
		os.WriteFile(filepath.Join(dir, "two.tgz"), both, 0o644),
		os.WriteFile(filepath.Join(dir, "junk.tgz"), slices.Concat(node, junk.Bytes()), 0o644),
		os.WriteFile(filepath.Join(dir, "cut.tgz"), both[:len(both)-len(more)/2], 0o644),
	)
}

// examples are those of all commands but fleet, which DuckDB answers: fleet/engines tries its own.
func examples(cmd *cobra.Command) []string {
	if cmd.Name() == "fleet" {
		return nil
	}
	lines := strings.Split(cmd.Example, "\n")
	for _, sub := range cmd.Commands() {
		lines = append(lines, examples(sub)...)
	}
	return lines
}

// A command that shows no example and no flag that it explains has no help.
func TestEveryCommandHasHelp(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.Contains(t, cmd.Example, cmd.Root().Name()+" ", cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot(cli.Streams{In: io.MultiReader(), Out: io.Discard, Err: io.Discard}))
}

func TestParseZone(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{
		"+08:00": "20:00", "-03:30": "08:30", "Asia/Shanghai": "20:00", "UTC": "12:00", "Asia/Kolkata": "17:30",
	} {
		zone, err := cli.ParseZone("tz", in)
		require.NoError(t, err, in)
		require.Equal(t, want, noon.In(zone).Format("15:04"), in)
	}
	for _, in := range []string{"Local", "8", "+8", "Mars/Base", "../etc"} {
		_, err := cli.ParseZone("tz", in)
		require.Error(t, err, in)
	}
	zone, err := cli.ParseZone("tz", "")
	require.NoError(t, err)
	require.Nil(t, zone)
}

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/docs"
	"github.com/plegdiag/plegdiag/internal/batch"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/mcp"
)

type mcpOptions struct {
	evidence  cli.Evidence
	dirs      []string
	http      string
	tokenFile string
	jobs      int
	timeout   time.Duration
	memory    string
}

func newMCP(s cli.Streams) *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp [DIR...]",
		Short: "Answer agents by the Model Context Protocol, over stdio or HTTP on loopback",
		Long: `Give agents the analysis of bundles as tools of the Model Context Protocol: analyze, hypotheses, timeline, lines,
explain, stacks, syscalls, compare, next, rules (docs/mcp.md). A client starts the program and talks to it over
stdin and stdout; with --http it listens on a loopback address instead and asks for a token.

It only reads, and only below each DIR, or the working directory when none is given. No link leads out of them. Each
analysis runs in a process of its own, with bounds of time and memory. Text of bundles is marked as data.

The token of --http is read from --token-file or PLEGDIAG_MCP_TOKEN. Without both one is made and printed to stderr.`,
		Example: `  plegdiag mcp < /dev/null
  plegdiag mcp later --rules my-rules < /dev/null`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.dirs = args; len(args) == 0 {
				o.dirs = []string{"."}
			}
			return serveMCP(cmd.Context(), &o, s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.http, "http", "", "listen on this loopback `ADDRESS`, as 127.0.0.1:8765, instead of stdin and stdout")
	flags.StringVar(&o.tokenFile, "token-file", "", "`FILE` that holds the token clients of --http must send")
	flags.IntVarP(&o.jobs, "jobs", "j", 0, "how many analyses at the same time; as many as there are CPUs when not given")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "when to give up an analysis")
	flags.StringVar(&o.memory, "memory", "2G", "how much memory one analysis may take (M, G)")
	o.evidence.BindReading(cmd)
	cli.BindRules(cmd, &o.evidence.Rules)
	return cmd
}

func serveMCP(ctx context.Context, o *mcpOptions, s cli.Streams) error {
	if err := requireLinux("mcp", "plegdiag analyze BUNDLE -o json"); err != nil {
		return err
	}
	given := os.Getenv(tokenVariable)
	if err := os.Unsetenv(tokenVariable); err != nil { // workers read what nobody may trust
		return err
	}
	options, err := o.mcpOptions(s)
	if err != nil {
		return err
	}
	server, err := mcp.New(options)
	if err != nil {
		return err
	}
	defer server.Close()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.http == "" {
		return server.ServeStdio(ctx, s.In, s.Out)
	}
	listener, err := mcp.Listen(o.http)
	if err != nil {
		return cli.UsageError("as --http 127.0.0.1:8765", "--http: %w", err)
	}
	token, err := o.token(given, s)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	cli.Warn(s.Err, "listening on http://"+listener.Addr().String()+"/")
	return server.ServeHTTP(ctx, listener, token)
}

// mcpOptions checks the flags before the work begins.
func (o *mcpOptions) mcpOptions(s cli.Streams) (mcp.Options, error) {
	e := &o.evidence
	memory, ok := cli.ParseSize(o.memory)
	if !ok || memory < leastMemory {
		return mcp.Options{}, cli.UsageError("as 512M or 2G; 128M is the least", "--memory %s is not a size for a bundle", o.memory)
	}
	if o.timeout <= 0 || o.jobs < 0 {
		return mcp.Options{}, cli.UsageError("plegdiag mcp --help", "--timeout must be positive, --jobs not negative")
	}
	if o.http == "" && o.tokenFile != "" {
		return mcp.Options{}, cli.UsageError("it is for --http", "--token-file is not used without --http")
	}
	if _, err := e.IncidentOptions(s); err != nil { // what is wrong with them is no bundle's fault
		return mcp.Options{}, err
	}
	jobs := o.jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	options := mcp.Options{
		Version: s.Version, Dirs: o.dirs, Docs: docs.Files, Jobs: jobs, Reading: dashed(e.Reading()),
		Worker: batch.Worker{Program: []string{ownProgram, confinedName}, Bound: o.timeout, Memory: memory},
	}
	for _, dir := range e.Rules { // a worker has another working directory
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return mcp.Options{}, err
		}
		options.Rules = append(options.Rules, "--rules="+absolute)
	}
	return options, nil
}

// dashed are flags as they are written.
func dashed(flags []string) (written []string) {
	for _, flag := range flags {
		written = append(written, "--"+flag)
	}
	return written
}

// tokenVariable holds the token of clients.
const tokenVariable = "PLEGDIAG_MCP_TOKEN"

// Bounds of a token, in bytes.
const (
	leastToken = 16
	mostToken  = 4 << 10
)

// token is what clients must send: given by the environment, read from a file, or made.
func (o *mcpOptions) token(given string, s cli.Streams) (string, error) {
	from, text := tokenVariable, given
	if o.tokenFile != "" {
		file, err := os.Open(o.tokenFile)
		if err != nil {
			return "", err
		}
		defer file.Close()
		read, err := io.ReadAll(io.LimitReader(file, mostToken))
		if err != nil {
			return "", err
		}
		from, text = "--token-file", string(read)
	}
	if text == "" && o.tokenFile == "" {
		made := mcp.NewToken()
		cli.Warn(s.Err, "token: "+made)
		return made, nil
	}
	if text = strings.TrimSpace(text); len(text) < leastToken || strings.ContainsAny(text, " \t\r\n") {
		return "", cli.UsageError("openssl rand -hex 32 makes one", "%s: a token is one word of at least %d characters", from, leastToken)
	}
	return text, nil
}

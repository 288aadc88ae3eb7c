package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// The README shows what its first command prints, no more and no less than it prints today.
func TestReadme(t *testing.T) {
	const path = "../../README.md"
	readme, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(readme), "The answer:\n\n```\n")
	require.True(t, ok)
	excerpt, after, ok := strings.Cut(rest, "```\n")
	require.True(t, ok)

	command, _, ok := strings.Cut(before[strings.Index(before, "```sh\n")+len("```sh\n"):], "\n")
	require.True(t, ok)
	args, ok := strings.CutPrefix(command, "go run ./cmd/plegdiag ")
	require.True(t, ok, command)
	t.Chdir("../..")
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.StatusDone, run(strings.Fields(args), nil, &stdout, &stderr), stderr.String())
	shown := stdout.String()
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(before+"The answer:\n\n```\n"+shown+"```\n"+after), 0o600))
		return
	}
	require.Equal(t, excerpt, shown, "accept with -update")
}

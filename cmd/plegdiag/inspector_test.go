//go:build inspector

package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// inspector is the protocol's own inspector; later ones need Node.js 22.
const inspector = "@modelcontextprotocol/inspector@0.15.0"

// TestInspector: the protocol's own inspector, a client of another make, lists and calls the tools
// of the program as it ships.
func TestInspector(t *testing.T) {
	dir := t.TempDir()
	built := filepath.Join(dir, "plegdiag")
	runTool(t, "", "go", "build", "-o", built, ".")
	runTool(t, dir, tool(t, "npm"), "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, inspector)
	ask := func(out any, args ...string) {
		t.Helper()
		command := append([]string{"--cli", built, "mcp", "../../testdata"}, args...)
		answer := runTool(t, "", filepath.Join(dir, "node_modules", ".bin", "mcp-inspector"), command...)
		require.NoError(t, json.Unmarshal(answer, out), string(answer))
	}
	var listed struct{ Tools []struct{ Name string } }
	ask(&listed, "--method", "tools/list")
	require.Len(t, listed.Tools, 11)

	var answer struct {
		Content    []struct{ Text string }
		Structured struct {
			State    string
			Findings []struct {
				Rule     string
				Evidence []struct {
					Path string
					Line int
					Text string `json:"untrusted_text"`
				}
			}
		} `json:"structuredContent"`
	}
	call := func(name string, args ...string) {
		t.Helper()
		all := []string{"--method", "tools/call", "--tool-name", name}
		for _, arg := range args {
			all = append(all, "--tool-arg", arg)
		}
		ask(&answer, all...)
	}
	call("analyze", "input=seed-systemd-cookie/bundle")
	require.Equal(t, "likely", answer.Structured.State)
	require.Equal(t, "systemd-dbus-cookie-overflow", answer.Structured.Findings[0].Rule)
	first := answer.Structured.Findings[0].Evidence[0]
	require.Equal(t, "messages", first.Path)
	require.Equal(t, 1, first.Line)
	require.Contains(t, first.Text, "Operation not supported")
	call("lines", "input=seed-systemd-cookie/bundle", "path=messages", "line=1", "count=2")
	require.Contains(t, answer.Content[0].Text, "2 lines")
	call("next", "input=seed-systemd-cookie/bundle")
	require.Contains(t, answer.Content[0].Text, "actions for systemd-dbus-cookie-overflow")
	call("rules", "action=explain", "id=umount2-overlay-sync")
	require.NotEmpty(t, answer.Content[0].Text)

	var read struct{ Contents []struct{ Text string } }
	ask(&read, "--method", "resources/read", "--uri", "plegdiag://docs/glossary.md")
	require.Contains(t, read.Contents[0].Text, "PLEG")
}

// runTool runs a program to its end and returns what it prints.
func runTool(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		require.NoError(t, err, "%s %v: %s%s", name, args, out, failed.Stderr)
	}
	require.NoError(t, err)
	return out
}

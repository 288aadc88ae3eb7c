package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pages of docs/stories show what their commands print, no more and no less. A block that
// begins with ```console holds commands, each behind "$ ", and below each what it prints. All
// commands of a page run in one shell, in a directory with nothing but the bundle that the page
// links to.
func TestStories(t *testing.T) {
	pages, err := filepath.Glob("../../docs/stories/*.md")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(pages), 3)
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			bundle := regexp.MustCompile(`\]\((\.\./\.\./testdata/[\w-]+/bundle\.tgz)\)`).FindSubmatch(text)
			require.NotNil(t, bundle, "the page links to the bundle of its incident")
			dir := t.TempDir()
			packed, err := os.ReadFile(filepath.Join(filepath.Dir(page), string(bundle[1])))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "bundle.tgz"), packed, 0o600))

			shown := runConsoleBlocks(t, string(text), dir)
			if *update {
				require.NoError(t, os.WriteFile(page, []byte(shown), 0o644))
				return
			}
			require.Equal(t, string(text), shown, "go test ./cmd/plegdiag -run TestStories -update accepts it")
		})
	}
}

// consoleBlock is one block of commands and what they print.
var consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```\n")

// runConsoleBlocks runs the commands of a page in dir, and returns the page with what they print.
func runConsoleBlocks(t *testing.T, page, dir string) string {
	const end = "\x1e\n"
	var script strings.Builder
	var commands []string
	for _, block := range consoleBlock.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands = append(commands, command)
				script.WriteString(command + "printf '\\036\\n'\n")
			}
		}
	}
	require.Contains(t, script.String(), "plegdiag analyze ")

	shell := exec.Command("bash", "-c", script.String())
	shell.Dir = dir
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8", raceOptions + "=" + os.Getenv(raceOptions)}
	var printed bytes.Buffer
	shell.Stdout, shell.Stderr = &printed, &printed
	require.NoError(t, shell.Run(), printed.String())
	outputs := strings.SplitAfter(printed.String(), end)
	require.Len(t, outputs, len(commands)+1, "a command ended the shell")

	next := 0
	return consoleBlock.ReplaceAllStringFunc(page, func(block string) string {
		var filled strings.Builder
		filled.WriteString("```console\n")
		for line := range strings.Lines(block) {
			if strings.HasPrefix(line, "$ ") {
				filled.WriteString(line + strings.TrimSuffix(outputs[next], end))
				next++
			}
		}
		return filled.String() + "```\n"
	})
}

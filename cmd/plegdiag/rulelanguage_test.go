package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// docs/rule-language.md shows the files of its worked example, and what the command prints, as they
// are.
func TestRuleLanguage(t *testing.T) {
	const example = "my-rules/acme-backend-lost.yaml"
	page, err := filepath.Abs("../../docs/rule-language.md")
	require.NoError(t, err)
	t.Chdir("../../testdata")
	rule, err := os.ReadFile(example)
	require.NoError(t, err)
	want, err := os.ReadFile("my-rules/acme-backend-lost/positive/want.yaml")
	require.NoError(t, err)
	old, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "1 rule, nothing wrong\n", printed(t, cli.StatusDone, "rules", "lint", "my-rules"))
	tested := printed(t, cli.StatusDone, "rules", "test", "my-rules")

	dir := t.TempDir()
	typos := strings.NewReplacer("    role: cause", "    rol: cause", "kind: kubelet.pleg-unhealthy", "kind: kubelet.pleg-unhealth").Replace(string(rule))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "my-rules"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, example), []byte(typos), 0o600))
	t.Chdir(dir)
	linted := printed(t, cli.StatusFailed, "rules", "lint", "my-rules")
	require.Equal(t, 2, strings.Count(linted, "\n"), linted)

	shown := string(old)
	for mark, text := range map[string]string{
		example: string(rule), "my-rules/acme-backend-lost/positive/want.yaml": string(want), "rules lint": linted, "rules test": tested,
	} {
		shown = replaceBlock(t, shown, "<!-- "+mark+" -->\n", text)
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(shown), 0o644))
		return
	}
	require.Equal(t, string(old), shown, "go test ./cmd/plegdiag -update accepts it")
}

// docs/rule-language.md begins with a rule of nine lines and a log line, which do together what is
// shown.
func TestFirstRule(t *testing.T) {
	const rule, log = "acme-volume-lost.yaml", "messages"
	path, err := filepath.Abs("../../docs/rule-language.md")
	require.NoError(t, err)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for _, name := range []string{rule, log} {
		require.NoError(t, os.WriteFile(name, []byte(block(t, string(page), name)), 0o600))
	}
	require.Equal(t, 9, strings.Count(block(t, string(page), rule), "\n"))
	require.Equal(t, 1, strings.Count(block(t, string(page), log), "\n"))
	require.Equal(t, "1 rule, nothing wrong\n", printed(t, cli.StatusDone, "rules", "lint", rule))
	shown := replaceBlock(t, string(page), "<!-- analyze -->\n", printed(t, cli.StatusDone, "analyze", log, "--rules", rule))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(shown), 0o600))
		return
	}
	require.Equal(t, string(page), shown, "go test ./cmd/plegdiag -update accepts it")
}

// block is the code block behind the mark of a file.
func block(t *testing.T, page, name string) string {
	t.Helper()
	_, after, ok := strings.Cut(page, "<!-- "+name+" -->\n```")
	require.True(t, ok, name)
	_, after, _ = strings.Cut(after, "\n")
	text, _, ok := strings.Cut(after, "```\n")
	require.True(t, ok, name)
	return text
}

// printed is what the program writes to stdout.
func printed(t *testing.T, status int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, status, run(args, nil, &stdout, &stderr), "%s%s", stdout.String(), stderr.String())
	return stdout.String()
}

// replaceBlock puts text into the code block that follows a mark.
func replaceBlock(t *testing.T, page, mark, text string) string {
	t.Helper()
	before, after, ok := strings.Cut(page, mark)
	require.True(t, ok, mark)
	fence, rest, ok := strings.Cut(after, "\n")
	require.True(t, ok && strings.HasPrefix(fence, "```"), mark)
	i := strings.Index("\n"+rest, "\n```")
	require.GreaterOrEqual(t, i, 0, mark)
	return before + mark + fence + "\n" + text + rest[i:]
}

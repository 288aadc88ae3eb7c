// Package oracle_test compares redact with the examples of a scanner of secrets.
package oracle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "github.com/zricethezav/gitleaks/v8/config" // keeps the module in go.mod

	"github.com/plegdiag/plegdiag/internal/redact"
)

// least is how many of a hundred values must be gone.
const least = 95

// example is a text in which a rule of the scanner finds a secret.
type example struct{ Rule, Text, Secret string }

// TestRecall counts the values of the scanner's examples that are gone from the redacted text.
func TestRecall(t *testing.T) {
	all, gone := 0, 0
	missed := map[string]int{}
	for dec := json.NewDecoder(bytes.NewReader(examples(t))); ; {
		var e example
		err := dec.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e.Secret == "" {
			continue // a rule that looks at the path of a file alone
		}
		var clean bytes.Buffer
		redact.New([]byte("k")).Filter(&clean, []byte(e.Text), true)
		all++
		if leaks(clean.String(), e.Secret) {
			missed[e.Rule]++
			continue
		}
		gone++
	}
	t.Logf("%d of %d values are gone; missed, by rule: %v", gone, all, missed)
	require.Greater(t, all, 3000, "the scanner tells its examples")
	require.GreaterOrEqual(t, 100*gone, least*all, "missed, by rule: %v", missed)
}

// leaks says that two thirds of a secret are still there.
func leaks(text, secret string) bool {
	n := 2*len(secret)/3 + 1
	for i := 0; i+n <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+n]) {
			return true
		}
	}
	return false
}

// examples runs a copy of the scanner's generator that tells its examples.
func examples(t *testing.T) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/zricethezav/gitleaks/v8").Output()
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS(strings.TrimSpace(string(dir)))))
	teller, err := os.ReadFile("testdata/validate.go.txt")
	require.NoError(t, err)
	target := filepath.Join(root, "cmd/generate/config/utils/validate.go")
	require.NoError(t, os.Chmod(target, 0o600))
	require.NoError(t, os.WriteFile(target, teller, 0o600))
	run := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".", filepath.Join(root, "rules.toml"))
	run.Dir = filepath.Join(root, "cmd/generate/config") // where its template stands
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	require.NoError(t, err, stderr.String())
	return out
}

package redact_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/fixture"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/redact"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// TestFindings redacts every incident, fixture and ticket. What the rules find in the copy is what
// they find in the bundle, and a second run changes nothing.
func TestFindings(t *testing.T) {
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	all, err := fixture.Find("../../testdata")
	require.NoError(t, err)
	require.Greater(t, len(all), 100)
	for _, f := range all {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			input, err := f.Input()
			require.NoError(t, err)
			once := filepath.Join(t.TempDir(), "bundle.tar")
			account := redactTo(t, input, once)
			copied, err := os.ReadFile(once)
			require.NoError(t, err)
			again := filepath.Join(t.TempDir(), "bundle.tar")
			require.Zero(t, redactTo(t, once, again).Values, "what was replaced stays")
			twice, err := os.ReadFile(again)
			require.NoError(t, err)
			require.True(t, bytes.Equal(copied, twice))
			require.Equal(t, verdicts(t, input, catalog), verdicts(t, once, catalog), "%+v", account)

			planted, n := plantSecrets(t, once)
			if strings.HasPrefix(f.Name, "rules/") || n == 0 {
				return
			}
			require.Equal(t, n, redactTo(t, planted, again).Values)
			require.Equal(t, verdicts(t, planted, catalog), verdicts(t, again, catalog))
		})
	}
}

// plantSecrets copies an archive with a secret at the end of lines of logs.
func plantSecrets(t *testing.T, archive string) (copied string, n int) {
	t.Helper()
	in, err := os.Open(archive)
	require.NoError(t, err)
	defer in.Close()
	path := filepath.Join(t.TempDir(), "planted.tar")
	out, err := os.Create(path)
	require.NoError(t, err)
	defer out.Close()
	w := tar.NewWriter(out)
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		if h.Typeflag == tar.TypeReg {
			rows := bytes.SplitAfter(text, []byte("\n"))
			for i, row := range rows {
				if text := bytes.TrimRight(row, "\r\n"); bytes.HasSuffix(text, []byte(`"`)) && bytes.Contains(text, []byte(`="`)) {
					rows[i] = append(slices.Clip(text), " password=Zq7hunter2x\n"...)
					n++
				}
			}
			text = bytes.Join(rows, nil)
		}
		h.Size = int64(len(text))
		require.NoError(t, w.WriteHeader(h))
		_, err = w.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return path, n
}

func redactTo(t *testing.T, input, output string) *redact.Account {
	t.Helper()
	out, err := os.Create(output)
	require.NoError(t, err)
	defer out.Close()
	account, err := redact.Bundle(t.Context(), redact.Options{
		Bundle: bundle.Options{Inputs: []string{input}}, Key: []byte("k"), KeepBinary: true, Output: output,
	}, out)
	require.NoError(t, err)
	return account
}

// verdicts are the rules of an incident with their verdicts, and its stalls.
func verdicts(t *testing.T, input string, catalog *language.Catalog) (all []string) {
	t.Helper()
	inc, err := incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: []string{input}}, Catalog: catalog})
	if !errors.Is(err, incident.ErrNothing) {
		require.NoError(t, err)
	}
	for i := range inc.Result.Findings {
		all = append(all, fmt.Sprint(inc.Result.Findings[i].Rule, " ", inc.Result.Findings[i].Verdict))
	}
	return append(all, fmt.Sprint(len(inc.Timeline.Events), " events"))
}

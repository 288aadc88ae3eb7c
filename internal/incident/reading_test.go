package incident_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
)

// readLine explains one line of an input, with the built-in rules.
func readLine(t *testing.T, input, file string, line int) incident.Reading {
	t.Helper()
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	inc, _ := incident.Load(context.Background(), incident.Options{
		Inputs: incident.Inputs{Paths: []string{input}}, Catalog: catalog, Watch: event.Pos{File: file, Line: line},
	})
	require.NotNil(t, inc)
	require.Len(t, inc.Readings, 1, "%s:%d", file, line)
	return inc.Readings[0]
}

// Every line that a finding quotes is explained as evidence for it, and quoted as it stands there.
func TestReadingOfEvidence(t *testing.T) {
	bundles, err := filepath.Glob("../../testdata/tickets/*/bundle")
	require.NoError(t, err)
	require.NotEmpty(t, bundles)
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	asked := 0
	for i, bundle := range bundles {
		if i%9 != 0 {
			continue
		}
		inc, err := incident.Load(context.Background(), incident.Options{Inputs: incident.Inputs{Paths: []string{bundle}}, Catalog: catalog})
		require.NoError(t, err)
		for _, f := range inc.Result.Findings {
			for _, s := range f.Chain {
				if s.Rule != f.Rule || len(s.Evidence) == 0 || s.Evidence[0].Pos.Line == 0 {
					continue
				}
				q := s.Evidence[0]
				r := readLine(t, bundle, q.Pos.File, q.Pos.Line)
				require.Contains(t, r.Text, q.Text, q.Pos)
				require.NotEmpty(t, r.Events, q.Pos)
				require.NotEmpty(t, r.Part, q.Pos)
				require.Empty(t, r.Unused, q.Pos)
				require.Contains(t, r.Uses, incident.Use{Rule: f.Rule, Title: f.Title, Verdict: f.Verdict, Text: s.Text}, q.Pos)
				asked++
			}
		}
	}
	require.Greater(t, asked, 10)
}

// A line of which nothing was made says why.
func TestReadingOfUnusedLines(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"kubelet.log": "I1120 09:30:00.100000    1530 kubelet.go:1] \"A sentence of no meaning\" pod=\"x\"\n" +
			"\n" +
			"E1120 09:33:12.400000    1530 kubelet.go:2010] \"Skipping pod synchronization\" err=\"PLEG is not healthy: pleg was last seen active 3m0.4s ago; threshold is 3m0s\"\n" +
			"\tand a line without a header\n",
		"noise.bin": strings.Repeat("\x00\x01\x02", 100) + "\n",
		"empty.log": "",
		"page.md": "# docker ps\nCONTAINER ID\n\nThen we have seen that the node was not ready, and it was the first time that it was.\n" +
			"PLEG is not healthy: pleg was last seen active 3m0.4s ago; threshold is 3m0s\n" +
			"We think that it is the runtime which did not answer, and so we have restarted all of it.\n" +
			"After that the node was ready again, but it is not known why it was so and what it will do.\n" +
			"That is all we have of it, and there is no more that we could say about the node or its pods.\n" +
			"Events:\n  Warning  NodeNotReady  5m  kubelet  Node node-1 status is now: NodeNotReady\n",
		"containerd.log": `time="2026-11-20T09:30:01.000000000Z" level=info msg="StopContainer for \"b39895a86a9ebfdad08d2b42015f962ab2e0ec6b937f0662bef3d948009fcb6e\" with timeout 2 (s)"` + "\n" +
			`time="2026-11-20T09:30:01.500000000Z" level=info msg="StopContainer for \"b39895a86a9ebfdad08d2b42015f962ab2e0ec6b937f0662bef3d948009fcb6e\" returns successfully"` + "\n",
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, c := range []struct {
		file string
		line int
		why  string
	}{
		{"kubelet.log", 1, "none of the texts"},
		{"kubelet.log", 2, "blank"},
		{"kubelet.log", 9, "only 4 lines"},
		{"noise.bin", 1, "no format that plegdiag reads"},
		{"empty.log", 1, "empty"},
		{"page.md", 5, "in prose"},
	} {
		r := readLine(t, dir, c.file, c.line)
		require.Empty(t, r.Events, c)
		require.Contains(t, r.Unused, c.why, c)
	}
	r := readLine(t, dir, "kubelet.log", 3)
	require.Equal(t, "kubelet", r.Writer)
	require.Equal(t, "2026-11-20T09:33:12.4Z", r.Time.T.Format("2006-01-02T15:04:05.999Z07:00"))
	require.NotEmpty(t, r.Basis, "klog writes neither year nor zone")
	require.Len(t, r.Stalls, 1)
	r = readLine(t, dir, "page.md", 10)
	require.NotEmpty(t, r.Events, "a row of kubectl describe is evidence between sentences")
	r = readLine(t, dir, "containerd.log", 2)
	require.Len(t, r.Dropped, 1)
	require.Contains(t, r.Dropped[0].Why, "ordinary")
}

// A stamp without a year is read in the year that follows from the lines before it.
func TestReadingFollowsClock(t *testing.T) {
	dir := t.TempDir()
	text := `Dec 31 23:59:00.100000 node-1 containerd[43]: time="2025-12-31T23:59:00.100000000Z" level=info msg="starting containerd" version=1.6.20` + "\n" +
		"Dec 31 23:59:58.000000 node-1 cron[9]: a line of somebody else\n" +
		"Jan 01 00:00:05.000000 node-1 cron[9]: and another one\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.txt"), []byte(text), 0o644))
	for line, want := range map[int]string{2: "2025-12-31 23:59:58", 3: "2026-01-01 00:00:05"} {
		r := readLine(t, dir, "journal.txt", line)
		require.Equal(t, want, r.Time.T.Format(time.DateTime))
		require.NotEmpty(t, r.Basis)
		require.NotEmpty(t, r.Unused)
	}
}

package incident

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// dumpOf is a dump of goroutines that all wait so many minutes.
func dumpOf(minutes int, ids ...int) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "goroutine %d [semacquire, %d minutes]:\ngithub.com/containerd/containerd.wait(0x%x)\n\t/go/src/github.com/containerd/containerd/main.go:7 +0x1d\n\n", id, minutes, id)
	}
	return b.String()
}

// logged is a log in which each line of a text is a message of containerd at 18:54:12.
func logged(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("2026-11-20T18:54:12Z node-1 containerd[7]: " + line)
	}
	return b.String()
}

// writeFiles writes the files of an input and returns its directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// dumpsIn describes the dumps of some files: place, number of goroutines, time and process where
// they are known.
func dumpsIn(t *testing.T, files map[string]string) (said []string) {
	t.Helper()
	dumps, accounts, err := ReadDumps(context.Background(), Inputs{Paths: []string{writeFiles(t, files)}})
	require.NoError(t, err)
	require.Len(t, accounts, len(files))
	for _, d := range dumps {
		var row strings.Builder
		row.WriteString(fmt.Sprintf("%s:%d %d", d.File, d.Pos().Line, len(d.Goroutines)))
		if d.At.Known {
			row.WriteString(d.At.T.Format(" 15:04:05"))
		}
		if d.PID != 0 {
			row.WriteString(fmt.Sprint(" pid ", d.PID))
		}
		for _, p := range d.Copies {
			row.WriteString(fmt.Sprintf(" copy %s:%d", p.File, p.Line))
		}
		for _, p := range d.Fragments {
			row.WriteString(fmt.Sprintf(" fragment %s:%d", p.File, p.Line))
		}
		said = append(said, row.String())
	}
	return said
}

func TestReadDumps(t *testing.T) {
	whole := dumpOf(3, 1, 2, 3)
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{
			"a file and two logs hold one dump",
			map[string]string{"a.log": logged(whole), "b.log": logged(whole), "stacks.log": whole},
			[]string{"stacks.log:1 3 18:54:12 pid 7 copy a.log:1 copy b.log:1"},
		},
		{
			"two files are both shown",
			map[string]string{"a/stacks.log": whole, "b/stacks.log": whole},
			[]string{"a/stacks.log:1 3", "b/stacks.log:1 3"},
		},
		{
			"nothing has moved between two logged dumps",
			map[string]string{"a.log": logged(whole), "b.log": strings.ReplaceAll(logged(whole), "T18:54:12Z", "T18:56:12Z")},
			[]string{"a.log:1 3 18:54:12 pid 7", "b.log:1 3 18:56:12 pid 7"},
		},
		{
			"times that lack different parts do not compare",
			map[string]string{"a.log": strings.ReplaceAll(logged(whole), "2026-11-20T18:54:12Z", "Nov 20 18:54:12"), "b.log": logged(whole)},
			[]string{"a.log:1 3 18:54:12 pid 7 copy b.log:1"},
		},
		{
			"dumps that stand one after the other",
			map[string]string{"stacks.log": whole + dumpOf(4, 1, 2)},
			[]string{"stacks.log:1 3", "stacks.log:13 2"},
		},
		{
			"somebody wrote above it when it was taken",
			map[string]string{"stacks.log": "# 2026-11-20T18:54:12Z  curl -sk localhost:6060/debug/pprof/goroutine?debug=2\n" + whole},
			[]string{"stacks.log:2 3 18:54:12"},
		},
		{
			"a log lost lines of a dump that a file holds",
			map[string]string{"a.log": logged(dumpOf(3, 1) + "Suppressed 4 messages from containerd.service\nmain.f(0x1)\n\t/main.go:1 +0x1\n"), "stacks.log": whole},
			[]string{"stacks.log:1 3 fragment a.log:1"},
		},
		{
			"what is left of another dump stays",
			map[string]string{"a.log": logged(dumpOf(4, 1) + "Suppressed 4 messages from containerd.service\nmain.f(0x1)\n\t/main.go:1 +0x1\n"), "stacks.log": whole},
			[]string{"a.log:1 1 18:54:12 pid 7", "stacks.log:1 3"},
		},
		{
			"a log says when a file was written",
			map[string]string{
				"containerd.log":    `time="2026-11-20T18:54:13Z" level=info msg="goroutine stack dump written to /tmp/containerd.7.stacks.log"` + "\n",
				"renamed/dump.text": whole,
			},
			[]string{"renamed/dump.text:1 3 18:54:13"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, dumpsIn(t, tc.files)) })
	}
}

// TestDumpsOfAnIncident: analyze folds dumps as stacks does, and copies in two files besides,
// unless a log says that they were written at two times.
func TestDumpsOfAnIncident(t *testing.T) {
	whole := dumpOf(3, 1, 2, 3)
	require.Equal(t, []string{"a/stacks.log"}, dumpsOnTimeline(t, map[string]string{
		"a/stacks.log": whole, "b/stacks.log": whole,
		"journal.log": logged(dumpOf(3, 1) + "Suppressed 4 messages from containerd.service\nmain.f(0x1)\n\t/main.go:1 +0x1\n"),
	}))
	written := `time="2026-11-20T18:%s:13Z" level=info msg="goroutine stack dump written to /tmp/%s"` + "\n"
	log := fmt.Sprintf(written, "54", "containerd.first.log") + fmt.Sprintf(written, "56", "containerd.second.log")
	require.Equal(t, []string{"containerd.first.log", "containerd.second.log"}, dumpsOnTimeline(t, map[string]string{
		"containerd.first.log": whole, "containerd.second.log": whole, "containerd.log": log,
	}))
}

// dumpsOnTimeline are the files whose dumps are on the timeline of an incident.
func dumpsOnTimeline(t *testing.T, files map[string]string) (dumps []string) {
	t.Helper()
	dir := writeFiles(t, files)
	catalog, err := language.Load(event.Kinds())
	require.NoError(t, err)
	inc, err := Load(context.Background(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog})
	require.NoError(t, err)
	for _, c := range inc.Timeline.Coverage {
		if strings.HasPrefix(c.Source, "goroutines.") {
			dumps = append(dumps, c.File)
		}
	}
	return dumps
}

// TestDumpsOfAnArchive: dumps that are too large to be copied are parsed while the archive is read
// on, and lose nothing by it. The race detector looks on in CI.
func TestDumpsOfAnArchive(t *testing.T) {
	ids := make([]int, 20_000)
	for i := range ids {
		ids[i] = i + 1
	}
	large := dumpOf(7, ids...)
	require.Greater(t, len(large), 1<<20)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for i := range 6 {
		text := strings.Replace(large, "goroutine 1 ", fmt.Sprintf("goroutine %d ", 100_000+i), 1)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("containerd.%d.log", i), Mode: 0o644, Size: int64(len(text))}))
		_, err := io.WriteString(w, text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	catalog, err := language.Load(event.Kinds())
	require.NoError(t, err)
	inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{"-"}, Stdin: &archive}, Catalog: catalog})
	require.NoError(t, err)
	require.Len(t, inc.Files, 6)
	for _, f := range inc.Files {
		require.Equal(t, "goroutines", f.Format)
		require.NotZero(t, f.Used)
		require.Equal(t, f.Lines, f.Used+f.Blank+f.Skipped)
	}
}

// An input that is not there is an error, whatever the others hold.
func TestReadDumpsOfAMissingInput(t *testing.T) {
	dir := writeFiles(t, map[string]string{"stacks.log": dumpOf(3, 1)})
	_, _, err := ReadDumps(context.Background(), Inputs{Paths: []string{dir, filepath.Join(dir, "missing.log")}})
	require.ErrorContains(t, err, "missing.log")
}

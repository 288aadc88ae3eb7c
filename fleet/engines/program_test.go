package engines

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bundles are incidents of the repository; the last one has no cause.
var bundles = []string{"lab-umount2", "lab-dbus-stall", "lab-cluster-stopped-runtime", "lab-guest-io-max", "lab-healthy", "tickets/aks-304"}

// TestProgram runs the program with DuckDB as its users do: every example of its help, on bundles
// of the repository. All links of the page lead to a report.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
		return string(out)
	}
	buildProgram(t, dir)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	own, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(own, filepath.Join(dir, "duckdb")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bundles"), 0o755))
	for _, name := range bundles {
		from, to := filepath.Join(root, "testdata", name, "bundle"), "bundles/"+filepath.Base(name)+".tgz"
		if _, err := os.Stat(from); err == nil {
			run("tar", "-czf", to, "-C", from, ".")
		} else {
			run("cp", from+".tgz", to)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bundles", "cut.tgz"), []byte("\x1f\x8b\x08\x00"), 0o644))

	help := run("./plegdiag", "fleet", "--help")
	_, help, found := strings.Cut(help, "Examples:\n")
	require.True(t, found)
	examples, _, _ := strings.Cut(help, "\n\n")
	said := run("sh", "-eux", "-c", examples)
	require.Contains(t, said, "7 bundles: 7 analysed")
	require.Contains(t, said, "6 bundles of 4 nodes: a cause is confirmed in 3")
	require.Contains(t, said, "\nbefore  ")

	text := run("./plegdiag", "fleet", "results", "--full")
	for _, want := range []string{"umount2-overlay-sync", "could not be analysed", "cut.tgz"} {
		require.Contains(t, text, want)
	}
	page, err := os.ReadFile(filepath.Join(dir, "results", "fleet.html"))
	require.NoError(t, err)
	links := regexp.MustCompile(`href="(reports/[^"]+)"`).FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		require.FileExists(t, filepath.Join(dir, "results", link[1]))
	}
	require.Equal(t, text, run("./plegdiag", "fleet", "results", "--full"), "the same rows, the same answers")
}

// buildProgram builds plegdiag into a directory.
func buildProgram(t *testing.T, dir string) (path string) {
	path = filepath.Join(dir, "plegdiag")
	out, err := exec.Command("go", "-C", "../..", "build", "-o", path, "./cmd/plegdiag").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

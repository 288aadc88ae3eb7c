package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// workload makes processes and threads of several kinds: it forks, waits, fails, is interrupted and
// killed.
const workload = `ls -R /etc/ssl > /dev/null 2>&1; cat /nonexistent 2> /dev/null
sleep 0.2 & kill -TERM $!; wait; (echo a; echo b) | sort > /dev/null; printf 'a") = 0 <9.0>\n+++ exited with 0 +++\n' | cat > /dev/null`

// straceOptions are the forms in which strace may be asked for its output; each also prints its own
// table (-C -w).
var straceOptions = []string{
	"", "-t", "-tt", "-ttt", "-r", "-r -tt", "-T", "-tt -T", "-ttt -T -y", "-tt -T -yy -s 256", "-Y -tt -T", "-n -tt -T", "-i -tt -T",
	"-x -T", "-xx -T -s 4096", "-s 0 -T", "-a 0 -tt -T", "-X raw -tt -T", "-X verbose -T", "-v -T", "-e raw=all -T", "-e trace=process,signal -T",
	"--absolute-timestamps=format:unix,precision:ns --syscall-times=ns", "--absolute-timestamps=format:time,precision:ms --syscall-times=ms",
	"--absolute-timestamps=format:unix,precision:s -T", "--relative-timestamps=ns -T", "-e read=all -e write=all -T", "-k -e trace=openat,execve -T",
	"--seccomp-bpf -e trace=openat,close -T", "--always-show-pid -tt -T", "-N -T", "--color=always -T", "-e inject=close:delay_exit=100 -T",
}

// TestRealStrace reads what the machine's own strace writes, in every form that it knows, and
// compares with the table that it prints of the same run: calls, errors, and the seconds where it
// shows them.
func TestRealStrace(t *testing.T) {
	strace := tool(t, "strace")
	if out, err := exec.Command(strace, "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		unable(t, "strace may not trace here: %s", out)
	}
	for _, options := range straceOptions {
		for _, stderr := range []bool{false, true} {
			name := "o " + options
			if stderr {
				name = "stderr " + options
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && stderr {
					t.Skip("writes no golden file: make golden passes over it")
				}
				checkStrace(t, strace, strings.Fields(options), stderr)
			})
		}
	}
	t.Run("ff", func(t *testing.T) {
		dir := t.TempDir()
		out, err := exec.Command(strace, "-ff", "-tt", "-T", "-o", filepath.Join(dir, "w"), "sh", "-c", workload).CombinedOutput()
		require.NoError(t, err, "%s", out)
		files, err := filepath.Glob(filepath.Join(dir, "w.*"))
		require.NoError(t, err)
		require.Greater(t, len(files), 5)
		all := readOwn(t, dir)
		require.Len(t, all, 1)
		require.Equal(t, withCalls(t, files), all[0].Threads)
		require.Zero(t, all[0].Skipped)
		sum := map[string]int{}
		for _, f := range files {
			for name, n := range readOwn(t, f)[0].Calls {
				sum[name] += n.Count
			}
		}
		for name, n := range all[0].Calls {
			require.Equal(t, sum[name], n.Count, name)
		}
	})
}

// withCalls counts the files in which a call stands: a thread may end before its first one.
func withCalls(t *testing.T, files []string) (n int) {
	t.Helper()
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		if strings.Contains(string(text), "(") {
			n++
		}
	}
	return n
}

// ownTrace is what syscalls says of one trace.
type ownTrace struct {
	Threads, Lines, Skipped int
	Form                    struct{ Durations bool }
	Calls                   map[string]struct {
		Count, Errors int
		Total         float64 `json:"total_seconds"`
	}
	Tables []struct {
		Name          string
		Count, Errors int
		Seconds       float64
	}
	Open []struct{ Name string }
}

func readOwn(t *testing.T, file string) []ownTrace {
	t.Helper()
	var doc struct{ Traces []ownTrace }
	require.NoError(t, json.Unmarshal([]byte(runSyscalls(t, file, "-o", "json")), &doc))
	return doc.Traces
}

func checkStrace(t *testing.T, strace string, options []string, stderr bool) {
	file := filepath.Join(t.TempDir(), "w.strace")
	args := append([]string{"-f", "-C", "-w"}, options...)
	if !stderr {
		args = append(args, "-o", file)
	}
	cmd := exec.Command(strace, append(args, "sh", "-c", workload)...)
	messages, err := os.Create(file + ".err")
	require.NoError(t, err)
	defer messages.Close()
	cmd.Stderr = messages
	err = cmd.Run()
	text, _ := os.ReadFile(file + ".err")
	for _, word := range []string{"invalid option", "unrecognized option", "requires", "not supported", "not implemented", "Invalid", "invalid"} {
		if first, _, _ := strings.Cut(string(text), "\n"); err != nil && strings.Contains(first, word) {
			t.Skipf("this strace does not know it: %s", first)
		}
	}
	require.NoError(t, err, "%.300s", text)
	if stderr {
		file += ".err"
	}
	all := readOwn(t, file)
	require.Len(t, all, 1)
	got := all[0]
	require.Zero(t, got.Skipped)
	require.Empty(t, got.Open)
	rows := 0
	for _, row := range got.Tables {
		if row.Name == "total" {
			continue
		}
		rows++
		n := got.Calls[row.Name]
		require.Equal(t, []int{row.Count, row.Errors}, []int{n.Count, n.Errors}, row.Name)
		if got.Form.Durations && len(options) < 4 && !strings.Contains(strings.Join(options, " "), "ms") {
			require.InDelta(t, row.Seconds, n.Total, 1e-6*float64(n.Count)+1e-6, row.Name)
		}
	}
	require.Equal(t, len(got.Calls), rows)
}

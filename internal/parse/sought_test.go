package parse_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// TestSoughtNumber: one process among all of them; a list of some shows nothing.
func TestSoughtNumber(t *testing.T) {
	const (
		self  = "root      870590  0.0  0.0  16244  1128 pts/2    S+   20:21   0:00 grep --color=auto 24117\n"
		there = "root       24117  0.0  0.0   1024   512 ?        Ss   Jan03   0:00 /pause\n"
	)
	for _, tc := range []struct {
		command, output string
		pid             int
		missed          bool
	}{
		{"ps aux | grep 24117", self, 24117, true},
		{"ps -ef | grep -w 24117 | grep -v grep", "", 24117, true},
		{"sudo ps -eLf | grep 24117", self + there, 24117, false},
		{"ps aux | grep 24117", "bash: ps: command not found\n", 24117, false},
		{"ps | grep 24117", self, 0, false},
		{"ps -u root | grep 24117", self, 0, false},
		{"ps aux | grep -v 24117", there, 0, false},
	} {
		all := parse.NewSections(lines.Input{Path: "f", R: strings.NewReader("[root@node-1 ~]# " + tc.command + "\n" + tc.output)})
		s := all.Next()
		require.NotNil(t, s, tc.command)
		_, err := io.Copy(io.Discard, s.R)
		require.NoError(t, err)
		require.Equal(t, tc.pid, s.Sought.PID, tc.command)
		require.Equal(t, tc.missed, s.Sought.IsMissed(), tc.command+"\n"+tc.output)
	}
}

// TestSought: who looks for a process by its name finds the grep itself at least, and what is no
// line of a list shows nothing.
func TestSought(t *testing.T) {
	const (
		self  = "root      6021  5978  0 14:22 pts/0    00:00:00 grep --color=auto kubelet\n"
		there = "root      1391     1  4 Jan03 ?        02:11:40 /usr/bin/kubelet --config=/var/lib/kubelet/config.yaml\n"
		shim  = "root      2001     1  0 Jan03 ?        00:00:09 /usr/bin/containerd-shim-runc-v2 -id 1 -address /run/containerd/containerd.sock\n"
	)
	for _, tc := range []struct {
		command, output, program string
		found, shim              bool
	}{
		{"ps -ef | grep kubelet", self, "kubelet", false, false},
		{"ps -ef | grep kubelet", self + there, "kubelet", true, false},
		{"sudo ps aux|grep -i [k]ubelet", "", "kubelet", false, false},
		{"ps -ef | grep -v grep | grep 'kubelet'", there, "kubelet", true, false},
		{"ps aux | grep containerd | grep -v grep", shim, "containerd", false, true},
		{"ps aux | grep containerd", "USER  PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n" + shim, "containerd", false, true},
		{"pidof dockerd", "1201\n", "dockerd", true, false},
		{"pgrep -fl crio", "", "crio", false, false},
		{"pidof kubelet", "-bash: pidof: command not found\n", "kubelet", true, false},
		{"ps -ef | grep -v kubelet", there, "", false, false},
		{"ps -ef | grep kubelet | wc -l", "1\n", "", false, false},
		{"docker ps | grep kubelet", "", "", false, false},
	} {
		all := parse.NewSections(lines.Input{Path: "f", R: strings.NewReader("[root@node-1 ~]# " + tc.command + "\n" + tc.output)})
		s := all.Next()
		require.NotNil(t, s, tc.command)
		_, err := io.Copy(io.Discard, s.R)
		require.NoError(t, err)
		require.Equal(t, tc.program, s.Sought.Program, tc.command)
		if tc.program != "" {
			require.Equal(t, []bool{tc.found, tc.shim}, []bool{s.Sought.Found, s.Sought.Shim.Pos.Line > 0}, tc.command+"\n"+tc.output)
		}
	}
}

package incident_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestTranscripts: what stands in a transcript of a shell makes the events that it makes in files
// of its own, at the lines of the transcript.
func TestTranscripts(t *testing.T) {
	dir := t.TempDir()
	for _, s := range []struct {
		command, output string
		events          []string // line of the output, kind, text
	}{
		{
			"ps aux | grep runc",
			"root     27916  0.0  0.0 1079876 11208 ?       Dsl  Nov29   0:00 /usr/local/bin/runc init\n" +
				"root     30112  0.0  0.0 112812   976 pts/0    S+   10:02   0:00 grep --color=auto runc\n",
			[]string{"1 process runc init is in state D, since Nov29"},
		},
		{
			"df -h /run", "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs           395M  395M     0 100% /run\n",
			[]string{"2 filesystem /run is 100% full"},
		},
		{"docker inspect e1ee54c90e35", "^C\n", []string{"0 command.hung docker inspect e1ee54c90e35 does not come back"}},
		{"docker logs -f e1ee54c90e35", "^C\n", nil},
		{"nvidia-smi", "^C\n", []string{"0 command.hung nvidia-smi does not come back"}},
		{"nvidia-smi -l 5", "^C\n", nil},
		{"crictl pods", "(hangs)\n", []string{"0 command.hung crictl pods does not come back"}},
		{"systemctl list-jobs", "No jobs running.\n", []string{"1 fact systemd.jobs = 0"}},
		{"cat /proc/sys/kernel/pid_max", "32768\n", []string{"1 fact node.pid-max = 32768"}},
		{
			"journalctl -u kubelet",
			"Nov 30 10:02:11 node-1 kubelet[1530]: E1130 10:02:11.000123    1530 kubelet.go:1823] skipping pod synchronization - container runtime is down\n",
			[]string{"1 kubelet.stall the runtime did not answer the kubelet", "1 kubelet.runtime-down container runtime is down"},
		},
	} {
		t.Run(s.command, func(t *testing.T) {
			for _, prompt := range []string{"[root@node-1 ~]# ", "root@node-1:/var/log# ", "sh-4.4# ", "$ "} {
				text := "What we saw:\n\n" + prompt + "hostname -s\nnode-1\n" + prompt + s.command + "\n" + s.output + prompt + "\n"
				file := filepath.Join(dir, "console")
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
				inc := load(t, file)
				require.Equal(t, "transcript", inc.Files[0].Format)
				var got []string
				for _, e := range inc.Timeline.Events {
					got = append(got, fmt.Sprintf("%d %s %s", e.Pos().Line-5, e.Kind, e.Text))
				}
				require.Equal(t, strings.Join(s.events, "\n"), strings.Join(got, "\n"), prompt)
				checkLaws(t, file, inc)
				checkDeclared(t, inc)
			}
		})
	}
}

// TestListingBehindAnother: a listing without a header that stands behind what another command of
// its line printed has the columns that its own command names.
func TestListingBehindAnother(t *testing.T) {
	file := filepath.Join(t.TempDir(), "console")
	require.NoError(t, os.WriteFile(file, []byte("root@node-1:~# date -Is; ps -eo pid,ppid,stat,etimes,args | grep '[r]unc --root'\n"+
		"2025-06-03T02:47:18+00:00\n"+
		"2918833 2918801 Sl     1122 runc --root /run/containerd/runc/k8s.io --systemd-cgroup update 0b2d8e61f3a9\n"), 0o600))
	inc := load(t, file)
	require.Len(t, inc.Timeline.Events, 1)
	e := inc.Timeline.Events[0]
	require.Equal(t, "runc update is running, state S", e.Text)
	age, _ := e.Get("age")
	require.Equal(t, "18m42s", age.Text())
	require.Equal(t, "2025-06-03 02:47:18 +0000 UTC", e.End.T.UTC().String())
}

// TestSplitFacts: a fact whose path and value stand on two lines, in two files or behind two
// commands is the fact that one line would tell.
func TestSplitFacts(t *testing.T) {
	const (
		pod     = "/sys/fs/cgroup/freezer/kubepods/burstable/pod0c1/3fa1c2d4e5b6"
		service = "/sys/fs/cgroup/pids/system.slice/containerd.service"
		full    = service + " pids=4915 pids_max=4915 full=true"
	)
	for name, s := range map[string]struct {
		text string
		want []string
	}{
		"cd, then cat": {
			"[root@node-1 ~]# cd " + pod + "\n[root@node-1 3fa1c2d4e5b6]# cat freezer.state\nFROZEN\n",
			[]string{pod + " state=FROZEN frozen=true"},
		},
		"cd && cat": {"# cd " + pod + " && cat freezer.state\nFROZEN\n", []string{pod + " state=FROZEN frozen=true"}},
		"cd in steps": {
			"root@node-1:~# cd /sys/fs/cgroup/freezer\nroot@node-1:/sys/fs/cgroup/freezer# cd kubepods\n" +
				"root@node-1:/sys/fs/cgroup/freezer/kubepods# cat ../kubepods/freezer.state\nTHAWED\n" +
				"root@node-1:/sys/fs/cgroup/freezer/kubepods# cat burstable/freezer.state\nFROZEN\n",
			[]string{"/sys/fs/cgroup/freezer/kubepods/burstable state=FROZEN frozen=true"},
		},
		"a prompt that shows where it stands": {
			"root@node-1:" + service + "# cat pids.current pids.max\n4915\n4915\n", []string{full},
		},
		"a directory that nothing shows": {"# cd $X\n# cat freezer.state\nFROZEN\n", []string{". state=FROZEN frozen=true"}},
		"path and value":                 {pod + "/freezer.state\nFROZEN\n", []string{pod + " state=FROZEN frozen=true"}},
		"path and value below prose": {
			"One pod never thaws.\n\n" + pod + "/freezer.state:\nFROZEN\n", []string{pod + " state=FROZEN frozen=true"},
		},
		"two commands without a prompt": {
			"cat " + service + "/pids.current\n4915\ncat " + service + "/pids.max\n4915\n", []string{full},
		},
		"two commands": {
			"# cat " + service + "/pids.current\n4915\n# cat " + service + "/pids.max\n4915\n", []string{full},
		},
		"read again later": {
			"# cat " + service + "/pids.current\n4000\n# cat " + service + "/pids.current\n4100\n",
			[]string{service + " pids=4000", service + " pids=4100"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "paste.txt")
			require.NoError(t, os.WriteFile(file, []byte(s.text), 0o600))
			inc := load(t, file)
			var got []string
			for _, e := range inc.Timeline.Events {
				if e.Kind == event.KindCgroup {
					var said strings.Builder
					said.WriteString(e.FieldText(event.FieldPath))
					for _, key := range []event.Key{event.FieldState, event.FieldPIDs, event.FieldPIDsMax, event.FieldFrozen, event.FieldFull} {
						if v := e.FieldText(key); v != "" {
							said.WriteString(" " + string(key) + "=" + v)
						}
					}
					got = append(got, said.String())
				}
			}
			require.Equal(t, s.want, got)
			checkLaws(t, file, inc)
			checkDeclared(t, inc)
		})
	}
}

// TestPastedStatus: what /proc/PID/status holds tells the state of its process, alone and below
// other lines.
func TestPastedStatus(t *testing.T) {
	const status = "Name:\tcontainerd-shim\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t4711\nPid:\t4711\nPPid:\t1\n"
	for name, text := range map[string]string{
		"alone": status, "below a log": "Nov 30 10:02:11 node-1 systemd[1]: Started Session 3.\nand the shim:\n" + status + "\nthat is all\n",
		"a command": "$ cat /proc/4711/status\n" + status, "blanks": strings.ReplaceAll(status, "\t", " "),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "paste.txt")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			inc := load(t, file)
			var got []string
			for _, e := range inc.Timeline.Events {
				got = append(got, fmt.Sprintf("%s %s %d %s", e.Kind, e.Component, e.IDs.PID, e.Text))
			}
			require.Equal(t, []string{"process shim 4711 containerd-shim is in state D"}, got)
			checkLaws(t, file, inc)
			checkDeclared(t, inc)
		})
	}
}

// TestLostExit: containerd lists a container as running, and whoever asks for its process finds
// none.
func TestLostExit(t *testing.T) {
	const id = "9b2f6c1d5e0a47833f1d0c6b8a2e49577f6d3b0c1a8e52946d7c0f3b8e1a2d64"
	tasks := "[root@node-1 ~]# ctr -n k8s.io t ls\nTASK    PID    STATUS    \n" + id + "    20874    RUNNING\n"
	for answer, want := range map[string]int{
		"[root@node-1 ~]# ps 20874\n    PID TTY      STAT   TIME COMMAND\n":                                      1,
		"[root@node-1 ~]# sudo ps -fp 20874\nUID          PID    PPID  C STIME TTY          TIME CMD\n":          1,
		"[root@node-1 ~]# ls /proc/20874\nls: cannot access '/proc/20874': No such file or directory\n":          1,
		"[root@node-1 ~]# cat /proc/20874/stack\ncat: /proc/20874/stack: No such file or directory\n":            1,
		"[root@node-1 ~]# kill -9 20874\n-bash: kill: (20874) - No such process\n":                               1,
		"[root@node-1 ~]# ps 20875\n    PID TTY      STAT   TIME COMMAND\n":                                      0,
		"[root@node-1 ~]# ps 20874\n    PID TTY      STAT   TIME COMMAND\n  20874 ?        Ss     0:00 /pause\n": 0,
	} {
		for _, text := range []string{tasks + answer, answer + tasks} {
			file := filepath.Join(t.TempDir(), "console")
			require.NoError(t, os.WriteFile(file, []byte(text+"[root@node-1 ~]# \n"), 0o600))
			inc := load(t, file)
			found := 0
			for i := range inc.Timeline.Events {
				if e := inc.Timeline.Events[i]; e.Kind == event.KindContainerState && e.FieldText(event.FieldExited) == "true" {
					require.Equal(t, id, e.IDs.Container)
					found++
				}
			}
			require.Equal(t, want, found, text)
		}
	}
}

// TestUnseenEnd: the CRI lists a container as running that another program has as stopped.
func TestUnseenEnd(t *testing.T) {
	const (
		id      = "9b2f6c1d5e0a47833f1d0c6b8a2e49577f6d3b0c1a8e52946d7c0f3b8e1a2d64"
		prompt  = "[root@node-1 ~]# "
		running = prompt + "crictl ps |grep web\n9b2f6c1d5e0a4       e5a616e4b9cf6       9 hours ago         Running             web           1                   3e290bae764a1\n"
		exited  = prompt + "crictl ps -a |grep web\n9b2f6c1d5e0a4       e5a616e4b9cf6       About an hour ago   Exited              web           1                   3e290bae764a1\n"
		headed  = prompt + "crictl ps\nCONTAINER           IMAGE               CREATED             STATE               NAME                ATTEMPT             POD ID\n9b2f6c1d5e0a4       e5a616e4b9cf6       9 hours ago         Running             web                 1                   3e290bae764a1\n"
		docker  = prompt + "docker ps\nCONTAINER ID        IMAGE               COMMAND             CREATED             STATUS              PORTS               NAMES\n9b2f6c1d5e0a        nginx               \"nginx\"             9 hours ago         Up 9 hours                              web\n"
		row     = id + "    17103    STOPPED\n"
		tasks   = prompt + "ctr -n k8s.io t ls |grep 9b2\n" + row
		state   = "{\n  \"ociVersion\": \"1.0.1-dev\",\n  \"id\": \"" + id + "\",\n  \"pid\": 0,\n  \"status\": \"stopped\",\n  \"owner\": \"\"\n}"
		runc    = prompt + "runc --root /run/containerd/runc/k8s.io/ state " + id + "\n" + state
		other   = "0c1a8e52946d7c0f3b8e1a2d649b2f6c1d5e0a47833f1d0c6b8a2e49577f6d3b"
	)
	for text, want := range map[string]struct{ found, sure int }{
		runc + running + tasks:                        {1, 1},
		tasks + headed + runc:                         {1, 1},
		running + tasks + runc:                        {1, 0}, // it may have ended in between
		running + tasks:                               {1, 0},
		runc + running:                                {1, 0},
		running + tasks + exited:                      {}, // the CRI was late by moments
		exited + tasks + runc:                         {},
		docker + tasks + runc:                         {},
		tasks + runc:                                  {},
		running + prompt + "ctr -n moby t ls\n" + row: {},
		running + prompt + "ctr -n k8s.io t ls\n" + other + "    17103    STOPPED\n":              {},
		running + prompt + "ctr -n k8s.io t ls\n" + strings.Replace(row, "STOPPED", "RUNNING", 1): {},
	} {
		file := filepath.Join(t.TempDir(), "console")
		require.NoError(t, os.WriteFile(file, []byte(text+prompt+"\n"), 0o600))
		inc := load(t, file)
		found, sure := 0, 0
		for i := range inc.Timeline.Events {
			if e := inc.Timeline.Events[i]; e.Kind == event.KindContainerState && e.FieldText(event.FieldExited) == "true" {
				require.Equal(t, id, e.IDs.Container)
				found++
				if e.FieldText(event.FieldOverdue) == "true" {
					sure++
				}
			}
		}
		require.Equal(t, want.found, found, text)
		require.Equal(t, want.sure, sure, text)
	}
}

// TestImagesAreFull: an image that nobody writes to is full from the start, and no sign.
func TestImagesAreFull(t *testing.T) {
	inc := loadFiles(t, map[string]string{"df.txt": `Filesystem     1K-blocks      Used Available Use% Mounted on
/dev/sda1       30428648  12428648  18000000  41% /
/dev/loop3        100224    100224         0 100% /snap/core/10583
`})
	require.Empty(t, inc.Result.Signs)
	require.Len(t, inc.Timeline.Events, 1)
}

// TestPrintedStacks: the files of a thread that one command prints, and stacks below a date, which
// say nothing of the state of their threads.
func TestPrintedStacks(t *testing.T) {
	const stack = "[<0>] fanotify_handle_event+0xd5/0x4ee\n[<0>] send_to_group+0x16a/0x6ba\n[<0>] fsnotify+0x17e/0x6ec\n"
	const in = "thread.sample containerd containerd, thread 51034, in fanotify_handle_event"
	for name, text := range map[string]string{
		"braces, a stack for each":   "# cat /proc/51023/task/51034/{comm,stack}\ncontainerd\n" + stack + "\n# cat /proc/441/task/441/{comm,stack}\nbash\n[<0>] do_wait+0x1/0x2\n",
		"braces at a prompt":         "[root@n1 ~]# cat /proc/51023/task/51034/{comm,stack}\ncontainerd\n" + stack + "[root@n1 ~]# \n",
		"several files at a prompt":  "[root@n1 ~]# cat /proc/51023/task/51034/comm /proc/51023/task/51034/stack\ncontainerd\n" + stack + "[root@n1 ~]# \n",
		"a date above":               "date: Wed Jun 12 10:01:40 UTC 2024\n# cat /proc/51023/task/51034/{comm,stack}\ncontainerd\n" + stack,
		"a loop over /proc":          "/proc/51023/task/51034 containerd\n" + stack + "/proc/441/task/441 bash\n[<0>] do_wait+0x1/0x2\n",
		"a number and a name":        "51034 containerd\n" + stack,
		"a number, a name, a state":  "PID 51034 containerd D\n" + stack,
		"a number with a colon":      "51034: containerd\n" + stack,
		"a name and a number":        "containerd 51034 D\n" + stack,
		"a name in brackets":         "[containerd:51034]\n" + stack,
		"a path between dashes":      "--- /proc/51023/task/51034 containerd ---\n" + stack,
		"two commands at a prompt":   "root@n1:~# cat /proc/51034/comm && cat /proc/51034/stack\ncontainerd\n" + stack,
		"status and stack":           "[root@n1 ~]# cat /proc/51023/task/51034/{status,stack}\nName:\tcontainerd\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t51023\nNgid:\t0\nPid:\t51034\nPPid:\t1\nThreads:\t31\n" + stack + "[root@n1 ~]#\n",
		"a time in the head of each": "=== 10:01:40 pid 51023 tid 51034 comm containerd state D\n" + stack,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "stacks.txt")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			inc := load(t, file)
			var got []string
			for _, e := range inc.Timeline.Events {
				got = append(got, fmt.Sprintf("%s %s %s", e.Kind, e.Component, e.Text))
				require.Equal(t, name == "a date above", !e.Start.IsZero())
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], in)
		})
	}
}

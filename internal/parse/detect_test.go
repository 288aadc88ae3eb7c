package parse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamedProc: a name makes no file of /proc of something else.
func TestNamedProc(t *testing.T) {
	for _, tt := range []struct {
		file, head, want string
	}{
		{"proc/7/wchan", "folio_wait_bit", "proc"},
		{"proc/7/wchan", "0", "proc"},
		{"proc/7/syscall", "running\n", "proc"},
		{"7.syscall", "166 0xc000 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x55aa\n", "proc"},
		{"proc/7/stat", "7 (evil) D 1 (x) S 1 7 7 0\n", "proc"},
		{"proc/7/cgroup", "4:pids:/kubepods\n0::/\n", "proc"},
		{"7.stack", "[<0>] f+0x1/0x2\n[<0>] 0xffffffffffffffff\n", "proc"},
		{"proc/stat", "cpu  1 2 3\n", Text},
		{"node-status.yaml", "conditions:\ntype: Ready\n", Text},
		{"systemctl_status_kubelet", "Active: active\n", Text},
		{"stack.7.txt", "goroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1d\n", "goroutines"},
		{"call-stack-7.log", "something else\n", Text},
		{"wchan.txt", "two words\n", Text},
	} {
		f, ok := Detect([]byte(tt.head), tt.file)
		require.True(t, ok, tt.file)
		require.Equal(t, tt.want, f.Name, tt.file)
	}
}

// TestBracketIsNoJSON: a bracket behind white space opens stamps and states, too.
func TestBracketIsNoJSON(t *testing.T) {
	for _, tt := range []struct{ head, want string }{
		{"    [  467.112195] ata2.00: x\n    [  484.467834] INFO: task kubelet:970 blocked for more than 120 seconds.\n", Text},
		{"\t[    3.100000] x: y\n\t[  484.467834] z: x\n", Text},
		{"  [Thu May  4 10:00:00 2023] x: y\n  [Thu May  4 10:00:01 2023] x: y\n", Text},
		{"  [1234]: x\n  [ OK ] Started x\n  \"a\"\n", Text},
		{"  [0] kube.kubelet: [1.5, {}]\n  [1] kube.kubelet: [1.5, {}]\n", Text},
		{"  [\n    {\"kind\": \"Node\"},\n    {\"kind\": \"Node\"}\n  ]\n", "json"},
		{"  {\"kind\": \"Node\",\n    \"metadata\": {\n      ...\n    }\n  }\n", "json"},
	} {
		f, ok := Detect([]byte(tt.head), "a.txt")
		require.True(t, ok, tt.head)
		require.Equal(t, tt.want, f.Name, tt.head)
	}
}

// TestLogAboveDump: of a fatal error the log line that says which stands above the stacks; a text
// with both is a log that carries a dump.
func TestLogAboveDump(t *testing.T) {
	const dump = "goroutine 356 [running]:\nk8s.io/kubernetes/pkg/kubelet.(*Kubelet).f(0x1)\n\t/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1230 +0x14f\n"
	for head, want := range map[string]string{
		dump:                  "goroutines",
		"G" + dump[len("g"):]: "goroutines",
		"F0110 21:30:25.764493   42304 kubelet.go:1230] Failed to start cAdvisor inotify_init: too many open files\n" + dump: Text,
	} {
		f, ok := Detect([]byte(head), "a.txt")
		require.True(t, ok, head)
		require.Equal(t, want, f.Name, head)
	}
}

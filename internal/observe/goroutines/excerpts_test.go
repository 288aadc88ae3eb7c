package goroutines

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// TestExcerpts: what the waits of goroutines are that people cut out of dumps, where the frames
// below are missing.
func TestExcerpts(t *testing.T) {
	const cmd = "os/exec.(*Cmd).CombinedOutput"
	for name, c := range map[string]struct {
		state     string
		funcs     []string
		component string
		doing     string
	}{
		"a mount of a volume": {
			"syscall, 12 minutes",
			[]string{"os.(*Process).wait", cmd, "k8s.io/kubernetes/pkg/util/mount.(*NsenterMounter).IsLikelyNotMountPoint"},
			"kubelet", "mount-command",
		},
		"a mount of another program": {
			"syscall, 12 minutes",
			[]string{"os.(*Process).wait", cmd, "k8s.io/mount-utils.(*Mounter).doMount"},
			"", "mount-command",
		},
		"a volume that does not answer": {
			"syscall, 12 minutes",
			[]string{"syscall.fstatat", "os.statNolog", "k8s.io/kubernetes/pkg/volume/util.IsCorruptedMnt"},
			"kubelet", "file",
		},
		"a database that is open twice": {
			"sleep",
			[]string{"time.Sleep", "github.com/containerd/containerd/vendor/go.etcd.io/bbolt.flock"},
			"containerd", "file-lock",
		},
		"a stop behind another stop": {
			"select, 9 minutes",
			[]string{"github.com/cri-o/cri-o/internal/oci.(*Container).WaitOnStopTimeout", "github.com/cri-o/cri-o/internal/oci.(*runtimeOCI).StopContainer"},
			"crio", "container-stop",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := kindsOf(dumped(t, stackOf("64", c.state, c.funcs...)), event.KindGoroutine)
			require.Len(t, all, 1)
			require.Equal(t, c.component, all[0].Component)
			require.Equal(t, c.doing, field(t, &all[0], "doing"))
		})
	}
}

// TestCallInLink: a frame that Markdown made a link of names its request without the arguments.
func TestCallInLink(t *testing.T) {
	require.Equal(t, "ListContainers", methodAfter("server.(*criService).ListContainers(0xc0003aaa00", "(*criService)."))
}

// TestTreeOfDocker: where a library's frames are all that is left, the path of its source tells
// whose it is.
func TestTreeOfDocker(t *testing.T) {
	for path, component := range map[string]string{
		"/build/docker-1.11.2/vendor/src/github.com/vishvananda/netlink/nl/nl_linux.go": "dockerd",
		"/go/pkg/mod/github.com/vishvananda/netlink@v1.1.0/nl/nl_linux.go":              "cni",
	} {
		text := "goroutine 7 [syscall, 9 minutes]:\ngithub.com/vishvananda/netlink/nl.(*NetlinkSocket).Receive(0xc000100000)\n\t" + path + ":341 +0xae\n"
		require.Equal(t, component, Program(stackdump.Parse(stackdump.Source{File: "g.log", Line: 1, Text: text})), path)
	}
}

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

// TestCutWaiter: a stack that was cut before it shows who wants the lock does not hide the one that
// shows it.
func TestCutWaiter(t *testing.T) {
	const whole = "goroutine 3469 [semacquire, 10 minutes]:\nsync.(*Mutex).Lock(0xc820482bd0)\n\t/usr/local/go/src/sync/mutex.go:83 +0x1c4\n" +
		"github.com/docker/docker/daemon.(*Daemon).reducePsContainer(0xc820372000)\n\t/go/daemon/list.go:187 +0x49\n" +
		"github.com/docker/docker/daemon.(*Daemon).Containers(0xc820372000)\n\t/go/daemon/list.go:91 +0x76\n"
	const cut = "goroutine 3381 [semacquire, 32 minutes]:\nsync.(*Mutex).Lock(0xc820482bd0)\n\t/usr/local/go/src/sync/mutex.go:83 +0x1c4\n"
	for _, text := range []string{whole + "\n" + cut, cut + "\n" + whole} {
		all := kindsOf(dumped(t, text), event.KindLockQueue)
		require.Len(t, all, 1)
		require.Equal(t, "Containers", field(t, &all[0], "call"))
		require.Equal(t, "Container", field(t, &all[0], "owner"))
		require.Equal(t, uint64(3469), all[0].IDs.Goroutine)
	}
}

// TestRelistOfProfile: relist that waits in itself sends an event; what it calls, or its running,
// is something else.
func TestRelistOfProfile(t *testing.T) {
	const frames = "#\t0x30d4f3d\tk8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG).relist+0x74d\t/go/pleg/generic.go:261\n" +
		"#\t0xad7473\tk8s.io/apimachinery/pkg/util/wait.JitterUntil+0x53\t/go/wait.go:133\n"
	for text, phase := range map[string]string{
		"goroutine profile: total 1\n1 @ 0x42fcaa 0x4066cb 0x406465 0x30d4f3e 0xad7474 0x45d2f1\n" + frames: "send",
		"goroutine profile: total 1\n1 @ 0x30d4f3e 0xad7474 0x45d2f1\n" + frames:                            "unknown",
	} {
		all := kindsOf(dumped(t, text), event.KindRelist)
		require.Len(t, all, 1)
		require.Equal(t, phase, field(t, &all[0], "phase"))
	}
}

package goroutines

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// stackOf is a goroutine with these functions, innermost first, each in a file of its own.
func stackOf(id, state string, funcs ...string) string {
	var b strings.Builder
	b.WriteString("goroutine " + id + " [" + state + "]:\n")
	for _, f := range funcs {
		b.WriteString(f + "(0xc000100000)\n\t/src/x.go:7 +0x1\n")
	}
	return b.String() + "created by main.main in goroutine 1\n\t/src/m.go:3 +0x1\n"
}

const (
	pleg       = "k8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG)."
	kuberun    = "k8s.io/kubernetes/pkg/kubelet/kuberuntime.(*kubeGenericRuntimeManager)."
	grpcInvoke = "google.golang.org/grpc.(*ClientConn).Invoke"
	criClient  = "k8s.io/cri-api/pkg/apis/runtime/v1.(*runtimeServiceClient)."
	criServer  = "github.com/containerd/containerd/v2/internal/cri/server."
	dispatch   = "github.com/containerd/ttrpc.(*Client).dispatch"
	shimClient = "github.com/containerd/containerd/api/runtime/task/v3.(*ttrpctaskClient)."
)

// TestRelistOnDemand: the frames of Kubernetes 1.36, where a relist of one pod keeps the others
// from running.
func TestRelistOnDemand(t *testing.T) {
	loop := []string{pleg + "workerLoopIteration", pleg + "Start.func1"}
	for name, c := range map[string]struct {
		state string
		funcs []string
		phase string // empty: no relist
	}{
		"all pods": {"select", []string{grpcInvoke, criClient + "ListPodSandbox", kuberun + "getKubeletSandboxes", kuberun + "GetPods", pleg + "Relist"}, "list"},
		"one pod":  {"select", []string{grpcInvoke, criClient + "ListPodSandbox", kuberun + "getKubeletSandboxes", kuberun + "getPods", kuberun + "GetPod", pleg + "relistPod"}, "list"},
		"its state": {
			"select",
			[]string{grpcInvoke, criClient + "ContainerStatus", kuberun + "GetPodStatus", pleg + "updateCache", pleg + "reconcilePodRecord", pleg + "relistPod"},
			"pod",
		},
		"full channel": {"chan send", []string{pleg + "reconcilePodRecord", pleg + "Relist"}, "send"},
		"between two":  {"select", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := kindsOf(dumped(t, stackOf("64", c.state+", 4 minutes", append(c.funcs, loop...)...)), event.KindRelist)
			if c.phase == "" {
				require.Empty(t, all)
				return
			}
			require.Len(t, all, 1)
			require.Equal(t, c.phase, field(t, &all[0], "phase"))
		})
	}
}

// TestFrames2026: what goroutines of containerd 2.3 and 2.4 and of runc 1.5 wait for.
func TestFrames2026(t *testing.T) {
	const dbus = "github.com/godbus/dbus/v5.(*Object).CallWithContext"
	for name, c := range map[string]struct {
		state            string
		funcs            []string
		doing, rpc, call string // empty: nothing is told
	}{
		"stats collector between two": {"select, 9 minutes", []string{criServer + "(*StatsCollector).collectLoop"}, "", "", ""},
		"stats collector at a shim": {
			"select, 9 minutes",
			[]string{
				dispatch, shimClient + "Stats", "github.com/containerd/containerd/v2/core/runtime/v2.(*shimTask).Stats",
				criServer + "(*StatsCollector).collectContainerStats", criServer + "(*StatsCollector).collectLoop",
			},
			"shim", "Stats", "collectLoop",
		},
		"metrics of an exit": {
			"select, 2 minutes",
			[]string{dispatch, shimClient + "Stats", criServer + "(*criService).oomMetricsEventOccurred", criServer + "(*criService).handleContainerExit"},
			"shim", "Stats", "handleContainerExit",
		},
		"resize of a pod": {
			"select, 2 minutes",
			[]string{dispatch, shimClient + "Update", criServer + "(*criService).UpdatePodSandboxResources"},
			"shim", "Update", "UpdatePodSandboxResources",
		},
		"an NRI plugin": {
			"select",
			[]string{
				dispatch, "github.com/containerd/nri/pkg/api.(*pluginClient).UpdateContainer", "github.com/containerd/nri/pkg/adaptation.(*plugin).updateContainer",
				"github.com/containerd/nri/pkg/adaptation.(*Adaptation).UpdateContainer", criServer + "(*criService).UpdateContainerResources",
			},
			"nri-plugin", "updateContainer", "UpdateContainerResources",
		},
		"mount manager": {
			"sync.RWMutex.RLock",
			[]string{"sync.(*RWMutex).RLock", "github.com/containerd/containerd/v2/core/mount/manager.(*mountManager).Activate", criServer + "(*criService).CreateContainer"},
			"mount-manager", "Activate", "CreateContainer",
		},
		"runc exec over D-Bus": {
			"chan receive, 3 minutes",
			[]string{
				dbus, "github.com/coreos/go-systemd/v22/dbus.(*Conn).AttachProcessesToUnit", "github.com/opencontainers/cgroups/systemd.addPid",
				"github.com/opencontainers/cgroups/systemd.(*LegacyManager).AddPid", "github.com/opencontainers/runc/libcontainer.(*setnsProcess).addIntoCgroupV1",
				"github.com/opencontainers/runc/libcontainer.(*setnsProcess).start",
			},
			"dbus", "", "AddPid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := kindsOf(dumped(t, stackOf("64", c.state, c.funcs...)), event.KindGoroutine)
			if c.doing == "" {
				require.Empty(t, all)
				return
			}
			require.Len(t, all, 1)
			require.Equal(t, c.doing, field(t, &all[0], "doing"))
			require.Equal(t, c.rpc, field(t, &all[0], "rpc"))
			require.Equal(t, c.call, field(t, &all[0], "call"))
		})
	}
}

// TestStreamsWaitForStatusLock: the streams of lists of containerd 2.4 wait for a Status lock as
// the lists do.
func TestStreamsWaitForStatusLock(t *testing.T) {
	const status = "github.com/containerd/containerd/v2/internal/cri/store/container.(*statusStorage)."
	text := "goroutine 1 [running]:\nmain.main()\n\t/src/m.go:1 +0x1\n\n" +
		stackOf("52", "select, 2 minutes", dispatch, shimClient+"Update", criServer+"(*criService).UpdateContainerResources.func1", status+"UpdateSync",
			criServer+"(*criService).UpdateContainerResources") + "\n" +
		stackOf("60", "sync.RWMutex.RLock, 2 minutes", "sync.(*RWMutex).RLock", status+"Get", criServer+"toCRIContainer", criServer+"(*criService).StreamContainers")
	text = regexp.MustCompile(`(criService[^(]*|ttrpc[A-Za-z]*Client\)[^(]*|Client\).dispatch)\(0xc000100000`).ReplaceAllString(text, "$1(0xc000900000")
	all := dumped(t, strings.ReplaceAll(text, "RLock(0xc000100000)", "RLock(...)"))
	waits := kindsOf(all, event.KindLockWait)
	require.Len(t, waits, 1)
	require.Equal(t, "StreamContainers", field(t, &waits[0], "call"))
	held := kindsOf(all, event.KindLockHeld)
	require.Len(t, held, 1)
	require.Equal(t, "UpdateContainerResources", field(t, &held[0], "call"))
}

// TestProgramByFrames: no file name says whose goroutines these are.
func TestProgramByFrames(t *testing.T) {
	for f, want := range map[string]string{
		"github.com/cilium/cilium/pkg/endpoint.(*Endpoint).lockAlive":                            "cni",
		"github.com/projectcalico/calico/felix/dataplane/linux.(*InternalDataplane).loop":        "cni",
		"k8s.io/kubernetes/pkg/proxy/iptables.(*Proxier).syncProxyRules":                         "kube-proxy",
		"gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/multus.CmdAdd":                          "cni",
		"github.com/container-storage-interface/spec/lib/go/csi._Node_NodePublishVolume_Handler": "csi",
		"github.com/docker/containerd/supervisor.(*Supervisor).Start":                            "containerd",
		"github.com/opencontainers/runc/libcontainer.(*initProcess).start":                       "runc",
		"k8s.io/kubernetes/pkg/kubelet/dockershim/network.(*PluginManager).GetPodNetworkStatus":  "kubelet",
		"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task.(*service).State":  "shim",
		"gvisor.dev/gvisor/pkg/shim/v1/proc.(*Init).Stats":                                       "shim",
		"github.com/cri-o/cri-o/server.(*Server).ListContainers":                                 "crio",
		"github.com/AliyunContainerService/terway/daemon.(*networkService).AllocIP":              "cni",
		"example.org/own/program.main":                                                           "",
	} {
		all := dumped(t, stackOf("5", "syscall, 3 minutes", "syscall.Syscall6", "os.Stat", f))
		require.NotEmpty(t, all, f)
		require.Equal(t, want, all[0].Component, f)
	}
}

// Libcontainer inside of the kubelet is the kubelet's, also where nothing else of it was pasted.
func TestVendoredProgram(t *testing.T) {
	const libcontainer = "github.com/opencontainers/runc/libcontainer/cgroups/systemd.stopUnit"
	for f, want := range map[stackdump.Frame]string{
		{Func: libcontainer, File: "/go/src/k8s.io/kubernetes/vendor/github.com/opencontainers/runc/libcontainer/cgroups/systemd/common.go"}: "kubelet",
		{Func: "k8s.io/kubernetes/vendor/" + libcontainer}:                                                          "kubelet",
		{Func: "github.com/cri-o/cri-o/vendor/" + libcontainer}:                                                     "crio",
		{Func: libcontainer, File: "/go/src/github.com/opencontainers/runc/libcontainer/cgroups/systemd/common.go"}: "runc",
	} {
		d := &stackdump.Dump{Goroutines: []stackdump.Goroutine{{Frames: []stackdump.Frame{f}}}}
		require.Equal(t, want, Program(d), f.Func+" "+f.File)
	}
}

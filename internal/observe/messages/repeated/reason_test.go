package repeated

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestFailureReason(t *testing.T) {
	for _, c := range []struct{ method, text, want string }{
		{"RunPodSandbox", `failed to get sandbox image "registry.k8s.io/pause:3.9": failed to pull image "registry.k8s.io/pause:3.9": failed to do request: Head "https://registry.k8s.io/v2/pause/manifests/3.9": dial tcp 10.0.0.1:443: i/o timeout`, "pause-image"},
		{"RunPodSandbox", `failed to get sandbox image "602401143452.dkr.ecr.eu-central-1.amazonaws.com/e`, "pause-image"}, // cut, or broken over two lines
		{"RunPodSandbox", `failed to resolve reference "registry.k8s.io/pause:3.9": registry.k8s.io/pause:3.9: not found`, "pause-image"},
		{"RunPodSandbox", `failed to create shim task: OCI runtime create failed: runc did not terminate succ` + "esfully: exit status 127: unknown", "runtime-program"},
		{"StartContainer", `failed to create shim: exec: \\\"runc\\\": executable file not found in $PATH: unknown`, "runtime-program"},
		{"RunPodSandbox", `failed to start shim: start failed: fork/exec /usr/bin/containerd-shim-runc-v2: no such file or directory`, "runtime-program"},
		{"RunPodSandbox", "cri-o configured with systemd cgroup manager, but did not receive slice as parent: /kubepods/burstable/pod1", "cgroup-driver"},
		{"RunPodSandbox", "cri-o configured with cgroupfs cgroup manager, but received systemd slice as parent: kubepods.slice", "cgroup-driver"},
		{"CreateContainer", `expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/kubepods/burstable/pod1/c"`, "cgroup-driver"},
		{"CreateContainer", "container create failed: writing file `devices.allow`: Operation not permitted\\n", "device-rules"},
		{"StartContainer", `error setting cgroup config for procHooks process: failed to write "a *:* rwm": write /sys/fs/cgroup/devices/kubepods/besteffort/pod1/c/devices.allow: operation not permitted`, "device-rules"},
		{"RunPodSandbox", `error setting cgroup config for procHooks process: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted`, "device-rules"},
		{"RunPodSandbox", `failed to call BPF_PROG_ATTACH (BPF_CGROUP_DEVICE, BPF_F_ALLOW_MULTI): can't attach program: invalid argument`, "device-rules"},
		{"StartContainer", `setting cgroup config for procHooks process caused: load program: invalid argument`, "device-rules"},
		{"UpdateContainerResources", `failed to call BPF_PROG_ATTACH (BPF_CGROUP_DEVICE, BPF_F_ALLOW_MULTI): argument list too long`, ""}, // a leak of programs
		{"RunPodSandbox", `plugin type=\"calico\" failed (add): stat /var/lib/calico/nodename: no such file or directory: check that the calico/node container is running`, "cni-no-file"},
		{"RunPodSandbox", `plugin type="weave-net" name="weave" failed (add): unable to allocate IP address: Post "http://127.0.0.1:6784/ip/x": dial tcp 127.0.0.1:6784: connect: connection refused`, "cni-no-daemon"},
		{"RunPodSandbox", `plugin type="cilium-cni" failed (add): Get "http://localhost/v1/config": dial unix /var/run/cilium/cilium.sock: connect: no such file or directory`, "cni-no-daemon"},
		{"RunPodSandbox", `plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): CNI request failed with status 400: 'context deadline exceeded'`, "cni-silent"},
		{"StopPodSandbox", `plugin type="calico" failed (delete): error getting ClusterInformation: Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default": dial tcp 10.96.0.1:443: i/o timeout`, "cni-no-api-server"},
		{"StopPodSandbox", `plugin type="calico" failed (delete): error getting ClusterInformation: connection is unauthorized: Unauthorized`, "cni-unauthorized"},
		{"RunPodSandbox", `failed to set bridge addr: "cni0" already has an IP address different from 10.244.1.1/24`, "cni-old-bridge"},
		{"StopPodSandbox", `network: unexpected end of JSON input`, "cni-damaged-file"},
		{"StopPodSandbox", `network: netplugin failed but error parsing its diagnostic message \"\": unexpected end of JSON input`, "cni-crashed"},
		{"RunPodSandbox", `plugin type="azure-vnet" failed (add): netplugin failed: "panic: assignment to entry in nil map\\n\\ngoroutine 1 [running]:"`, "cni-crashed"},
		{"RunPodSandbox", `failed to find plugin "flannel" in path [/opt/cni/bin]`, "cni-no-program"},
		{"RunPodSandbox", `add cmd: failed to assign an IP address to container`, "cni-no-address"},
		{"RunPodSandbox", `netplugin failed with no error message: signal: killed`, "cni-killed"},
		{"RunPodSandbox", `plugin type="azure-vnet" failed (add): Failed to initialize key-value store of network plugin: timed out locking store`, "cni-locked"},
		{"RunPodSandbox", `Error adding pod to network azure-vnet: unexpected end of JSON input`, "cni-damaged-file"},

		{"ExecSync", `exec: "runc": executable file not found in $PATH`, ""}, // the container's own program, whatever its name
		{"CreateContainer", `failed to find plugin "flannel"`, ""},           // no plugin runs then
		{"RunPodSandbox", `CNI request failed with status 400: Get "https://172.30.0.1:443/x": context deadline exceeded`, ""},
		{"RunPodSandbox", `context deadline exceeded`, ""},
	} {
		var got string
		if fields := FailureReason(c.method, c.text); fields != nil {
			got = fields[0].Value.Text()
		}
		assert.Equal(t, c.want, got, c.text)
	}
}

// Each reason is one that the kinds declare, and each that they declare is looked for.
func TestFailureReasonsAreDeclared(t *testing.T) {
	var known []string
	for _, f := range failures {
		known = append(known, f.reason)
	}
	for _, kind := range []event.Kind{event.KindCRIError, event.KindCRICall} {
		assert.ElementsMatch(t, event.KindNamed(kind).Field(event.FieldReason).Values, known, kind)
	}
}

// What is looked for at first is part of every sign: no error is passed over that one of them
// names.
func TestFindSignsMissesNone(t *testing.T) {
	for _, f := range failures {
		for _, s := range f.signs {
			for i, words := range s {
				for _, word := range words {
					all := make([]string, len(s))
					for j := range s {
						all[j] = s[j][0]
					}
					all[i] = word
					text := strings.Join(all, " ")
					for _, method := range f.methods {
						assert.NotNil(t, FailureReason(method, text), "%s: %s", method, text)
					}
				}
			}
		}
	}
}

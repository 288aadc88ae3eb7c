package lines

// typical is what most lines of a node's logs look like. What is rare in it is rare in logs.
const typical = `Nov 19 00:00:00.215466 node-1 kubelet[1530]: I1119 00:00:00.215466    1530 status_manager.go:554] "Patch status for pod" pod="kube-system/coredns-565d847f94-5e998" podUID=09b2f164-6944-58ad-f009-1a25947bc1ca
Nov 19 00:00:00 node-1 kubelet[1530]: I1119 00:00:00.430933    1530 kubelet.go:2125] "SyncLoop (PLEG): event for pod" pod="default/service-7733083620" event=&{ID:9a61c1ba-f624-91ff-9af2-910fd4a3bcdf Type:ContainerStarted Data:7a065d90b24bd910b5add9a9}
I1119 00:00:01.202666    1530 reconciler.go:269] "operationExecutor.MountVolume started for volume \"kube-api-access-21c26\" (UniqueName: \"kubernetes.io/projected/793e93f3-3fbb-66d8-kube-api-access\") pod \"service-ad41ce80ad\" " pod="team-3/service"
E1119 00:00:00.995733    1530 remote_runtime.go:597] "ContainerStatus from runtime service failed" err="rpc error: code = NotFound desc = an error occurred when try to find container \"24a6589e4499\": not found" containerID="24a6589e4499"
Nov 19 00:00:00 node-1 containerd[43]: time="2026-11-20T18:25:12.300192142Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}"
time="2026-11-20T18:25:12.300192142Z" level=debug msg="received exec event" module=containerd topic=/tasks/exec-added namespace=k8s.io type=io.containerd.runc.v2
time="2026-11-20T18:25:12Z" level=info msg="StopContainer for \"40585f73d61c\" with timeout 30 (s)"
{"ts":1753121294157.29,"caller":"prober/prober.go:116","msg":"Probe succeeded","probeType":"Liveness","pod":{"name":"service-7f397edfaa","namespace":"team-4"},"duration":"41ms"}
Nov 19 00:00:02 node-1 systemd[1]: Started libcontainer container 94808f7fffed1c84e762af9c05becba740a651d4a1aeed3a93bf66d9568ed7ed.
Nov 19 00:00:02 node-1 kernel: [ 1234.567890] eth0: renamed from veth1a2b3c4
2026-11-12T00:00:07.946300+00:00 node-1 containerd[44]: time="2026-11-12T00:00:07.942689017Z" level=info msg="starting containerd" revision=207ad711eabd375a01713109a8a197d197ff6542 version=v2.2.1
time="2026-11-12T00:00:07.942689017Z" level=info msg="loading plugin" id=io.containerd.snapshotter.v1.overlayfs type=io.containerd.snapshotter.v1
time="2026-11-12T00:00:07.942689017Z" level=info msg="skip loading plugin" error="skip plugin: tracing endpoint not configured" id=io.containerd.internal.v1.tracing type=io.containerd.internal.v1
time="2026-11-12T00:00:07.942689017Z" level=info msg=serving... address=/run/containerd/containerd.sock.ttrpc
time="2026-11-12T00:00:08.039434547Z" level=debug msg="starting signal loop" namespace=k8s.io path=/run/containerd/io.containerd.runtime.v2.task/k8s.io/b682fbe8989a46bf pid=120 runtime=io.containerd.runc.v2
time="2026-11-12T00:00:08.039434547Z" level=debug msg="registering ttrpc service" id=io.containerd.ttrpc.v1.task runtime=io.containerd.runc.v2
time="2026-11-12T00:00:08.039434547Z" level=info msg="connecting to shim b682fbe8989a46bf" address="unix:///run/containerd/s/3b9d9c7b5a3b" namespace=k8s.io protocol=ttrpc version=3
time="2026-11-12T00:00:08.001365777Z" level=debug msg="activating mount" mounts="[{overlay overlay  [workdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/2/work upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/2/fs]}]"
time="2026-11-12T00:03:02.709501611Z" level=debug msg="StatsCollector: failed to load cgroupv1: /kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podcb1fc75d_a823_44ce_ab17.slice" error="cgroups: cgroup deleted"
time="2026-11-12T00:03:02.709501611Z" level=debug msg="Received containerd event timestamp - 2026-11-12 00:00:07.914398268 +0000 UTC, namespace - \"k8s.io\", topic - \"/images/create\""
time="2026-11-12T00:03:02.709501611Z" level=debug msg="sandbox container spec: (*specs.Spec)(0x1c2e1f65a6e0){Version:(string)1.3.0 Process:(*specs.Process)(0x1c2e1f556200){Terminal:(bool)false ConsoleSize:(*specs.Box)<nil> User:(specs.User){UID:(uint32)0 Additional:([]uint32)<nil> Username:(string)}
Capabilities:(*specs.LinuxCapabilities)(0x1c2e1f702200){Bounding:([]string)[CAP_CHOWN CAP_DAC_OVERRIDE CAP_FSETID CAP_FOWNER CAP_NET_RAW CAP_SETGID CAP_SETFCAP CAP_NET_BIND_SERVICE CAP_SYS_CHROOT CAP_AUDIT_WRITE] Inheritable:([]string)<nil> Permitted:([]string)
Rlimits:([]specs.POSIXRlimit)<nil> NoNewPrivileges:(bool)true Mounts:([]specs.Mount)[{Destination:(string)/proc Type:(string)proc Source:(string)proc Options:([]string)[nosuid noexec nodev] UIDMappings:([]specs.LinuxIDMapping)<nil> Resources:(*specs.LinuxResources) Seccomp:(*specs.LinuxSeccomp) Syscalls:[{Names:[accept bind clock_gettime exit_group]
I1112 00:00:07.942689    1530 flags.go:64] FLAG: --eviction-pressure-transition-period="5m0s"
I1112 00:00:07.942689    1530 kubelet_node_status.go:762] "Recording event message for node" node="node-1" event="NodeHasSufficientMemory"
I1112 00:00:07.942689    1530 kuberuntime_manager.go:460] "No ready sandbox for pod can be found. Need to start a new one" pod="default/web"
I1112 00:00:07.942689    1530 kubelet.go:2405] "SyncLoop UPDATE" source="api" pods=["default/web"]
I1112 00:00:07.942689    1530 prober.go:107] "Probe failed" probeType="Readiness" pod="default/web" containerName="main" probeResult="failure" output="HTTP probe failed with statuscode: 503"
I1112 00:00:07.942689    1530 generic.go:334] "Generic (PLEG): container finished" podID="09b2f164" containerID="24a6589e4499" exitCode=0
Nov 12 00:00:07 node-1 systemd[1]: Starting systemd-tmpfiles-setup-dev.service - Create Static Device Nodes in /dev...
Nov 12 00:00:07 node-1 systemd[1]: Finished systemd-journal-flush.service - Flush Journal to Persistent Storage.
Nov 12 00:00:07 node-1 systemd[1]: ldconfig.service - Rebuild Dynamic Linker Cache was skipped because of an unmet condition check (ConditionFileIsExecutable=/sbin/ldconfig).
Nov 12 00:00:07 node-1 systemd[1]: Started cri-containerd-94808f7fffed1c84.scope - libcontainer container 94808f7fffed1c84.
Nov 12 00:00:07 node-1 systemd[1]: run-containerd-io.containerd.runtime.v2.task-k8s.io-94808f7fffed1c84-rootfs.mount: Deactivated successfully.
Nov 12 00:00:07 node-1 systemd[1]: Reached target network-online.target - Network is Online.
Nov 12 00:00:07 node-1 dockerd[612]: time="2026-11-12T00:00:07.942689017Z" level=debug msg="Calling GET /v1.40/containers/94808f7fffed1c84/json"
Nov 12 00:00:07 node-1 crio[612]: time="2026-11-12 00:00:07.942689017Z" level=info msg="Checking image status: registry.k8s.io/pause:3.9" id=09b2f164 name=/runtime.v1.ImageService/ImageStatus
Nov 12 00:00:07 node-1 kernel: audit: type=1400 audit(1762905607.942:77): apparmor="DENIED" operation="open" profile="cri-containerd.apparmor.d" name="/proc/sys" pid=1 comm="sh" requested_mask="r"
Nov 12 00:00:07 node-1 kernel: pci 0000:00:1f.0: BAR 0: assigned [mem 0xfebc1000-0xfebc1fff] ACPI: Interpreter enabled
Nov 12 00:00:07 node-1 kernel: IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready, entered forwarding state, registered
2026-11-12 00:00:07.942 [INFO][68] felix/table.go 582: Loading current iptables state and checking it is correct. ipVersion=0x4 table="filter"
`

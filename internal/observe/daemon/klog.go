package daemon

import "strings"

// IsKubeletFile says that klog's lines with this source file are the kubelet's, whatever tag
// somebody put before them. Two of them are crictl's, too, which writes no log.
func IsKubeletFile(file string) bool {
	program := OfKlogFile(file)
	return program == Kubelet.Component || program == "" && (strings.HasPrefix(file, "kubelet") || file == "remote_runtime.go" || file == "remote_image.go")
}

// IsKubeletText says that klog's lines with this text are the kubelet's, whatever tag somebody put
// before them: other programs, too, have a source file of their name. The lease of a node is
// renewed by its kubelet and nobody else; a reflector names the source file that it works for.
func IsKubeletText(text string) bool {
	return strings.HasPrefix(text, "Kubelet version") || strings.Contains(text, "from runtime service failed") ||
		strings.Contains(text, "/namespaces/kube-node-lease/") || strings.HasPrefix(text, "k8s.io/kubernetes/pkg/kubelet/")
}

// klogFiles are source files that klog names in lines of one program alone, and whose they are: the
// programs of Kubernetes 1.2 to 1.37. A file that two of them have is not among them: crictl has
// the kubelet's remote_runtime.go, the controller manager its reconciler.go, all have server.go.
var klogFiles = filesOf(map[string][]string{
	Kubelet.Component: {
		"generic.go", "evented.go", "pod_workers.go", "status_manager.go", "volume_manager.go", "plugin_manager.go", "plugin_watcher.go",
		"reconciler_common.go", "reconciler_new.go", "reconstruct.go", "reconstruct_common.go", "pod_startup_latency_tracker.go", "setters.go",
		"cpu_manager.go", "memory_manager.go", "topology_manager.go", "eviction_manager.go", "prober_manager.go", "image_gc_manager.go",
		"container_manager_linux.go", "container_manager_windows.go", "pod_container_manager_linux.go", "qos_container_manager_linux.go",
		"node_container_manager_linux.go", "pod_container_deletor.go", "container_log_manager.go", "nodeshutdown_manager_linux.go",
		"cadvisor_stats_provider.go", "cri_stats_provider.go", "summary_sys_containers.go", "perfcounter_nodestats.go", "fs_resource_analyzer.go",
		"prober.go", "cgroup_manager_linux.go", "oom_watcher_linux.go", "docker_sandbox.go", "docker_service.go", "docker_container.go", "docker_manager.go", "fsHandler.go", "mirror_client.go",
	},
	"kube-proxy": {"proxier.go", "roundrobin.go", "graceful_termination.go", "proxier_health.go", "servicechangetracker.go", "endpointslicecache.go"},
	"kube-controller-manager": {
		"controllermanager.go", "node_lifecycle_controller.go", "nodecontroller.go", "controller_utils.go", "taint_manager.go", "taint_eviction.go",
		"garbagecollector.go", "graph_builder.go", "gc_controller.go", "replica_set.go", "deployment_controller.go", "daemon_controller.go",
		"job_controller.go", "pv_controller.go", "pv_controller_base.go", "attach_detach_controller.go", "range_allocator.go", "route_controller.go",
		"endpoints_controller.go", "resource_quota_controller.go", "horizontal.go",
	},
	"kube-scheduler": {"schedule_one.go", "generic_scheduler.go", "scheduling_queue.go", "default_preemption.go"},
	"kube-apiserver": {
		"available_controller.go", "local_available_controller.go", "remote_available_controller.go", "crdregistration_controller.go", "storage_scheduling.go", "storage_rbac.go",
	},
	"kubeadm": {"checks.go", "initconfiguration.go", "preflight.go", "join.go", "kubeletfinalize.go", "patchnode.go", "waitcontrolplane.go", "manifests.go"},
})

func filesOf(programs map[string][]string) map[string]string {
	all := map[string]string{}
	for program, files := range programs {
		for _, file := range files {
			all[file] = program
		}
	}
	return all
}

// OfKlogFile is the program that has a source file which klog names, as "kubelet" or "kube-proxy";
// empty where several have one of that name.
func OfKlogFile(file string) string {
	if program := klogFiles[file]; program != "" {
		return program
	}
	if strings.HasPrefix(file, "kubelet_") || strings.HasPrefix(file, "kuberuntime_") {
		return Kubelet.Component
	}
	return ""
}

// KlogPrograms are the programs of a file's processes, as the source files in klog's lines have
// shown them; empty for a process whose lines are of two programs, as kubelite's.
type KlogPrograms map[int]string

// maxKlogPrograms bounds the processes of one file that are remembered.
const maxKlogPrograms = 256

// Program is who wrote klog's line without a tag: by its source file, and where several programs
// have one of that name by what the same process has shown before.
//
//	I1129 07:00:00.123456    1234 pod_workers.go:965] …
//	I1129 07:00:00.123457    1234 server.go:1296] …
//
// The kubelet's main file is the kubelet's unless the process has shown that it is kubeadm.
func (k *KlogPrograms) Program(file string, pid int) string {
	program := OfKlogFile(file)
	if program != "" {
		k.add(pid, program)
		return program
	}
	if program = (*k)[pid]; program == "" && file == "kubelet.go" {
		program = Kubelet.Component
	}
	return program
}

// add notes the program of a process. In a container every program is process 1.
func (k *KlogPrograms) add(pid int, program string) {
	before, known := (*k)[pid]
	switch {
	case pid <= 1 || !known && len(*k) >= maxKlogPrograms || known && before == program:
	case known:
		(*k)[pid] = ""
	default:
		if *k == nil {
			*k = KlogPrograms{}
		}
		(*k)[pid] = program
	}
}

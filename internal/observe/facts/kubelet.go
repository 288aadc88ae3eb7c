package facts

import "strings"

// KubeletFlags are command-line flags of the kubelet and the facts that they are. They stand in a
// listing of processes, in unit files, in kubeadm-flags.env and, at -v=2, at the start of its log.
var KubeletFlags = map[string]string{
	"cpu-manager-policy":           "kubelet.cpu-manager-policy",
	"cpu-manager-reconcile-period": "kubelet.cpu-manager-reconcile-period",
	"memory-manager-policy":        "kubelet.memory-manager-policy",
	"runtime-request-timeout":      "kubelet.runtime-request-timeout",
	"feature-gates":                "kubelet.feature-gates",
	"max-pods":                     "kubelet.max-pods",
	"pod-max-pids":                 "kubelet.pod-max-pids",
	"cgroup-driver":                "kubelet.cgroup-driver",
	"container-runtime":            "kubelet.container-runtime",
	"container-runtime-endpoint":   "kubelet.container-runtime-endpoint",
	"provider-id":                  "node.provider-id",
}

// EventedPLEG is the gate's value in a list such as "EventedPLEG=true,Other=false"; empty when it
// is not named.
func EventedPLEG(gates string) string {
	for g := range strings.SplitSeq(gates, ",") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(g), "EventedPLEG="); ok {
			return value
		}
	}
	return ""
}

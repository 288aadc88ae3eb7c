package facts

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

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

// AppendKubeletFlags appends the facts that a command line of the kubelet tells. A flag and its
// value are joined by = or a blank.
func AppendKubeletFlags(dst []event.Event, args string, q event.Quote) []event.Event {
	words := strings.Fields(args)
	for i, w := range words {
		name, value, ok := strings.Cut(strings.TrimLeft(w, `"'`), "=")
		flag, isFlag := strings.CutPrefix(name, "--")
		fact := KubeletFlags[flag]
		labels := flag == "node-labels"
		if !isFlag || fact == "" && !labels {
			continue
		}
		if !ok && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			value = words[i+1]
		}
		value = strings.Trim(value, `"'\`)
		if labels {
			for fact, value := range Labels(value) {
				dst = Append(dst, Config, fact, value, q)
			}
			continue
		}
		dst = appendKubelet(dst, fact, value, q)
	}
	return dst
}

// appendKubelet appends a setting of the kubelet; of the feature gates, EventedPLEG is a fact of
// its own.
func appendKubelet(dst []event.Event, name, value string, q event.Quote) []event.Event {
	dst = Append(dst, Config, name, value, q)
	if name == "kubelet.feature-gates" {
		if gate := EventedPLEG(value); gate != "" {
			dst = Append(dst, Config, "kubelet.evented-pleg", gate, q)
		}
	}
	return dst
}

package states

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/observe/tasks"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// objects reads JSON and YAML documents: objects of Kubernetes, alone or in lists, the kubelet's
// configuration, and what docker and crictl print.
type objects struct {
	prefix   string // of the object at hand: its document and its place in a list
	leaves   map[string]leaf
	nodes    nodes
	runtimes []runtimeOption
	fallback string
	rlimit   rlimit
	masks    masks
	ranges   ranges
	states   containerObjects
	stated   tasks.Task // of runc state, while it is read
	tasks    []tasks.Task
}

// configz stands for the kind of what the kubelet itself says of its configuration: GET /configz,
// which has none.
const configz = "configz"

// leaf is a value of an object and where it stands.
type leaf struct {
	value string
	quote event.Quote
}

// maxLeaves bounds the values that are kept of one object.
const maxLeaves = 2000

func newObjects() *objects { return &objects{leaves: map[string]leaf{}} }

// jsonSettings: crictl info (containerd), docker info -f json, docker version -f json, daemon.json.
var jsonSettings = []setting{
	{"config containerd snapshotter", "containerd.snapshotter", nil},
	{"config containerd defaultRuntimeName", "containerd.default-runtime", nil},
	{"config containerdRootDir", "containerd.root", nil},
	{"config containerd runtimes runc runtimeType", "containerd.runtime-type", nil},
	{"config drainExecSyncIOTimeout", "containerd.drain-exec-sync-io-timeout", nil},
	{"ServerVersion", "docker.version", scan.Version},
	{"Server Version", "docker.version", scan.Version},
	{"Driver", "docker.storage-driver", nil},
	{"CgroupDriver", "docker.cgroup-driver", nil},
	{"LiveRestoreEnabled", "docker.live-restore", nil},
	{"Containers", "docker.containers", nil},
	{"ContainersRunning", "docker.containers-running", nil},
	{"KernelVersion", "kernel.version", nil},
	{"OperatingSystem", "os.name", nil},
	{"storage-driver", "docker.storage-driver", nil},
	{"live-restore", "docker.live-restore", nil},
}

// kubeletSettings are keys of KubeletConfiguration (kubelet.config.k8s.io/v1beta1) that are facts.
var kubeletSettings = map[string]string{
	"cpuManagerPolicy":          "kubelet.cpu-manager-policy",
	"cpuManagerReconcilePeriod": "kubelet.cpu-manager-reconcile-period",
	"memoryManagerPolicy":       "kubelet.memory-manager-policy",
	"runtimeRequestTimeout":     "kubelet.runtime-request-timeout",
	"maxPods":                   "kubelet.max-pods",
	"podPidsLimit":              "kubelet.pod-max-pids",
	"cgroupDriver":              "kubelet.cgroup-driver",
	"containerRuntimeEndpoint":  "kubelet.container-runtime-endpoint",
	"featureGates.EventedPLEG":  "kubelet.evented-pleg",
	"providerID":                "node.provider-id",
}

func (o *objects) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Path) == 0 {
		return dst
	}
	rest := e.Path
	if len(rest) > 2 && rest[0] == "items" {
		rest = rest[2:]
	}
	prefix := strconv.Itoa(e.Doc) + "/" + strings.Join(e.Path[:len(e.Path)-len(rest)], "/")
	if prefix != o.prefix {
		dst = o.endObject(dst)
		o.prefix = prefix
	}
	if len(rest) > 1 && rest[0] == "kubeletconfig" {
		rest = rest[1:]
		o.keepLeaf("kind", leaf{configz, e.Quote()})
	}
	o.rlimit.takeDatum(e)
	o.takeRuntimeState(e)
	if len(e.Path) > 1 && e.Path[len(e.Path)-2] == "maskedPaths" || e.Path[len(e.Path)-1] == "maskedPaths" {
		o.masks.notePath(e.Value, e) // of an OCI spec, alone or in crictl inspect
	}
	dst = o.states.takeDatum(o.ranges.takeDatum(dst, e), e)
	if len(rest) == len(e.Path) {
		if len(rest) == 6 && rest[0] == "config" && rest[1] == "containerd" && rest[2] == "runtimes" &&
			rest[5] == "SystemdCgroup" {
			o.runtimes = append(o.runtimes, runtimeOption{rest[3], e.Value, e.Quote()})
		}
		if len(rest) == 3 && rest[0] == "config" && rest[2] == "defaultRuntimeName" {
			o.fallback = e.Value
		}
		dst = o.appendSettings(dst, e)
	}
	if wantedLeaf(rest) {
		o.keepLeaf(strings.Join(rest, "."), leaf{e.Value, e.Quote()})
	}
	return dst
}

// appendSettings appends settings of programs that are no objects of Kubernetes.
func (o *objects) appendSettings(dst []event.Event, e *snapshots.Datum) []event.Event {
	if e.Path[0] == "exec-opts" {
		if driver, ok := strings.CutPrefix(e.Value, "native.cgroupdriver="); ok {
			return addFact(dst, facts.Config, "docker.cgroup-driver", driver, e)
		}
		return dst
	}
	return appendSettings(dst, jsonSettings, e)
}

func (o *objects) keepLeaf(name string, l leaf) {
	if _, twice := o.leaves[name]; !twice && len(o.leaves) < maxLeaves {
		o.leaves[name] = l
	}
}

// leafRoots are the names under which objects have what matters; the rest of a pod or a ConfigMap
// is not kept.
var leafRoots = []string{
	"kind", "metadata", "involvedObject", "regarding", "reason", "message", "note", "type", "count",
	"deprecatedCount", "series", "firstTimestamp",
	"lastTimestamp", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime", "source",
	"deprecatedSource", "reportingComponent", "reportingController", "lastHeartbeatTime", "lastTransitionTime",
}

func wantedLeaf(path []string) bool {
	switch path[0] {
	case "metadata":
		return len(path) == 2 && (path[1] == "name" || path[1] == "namespace") ||
			len(path) == 3 && path[1] == "labels" && facts.NodeLabels[path[2]] != ""
	case "spec":
		return len(path) == 2 && path[1] == "providerID"
	case "status":
		return len(path) == 1 || path[1] == "conditions" || path[1] == "nodeInfo"
	case "conditions":
		return len(path) == 3
	case "featureGates":
		return len(path) == 2 && path[1] == "EventedPLEG"
	}
	if len(path) == 2 && scan.Digits(path[0]) == path[0] {
		path = path[1:]
	}
	return slices.Contains(leafRoots, path[0]) || path[0] == "status" || kubeletSettings[path[0]] != ""
}

func (o *objects) leafValue(names ...string) string {
	for _, name := range names {
		if l, ok := o.leaves[name]; ok && l.value != "null" && l.value != "" {
			return l.value
		}
	}
	return ""
}

// endObject makes events of the object at hand.
func (o *objects) endObject(dst []event.Event) []event.Event {
	if len(o.leaves) == 0 {
		return dst
	}
	switch o.leafValue("kind") {
	case "KubeletConfiguration", configz:
		before := len(dst)
		for _, name := range slices.Sorted(maps.Keys(kubeletSettings)) {
			if l, ok := o.leaves[name]; ok {
				dst = facts.Append(dst, facts.Config, kubeletSettings[name], l.value, l.quote)
			}
		}
		if o.leafValue("kind") != configz {
			dst = markConfigured(dst, before)
		}
	case "Node":
		o.takeNode()
	case "Event":
		dst = o.takeEvent(dst)
	case "":
		dst = o.appendRuntimeStatus(dst)
		o.takeCondition("", "")
		for _, list := range conditionLists {
			o.takeConditions("", list)
		}
	}
	clear(o.leaves)
	return dst
}

// conditionLists are the lists of conditions in a piece that somebody cut out of a node: what is
// left of the way to them, or nothing but the list (jq .status.conditions).
var conditionLists = []string{"status.conditions.", "conditions.", ""}

// takeConditions takes the conditions of a list of a node.
func (o *objects) takeConditions(node, list string) {
	for i := 0; o.takeCondition(node, list+strconv.Itoa(i)+"."); i++ {
		continue
	}
}

// takeCondition takes the condition that stands at a path. Without the node around it, only one
// that tells of a heartbeat is a node's.
func (o *objects) takeCondition(node, at string) bool {
	c := condition{
		node: node, kind: o.leafValue(at + "type"), status: o.leafValue(at + "status"),
		reason: o.leafValue(at + "reason"), message: o.leafValue(at + "message"),
	}
	if c.kind == "" && c.reason == "KubeletNotReady" { // only Ready has this reason, and its type is the last key
		c.kind = "Ready"
	}
	if c.kind == "" || node == "" && o.leafValue(at+"lastHeartbeatTime") == "" {
		return false
	}
	c.since, _ = stamp.Date(o.leafValue(at + "lastTransitionTime"))
	c.beat, _ = stamp.Date(o.leafValue(at + "lastHeartbeatTime"))
	for _, part := range [...]string{"message", "reason", "status", "lastTransitionTime", "lastHeartbeatTime", "type"} {
		if l, ok := o.leaves[at+part]; ok && l.value != "" {
			c.quotes = append(c.quotes, l.quote)
		}
	}
	o.nodes.conditions = append(o.nodes.conditions, c)
	return true
}

// takeNode takes a Node's conditions and versions.
func (o *objects) takeNode() {
	name := o.leafValue("metadata.name")
	o.nodes.addName(name)
	o.takeConditions(name, "status.conditions.")
	for _, v := range nodeVersions {
		if l, ok := o.leaves["status.nodeInfo."+v.key]; ok {
			o.nodes.addVersion(v.fact, l.value, l.quote)
		}
	}
	if l, ok := o.leaves["spec.providerID"]; ok {
		o.nodes.addVersion("node.provider-id", l.value, l.quote)
	}
	for _, label := range slices.Sorted(maps.Keys(facts.NodeLabels)) {
		if l, ok := o.leaves["metadata.labels."+label]; ok {
			o.nodes.addVersion(facts.NodeLabels[label], l.value, l.quote)
		}
	}
}

// takeEvent takes an Event of the core API or of events.k8s.io.
func (o *objects) takeEvent(dst []event.Event) []event.Event {
	object := o.leafValue("involvedObject.kind", "regarding.kind")
	k := kubeEvent{
		kind: object, name: o.leafValue("involvedObject.name", "regarding.name"), namespace: o.leafValue(
			"involvedObject.namespace", "regarding.namespace",
		),
		reason: o.leafValue("reason"), message: o.leafValue("message", "note"), level: o.leafValue("type"), count: o.leafValue(
			"count", "deprecatedCount", "series.count",
		),
		from: o.leafValue("source.component", "deprecatedSource.component", "reportingComponent", "reportingController"),
	}
	k.first, _ = stamp.Date(o.leafValue("firstTimestamp", "deprecatedFirstTimestamp", "eventTime"))
	k.last, _ = stamp.Date(o.leafValue("series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "eventTime"))
	for _, part := range [...]string{"message", "note", "reason", "lastTimestamp", "eventTime", "firstTimestamp"} {
		if l, ok := o.leaves[part]; ok && l.value != "null" && l.value != "" {
			k.quotes = append(k.quotes, l.quote)
		}
	}
	return o.nodes.appendEvent(dst, &k)
}

func (o *objects) finishFile(dst []event.Event) []event.Event {
	dst = addRuntime(o.endObject(dst), o.runtimes, o.fallback)
	return o.masks.finishFile(o.nodes.finishFile(o.ranges.finishFile(o.rlimit.finishFile(dst))), facts.Config)
}

package kubelet

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// startFailed is the last word of a kubelet that refuses its configuration or its node:
//
//	≤ 1.20  server.go:274] failed to run Kubelet: running with swap on is not supported, please disable swap! or set --fail-swap-on flag to false. …
//	≤ 1.22  "Failed to run kubelet" err="failed to run Kubelet: misconfiguration: kubelet cgroup driver: \"systemd\" is different from docker cgroup driver: \"cgroupfs\""
//	≥ 1.23  run.go:74] "command failed" err="failed to run Kubelet: unable to load bootstrap kubeconfig: stat /etc/kubernetes/bootstrap-kubelet.conf: no such file or directory"
//	        "command failed" err="failed to parse kubelet flag: unknown flag: --network-plugin"
//	        "command failed" err="failed to load kubelet config file, path: /var/lib/kubelet/config.yaml, error: …"
//	≥ 1.35  "command failed" err="failed to validate kubelet configuration, error: kubelet is configured to not run on a host using cgroup v1. …"
//	all     server.go:203] "Failed to listen and serve" err="listen tcp 127.0.0.1:10250: bind: address already in use"
//	        kubelet.go:1359] Failed to start ContainerManager failed to get rootfs info: …; "Failed to start ContainerManager" err="…"
//	        Failed to initialize CSINode after retrying: timed out waiting for the condition      (the API server refused it, or did not answer)
//	        "Failed to start cAdvisor" err="inotify_add_watch /sys/fs/cgroup/…: no space left on device"; "Failed to initialize internal modules" err="…"
//	≤ 1.22  server.go:198] failed to load Kubelet config file /var/lib/kubelet/config.yaml, error failed to read …: no such file or directory
//	        server.go:253] unable to load client CA file /etc/kubernetes/pki/ca.crt: open …: no such file or directory
//	        server.go:156] unknown flag: --allow-privileged; Error: failed to parse kubelet flag: unknown flag: --network-plugin
//	kubelet: Error: unknown flag: --config                 (as a container's log, or a shell, puts its name before it)
//	        kubelet.go:1368] Failed to start OOM watcher open /dev/kmsg: operation not permitted
//	msg="Shutdown request received: kubelet exited: kubelet is configured to not run on a host using cgroup v1. …"      (k3s, of the kubelet in it)
//	≤ 1.37  "Could not initialize checkpoint manager, please drain node and remove policy state file" err="could not restore state from checkpoint: …"
func startFailed(r *event.Record) (event.Event, bool) {
	text := strings.TrimLeft(r.Message(), `"`)
	reason := table.ErrorOf(r)
	if reason == "" {
		reason = scan.After(text, "ailed to run Kubelet: ", "ailed to start ContainerManager ", "ailed to start cAdvisor ", "kubelet exited: ")
	}
	ofAny := strings.Contains(text, " command failed") || strings.HasPrefix(text, "command failed") && !ofKubelet(r, reason) ||
		scan.ContainsAny(text, []string{"unknown flag: ", "kubelet flag: "}) && (r.Level != event.Fatal || r.PID == 1) // of whichever program
	if r.Unit == "" && ofAny && !strings.HasPrefix(text, "kubelet: Error: ") || strings.HasSuffix(text, "kubelet exited: context canceled") {
		return event.Event{}, false
	}
	if reason == "" && !strings.HasPrefix(text, "command failed") {
		reason = text
	}
	if _, elsewhere, _ := strings.Cut(text, " command failed"); elsewhere != "" && r.Unit == "" {
		return event.Event{}, false // that of another program
	}
	reason = strings.TrimPrefix(reason, "failed to run Kubelet: ")
	if strings.Contains(text, "kipping pod synchronization") {
		return runsOn(strings.TrimSuffix(reason, "]")), true
	}
	why := startReason(reason)
	e := event.New(event.KindStartFailed, "the kubelet does not start", event.FieldReason.Text(why), event.FieldError.Text(reason))
	said := event.Event{Text: e.Text, Fields: repeated.LostRuntime(reason)}
	if why == "runtime" {
		e.AddFields(said.Fields...)
	}
	if sayGone(&said); why != "runtime" || said.Text == e.Text {
		said.Text += ": " + cmp.Or(startWords[why], reason)
	}
	e.Text = said.Text
	return e, reason != ""
}

// usagePrinted is the line about one of the last flags in what a kubelet prints of all of them
// where it does not accept how it was called (cobra); the error itself stands above or below it.
// Only a journal shows that nobody asked for its help.
//
//	--volume-stats-agg-period duration   Specifies interval for kubelet to calculate and cache …
func usagePrinted(r *event.Record) (event.Event, bool) {
	return event.New(
		event.KindStartFailed, "the kubelet does not start: it prints its flags", event.FieldReason.Text("flag"),
		event.FieldError.Text("it says why above them"),
	), r.Unit != "" && strings.Contains(r.Raw, "--volume-stats-agg-period ")
}

// runsOn is a kubelet of which a part did not start, and which does not end by it (up to 1.8): it
// says so every five seconds, and syncs no pod.
//
//	kubelet.go:1752] skipping pod synchronization - [Failed to start ContainerManager failed to initialise top level QOS containers: …: Unit kubepods-burstable.slice already exists.]
func runsOn(reason string) event.Event {
	return event.New(
		event.KindStartFailed, "the kubelet runs without a part that did not start: "+reason, event.FieldReason.Text("internal"),
		event.FieldError.Text(reason),
	)
}

// ofKubelet says of the last word of a program of Kubernetes that does not name itself that it is a
// kubelet's. All of them write it alike: the API server's has to do with its storage or its own
// certificates, and in its container it is process 1.
func ofKubelet(r *event.Record, reason string) bool {
	return r.PID != 1 && !scan.ContainsAny(reason, []string{"API group", "creating storage factory", "post start hook", "leader election"}) &&
		strings.Trim(reason, `"`) != "context deadline exceeded"
}

// flagRefused is a kubelet that does not know a flag, as it says so on a terminal, where nothing
// names it:
//
//	Error: failed to parse kubelet flag: unknown flag: --network-plugin
func flagRefused(r *event.Record) (event.Event, bool) {
	reason := scan.After(r.Message(), "Error: failed to parse kubelet flag: ")
	e := event.New(
		event.KindStartFailed, "the kubelet does not start: "+startWords["flag"], event.FieldReason.Text("flag"), event.FieldError.Text(reason),
	)
	e.Component = "kubelet"
	return e, r.Unit == "" && reason != ""
}

// embedderEnds is the last word of a program that holds the kubelet and the control plane in one
// process. One that leads ends when it cannot renew its lease in time.
//
//	k3s, rke2  time="…" level=fatal msg="failed to find memory cgroup (v2)"
//	           time="…" level=fatal msg="leaderelection lost for k3s"
//	kubelite   F1114 14:22:50.223456    3821 controllermanager.go:321] leaderelection lost
//	           E0320 20:46:08.223210   53319 controllermanager.go:294] "leaderelection lost"      (1.23 and later)
func embedderEnds(r *event.Record) (event.Event, bool) {
	name := embedder(r.Unit)
	if m := embedderLog.FindStringSubmatch(path.Base(r.Pos.File)); r.Unit == "" && m != nil {
		name = m[1]
	}
	reason := strings.Trim(r.Message(), `" `)
	if name == "" || reason == "" || r.Level != event.Fatal && reason != "leaderelection lost" {
		return event.Event{}, false
	}
	return event.New(
		event.KindStartFailed, name+", which holds the kubelet, ends: "+reason, event.FieldReason.Text(startReason(reason)), event.FieldError.Text(reason),
	), true
}

// embedderLog is a log of such a program by its name, as k3s-service.log of OpenRC: 1 the program.
var embedderLog = regexp.MustCompile(`^(k3s|rke2)(?:-service|-server|-agent)?\.log$`)

// embedder is the program of a unit that holds a kubelet and more; empty for any other.
func embedder(unit string) string {
	for _, name := range []string{"k3s", "rke2", "kubelite"} {
		if strings.Contains(unit, name) {
			return name
		}
	}
	return ""
}

// startReasons tell from the error why a kubelet does not start. The first that fits counts.
var startReasons = []struct {
	reason string
	texts  []string
}{
	{"descriptors", []string{"inotify_", "too many open files"}},
	{"cgroup-v1", []string{"using cgroup v1"}},
	{"cgroup-missing", []string{"Cgroup subsystem not mounted", "mountpoint for cpu not found", "mountpoint for cpuset not found", "mountpoint for memory not found"}},
	{"swap", []string{"with swap on is not supported", "Swap is on"}},
	{"cgroup-driver", []string{"kubelet cgroup driver", "is different from docker cgroup driver"}},
	{"flag", []string{"unknown flag: ", "unknown shorthand flag", "parse kubelet flag", "flag provided but not defined"}},
	{"state", []string{"restore state from checkpoint", "delete the CPU manager checkpoint", "checkpoint is corrupted", "remove policy state file", "CPUs in state", "machine state is different"}},
	{"rbac", []string{"is forbidden: User "}}, // whom it names it has accepted
	{"config", brokenFile},
	{"certificate", []string{"bootstrap kubeconfig", "bootstrap-kubelet", "x509: ", "tls: ", "certificate"}},
	{"config", []string{
		"kubelet config file", "validate kubelet configuration", "invalid configuration", "strict decoding error",
		"unrecognized feature gate", "invalid kubeconfig", "kubeconfig", "invalid kernel flag: ", "eserved Cgroup Limits",
		"Node Allocatable configuration", "has a reservation of ", "runtime endpoint address", "dial unix: missing address", "no client provided", "cloud providers are disabled", "unknown cloud provider", "plugin binary executable",
	}},
	{"cri", []string{"unknown service runtime."}},
	{"runtime", []string{"validate service connection", "validate CRI", "runtime API", "container runtime", "Cannot connect to the Docker daemon"}},
	{"port", []string{"address already in use", "Only one usage of each socket address"}},
	{"disk", []string{"no space left on device", "read-only file system"}},
	{"memory", []string{"cannot allocate memory"}},
	{"cgroup", []string{"cgroup"}},
}

// brokenFile is in errors about a file that the configuration names and that is not there, or holds
// something else, whatever it should hold: nobody has been shown a certificate.
//
//	unable to load client CA file /etc/kubernetes/pki/ca.crt: open …: no such file or directory
//	unable to load client CA file …/ca.pem: error creating pool from …: data does not contain any valid RSA or ECDSA certificates
//	tls: failed to find any PEM data in certificate input
var brokenFile = []string{"unable to load client CA", "does not contain any valid ", "failed to find any PEM data"}

// startWords say the reasons in words; the error itself says the others.
var startWords = map[string]string{
	"config":         "it does not accept its configuration, or does not find it",
	"cgroup-missing": "the node lacks the cgroups of version 1 that it needs",
	"cgroup-v1":      "it refuses a node with cgroup v1", "swap": "it refuses a node with swap",
	"cgroup-driver": "its cgroup driver is not the runtime's", "flag": "it does not know a flag",
	"state":       "a file in which it keeps the state of CPUs, memory or pods is damaged, or does not fit its configuration",
	"descriptors": "no inotify watches or open files are left for it", "port": "another program listens on its port",
	"cri":  "the runtime does not serve the CRI, or not the version that it asks for",
	"rbac": "the API server accepts its credentials, and does not allow what it asks for",
}

func startReason(text string) string {
	for _, s := range startReasons {
		if scan.ContainsAny(text, s.texts) {
			return s.reason
		}
	}
	return "other"
}

// nodeShutdown is the kubelet that holds the end of its machine up, to end pods (1.20 and later, at
// verbosity 1); false is one that was called off:
//
//	"Shutdown manager detected new shutdown event, isNodeShuttingDownNow" event=true      (≤ 1.20: … isNodeShuttingDownNow: true)
//	"Shutdown manager detected new shutdown event" event="shutdown"
//	"Shutdown manager processing shutdown event"
//	"Shutdown manager completed processing shutdown event, node will shutdown shortly"
func nodeShutdown(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindShutdown, "the machine is told to end: the kubelet ends its pods", event.FieldWhat.Text("shutdown"))
	return e, r.Value("event") == "true" || strings.Contains(r.Message(), " processing shutdown event") || strings.HasSuffix(strings.TrimSpace(r.Message()), "Now: true")
}

// cgroupV1 is the version of the node's cgroups, as the kubelet complains about it: refused from
// 1.35 on unless failCgroupV1 is false, warned of from 1.31 on.
//
//	kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release
//	"cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. …"
//	"CGroup v1 support is in maintenance mode" …                  (1.31 to 1.34: … "cgroup v1 support is in maintenance mode, please migrate to cgroup v2")
func cgroupV1(*event.Record) (event.Event, bool) { return facts.New("node.cgroup-version", "1") }

// runtimeFound is the start of a kubelet, right before "Started kubelet":
//
//	≤ 1.20  kuberuntime_manager.go:210] Container runtime docker initialized, version: 18.09.3, apiVersion: 1.39.0
//	≥ 1.21  "Container runtime initialized" containerRuntime="containerd" version="v2.0.3" apiVersion="v1"
func runtimeFound(r *event.Record) (event.Event, bool) {
	name, version := cutFoundRuntime(r)
	e := event.New(event.KindKubeletStart, "kubelet starts and finds "+name+" "+version)
	return e, name != ""
}

// runtimeVersion is the version in the same line.
func runtimeVersion(r *event.Record) (event.Event, bool) {
	name, version := cutFoundRuntime(r)
	switch daemon.RuntimeOf(name) {
	case "containerd":
		return facts.New("containerd.version", version)
	case "dockerd":
		return facts.New("docker.version", version)
	case "crio":
		return facts.New("crio.version", version)
	}
	return event.Event{}, false
}

func cutFoundRuntime(r *event.Record) (name, version string) {
	if name = r.Value("containerRuntime"); name != "" {
		return name, scan.Version(r.Value("version"))
	}
	text := r.Message()
	name, _ = scan.Between(text, "Container runtime ", " initialized, version: ")
	return name, scan.Version(scan.After(text, "initialized, version: "))
}

// nodePressure is a condition that begins or, from -v=3 on, that lasts; a node can have both:
//
//	≤ 1.20  Recording NodeHasDiskPressure event message for node n
//	        eviction manager: node conditions - observed: [MemoryPressure DiskPressure]
//	≥ 1.21  "Recording event message for node" node="n" event="NodeHasDiskPressure"
//	        "Eviction manager: node conditions - observed" nodeCondition=["MemoryPressure"]
func nodePressure(of string, conditions ...string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		what := ""
		switch {
		case strings.Contains(r.Raw, "event message for node"):
			what = "begins"
		case strings.Contains(r.Raw, nodeConditions):
			what = "lasts"
		}
		return event.New(
			event.KindPressure, "the kubelet reports pressure on "+of, event.FieldOf.Text(of), event.FieldWhat.Text(what),
		), what != "" && scan.ContainsAny(r.Raw, conditions)
	}
}

// pressureOver is the end of a condition, which the kubelet also says of each when it starts:
//
//	≤ 1.20  Recording NodeHasNoDiskPressure event message for node n
//	≥ 1.21  "Recording event message for node" node="n" event="NodeHasNoDiskPressure"
func pressureOver(of string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		e := event.New(event.KindPressureOver, "the kubelet reports no pressure on "+of, event.FieldOf.Text(of))
		return e, strings.Contains(r.Raw, "event message for node")
	}
}

// nodeConditions is what the eviction manager says at each of its turns, of what it finds and of
// what it still reports: "node conditions - observed", "node conditions - transition period not
// met".
const nodeConditions = "node conditions - "

// evictions are what the eviction manager says when it acts. Up to 1.20 the resource, or the pod,
// stands in the message, from 1.21 on in a field.
//
//	≤ 1.20  eviction manager: attempting to reclaim ephemeral-storage
//	        eviction manager: must evict pod(s) to reclaim ephemeral-storage
//	        eviction manager: pod web_default(uid) is evicted successfully
//	≥ 1.21  "Eviction manager: attempting to reclaim" resourceName="ephemeral-storage"
//	        "Eviction manager: must evict pod(s) to reclaim" resourceName="memory"
//	        "Eviction manager: pod is evicted successfully" pod="default/web"
//	        "Eviction manager: pods ranked for eviction" pods=["default/web"]
//	        "Eviction manager: unable to evict any pods from the node"; "Eviction manager: cannot evict a critical pod" pod="kube-system/…"
//	all     eviction thresholds have been met, but no pods are active to evict
var evictions = []saying{
	{"viction manager: attempting to reclaim", "reclaim", "the kubelet wants to get back "},
	{"viction manager: must evict pod(s) to reclaim", "must-evict", "the kubelet must evict pods to get back "},
	{"is evicted successfully", "evicted", "the kubelet has evicted a pod"},
	{"no pods are active to evict", "none-left", "the kubelet finds no pod to evict"},
	{"unable to evict any pods from the node", "none-left", "the kubelet finds no pod that it can evict"},
	{"viction manager: cannot evict a critical", "none-left", "the kubelet may not evict a critical pod"},
	{"viction manager: pods ranked for eviction", "must-evict", "the kubelet ranks the pods that it may evict"},
}

func eviction(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if !strings.Contains(text, "viction ") {
		return event.Event{}, false
	}
	for _, v := range evictions {
		_, behind, ok := strings.Cut(text, v.text)
		if !ok {
			continue
		}
		e := event.New(event.KindEviction, v.says, event.FieldWhat.Text(v.what))
		e.IDs.Pod = podOf(r)
		if pod, ok := scan.Between(text, "manager: pod ", "("); ok && e.IDs.Pod == "" {
			e.IDs.Pod = podNamed(pod)
		}
		if strings.HasSuffix(v.says, " ") {
			resource := cmp.Or(r.Value("resourceName"), strings.Trim(strings.TrimPrefix(strings.TrimSpace(strings.Trim(behind, `"`)), "resourceName="), `"`))
			e.AddText(event.FieldOf, resource)
			e.Text += resource
			if resource == "pids" && v.what == "reclaim" {
				return event.Event{}, false // told by pidPressure
			}
		}
		return e, true
	}
	return event.Event{}, false
}

// toldEviction is the state of a pod that was evicted, as kubectl describes and prints it:
//
//	Message:   The node was low on resource: [DiskPressure].
//	message: 'The node was low on resource: ephemeral-storage. Container app was using 1Gi, which exceeds its request of 0. '
func toldEviction(r *event.Record) (event.Event, bool) {
	resource, _, _ := strings.Cut(scan.After(r.Message(), "The node was low on resource: "), ".")
	resource = strings.Trim(resource, "[] '\"")
	if of, ok := strings.CutSuffix(resource, "Pressure"); ok { // up to 1.18 the condition stands there
		resource = strings.ToLower(of)
	}
	e := event.New(event.KindEviction, "the kubelet has evicted a pod: the node was short of "+resource, event.FieldWhat.Text("evicted"), event.FieldOf.Text(resource))
	e.Component = "kubelet"
	return e, r.Unit == "" && resource != "" && len(resource) < 64
}

// toldAdmission is a pod that the kubelet does not take on, because it has found its node short of
// something:
//
//	≤ 1.18  Failed to admit pod web-1_default(uid) - node has conditions: [DiskPressure]
//	all     "Failed to admit pod to node" pod="default/web-1" reason="Evicted" message="The node had condition: [DiskPressure]. "
//	        Message:  Pod The node had condition: [DiskPressure].                                    (kubectl describe pod)
func toldAdmission(r *event.Record) (event.Event, bool) {
	condition, _, _ := strings.Cut(scan.After(r.Raw, "he node had condition: [", "node has conditions: ["), "]")
	resource, ok := strings.CutSuffix(condition, "Pressure")
	resource = strings.ToLower(resource)
	e := event.New(event.KindEviction, "the kubelet refuses a pod: the node is short of "+resource, event.FieldWhat.Text("refused"), event.FieldOf.Text(resource))
	e.IDs.Pod = podOf(r)
	e.Component = "kubelet"
	return e, ok && len(resource) < 16
}

// imageFSFailed is the file system of the images that cannot be read, or cleaned:
//
//	Image garbage collection failed once. Stats initialization may not have completed yet: failed to get imageFs info: unable to find data in memory cache
//	"Image garbage collection failed multiple times in a row" err="failed to garbage collect required amount of images. Attempted to free 966184140 bytes, but only found 0 bytes eligible to free."
//	"Failed to get imageFs info" err="…"; "Eviction manager: failed to get summary stats" err="failed to get imageFs stats: missing image stats: …"
func imageFSFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	reason := cmp.Or(table.ErrorOf(r), scan.After(text, "not have completed yet: ", "times in a row: ", "mage garbage collection failed: ", ": "))
	e := event.New(event.KindImageFSFailed, "the kubelet cannot read the file system of the images")
	what := "read"
	if scan.ContainsAny(reason, []string{"required amount of images", "to free", "ree up"}) {
		what = "collect"
		e.Text = "the kubelet cannot make room in the file system of the images"
	}
	e.Fields = []event.Field{
		event.FieldWhat.Text(what), event.FieldAgain.Bool(!strings.Contains(text, "collection failed once")),
	}
	e.AddFields(table.ErrorFields(reason)...)
	return e, reason != ""
}

// kubeletStartByAge is the start of a kubelet whose first minutes a line of it shows: a time that
// Go prints has the age of its process behind "m=" (up to 1.20).
//
//	Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2018-11-24 18:03:12.54758975 +0800 CST m=+1.771800734 LastTransitionTime:… Message:container runtime is down}
func kubeletStartByAge(r *event.Record) (event.Event, bool) {
	heartbeat, _, _ := strings.Cut(scan.After(r.Raw, "LastHeartbeatTime:"), " LastTransitionTime:")
	_, seconds, _ := strings.Cut(heartbeat, " m=+")
	age, err := strconv.ParseFloat(seconds, 64)
	if err != nil || age <= 0 || age > youngest.Seconds() || r.Time.IsZero() {
		return event.Event{}, false
	}
	e := event.New(event.KindKubeletStart, "the kubelet's process starts")
	e.Start = r.Time.Add(-time.Duration(age * float64(time.Second)))
	return e, true
}

// youngest is how old a kubelet is at most of which that matters: its start explains what it says
// first.
const youngest = 5 * time.Minute

// cadvisorWatchFailed is cAdvisor that cannot ask the runtime about a cgroup that came up:
//
//	manager.go:1169] Failed to process watch event {EventType:0 Name:/kubepods/besteffort/pod…/<id> WatchSource:0}: error reading from server: EOF: unavailable
//	manager.go:1131] Failed to create existing container: /kubepods/besteffort/pod…/<id>: rpc error: code = Unavailable desc = transport is closing
//
// A container that is not there any more says nothing of the runtime.
func cadvisorWatchFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	cgroup, reason, ok := strings.Cut(scan.After(text, "Failed to create existing container: "), ": ")
	if !ok {
		cgroup, _, _ = strings.Cut(scan.After(text, " Name:"), " ")
		reason = scan.After(text, "}: ")
	}
	reason = cmp.Or(reason, table.ErrorOf(r))
	e := event.New(event.KindWatchFailed, "cAdvisor cannot ask the runtime: "+reason, table.ErrorFields(reason)...)
	e.AddText(event.FieldCgroup, cgroup)
	e.AddFields(repeated.LostRuntime(reason)...)
	e.IDs.Container = scan.FindID(cgroup)
	return e, table.IsDeadline(reason) || len(repeated.LostRuntime(reason)) > 0
}

// podRelist, at verbosity 5, is the begin of PLEG's look at one pod that somebody asked for:
// "GenericPLEG: Relisting Pod" podUID="…" (≥ 1.36).
func podRelist(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindPodRelist, "PLEG looks at one pod")
	e.IDs.PodUID = r.Value("podUID")
	return e, e.IDs.PodUID != ""
}

// podRelistFailed: "GenericPLEG: Unable to retrieve pod" podUID="…" err="…" (≥ 1.36). The plural is
// the list of all pods.
func podRelistFailed(r *event.Record) (event.Event, bool) {
	reason := table.ErrorOf(r)
	e := event.New(event.KindPodRelistFailed, "PLEG could not look at one pod", table.ErrorFields(reason)...)
	e.AddFields(repeated.TooLarge(reason)...)
	e.AddFields(repeated.LostRuntime(reason)...)
	e.IDs.PodUID = r.Value("podUID")
	return e, e.IDs.PodUID != "" && reason != ""
}

// relistDropped: "Relist request channel full; dropping relist request" podUID="…" (≥ 1.36): 200
// requests wait. The next relist of all pods makes up for it.
func relistDropped(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindRelistDropped, "PLEG drops a request to look at one pod")
	e.IDs.PodUID = r.Value("podUID")
	return e, true
}

// volumeFailed is what the kubelet says of a volume before it waits to try again, 1.3 to 1.37. Most
// of that is a secret that is not there yet; those lines count by which a driver or a file server
// does not answer, or is not done with the call before.
//
//	Operation for "{volumeName:kubernetes.io/csi/ebs.csi.aws.com^vol-0 podName: nodeName:}" failed. No retries permitted until 2023-04-12 09:17:24 +0000 UTC m=+1.2 (durationBeforeRetry 2m2s). Error: MountVolume.MountDevice failed for volume "pvc-1" (UniqueName: "…") pod "db-0" (UID: "…") : rpc error: code = DeadlineExceeded desc = context deadline exceeded
//	Operation for "\"kubernetes.io/nfs/0cea2c05-…-data\"" failed. No retries permitted until … (durationBeforeRetry 2m2s). Error: "MountVolume.SetUp failed for volume \"data\" …: mount failed: exit status 32 …
//	MountVolume.SetUp failed for volume "data" : mount failed: exit status 32 …      (of an Event, pasted without its columns)
func volumeFailed(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(r.Message(), `\`, "")
	unique, _ := scan.Between(text, `(UniqueName: "`, `"`)
	if unique == "" {
		unique = strings.TrimLeft(scan.After(text, "{volumeName:", `Operation for "`), `"`)
	}
	plugin, _, _ := strings.Cut(unique, "^")
	if !strings.HasPrefix(plugin, "kubernetes.io/csi/") {
		plugin = firstParts(plugin, 2)
	}
	said := strings.Trim(scan.After(text, " Error: "), `"`)
	if bare := strings.TrimSpace(text); r.Unit == "" && strings.HasPrefix(bare, "MountVolume.") {
		said = bare
	}
	operation, rest, ok := strings.Cut(said, " failed for volume ")
	name, _ := scan.Between(rest, `"`, `"`)
	reason := cmp.Or(rpcError(rest), scan.After(rest, `") : `, `" : `, `"): `, ": "))
	e := event.New(event.KindVolumeFailed, operation+" of volume "+name+" failed: "+scan.Clip(reason))
	e.Fields = append([]event.Field{event.FieldOperation.Text(operation), event.FieldName.Text(name)}, table.ErrorFields(scan.Clip(reason))...)
	e.AddText(event.FieldPlugin, plugin)
	return e, ok && scan.ContainsAny(reason, volumeHangs) && !strings.Contains(operation, " ")
}

// volumeWalk is a kubelet that gives each file of a volume to the group of a pod. Since 1.20 it
// says so once that has taken half a minute, before at each mount; since 1.33 it also tells, as
// Events, how far it is after each further minute (pkg/volume/volume_linux.go). What a volume of
// the kubelet's own memory takes is no matter.
//
//	Setting volume ownership for /var/lib/kubelet/pods/<uid>/volumes/kubernetes.io~csi/pvc-1/mount and fsGroup set. If the volume has a lot of files then setting volume ownership could be slow, see https://github.com/kubernetes/kubernetes/issues/69699
//	Setting volume ownership for <uid>/volumes/kubernetes.io~csi/pvc-1/mount is taking longer than expected, consider using OnRootMismatch - https://…
//	Setting volume ownership for <uid>/volumes/kubernetes.io~csi/pvc-1/mount, processed 2654670 files.
func volumeWalk(r *event.Record) (event.Event, bool) {
	rest := scan.After(r.Message(), "Setting volume ownership for ")
	path, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	path = strings.TrimSuffix(path, ",")
	before, volume, ok := strings.Cut(path, "/volumes/")
	plugin, name, _ := strings.Cut(volume, "/")
	does, what := "sets", "begun"
	if strings.Contains(rest, " is taking longer than expected") {
		does, what = "takes long to set", "late"
	}
	files, err := strconv.Atoi(scan.Digits(scan.After(rest, ", processed ")))
	if err == nil {
		does, what = "takes long to set", "late"
	}
	e := event.New(
		event.KindVolumeWalk, "the kubelet "+does+" the group of each file of the volume "+strings.TrimSuffix(name, "/mount"),
		event.FieldPath.Text(path), event.FieldWhat.Text(what),
	)
	e.IDs.PodUID = before[strings.LastIndexByte(before, '/')+1:]
	e.AddText(event.FieldPlugin, plugin)
	if err == nil {
		e.AddFields(event.FieldCount.Int(files))
		e.Text += ": it has come to " + strconv.Itoa(files) + " files"
	}
	return e, ok && name != "" && !slices.Contains(ownVolumes, plugin)
}

// ownVolumes are the kinds of volumes that the kubelet itself fills with a few files.
var ownVolumes = []string{"kubernetes.io~secret", "kubernetes.io~configmap", "kubernetes.io~projected", "kubernetes.io~downward-api"}

// firstParts are the first parts of a path, as kubernetes.io/nfs.
func firstParts(path string, parts int) string {
	all := strings.SplitN(path, "/", parts+1)
	return strings.Join(all[:min(parts, len(all))], "/")
}

// volumeHangs stand in errors of a driver or a file server that does not answer, or is not there.
var volumeHangs = []string{
	"DeadlineExceeded", "deadline exceeded", "timed out", "imed out waiting", "given Volume ID", "Stale file handle", "stale NFS file handle",
	"ransport endpoint is not connected", "device or resource busy", "target is busy", "not found in the list of registered CSI drivers",
}

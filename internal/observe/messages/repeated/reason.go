package repeated

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// FailureReason is why a call of the CRI failed, where its error names what the runtime or the
// pods' network plugin lacks (event.CRIFailures); nil where it names nothing known. Kubelet and
// runtime write the same error.
func FailureReason(method, text string) []event.Field {
	text = strings.ReplaceAll(text, `\`, "") // the quotes of an error are escaped once or twice
	if words := signWords[method]; words == nil || !words().Match([]byte(text)) {
		return nil
	}
	for _, f := range failures {
		if slices.Contains(f.methods, method) && slices.ContainsFunc(f.signs, func(s sign) bool { return s.standsIn(text) }) {
			return []event.Field{event.FieldReason.Text(f.reason)}
		}
	}
	return nil
}

// failure is what the errors of some methods say when they fail for one reason.
type failure struct {
	reason  string
	methods []string
	signs   []sign
}

// sign is an error by its words: one of each list stands in it, in the order of the lists.
type sign [][]string

// standsIn says whether the words stand in a text.
func (s sign) standsIn(text string) bool {
	for _, words := range s {
		end := -1
		for _, word := range words {
			if i := strings.Index(text, word); i >= 0 && (end < 0 || i+len(word) < end) {
				end = i + len(word)
			}
		}
		if end < 0 {
			return false
		}
		text = text[end:]
	}
	return true
}

// signWords find, by method, one list of each sign of its failures, all at once: most errors name
// nothing known.
var signWords = map[string]func() *lines.Literals{}

func init() {
	for _, f := range failures {
		for _, method := range f.methods {
			signWords[method] = sync.OnceValue(func() *lines.Literals { return findSigns(method) })
		}
	}
}

// findSigns looks for the list of each sign whose shortest word is the longest, which is the
// fastest.
func findSigns(method string) *lines.Literals {
	shortest := func(words []string) int {
		return len(slices.MinFunc(words, func(a, b string) int { return cmp.Compare(len(a), len(b)) }))
	}
	var all []string
	for _, f := range failures {
		if !slices.Contains(f.methods, method) {
			continue
		}
		for _, s := range f.signs {
			all = append(all, slices.MaxFunc(s, func(a, b []string) int { return cmp.Compare(shortest(a), shortest(b)) })...)
		}
	}
	return lines.NewLiterals(all)
}

// anyOf are signs of one word each.
func anyOf(words ...string) sign { return sign{words} }

var (
	ofSandbox    = []string{"RunPodSandbox"}
	ofContainers = []string{"RunPodSandbox", "CreateContainer", "StartContainer"}
	ofNetwork    = []string{"RunPodSandbox", "StopPodSandbox"} // the calls that run the plugins
)

// failures are asked in this order: what names a cause comes before what only names its effect.
var failures = []failure{
	{"pause-image", ofSandbox, []sign{
		anyOf("unable to pull sandbox image"),
		{pauseImage, pullErrors},
		{pauseImage, []string{": not found"}},
		anyOf(`failed to get sandbox image "`), // containerd, whatever follows, which may be cut
	}},
	{"runtime-program", ofContainers, []sign{
		// runc 1.0 to 1.2 with a library that is not there; containerd wrote one "s" less up to 1.5
		{[]string{"runc did not terminate succ"}, []string{"essfully: exit status 127", "esfully: exit status 127"}},
		{runtimePrograms, []string{": symbol lookup error", ": error while loading shared libraries: "}},
		{withEach(runtimePrograms, `": executable file not found`, `": file does not exist`, ": executable file not found", ": file does not exist")},
		{[]string{"fork/exec "}, withEach(append(slices.Clone(runtimePrograms), "nvidia-container-runtime"), ": no such file")},
	}},
	// a daemon that the runtime asks: a snapshotter, or those of sysbox
	{"runtime-helper", ofContainers, []sign{
		{[]string{"dial unix"}, helperSockets, []string{": connect: ", ": timeout"}},
		{helperSockets, []string{"api.sock: not found", "api.sock: no such file"}}, // nydusd, by its snapshotter
		anyOf(WordsOfSysbox...),
	}},
	{"runtime-handler", ofSandbox, []sign{ // containerd, CRI-O, dockershim
		{[]string{"no runtime for "}, []string{" is configured"}},
		{[]string{"failed to find runtime handler ", "RuntimeHandler "}, []string{" from runtime list", " not supported"}},
	}},
	{"cgroup-driver", ofContainers, []sign{
		anyOf("expected cgroupsPath to be of format", "cgroup-parent for systemd cgroup should be a valid slice", "cannot use systemd cgroups manager"),
		anyOf("configured with systemd cgroup manager, but did not receive sli", "configured with cgroupfs cgroup manager, but received systemd slice"), // CRI-O; the kubelet's log cuts it
	}},
	// runc and crun set the device rules of each container, whatever it is: a rule that is refused is
	// refused for all. crun 1.18 on cgroup v1; a node in a container; a kernel without
	// CONFIG_CGROUP_BPF, or with another form of it.
	{"device-rules", ofContainers, []sign{
		{[]string{"devices.allow", "devices.deny"}, []string{"peration not permitted", "ermission denied", "invalid argument", "Invalid argument"}},
		{[]string{"BPF_CGROUP_DEVICE"}, []string{"failed: ", "can't attach program: "}, []string{"peration not permitted", "invalid argument", "not implemented", "not supported"}},
		{[]string{"cgroup config for procHooks process"}, []string{"load program: ", "can't load program"}},
	}},
	{"cni-old-bridge", ofNetwork, []sign{anyOf("already has an IP address different from")}}, // bridge
	{"cni-no-program", ofNetwork, []sign{
		anyOf("failed to find plugin "), // libcni
		{[]string{`plugin type=`}, []string{"tables"}, []string{"executable file not found"}},
	}},
	{"cni-killed", ofNetwork, []sign{
		{[]string{"netplugin failed"}, []string{"signal: killed"}}, // libcni
		// dockershim, up to 1.23: it ends one that takes 220 s (CNITimeoutSec)
		{[]string{"NetworkPlugin cni failed to "}, []string{`" network: context deadline exceeded`}},
	}},
	{"cni-crashed", ofNetwork, []sign{
		anyOf("error parsing its diagnostic message", "netplugin failed with no error message"), // libcni: it wrote no JSON, or nothing
		{[]string{"netplugin failed: "}, []string{"panic: ", "fatal error: ", "SIGSEGV"}},       // libcni from 1.0 on quotes what it wrote
	}},
	{"cni-damaged-file", ofNetwork, []sign{
		{[]string{"etwork", "plugin type="}, []string{"unexpected end of JSON input"}},
		{[]string{"etwork", "plugin type="}, []string{"invalid character "}, []string{" looking for beginning of value"}},
	}},
	{"cni-no-address", ofNetwork, []sign{
		anyOf(
			"failed to assign an IP address to container", "InsufficientFreeAddressesInSubnet", // aws-cni
			"no IP addresses available in range set",                // host-local
			"no available IP addresses", "not enough IPs available", // azure-vnet, whereabouts
			"all available IPs exhausted", "IP pool exhausted", // weave, cilium
			"ore free affine blocks", "no configured Calico pools", "No available addresses", // calico
			"no IPs available", "Could not allocate IP in range", "IpNotEnough", // kube-ovn, whereabouts, terway
		),
		{[]string{"postIpamFailure "}, []string{"IPs", "CIDR ranges", "range is full"}}, // cilium
		{[]string{"Assigned 0 out of "}, []string{" requested"}},                        // calico
	}},
	{"cni-unauthorized", ofNetwork, []sign{
		anyOf("getting ClusterInformation: connection is unauthorized", "error getting pod: Unauthorized", "error waiting for pod: Unauthorized"),
		{[]string{"plugin type="}, []string{": Unauthorized"}},
	}},
	{"cni-no-file", ofNetwork, []sign{
		{[]string{"stat ", "open "}, []string{"/var/lib/calico/nodename: no such file", "/run/flannel/subnet.env: no such file"}},
		{[]string{"ultus"}, []string{"etworks found in /"}}, // multus looks for the configuration of the pods' own network
	}},
	{"cni-no-device", ofSandbox, []sign{
		{[]string{"etwork", "plugin type="}, []string{": Link not found", "Cannot find device", "no such network interface"}}, // macvlan, ipvlan, host-device
	}},
	{"cni-no-daemon", ofNetwork, []sign{
		{[]string{"dial tcp 127.0.0.1:", "dial tcp [::1]:"}, withEach(daemonPorts, ": connect: connection refused")},
		{[]string{"dial unix "}, daemonSockets, []string{": connect: "}},
		anyOf("failed to create cilium agent client", "Network gRPC call: rpc error: code = Unavailable"), // cilium, aws-cni
	}},
	{"cni-no-api-server", ofNetwork, []sign{
		{askers, []string{":443/", ":443:", ":6443/", ":6443:"}, []string{
			"i/o timeout", "connect: connection refused", "connect: no route to host", "connect: network is unreachable",
			"TLS handshake timeout", "x509: ", "no such host",
		}},
	}},
	{"cni-silent", ofNetwork, []sign{
		anyOf("Cilium API client timeout exceeded", "[429]putEndpointId", "[429] putEndpointId", "did not synchronously regenerate after timeout"),
		{[]string{"cilium.sock", "http://dummy", "http://localhost/v1/endpoint", "http://localhost/v1/config", "http://localhost/v1/ipam"}, []string{": EOF", ": context deadline exceeded"}},
		anyOf("waiting for initial endpoint generation", "waiting for annotations", "timed out waiting for OVS port binding"),   // cilium, ovn-kubernetes
		anyOf("waiting for readinessindicatorfile", "waiting for readinessIndicatorFile", "waiting for ReadinessIndicatorFile"), // multus
		{[]string{"CNI request failed with status "}, []string{`00: context deadline exceeded`, `00: 'context deadline exceeded`, `00: "context deadline exceeded`}},
		{[]string{"plugin type=", "error alloc ip"}, []string{" code = DeadlineExceeded"}},
		anyOf("waiting for locking queue file", "while waiting to become leader"), // whereabouts, and one that queues
	}},
	{"cni-locked", ofNetwork, []sign{anyOf("timed out locking store", "Timed out on locking store", "Store is locked")}}, // azure-vnet
}

var (
	pauseImage = []string{"sandbox image", "/pause:", "/pause-", `/pause"`, "mirrored-pause:", " pause:", " pause-", `"pause:`, `"pause-`}
	pullErrors = []string{
		"pull access denied", "i/o timeout", "status code", "x509: ", "no such host", "connection refused", "no route to host",
		"network is unreachable", "TLS handshake", "manifest unknown", "nauthorized", "orbidden", "Client.Timeout", ": EOF", "connection reset",
	}
	// helperSockets are below the directories of snapshotters, and of sysbox.
	helperSockets   = []string{"stargz-grpc", "nydus", "soci-snapshotter", "overlaybd-snapshotter", "fuse-overlayfs", "/run/sysbox/"}
	runtimePrograms = []string{"runc", "crun", "containerd-shim", "containerd-shim-runc-v1", "containerd-shim-runc-v2"}
	// daemonPorts are those of weave, aws-cni, azure-cns and calico-node.
	daemonPorts   = []string{"6784", "50051", "10090", "9099"}
	daemonSockets = []string{"/cilium", "/multus", "/antrea", "/kube-ovn", "/ovnkube", "/ovn-kubernetes", "/istio-cni", "/eni"}
	// askers are the plugins that ask the API server themselves.
	askers = []string{
		"getting ClusterInformation", "Multus: ", `plugin type="calico`, `plugin type="multus`, `plugin type="flannel`,
		`plugin type="istio-cni`, `plugin type="linkerd-cni`, `plugin type="kube-ovn`,
	}
)

// WordsOfSysbox are how sysbox-runc says that sysbox-mgr or sysbox-fs does not answer it.
var WordsOfSysbox = []string{"failed to register with sysbox-mgr", "register with sysbox-fs", "register container with sysbox-fs"}

// isHelper says that a socket is of a daemon that the runtime asks, and not of a runtime.
func isHelper(socket string) bool {
	return slices.ContainsFunc(helperSockets, func(s string) bool { return strings.Contains(socket, s) })
}

// withEach is each word with each ending.
func withEach(words []string, endings ...string) []string {
	var all []string
	for _, word := range words {
		for _, ending := range endings {
			all = append(all, word+ending)
		}
	}
	return all
}

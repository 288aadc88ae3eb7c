// Package network knows what the daemons of network plugins say of themselves, and of what they
// depend on. What a runtime says of a call that failed in a plugin stands with the runtime's words.
package network

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Table is what they say: Calico 3.0 to 3.30, Cilium 1.6 to 1.18, the VPC CNI of AWS 1.5 to 1.20,
// Azure's CNI 1.0 to 1.6, Terway, flannel 0.5 to 0.27, kube-router, Multus 3 and 4, whereabouts,
// Open vSwitch 2.5 to 3.5; and kube-proxy. They run in containers, so that most lines name no
// writer.
var Table = table.Table{Component: "cni", Relays: []string{"", table.HostProgram}, Unnamed: "cni", Rows: []table.Row{
	{literalsOf(troubleTexts), daemonTrouble},
	{[]string{" poll interval (", " to quiesce"}, openVSwitchLate},
}}

// Lock is what every program says that cannot change the rules of iptables.
var Lock = table.Table{Component: "cni", Relays: []string{"", table.HostProgram, "kubelet"}, Unnamed: "cni", Rows: []table.Row{
	{[]string{"holding the xtables lock", "acquire new iptables lock", "acquire old iptables lock", "timed out while checking rules"}, iptablesLocked},
}}

// iptablesLocked is a program that wants to change the rules of iptables while another one does,
// which holds the lock for as long; with very many rules that is seconds. iptables 1.4.20 to 1.8,
// Kubernetes:
//
//	Failed to execute iptables-restore: exit status 4 (Another app is currently holding the xtables lock. Perhaps you want to use the -w option?
//	Another app is currently holding the xtables lock. Stopped waiting after 5s.      (also: … waiting (1s) for it to exit…; "; still 4s 910000us time ahead to have a chance to grab the lock…")
//	Failed to execute iptables-restore: failed to acquire new iptables lock: timed out waiting for the condition
//	Failed to ensure marking rule for KUBE-MARK-DROP: timed out while checking rules      (iptables had not ended by then)
func iptablesLocked(r *event.Record) (event.Event, bool) {
	who := cmp.Or(r.Unit, "iptables")
	e := event.New(
		event.KindNetworkDaemon, who+" cannot change the rules of iptables: another program holds their lock",
		event.FieldPlugin.Text(who), event.FieldWhat.Text("lock"),
	)
	if strings.Contains(r.Raw, "timed out while checking rules") {
		e.Text = who + " cannot change the rules of iptables: iptables did not end in time"
		return e, true
	}
	given := scan.ContainsAny(r.Raw, []string{"app is currently holding the xtables lock", " iptables lock: "})
	return e, given && !strings.Contains(r.Raw, "time ahead to have a chance") // that one waits
}

// troubleText is a text of a daemon, and what it means.
type troubleText struct {
	text, plugin, what string
	from               string   // where the reason begins in the message; empty for behind the text
	with               []string // of which one stands there, too, where others say the text as well
}

// troubleTexts are texts of which one stands in every such line, by daemon.
var troubleTexts = []troubleText{
	{text: "Hit error connecting to datastore - retry", plugin: "calico", what: "api"},
	{text: "Connection to the datastore is unauthorized", plugin: "calico", what: "api"},
	{text: "Failed to initialize Calico datastore", plugin: "calico", what: "start"},
	{text: "Unable to access datastore to query node configuration", plugin: "calico", what: "api"},
	{text: "Unable to create token for CNI kubeconfig", plugin: "calico", what: "api"},
	{text: "Failed to connect to Typha", plugin: "calico", what: "api"},
	{text: "Connection to Typha failed", plugin: "calico", what: "api", from: "Connection to Typha"},
	{text: "Reporter is not live", plugin: "calico", what: "health"},
	{text: "health.HealthReport{Live:false", plugin: "calico", what: "health", from: "Overall health status"},
	{text: "Shutting down due to health timeout", plugin: "calico", what: "health"},
	{text: "Calico node failed to start", plugin: "calico", what: "health"},
	{text: "calico/node is not ready: ", plugin: "calico", what: "health", from: "calico/node is not ready: "},
	{text: "Failed to program iptables, loading diags before panic", plugin: "calico", what: "health", from: "Failed to program iptables"},
	{text: "-save command failed after retries", plugin: "calico", what: "health", from: "ip"},
	{text: "Couldn't autodetect an IPv4 address", plugin: "calico", what: "start", from: "Couldn't autodetect"},
	{text: "Unable to auto-detect an IPv4 address", plugin: "calico", what: "start", from: "Unable to auto-detect"},
	{text: " was an error. error=stat /var/lib/calico/nodename", plugin: "calico", what: "daemon", from: "stat /var"},
	{text: " was an error. error=error getting ClusterInformation", plugin: "calico", what: "api", from: "error getting"},
	{text: " was an error. error=Get ", plugin: "calico", what: "api", from: "Get "},
	{text: "No more free affine blocks and strict affinity enabled", plugin: "calico", what: "addresses"},
	{text: "Unable to contact k8s api-server", plugin: "cilium", what: "api"},
	{text: "Unable to initialize Kubernetes subsystem", plugin: "cilium", what: "start"},
	{text: "failed to create cilium agent client", plugin: "cilium", what: "daemon"},
	{text: "Cilium API client timeout exceeded", plugin: "cilium", what: "daemon"},
	{text: "Timed out waiting for pre-existing resources", plugin: "cilium", what: "start", from: "Timed out waiting"},
	{text: "required IPv4 PodCIDR not available", plugin: "cilium", what: "start"},
	{text: "while retrieving initial list of objects from kvstore", plugin: "cilium", what: "start"},
	{text: "Unable to setup kvstore", plugin: "cilium", what: "start", with: []string{"kvstore=", "subsys=", `"kvstore":`}},
	{text: "Error while creating daemon", plugin: "cilium", what: "start", with: []string{"level=fatal", "subsys="}},
	{text: "Start hook failed", plugin: "cilium", what: "start", with: []string{"subsys=", "function=", `"function":`}},
	{text: "Regeneration of endpoint failed", plugin: "cilium", what: "health"},
	{text: "endpoint regeneration failed", plugin: "cilium", what: "health"},
	{text: "Unable to reach API Server", plugin: "aws-cni", what: "api"},
	{text: "Failed to check API server connectivity", plugin: "aws-cni", what: "api", with: []string{"aws-k8s-agent", "main.go"}},
	{text: "DataStore has no available IP", plugin: "aws-cni", what: "addresses"},
	{text: "no available IP/Prefix addresses", plugin: "aws-cni", what: "addresses"},
	{text: "assignPodIPv4AddressUnsafe: no available IP", plugin: "aws-cni", what: "addresses"},
	{text: "AssignPodIPv4Address: no available IP", plugin: "aws-cni", what: "addresses"},
	{text: "InsufficientFreeAddressesInSubnet", plugin: "aws-cni", what: "addresses"},
	{text: "InsufficientCidrBlocks", plugin: "aws-cni", what: "addresses"},
	{text: "Recently we had InsufficientCidr error", plugin: "aws-cni", what: "addresses"},
	{text: "Failed to increase pool size", plugin: "aws-cni", what: "health", from: "Failed to increase", with: []string{"ENI", "eni"}},
	{text: "timeout: failed to connect service", plugin: "aws-cni", what: "health", from: "timeout: failed", with: []string{"aws-node", "/proc.go:"}},
	{text: "Error received from AddNetwork g", plugin: "aws-cni", what: "daemon"},
	{text: "Error received from DelNetwork g", plugin: "aws-cni", what: "daemon"},
	{text: "Failed to assign an IP address to container ", plugin: "aws-cni", what: "addresses"},
	{text: "Retrying waiting for IPAM-D", plugin: "aws-cni", what: "start"},
	{text: "imed out waiting for IPAM daemon to start", plugin: "aws-cni", what: "start", from: "waiting for IPAM"},
	{text: "/network/requestipconfig", plugin: "azure-vnet", what: "daemon", from: "Post ", with: []string{"connection refused", "deadline exceeded", "EOF", "onnection reset"}},
	{text: "imed out on locking store", plugin: "azure-vnet", what: "lock"},
	{text: "key-value store of network plugin", plugin: "azure-vnet", what: "lock", with: []string{"locking store", "Store is locked"}},
	{text: "key-value store of network plugin", plugin: "azure-vnet", what: "health", from: "key-value store"},
	{text: "Failed to initialize network manager, err:", plugin: "azure-vnet", what: "start", from: "Failed to initialize"},
	{text: "Failed to start network plugin, err:", plugin: "azure-vnet", what: "start", from: "Failed to start"},
	{text: "Failed to allocate address: No available addresses", plugin: "azure-vnet", what: "addresses"},
	{text: "InvalidVSwitchId.IpNotEnough", plugin: "terway", what: "addresses"},
	{text: "no IP addresses available in range set", plugin: "host-local", what: "addresses"},
	{text: "Could not allocate IP in range: ", plugin: "whereabouts", what: "addresses"},
	{text: "Failed to create SubnetManager: ", plugin: "flannel", what: "start"},
	{text: "failed to acquire lease: ", plugin: "flannel", what: "api", with: []string{"egistering network"}},
	{text: "Couldn't fetch network config: ", plugin: "flannel", what: "api"},
	{text: "Failed to find any valid interface to use", plugin: "flannel", what: "start"},
	{text: "Failed to check br_netfilter", plugin: "flannel", what: "start"},
	{text: "[kube-peers] Could not get peers: ", plugin: "weave", what: "api"},
	{text: "Failed to connect to OVSDB", plugin: "antrea", what: "daemon", from: "Failed to connect"},
	{text: "daemon creation failed: ", plugin: "cilium", what: "start"},
	{text: "did not synchronously regenerate after timeout", plugin: "cilium", what: "daemon", from: "endpoint "},
	{text: "regeneration recovery failed", plugin: "cilium", what: "health"},
	{text: "timed out waiting for OVS port binding", plugin: "ovn", what: "daemon", from: "timed out"},
	{text: "timed out waiting for annotations", plugin: "ovn", what: "daemon", from: "timed out", with: []string{"pod annotation", "ovn"}},
	{text: "error waiting for node readiness: ", plugin: "ovn", what: "start"},
	{text: "no annotation found on node for subnet", plugin: "ovn", what: "start", from: "no annotation found"},
	{text: "failed getting connection status of ", plugin: "ovn", what: "health", from: "failed getting"},
	{text: "OVN Kubernetes config file ", plugin: "ovn", what: "health", from: "OVN Kubernetes config", with: []string{"doesn't exist"}},
	{text: ": no response to inactivity probe after ", plugin: "ovs", what: "daemon", from: "no response"},
	{text: ".mgmt: connection failed (", plugin: "ovs", what: "daemon", from: "connection failed"},
	{text: "db.sock: database connection failed (", plugin: "ovs", what: "daemon", from: "database connection"},
	{text: "_h is not ready after ", plugin: "kube-ovn", what: "daemon", from: "ovs interface", with: []string{"ovs interface "}},
	{text: "Failed to retrieve node info: Get ", plugin: "kube-proxy", what: "api", from: "Get "},
	{text: "Failed to get pod CIDR from node spec", plugin: "kube-router", what: "start"},
	{text: "Multus: error getting pod", plugin: "multus", what: "api"},
	{text: "error waiting for pod: ", plugin: "multus", what: "api", with: []string{"ultus", "network-status"}},
	{text: "waiting for ReadinessIndicatorFile", plugin: "multus", what: "daemon", from: "waiting for"},
	{text: "waiting for readinessindicatorfile", plugin: "multus", what: "daemon", from: "waiting for"},
}

func literalsOf(all []troubleText) (texts []string) {
	for _, s := range all {
		texts = append(texts, s.text)
	}
	return texts
}

// means are what a daemon lacks, in words.
var means = map[string]string{
	"api":       "cannot get what it needs from the API server",
	"addresses": "has no address left for a pod",
	"daemon":    "gets no answer from a daemon that it needs",
	"health":    "says that it is not healthy",
	"lock":      "does not get the lock of its own state, which another run of it holds or has left",
	"start":     "does not get through its start",
}

// daemonTrouble is a daemon that does not get on. A runtime's own line that repeats it names the
// plugin and its call, and is read as such:
//
//	2022-05-17 10:00:24.694 [INFO][10] startup/startup.go 374: Hit error connecting to datastore - retry error=Get https://10.43.0.1:443/api/v1/nodes/foo: dial tcp 10.43.0.1:443: i/o timeout
//	2023-08-11 06:02:12.318 [WARNING][61] felix/health.go 211: Reporter is not live. name="int_dataplane"
//	{"level":"error","ts":"2023-11-16T10:05:03.920Z","caller":"datastore/data_store.go:682","msg":"DataStore has no available IP/Prefix addresses"}
//	level=error msg="Unable to contact k8s api-server" error="Get \"https://10.96.0.1:443/…\": dial tcp 10.96.0.1:443: i/o timeout" ipAddr="https://10.96.0.1:443" subsys=k8s
//	E1018 08:54:51.468436       1 main.go:243] Failed to create SubnetManager: error retrieving pod spec for 'kube-system/kube-flannel-ds-kw2bh': Get "https://10.0.0.1:443/…": dial tcp 10.0.0.1:443: i/o timeout
func daemonTrouble(r *event.Record) (event.Event, bool) {
	i := slices.IndexFunc(troubleTexts, func(s troubleText) bool {
		return strings.Contains(r.Raw, s.text) && (len(s.with) == 0 || scan.ContainsAny(r.Raw, s.with))
	})
	if i < 0 || scan.ContainsAny(r.Raw, []string{"plugin type=", "etwork for sandbox", "network sandbox", "CNI network", "Error adding network: ", "Error adding pod ", "Error deleting pod "}) {
		return event.Event{}, false
	}
	s := troubleTexts[i]
	reason := ""
	switch s.what {
	case "api", "daemon", "start":
		reason = strings.TrimLeft(cmp.Or(table.ErrorOf(r), scan.After(r.Message(), " error=", "RPC call: ", s.text)), ": ,.")
	case "health":
		if name, ok := scan.Between(r.Raw, `name="`, `"`); ok {
			reason = "its part " + name
		} else if s.plugin == "cilium" {
			reason = table.ErrorOf(r)
		}
	}
	if quoted, err := strconv.QuotedPrefix(reason); err == nil {
		reason, _ = strconv.Unquote(quoted) // no error is possible
	}
	if s.from != "" {
		reason = s.from + scan.After(r.Message(), s.from)
	}
	if reason = scan.Clip(reason); s.what == "start" {
		reason = strings.TrimPrefix(reason, "failed to start: daemon creation failed: ")
	}
	e := event.New(
		event.KindNetworkDaemon, s.plugin+" "+means[s.what], event.FieldPlugin.Text(s.plugin), event.FieldWhat.Text(s.what),
	)
	if reason != "" {
		e.Text += ": " + event.OneLine(reason)
		e.AddText(event.FieldError, reason)
	}
	if n := countOccurrences(r.Raw); n > 1 && r.Repeats == 0 {
		e.AddFields(event.FieldRepeats.Int(n))
	}
	return e, true
}

// maxOccurrences bounds what one line may count: a log that is read as a whole has fewer.
const maxOccurrences = 1_000_000

// countOccurrences is how often a line came that cilium connectivity test lists once; 0 where that
// is not said. Its command line writes the word in two ways:
//
//	level=warning msg="Regeneration of endpoint failed" … subsys=endpoint (12 occurrences)
func countOccurrences(line string) int {
	number, word, _ := strings.Cut(line[strings.LastIndexByte(line, '(')+1:], " ")
	n, err := strconv.Atoi(number)
	if err != nil || n > maxOccurrences || !strings.HasPrefix(word, "occur") || !strings.HasSuffix(strings.TrimRight(word, " \r"), "ences)") {
		return 0
	}
	return n
}

// lateSwitch is how long Open vSwitch must have been held up for that to be a sign: a second is
// what a busy node shows, too.
const lateSwitch = 4

// openVSwitchLate is Open vSwitch's word on a thread of its own that did not come round: the
// machine had no CPU for it, or the kernel held it.
//
//	2023-12-13T03:08:45.046Z|18853|ovs_rcu(urcu8)|WARN|blocked 16000 ms waiting for main to quiesce
//	2023-12-13T03:08:45.124Z|115041|timeval|WARN|Unreasonably long 16306ms poll interval (6568ms user, 258ms system)
func openVSwitchLate(r *event.Record) (event.Event, bool) {
	said := scan.After(r.Raw, "|WARN|blocked ", "|WARN|Unreasonably long ")
	ms, err := strconv.Atoi(scan.Digits(said))
	if err != nil || ms < lateSwitch*1000 {
		return event.Event{}, false
	}
	e := event.New(
		event.KindNetworkDaemon, "Open vSwitch was held up for "+strconv.Itoa(ms/1000)+" s", event.FieldPlugin.Text("ovs"),
		event.FieldWhat.Text("late"),
	)
	e.AddNumber(event.FieldSeconds, strconv.Itoa(ms/1000))
	if user, rest, ok := strings.Cut(scan.After(said, " poll interval ("), "ms user, "); ok {
		e.Text += ", " + user + " ms of it in its own code and " + scan.Digits(rest) + " ms in the kernel"
	}
	return e, true
}

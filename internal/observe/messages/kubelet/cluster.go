package kubelet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Cluster is what those say of a node who manage it from outside: controllers and operators,
// kubeadm, and clients of the API server.
var Cluster = table.Table{Component: "node", Relays: []string{"", "kubelet"}, Rows: []table.Row{
	{[]string{" not ready since "}, nodeNotReadySince},
	{[]string{"all Nodes are not-Ready. Entering master disruption"}, allNotReady},
	{[]string{"no longer present in cloud provider"}, nodeGone},
	{[]string{"rror retrieving resource lock ", "rror retrieving lease lock", "ailed to update lock"}, leaderLeaseFailed},
	{[]string{"in response to imminent node shutdown", "rejected as the node is shutting down"}, toldShutdown},
	{[]string{"Spot ITN received. "}, spotMachineTaken},
	{[]string{"initiating delete from interruption message", "disrupting node(s)", "disrupting nodeclaim(s)", "disrupting via ", "deprovisioning via ", "tainted node"}, nodeDisrupted},
	{[]string{"Node will reboot into config ", "Commanding reboot for node: "}, rebootOrdered},
	{[]string{"[ERROR Swap]: ", "error uploading crisocket: ", "could not find a JWS signature in the cluster-info", "Command failed", "Failed to run module scripts-user"}, kubeadmFailed},
	{append(scan.WithEach("apiserver ", "JFMASOND", ""), "          no"), controlPlaneCertificateExpired}, // ten spaces behind the longest name, or the API server's row of a list whose blanks are squeezed
	{[]string{"kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving", ":node-bootstrapper", "system:bootstrap:"}, requestPending},
	{tunnelTexts, tunnelBroken},
	{[]string{"remote error: tls: internal error"}, noServingCertificate},
	{[]string{" service terminated unexpectedly."}, windowsServiceEnds},
	{[]string{"The connection to the server ", "Unable to connect to the server: ", "couldn't get current server API group list: "}, kubectlFailed},
}}

// Machined is what the controllers of machined, the first process of Talos, say who ask the API
// server of its cluster (0.14 to 1.12).
var Machined = table.Table{Component: "talos", Relays: []string{"kernel", table.HostProgram}, Unnamed: "talos", Rows: []table.Row{
	{[]string{"controller-runtime"}, machinedFailed},
}}

// machinedFailed is such a controller that makes no connection. The kernel's log escapes its
// quotation marks once more:
//
//	[talos] controller failed {"component": "controller-runtime", "controller": "k8s.NodeApplyController", "error": "1 error(s) occurred:\n\terror getting node: Get \"https://localhost:6443/api/v1/nodes/n?timeout=30s\": dial tcp [::1]:6443: connect: connection refused"}
//	[talos] kubernetes registry node watch error {"component": "controller-runtime", "controller": "cluster.KubernetesPullController", "error": "failed to list *v1.Node: Get \x5c"https://10.1.1.2:6443/api/v1/nodes?limit=500\x5c": dial tcp 10.1.1.2:6443: connect: connection refused"}
func machinedFailed(r *event.Record) (event.Event, bool) {
	raw := strings.NewReplacer(`\x5cn\x5ct`, " ", `\n\t`, " ", `\x5c`, "", `\`, "").Replace(r.Raw)
	_, reason, ok := strings.Cut(raw, `"error": "`)
	asks := scan.ContainsAny(raw, []string{`"controller": "k8s.`, `"controller": "cluster.Kubernetes`})
	e, failed := unreachable("Talos", strings.TrimRight(strings.TrimSpace(reason), `"}`))
	e.Component = "talos"
	return e, ok && asks && failed
}

// kubectlFailed is kubectl without an answer, wherever it runs. At port 8080 of its own machine it
// asks for want of a kubeconfig.
//
//	The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?
//	Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout
//	memcache.go:265] couldn't get current server API group list: Get "https://10.0.0.1:6443/api?timeout=32s": dial tcp 10.0.0.1:6443: connect: connection refused
func kubectlFailed(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	reason := scan.After(text, "Unable to connect to the server: ", "couldn't get current server API group list: ")
	if server, ok := scan.Between(text, "The connection to the server ", " was refused"); ok {
		reason = "dial tcp " + server + ": connection refused"
	}
	e, failed := unreachable("kubectl", reason)
	return e, failed && r.Unit == "" && !strings.Contains(reason, ":8080")
}

// unreachable is the event of a client of the API server that had no answer; failed is false where
// the reason does not say so.
func unreachable(client, reason string) (e event.Event, failed bool) {
	why := apiReason(reason)
	e = ofCluster(event.KindAPIFailed, client+" does not reach the API server: "+apiWords[why], event.FieldWhat.Text(event.Unnamed), event.FieldReason.Text(why), event.FieldHow.Text(apiWords[why]))
	e.AddFields(serverFields(reason)...)
	e.AddFields(event.FieldError.Text(scan.Clip(reason)))
	return e, slices.Contains([]string{"refused", "timeout", "no-route"}, why)
}

// ofCluster makes an event of somebody outside of the node.
func ofCluster(kind event.Kind, text string, fields ...event.Field) event.Event {
	e := event.New(kind, text, fields...)
	e.Component, e.Source = facts.Kubernetes, facts.Kubernetes
	return e
}

// nodeEventOf makes what an Event about a node says, of a controller that tells it in its own log.
func nodeEventOf(reason, name, message, from string) event.Event {
	text := reason + ": " + message
	if strings.HasSuffix(message, " status is now: "+reason) { // the message says the reason
		text = message
	}
	return ofCluster(
		event.KindKubeEvent, text, event.FieldReason.Text(reason), event.FieldObject.Text("Node"), event.FieldName.Text(name),
		event.FieldMessage.Text(message), event.FieldType.Text("Normal"), event.FieldFrom.Text(from),
	)
}

// nodeNotReadySince is the condition of a node as operators of OpenShift (4.1 to 4.20) repeat it:
//
//	NodeControllerDegraded: The master nodes not ready: node "master-0" not ready since 2026-08-23 10:11:12 +0000 UTC because NodeStatusUnknown (Kubelet stopped posting node status.)
func nodeNotReadySince(r *event.Record) (event.Event, bool) {
	before, rest, _ := strings.Cut(strings.ReplaceAll(r.Raw, `\"`, `"`), `" not ready since `)
	name := before[strings.LastIndexByte(before, '"')+1:]
	_, why, ok := strings.Cut(rest, " because ")
	reason, message, _ := strings.Cut(why, " (")
	message, _, _ = strings.Cut(message, "), node ") // the next of several
	message = strings.TrimRight(message, ")\" ")
	status := "False"
	if strings.HasPrefix(reason, "NodeStatus") {
		status = "Unknown"
	}
	return ofCluster(
		event.KindNodeCondition, "condition Ready of "+name+" is "+status+": "+reason, event.FieldNode.Text(name), event.FieldCondition.Text("Ready"),
		event.FieldStatus.Text(status), event.FieldReason.Text(reason), event.FieldMessage.Text(scan.Clip(message)),
	), ok && name != "" && reason != "" && !strings.ContainsRune(reason, ' ')
}

// allNotReady is the node controller that finds no node Ready, and evicts no pod then. In a cluster
// of one node that is this node:
//
//	node_lifecycle_controller.go:1243] "Controller detected that all Nodes are not-Ready. Entering master disruption mode"
func allNotReady(*event.Record) (event.Event, bool) {
	return nodeEventOf("NodeNotReady", "", "the node controller finds all nodes NotReady at the same time", "node-controller"), true
}

// nodeGone is a node that a cloud's controller deletes, as the cloud knows no machine of it:
//
//	node_lifecycle_controller.go:164] deleting node since it is no longer present in cloud provider: worker-1
//	≤ 1.13  Deleting node (no longer present in cloud provider): worker-1
func nodeGone(r *event.Record) (event.Event, bool) {
	name := scan.FirstWord(scan.After(r.Message(), "cloud provider: ", "cloud provider): "))
	return nodeEventOf("DeletingNode", name, "node "+name+" is deleted: the cloud provider has no such machine any more", "cloud-node-lifecycle-controller"), name != ""
}

// leaderLeaseFailed is a controller or a scheduler that cannot read or renew the lease by which it
// leads: the API server does not answer it.
//
//	leaderelection.go:330] error retrieving resource lock kube-system/kube-scheduler: Get "https://10.0.0.1:6443/…": context deadline exceeded
//	"Error retrieving lease lock" err="Get …" lock="kube-system/kube-scheduler"                     (1.33 and later)
//	Failed to update lock: etcdserver: request timed out
func leaderLeaseFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	reason := cmp.Or(table.ErrorOf(r), scan.After(scan.After(text, "rror retrieving resource lock ", "ailed to update lock"), ": "))
	why := apiReason(reason)
	e := ofCluster(event.KindAPIFailed, "a controller cannot read or renew the lease by which it leads: "+cmp.Or(apiWords[why], scan.Clip(reason)))
	e.Fields = []event.Field{event.FieldWhat.Text("lock"), event.FieldReason.Text(why)}
	e.AddText(event.FieldHow, apiWords[why])
	e.AddFields(serverFields(reason)...)
	e.AddFields(event.FieldError.Text(scan.Clip(reason)))
	return e, why != "other" && why != "not-found" && why != "forbidden" && !strings.Contains(reason, "cannot be fulfilled")
}

// toldShutdown is the state of a pod that ended with its node, which the kubelet held up for it
// (1.20 and later), or that came too late:
//
//	message: Pod was terminated in response to imminent node shutdown.
//	Message: Pod was rejected as the node is shutting down.
func toldShutdown(r *event.Record) (event.Event, bool) {
	said := "Pod was terminated in response to imminent node shutdown."
	if strings.Contains(r.Raw, "rejected as the node") {
		said = "Pod was rejected as the node is shutting down."
	}
	return ofCluster(
		event.KindKubeEvent, "NodeShutdown: "+said, event.FieldReason.Text("NodeShutdown"), event.FieldObject.Text("Pod"),
		event.FieldMessage.Text(said), event.FieldType.Text("Warning"), event.FieldFrom.Text("kubelet"),
	), r.Unit == ""
}

// spotMachineTaken is the notice that the provider takes a spot machine back, as
// aws-node-termination-handler logs it:
//
//	INF Adding new event to the event store event={… "Description":"Spot ITN received. Instance will be interrupted at 2025-05-16T08:31:24Z \n" …}
func spotMachineTaken(*event.Record) (event.Event, bool) {
	return nodeEventOf("SpotInterruption", "", "notice of a spot interruption", "aws-node-termination-handler"), true
}

// nodeDisrupted is Karpenter (0.20 to 1.8), which takes a node away: it drains it, deletes it and
// ends its machine. It gives an Event of the node these words, too.
//
//	{"level":"INFO",…,"message":"disrupting node(s)",…,"reason":"drifted","decision":"delete",…,"disrupted-nodes":[{"Node":{"name":"ip-10-0-0-5…"},…      (1.1 and later; 1.0 "disrupting nodeclaim(s) via delete, terminating …")
//	{"level":"INFO",…,"message":"disrupting via consolidation delete, terminating 1 nodes (1 pods) ip-10-0-0-5…/c6gn.medium/spot",…      (0.32 to 0.37; "deprovisioning via …" before)
//	{"level":"INFO",…,"message":"tainted node",…,"controller":"node.termination",…      (whoever has asked for it)
//	{"level":"INFO",…,"message":"initiating delete from interruption message",…,"messageKind":"spot_interrupted",…}      (SpotInterruptionKind before 0.33)
func nodeDisrupted(r *event.Record) (event.Event, bool) {
	_, said, ok := strings.Cut(unquoted.Replace(r.Raw), "message:") // which the names of nodes follow
	if !ok {
		said, ok = r.Message(), true
	}
	value := func(key string) string {
		v := unquoted.Replace(r.Value(key))
		if v == "" {
			v = scan.After(said, ","+key+":")
		}
		v, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(v, "[{Node:"), "{name:"), ",")
		return strings.TrimRight(v, "}]")
	}
	name := cmp.Or(value("Node"), value("disrupted-nodes"), value("node"))
	reason := value("reason")
	switch {
	case strings.HasPrefix(said, "initiating delete from interruption message"):
		kind := value("messageKind")
		if scan.ContainsAny(kind, []string{"spot_interrupted", "SpotInterruptionKind"}) {
			return nodeEventOf("SpotInterruption", "", "notice of a spot interruption", "karpenter"), true
		}
		reason, ok = "interruption, "+kind, kind != ""
	case strings.HasPrefix(said, "tainted node"):
		reason, ok = "termination", strings.Contains(r.Raw, "node.termination")
	default:
		how, _, _ := strings.Cut(scan.After(said, " via "), ",") // consolidation delete
		reason = cmp.Or(reason, how)
		listed, _, _ := strings.Cut(scan.After(said, " pods) "), "/")
		name = cmp.Or(name, listed)
	}
	e := nodeEventOf("DisruptionTerminating", name, "Disrupting Node "+name+": "+reason, "karpenter")
	return e, ok && reason != "" && name != "" && !strings.Contains(name, " ")
}

// unquoted takes the quotes of JSON off, however often somebody has quoted it.
var unquoted = strings.NewReplacer(`\`, "", `"`, "")

// rebootOrdered is a machine that an operator of the cluster starts anew: OpenShift's
// machine-config-daemon, or kured.
//
//	update.go:1906] initiating reboot: Node will reboot into config rendered-worker-98ba
//	time="…" level=info msg="Commanding reboot for node: worker-1"
func rebootOrdered(r *event.Record) (event.Event, bool) {
	who := "machine-config-daemon"
	if strings.Contains(r.Raw, "Commanding reboot") {
		who = "kured"
	}
	e := ofCluster(event.KindShutdown, who+" restarts the machine", event.FieldWhat.Text("reboot"))
	return e, who == "kured" || strings.Contains(r.Raw, "initiating reboot: ")
}

// kubeadmFailed is kubeadm 1.13 to 1.36 that cannot make a node of the machine:
//
//	[ERROR Swap]: running with swap on is not supported. Please disable swap
//	error execution phase kubelet-start: error uploading crisocket: timed out waiting for the condition
//	… could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"
func kubeadmFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if scan.ContainsAny(r.Raw, []string{"Command failed", "module scripts-user"}) {
		return setupFailed(r)
	}
	if r.Unit != "" {
		return event.Event{}, false
	}
	if reason := scan.After(text, "[ERROR Swap]: "); reason != "" {
		e := event.New(
			event.KindStartFailed, "kubeadm refuses a node with swap, as its kubelet does", event.FieldReason.Text("swap"), event.FieldError.Text(reason),
		)
		e.Component = "kubelet"
		return e, true
	}
	what, why, said := "register", "", scan.After(text, "error uploading crisocket: ")
	says := "kubeadm finds no node that its kubelet has registered: " + scan.Clip(said)
	if said == "" {
		what, why, said = "join", "unauthorized", strings.TrimSpace(text)
		says = "the token by which the node is to join is expired, or unknown"
	}
	why = cmp.Or(why, apiReason(said))
	e := ofCluster(event.KindAPIFailed, says, event.FieldWhat.Text(what), event.FieldReason.Text(why))
	e.AddText(event.FieldHow, apiWords[why])
	e.AddFields(event.FieldError.Text(scan.Clip(said)))
	return e, true
}

// setupFailed is the last word of nodeadm, which makes a node of a machine of EKS (Amazon Linux
// 2023, 2024 and later) at its boot, or cloud-init (0.7 to 25) about a script of the user data,
// which does so elsewhere:
//
//	nodeadm[1918]: {"level":"fatal","ts":1711089818.46,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"…"}
//	nodeadm[2716]: fatal cli/main.go:35 Command failed {"error": "…"}
//	cloud-init[4607]: … cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)
func setupFailed(r *event.Record) (event.Event, bool) {
	if strings.Contains(r.Raw, "Failed to run module scripts-user ") {
		e := event.New(
			event.KindUnitExit, "cloud-init could not run a script of the user data", event.FieldUnit.Text("cloud-final.service"),
			event.FieldDaemon.Text(daemon.NodeSetup), event.FieldHow.Text("a script failed"),
		)
		return e, r.Unit == "" || strings.HasPrefix(r.Unit, "cloud-")
	}
	reason := cmp.Or(table.ErrorOf(r), scan.After(strings.ReplaceAll(r.Raw, `\"`, `"`), `Command failed","error":"`, "Command failed"))
	reason, _, _ = strings.Cut(strings.Trim(reason, ` "`), `","`)
	reason = strings.TrimPrefix(strings.TrimRight(reason, `"}`), `{"error": "`)
	e := event.New(
		event.KindStartFailed, "nodeadm makes no node of the machine: "+cmp.Or(reason, "its command failed"), event.FieldReason.Text("setup"),
		event.FieldError.Text(scan.Clip(reason)),
	)
	e.Component = "kubelet"
	return e, r.Unit == "nodeadm" || r.Unit == "" && scan.ContainsAny(r.Raw, []string{"nodeadm/main.go", "cmd/nodeadm"})
}

// controlPlaneCertificateExpired is a row of kubeadm certs check-expiration (1.20 and later):
//
//	CERTIFICATE                EXPIRES                  RESIDUAL TIME   CERTIFICATE AUTHORITY   EXTERNALLY MANAGED
//	apiserver                  Aug 22, 2026 10:11 UTC   <invalid>       ca                      no
func controlPlaneCertificateExpired(r *event.Record) (event.Event, bool) {
	words := strings.Fields(r.Message())
	const columns = 8
	if r.Unit != "" || len(words) < columns || words[6] != "<invalid>" || words[5] != "UTC" || !strings.HasSuffix(words[2], ",") {
		return event.Event{}, false
	}
	name := words[0]
	e := ofCluster(
		event.KindCertificate, "the certificate "+name+" of the control plane is expired", event.FieldWhat.Text("expired"), event.FieldOf.Text("control-plane"),
		event.FieldSince.Text(strings.Join(words[1:6], " ")),
	)
	return e, true
}

// requestPending is a row of kubectl get csr: a kubelet's request for a certificate that nobody has
// approved for ten minutes and more. The first one is asked for with the token of the bootstrap, or
// by OpenShift's node-bootstrapper.
//
//	csr-2c4xz   15h   kubernetes.io/kubelet-serving                 system:node:worker-0   Pending
//	csr-8b2k1   31m   kubernetes.io/kube-apiserver-client-kubelet   system:bootstrap:abcdef   <none>   Pending
//	node-csr-AmiI…   31m   system:serviceaccount:openshift-infra:node-bootstrapper   Pending      (up to 1.17, which shows no signer)
func requestPending(r *event.Record) (event.Event, bool) {
	words := strings.Fields(r.Message())
	if len(words) < 4 || len(words) > 6 || words[len(words)-1] != "Pending" || r.Unit != "" {
		return event.Event{}, false
	}
	name, age := words[0], words[1]
	of, says := "client", "a kubelet's client certificate"
	if words[2] == "kubernetes.io/kubelet-serving" {
		of, says = "server", "a certificate of a kubelet's server"
	}
	reason := "the request " + name + " for " + says + " waits for approval for " + age
	e := ofCluster(event.KindCertificate, reason, event.FieldWhat.Text("rotation"), event.FieldOf.Text(of), event.FieldError.Text(reason))
	return e, strings.ContainsAny(age, "hdy") || strings.IndexByte(age, 'm') > 1
}

// noServingCertificate is a kubelet that has no certificate to serve with, as its clients see it:
//
//	Error from server: Get "https://10.0.0.5:10250/containerLogs/…": remote error: tls: internal error
func noServingCertificate(r *event.Record) (event.Event, bool) {
	e := event.New(
		event.KindCertificate, "a kubelet has no certificate to serve with", event.FieldWhat.Text("missing"), event.FieldOf.Text("server"),
	)
	e.Component = "kubelet"
	return e, strings.Contains(r.Raw, ":10250/")
}

// windowsServiceEnds is the service manager of Windows about a service that ended by itself:
//
//	The kubelet service terminated unexpectedly.  It has done this 3 time(s).
func windowsServiceEnds(r *event.Record) (event.Event, bool) {
	name, _ := scan.Between(r.Raw, "The ", " service terminated unexpectedly.")
	owner := daemon.OfUnit(strings.ToLower(name) + ".service")
	switch name {
	case "Docker Engine":
		owner = "dockerd"
	case "Hyper-V Host Compute Service":
		owner = "vmcompute"
	}
	e := event.New(
		event.KindUnitExit, "the service "+name+" of Windows ended by itself", event.FieldUnit.Text(name), event.FieldDaemon.Text(owner),
		event.FieldHow.Text("terminated unexpectedly"),
	)
	if slices.Contains([]string{"containerd", "dockerd"}, owner) {
		e.AddFields(event.FieldRuntime.Text(owner))
	}
	e.Component, e.Source = "node", facts.Node
	if at, ok := windowsTime(r.Raw); ok && !r.Time.Known {
		e.Start = at
	}
	return e, r.Unit == "" && owner != ""
}

// windowsTime is the time that PowerShell prints at the start of a row of an event log, in English
// of the United States and in the machine's zone:
//
//	3/14/2024 2:07:51 PM The kubelet service terminated unexpectedly.  It has done this 3 time(s).
func windowsTime(line string) (at event.Time, ok bool) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return at, false
	}
	t, err := time.Parse("1/2/2006 3:04:05 PM", strings.Join(words[:3], " "))
	return event.Time{T: t, Prec: time.Second, Lacks: event.LacksZone, Known: true}, err == nil
}

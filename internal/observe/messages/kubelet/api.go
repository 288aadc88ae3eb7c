package kubelet

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// apiRequests are what the kubelet says of requests to the API server that failed, Kubernetes 1.9
// to 1.37. Up to 1.20 the error stands behind the words, from 1.21 on in err.
//
//	≤ 1.20  Error updating node status, will retry: error getting node "n": Get https://10.0.0.1:6443/api/v1/nodes/n?timeout=10s: dial tcp 10.0.0.1:6443: i/o timeout
//	        failed to ensure node lease exists, will retry in 7s, error: Get https://…: dial tcp …: connect: connection refused
//	        reflector.go:125] k8s.io/kubernetes/pkg/kubelet/kubelet.go:459: Failed to list *v1.Node: Get https://…
//	≥ 1.21  "Error updating node status, will retry" err="error getting node \"n\": Get \"https://…\": net/http: request canceled …"
//	        "Failed to ensure lease exists, will retry" err="Get \"https://…\": dial tcp …: connect: connection refused" interval="7s"
//	        "Unable to register node with API server" err="Post \"https://…\": …" node="n"
//	        reflector.go:147] vendor/k8s.io/client-go/informers/factory.go:150: Failed to watch *v1.Node: failed to list *v1.Node: Get "https://…"
var apiRequests = []spelling{
	{"ailed to update lease", "lease"},
	{"ailed to update node lease", "lease"},
	{"ailed to ensure lease exists", "lease"},
	{"ailed to ensure node lease exists", "lease"},
	{"Error updating node status, ", "node-status"}, // … will retry; ≤ 1.1: … error getting node "n": Get https://…
	{"Unable to update node status", "node-status"},
	{"Unable to register node with API server", "register"},
	{"Unable to construct v1.Node object for kubelet", "register"}, // before it is registered, ≤ 1.13
	{"Unable to register node ", "register"},                       // ≤ 1.13: … "n" with API server
	{"Error getting node", "node"},
	{"when trying to set owner ref to the node lease", "node"},
	{"Error getting the current node from lister", "node"},
	{"Failed to watch", "watch"}, // from 1.33 on the type stands in a field
	{"ailed to list *", "watch"},
	{"Failed to list", "watch"},
	{"Failed to update status for pod", "pod-status"},
	{"Failed to get status for pod", "pod-status"},
	{"Failed to delete status for pod", "pod-status"},
	{"Unable to write event", "event"},
	{"Failed to contact API server when waiting for CSINode publishing", "csinode"},
	{initCSINode + ": ", "node"},
	{initCSINode + "Info: ", "node"},
	{"Failed to connect to proxy", "tunnel"}, // k3s and rke2: the way back from the server to the node
	{"Remotedialer proxy error", "tunnel"},
	{"Unable to watch for tunnel endpoints", "tunnel"},
	// what an agent of k3s and rke2 asks its server before it starts the kubelet
	{"failed to get CA certs", "join"},
	{"CA cert validation failed", "join"},
	{otherAuthority, "join"},
	{"Failed to validate connection to cluster at ", "join"},
	{"Waiting to retrieve agent configuration; server is not ready", "join"},
	{"Waiting to retrieve kube-proxy configuration; server is not ready", "join"},
	{"Node password rejected", "join"},
}

// apiFailed is a request to the API server that failed. A conflict, and an object that is not there
// yet when the kubelet asks for its pods, is no failure of the way to it.
func apiFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	for _, a := range apiRequests {
		_, behind, ok := strings.Cut(text, a.text)
		if !ok || a.what == "watch" && !strings.Contains(r.Raw, "reflector") && !strings.Contains(text, " *v1") {
			continue
		}
		reason := cmp.Or(table.ErrorOf(r), bareError(behind), scan.After(behind, "error: ", "err: ", ": "))
		if strings.HasPrefix(a.text, initCSINode) { // how long it tried stands before why it failed
			reason = cmp.Or(scan.After(behind, "; caused by: "), behind)
		}
		if a.what == "join" {
			reason = cmp.Or(reason, text)
		}
		if scan.ContainsAny(behind, []string{"...", "…"}) { // for the middle that systemctl status leaves out
			reason = cmp.Or(reason, behind)
		}
		if a.text == otherAuthority { // the line is the error
			reason = text
		}
		why := apiReason(reason)
		how := cmp.Or(proxyWords(reason, why), apiWords[why])
		e := event.New(event.KindAPIFailed, "a request to the API server failed ("+a.what+"): "+cmp.Or(how, scan.Clip(reason)))
		if (a.what == "node" || a.what == "node-status") && why == "not-found" {
			e.Text = "the kubelet finds no node object of its own: it is not registered, or was deleted"
		}
		e.Fields = []event.Field{event.FieldWhat.Text(a.what), event.FieldReason.Text(why)}
		e.AddText(event.FieldHow, how)
		if why == "cloud" {
			e.Text = "the kubelet posts no status of its node: the cloud provider gives it no address of its machine"
			if a.what == "register" {
				e.Text = "the kubelet does not register its node: the cloud provider does not say which machine it is"
			}
		}
		if why != "webhook" && why != "cloud" { // whose address that would be
			e.AddFields(serverFields(reason)...)
		}
		if _, known := e.Get(event.FieldPath); a.what == "watch" && !known {
			e.AddText(event.FieldPath, watchedType(r.Raw))
		}
		e.AddFields(event.FieldError.Text(reason))
		if pod := podOf(r); pod != "" {
			e.IDs.Pod = pod
		}
		// The Node authorizer does not know yet, or no more, that a pod is on this node.
		quiet := reason == "" || strings.Contains(reason, "Operation cannot be fulfilled") || strings.Contains(reason, notReadYet) ||
			a.what == "pod-status" && strings.Contains(reason, "no relationship found between node") ||
			why == "not-found" && a.what != "node" && a.what != "node-status" && a.what != "register"
		return e, !quiet
	}
	return event.Event{}, false
}

// bareError is the error of a line whose pairs have no quotation marks, as a page shows it or
// somebody wrote it down:
//
//	Remotedialer proxy error; reconnecting... error=dial tcp 10.0.0.5:9345: connect: no route to host url=wss://10.0.0.5:9345/v1-rke2/connect
func bareError(text string) string {
	reason, _, _ := strings.Cut(scan.After(text, " error="), " url=")
	return reason
}

// watchedType is the type of the objects that a kubelet lists and watches, as v1.Node.
func watchedType(line string) string {
	behind := scan.After(line, "ailed to list *", "ailed to watch *", `type="*`)
	if end := strings.IndexAny(behind, ": \"\\"); end >= 0 {
		behind = behind[:end]
	}
	return behind
}

// initCSINode begins what a kubelet says that cannot write the CSINode object of its node:
//
//	≥ 1.19  Failed to initialize CSINode: error updating CSINode annotation: timed out waiting for the condition; caused by: nodes "worker-1" not found
//	≤ 1.18  Failed to initialize CSINodeInfo: error updating CSINode annotation: …
const initCSINode = "ailed to initialize CSINode"

// otherAuthority begins the error of an agent whose token holds the hash of another authority than
// the one that signs the certificates of its server, which may have been installed anew:
//
//	token CA hash does not match the Cluster CA certificate hash: f086… != 8e7d…
//	Failed to validate connection to cluster at https://10.0.0.1:6443: token CA hash does not match …      (since 1.29)
const otherAuthority = "token CA hash does not match the Cluster CA certificate"

// nodeUnknown is a kubelet up to 1.20 that finds no node object of its own, ten times a second:
//
//	kubelet.go:2214] node "worker-1" not found
func nodeUnknown(r *event.Record) (event.Event, bool) {
	name, found := strings.CutPrefix(r.Message(), `node "`)
	name, end, _ := strings.Cut(name, `"`)
	return event.New(
		event.KindAPIFailed, "the kubelet finds no node object of its own: it is not registered, or was deleted",
		event.FieldWhat.Text("node"), event.FieldReason.Text("not-found"), event.FieldHow.Text(apiWords["not-found"]), event.FieldNode.Text(name),
		event.FieldError.Text(r.Message()),
	), found && end == " not found"
}

// noDefaultRoute is a kubelet that looks for the address of its node by the default route, and
// finds none: the network of the machine is not up yet, or has lost it.
//
//	≤ 1.20  kubelet_node_status.go:502] Failed to set some node status fields: can't get ip address of node n. error: no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"
//	≥ 1.21  "Failed to set some node status fields" err="can't get ip address of node n. error: no default routes found in \"/proc/net/route\" or \"/proc/net/ipv6_route\"" node="n"
func noDefaultRoute(r *event.Record) (event.Event, bool) {
	return event.New(
		event.KindLinkDown, "the machine has no default route: the kubelet finds no address for its node", event.FieldWhat.Text("route"),
	), strings.Contains(r.Raw, "get ip address of node")
}

// dialFailed is an error that shows a connection to the API server, or to the address that it has
// inside of its cluster, which could not be made, whatever the kubelet was about. A line that says
// more has its own event.
//
//	"killPodWithSyncResult failed" err="…dial tcp 10.96.0.1:443: i/o timeout" pod="default/nginx"
//	Error syncing pod …: Get https://10.96.0.1:443/api/v1/…: dial tcp 10.96.0.1:443: connect: no route to host
//
// At port 443 other servers listen, too: registries, and what a cloud offers.
func dialFailed(r *event.Record) (event.Event, bool) {
	reason := cmp.Or(table.ErrorOf(r), r.Message())
	server, dials := scan.Between(reason, "dial tcp ", ": ")
	server = server[strings.LastIndex(server, ">")+1:] // 10.0.0.7:41022->10.96.0.1:443
	of := strings.HasSuffix(server, ":443") || strings.HasSuffix(server, ":6443")
	if _, url, ok := strings.Cut(reason, "https://"); ok {
		_, path, _ := strings.Cut(url, "/")
		of = of && (strings.HasPrefix(path, "api") || path == "")
	}
	why := apiReason(scan.After(reason, "dial tcp "))
	e := event.New(event.KindAPIFailed, "a connection to "+server+" could not be made: "+apiWords[why])
	e.Fields = []event.Field{
		event.FieldWhat.Text(event.Unnamed), event.FieldReason.Text(why), event.FieldHow.Text(apiWords[why]), event.FieldServer.Text(server),
		event.FieldError.Text(scan.Clip(reason)),
	}
	e.IDs.Pod = podOf(r)
	return e, dials && of && daemon.Writer(r.Unit) == daemon.Kubelet.Component && slices.Contains([]string{"refused", "timeout", "no-route", "cut"}, why) &&
		!scan.ContainsAny(r.Raw, []string{"mage", "ull ", "egistry", "/v2/"})
}

// notReadYet is the error of a kubelet in its first moments.
const notReadYet = "nodes have not yet been read at least once"

// apiReasons tell from an error of Go's HTTP client, or of the API server, why a request failed.
// The first that fits counts.
var apiReasons = []struct {
	reason string
	texts  []string
}{
	{"cloud", []string{"address from cloud provider", "ID from cloud provider", "type from cloud provider"}}, // what stands behind is the cloud's, which the kubelet asks before
	{"webhook", []string{"failed calling webhook", "failed to call webhook"}},                                // what stands behind is the webhook's, not the API server's
	{"etcd", []string{"etcdserver: "}}, // so the API server was reached, and it has answered
	{"certificate", []string{"x509: ", "tls: ", "bad certificate", "certificate has expired", "certificate required", otherAuthority}},
	{"dns", []string{"no such host", "No such host is known", "server misbehaving", ": lookup ", "emporary failure in name resolution"}},
	{"refused", []string{"connection refused", "actively refused it"}}, // the words behind "connectex: " and "wsarecv: " are Windows'
	{"no-route", []string{"no route to host", "network is unreachable", "host is down", "connect: invalid argument", "to an unreachable network", "to an unreachable host"}},
	{"credentials", []string{"getting credentials: "}},
	{"node-password", []string{"Node password rejected"}}, // of k3s and rke2, whose server keeps one for each name of a node
	{"unauthorized", []string{"Unauthorized", "provide credentials", "system:anonymous"}},
	{"forbidden", []string{"forbidden", "cannot get ", "not allowed to"}},
	{"cut", []string{"connection reset by peer", "EOF", "client connection lost", "broken pipe", "GOAWAY", "use of closed network connection", "connection force closed", "forcibly closed by the remote host", "connection was aborted"}},
	{"timeout", []string{
		"i/o timeout", "Client.Timeout", "deadline exceeded", "TLS handshake timeout", "timeout awaiting", "request canceled", "while awaiting headers)",
		"timed out", "did not properly respond",
	}},
	{"server", []string{
		"currently unable to handle", "unable to return a response", "erviceUnavailable", "Service Unavailable",
		"InternalError", "nternal error", "too many requests", "has no leader", "Bad Gateway", "Gateway Timeout",
	}},
	{"not-found", []string{"not found", "could not find the requested resource"}},
}

// apiWords say the reasons in words; the error itself says the others.
var apiWords = map[string]string{
	"certificate": "a certificate is not accepted", "dns": "its name cannot be resolved", "refused": "nothing listens there",
	"no-route": "there is no network route to it", "unauthorized": "it does not know the kubelet", "node-password": "it knows a node of that name with another password", "forbidden": "it does not allow it",
	"cut": "the connection broke", "timeout": "it does not answer in time", "server": "the server fails itself",
	"not-found": "it does not know that object", "webhook": "a webhook that it asks fails", "etcd": "its etcd does not answer as it should",
	"cut-off":     "the line ends before it says why",
	"cloud":       "the cloud provider that the kubelet asks first gives no answer",
	"credentials": "the program that the kubelet asks for its credentials gives none",
}

// proxyWords say of a request that the kubelet sends through an HTTP proxy, as HTTPS_PROXY of its
// unit asks for, that this is who fails; empty for any other. The API server may be well.
//
//	Get "https://192.168.49.2:8443/…": proxyconnect tcp: dial tcp 127.0.0.1:7890: connect: connection refused
func proxyWords(reason, why string) string {
	proxy, ok := scan.Between(reason, "proxyconnect tcp: dial tcp ", ": ")
	words := map[string]string{"refused": "nothing listens", "no-route": "there is no network route", "timeout": "nobody answers in time"}[why]
	if !ok || words == "" {
		return ""
	}
	return words + " at the HTTP proxy " + proxy + " through which the kubelet goes"
}

func apiReason(text string) string {
	for _, a := range apiReasons {
		if scan.ContainsAny(text, a.texts) {
			return a.reason
		}
	}
	for _, a := range apiReasons {
		tail := scan.After(text, "...", "…")
		if slices.ContainsFunc(a.texts, func(words string) bool { return len(tail) >= leastOfWords && strings.HasSuffix(words, tail) }) {
			return a.reason
		}
	}
	cut, isCut := strings.CutSuffix(strings.TrimRight(text, "\" "), ">")
	if isCut && strings.Contains(cut, ": read tcp ") {
		return "cut" // "read tcp 127.0.0.1:52016->127.>": a server that is late ends a request, and no connection
	}
	for _, a := range apiReasons {
		if isCut && slices.ContainsFunc(a.texts, func(words string) bool { return endsWithin(cut, words) }) {
			return a.reason
		}
	}
	if isCut && (strings.Contains(cut, ` \"https://`) || strings.Contains(cut, ` "https://`) || strings.Contains(cut, " https://")) || endsInRequest.MatchString(strings.TrimRight(text, " \t")) {
		return "cut-off" // Post "https://10.1.0>: of Go's client, so there was no answer to read
	}
	return "other"
}

// endsInRequest is an error of Go's client that ends, without the mark of a pager, where it names
// the request, or where it begins to say why no connection was made: "connect: " and a reason.
var endsInRequest = regexp.MustCompile(`^(?:Get|Head|Post|Put|Patch|Delete) \\?"?https://[^ "]+\\?"?(?:: dial tcp [^ ]+: (?:c(?:o(?:n(?:n(?:e(?:c(?:t(?::)?)?)?)?)?)?)?)?)?$`)

// leastOfWords is how much of some words a line must still hold, for them to be told by it.
const leastOfWords = 6

// endsWithin says that a line which a pager cut ends inside of some words: "net/http: request ca>".
func endsWithin(cut, words string) bool {
	for n := len(words) - 1; n >= leastOfWords; n-- {
		if strings.HasSuffix(cut, words[:n]) {
			return true
		}
	}
	return false
}

// serverFields are host and path of the request that an error names: Get
// "https://10.0.0.1:6443/api/v1/nodes/n?timeout=10s". Of a connection that could not be made there
// is no request: dial tcp 10.0.0.5:6443: connect: no route to host.
func serverFields(text string) []event.Field {
	_, url, ok := strings.Cut(text, "https://")
	if !ok {
		if server, dials := scan.Between(text, "dial tcp ", ": "); dials && strings.Contains(server, ":") {
			return []event.Field{event.FieldServer.Text(server)}
		}
		return nil
	}
	url = url[:len(url)-len(strings.TrimLeft(url, urlBytes))]
	server, path, _ := strings.Cut(strings.TrimRight(url, ":"), "/")
	path, _, _ = strings.Cut(path, "?")
	fields := []event.Field{event.FieldServer.Text(server)}
	if path != "" {
		fields = append(fields, event.FieldPath.Text("/"+path))
	}
	if node := requestedNode(path); node != "" {
		fields = append(fields, event.FieldNode.Text(node))
	}
	return fields
}

// requestedNode is the node that a path names: api/v1/nodes/NAME, or the lease of that name.
func requestedNode(path string) string {
	for _, start := range []string{"/kube-node-lease/leases/", "api/v1/nodes/"} {
		if _, rest, ok := strings.Cut(path, start); ok {
			node, _, _ := strings.Cut(rest, "/") // nodes/NAME/status
			return node
		}
	}
	return ""
}

const urlBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?[]@!$&'()*+,;=%"

// ControlPlane is what the API server and the node controller (kube-controller-manager) say in logs
// of their own, mostly those of containers.
var ControlPlane = table.Table{Component: "node", Relays: []string{"", "kubelet"}, Rows: []table.Row{
	{[]string{"Unable to authenticate the request"}, clientCertificateRefused},
	{[]string{"been updated", "dding it to the Taint queue"}, nodeSilent},
	{[]string{"Recording status change ", "Event occurred"}, nodeEvent},
	{[]string{"Slow SQL (started: "}, datastoreLate},
	{[]string{"ailed to parse kubelet flag"}, flagRefused},
	{[]string{"ailed to create pod sandbox: rpc error", "ailed create pod sandbox: rpc error"}, toldSandboxFailure},
	{[]string{"The node was low on resource: "}, toldEviction},
	{[]string{"he node had condition: [", "node has conditions: ["}, toldAdmission},
}}

// lateStore is how long an answer of the datastore must have taken for that to be a sign: a second
// is what a small disk shows, too.
const lateStore = 2 * time.Second

// datastoreLate is kine of k3s, which says how long its database took: the API server waits as
// long, and the kubelets behind it.
//
//	Slow SQL (started: 2023-04-20 13:02:33.991100151 +0000 UTC m=+15.1) (total time: 2.104021479s): INSERT INTO kine…
func datastoreLate(r *event.Record) (event.Event, bool) {
	said, _ := scan.Between(r.Raw, " (total time: ", ")")
	took, err := time.ParseDuration(said)
	e := event.New(
		event.KindAPIFailed, "the datastore of the API server answers late, after "+took.Round(time.Second/10).String(),
		event.FieldWhat.Text("datastore"), event.FieldReason.Text("server"),
	)
	e.Component, e.Source = facts.Kubernetes, facts.Kubernetes
	return e, err == nil && took >= lateStore
}

// nodeEvent is the controller's event that it has found a node NotReady: silent, or its kubelet
// says so.
//
//	≤ 1.18  Recording status change NodeNotReady event message for node n
//	≥ 1.19  "Recording status change event message for node" status="NodeNotReady" node="n"
//	≥ 1.20  "Event occurred" object="n" fieldPath="" kind="Node" apiVersion="v1" type="Normal" reason="NodeNotReady" message="Node n status is now: NodeNotReady"
func nodeEvent(r *event.Record) (event.Event, bool) {
	said := strings.Trim(r.Message(), `"`)
	name := cmp.Or(r.Value("node"), scan.After(said, " NodeNotReady event message for node "))
	found := strings.HasPrefix(said, "Recording status change ") && strings.Contains(r.Raw, "NodeNotReady")
	if strings.HasPrefix(said, "Event occurred") {
		name, found = r.Value("object"), r.Value("kind") == "Node" && r.Value("reason") == "NodeNotReady"
	}
	e := event.New(event.KindKubeEvent, "NodeNotReady: the node controller finds "+name+" NotReady")
	e.Fields = []event.Field{
		event.FieldReason.Text("NodeNotReady"), event.FieldObject.Text("Node"), event.FieldName.Text(name),
		event.FieldMessage.Text("Node " + name + " status is now: NodeNotReady"), event.FieldType.Text("Normal"),
		event.FieldFrom.Text("node-controller"),
	}
	e.Component, e.Source = facts.Kubernetes, facts.Kubernetes
	return e, found && name != ""
}

// toldSandboxFailure is the message of an Event that somebody pasted without its columns:
//
//	Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "<id>": plugin type="istio-cni" name="istio-cni" failed (add): Unauthorized
func toldSandboxFailure(r *event.Record) (event.Event, bool) {
	text := strings.TrimPrefix(strings.TrimSpace(r.Message()), "(combined from similar events): ")
	e, ok := failedCall(r, "RunPodSandbox")
	e.Component = "kubelet"
	return e, ok && r.Unit == "" && (strings.HasPrefix(text, "Failed to create pod sandbox: ") || strings.HasPrefix(text, "Failed create pod sandbox: "))
}

// nodeSilent is a node of which the controller has heard nothing for its time of grace: it sets the
// conditions to Unknown then. It tells of each condition on its own, of which Ready counts.
//
//	≤ 1.8   node n hasn't been updated for 40.1s. Last ready condition is: {Type:Ready Status:True …}
//	≤ 1.26  node n hasn't been updated for 40.1s. Last Ready is: &NodeCondition{Type:Ready,Status:True,…}
//	        Node n is unresponsive as of 2023-11-03 10:12:44 +0000 UTC m=+63.4. Adding it to the Taint queue.
//	        Node n is NotReady as of …. Adding it to the Taint queue.
//	≥ 1.27  "Node hasn't been updated" node="n" duration="50.003s" nodeConditionType="Ready" currentReadyCondition="…"
//	        "Node is unresponsive. Adding it to the Taint queue" node="n" timeStamp="…"
//	        "Node is NotReady. Adding it to the Taint queue" node="n" timeStamp="…"
func nodeSilent(r *event.Record) (event.Event, bool) {
	text := strings.Trim(r.Message(), `"`)
	if !strings.HasPrefix(text, "Node ") && !strings.HasPrefix(text, "node ") {
		return event.Event{}, false
	}
	name, _, _ := strings.Cut(text[len("node "):], " ")
	name = cmp.Or(r.Value("node"), name)
	status, reason, message := "Unknown", "NodeStatusUnknown", "the controller has heard nothing from it"
	rest := scan.After(text, " been updated for ")
	grace, last, _ := strings.Cut(rest, ". Last ")
	switch grace = cmp.Or(r.Value("duration"), grace); {
	case strings.Contains(text, " is NotReady"):
		status, reason, message = "False", "KubeletNotReady", "its kubelet says so"
	case strings.Contains(text, " is unresponsive"):
	case grace == "",
		last != "" && !strings.HasPrefix(last, "Ready ") && !strings.HasPrefix(last, "ready "),
		last == "" && r.Value("nodeConditionType") != "Ready":
		return event.Event{}, false
	default:
		message += " for " + grace
	}
	e := event.New(event.KindNodeCondition, "the node controller finds "+name+" "+map[string]string{"Unknown": "silent", "False": "NotReady"}[status])
	e.Fields = []event.Field{
		event.FieldNode.Text(name), event.FieldCondition.Text("Ready"), event.FieldStatus.Text(status),
		event.FieldReason.Text(reason), event.FieldMessage.Text(message), event.FieldFrom.Text("node-controller"),
	}
	e.Component, e.Source = facts.Kubernetes, facts.Kubernetes
	return e, name != ""
}

// withControlPlane are programs that hold the API server and the kubelet in one process.
var withControlPlane = []string{"k3s", "rke2", "snap.microk8s.daemon-kubelite", "microk8s.daemon-kubelite", "kubelite"}

// clientCertificateRefused is a client whose certificate is expired, Kubernetes 1.9 to 1.37; the
// line does not say which client:
//
//	≤ 1.20  Unable to authenticate the request due to an error: x509: certificate has expired or is not yet valid
//	≥ 1.21  "Unable to authenticate the request" err="[x509: certificate has expired or is not yet valid: current time … is after …, …]"
func clientCertificateRefused(r *event.Record) (event.Event, bool) {
	_, reason, expired := strings.Cut(r.Raw, "x509: certificate has expired")
	if daemon.Writer(r.Unit) == "kubelet" && !slices.Contains(withControlPlane, r.Unit) {
		return event.Event{}, false // somebody asks the kubelet
	}
	e := event.New(event.KindClientRefused, "the API server refuses the expired certificate of a client")
	e.Component, e.Source = facts.Kubernetes, facts.Kubernetes
	e.AddText(event.FieldError, "x509: certificate has expired"+scan.Clip(reason))
	return e, expired
}

// certificateLines are what the kubelet says of its own certificate:
//
//	≤ 1.16  bootstrap.go:205] Part of the existing bootstrap client certificate is expired: 2020-02-23 15:48:00 +0000 UTC
//	≥ 1.17  bootstrap.go:265] part of the existing bootstrap client certificate in /etc/kubernetes/kubelet.conf is expired: 2024-06-11 17:17:20 +0000 UTC
//	all     The currently active client certificate has expired and the server is responsive, exiting.
//	        The currently active client certificate has expired, but the server is not responsive. A restart may be necessary …
//	        It has been 5m0s since a valid client cert was found, but the server is not responsive. …
//	        No valid client certificate is found but the server is not responsive. …
//	≤ 1.31  kubernetes.io/kube-apiserver-client-kubelet: Failed while requesting a signed certificate from the control plane: cannot create certificate signing request: …
//	        …: certificate request was not signed: timed out waiting for the condition
//	        …: Reached backoff limit, still unable to rotate certs: …
//	≥ 1.32  "Reached backoff limit, still unable to rotate certs" err="…" logger="kubernetes.io/kube-apiserver-client-kubelet"
//
// It cannot read the one that it has, or has none to serve with:
//
//	all     bootstrap.go:241] unable to read existing bootstrap client config from /etc/kubernetes/kubelet.conf: invalid configuration: [unable to read client-cert /var/lib/kubelet/pki/kubelet-client-current.pem …
//	        http: TLS handshake error from 10.0.0.5:41234: no serving certificate available for the kubelet
var certificateLines = []saying{
	{"existing bootstrap client config from ", "missing", "the kubelet cannot read its client certificate"},
	{"no serving certificate available for the kubelet", "missing", "the kubelet has no certificate to serve with: nobody has signed the one that it asked for"},
	{"bootstrap client certificate", "expired", "the kubelet's client certificate is expired"},
	{"currently active client certificate has expired", "expired", "the kubelet's client certificate is expired"},
	{"since a valid client cert was found", "missing", "the kubelet has no valid client certificate"},
	{"No valid client certificate is found", "missing", "the kubelet has no valid client certificate"},
	{"ailed while requesting a signed certificate from the ", "rotation", "the kubelet cannot ask for a new certificate"},
	{"certificate request was not signed", "rotation", "nobody signs the kubelet's new certificate"},
	{"still unable to rotate certs", "rotation", "the kubelet cannot renew its certificate"},
}

func certificateFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	for _, c := range certificateLines {
		_, behind, ok := strings.Cut(text, c.text)
		if !ok {
			continue
		}
		whose := "client"
		if strings.Contains(r.Raw, "kubelet-serving") || strings.Contains(c.text, "serving") {
			whose = "server"
		}
		e := event.New(event.KindCertificate, c.says, event.FieldWhat.Text(c.what), event.FieldOf.Text(whose))
		if c.what != "rotation" {
			e.AddText(event.FieldSince, strings.TrimSpace(scan.After(behind, "is expired: "))) // a paste ends in blanks
			file, _ := scan.Between(behind, " in ", " is expired")
			e.AddText(event.FieldPath, file)
			return e, c.what == "missing" || strings.Contains(text, "expired")
		}
		reason := strings.TrimLeft(cmp.Or(table.ErrorOf(r), scan.After(behind, ": "), strings.TrimLeft(behind, ": ")), ": ")
		e.AddText(event.FieldReason, apiReason(reason))
		e.AddFields(serverFields(reason)...)
		e.AddText(event.FieldError, reason)
		return e, true
	}
	return event.Event{}, false
}

// certificateExpires, at verbosity 2, is until when a certificate is good:
//
//	≤ 1.31  kubernetes.io/kube-apiserver-client-kubelet: Certificate expiration is 2027-03-01 10:00:00 +0000 UTC, rotation deadline is 2026-12-11 03:12:45.6 +0000 UTC
//	≥ 1.32  "Certificate rotation deadline determined" expiration="2027-03-01 10:00:00 +0000 UTC" deadline="…"
func certificateExpires(r *event.Record) (event.Event, bool) {
	if strings.Contains(r.Raw, "kubelet-serving") {
		return event.Event{}, false // of the kubelet's server, which its own requests do not need
	}
	until := r.Value("expiration")
	if until == "" {
		until, _ = scan.Between(r.Message(), "Certificate expiration is ", ", rotation deadline is ")
	}
	return facts.New("kubelet.certificate-expires", until)
}

package apiserver

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Right is what a user must be allowed to do for a request, as in a rule of RBAC.
type Right struct {
	Verb, Group, Resource string // Group is empty for the core API
	// Namespaced says that it is needed in the namespace of the pod only.
	Namespaced bool
}

// String is how kubectl auth can-i writes it: get nodes/proxy.
func (r Right) String() string {
	if r.Group != "" {
		return r.Verb + " " + r.Resource + "." + r.Group
	}
	return r.Verb + " " + r.Resource
}

var (
	readNode   = Right{Verb: "get", Resource: "nodes"}
	askKubelet = Right{Verb: "get", Resource: "nodes/proxy"}
	listEvents = Right{Verb: "list", Resource: "events"}
	createPod  = Right{Verb: "create", Resource: "pods", Namespaced: true}
	readPod    = Right{Verb: "get", Resource: "pods", Namespaced: true}
	readPodLog = Right{Verb: "get", Resource: "pods/log", Namespaced: true}
	deletePod  = Right{Verb: "delete", Resource: "pods", Namespaced: true}
)

// Rights are all rights that a collection with a pod can use.
func Rights() []Right {
	all := []Right{readNode, createPod, readPod, readPodLog, deletePod}
	for i := range requests {
		if !slices.Contains(all, requests[i].right) {
			all = append(all, requests[i].right)
		}
	}
	return all
}

// request is one row of the plan: a GET, and the item that its answer becomes.
type request struct {
	step   string
	item   string // its name; of a dump the program, see dump
	path   string // NODE stands for the node's name
	query  string // SINCE and LINES stand for the window of a log
	right  Right
	bound  time.Duration
	limit  int64 // bytes of the answer
	newest bool  // of an answer that is too large the newest part is kept
	// absent is what it means when the kubelet does not know the path.
	absent string
	indent bool // the answer is JSON on one line
	dump   bool // goroutines: its name has the time, and there is a second one
	log    bool // a query of node logs: an answer can say that there is none
	file   bool // a file of /var/log: its end is asked for, and only if it is there
}

// rightAtKubelet is the right that the API server needs at the kubelet.
func (r *request) rightAtKubelet() string {
	for _, known := range [...]string{"metrics", "stats", "configz", "healthz"} {
		if strings.Contains(r.path, "/proxy/"+known) {
			return "get nodes/" + known
		}
	}
	if strings.Contains(r.path, "/proxy/logs") {
		return "get nodes/log"
	}
	return "get nodes/proxy"
}

const (
	dumpBound = 20 * time.Second
	logBound  = 60 * time.Second
	// logLines is how many of the newest lines of a journal are asked for, some 20 MB of a kubelet's.
	// A kubelet 1.36 refuses to give more (nodeLogQuery's validation of tailLines).
	logLines = 100_000
	// fileTail is how much of the end of a file below /var/log is asked for.
	fileTail = 32 << 20
	// dumpGap is the time between two dumps: a goroutine that is at the same place after it is stuck.
	dumpGap = 20 * time.Second
)

// What it means that the kubelet does not serve something (its configuration,
// KubeletConfiguration).
const (
	noProfiling = "the kubelet serves no pprof: enableDebuggingHandlers and enableProfilingHandler are true by default"
	noHandlers  = "the kubelet does not serve it: enableDebuggingHandlers is true by default"
	noLogs      = "the kubelet serves no logs: enableSystemLogHandler is true by default"
	noJournal   = "the node's journal has nothing of this unit"
	noLogQuery  = "the kubelet answers no queries of logs: it needs enableSystemLogQuery: true (and the feature NodeLogQuery where that is not the default)"
)

// proxy is how the API server passes a request on to the kubelet.
const proxy = "/api/v1/nodes/NODE/proxy"

// requests are all requests but those of the pod, the most volatile first. Stats come last: for
// them the kubelet asks a runtime that may hang.
var requests = []request{
	{step: "node", item: "kubernetes/node.json", path: "/api/v1/nodes/NODE", query: "pretty=true", right: readNode, bound: 15 * time.Second, limit: 4 << 20},
	{step: "dumps", item: "kubelet", path: proxy + "/debug/pprof/goroutine", query: "debug=2", right: askKubelet, bound: dumpBound, limit: 64 << 20, absent: noProfiling, dump: true},
	{step: "kubelet", item: "kubelet/healthz.txt", path: proxy + "/healthz", right: askKubelet, bound: 10 * time.Second, limit: 1 << 20},
	{step: "kubelet", item: "kubelet/metrics.txt", path: proxy + "/metrics", right: askKubelet, bound: 10 * time.Second, limit: 16 << 20},
	{step: "kubelet", item: "kubelet/configz.json", path: proxy + "/configz", right: askKubelet, bound: 10 * time.Second, limit: 4 << 20, absent: noHandlers, indent: true},
	{step: "events", item: "kubernetes/node-events.json", path: "/api/v1/events", query: "fieldSelector=involvedObject.kind=Node,involvedObject.name=NODE&pretty=true&limit=500", right: listEvents, bound: 20 * time.Second, limit: 16 << 20},
	logRequest("kubelet", "kubelet"), logRequest("containerd", "containerd"), logRequest("docker", "docker"), logRequest("crio", "crio"),
	logRequest("k3s", "k3s-agent"), logRequest("dbus", "dbus"),
	fileRequest("kern.log"), fileRequest("syslog"), fileRequest("messages"),
	{step: "stats", item: "kubelet/stats-summary.json", path: proxy + "/stats/summary", right: askKubelet, bound: 15 * time.Second, limit: 16 << 20, absent: noHandlers},
}

func logRequest(item, unit string) request {
	return request{
		step: "logs", item: "journal/" + item + ".log", path: proxy + "/logs/", query: "query=" + unit + "&sinceTime=SINCE&tailLines=" + strconv.Itoa(logLines),
		right: askKubelet, bound: logBound, limit: 512 << 20, newest: true, absent: noLogQuery, log: true,
	}
}

func fileRequest(name string) request {
	return request{
		step: "files", item: "var/log/" + name, path: proxy + "/logs/" + name, right: askKubelet, bound: logBound, limit: fileTail,
		newest: true, absent: noLogs, file: true,
	}
}

// The steps that are more than rows of requests.
const (
	podEvents  = "pod-events"
	dumpsAgain = "dumps-again"
	podStep    = "pod"
)

// steps are the names of all steps, in order.
var steps = []string{"node", "dumps", "kubelet", "events", podEvents, "logs", "files", dumpsAgain, "stats", podStep}

// touches says what a step does besides its rows.
var touches = map[string]string{
	podEvents:  "GET /api/v1/events of kubelets, those of NODE are kept",
	dumpsAgain: "the second round of dumps, 20 s after the first",
	podStep:    "only with --debug-pod: creates a privileged pod on NODE, waits 30 s for it to run, reads its log and deletes it",
}

// selects says whether the options take a step.
func (o *Options) selects(step string) bool {
	if step == podStep && !o.DebugPod {
		return false
	}
	return (len(o.Only) == 0 || slices.Contains(o.Only, step)) && !slices.Contains(o.Skip, step)
}

func (o *Options) checkSteps() error {
	for _, name := range slices.Concat(o.Only, o.Skip) {
		if !slices.Contains(steps, name) {
			return fmt.Errorf("no step through the API server is named %q; --dry-run lists them", name)
		}
	}
	return nil
}

// target is the path and the query of a request for a node.
func (r *request) target(node string, since time.Time) (string, url.Values) {
	query := strings.NewReplacer("NODE", node, "SINCE", since.UTC().Format(time.RFC3339)).Replace(r.query)
	values := url.Values{}
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			values.Add(name, value)
		}
	}
	return strings.Replace(r.path, "NODE", node, 1), values
}

// WritePlan writes what a collection with these options would ask. It asks nothing itself.
func WritePlan(w io.Writer, opt *Options) error {
	if err := opt.check(); err != nil {
		return err
	}
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "STEP\tBOUND\tRIGHT\tREQUEST")
	for _, step := range steps {
		if !opt.selects(step) {
			continue
		}
		for i := range requests {
			if r := &requests[i]; r.step == step {
				text := "GET " + strings.Replace(r.path, "NODE", opt.Node, 1)
				if r.query != "" {
					text += "?" + strings.Replace(r.query, "NODE", opt.Node, 1)
				}
				fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", step, r.bound, r.right, text)
			}
		}
		if text := touches[step]; text != "" {
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", step, extraBounds[step], extraRights[step], strings.ReplaceAll(text, "NODE", opt.Node))
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nIn total at most %s and %d MiB. No request is repeated.\n", opt.Timeout, opt.MaxSize>>20)
	return err
}

// What WritePlan says of the steps that are more than rows.
var (
	extraBounds = map[string]time.Duration{podEvents: eventsBound, dumpsAgain: dumpBound, podStep: startBound}
	extraRights = map[string]string{
		podEvents: listEvents.String(), dumpsAgain: askKubelet.String(),
		podStep: "create, get, delete pods, get pods/log",
	}
)

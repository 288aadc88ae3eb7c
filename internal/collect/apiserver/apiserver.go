// Package apiserver collects a bundle of a node without access to it: through the API server, with
// the user's kubeconfig. It asks for the Node and its Events, and the kubelet for its goroutines,
// metrics, settings, stats and logs; on demand it runs the collection of package collect in a pod
// of the node.
//
// It changes nothing in the cluster but that pod, which it deletes. Every request has a bound in
// time and size, and none is repeated. What is refused is in the manifest with the right that it
// needs. The bundle has the form that a collection on the node gives it, and the same rules replace
// secrets.
package apiserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/fleet"
	"github.com/plegdiag/plegdiag/internal/collect/spool"
)

// clock is the clock of this machine; tests set it.
var clock = time.Now //nolint:forbidigo // a collection happens now

// Options say what to collect, and how much.
type Options struct {
	Node       string
	Kubeconfig string // empty is kubectl's own choice: KUBECONFIG, ~/.kube/config, the pod's account
	Context    string // of the kubeconfig; empty is its current one
	Output     string // "-" is Stdout; empty is ./plegdiag-NODE-TIME.tgz
	Stdout     *os.File
	Force      bool // overwrite Output
	Since      time.Duration
	Timeout    time.Duration
	MaxSize    int64 // bytes of the bundle
	MinFree    int   // MiB that stay free where Output is
	Only       []string
	Skip       []string
	Version    string
	NoRedact   bool
	// DebugPod also collects on the node itself, in a privileged pod.
	DebugPod  bool
	Image     string // of the pod: its entrypoint is plegdiag
	Namespace string // of the pod
	// Noted is called with every item, Said with a line that the pod writes.
	Noted func(bundle.Item)
	Said  func(string)
}

// Summary is the result of a collection.
type Summary struct {
	Path   string // of the bundle; "-" is the stream
	Bytes  int64
	Items  map[bundle.Outcome]int
	Sealed string // why it is not whole; empty when it is
	// Rights are those that were refused.
	Rights []string
	// PodLeft says that the pod could not be deleted, and why; empty when it was, or was never made.
	PodLeft string
}

// dnsName is how nodes and namespaces can be called: a DNS subdomain, or a label (RFC 1123).
var dnsName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// maxName is the length of a DNS subdomain.
const maxName = 253

func (o *Options) check() error {
	switch {
	case !dnsName.MatchString(o.Node) || len(o.Node) > maxName:
		return fmt.Errorf("%q is not the name of a node", o.Node)
	case o.DebugPod && (o.Image == "" || !dnsName.MatchString(o.Namespace)):
		return errors.New("--debug-pod needs --image and --namespace")
	case !o.DebugPod && (o.Image != "" || o.Namespace != ""):
		return errors.New("--image and --namespace are for --debug-pod")
	}
	return o.checkSteps()
}

// collector is one collection.
type collector struct {
	opt    Options
	client *client
	store  *store
	begun  time.Time
	// offset is how far the node's clock is ahead of this machine's, once it is known.
	offset time.Duration
	node   nodeObject
	rights []string // that were refused
	first  time.Time
	dumped bool
	// answered says that the kubelet has answered a request, silent how many it has not.
	answered bool
	silent   int
}

// maxSilent is how many requests a kubelet may leave without an answer, and with none answered,
// before it is not asked any more.
const maxSilent = 3

// nodeObject is what the collection itself needs of the Node.
type nodeObject struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		ProviderID string `json:"providerID"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

// whyNotReady says why the node is not ready; empty when it is, or when nothing is known.
func (n *nodeObject) whyNotReady() string {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			return strings.TrimSuffix("the node is NotReady ("+c.Reason+": "+c.Message, ": ") + ")"
		}
	}
	return ""
}

// Run collects. It ends some seconds after Timeout at the latest, and later only for deleting its
// pod.
func Run(ctx context.Context, opt Options) (*Summary, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	c := &collector{opt: opt, begun: clock()}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	var err error
	if c.client, err = newClient(&opt, key); err != nil {
		return nil, err
	}
	work, stop := context.WithTimeout(ctx, opt.Timeout)
	defer stop()
	node, got := c.askForNode(work)
	if got.outcome != "" && (got.outcome != bundle.Denied || strings.HasPrefix(got.why, "401")) {
		return nil, fmt.Errorf("node %s: %s", opt.Node, got.why)
	}
	if opt.NoRedact {
		key = nil
	}
	if err := c.beginBundle(key); err != nil {
		return nil, err
	}
	c.storeNode(node, got)
	podLeft := c.takeSteps(ctx, work)
	return c.finish(ctx, work, podLeft)
}

// takeSteps takes all steps but the first. ctx ends by a signal, work also by its time limit.
func (c *collector) takeSteps(ctx, work context.Context) (podLeft string) {
	for _, step := range steps {
		if step == "node" || !c.opt.selects(step) {
			continue
		}
		if work.Err() != nil {
			c.store.seal(whyEnded(ctx, &c.opt), step)
			continue
		}
		switch step {
		case podEvents:
			c.collectPodEvents(work)
		case dumpsAgain:
			c.collectDumpsAgain(work)
		case podStep:
			podLeft = c.collectInPod(work)
		default:
			for i := range requests {
				if requests[i].step == step {
					c.collectItem(work, &requests[i])
				}
			}
		}
	}
	return podLeft
}

// whyEnded says why a collection ends early.
func whyEnded(ctx context.Context, opt *Options) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	return fmt.Sprintf("time limit of %s", opt.Timeout)
}

// nodeTime is the time on the node's clock, as far as it is known.
func (c *collector) nodeTime() time.Time { return clock().UTC().Add(c.offset) }

// beginBundle begins the bundle.
func (c *collector) beginBundle(key []byte) error {
	name := "plegdiag-" + c.opt.Node + "-" + c.nodeTime().Format("20060102T150405Z")
	if c.opt.Output == "" {
		c.opt.Output = name + ".tgz"
	}
	var err error
	if c.store, err = openStore(&c.opt, name, key); err != nil {
		return err
	}
	c.store.manifest = bundle.Manifest{
		Schema: bundle.ManifestSchema, Tool: c.opt.Version, Node: c.opt.Node, Via: "kubernetes", Start: c.nodeTime(),
		Redaction: key != nil, Fleet: fleet.OfNode(c.node.Metadata.Labels, c.node.Spec.ProviderID),
	}
	item := c.beginItem("node", "README.txt", "")
	sp := c.store.newSpool(false)
	fmt.Fprintf(sp, readme, c.opt.Node, c.nodeTime().Format(time.RFC3339))
	c.endItem(item, sp, result{})
	return nil
}

// readme is for the person who opens the bundle.
const readme = `plegdiag collect --node made this bundle of node %s at %s, through the API server.

manifest.json   every item: what became of it (ok, empty, denied, absent, failed, timeout, skipped, capped), when, its size and sum
kubernetes/     the Node, its Events, and those of its kubelet about pods
dumps/          goroutines of the kubelet, twice
kubelet/        healthz, metrics, configuration, stats
journal/ var/   logs of the node, as the kubelet serves them
node/           what a collection in a pod of the node gave, a bundle of its own; only with --debug-pod

A file that ends in .gz is compressed. Kernel stacks, calls to the runtime and cgroups can be seen on the node only.
Read it with: plegdiag analyze BUNDLE; check it with: plegdiag verify BUNDLE
`

// beginItem begins an item.
func (c *collector) beginItem(step, name, source string) *bundle.Item {
	return &bundle.Item{Name: name, Step: step, Source: source, Start: c.nodeTime()}
}

// endItem stores an item, if there is anything of it.
func (c *collector) endItem(item *bundle.Item, sp *spool.Spool, got result) {
	item.End, item.Outcome, item.Why = c.nodeTime(), got.outcome, got.why
	c.store.storeItem(item, sp)
}

// askForNode asks for the Node, before there is a bundle: a wrong name, or a cluster that does not
// answer, leaves none.
func (c *collector) askForNode(ctx context.Context) ([]byte, result) {
	r := &requests[0]
	var out bytes.Buffer
	got := c.fetch(ctx, r, &out)
	if got.outcome == "" && json.Unmarshal(out.Bytes(), &c.node) != nil {
		got = result{bundle.Failed, "the answer is no JSON: this is no API server"}
	}
	return out.Bytes(), got
}

func (c *collector) storeNode(content []byte, got result) {
	r := &requests[0]
	if !c.opt.selects(r.step) {
		return
	}
	item := c.beginItem(r.step, r.item, "GET "+strings.Replace(r.path, "NODE", c.opt.Node, 1))
	item.Start = c.begun.UTC().Add(c.offset)
	sp := c.store.newSpool(false)
	_, _ = sp.Write(content) // does not fail
	c.noteRight(r, got)
	c.endItem(item, sp, got)
}

// collectItem makes an item of the answer to a request.
func (c *collector) collectItem(ctx context.Context, r *request) {
	path, query := r.target(c.opt.Node, c.nodeTime().Add(-c.opt.Since))
	source := "GET " + path
	if len(query) > 0 {
		source += "?" + query.Encode()
	}
	item := c.beginItem(r.step, r.item, source)
	sp := c.store.newSpool(r.newest)
	var out io.Writer = sp
	var whole bytes.Buffer
	if r.indent {
		out = &whole
	}
	got := c.fetch(ctx, r, out)
	if r.indent {
		writeIndented(sp, whole.Bytes())
	}
	if r.dump {
		// Such a name dates a dump (layout.DumpTime).
		item.Name = "dumps/" + r.item + "-goroutine-stacks-" + c.nodeTime().Format("2006-01-02T150405Z") + ".log"
		if got.outcome == "" || sp.Size() > 0 {
			c.dumped = true
		}
		c.first = clock()
	}
	if r.file && got.outcome == bundle.Absent {
		return // most nodes have one of them
	}
	c.noteRight(r, got)
	c.endItem(item, sp, got)
}

// writeIndented writes JSON with a line for each value, so that evidence can be quoted, and secrets
// found by their line. What is no JSON stays as it is.
func writeIndented(to io.Writer, text []byte) {
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		out.Reset()
		out.Write(text)
	}
	_, _ = to.Write(out.Bytes()) // does not fail
}

// noteRight notes a right that was refused. Admission refuses for other reasons.
func (c *collector) noteRight(r *request, got result) {
	text := r.right.String()
	if got.outcome == bundle.Denied && strings.HasSuffix(got.why, needsRight+text) && !slices.Contains(c.rights, text) {
		c.rights = append(c.rights, text)
	}
}

// fetch writes the answer to a request to out, at most its limit. A kubelet that does not answer at
// all is not asked for everything.
func (c *collector) fetch(ctx context.Context, r *request, out io.Writer) result {
	if r.right != askKubelet {
		return c.ask(ctx, r, out)
	}
	if !c.answered && c.silent >= maxSilent {
		return result{bundle.Skipped, fmt.Sprintf("not tried: the kubelet answered none of %d requests", c.silent)}
	}
	got := c.ask(ctx, r, out)
	switch got.outcome {
	case bundle.Timeout:
		c.silent++
	case "", bundle.Capped, bundle.Absent:
		c.answered = true
	}
	return got
}

// ask sends a request and writes the answer to out.
func (c *collector) ask(ctx context.Context, r *request, out io.Writer) result {
	ctx, stop := context.WithTimeout(ctx, r.bound)
	defer stop()
	path, query := r.target(c.opt.Node, c.nodeTime().Add(-c.opt.Since))
	header := http.Header{}
	if r.file {
		header.Set("Range", fmt.Sprintf("bytes=-%d", fileTail))
	}
	sent := clock()
	a, err := c.client.send(ctx, http.MethodGet, path, query, header, nil)
	if err != nil {
		return c.client.resultOf(ctx, err, r.bound)
	}
	defer a.body.Close()
	if a.status != http.StatusOK && a.status != http.StatusPartialContent {
		return c.client.describeRefusal(a, r)
	}
	c.noteClock(r, a.header, sent)
	in := bufio.NewReader(a.body)
	if r.log {
		if why := whyNoLog(a.header, in); why != "" {
			return result{bundle.Absent, why}
		}
	}
	body := &limitedReader{in: in, left: r.limit}
	n, err := io.Copy(io.MultiWriter(out, &body.lines), body)
	switch {
	case err != nil && ctx.Err() != nil:
		got := c.client.resultOf(ctx, err, r.bound)
		if n > 0 {
			got.why = fmt.Sprintf("%s after %d bytes", strings.Replace(got.why, "no answer", "no more", 1), n)
		}
		return got
	case err != nil:
		return result{bundle.Failed, "the answer broke off: " + c.client.describeError(err)}
	case body.more:
		return result{bundle.Capped, fmt.Sprintf("the answer is larger than its limit of %d MiB", r.limit>>20)}
	case r.log && body.lines >= logLines:
		return result{bundle.Capped, fmt.Sprintf("the kubelet gives the newest %d lines only; a shorter --since leaves out none", logLines)}
	}
	return result{}
}

// whyNoLog says why an answer to a query of logs is none; empty when it is one. Without queries the
// kubelet lists /var/log as HTML. Of a unit without entries a kubelet 1.36 looks for files instead,
// and says so in one line, with 200 OK:
//
//	options present and query resolved to log files for [crio]
func whyNoLog(header http.Header, in *bufio.Reader) string {
	if strings.Contains(header.Get("Content-Type"), "html") {
		return noLogQuery
	}
	const oneLine = 300
	if head, err := in.Peek(oneLine); err != nil && bytes.Contains(head, []byte("query resolved to log files for")) {
		return noJournal
	}
	return ""
}

// clockNoise is what the clocks of two machines may differ by without being noted: a Date has whole
// seconds.
const clockNoise = 3 * time.Second

// noteClock compares this machine's clock with the one in the answer: the kubelet's own, where it
// is the kubelet's answer (net/http/httputil.ReverseProxy passes its Date on).
func (c *collector) noteClock(r *request, header http.Header, sent time.Time) {
	at, err := http.ParseTime(header.Get("Date"))
	if err != nil || r.right != askKubelet || c.offset != 0 {
		return
	}
	if ahead := at.Sub(sent.Round(0)); ahead.Abs() > clockNoise+clock().Sub(sent) {
		c.offset = ahead.Round(time.Second)
		c.store.manifest.ClockOffset = c.offset.Seconds()
	}
}

// limitedReader reads so many bytes, and then notes that there are more.
type limitedReader struct {
	in   io.Reader
	left int64
	more bool
	// lines counts what is written to it.
	lines lineCounter
}

// lineCounter counts the lines that are written to it.
type lineCounter int

// Write implements io.Writer.
func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		n, _ := io.ReadAtLeast(l.in, p[:1], 1)
		l.more = n > 0
		return 0, io.EOF
	}
	n, err := l.in.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// collectDumpsAgain takes a second dump of what gave a first one.
func (c *collector) collectDumpsAgain(ctx context.Context) {
	if !c.dumped {
		return
	}
	timer := time.NewTimer(c.first.Add(dumpGap).Sub(clock()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		c.store.seal(whyEnded(ctx, &c.opt), dumpsAgain)
		return
	}
	for i := range requests {
		if r := requests[i]; r.dump {
			r.step = dumpsAgain
			c.collectItem(ctx, &r)
		}
	}
}

// finish ends the bundle.
func (c *collector) finish(ctx, work context.Context, podLeft string) (*Summary, error) {
	m := &c.store.manifest
	m.End = c.nodeTime()
	if work.Err() != nil && m.Sealed == "" {
		m.Sealed = whyEnded(ctx, &c.opt)
	}
	if m.Sealed != "" {
		m.SealedAfter = clock().Sub(c.begun).Round(time.Millisecond).Seconds()
	}
	err := c.store.close()
	s := &Summary{
		Path: c.opt.Output, Bytes: c.store.written.Load(), Items: map[bundle.Outcome]int{}, Sealed: m.Sealed,
		Rights: c.rights, PodLeft: podLeft,
	}
	for i := range m.Items {
		s.Items[m.Items[i].Outcome]++
	}
	return s, err
}

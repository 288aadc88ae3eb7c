package apiserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/carry"
)

const (
	// startBound is how long the pod may take to run. A kubelet whose PLEG is unhealthy starts none.
	startBound = 30 * time.Second
	pollPause  = time.Second
	podCall    = 5 * time.Second // one call about the pod
	// endBound is how long the pod may go on after its own time limit.
	endBound = 30 * time.Second
	// deleteBound is how long deleting the pod may take, also when the collection was interrupted.
	deleteBound = 20 * time.Second
	// podGrace is how many seconds the pod has to end; it then writes what it has.
	podGrace = 5
	// podBundle bounds the bundle of the pod, in bytes: it is held in memory until its size is known.
	podBundle = 64 << 20
	// maxFollows is how often its log is asked for again when the connection breaks.
	maxFollows = 4
)

// podStatus is what is read of the pod.
type podStatus struct {
	Status struct {
		Phase             string `json:"phase"`
		Reason            string `json:"reason"`
		Message           string `json:"message"`
		ContainerStatuses []struct {
			State struct {
				Waiting *struct {
					Reason  string `json:"reason"`
					Message string `json:"message"`
				} `json:"waiting"`
				Terminated *struct {
					ExitCode int    `json:"exitCode"`
					Reason   string `json:"reason"`
				} `json:"terminated"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
}

// whyWaiting says what the pod waits for.
func (p *podStatus) whyWaiting() string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			return strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
		}
	}
	if p.Status.Reason != "" || p.Status.Message != "" {
		return strings.TrimSuffix(p.Status.Reason+": "+p.Status.Message, ": ")
	}
	return ""
}

func (p *podStatus) hasRun() bool {
	return p.Status.Phase == "Running" || p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed"
}

// describeExit is how the container ended; empty while it has not.
func (p *podStatus) describeExit() string {
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return fmt.Sprintf("exit status %d (%s)", t.ExitCode, t.Reason)
		}
	}
	return ""
}

// debugPod is the pod while it is there.
type debugPod struct {
	*collector
	name string
	ran  bool
}

// collectInPod runs the collection in a pod of the node, and deletes the pod, whatever happens. It
// says why it could not.
func (c *collector) collectInPod(ctx context.Context) (left string) {
	item := c.beginItem(podStep, "node/plegdiag-"+c.opt.Node+".tgz", "pod in namespace "+c.opt.Namespace+", image "+c.opt.Image)
	p := &debugPod{collector: c, name: "plegdiag-collect-" + randomName()}
	decoder := &carry.Decoder{Limit: podBundle, Other: c.sayLine}
	made, got := p.create(ctx)
	if got.outcome == "" {
		if got = p.awaitStart(ctx); got.outcome == "" {
			got = p.readBundle(ctx, decoder)
		}
	}
	if made {
		left = p.remove()
	}
	item.End, item.Outcome, item.Why = c.nodeTime(), cmp.Or(got.outcome, bundle.OK), got.why
	c.store.storeBytes(item, decoder.Bytes())
	return left
}

// sayLine passes on a line that the pod wrote.
func (c *collector) sayLine(line string) {
	if c.opt.Said != nil {
		c.opt.Said(line)
	}
}

// randomName makes the pod's name: it must be known also when nobody hears that the pod was made.
func randomName() string {
	b := make([]byte, 5)
	_, _ = rand.Read(b) // does not fail (crypto/rand)
	return hex.EncodeToString(b)
}

func (p *debugPod) path() string { return "/api/v1/namespaces/" + p.opt.Namespace + "/pods/" + p.name }

// call makes a call about the pod, and decodes the answer.
func (p *debugPod) call(ctx context.Context, method, path string, query url.Values, body []byte, right Right, into any) (code int, got result) {
	ctx, stop := context.WithTimeout(ctx, podCall)
	defer stop()
	a, err := p.client.send(ctx, method, path, query, nil, body)
	if err != nil {
		return 0, p.client.resultOf(ctx, err, podCall)
	}
	defer a.body.Close()
	r := &request{right: right}
	if a.status >= http.StatusMultipleChoices {
		got = p.client.describeRefusal(a, r)
		p.noteRight(r, got)
		return a.status, got
	}
	const limit = 1 << 20
	if into != nil && json.NewDecoder(io.LimitReader(a.body, limit)).Decode(into) != nil {
		return a.status, result{bundle.Failed, "the API server's answer about the pod is no JSON"}
	}
	return a.status, result{}
}

// create makes the pod. made says that it can be there: also if nobody heard of it.
func (p *debugPod) create(ctx context.Context) (made bool, got result) {
	text, err := json.Marshal(p.manifest())
	if err != nil {
		return false, result{bundle.Failed, err.Error()}
	}
	code, got := p.call(ctx, http.MethodPost, "/api/v1/namespaces/"+p.opt.Namespace+"/pods", nil, text, createPod, nil)
	return got.outcome == "" || code == 0, got
}

// manifest is the pod. It is bound to its node: no scheduler is asked, and no taint keeps it away.
// It ends by itself, also when nobody deletes it.
func (p *debugPod) manifest() map[string]any {
	timeout := p.podTimeout()
	args := []string{
		"collect", "--chroot", "/host", "-o", "-", "--lines", "--max-size", strconv.Itoa(podBundle>>20) + "M",
		"--timeout", timeout.String(), "--since", p.opt.Since.String(),
	}
	if p.opt.NoRedact {
		args = append(args, "--no-redact")
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": p.name, "namespace": p.opt.Namespace,
			"labels": map[string]string{"app.kubernetes.io/name": "plegdiag-collect"},
		},
		"spec": map[string]any{
			"nodeName": p.opt.Node, "hostPID": true, "hostNetwork": true, "restartPolicy": "Never",
			"activeDeadlineSeconds":         int((timeout + endBound + startBound).Seconds()),
			"terminationGracePeriodSeconds": podGrace,
			"automountServiceAccountToken":  false, "enableServiceLinks": false,
			"tolerations": []any{map[string]any{"operator": "Exists"}},
			"containers": []any{map[string]any{
				"name": containerName, "image": p.opt.Image, "imagePullPolicy": "IfNotPresent", "args": args,
				"securityContext": map[string]any{"privileged": true, "runAsUser": 0},
				"resources": map[string]any{
					// The kubelet refuses a pod for which a full node has no room. Without a request of its
					// own, a limit is one.
					"requests": map[string]string{"cpu": "0", "memory": "0"},
					"limits":   map[string]string{"memory": "256Mi"},
				},
				"volumeMounts": []any{map[string]any{
					"name": "host", "mountPath": "/host", "mountPropagation": "HostToContainer",
				}},
			}},
			"volumes": []any{map[string]any{
				"name": "host", "hostPath": map[string]any{"path": "/", "type": "Directory"},
			}},
		},
	}
}

const containerName = "collect"

// podTimeout is how long the pod's own collection may take: what is left, without what it takes to
// start it and to read its end.
func (p *debugPod) podTimeout() time.Duration {
	const least = 30 * time.Second
	left := p.opt.Timeout - clock().Sub(p.begun) - startBound
	return max(left, least).Round(time.Second)
}

// awaitStart waits until the pod runs.
func (p *debugPod) awaitStart(ctx context.Context) result {
	until := clock().Add(startBound)
	var pod podStatus
	for {
		var seen podStatus
		code, got := p.call(ctx, http.MethodGet, p.path(), nil, nil, readPod, &seen)
		switch {
		case got.outcome == bundle.Denied || code == http.StatusNotFound:
			return got
		case got.outcome == "":
			pod = seen
		}
		if pod.Status.Phase == "Failed" && pod.describeExit() == "" {
			return result{bundle.Failed, "the kubelet does not take the pod: " + p.client.cleanText(pod.whyWaiting())}
		}
		if pod.hasRun() {
			p.ran = true
			return result{}
		}
		if clock().After(until) {
			return p.notStartedResult(&pod)
		}
		if !pause(ctx) {
			return p.giveUpResult(ctx)
		}
	}
}

// notStartedResult says why the pod does not run, and what to do instead.
func (p *debugPod) notStartedResult(pod *podStatus) result {
	why := fmt.Sprintf("the pod did not start in %s", startBound)
	if waiting := pod.whyWaiting(); waiting != "" {
		why += " (" + p.client.cleanText(waiting) + ")"
	}
	if state := p.node.whyNotReady(); state != "" {
		why += ": " + p.client.cleanText(state) + ", and a kubelet whose PLEG is unhealthy starts no pod"
	}
	return result{bundle.Timeout, why + "; run plegdiag collect on the node itself"}
}

// giveUpResult is the result of a pod that is no longer waited for, and why.
func (p *debugPod) giveUpResult(ctx context.Context) result {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return result{bundle.Skipped, fmt.Sprintf("given up: time limit of %s", p.opt.Timeout)}
	}
	return result{bundle.Skipped, "given up: interrupted"}
}

// pause waits for the next look, and says whether there is still time.
func pause(ctx context.Context) bool {
	paused, stop := context.WithTimeout(ctx, pollPause)
	defer stop()
	<-paused.Done()
	return ctx.Err() == nil
}

// readBundle reads the bundle out of the pod's log. A log is text and needs no protocol of its own,
// as attach and exec do, and what it says comes through the kubelet's port that is asked anyway.
// When the connection breaks, the log is read again from its start, as long as the pod runs.
func (p *debugPod) readBundle(ctx context.Context, to *carry.Decoder) result {
	bound := p.podTimeout() + endBound
	ctx, stop := context.WithTimeout(ctx, bound)
	defer stop()
	query := url.Values{"container": {containerName}, "follow": {"true"}}
	var broken error
	for range maxFollows {
		a, err := p.client.send(ctx, http.MethodGet, p.path()+"/log", query, nil, nil)
		if err != nil {
			return p.client.resultOf(ctx, err, bound)
		}
		if a.status != http.StatusOK {
			r := &request{right: readPodLog}
			got := p.client.describeRefusal(a, r)
			a.body.Close()
			p.noteRight(r, got)
			return got
		}
		err = to.Read(a.body)
		a.body.Close()
		switch {
		case to.Whole():
			return result{}
		case ctx.Err() != nil:
			return p.cutBundleResult(to, p.giveUpResult(ctx).why)
		case err != nil && !isConnectionError(err):
			return p.cutBundleResult(to, err.Error())
		}
		broken = err
		var pod podStatus
		if _, got := p.call(ctx, http.MethodGet, p.path(), nil, nil, readPod, &pod); got.outcome == "" && pod.describeExit() != "" {
			return p.cutBundleResult(to, "the pod has ended: "+pod.describeExit())
		}
		if !pause(ctx) {
			return p.cutBundleResult(to, p.giveUpResult(ctx).why)
		}
	}
	why := "its log ended too early"
	if broken != nil {
		why += ": " + p.client.describeError(broken)
	}
	return p.cutBundleResult(to, why)
}

// isConnectionError says that an error of reading a log is one of the connection, not of what it
// says.
func isConnectionError(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &timeout)
}

// cutBundleResult is the result of a bundle that is not whole.
func (p *debugPod) cutBundleResult(to *carry.Decoder, why string) result {
	if len(to.Bytes()) == 0 {
		return result{bundle.Failed, p.client.cleanText(why)}
	}
	return result{bundle.Capped, "only its first part: " + p.client.cleanText(why)}
}

// remove deletes the pod, and waits until it is gone. It says why it is not; empty when it is.
func (p *debugPod) remove() (left string) {
	ctx, stop := context.WithTimeout(context.Background(), deleteBound)
	defer stop()
	grace := podGrace
	if !p.ran { // a kubelet that starts no pod ends none: only the API server forgets it
		grace = 0
	}
	var got result
	for {
		query := url.Values{"gracePeriodSeconds": {strconv.Itoa(grace)}}
		code, refused := p.call(ctx, http.MethodDelete, p.path(), query, nil, deletePod, nil)
		if code == http.StatusNotFound {
			return ""
		}
		got = refused
		if got.outcome == bundle.Denied || !pause(ctx) {
			break
		}
		var pod podStatus
		if code, _ := p.call(ctx, http.MethodGet, p.path(), nil, nil, readPod, &pod); code == http.StatusNotFound {
			return ""
		}
		if deadlineNear(ctx) {
			grace = 0
		}
	}
	return fmt.Sprintf("the pod %s is still in namespace %s: %s", p.name, p.opt.Namespace,
		cmp.Or(got.why, "it has not ended in "+deleteBound.String()))
}

// deadlineNear says that less than half of the time for deleting is left.
func deadlineNear(ctx context.Context) bool {
	until, ok := ctx.Deadline()
	return ok && until.Sub(clock()) < deleteBound/2
}

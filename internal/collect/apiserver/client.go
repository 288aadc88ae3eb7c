package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/redact"
)

// client asks one API server, as the user of a kubeconfig.
type client struct {
	base      *url.URL
	transport http.RoundTripper
	hidden    []string // texts of the kubeconfig that nothing may repeat, the longest first
	key       []byte   // of the tokens that replace other secrets in errors
}

// newClient reads the kubeconfig, or what a pod has in its place. It asks nobody yet.
func newClient(opt *Options, key []byte) (*client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = opt.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: opt.Context}
	c := &client{key: key}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %s", c.cleanText(err.Error()))
	}
	config.UserAgent = "plegdiag/" + opt.Version
	c.noteConfigSecrets(config)
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %s", c.cleanText(err.Error()))
	}
	c.base = base
	c.noteSecrets(base.Host, base.Hostname())
	// A transport and not a client: that would follow redirects, with the token.
	if c.transport, err = rest.TransportFor(config); err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %s", c.cleanText(err.Error()))
	}
	return c, nil
}

// noteConfigSecrets notes what is secret of a kubeconfig.
func (c *client) noteConfigSecrets(config *rest.Config) {
	c.noteSecrets(config.Host, config.BearerToken, config.Username, config.Password, string(config.KeyData), config.Impersonate.UserName)
	if config.AuthProvider != nil {
		for _, value := range config.AuthProvider.Config {
			c.noteSecrets(value)
		}
	}
	if config.ExecProvider != nil {
		c.noteSecrets(config.ExecProvider.Args...)
		for _, variable := range config.ExecProvider.Env {
			c.noteSecrets(variable.Value)
		}
	}
}

// noteSecrets notes texts that nothing may repeat. Short ones are no secrets: they stand in other
// words.
func (c *client) noteSecrets(texts ...string) {
	const least = 4
	for _, text := range texts {
		if len(text) >= least {
			c.hidden = append(c.hidden, text)
		}
	}
	slices.SortFunc(c.hidden, func(a, b string) int { return len(b) - len(a) })
}

// cleanText is a text on one line, without what is hidden and without what looks like a secret.
func (c *client) cleanText(text string) string {
	for _, secret := range c.hidden {
		text = strings.ReplaceAll(text, secret, "…")
	}
	var out bytes.Buffer
	redact.New(c.key).Filter(&out, []byte(text), true)
	text = strings.Join(strings.Fields(out.String()), " ")
	const enough = 400
	if len(text) > enough {
		text = strings.ToValidUTF8(text[:enough], "") + "…"
	}
	return text
}

// describeError says what went wrong between here and the API server, without its address.
func (c *client) describeError(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return c.cleanText(op.Op + ": " + op.Err.Error())
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return c.cleanText("its name cannot be resolved: " + name.Err)
	}
	return c.cleanText(err.Error())
}

// answer is the head of an answer, with its body.
type answer struct {
	status int
	header http.Header
	body   io.ReadCloser
}

// send sends a request. It returns with ctx at the latest: a plugin of the kubeconfig that asks a
// person for a password does not know of ctx, and is left behind.
func (c *client) send(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) (*answer, error) {
	to := *c.base
	to.Path = strings.TrimSuffix(to.Path, "/") + path
	to.RawQuery = query.Encode()
	var content io.Reader // a nil one, for no body
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), content)
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Accept": {"application/json, text/plain, */*"}}
	maps.Copy(req.Header, header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	type result struct {
		answer *http.Response
		err    error
	}
	done := make(chan result, 1)
	go func() {
		a, err := c.transport.RoundTrip(req)
		done <- result{a, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return &answer{r.answer.StatusCode, r.answer.Header, r.answer.Body}, nil
	}
}

// status is what the API server says of an error (metav1.Status of k8s.io/apimachinery).
type status struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
}

// readStatus reads the body of an answer that is an error. kubelet says that the kubelet answered:
// what it says is plain text.
func (c *client) readStatus(a *answer) (s status, kubelet bool) {
	const enough = 8 << 10
	text, _ := io.ReadAll(io.LimitReader(a.body, enough)) // what came counts
	if json.Unmarshal(text, &s) == nil && s.Kind == "Status" {
		return s, false
	}
	return status{Message: string(text)}, true
}

// result is what became of a request. The zero result leaves it to the content: ok, or empty.
type result struct {
	outcome bundle.Outcome
	why     string
}

// resultOf says why a request gave no answer in time, or none at all.
func (c *client) resultOf(ctx context.Context, err error, bound time.Duration) result {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return result{bundle.Timeout, fmt.Sprintf("no answer in %s", bound)}
	case ctx.Err() != nil:
		return result{bundle.Skipped, "given up: interrupted"}
	}
	return result{bundle.Failed, "the API server: " + c.describeError(err)}
}

// deafKubelet is why a kubelet refuses everybody: with the mode Webhook it asks the API server.
const deafKubelet = ": the kubelet cannot ask the API server whether it may answer: it does not reach it, or is refused itself"

const needsRight = ": it needs the right to "

// describeRefusal says what an answer that is an error means for a request, and which right or
// setting it lacks.
func (c *client) describeRefusal(a *answer, r *request) result {
	s, kubelet := c.readStatus(a)
	code := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	switch {
	case a.status == http.StatusUnauthorized && !kubelet:
		return result{bundle.Denied, code + ": the API server does not know this user; log in again"}
	case a.status == http.StatusUnauthorized && strings.Contains(r.path, "/proxy"):
		return result{bundle.Denied, code + ": the kubelet does not know the API server (its --kubelet-client-certificate)"}
	case a.status == http.StatusInternalServerError && kubelet && strings.HasPrefix(s.Message, "Authorization error"):
		return result{bundle.Failed, code + deafKubelet}
	case a.status == http.StatusForbidden && kubelet && strings.Contains(s.Message, "user="):
		return result{bundle.Denied, code + ": the kubelet refuses the API server, which needs " + r.rightAtKubelet() + " (ClusterRole system:kubelet-api-admin)"}
	case a.status == http.StatusForbidden && !kubelet && !strings.Contains(s.Message, "cannot "+r.right.Verb):
		return result{bundle.Denied, code + ": " + c.cleanText(s.Message)} // of admission: PodSecurity, a quota
	case a.status == http.StatusForbidden:
		return result{bundle.Denied, code + needsRight + r.right.String()}
	case (a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed) && r.absent != "":
		return result{bundle.Absent, code + ": " + r.absent}
	case a.status == http.StatusNotFound:
		return result{bundle.Absent, code + ": " + c.cleanText(s.Message)}
	}
	return result{bundle.Failed, code + ": " + c.cleanText(s.Message)}
}

// Package put sends a bundle to a server by HTTP PUT: to an object store under a presigned URL, or
// to any other server that takes it. It reads one file and speaks to one host. It follows no
// redirect to another one, and no error of it holds the URL's path, its query or a header: these
// are secrets.
package put

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Request says what is sent, and where to. It holds secrets: it is passed on through pipes only.
type Request struct {
	// URL is http:// or https://. Empty when File has it.
	URL string
	// File has the URL in its first line. It is read right before the bundle is sent, so that a
	// presigned URL can be renewed meanwhile. Empty when URL is set.
	File string
	// Headers are sent as they are, each as "Name: value".
	Headers []string
	// Path is the bundle.
	Path string
	// Remove removes the bundle once the server has confirmed it.
	Remove bool
	// Timeout is for all attempts together.
	Timeout time.Duration
	// Agent names this program and its version.
	Agent string
	// Proxies are variables of the environment that hold addresses of proxies, as NAME=value; the
	// process that sends has them. They can hold passwords.
	Proxies []string
}

// Report says what became of it.
type Report struct {
	Host  string // the bundle went to; without a path
	Bytes int64
	Tries int
	// Error is why the server has not got it; empty when it has.
	Error string
	// Removed says that the file is gone, as Request.Remove wished.
	Removed bool
}

const (
	// maxTries is how often the bundle is sent when the server is busy or the connection breaks.
	maxTries = 3
	// maxHops is how many redirects to the same host are followed.
	maxHops = 3
	// maxURL bounds the file that holds the URL, in bytes. A presigned URL has some 2000.
	maxURL = 16 << 10
	// expectWait is how long the server can take to refuse before the content is sent.
	expectWait = 3 * time.Second
)

// target is a request whose secrets have been read.
type target struct {
	url     *url.URL
	headers http.Header
	hidden  []string // texts that no error may hold, the longest first
}

// Check says what is wrong with a request before there is a bundle: its URL, its headers, the file
// of its URL. The error holds no secret.
func Check(r *Request) error {
	_, err := readTarget(r)
	return err
}

// readTarget reads the URL and the headers of a request.
func readTarget(r *Request) (*target, error) {
	text := r.URL
	if r.File != "" {
		var err error
		if text, err = readURL(r.File); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil: // the error would quote it
		return nil, errors.New("the URL to put the bundle to cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the URL to put the bundle to does not begin with https:// or http://")
	case u.Host == "":
		return nil, errors.New("the URL to put the bundle to names no host")
	}
	u.Fragment, u.RawFragment = "", ""
	t := &target{url: u, headers: http.Header{}}
	for i, line := range r.Headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !headerName.MatchString(name) || !headerValue.MatchString(value) {
			return nil, fmt.Errorf("header %d to put the bundle with is not written as Name: value", i+1)
		}
		if slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)) {
			return nil, fmt.Errorf("header %s is set by plegdiag itself", http.CanonicalHeaderKey(name))
		}
		t.headers.Add(name, value)
		t.noteSecret(value)
	}
	t.noteURLSecrets(u)
	for _, variable := range r.Proxies {
		_, value, _ := strings.Cut(variable, "=")
		t.noteSecret(value)
	}
	return t, nil
}

// What a header can hold: a token of RFC 9110 5.6.2, and no control character.
var (
	headerName  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	headerValue = regexp.MustCompile(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
)

// ownHeaders are those that the length and the connection decide.
var ownHeaders = []string{"Content-Length", "Transfer-Encoding", "Connection", "Expect", "Host"}

// readURL is the first line of a file.
func readURL(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxURL))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("%s is empty: it should hold the URL to put the bundle to", path)
	}
	return line, nil
}

// noteSecret notes a text that no error may hold. Short ones are no secrets: they stand in other
// words.
func (t *target) noteSecret(text string) {
	const least = 4
	if len(text) < least || slices.Contains(t.hidden, text) {
		return
	}
	t.hidden = append(t.hidden, text)
	slices.SortFunc(t.hidden, func(a, b string) int { return len(b) - len(a) })
}

// noteURLSecrets notes what is secret of a URL: all except scheme and host.
func (t *target) noteURLSecrets(u *url.URL) {
	t.noteSecret(u.RequestURI())
	t.noteSecret(u.RawQuery)
	t.noteSecret(u.EscapedPath())
	t.noteSecret(u.Path)
	for _, values := range u.Query() {
		for _, value := range values {
			t.noteSecret(value)
			t.noteSecret(url.QueryEscape(value))
		}
	}
	if password, ok := u.User.Password(); ok {
		t.noteSecret(u.User.String())
		t.noteSecret(password)
	}
}

// describeError is the text of an error without anything that is hidden.
func (t *target) describeError(err error) string {
	text := err.Error()
	for _, secret := range t.hidden {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return text
}

// Send sends the bundle, up to three times when the server is busy or the connection breaks. It
// ends with ctx, or after the request's Timeout.
func Send(ctx context.Context, r *Request) Report {
	t, err := readTarget(r)
	if err != nil {
		return Report{Error: err.Error()}
	}
	report := Report{Host: t.url.Host}
	ctx, stop := context.WithTimeout(ctx, r.Timeout)
	defer stop()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	for pause := time.Second; ; pause *= 3 {
		report.Tries++
		var again bool
		report.Bytes, again, err = t.sendOnce(ctx, transport, r)
		if err == nil {
			break
		}
		report.Error = t.describeError(err)
		if ctx.Err() != nil {
			report.Error = describeEnd(ctx, r.Timeout, report.Bytes)
		}
		if !again || report.Tries == maxTries || !wait(ctx, pause) {
			return report
		}
	}
	report.Error = ""
	if r.Remove {
		report.Removed = os.Remove(r.Path) == nil // it stays, and the report says so
	}
	return report
}

// describeEnd says that the time was over, or that somebody ended it.
func describeEnd(ctx context.Context, timeout time.Duration, sent int64) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Sprintf("interrupted after %d bytes", sent)
	}
	return fmt.Sprintf("not finished in %s: %d bytes were taken", timeout, sent)
}

// wait waits, and says whether there is still time.
func wait(ctx context.Context, pause time.Duration) bool {
	paused, stop := context.WithTimeout(ctx, pause)
	defer stop()
	<-paused.Done()
	return ctx.Err() == nil
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{
			Timeout: 15 * time.Second,
		}).DialContext,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: expectWait,
		DisableCompression:    true,
	}
}

// sendOnce sends the bundle once, to where the server redirects on its own host. again says that
// another attempt can succeed.
func (t *target) sendOnce(ctx context.Context, transport http.RoundTripper, r *Request) (sent int64, again bool, err error) {
	to := t.url
	for range maxHops + 1 {
		var answer *http.Response
		if answer, sent, err = t.sendTo(ctx, transport, to, r); err != nil {
			_, broken := errors.AsType[*os.PathError](err)
			return sent, !broken, err
		}
		code := errorCode(answer)
		answer.Body.Close()
		switch status := answer.StatusCode; {
		case status >= 200 && status < 300:
			return sent, false, nil
		case status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect:
			location := answer.Header.Get("Location")
			next, err := to.Parse(location)
			if err != nil || location == "" || next.Scheme != to.Scheme || !strings.EqualFold(next.Host, to.Host) {
				return sent, false, fmt.Errorf("%s: the server redirects to another host, which is not followed", answer.Status)
			}
			t.noteURLSecrets(next)
			to = next
		case status >= 300 && status < 400:
			return sent, false, fmt.Errorf("%s: the server redirects, and would lose the content", answer.Status)
		default:
			return sent, slices.Contains(busy, status), fmt.Errorf("the server answered %s%s", answer.Status, code)
		}
	}
	return sent, false, fmt.Errorf("more than %d redirects", maxHops)
}

// busy are the answers of a server that may take it later.
var busy = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
	http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// sendTo sends the bundle to one URL.
func (t *target) sendTo(ctx context.Context, transport http.RoundTripper, to *url.URL, r *Request) (*http.Response, int64, error) {
	f, err := os.Open(r.Path)
	if err != nil {
		return nil, 0, err
	}
	body := &counter{f: f}
	defer body.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	bare := *to
	bare.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, bare.String(), body)
	if err != nil {
		return nil, 0, errors.New("the URL to put the bundle to cannot be used")
	}
	req.ContentLength = info.Size()
	req.Header = t.headers.Clone()
	req.Header.Set("User-Agent", r.Agent)
	// A server that refuses says so before it is sent hundreds of megabytes. No Content-Type is sent:
	// a signature can be for a request without one.
	req.Header.Set("Expect", "100-continue")
	if to.User != nil && req.Header.Get("Authorization") == "" {
		password, _ := to.User.Password()
		req.SetBasicAuth(to.User.Username(), password)
	}
	// RoundTrip and not a Client: that follows redirects, and its errors hold the URL.
	answer, err := transport.RoundTrip(req)
	return answer, body.count(), err
}

// codeElement is how S3, Google and Azure name an error in the body of an answer. The rest of the
// body can repeat the signature.
var codeElement = regexp.MustCompile(`<Code>([A-Za-z]{1,64})</Code>`)

// errorCode is the server's own name for an error, after a colon; empty when it gives none.
func errorCode(answer *http.Response) string {
	if answer.StatusCode < 300 {
		return ""
	}
	const enough = 4 << 10
	body, _ := io.ReadAll(io.LimitReader(answer.Body, enough)) // what came counts
	if m := codeElement.FindSubmatch(body); m != nil {
		return ": " + string(m[1])
	}
	return ""
}

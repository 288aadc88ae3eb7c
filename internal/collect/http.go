//go:build linux

package collect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// findSocket says whether a path is a socket. The zero result means that it is.
func (g *guard) findSocket(bound time.Duration, path string) result {
	return g.try(bound, func() error {
		info, err := os.Stat(path)
		if err == nil && info.Mode()&fs.ModeSocket == 0 {
			err = fmt.Errorf("%s is no socket", path)
		}
		return withoutPath(err)
	})
}

// server is a server for HTTP: the path of a socket, or http://… and https://….
type server struct {
	client *http.Client
	base   string
	token  string
}

func newServer(place string, bound time.Duration) *server {
	s := &server{client: &http.Client{Timeout: bound}, base: place}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec,nolintlint // the kubelet of this node, at 127.0.0.1, signs its own certificate
		Proxy:             nil,
	}
	if !strings.HasPrefix(place, "http") {
		s.base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", place)
		}
	}
	s.client.Transport = transport
	return s
}

// fetch writes the answer to out, at most limit bytes of it. capped says that there was more.
func (s *server) fetch(ctx context.Context, query string, out io.Writer, limit int) (capped bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+query, nil)
	if err != nil {
		return false, err
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	answer, err := s.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return false, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return false, fmt.Errorf("%w: %s", fs.ErrPermission, answer.Status)
	case http.StatusNotFound:
		return false, fmt.Errorf("%w: %s", fs.ErrNotExist, answer.Status)
	default:
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 400))
		return false, fmt.Errorf("%s: %s", answer.Status, body)
	}
	n, err := io.Copy(out, io.LimitReader(answer.Body, int64(limit)))
	if err != nil || n < int64(limit) {
		return false, err
	}
	more, _ := answer.Body.Read(make([]byte, 1))
	return more > 0, nil
}

// getHTTP makes an item of each answer. Names[0], if there is one, is a file with a token.
func getHTTP(t *task, out *frames) {
	token := ""
	var g guard
	if len(t.Names) > 0 {
		if text, r := g.tryFile(t.Bound, t.Names[0], 64<<10); r.outcome == "" {
			token = strings.TrimSpace(string(text))
		}
	}
	for _, w := range t.Items {
		g.sendAnswer(out, w, token, t)
	}
}

// sendAnswer sends the answer to one request as an item.
func (g *guard) sendAnswer(out *frames, w want, token string, t *task) {
	out.beginItem(w.Name, w.Source+w.Query)
	out.endItem(w.Name, g.sendBody(out, w, token, t))
}

// sendBody sends the answer to one request as the content of an item that has begun.
func (g *guard) sendBody(out *frames, w want, token string, t *task) result {
	capped, r := tryFor(g, t.Bound+killGrace, func() (bool, error) {
		s := newServer(w.Source, t.Bound)
		s.token = token
		return s.fetch(context.Background(), w.Query, itemWriter{out, w.Name}, t.Limit)
	})
	if capped {
		r = result{outcome: bundle.Capped, why: "the answer is larger than the limit"}
	}
	return asTimeout(r, t.Bound)
}

// asTimeout turns the different time-outs of HTTP into one outcome.
func asTimeout(r result, bound time.Duration) result {
	if r.outcome == bundle.Failed &&
		(strings.Contains(r.why, "deadline exceeded") || strings.Contains(r.why, "Client.Timeout")) {
		return result{outcome: bundle.Timeout, why: fmt.Sprintf("no answer in %s", bound)}
	}
	return r
}

package collect

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
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

// sendAnswer sends the answer to one request as an item, and says whether there was one.
func (g *guard) sendAnswer(out *frames, w want, token string, t *task) bool {
	out.beginItem(w.Name, w.Source+w.Query)
	capped, r := tryFor(g, t.Bound+killGrace, func() (bool, error) {
		s := newServer(w.Source, t.Bound)
		s.token = token
		return s.fetch(context.Background(), w.Query, itemWriter{out, w.Name}, t.Limit)
	})
	answered := r.outcome == ""
	if capped {
		r = result{outcome: bundle.Capped, why: "the answer is larger than the limit"}
	}
	out.endItem(w.Name, asTimeout(r, t.Bound))
	return answered
}

// asTimeout turns the different time-outs of HTTP into one outcome.
func asTimeout(r result, bound time.Duration) result {
	if r.outcome == bundle.Failed &&
		(strings.Contains(r.why, "deadline exceeded") || strings.Contains(r.why, "Client.Timeout")) {
		return result{outcome: bundle.Timeout, why: fmt.Sprintf("no answer in %s", bound)}
	}
	return r
}

// askDocker measures the calls of dockerd. It keeps the state of a container, never its
// environment.
func askDocker(t *task, path string, out itemWriter) result {
	d := docker{asker: asker{api: "docker", endpoint: path, bound: t.Bound, out: out}, server: newServer(path, t.Bound)}
	d.askFirst(question{method: "GET /_ping", ask: func(ctx context.Context) (map[string]string, error) {
		_, err := d.server.fetch(ctx, "/_ping", io.Discard, 100)
		return nil, err
	}})
	for _, what := range []string{"version", "info"} {
		if d.isDone() {
			break
		}
		if text := d.fetch("/"+what, "", nil); text != nil {
			out.sendFile("runtime/docker-"+what+".json", path+"/"+what, text)
		}
	}
	ids := t.IDs
	if d.isDone() {
		ids = nil
	} else if text := d.fetch("/containers/json?all=1", "", nil); text != nil {
		var all []struct{ ID string }
		if json.Unmarshal(text, &all) == nil {
			ids = ids[:0]
			for _, c := range all {
				ids = append(ids, c.ID)
			}
		}
	}
	return result{why: d.askEach(ids, func(id string) { d.fetch("/containers/"+id+"/json", id, parseContainerState) })}
}

// docker asks dockerd.
type docker struct {
	asker
	server *server
}

// fetch asks for one path and returns the answer; nil when there was none.
func (d *docker) fetch(path, container string, detail func([]byte) map[string]string) []byte {
	method := "GET " + strings.Replace(path, container, "{id}", min(1, len(container)))
	text, _ := askFor(&d.asker, question{method: method, container: container},
		func(ctx context.Context) ([]byte, map[string]string, error) {
			var text bytes.Buffer
			if _, err := d.server.fetch(ctx, path, &text, 16<<20); err != nil || detail == nil {
				return text.Bytes(), nil, err
			}
			return text.Bytes(), detail(text.Bytes()), nil
		})
	return text
}

// parseContainerState returns the state of a container from docker inspect.
func parseContainerState(text []byte) map[string]string {
	var c struct {
		Name  string
		State struct {
			Status     string
			Pid        int
			StartedAt  string
			FinishedAt string
		}
	}
	if json.Unmarshal(text, &c) != nil {
		return nil
	}
	return map[string]string{
		"state": c.State.Status, "name": c.Name, "pid": fmt.Sprint(c.State.Pid),
		"started": c.State.StartedAt, "finished": c.State.FinishedAt,
	}
}

package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"
)

// Bounds of what clients may take over HTTP.
const (
	maxConnections = 32
	maxHeader      = 16 << 10
	headerTime     = 10 * time.Second
	bodyTime       = 10 * time.Second
	idleTime       = 2 * time.Minute
	sessionTime    = 30 * time.Minute // without a request
	endTime        = 5 * time.Second  // for requests that run when the server is told to end
)

// clock is the machine's: requests have bounds of time.
var clock = time.Now //nolint:forbidigo // how long a request takes is no evidence

// NewToken makes a secret for clients.
func NewToken() string { return rand.Text() }

// Listen listens on a loopback address, as 127.0.0.1:8765 or localhost:0, and refuses any other.
func Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%q is not a loopback address: there is no encryption, and the bundles are not everybody's", addr)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(listener, maxConnections), nil
}

// ServeHTTP answers clients that know the token, until ctx ends.
func (s *Server) ServeHTTP(ctx context.Context, listener net.Listener, token string) error {
	answer := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.mcp }, &sdk.StreamableHTTPOptions{
		SessionTimeout: sessionTime, MaxRequestBodyBytes: maxFrame,
	})
	guarded := guard{next: answer, addr: listener.Addr().String(), token: sha256.Sum256([]byte(token))}
	server := &http.Server{
		Handler: &guarded, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) { // streams that clients hold open
		err = server.Close()
	}
	if failed := <-ended; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	return err
}

// guard lets only those pass who address this server by its own name and know the token: no page in
// a browser does, whatever name it gave to this address.
type guard struct {
	next  http.Handler
	addr  string // host and port on which it listens
	token [sha256.Size]byte
}

// ServeHTTP implements [http.Handler].
func (g *guard) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case !g.isOwnAddress(req.Host):
		http.Error(w, "this server does not have that name", http.StatusForbidden)
	case !g.isOwnOrigin(req.Header.Values("Origin")):
		http.Error(w, "pages of other origins get no answer", http.StatusForbidden)
	case !g.knowsToken(req.Header.Values("Authorization")):
		w.Header().Set("WWW-Authenticate", `Bearer realm="plegdiag"`)
		http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
	default:
		if readBody(w, req) {
			g.next.ServeHTTP(w, req)
		}
	}
}

// readBody reads the body, which has bounds of size and time: what answers may take longer.
func readBody(w http.ResponseWriter, req *http.Request) bool {
	in := http.NewResponseController(w)
	err := in.SetReadDeadline(clock().Add(bodyTime))
	body, failed := io.ReadAll(http.MaxBytesReader(w, req.Body, maxFrame))
	err = errors.Join(err, failed, in.SetReadDeadline(time.Time{}))
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the request was not read", http.StatusBadRequest)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil
}

// isOwnAddress says whether a host with its port is this server.
func (g *guard) isOwnAddress(host string) bool {
	_, port, err := net.SplitHostPort(g.addr)
	return host == g.addr || err == nil && host == net.JoinHostPort("localhost", port)
}

// isOwnOrigin says whether a request comes from a page of this server, or from no page at all.
func (g *guard) isOwnOrigin(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" || !g.isOwnAddress(u.Host) {
			return false
		}
	}
	return true
}

// knowsToken compares the token in a time that does not depend on it.
func (g *guard) knowsToken(headers []string) bool {
	if len(headers) != 1 {
		return false
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return ok && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

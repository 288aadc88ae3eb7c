package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/mcp"
)

// listening is plegdiag mcp --http, started for a test.
type listening struct {
	*exec.Cmd
	url, token string
}

// startHTTP starts the program on a free port. The token is empty unless the program has made it.
func startHTTP(t *testing.T, env []string, args ...string) *listening {
	t.Helper()
	l := &listening{Cmd: program(append([]string{"mcp", "--http", "localhost:0"}, args...)...)}
	l.Env = append(os.Environ(), env...)
	stderr, err := l.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, l.Start())
	t.Cleanup(func() { _ = l.Process.Kill(); _ = l.Wait() })
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		text := strings.TrimPrefix(lines.Text(), "plegdiag: ")
		if token, ok := strings.CutPrefix(text, "token: "); ok {
			l.token = token
		}
		if url, ok := strings.CutPrefix(text, "listening on "); ok {
			l.url = url
			return l
		}
	}
	require.Fail(t, "it does not listen")
	return nil
}

// withToken sends the token with every request.
type withToken string

// RoundTrip implements [http.RoundTripper].
func (w withToken) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(w))
	return http.DefaultTransport.RoundTrip(req)
}

// TestMCPOverHTTP: the same answers, with progress, for who knows the token.
func TestMCPOverHTTP(t *testing.T) {
	l := startHTTP(t, nil, "../../testdata")
	require.NotEmpty(t, l.token)
	a := &agent{T: t}
	a.connect(&sdk.StreamableClientTransport{Endpoint: l.url, HTTPClient: &http.Client{Transport: withToken(l.token)}})
	const input = "seed-systemd-cookie/bundle"
	params := &sdk.CallToolParams{Name: "analyze", Arguments: arguments{"input": input}}
	params.SetProgressToken("reading")
	result, err := a.session.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.Eventually(t, func() bool { return len(a.progress("reading")) > 0 }, 5*time.Second, 10*time.Millisecond)
	require.NotEmpty(t, ask[mcp.Hypotheses](a, "hypotheses", arguments{"input": input}).Hypotheses)
	require.NotEmpty(t, ask[mcp.Next](a, "next", arguments{"input": input}).Now)
	a.refused("analyze", arguments{"input": "../go.mod"})

	require.NoError(t, l.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- l.Wait() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		require.Fail(t, "it goes on")
	}
}

// TestMCPOverHTTPRefuses: nobody else gets an answer.
func TestMCPOverHTTPRefuses(t *testing.T) {
	const token = "0123456789abcdef"
	l := startHTTP(t, []string{tokenVariable + "=" + token}, "testdata")
	require.Empty(t, l.token)
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	send := func(body string, change func(r *http.Request)) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.url, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+token)
		if change != nil {
			change(req)
		}
		answer, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		return answer.StatusCode
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	address := strings.TrimSuffix(strings.TrimPrefix(l.url, "http://"), "/")
	_, port, _ := strings.Cut(address, ":")
	require.Equal(t, http.StatusOK, send(initialize, nil))
	require.Equal(t, http.StatusOK, send(initialize, header("Origin", "http://"+address)))
	require.Equal(t, http.StatusOK, send(initialize, func(r *http.Request) { r.Host = "localhost:" + port }))
	for _, wrong := range []string{"", "Bearer", "Bearer ", "Bearer " + token + "0", "Bearer " + token[1:], "Basic " + token, token} {
		require.Equal(t, http.StatusUnauthorized, send(initialize, header("Authorization", wrong)), wrong)
	}
	for _, wrong := range []string{"example.com", "example.com:" + port, "127.0.0.1", "127.0.0.1:1", "localhost.example.com:" + port, "127.0.0.1.nip.io:" + port} {
		require.Equal(t, http.StatusForbidden, send(initialize, func(r *http.Request) { r.Host = wrong }), wrong)
	}
	for _, wrong := range []string{"http://example.com", "https://" + address, "http://127.0.0.1:1", "null", "http://localhost"} {
		require.Equal(t, http.StatusForbidden, send(initialize, header("Origin", wrong)), wrong)
	}
	require.Equal(t, http.StatusForbidden, send(initialize, func(r *http.Request) { r.Header["Origin"] = []string{"http://" + address, "http://example.com"} }))
	require.Equal(t, http.StatusRequestEntityTooLarge, send(strings.Repeat(" ", 2<<20)+initialize, nil))
	require.Equal(t, http.StatusOK, send(initialize, nil))
}

// TestMCPTokens: where the token comes from, and what is none; and which addresses are refused.
func TestMCPTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600))
	l := startHTTP(t, []string{tokenVariable + "=another-token-of-nobody"}, "--token-file", file, "testdata")
	require.Empty(t, l.token)
	a := &agent{T: t}
	a.connect(&sdk.StreamableClientTransport{Endpoint: l.url, HTTPClient: &http.Client{Transport: withToken("0123456789abcdef")}})
	require.NotEmpty(t, ask[mcp.Bundles](a, "bundles", nil).Entries)

	refused := func(args ...string) string {
		var stderr bytes.Buffer
		require.Equal(t, cli.StatusUsage, run(append([]string{"mcp", "testdata"}, args...), strings.NewReader(""), io.Discard, &stderr), args)
		return stderr.String()
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "[::]:0", "example.com:80", "127.0.0.1"} {
		require.Contains(t, refused("--http", addr), "--http", addr)
	}
	for _, token := range []string{"short", "two words of a token", "\n"} {
		require.NoError(t, os.WriteFile(file, []byte(token), 0o600))
		require.Contains(t, refused("--http", "127.0.0.1:0", "--token-file", file), "a token is one word")
	}
	require.Contains(t, refused("--token-file", file), "without --http")
}

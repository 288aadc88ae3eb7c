package apiserver

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// kubeconfig writes a kubeconfig whose user is given.
func kubeconfig(t *testing.T, server, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, []byte(`apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "`+server+`"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: `+user+`}]
`), 0o600))
	return path
}

// No error repeats what a kubeconfig holds, whichever way the user logs in.
func TestNothingOfTheKubeconfig(t *testing.T) {
	for name, user := range map[string]string{
		"token":    `{token: planted-token}`,
		"password": `{username: planted-user, password: planted-password}`,
		"plugin":   `{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/sh, args: ["-c", "echo planted-argument; exit 1"], env: [{name: A, value: planted-variable}]}}`,
		"as":       `{token: planted-token, as: planted-person}`,
	} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "b.tgz")
			for _, server := range []string{"http://planted-host.invalid:1", "https://127.0.0.1:1", "http://127.0.0.1:1/planted-path"} {
				_, err := Run(t.Context(), Options{
					Node: "node-1", Kubeconfig: kubeconfig(t, server, user), Output: output, Timeout: 10 * time.Second, MaxSize: 1 << 20,
				})
				require.Error(t, err)
				require.NotContains(t, err.Error(), "planted")
				require.NotContains(t, err.Error(), "127.0.0.1:1")
				require.NoFileExists(t, output)
			}
		})
	}
	for _, text := range []string{"users: [planted", "users: {planted: x}", "\tplanted"} {
		path := filepath.Join(t.TempDir(), "config")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := newClient(&Options{Kubeconfig: path}, []byte("k"))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "planted")
	}
}

// A plugin of the kubeconfig that waits for somebody holds nothing up.
func TestWaitingPlugin(t *testing.T) {
	path := kubeconfig(t, "https://127.0.0.1:1", `{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/sleep, args: ["5"]}}`)
	begun := time.Now()
	_, err := Run(t.Context(), Options{Node: "node-1", Kubeconfig: path, Timeout: 300 * time.Millisecond, MaxSize: 1 << 20})
	require.ErrorContains(t, err, "no answer in")
	require.Less(t, time.Since(begun), 3*time.Second)
}

// The token goes to the API server and nowhere else: redirects are not followed.
func TestNoRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	defer server.Close()
	_, err := Run(t.Context(), Options{Node: "node-1", Kubeconfig: kubeconfig(t, server.URL, `{token: planted}`), Timeout: 5 * time.Second, MaxSize: 1 << 20})
	require.ErrorContains(t, err, "302 Found")
}

// An answer is read up to its limit, and what is more is told.
func TestLimits(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x\n"), 1000))
		if r.URL.Path == "/slow" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	client, err := newClient(&Options{Kubeconfig: kubeconfig(t, server.URL, `{}`)}, []byte("k"))
	require.NoError(t, err)
	c := &collector{client: client}
	for name, tc := range map[string]struct {
		r    request
		kept int
		want result
	}{
		"whole":  {request{path: "/", limit: 3000}, 2000, result{}},
		"exact":  {request{path: "/", limit: 2000}, 2000, result{}},
		"larger": {request{path: "/", limit: 100}, 100, result{bundle.Capped, "the answer is larger than its limit of 0 MiB"}},
		"slow":   {request{path: "/slow", limit: 3000}, 2000, result{bundle.Timeout, "no more in 500ms after 2000 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.r.bound = 500 * time.Millisecond
			var out bytes.Buffer
			require.Equal(t, tc.want, c.ask(context.Background(), &tc.r, &out))
			require.Equal(t, tc.kept, out.Len())
		})
	}
}

func TestWhyNoLog(t *testing.T) {
	plain, listing := http.Header{"Content-Type": {"text/plain"}}, http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	why := func(h http.Header, text string) string { return whyNoLog(h, bufio.NewReader(strings.NewReader(text))) }
	require.Equal(t, noLogQuery, why(listing, "<pre>"))
	require.Equal(t, noJournal, why(plain, "\noptions present and query resolved to log files for [crio]\n\n"))
	require.Empty(t, why(plain, "Nov 23 15:08:47 node-1 kubelet[99]: a line\n"))
	require.Empty(t, why(plain, strings.Repeat("Nov 23 15:08:47 node-1 kubelet[99]: query resolved to log files for\n", 100)))
	require.Empty(t, why(plain, ""))
}

// A kubelet that cannot ask the API server who may read its data says so to everybody.
func TestDeafKubelet(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Authorization error (user=kube-apiserver-kubelet-client, verb=get, resource=nodes, subresource=proxy)", http.StatusInternalServerError)
	}))
	defer server.Close()
	client, err := newClient(&Options{Kubeconfig: kubeconfig(t, server.URL, `{}`)}, []byte("k"))
	require.NoError(t, err)
	c := &collector{client: client}
	got := c.ask(context.Background(), &request{path: proxy + "/healthz", right: askKubelet, bound: 5 * time.Second, limit: 1000}, io.Discard)
	require.Equal(t, result{bundle.Failed, "500 Internal Server Error" + deafKubelet}, got)
}

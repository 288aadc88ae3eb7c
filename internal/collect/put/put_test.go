package put

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	signature = "X-Amz-Signature=5ec2e7planted0signature"
	path      = "/bucket/planted-path/b.tgz"
)

// bundleOf makes a file of some size.
func bundleOf(t *testing.T, size int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "b.tgz")
	require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("0123456789abcdef", size/16)), 0o600))
	return name
}

// send sends a bundle to a handler. No report may hold a part of the URL or a header.
func send(t *testing.T, r Request, handler http.HandlerFunc) Report {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	if r.URL == "" {
		r.URL = server.URL + path + "?" + signature
	}
	if r.Timeout == 0 {
		r.Timeout = 20 * time.Second
	}
	r.Headers = append(r.Headers, "X-Secret: planted-header")
	got := Send(t.Context(), &r)
	require.NotContains(t, fmt.Sprintf("%+v", got), "planted")
	return got
}

func TestSend(t *testing.T) {
	file := bundleOf(t, 1<<20)
	var sum, length, kind, azure, agent string
	got := send(t, Request{Path: file, Agent: "plegdiag/1", Headers: []string{"x-ms-blob-type: BlockBlob"}}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPut || r.URL.RawQuery != signature || len(r.TransferEncoding) > 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		hash := sha256.Sum256(body)
		sum, length, kind = hex.EncodeToString(hash[:]), r.Header.Get("Content-Length"), r.Header.Get("Content-Type")
		azure, agent = r.Header.Get("X-Ms-Blob-Type"), r.UserAgent()
		w.WriteHeader(http.StatusCreated)
	})
	require.Empty(t, got.Error)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	want := sha256.Sum256(text)
	require.Equal(t, hex.EncodeToString(want[:]), sum)
	require.Equal(t, []string{fmt.Sprint(len(text)), "", "BlockBlob", "plegdiag/1"}, []string{length, kind, azure, agent})
	require.Equal(t, int64(len(text)), got.Bytes)
	require.Equal(t, 1, got.Tries)
	require.False(t, got.Removed)
	require.FileExists(t, file)
}

// What is only a spool goes once the server has it, and not before.
func TestRemove(t *testing.T) {
	file := bundleOf(t, 1<<10)
	got := send(t, Request{Path: file, Remove: true}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	require.False(t, got.Removed)
	require.FileExists(t, file)
	got = send(t, Request{Path: file, Remove: true}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})
	require.True(t, got.Removed)
	require.NoFileExists(t, file)
}

// A refusal is told by the server's name for it, before the content is sent, and not repeated. The
// answers of object stores repeat what was signed.
func TestRefused(t *testing.T) {
	asked := 0
	got := send(t, Request{Path: bundleOf(t, 8<<20)}, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>SignatureDoesNotMatch</Code><StringToSign>%s</StringToSign></Error>", r.URL)
	})
	require.Equal(t, "the server answered 403 Forbidden: SignatureDoesNotMatch", got.Error)
	require.Equal(t, 1, asked)
	require.Zero(t, got.Bytes, "it waited for 100 Continue")
}

// A server that is busy is asked again, three times at most.
func TestBusy(t *testing.T) {
	var asked atomic.Int32
	got := send(t, Request{Path: bundleOf(t, 1<<10)}, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})
	require.Empty(t, got.Error)
	require.Equal(t, 2, got.Tries)
	asked.Store(0)
	got = send(t, Request{Path: bundleOf(t, 1<<10)}, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	require.Equal(t, "the server answered 503 Service Unavailable", got.Error)
	require.Equal(t, int32(maxTries), asked.Load())
}

// The bundle goes nowhere but to the host of the URL.
func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer elsewhere.Close()
	for status, want := range map[int]string{
		http.StatusTemporaryRedirect: "307 Temporary Redirect: the server redirects to another host, which is not followed",
		http.StatusPermanentRedirect: "308 Permanent Redirect: the server redirects to another host, which is not followed",
		http.StatusMovedPermanently:  "301 Moved Permanently: the server redirects, and would lose the content",
		http.StatusSeeOther:          "303 See Other: the server redirects, and would lose the content",
	} {
		got := send(t, Request{Path: bundleOf(t, 1<<10)}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+path+"?"+signature, status)
		})
		require.Equal(t, want, got.Error)
		require.Equal(t, 1, got.Tries)
	}
	for _, location := range []string{"", "https://%zz/planted", "https:" + path} {
		got := send(t, Request{Path: bundleOf(t, 1<<10)}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		require.Contains(t, got.Error, "307", location)
	}
	got := send(t, Request{Path: bundleOf(t, 1<<10)}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			http.Redirect(w, r, "/other?planted=more", http.StatusTemporaryRedirect)
			return
		}
		if n, _ := io.Copy(io.Discard, r.Body); n != 1<<10 || r.Header.Get("X-Secret") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	require.Empty(t, got.Error)
	got = send(t, Request{Path: bundleOf(t, 1<<10)}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again?planted=loop", http.StatusTemporaryRedirect)
	})
	require.Equal(t, "more than 3 redirects", got.Error)
}

// A server that takes nothing, or never answers, holds nobody up.
func TestSlow(t *testing.T) {
	begun := time.Now()
	released := make(chan struct{})
	got := send(t, Request{Path: bundleOf(t, 32<<20), Timeout: time.Second}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		<-released
	})
	close(released)
	require.Regexp(t, `^not finished in 1s: \d+ bytes were taken$`, got.Error)
	require.Less(t, time.Since(begun), 6*time.Second)

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	got = Send(t.Context(), &Request{Path: bundleOf(t, 1<<10), URL: "http://" + silent.Addr().String() + path, Timeout: 500 * time.Millisecond})
	require.Regexp(t, `^not finished in 500ms`, got.Error)
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	got = Send(ctx, &Request{Path: bundleOf(t, 1<<10), URL: "http://" + silent.Addr().String() + path, Timeout: time.Minute})
	require.NotEmpty(t, got.Error)
}

// A connection that breaks is tried again.
func TestBroken(t *testing.T) {
	var asked atomic.Int32
	got := send(t, Request{Path: bundleOf(t, 4<<20)}, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < maxTries {
			_, _ = io.CopyN(io.Discard, r.Body, 1<<10)
			panic(http.ErrAbortHandler)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})
	require.Empty(t, got.Error)
	require.Equal(t, maxTries, got.Tries)
}

// No error repeats what is secret, whatever is wrong.
func TestSecrets(t *testing.T) {
	file := bundleOf(t, 1<<10)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	require.NoError(t, closed.Close())
	urlFile := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(urlFile, []byte("\nhttp://user:planted@"+address+"/planted?sig=planted\n"), 0o600))
	for _, r := range []Request{
		{URL: "http://" + address + "/planted?sig=planted"},
		{URL: "http://user:planted@" + address + "/x"},
		{URL: "http://planted\x7f/"},
		{URL: "://planted"},
		{URL: "ftp://host/planted"},
		{URL: "https:///planted"},
		{URL: "planted"},
		{File: urlFile},
		{URL: "http://" + address, Headers: []string{"planted"}},
		{URL: "http://" + address, Headers: []string{"X: planted\r\nY: z"}},
		{URL: "http://" + address, Headers: []string{"planted header: x"}},
		{URL: "http://" + address, Headers: []string{"Content-Length: planted"}},
	} {
		r.Path, r.Timeout = file, 200*time.Millisecond
		got := Send(t.Context(), &r)
		require.NotEmpty(t, got.Error, "%+v", r)
		require.NotContains(t, got.Error, "planted")
		if err := Check(&r); err != nil {
			require.NotContains(t, err.Error(), "planted")
		}
	}
	require.NoError(t, Check(&Request{File: urlFile}))
	require.NoError(t, os.WriteFile(urlFile, nil, 0o600))
	require.ErrorContains(t, Check(&Request{File: urlFile}), "is empty")
	require.Error(t, Check(&Request{File: urlFile + "-not-there"}))
	gone := Send(t.Context(), &Request{URL: "http://" + address, Path: file + "-not-there", Timeout: time.Second})
	require.Equal(t, 1, gone.Tries)
	require.NotEmpty(t, gone.Error)
}

// User and password of the URL are sent as they are everywhere.
func TestBasicAuth(t *testing.T) {
	var user, password string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { user, password, _ = r.BasicAuth() }))
	defer server.Close()
	got := Send(t.Context(), &Request{
		URL: strings.Replace(server.URL, "http://", "http://me:s%2Fecret@", 1), Path: bundleOf(t, 1<<10), Timeout: 5 * time.Second,
	})
	require.Empty(t, got.Error)
	require.Equal(t, []string{"me", "s/ecret"}, []string{user, password})
	require.NotContains(t, got.Host, "ecret")
}

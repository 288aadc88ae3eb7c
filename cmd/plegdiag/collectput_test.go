package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// planted is in every secret that these tests give to the program.
const planted = "planted5ecret"

// store is an object store that keeps what it is sent.
type store struct {
	*httptest.Server
	mu     sync.Mutex
	kept   []byte
	header http.Header
	status int // of its answer; 0 is 200
	delay  time.Duration
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		time.Sleep(s.delay)
		if err == nil && r.URL.Query().Get("sig") == planted {
			s.kept, s.header = body, r.Header
		}
		if s.status != 0 {
			w.WriteHeader(s.status)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// change lets a function read or change what the store keeps and answers.
func (s *store) change(f func(s *store)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// taken is what the store was sent last, and its headers.
func (s *store) taken() (body []byte, header http.Header) {
	s.change(func(s *store) { body, header = s.kept, s.header })
	return body, header
}

func (s *store) url() string { return s.URL + "/bucket/" + planted + "/b.tgz?sig=" + planted }

// sent is one run that sends its bundle.
type sent struct {
	dir, stderr string
	err         error
}

// runAndWatch runs collect in a directory of its own, and looks at its processes' arguments
// meanwhile: the arguments are hidden before the run ends, and once hidden they stay so. When that
// happens is not asked: it is as soon as the program's own code runs, which a busy machine can
// delay.
func runAndWatch(t *testing.T, environment []string, args ...string) sent {
	t.Helper()
	got := sent{dir: t.TempDir()}
	cmd := program(append([]string{"collect", "--only", "clock,node", "--min-free", "0"}, args...)...)
	cmd.Dir = got.dir
	cmd.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	hidden := false
	for waiting := true; waiting; {
		select {
		case got.err = <-done:
			waiting = false
		case <-time.After(10 * time.Millisecond):
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
			if !bytes.HasPrefix(line, []byte("plegdiag\x00collect\x00")) {
				continue // not started yet, or already ended
			}
			shown := bytes.Contains(line, []byte(planted))
			require.False(t, hidden && shown, "shown again: %q", line)
			hidden = !shown
		}
	}
	require.True(t, hidden, "it was seen in the list of processes, without the secret")
	got.stderr = stderr.String()
	require.NotContains(t, got.stderr, planted)
	return got
}

func TestCollectPut(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.change(func(s *store) { s.delay = 300 * time.Millisecond })
	urlFile := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(urlFile, []byte(s.url()+"\n"), 0o600))
	for name, run := range map[string]func() sent{
		"flag": func() sent {
			return runAndWatch(t, nil, "--put", s.url(), "--put-header", "X-Secret: "+planted)
		},
		"flag with =": func() sent {
			return runAndWatch(t, nil, "--put="+s.url(), "--put-header=X-Secret: "+planted)
		},
		"file":        func() sent { return runAndWatch(t, nil, "--put-url-file", urlFile) },
		"environment": func() sent { return runAndWatch(t, []string{putVariable + "=" + s.url()}) },
	} {
		t.Run(name, func(t *testing.T) {
			s.change(func(s *store) { s.kept = nil })
			got := run()
			require.NoError(t, got.err, got.stderr)
			require.Contains(t, got.stderr, "sent ")
			left, err := os.ReadDir(got.dir)
			require.NoError(t, err)
			require.Empty(t, left, "the spool is gone")
			bundle := filepath.Join(t.TempDir(), "b.tgz")
			kept, header := s.taken()
			require.NoError(t, os.WriteFile(bundle, kept, 0o600))
			require.NotEmpty(t, verified(t, bundle).Items)
			require.NotContains(t, unpacked(t, bundle), planted)
			if strings.HasPrefix(name, "flag") {
				require.Equal(t, planted, header.Get("X-Secret"))
			}
		})
	}
	t.Run("named", func(t *testing.T) {
		got := runAndWatch(t, nil, "--put", s.url(), "-o", "kept.tgz")
		require.NoError(t, got.err, got.stderr)
		require.FileExists(t, filepath.Join(got.dir, "kept.tgz"))
		require.Contains(t, got.stderr, "also stays here: kept.tgz")
	})
	t.Run("refused", func(t *testing.T) {
		s.change(func(s *store) { s.status = http.StatusForbidden })
		got := runAndWatch(t, nil, "--put", s.url())
		exit, ok := errors.AsType[*exec.ExitError](got.err)
		require.True(t, ok)
		require.Equal(t, cli.StatusFailed, exit.ExitCode())
		require.Contains(t, got.stderr, "the bundle was not sent: the server answered 403 Forbidden\n")
		left, err := filepath.Glob(filepath.Join(got.dir, "plegdiag-*.tgz"))
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.NotEmpty(t, verified(t, left[0]).Items)
		require.Contains(t, got.stderr, "it is here: "+filepath.Base(left[0]))
	})
	t.Run("wrong URL", func(t *testing.T) {
		cmd := program("collect", "--only", "clock", "--put", "ftp://"+planted)
		cmd.Dir = t.TempDir()
		text, err := cmd.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		require.True(t, ok)
		require.Equal(t, cli.StatusUsage, exit.ExitCode())
		require.Contains(t, string(text), "does not begin with https://")
		require.NotContains(t, string(text), planted)
		left, err := os.ReadDir(cmd.Dir)
		require.NoError(t, err)
		require.Empty(t, left, "nothing is collected for nowhere")
	})
}

// unpacked is all that a bundle holds, names and contents.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	text, err := exec.Command("tar", "-xzOf", path).Output()
	require.NoError(t, err)
	names, err := exec.Command("tar", "-tzf", path).Output()
	require.NoError(t, err)
	return string(slices.Concat(text, names))
}

package incident_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/incident"
)

const unhealthy = `Nov 20 09:33:12 node-1 kubelet[1530]: E1120 09:33:12.400000    1530 kubelet.go:2010] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.4s ago; threshold is 3m0s"` + "\n"

// tarOf is a tar archive of one text under several names.
func tarOf(t testing.TB, text string, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := io.WriteString(w, text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func gzipOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// loadWithin is loadAny for an input that might keep it forever.
func loadWithin(t *testing.T, limit time.Duration, o incident.Options) *incident.Incident {
	t.Helper()
	done := make(chan *incident.Incident, 1)
	go func() {
		inc, _ := loadAny(t, o)
		done <- inc
	}()
	select {
	case inc := <-done:
		return inc
	case <-time.After(limit):
		t.Fatalf("not read after %v", limit)
		return nil
	}
}

// A compressed archive whose walk ends well before its last byte: whoever inflates it ahead must
// not wait forever.
func TestArchiveLeftEarly(t *testing.T) {
	long := strings.Repeat(unhealthy, 20_000) // more than is inflated ahead
	first := tarOf(t, unhealthy, "a/kubelet.log")
	broken := bytes.Clone(append(first[:1024:1024], tarOf(t, long, "b/kubelet.log")...))
	broken[1024+148] = 'x'
	for name, tt := range map[string]struct {
		in     []byte
		limits bundle.Limits
		path   string // of an account
		err    string // that it has
	}{
		"two .tgz":           {in: append(gzipOf(t, first), gzipOf(t, tarOf(t, long, "b/kubelet.log"))...), path: "b/kubelet.log"},
		"blocking factor":    {in: gzipOf(t, append(first, make([]byte, 4<<20)...)), path: "a/kubelet.log"},
		"broken header":      {in: gzipOf(t, broken), path: "stdin", err: "invalid tar header at byte 1024"},
		"more than may be":   {in: gzipOf(t, tarOf(t, long, "a", "b", "c", "d")), limits: bundle.Limits{Files: 3}, path: "stdin", err: "more than 3 entries"},
		"more than is wrong": {in: gzipOf(t, append(first, bytes.Repeat([]byte("no tar "), 1<<20)...)), path: "stdin", err: "are no tar archive and not read"},
	} {
		t.Run(name, func(t *testing.T) {
			inc := loadWithin(t, 30*time.Second, incident.Options{Inputs: incident.Inputs{Paths: []string{"-"}, Stdin: bytes.NewReader(tt.in), Limits: tt.limits}})
			require.Contains(t, account(t, inc, tt.path).Err, tt.err)
			require.NotZero(t, inc.Files[0].Used)
		})
	}
}

// An input without an end and without a line break stops at its limit, and is one line.
func TestEndlessLine(t *testing.T) {
	for name, head := range map[string]string{
		"text": "", "klog": unhealthy, "dump": "goroutine 1 [running]:\nmain.main()\n\t/x.go:1\n\n",
		"json": `{"kind":"Node","metadata":{"name":"`, "strace": "1 10:00:00.000000 read(0<pipe:[1]>, \"\", 1) = 0 <0.000010>\n",
		"export": "__CURSOR=x\n__REALTIME_TIMESTAMP=1\nMESSAGE=", "windows": "\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			limit := int64(100 << 20)
			if raced {
				limit = 20 << 20
			}
			inc := loadWithin(t, time.Minute, incident.Options{
				Inputs: incident.Inputs{
					Paths: []string{"-"}, Stdin: io.MultiReader(strings.NewReader(head), letters{}),
					Limits: bundle.Limits{Bytes: limit},
				},
			})
			f := inc.Files[0]
			require.Contains(t, f.Err, fmt.Sprintf("limit of %d bytes for all files is reached", limit))
			require.Equal(t, strings.Count(head, "\n")+1, f.Lines)
		})
	}
}

// bytesPerFile bounds what reading one small file may allocate.
var bytesPerFile uint64 = 64 << 10

// A small file costs little: must-gathers hold 50 000.
func TestManySmallFiles(t *testing.T) {
	const files = 3000
	names := make([]string, files)
	for i := range names {
		names[i] = fmt.Sprintf("d/%d", i)
	}
	in := tarOf(t, unhealthy, names...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{"-"}, Stdin: bytes.NewReader(in)}})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, inc.Files, files)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/files, bytesPerFile, "bytes allocated for each file")
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc-before.HeapAlloc)/files, int64(8<<10), "bytes kept of each file")
	runtime.KeepAlive(inc)
}

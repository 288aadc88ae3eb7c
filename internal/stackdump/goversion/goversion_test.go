package goversion

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// Whatever a version printed, its own number lies in what the dump is taken for.
func TestVersionOfLab(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "lab-runs", "*.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	narrow := map[string]string{
		"go1.10.8.stack.txt.gz": "Go 1.10 or earlier", "go1.12.17.stack.txt.gz": "Go 1.12", "go1.16.15.abort.txt.gz": "Go 1.13 to 1.19",
		"go1.19.13.stack.txt.gz": "Go 1.18 to 1.19", "go1.20.14.stack.txt.gz": "Go 1.20", "go1.21.13.abort.txt.gz": "Go 1.21",
		"go1.22.12.abort.txt.gz": "Go 1.22 to 1.23", "go1.23.12.stack.txt.gz": "Go 1.21 to 1.23", "go1.25.3.stack.txt.gz": "Go 1.24 or later",
	}
	for _, file := range files {
		name := filepath.Base(file)
		minor, err := strconv.Atoi(strings.Split(name, ".")[1])
		require.NoError(t, err)
		v := Find(stackdump.Parse(stackdump.Source{File: name, Text: readGzip(t, file)}))
		require.LessOrEqual(t, v.Min, minor, name)
		if v.Max != 0 {
			require.GreaterOrEqual(t, v.Max, minor, name)
		}
		require.Empty(t, v.Exact, name)
		if want, ok := narrow[name]; ok {
			require.Equal(t, want, v.String(), name)
			delete(narrow, name)
		}
	}
	require.Empty(t, narrow)
}

func TestVersionInPath(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/local/go1.21.5/src/runtime/sema.go:71":                                           "Go 1.21.5",
		"/usr/lib/go-1.19/src/runtime/sema.go:71":                                              "Go 1.19",
		"/opt/homebrew/Cellar/go/1.21.4/libexec/src/runtime/sema.go:77":                        "Go 1.21.4",
		"/usr/local/Cellar/go@1.20/1.20.4/libexec/src/runtime/sema.go:77":                      "Go 1.20.4",
		"/opt/hostedtoolcache/go/1.21.6/x64/src/runtime/sema.go:77":                            "Go 1.21.6",
		"/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.22rc2.linux-amd64/src/runtime/sema.go:77": "Go 1.22rc2",
		"/home/u/.asdf/installs/golang/1.18.2/go/src/runtime/sema.go:77":                       "Go 1.18.2",
		"/nix/store/5b7…-go-1.20.3/share/go/src/runtime/sema.go:77":                            "Go 1.20.3",
		"/usr/local/go/src/runtime/sema.go:71":                                                 "",
		"runtime/sema.go:71":                                                                   "",
		"/src/django1.8/src/runtime/sema.go:71":                                                "",
		"/srv/go1.99.1/src/github.com/x/sync/sema.go:71":                                       "",
		"/build/argo-1.2.3/src/runtime/sema.go:71":                                             "",
	} {
		d := stackdump.Parse(stackdump.Source{Text: "goroutine 1 [semacquire]:\nsync.runtime_Semacquire(0x1)\n\t" + path + "\n"})
		require.Len(t, d.Goroutines[0].Frames, 1)
		require.Equal(t, want, Find(d).String(), path)
	}
	// What the dump looks like speaks against the path, or against itself.
	parent := "\ncreated by main.main in goroutine 1\n\t/m.go:1\n"
	d := stackdump.Parse(stackdump.Source{Text: "goroutine 7 [semacquire]:\nsync.runtime_Semacquire(0x1)\n\t/usr/local/go1.19/src/runtime/sema.go:71" + parent})
	require.Equal(t, Version{Min: 21}, Find(d))
	d = stackdump.Parse(stackdump.Source{Text: "goroutine 7 [semacquire]:\nsync.runtime_Semacquire(0x1)\n\t/s.go:1\nsync.(*RWMutex).RLock(0x1)\n\t/s.go:1" + parent})
	require.Equal(t, Version{}, Find(d))
}

// TestVersionOfPublic: what people pasted says its version in a path.
func TestVersionOfPublic(t *testing.T) {
	for name, want := range map[string]string{"bbolt-618": "1.21.4", "kubernetes-4192": "1.4"} {
		raw, err := os.ReadFile(filepath.Join("..", "testdata", "public", name+".log"))
		require.NoError(t, err)
		require.Equal(t, want, Find(stackdump.Parse(stackdump.Source{File: name, Text: string(raw)})).Exact)
	}
}

func readGzip(t *testing.T, path string) string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

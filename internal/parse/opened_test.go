package parse_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// TestOpened reads what is encoded, or shown by a tool that puts something before every line, the
// way files are read.
func TestOpened(t *testing.T) {
	files, err := filepath.Glob("testdata/open/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			parsetest.Golden(t, "open/"+strings.TrimSuffix(filepath.Base(file), ".txt")+".golden", opened(t, data))
		})
	}
}

// opened is what is read of a file, and holds the account's laws for it.
func opened(t testing.TB, data []byte) string {
	t.Helper()
	o, err := parse.Open(bytes.NewReader(data), "f")
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(o.R)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(text, o.Head.Text), "the head is the start")
	if o.Name == "" {
		return "unknown\n"
	}
	return fmt.Sprintf("format %s\n%s", o.Name, parsetest.Read(t, o.Format, text, nil).Text.String())
}

// TestOpenedInPieces: a reader that gives a byte at a time gives the same.
func TestOpenedInPieces(t *testing.T) {
	files, err := filepath.Glob("testdata/open/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		whole, err := parse.Open(bytes.NewReader(data), "f")
		require.NoError(t, err)
		want, err := io.ReadAll(whole.R)
		require.NoError(t, err)
		pieces, err := parse.Open(&oneByOne{data}, "f")
		require.NoError(t, err)
		got, err := io.ReadAll(pieces.R)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), file)
	}
}

type oneByOne struct{ rest []byte }

func (r *oneByOne) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	p[0], r.rest = r.rest[0], r.rest[1:]
	return 1, nil
}

// countLines counts lines, the last of which may have no end.
func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// FuzzOpen: whatever stands before lines and however they are encoded, the account adds up and no
// line is lost.
func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/open/*.txt")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("10.: {\"ts\":\"msg\":0}\n10.: ")) // the last line is nothing but what stands before it
	f.Add([]byte("\xff\xfe\x000"))                  // one line of a blank beyond ASCII
	f.Fuzz(func(t *testing.T, data []byte) {
		require.Equal(t, opened(t, data), opened(t, data), "deterministic")
		for _, o := range parse.Origins() {
			text, err := io.ReadAll(parse.WithoutOrigin(bytes.NewReader(data), o))
			require.NoError(t, err)
			require.Equal(t, countLines(data), countLines(text), "lines keep their numbers")
		}
	})
}

package stackdump

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestPublic reads what people have pasted into public issues, each in a form of its own. The first
// line of a file tells what it is and what was found in it by hand:
//
//	# PROGRAM, FORM: goroutines=N locks=N holder=ID|none ends=KIND:WHAT go=VERSION
//
// An excerpt rarely holds the holder: then none must be named.
func TestPublic(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "public", "*.log"))
	require.NoError(t, err)
	require.Greater(t, len(files), 25)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".log")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			first, text, _ := strings.Cut(string(raw), "\n")
			want := map[string]string{}
			for f := range strings.FieldsSeq(first[strings.LastIndex(first, ": ")+1:]) {
				k, v, ok := strings.Cut(f, "=")
				require.True(t, ok, f)
				want[k] = v
			}
			d := publicDump(t, text)
			require.Equal(t, want["goroutines"], strconv.Itoa(d.Count()))
			g := d.Graph(nil)
			require.Equal(t, want["locks"], strconv.Itoa(len(g.Locks)))
			require.Empty(t, g.Cycles)
			for _, l := range g.Locks {
				require.Equal(t, "none", want["holder"])
				require.Empty(t, l.Holders)
			}
			for _, gr := range d.Goroutines {
				for _, f := range gr.Frames {
					require.NotZero(t, f.Line, "%s has no file", f.Func)
				}
			}
			if kind, what, ok := strings.Cut(want["ends"], ":"); ok {
				e := d.Goroutines[0].End()
				require.Equal(t, kind, e.Kind)
				require.Equal(t, what, e.What)
			}
		})
	}
}

// publicDump reads a paste, or the lines of a log that it was taken from.
func publicDump(t *testing.T, text string) *Dump {
	lines := strings.Split(text, "\n")
	if _, _, journal := strings.Cut(lines[0], "]: "); !journal || strings.HasPrefix(lines[0], headerWord) {
		d := Parse(Source{File: "f", Line: 1, Text: text})
		checkLaws(t, d, lines)
		return d
	}
	var recs []event.Record
	for i, line := range lines {
		_, msg, ok := strings.Cut(line, "]: ")
		if !ok {
			msg = line
		}
		recs = append(recs, rec(i+1, "u", 1, msg))
	}
	found := collect(recs)
	require.Len(t, found, 1)
	d := Parse(found[0].Source)
	checkLaws(t, d, lines)
	return d
}

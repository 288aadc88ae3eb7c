package parse_test

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// TestSections: what the sections of each transcript are, and as what each of them is read.
func TestSections(t *testing.T) {
	for _, name := range parsetest.SampleNames(t) {
		if path.Dir(name) != "transcript" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			data := parsetest.Sample(t, name)
			f, ok := parse.Detect(data, name)
			require.True(t, ok)
			require.Equal(t, "transcript", f.Name)
			parsetest.Golden(t, strings.TrimSuffix(name, ".log")+".golden", describeSections(t, data))
		})
	}
}

// describeSections lists the sections of a text, and checks that they are all of it.
func describeSections(t testing.TB, data []byte) string {
	var out strings.Builder
	var whole bytes.Buffer
	all := parse.NewSections(lines.Input{Path: "f", R: bytes.NewReader(data)})
	written := bytes.SplitAfter(data, []byte{'\n'})
	for s := all.Next(); s != nil; s = all.Next() {
		whole.WriteString(s.Fence)
		if n := s.Quote.Pos.Line; n > 0 {
			require.Equal(t, s.Before, n)
			line := strings.TrimPrefix(strings.TrimLeft(string(written[n-1]), " \t"), s.Fence)
			require.True(t, strings.Contains(line, s.Quote.Text) || len(line) > 4096)
			before := whole.String()
			before = before[strings.LastIndexByte(before, '\n')+1:] // of a prompt behind what has no end of a line
			whole.WriteString(strings.TrimPrefix(line, before))
		}
		text, err := io.ReadAll(s.R)
		require.NoError(t, err)
		whole.Write(text)
		name := "nothing"
		if len(bytes.TrimSpace(text)) > 0 {
			f, _ := parse.Detect(text, s.As)
			opened := parse.Opened{Format: f, Head: lines.NewHead(text)}
			opened.ReadAsRows(s.Header)
			name = opened.Name
		}
		fmt.Fprintf(&out, "%q as=%q behind %d: %d lines filled, %s", s.Command, s.As, s.Before, s.Filled, name)
		if s.Number > 0 {
			require.Contains(t, string(written[s.Counted.Pos.Line-1]), s.Counted.Text)
			fmt.Fprintf(&out, ", counted %d", s.Number)
		}
		if s.Limit > 0 {
			fmt.Fprintf(&out, ", limit %d", s.Limit)
		}
		if n := s.Broken.Pos.Line; n > 0 {
			require.Contains(t, string(written[n-1]), s.Broken.Text)
			fmt.Fprintf(&out, ", given up at %d", n)
		}
		out.WriteString("\n")
	}
	require.NoError(t, all.Err())
	require.Equal(t, withoutMargins(data), withoutMargins(whole.Bytes()), "the sections are all of the text")
	return out.String()
}

// withoutMargins is a text without what stands before its lines: fences in lists are indented, and
// output may be a comment.
func withoutMargins(text []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(text) {
		out.Write(bytes.TrimLeft(line, " \t#"))
	}
	return out.String()
}

// TestTextOfEdges: what stands behind a fence on its line, or behind a prompt at which nobody typed
// it, is text of a section like any other.
func TestTextOfEdges(t *testing.T) {
	for _, tc := range []struct{ name, text, sections string }{
		{"text behind a fence", "``` Warning  Failed  3m\nmore\n```\n", " Warning  Failed  3m\nmore\n|"},
		{"a longer fence", "~~~~a line of text\n~~~~\n", "a line of text\n|"},
		{"the name of a language", "```console a line\n```\n", " a line\n|"},
		{"alone with a language", "```console\na line\n```\n", "a line\n|"},
		{"Jira's", "{noformat}two words\n{noformat}\n", "two words\n|"},
		{"a command behind a fence", "```$ docker ps\n^C\n```\n", "docker ps: ^C\n|"},
		{"one line", "```two words```\nx y\n", "x y\n"},
		{"in a list", "1. Look:\n   ```\n   a b\n     c d\n  e f\n   ```\n   more\n", "1. Look:\n|a b\n  c d\ne f\n|more\n"},
		{"a prompt in a list", "* a\n  ```sh\n  $ docker ps\n  ^C\n  ```\n```\n  x\n```\n", "* a\n||docker ps: ^C\n||  x\n|"},
		{"the kernel behind a prompt", "[root@w5 ~]# [  811.300211] watchdog: BUG\n[  811.300219] CPU: 3\n", "[root@w5 ~]# [  811.300211] watchdog: BUG\n[  811.300219] CPU: 3\n"},
		{"a test of the shell", "[root@w5 ~]# [ -e /run/x ] && echo yes\nyes\n", "[ -e /run/x ] && echo yes: yes\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			all := parse.NewSections(lines.Input{Path: "f", R: strings.NewReader(tc.text)})
			for s := all.Next(); s != nil; s = all.Next() {
				text, err := io.ReadAll(s.R)
				require.NoError(t, err)
				if s.Command != "" {
					got = append(got, s.Command+": "+string(text))
				} else {
					got = append(got, string(text))
				}
			}
			require.Equal(t, tc.sections, strings.Join(got, "|"))
		})
	}
}

// FuzzSections: whatever the text, its sections are all of it, in its order.
func FuzzSections(f *testing.F) {
	for _, name := range parsetest.SampleNames(f) {
		if strings.HasSuffix(name, ".log") {
			data := parsetest.Sample(f, name)
			f.Add(data[:min(len(data), 2000)])
		}
	}
	f.Add([]byte("```sh $ docker ps\n```a b\n~~~~ x y\n{code}[root@w ~]# [ 1.000001] z"))
	f.Add([]byte("# docker ps\n^C\r\n```\n$ date\n\n```"))
	f.Fuzz(func(t *testing.T, data []byte) { describeSections(t, data) })
}

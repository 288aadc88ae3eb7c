package parse

import (
	"errors"
	"html"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

const tracedCall = "1234 10:00:00.000001 umount2(\"/run/x/rootfs\", 0) = 0 <12.000000>\n"

func TestOpen(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name, in, format, out string
	}{
		{"plain", tracedCall, "strace", tracedCall},
		{"quoted", strings.Repeat("> "+tracedCall, 3), "strace", strings.Repeat(tracedCall, 3)},
		{"quoted text", "> a word\n> another\n", Text, "a word\nanother\n"},
		{"a quoted page", "> &#34;a&#34; &lt;b&gt;\n>\n> c\u00a0d\n\nan answer\n", Text, "\"a\" <b>\n\nc d\n\nan answer\n"},
		{"a log that quotes a page", "1 <p>a &amp; b</p> -> c\n", Text, "1 <p>a &amp; b</p> -> c\n"},
		{"tags around", "<pre><code>" + html.EscapeString(tracedCall) + "</code></pre>\n", "strace", tracedCall + "\n"},
		{"quotes of a word processor", "say “a”\n", Text, "say \"a\"\n"},
		{"quotes beside quotes", "say “a” \"b\"\n", Text, "say “a” \"b\"\n"},
		{"indented", "\ta\n\n\tb\n", Text, "a\n\nb\n"},
		{"numbered", "     9\ta\n    10\tb\n", Text, "a\nb\n"},
		{"numbered on a terminal", "     9  a\n    10\n    11    c\n", Text, "a\n\n  c\n"},
		{"numbers of a history", "    9  a\n   10  b\n", Text, "    9  a\n   10  b\n"},
		{"numbers of a table", "9\ta\n11\tb\n", Text, "9\ta\n11\tb\n"},
		{"grep -H", "./df.txt:a\n./df.txt:\n./df.txt:  b\n", Text, "a\n\n  b\n"},
		{"a node", "10.2.1.3: a\n10.2.1.3: b\n", Text, "a\nb\n"},
		{"Logs Explorer", "DEFAULT 2023-09-28T18:31:05.87Z [resource.labels.nodeName: n] [labels.\"k8s-pod/app\": x] a\n  b\n", Text, "2023-09-28T18:31:05.87Z a\n  b\n"},
		{"a severity of another program", "INFO 2023-09-28T18:31:05.87Z [main] a\n", Text, "INFO 2023-09-28T18:31:05.87Z [main] a\n"},
		{"a unit", "x.service: a\nx.service: b\n", Text, "x.service: a\nx.service: b\n"},
		{"colours", "\x1b[1ma\x1b[0m b\n", Text, "a b\n"},
		{"colours of a log", "Nov 08 09:30:11 node-1 x[1]: \x1b[1ma\x1b[0m\n", "journal-short", "Nov 08 09:30:11 node-1 x[1]: \x1b[1ma\x1b[0m\n"},
		{"binary", "\x01\x02\x03\x04\x05\x06", "", "\x01\x02\x03\x04\x05\x06"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, err := Open(io.MultiReader(strings.NewReader(tc.in), iotest.ErrReader(broken)), "file")
			require.NoError(t, err)
			require.Equal(t, tc.format, in.Name)
			out, err := io.ReadAll(in.R)
			require.ErrorIs(t, err, broken, "an error of the reader is not lost")
			require.Equal(t, tc.out, string(out))
			require.True(t, strings.HasPrefix(tc.out, string(in.Head.Text)))
		})
	}
	_, err := Open(strings.NewReader(""), "file")
	require.ErrorIs(t, err, ErrEmpty)
	_, err = Open(iotest.ErrReader(broken), "file")
	require.ErrorIs(t, err, broken)
}

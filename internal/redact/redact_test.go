package redact

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One value has one token in a bundle, wherever it stands and however the content comes.
func TestTokens(t *testing.T) {
	r := New([]byte("k"))
	var out bytes.Buffer
	for _, c := range "a token=abcdef123 b\nc password=abcdef123\n" {
		r.Filter(&out, []byte(string(c)), false)
	}
	r.Filter(&out, nil, true)
	tokens := strings.Split(out.String(), mark)
	require.Len(t, tokens, 3)
	require.Equal(t, tokens[1][:10], tokens[2][:10])
	require.NotContains(t, string(New([]byte("other")).Line([]byte("token=abcdef123"))), tokens[1][:10])
	require.Equal(t, 2, r.Counts().Total())
	require.Equal(t, map[string]int{
		"pem": 0, "provider token": 0, "url": 0, "authorization": 0, "cookie": 0, "registry": 0, "key": 2,
		"environment": 0, "argument": 0, "sentence": 0,
	}, r.Counts().ByName())
}

// A line that is too long is cut where no value is.
func TestLongLine(t *testing.T) {
	text := strings.Repeat(`{"password":"Zq7hunter2x","n":1},`, 3*maxLine/33)
	got, counts := clean(text)
	require.NotContains(t, got, "hunter2x")
	require.Equal(t, 3*maxLine/33, counts.Total())
	got, _ = clean(strings.Repeat("x", 3*maxLine))
	require.Len(t, got, 3*maxLine)
}

func entry(message string) string {
	text := "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\n_PID=1\n"
	if strings.Contains(message, "\n") {
		return text + "MESSAGE\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(message)))) + message + "\n\n"
	}
	return text + "MESSAGE=" + message + "\n\n"
}

// The length in front of a value is that of what is there now.
func TestExport(t *testing.T) {
	in := entry("token=abcdef123") + entry("two\nlines with password=hunter2x\n\n__CURSOR=fake\n") + entry("plain")
	for step := 1; step < len(in); step += 7 {
		f := NewExport([]byte("k"))
		var out bytes.Buffer
		for rest := in; rest != ""; {
			n := min(step, len(rest))
			f.Filter(&out, []byte(rest[:n]), false)
			rest = rest[n:]
		}
		f.Filter(&out, nil, true)
		require.Equal(t, 2, f.Counts().Total())
		got := out.String()
		require.NotContains(t, got, "hunter2x")
		i := strings.Index(got, "MESSAGE\n") + len("MESSAGE\n")
		size := int(binary.LittleEndian.Uint64([]byte(got[i:])))
		require.Equal(t, "\n\n__CURSOR=s=1", got[i+8+size:][:14])
		require.Equal(t, 3, strings.Count(got, "\n__REALTIME_TIMESTAMP=1\n"))
	}
	whole := entry("a") + "MESSAGE\n\xff\x00\x00\x00\x00\x00\x00\x00cut token=abcdef123"
	f := NewExport([]byte("k"))
	var out bytes.Buffer
	f.Filter(&out, []byte(whole), false)
	f.Filter(&out, nil, true)
	require.Equal(t, entry("a"), out.String(), "what is cut cannot be looked through")
}

// Whatever a text is: its lines stay lines, it does not matter in which pieces it comes, and a
// second run changes nothing.
func FuzzRedact(f *testing.F) {
	for _, tc := range planted {
		f.Add(strings.NewReplacer("«", "", "»", "").Replace(tc.text))
	}
	for _, text := range kept {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := clean(text)
		r := New([]byte("k"))
		var byByte bytes.Buffer
		for i := range len(text) {
			r.Filter(&byByte, []byte{text[i]}, false)
		}
		r.Filter(&byByte, nil, true)
		require.Equal(t, got, byByte.String())
		require.Equal(t, strings.Count(text, "\n"), strings.Count(got, "\n"))
		again, _ := clean(got)
		require.Equal(t, got, again)
	})
}

// BenchmarkLine reads lines of a runtime's log, which hold words as "key" and "auth" and no secret.
func BenchmarkLine(b *testing.B) {
	text := []byte(strings.Repeat("Nov 20 18:25:36 node-1 containerd[843]: time=\"2026-11-20T18:25:36.123456789Z\" level=info "+
		"msg=\"StopContainer for \\\"b39895a86a9ebfdad08d2b42015f962ab2e0ec6b937f0662bef3d948009fcb6e\\\" with timeout 30 (s)\"\n"+
		"Nov 20 18:25:36 node-1 containerd[843]: time=\"2026-11-20T18:25:36.123456789Z\" level=info msg=\"ImageUpdate event "+
		"name:\\\"registry.example.com/app:1\\\" labels:{key:\\\"io.cri-containerd.image\\\" value:\\\"managed\\\"}\"\n", 2000))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		New([]byte("k")).Filter(&out, text, true)
	}
}

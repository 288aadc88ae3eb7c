package collect

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

func redacted(text string) (string, int) {
	r := &redactor{key: []byte("k")}
	var out bytes.Buffer
	r.filterContent(&out, []byte(text), true)
	return out.String(), r.n
}

func TestRedact(t *testing.T) {
	for _, tc := range []struct{ in, secret string }{
		{"kubelet --token abcdef123456 --v=2", "abcdef123456"},
		{"app --db-password=hunter2x --port 80", "hunter2x"},
		{`{"msg":"x","clientSecret":"s3cr3t-value","n":1}`, "s3cr3t-value"},
		{`time="2026" msg="{\"password\":\"hunter2x\"}"`, "hunter2x"},
		{"Authorization: Bearer abcdefghijkl.mno", "abcdefghijkl.mno"},
		{"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"},
		{"id AKIAIOSFODNN7EXAMPLE used", "AKIAIOSFODNN7EXAMPLE"},
		{"jwt eyJhbGciOiJSUzI1NiIsImtpZCI6Ing.eyJpc3MiOiJrdWJlcm5ldGVzL3Nl.c2lnbmF0dXJl end", "eyJpc3Mi"},
		{"pull https://user:p4ssw0rd@registry.example.com/v2", "p4ssw0rd"},
		{"https://x.blob.core.windows.net/c?sv=1&sig=abc%2Bdef&se=2", "abc%2Bdef"},
		{"password: hunter2x\n", "hunter2x"},
		{"  password: plainword\n", "plainword"},
		{"login with password: hunter2x failed\n", "hunter2x"},
		{"curl -token plainword x", "plainword"},
		{`[plugins.registry.auth]` + "\n" + `  password = "hunter2x"` + "\n", "hunter2x"},
		{`{"key":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n","k":1}`, "MIIEvQ"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END RSA PRIVATE KEY-----\nafter\n", "MIIEvQ"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBg\n", "MIIEvQ"}, // never ends
	} {
		got, n := redacted(tc.in)
		require.NotContains(t, got, tc.secret, tc.in)
		require.Positive(t, n, tc.in)
		require.Contains(t, got, "<redacted:", tc.in)
	}
}

// What the analysis reads stays as it is.
func TestRedactKeepsEvidence(t *testing.T) {
	for _, line := range []string{
		"goroutine 492 [select, 2 minutes]:\n",
		"k8s.io/kubernetes/pkg/kubelet/token.(*Manager).cleanup(0xc000123456)\n",
		"\t/go/src/k8s.io/kubernetes/pkg/kubelet/secret/secret_manager.go:99 +0x1a5\n",
		`E1120 18:06:55.123456    1234 kuberuntime.go:1] "Failed" containerID="b39895a86a9ebfdad08d2b42015f962ab2e0ec6b937f0662bef3d948009fcb6e" err="context deadline exceeded"` + "\n",
		`time="2026-11-20T18:25:36Z" level=info msg="StopContainer for \"b39895a86a9e\" with timeout 30 (s)"` + "\n",
		`MountVolume.SetUp succeeded for volume "kube-api-access-x" (UniqueName: "kubernetes.io/projected/0d1") pod "a"` + "\n",
		"[    5.140900] NET: Registered PF_KEY protocol family\n",
		`{"pid":30142,"tid":30153,"comm":"containerd-shim","state":"D","wchan":"keyctl_wait","stack":["key_wait+0x1a/0x80"]}` + "\n",
		"failed to fetch token: context deadline exceeded\n",
		`MountVolume.SetUp failed for volume "x" : secret "my-secret" not found` + "\n",
		`"Unable to fetch pod log" err="could not get access token from metadata server"` + "\n",
		"cpuManagerPolicy: static\nserializeImagePulls: false\n",
	} {
		got, n := redacted(line)
		require.Equal(t, line, got)
		require.Zero(t, n)
	}
}

// One value has one token in a bundle, wherever it stands and however the content comes.
func TestRedactTokens(t *testing.T) {
	r := &redactor{key: []byte("k")}
	var out bytes.Buffer
	for _, c := range "a token=abcdef123 b\nc password=abcdef123\n" {
		r.filterContent(&out, []byte(string(c)), false)
	}
	r.filterContent(&out, nil, true)
	tokens := strings.Split(out.String(), "<redacted:")
	require.Len(t, tokens, 3)
	require.Equal(t, tokens[1][:10], tokens[2][:10])
	other := &redactor{key: []byte("other")}
	require.NotContains(t, string(other.redactLine([]byte("token=abcdef123"))), tokens[1][:10])
}

func entry(message string) string {
	text := "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\n_PID=1\n"
	if strings.Contains(message, "\n") {
		return text + "MESSAGE\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(message)))) + message + "\n\n"
	}
	return text + "MESSAGE=" + message + "\n\n"
}

// The length in front of a value is that of what is there now.
func TestExportFilter(t *testing.T) {
	in := entry("token=abcdef123") + entry("two\nlines with password=hunter2x\n\n__CURSOR=fake\n") + entry("plain")
	for step := 1; step < len(in); step += 7 {
		f := &exportFilter{lines: redactor{key: []byte("k")}}
		var out bytes.Buffer
		for rest := in; rest != ""; {
			n := min(step, len(rest))
			f.filterContent(&out, []byte(rest[:n]), false)
			rest = rest[n:]
		}
		f.filterContent(&out, nil, true)
		require.Equal(t, 2, f.replaced())
		got := out.String()
		require.NotContains(t, got, "hunter2x")
		i := strings.Index(got, "MESSAGE\n") + len("MESSAGE\n")
		size := int(binary.LittleEndian.Uint64([]byte(got[i:])))
		require.Equal(t, "\n\n__CURSOR=s=1", got[i+8+size:][:14])
		require.Equal(t, 3, strings.Count(got, "\n__REALTIME_TIMESTAMP=1\n"))
	}
	whole := entry("a") + "MESSAGE\n\xff\x00\x00\x00\x00\x00\x00\x00cut token=abcdef123"
	f := &exportFilter{lines: redactor{key: []byte("k")}}
	var out bytes.Buffer
	f.filterContent(&out, []byte(whole), false)
	f.filterContent(&out, nil, true)
	require.Equal(t, entry("a"), out.String(), "what is cut cannot be looked through")
}

// Of what is too large the newest entries are kept, whole.
func TestSpoolKeepsNewest(t *testing.T) {
	s := &spool{limit: 40 << 10, newest: true, filter: plain{}, entry: []byte("\n\n__CURSOR=")}
	for n := range 60_000 {
		_, _ = s.Write([]byte(strings.Replace(entry("message number "+strings.Repeat("x", n%50)), "_PID=1\n", "_PID="+string(rune('0'+n%10))+"\n", 1)))
	}
	content, packed := s.finishContent()
	require.True(t, packed)
	require.Positive(t, s.dropped)
	require.Less(t, len(content), 60<<10)
	zip, err := gzip.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	text, err := io.ReadAll(zip)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(text, []byte("__CURSOR=")))
	require.True(t, bytes.HasSuffix(text, []byte("\n\n")))
	require.Equal(t, s.size, s.dropped+int64(len(text)))
}

func FuzzRedact(f *testing.F) {
	f.Add("a token=abcdef123\n-----BEGIN X-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := &redactor{key: []byte("k")}
		var at, byByte bytes.Buffer
		r.filterContent(&at, []byte(text), true)
		r = &redactor{key: []byte("k")}
		for i := range len(text) {
			r.filterContent(&byByte, []byte{text[i]}, false)
		}
		r.filterContent(&byByte, nil, true)
		require.Equal(t, at.String(), byByte.String())
	})
}

func TestAppendKmsg(t *testing.T) {
	got := appendKmsg(nil, []byte("6,339,5140900,-,caller=T42;NET: Registered protocol family 10\n SUBSYSTEM=acpi\n"))
	got = appendKmsg(got, []byte("3,340,65140901,-;INFO: task x:1 blocked for more than 120 seconds.\n"))
	require.Equal(t, "[    5.140900][   T42] NET: Registered protocol family 10\n[   65.140901] INFO: task x:1 blocked for more than 120 seconds.\n", string(got))
}

// What SIGUSR1 would end is never sent it.
func TestDeaf(t *testing.T) {
	var p process
	p.parseStatus("Name:\tsleep\nTracerPid:\t0\nSigCgt:\t0000000000000000\n")
	require.NotEmpty(t, p.whyNoSignal())
	p.parseStatus("SigCgt:\tfffffffd7fc1fefd\n") // of a Go program
	require.Empty(t, p.whyNoSignal())
	p.State = "T"
	require.NotEmpty(t, p.whyNoSignal())
	require.Nil(t, dumperOf("kubelet"), "it ignores SIGUSR1")
	require.Nil(t, dumperOf("sleep"))
}

// The plan names only steps that there are, and each tells its hazard.
func TestPlan(t *testing.T) {
	_, err := planSteps(&Options{Only: []string{"nothing"}})
	require.ErrorContains(t, err, `no step is named "nothing"`)
	_, err = planSteps(&Options{Sockets: map[string]string{"crio": "x"}})
	require.ErrorContains(t, err, `no kind of socket is named "crio"`)
	left, err := planSteps(&Options{Skip: []string{"journal"}})
	require.NoError(t, err)
	for _, s := range left {
		require.NotEqual(t, "journal", s.name)
		require.NotContains(t, []string{"kill", "strace"}, s.name, "only when asked for")
		require.NotEmpty(t, s.hazard)
		require.NotNil(t, s.do)
	}
}

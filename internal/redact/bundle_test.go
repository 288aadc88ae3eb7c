package redact_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/redact"
)

const secret = "Zq7hunter2x"

// member is one member of an archive.
type member struct {
	name, text, link string
	mode             int64
	kind             byte
}

var stamp = time.Date(2026, 11, 20, 18, 6, 55, 0, time.UTC)

// packTar makes a tar archive.
func packTar(t *testing.T, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: m.mode, ModTime: stamp, Size: int64(len(m.text)), Typeflag: m.kind, Linkname: m.link, Uid: 7, Uname: "ops"}
		if m.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(m.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// run redacts an input from a file; output names the packing.
func run(t *testing.T, input []byte, opt redact.Options) (string, *redact.Account) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(path, input, 0o600))
	opt.Bundle.Inputs, opt.Key = []string{path}, []byte("k")
	var out bytes.Buffer
	account, err := redact.Bundle(t.Context(), opt, &out)
	require.NoError(t, err)
	return out.String(), account
}

// list tells the members of an archive, one in a line.
func list(t *testing.T, archive io.Reader) string {
	t.Helper()
	var all strings.Builder
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		if strings.HasSuffix(h.Name, ".gz") {
			zip, err := gzip.NewReader(bytes.NewReader(text))
			require.NoError(t, err)
			text, err = io.ReadAll(zip)
			require.NoError(t, err)
		}
		require.NotContains(t, string(text), secret)
		when := "then"
		if !h.ModTime.Equal(stamp) {
			when = "-"
		}
		fmt.Fprintf(&all, "%c %o %s %s %s %q\n", h.Typeflag, h.Mode, when, h.Name, h.Linkname, text)
	}
}

var members = []member{
	{name: "node/", mode: 0o755, kind: tar.TypeDir},
	{name: "node/z.log", text: "a password=" + secret + "\nb\n", mode: 0o640},
	{name: "node/a.log.gz", text: "", mode: 0o600},
	{name: "node/system.journal", text: "LPKSHHRH\x00\x01", mode: 0o600},
	{name: "node/link", link: "z.log", mode: 0o777, kind: tar.TypeSymlink},
	{name: "node/hard", link: "node/z.log", mode: 0o640, kind: tar.TypeLink},
	{name: "node/empty", mode: 0o600},
}

func TestArchive(t *testing.T) {
	members[2].text = string(gzipped(t, []byte("token="+secret+"\n")))
	whole := packTar(t, members...)
	const want = "5 755 then node/  \"\"\n" +
		"0 640 then node/z.log  \"a password=<redacted:cf83fbdc6c>\\nb\\n\"\n" +
		"0 600 then node/a.log.gz  \"token=<redacted:cf83fbdc6c>\\n\"\n" +
		"2 777 - node/link z.log \"\"\n" +
		"1 777 - node/hard node/z.log \"\"\n" +
		"0 600 then node/empty  \"\"\n"
	got, account := run(t, whole, redact.Options{Output: "x.tar"})
	require.Equal(t, want, list(t, strings.NewReader(got)))
	require.Equal(t, []redact.LeftOut{{Path: "node/system.journal", Why: "binary: it cannot be redacted by lines"}}, account.LeftOut)
	require.Equal(t, 3, account.Files)
	require.Equal(t, 2, account.Changed)
	require.Equal(t, 2, account.ByRule["key"])

	packed, _ := run(t, gzipped(t, whole), redact.Options{Output: "x.tgz"})
	zip, err := gzip.NewReader(strings.NewReader(packed))
	require.NoError(t, err)
	require.Equal(t, list(t, strings.NewReader(got)), list(t, zip))
	packed, _ = run(t, whole, redact.Options{Output: "x.tar.zst"})
	z, err := zstd.NewReader(strings.NewReader(packed))
	require.NoError(t, err)
	defer z.Close()
	require.Equal(t, list(t, strings.NewReader(got)), list(t, z))

	kept, account := run(t, whole, redact.Options{Output: "x.tar", KeepBinary: true})
	require.Contains(t, kept, "LPKSHHRH")
	require.Equal(t, []redact.LeftOut{{Path: "node/system.journal", Why: "binary: kept as it is, not redacted"}}, account.Notes)
}

// An archive inside becomes a directory of its name, as analyze calls its members.
func TestNested(t *testing.T) {
	inner := packTar(t, member{name: "a.log", text: "token=" + secret + "\n", mode: 0o600})
	got, _ := run(t, packTar(t, member{name: "node.tgz", text: string(gzipped(t, inner)), mode: 0o600}), redact.Options{Output: "x.tar"})
	require.Contains(t, list(t, strings.NewReader(got)), " node.tgz/a.log ")
}

func TestZip(t *testing.T) {
	var in bytes.Buffer
	w := zip.NewWriter(&in)
	f, err := w.Create("node/a.log")
	require.NoError(t, err)
	_, err = f.Write([]byte("token=" + secret + "\n"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got, account := run(t, in.Bytes(), redact.Options{Output: "x.tar"})
	require.Contains(t, list(t, strings.NewReader(got)), "node/a.log  \"token=<redacted:")
	require.Equal(t, 1, account.Values)
}

func TestSingleFile(t *testing.T) {
	text := []byte("a\npassword=" + secret + "\n\x00\x00\xff lost\nlast")
	got, _ := run(t, text, redact.Options{Output: "x.log"})
	require.Equal(t, "a\npassword=<redacted:cf83fbdc6c>\n\x00\x00\xff lost\nlast", got)
	plain, _ := run(t, gzipped(t, text), redact.Options{Output: "x.log"})
	require.Equal(t, got, plain)
	packed, _ := run(t, text, redact.Options{Output: "x.log.gz"})
	require.Equal(t, string(gzipped(t, nil)[:4]), packed[:4])
	utf16, _ := run(t, []byte("\xff\xfet\x00o\x00k\x00e\x00n\x00=\x00"+"Z\x00q\x007\x00h\x00u\x00n\x00t\x00\n\x00"), redact.Options{Output: "x"})
	require.Regexp(t, `^token=<redacted:\w+>\n$`, utf16)
	_, err := redact.Bundle(t.Context(), redact.Options{Bundle: bundle.Options{Inputs: []string{"-"}, Stdin: strings.NewReader("\x7fELF")}}, io.Discard)
	require.ErrorContains(t, err, "stdin is binary")
}

// A large member goes through a file that is gone afterwards.
func TestLargeMember(t *testing.T) {
	dir := t.TempDir()
	line := "Nov 20 18:06:55 node-1 app[1]: password=" + secret + "\n"
	text := strings.Repeat(line, 200_000)
	got, account := run(t, packTar(t, member{name: "a.log", text: text, mode: 0o600}), redact.Options{Output: "x.tar", Temp: dir})
	require.Equal(t, 200_000, account.Values)
	require.Equal(t, strings.Count(text, "\n"), strings.Count(list(t, strings.NewReader(got)), `\n`))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The manifest of a collected bundle has the sums of the copy, and says which rules ran.
func TestCollected(t *testing.T) {
	var in bytes.Buffer
	w, err := bundle.NewWriter(&in, "x.tgz", "node-1")
	require.NoError(t, err)
	m := bundle.Manifest{Schema: bundle.ManifestSchema, Node: "node-1", Start: stamp, End: stamp}
	for name, text := range map[string]string{"a.log": "token=" + secret + "\n", "dumps/p.pb": "LPKSHHRH\x00"} {
		item := bundle.Item{Name: name, Step: "x", Outcome: bundle.OK, Start: stamp, End: stamp, Source: "mysql -p" + secret}
		require.NoError(t, w.Add(&item, []byte(text)))
		m.Items = append(m.Items, item)
	}
	require.NoError(t, w.Close(&m))
	got, account := run(t, in.Bytes(), redact.Options{Output: "x.tgz"})
	require.Equal(t, 3, account.Files, "a.log, manifest and sums")
	v, err := bundle.Verify(strings.NewReader(got))
	require.NoError(t, err)
	require.Empty(t, v.Problems)
	require.True(t, v.Manifest.Redaction)
	require.Equal(t, 1, v.Manifest.Replaced["key"])
	require.Contains(t, v.Manifest.Replaced, "pem")
	for _, item := range v.Manifest.Items {
		require.NotContains(t, item.Source, secret)
		if item.Name == "a.log" {
			require.Equal(t, 1, item.Redacted)
		} else {
			require.Equal(t, bundle.Skipped, item.Outcome)
		}
	}
	zip, err := gzip.NewReader(strings.NewReader(got))
	require.NoError(t, err)
	require.Regexp(t, `(?s)a.log .*manifest.json .*SHA256SUMS `, list(t, zip))
}

// What of a cut archive can be read is kept; what cannot be read at all is an error.
func TestDamaged(t *testing.T) {
	whole := packTar(t, member{name: "a.log", text: "token=" + secret + "\n", mode: 0o600}, member{name: "b.log", text: strings.Repeat("x\n", 5000), mode: 0o600})
	got, account := run(t, whole[:4096], redact.Options{Output: "x.tar"})
	require.Contains(t, list(t, strings.NewReader(got)), "a.log")
	require.NotEmpty(t, account.Notes)
	_, err := redact.Bundle(t.Context(), redact.Options{Bundle: bundle.Options{Inputs: []string{filepath.Join(t.TempDir(), "none")}}}, io.Discard)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = redact.Bundle(t.Context(), redact.Options{Bundle: bundle.Options{Inputs: []string{t.TempDir()}}}, io.Discard)
	require.ErrorContains(t, err, "nothing to redact")
}

func TestDefaultName(t *testing.T) {
	for in, want := range map[string]string{
		"/a/node-1.tgz": "node-1.redacted.tgz", "node-1.tar.zst": "node-1.redacted.tar.zst", "node-1/": "node-1.redacted.tgz",
		"node.1.zip": "node.1.redacted.tgz",
	} {
		require.Equal(t, want, redact.DefaultName(in, true))
	}
	for in, want := range map[string]string{"/a/kubelet.log": "kubelet.redacted.log", "messages": "messages.redacted", "k.log.gz": "k.redacted.log", ".env": ".env.redacted"} {
		require.Equal(t, want, redact.DefaultName(in, false))
	}
}

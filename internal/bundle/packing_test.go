package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// bzipped is what bzip2 1.0.8 makes of "Nov 08 kubelet\n"; Go has no writer for it.
const bzipped = "425a6839314159265359f65d9f37000002dd800010400040400001120c870020003100d001046d4669a14240558098c5a2ee48a70a121ecbb3e6e0"

func packed(t testing.TB, how string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch how {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out)
	case "xz":
		w, err = xz.NewWriter(&out)
	}
	require.NoError(t, err)
	_, err = w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// winZipped is a zip archive of names and bodies as archive/zip streams it: deflated, the sizes
// behind the data.
func winZipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		require.NoError(t, err)
		_, err = io.WriteString(f, files[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func stdin(t testing.TB, b []byte) string {
	t.Helper()
	return list(t, Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(b)})
}

// random is bytes that do not compress.
func random(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(b) // cannot fail
	return b
}

func TestPackings(t *testing.T) {
	bz, err := hex.DecodeString(bzipped)
	require.NoError(t, err)
	require.Equal(t, "stdin -1 \"Nov 08 kubelet\\n\"\n", stdin(t, bz))
	log, archive := []byte("a\nb\n"), tarred(t, file("node/a.log", "a\nb\n"))
	for how, cut := range map[string]string{"gzip": "EOF", "zstd": "EOF", "xz": "truncated"} {
		require.Equal(t, "stdin -1 \"a\\nb\\n\"\n", stdin(t, packed(t, how, log)), how)
		require.Equal(t, "node/a.log 4 \"a\\nb\\n\"\n", stdin(t, packed(t, how, archive)), how)
		long := packed(t, how, random(4096))
		require.Contains(t, stdin(t, long[:len(long)/2]), cut, how)
	}
	require.Equal(t, "stdin -1 \"one\\ntwo\\n\"\n", stdin(t, append(packed(t, "gzip", []byte("one\n")), packed(t, "gzip", []byte("two\n"))...)), "concatenated")
}

// TestWindow: a few bytes of xz that ask for 4 GiB get nothing.
func TestWindow(t *testing.T) {
	b := packed(t, "xz", []byte("text\n"))
	header := b[12 : 12+4*(int(b[12])+1)] // of the first block: size, flags, filter 0x21, size of its property, the dictionary
	require.Equal(t, []byte{0x21, 1}, header[2:4])
	header[4] = 40 // 4 GiB less one byte
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Contains(t, stdin(t, b), "xz: ")
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(maxWindow))
}

func TestNested(t *testing.T) {
	inner := packed(t, "xz", tarred(t, file("var/kubelet.log.1.gz", string(packed(t, "gzip", []byte("k\n"))))))
	in := winZipped(t, "bundle/node-1.tar.xz", string(inner), `win\dir\x.log`, "w\n", "../../etc/passwd", "x", "empty/", "", "last.log", "z\n")
	require.Equal(t, `bundle/node-1.tar.xz/var/kubelet.log.1.gz -1 "k\n"
win/dir/x.log -1 "w\n"
skip ../../etc/passwd: name points outside of the archive
last.log -1 "z\n"
`, stdin(t, in))

	deep := tarred(t, file("x.log", "x"))
	for range 5 {
		deep = tarred(t, file("in.tar", string(deep)), file("beside.log", "b"))
	}
	got := stdin(t, deep)
	require.Contains(t, got, "skip in.tar/in.tar/in.tar/in.tar: archives inside archives, more than 4 deep")
	require.Equal(t, 4, strings.Count(got, "beside.log"))

	whole := packed(t, "gzip", tarred(t, file("a", "a"), file("b", strings.Repeat("0123456789abcdef", 99))))
	cut := tarred(t, file("in.tgz", string(whole[:len(whole)-20])), file("after.log", "z"))
	got = stdin(t, cut)
	require.Contains(t, got, "skip in.tgz: unexpected EOF")
	require.Contains(t, got, "after.log 1 \"z\"", "one archive that was cut costs itself")
}

func TestZip(t *testing.T) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	raw := func(h zip.FileHeader, body string) {
		h.UncompressedSize64, h.CompressedSize64 = uint64(len(body)), uint64(len(body))
		f, err := w.CreateRaw(&h)
		require.NoError(t, err)
		_, err = io.WriteString(f, body)
		require.NoError(t, err)
	}
	raw(zip.FileHeader{Name: "stored.log", Method: zip.Store}, "s\n")
	raw(zip.FileHeader{Name: "secret.log", Method: zip.Deflate, Flags: flagEncrypted}, "?????")
	raw(zip.FileHeader{Name: "odd.log", Method: 98}, "ppmd")
	raw(zip.FileHeader{Name: "last.log", Method: zip.Store}, "z\n")
	require.NoError(t, w.Close())
	require.Equal(t, `stored.log 2 "s\n"
skip secret.log: encrypted
skip odd.log: compression method 98 is not known
last.log 2 "z\n"
`, stdin(t, out.Bytes()))

	// A download that broke off, at every byte: what came before is there, nothing panics, the end
	// is named.
	whole := winZipped(t, "a.log", "first\n", "b.log", strings.Repeat("second\n", 50))
	for n := 4; n < len(whole); n++ {
		got := stdin(t, whole[:n])
		if end := bytes.Index(whole, []byte("PK\x01\x02")); n >= end+4 {
			require.Equal(t, stdin(t, whole), got, "the table of contents says nothing new")
			continue
		}
		require.Regexp(t, "unexpected EOF|no entry follows|stands where", got, n)
	}
	require.Contains(t, stdin(t, whole[:len(whole)/2]), "a.log -1 \"first\\n\"")
}

func TestZipBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("inflates 256 MiB")
	}
	in := winZipped(t, "zeros", strings.Repeat("\x00", 300<<20), "after.log", "z")
	n := 0
	for f, err := range Files(t.Context(), Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(in), Limits: Limits{Ratio: 100}}) {
		require.NoError(t, err)
		r, err := f.Open()
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, r)
		if n++; f.Path == "zeros" {
			require.ErrorContains(t, err, "this is no log")
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 2, n)
}

func TestManyMembers(t *testing.T) {
	var members []tar.Header
	for range 50 {
		members = append(members, file("x", ""))
	}
	got := walk(t, fstest.MapFS{"a.tar": {Data: tarred(t, file("in.tar", string(tarred(t, members...))))}}, Limits{Files: 20})
	require.Contains(t, got, "more than 20 entries; the rest is not read")
}

func TestProgress(t *testing.T) {
	b := packed(t, "gzip", tarred(t, file("a.log", string(random(100_000)))))
	read := 0
	name := write(t, t.TempDir()+"/b.tgz", b)
	got := list(t, Options{Inputs: []string{name}, Progress: func(n int) { read += n }})
	require.Contains(t, got, "a.log 100000")
	require.GreaterOrEqual(t, read, len(b))
	read = 0
	list(t, Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(b), Progress: func(n int) { read += n }})
	require.Equal(t, len(b), read)
}

// A caller that copies a bundle learns of its directories, and how each file was stored.
func TestHowStored(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in", "logs"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in", "logs", "a.gz"), gzipOf(t, "x\n"), 0o640))
	loose := filepath.Join(dir, "b.log")
	require.NoError(t, os.WriteFile(loose, []byte("y\n"), 0o600))
	var got []string
	for f, err := range Files(t.Context(), Options{Inputs: []string{filepath.Join(dir, "in"), loose}, Directories: true}) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(filepath.Base(f.Path), " ", f.Info.Mode(), " ", f.Packed, " ", f.Loose, " ", f.Open == nil))
	}
	require.Equal(t, []string{"logs drwxr-x---  false true", "a.gz -rw-r----- gzip false false", "b.log -rw-------  true false"}, got)
	require.False(t, IsArchive(loose))
}

func gzipOf(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

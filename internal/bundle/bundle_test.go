package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// list reads everything and prints one line per file, skip or error.
func list(t testing.TB, opt Options) string {
	t.Helper()
	var out strings.Builder
	for f, err := range Files(t.Context(), opt) {
		show(&out, f, err)
	}
	return out.String()
}

func show(out *strings.Builder, f File, err error) {
	if skip, ok := errors.AsType[*event.Skip](err); ok {
		fmt.Fprintf(out, "skip %v\n", skip)
		return
	}
	if err != nil {
		fmt.Fprintf(out, "error %v\n", err)
		return
	}
	text, err := content(f)
	fmt.Fprintf(out, "%s %d %q", f.Path, f.Size, text)
	if err != nil {
		fmt.Fprintf(out, " %v", err)
	}
	out.WriteString("\n")
}

func content(f File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// walk is list for a directory that is not on disk.
func walk(t testing.TB, fsys fstest.MapFS, limits Limits) string {
	t.Helper()
	var out strings.Builder
	w := walker{ctx: t.Context(), budget: newBudget(limits), seen: map[string]bool{}, yield: func(f File, err error) bool {
		show(&out, f, err)
		return true
	}}
	w.walkDirectory(fsys, "", "")
	return out.String()
}

func zipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func tarred(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		body := h.Linkname
		if h.Typeflag == tar.TypeReg {
			h.Linkname, h.Size, h.Mode = "", int64(len(body)), 0o644
		}
		require.NoError(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := io.WriteString(w, body)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// file is a tar header whose Linkname carries the body.
func file(name, body string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: body, ModTime: time.Unix(1795199112, 0)}
}

func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, b, 0o444))
	return name
}

func TestDirectory(t *testing.T) {
	fsys := fstest.MapFS{
		"kubelet.log":         {Data: []byte("a\n")},
		"kubelet.log.1.gz":    {Data: zipped(t, []byte("b\n"))},
		"logs/containerd.log": {Data: []byte("c\n")},
		"logs/empty":          {Data: nil},
		"logs/link":           {Mode: os.ModeSymlink, Data: []byte("kubelet.log")},
		"logs/node.tgz":       {Data: zipped(t, tarred(t, file("./x/y.log", "d\n")))},
		"run/fifo":            {Mode: os.ModeNamedPipe},
		"dev/null":            {Mode: os.ModeDevice},
	}
	require.Equal(t, `skip dev/null: device is not read
kubelet.log 2 "a\n"
kubelet.log.1.gz -1 "b\n"
logs/containerd.log 2 "c\n"
logs/empty 0 ""
skip logs/link: symbolic link to "kubelet.log" is not followed
logs/node.tgz/x/y.log 2 "d\n"
skip run/fifo: named pipe is not read
`, walk(t, fsys, Limits{}))
}

func TestDirectoryFilesAreReadLater(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.log"), []byte("a"))
	write(t, filepath.Join(dir, "b.log.gz"), zipped(t, []byte("b")))
	var files []File
	for f, err := range Files(t.Context(), Options{Inputs: []string{dir}}) {
		require.NoError(t, err)
		require.False(t, f.Stream)
		require.True(t, f.ModTime.IsZero(), "times of copies are no evidence")
		files = append(files, f)
	}
	for range 2 {
		for i, want := range []string{"a", "b"} {
			text, err := content(files[i])
			require.NoError(t, err)
			require.Equal(t, want, text)
		}
	}
}

func TestInputs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "a/logs/kubelet.log", []byte("1"))
	write(t, "b/logs/kubelet.log", []byte("2"))
	write(t, "loose.log", []byte("3"))
	write(t, "one.tar", tarred(t, file("k.log", "4")))
	write(t, "two.tgz", zipped(t, tarred(t, file("k.log", "5"))))
	for _, tt := range []struct {
		name   string
		inputs []string
		want   string
	}{
		{"one directory", []string{"a"}, "logs/kubelet.log 1 \"1\"\n"},
		{"two directories", []string{"a", "b"}, "a/logs/kubelet.log 1 \"1\"\nb/logs/kubelet.log 1 \"2\"\n"},
		{"same base name", []string{"a/logs", "b/logs"}, "logs/kubelet.log 1 \"1\"\nlogs#2/kubelet.log 1 \"2\"\n"},
		{"loose", []string{"./a/../loose.log"}, "loose.log 1 \"3\"\n"},
		{"one archive", []string{"loose.log", "one.tar"}, "loose.log 1 \"3\"\nk.log 1 \"4\"\n"},
		{"two archives", []string{"one.tar", "two.tgz"}, "one.tar/k.log 1 \"4\"\ntwo.tgz/k.log 1 \"5\"\n"},
		{"twice", []string{"loose.log", "loose.log"}, "loose.log 1 \"3\"\nskip loose.log: a second file of this name is not read\n"},
		{"missing", []string{"none", "loose.log"}, "error stat none: no such file or directory\nloose.log 1 \"3\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, list(t, Options{Inputs: tt.inputs}))
		})
	}
}

func TestStdin(t *testing.T) {
	members := tarred(t, file("a.log", "x"))
	for name, tt := range map[string]struct {
		in   []byte
		want string
	}{
		"text":    {[]byte("line\n"), "stdin -1 \"line\\n\"\n"},
		"gzip":    {zipped(t, []byte("line\n")), "stdin -1 \"line\\n\"\n"},
		"tar":     {members, "a.log 1 \"x\"\n"},
		"tgz":     {zipped(t, members), "a.log 1 \"x\"\n"},
		"empty":   {nil, "stdin -1 \"\"\n"},
		"no gzip": {[]byte{0x1f, 0x8b, 8}, "stdin -1 \"\" unexpected EOF\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, list(t, Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(tt.in)}))
		})
	}
	require.Equal(t, "error stdin: not available\n", list(t, Options{Inputs: []string{"-"}}))
}

func TestArchiveEntries(t *testing.T) {
	link := tar.Header{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/etc/shadow"}
	hard := tar.Header{Typeflag: tar.TypeLink, Name: "hard", Linkname: "a.log"}
	fifo := tar.Header{Typeflag: tar.TypeFifo, Name: "fifo"}
	dev := tar.Header{Typeflag: tar.TypeChar, Name: "null", Mode: 0o666}
	in := tarred(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "./"}, file("./a.log", "a"), link, hard, fifo, dev,
		file("../../etc/passwd", "x"), file("/etc/passwd", "x"), file("a/../b.log", "b"), file("a.log", "again"),
		file("new\nline", "x"), file(strings.Repeat("d/", 70)+"deep", "x"), file("c.log.gz", string(zipped(t, []byte("c")))),
		file("inner.tar", string(tarred(t, file("x", "y")))), file("last.log", "z"))
	got := list(t, Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(in)})
	require.Equal(t, `a.log 1 "a"
skip link: symbolic link to "/etc/shadow" is not followed
skip hard: hard link to "a.log" is not followed
skip fifo: named pipe is not read
skip null: device is not read
skip ../../etc/passwd: name points outside of the archive
skip /etc/passwd: name points outside of the archive
b.log 1 "b"
skip a.log: a second file of this name is not read
skip new
line: name "new\nline" is not printable
skip `+strings.Repeat("d/", 70)+`deep: more than 64 directories deep
c.log.gz -1 "c"
inner.tar/x 1 "y"
last.log 1 "z"
`, got)
}

// sparse is what GNU tar 1.34 makes with -S of a file that has a hole of 1 MiB before its only
// line, in its own form and in that of POSIX.
var sparse = map[string]string{
	"gnu":   "H4sIAAAAAAACA+3QQQrCMBCF4Vl7ihxhxqa9iCeoEEQMBtr0/g6iLmxRUCoI/7d5YRIy8HI/1lwOsiZ1XYzXdM+paq1Y23iabs3n1jVRJezkB6ax9kMIMpRSX717d/9VO3Ghkcf8dr639vkC/2jmNO1TTjXk4zltBAAAAAAAAAAAAAAAAADwLy7F7iuvACgAAA==",
	"posix": "H4sIAAAAAAACA+3UwUrEMBAG4JzzFH2CdiZp0vbQq3oSQXyAqEGq2VaSLiw+vbEoLBXcy7qw7P9RCMzkkDD9U1Z3bnfj3bOPqQouzWF6EUdGma3rZc3WK6maBRtNxEyKc53Z5lKxEyewTbOL+SjiMilVXN8+lOndxeTLjXudYs9yVR3GXCWpmv3q6Da+//5jpOb9VvQupOHD90x1a9pOqq5w85D3c9MZ9fXpsrFd21rWUlPx9KtpqFPckpEC/lNZ5bndL2O7GoIv2ZLhIz8EB/LPxGaVf2N1Iwo6Zf7jNM1/7TvUX1/uXPIvl4w2VuYk/sSVkLpL8bZ99MHPRRhGj6kDAAAAAAAAAAAAAAAAAACcp09NZSMiACgAAA==",
}

// TestSparse: a file with holes, such as /var/log/lastlog, has zeros there.
func TestSparse(t *testing.T) {
	for form, text := range sparse {
		in, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		want := fmt.Sprintf("lastlog %d %q\n", 1<<20+13, strings.Repeat("\x00", 1<<20)+"kubelet line\n")
		require.Equal(t, want, list(t, Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(in)}), form)
	}
}

// TestOddEntries: what the tars of collectors hold beside plain files.
func TestOddEntries(t *testing.T) {
	long := "sosreport-x/" + strings.Repeat("kubepods.slice/", 20) + "memory.events"
	in := tarred(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "x"}},
		file(long, "oom 0\n"), file("./kubelet/kubelet.log", "a\n"), file("snap/x\\x2dy.mount", "b\n"), file("pod logs/a b (1).log", "c\n"),
		tar.Header{Typeflag: tar.TypeLink, Name: "proc/2/cgroup", Linkname: "proc/1/cgroup"}, file("中文.log", "d\n"))
	require.Equal(t, long+` 6 "oom 0\n"
kubelet/kubelet.log 2 "a\n"
snap/x\x2dy.mount 2 "b\n"
pod logs/a b (1).log 2 "c\n"
skip proc/2/cgroup: hard link to "proc/1/cgroup" is not followed
中文.log 2 "d\n"
`, list(t, Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(in)}))
}

// TestLinks: a link is a skip that says where it leads.
func TestLinks(t *testing.T) {
	in := tarred(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "date", Linkname: "sos_commands/date/date"}, tar.Header{Typeflag: tar.TypeLink, Name: "b", Linkname: "a"})
	var got []Link
	for _, err := range Files(t.Context(), Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(in)}) {
		link, ok := errors.AsType[*Link](err)
		require.True(t, ok, err)
		skip, ok := errors.AsType[*event.Skip](err)
		require.True(t, ok && skip == link.Skip, err)
		got = append(got, Link{Target: link.Target, Hard: link.Hard})
	}
	require.Equal(t, []Link{{Target: "sos_commands/date/date"}, {Target: "a", Hard: true}}, got)
}

func TestArchiveTimes(t *testing.T) {
	for f, err := range Files(t.Context(), Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(tarred(t, file("a", "a")))}) {
		require.NoError(t, err)
		require.True(t, f.Stream)
		require.Equal(t, time.Unix(1795199112, 0).UTC(), f.ModTime)
	}
}

func TestStreamExpires(t *testing.T) {
	var kept []File
	var open io.ReadCloser
	for f, err := range Files(t.Context(), Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(tarred(t, file("a", "aa"), file("b", "bb")))}) {
		require.NoError(t, err)
		kept = append(kept, f)
		if open == nil {
			open, err = f.Open()
			require.NoError(t, err)
		}
	}
	require.Len(t, kept, 2)
	_, err := open.Read(make([]byte, 1))
	require.ErrorContains(t, err, "moved on")
	_, err = kept[1].Open()
	require.ErrorContains(t, err, "has been read")
}

func TestCutArchive(t *testing.T) {
	body := strings.Repeat("no two lines are the same 0123456789\n", 2000)
	var random strings.Builder // does not compress, so that the cut falls into the second file
	for i := range body {
		random.WriteByte(body[i] ^ byte(i*i>>3) ^ byte(i>>5))
	}
	whole := zipped(t, tarred(t, file("a.log", body), file("b.log", random.String()), file("c.log", "c")))
	cut := write(t, filepath.Join(t.TempDir(), "cut.tgz"), whole[:len(whole)/2])
	var names, errs []string
	for f, err := range Files(t.Context(), Options{Inputs: []string{cut}}) {
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		text, err := content(f)
		names = append(names, f.Path)
		if f.Path == "a.log" {
			require.NoError(t, err)
			require.Equal(t, body, text)
			continue
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.True(t, strings.HasPrefix(random.String(), text), "what comes before the cut is kept")
		require.NotEmpty(t, text)
	}
	require.Equal(t, []string{"a.log", "b.log"}, names)
	require.Equal(t, []string{fmt.Sprintf("%s: unexpected EOF at %d bytes; 2 files before it are kept", filepath.ToSlash(cut), len(whole)/2)}, errs)
}

func TestLimits(t *testing.T) {
	fsys := fstest.MapFS{"a": {Data: make([]byte, 100)}, "b": {Data: make([]byte, 100)}, "c": {Data: make([]byte, 10)}}
	got := walk(t, fsys, Limits{Bytes: 150})
	require.Contains(t, got, "skip b: 100 bytes are more than is left of the limit of 150")
	require.Contains(t, got, "c 10 ")

	got = walk(t, fsys, Limits{Files: 2}) // the directory itself is an entry
	require.Contains(t, got, "error b: more than 2 entries; the rest is not read")
	require.NotContains(t, got, "c 10 ")

	got = walk(t, fstest.MapFS{"a.gz": {Data: zipped(t, make([]byte, 1000))}}, Limits{Bytes: 500})
	require.Contains(t, got, "limit of 500 bytes for all files is reached")

	got = walk(t, fstest.MapFS{"a/b/c/d": {Data: nil}, "z": {Data: nil}}, Limits{Depth: 1})
	require.Equal(t, "skip a/b: more than 1 directories deep\nz 0 \"\"\n", got)
}

func TestBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("inflates 256 MiB")
	}
	var bomb bytes.Buffer
	w, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range 300 {
		_, err = w.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	head := newHead(bytes.NewReader(bomb.Bytes()))
	_, err = io.Copy(io.Discard, head.content(Limits{Ratio: 100}))
	require.ErrorContains(t, err, "this is no log")
}

// closing records that the archive's stream was wrapped and closed.
type closing struct {
	io.Reader
	closed *bool
}

func (c closing) Close() error { *c.closed = true; return nil }

func TestReadAhead(t *testing.T) {
	closed := false
	opt := Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(zipped(t, tarred(t, file("a", "x")))),
		ReadAhead: func(r io.Reader) io.Reader { return closing{r, &closed} },
	}
	require.Equal(t, "a 1 \"x\"\n", list(t, opt))
	require.True(t, closed)
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range Files(ctx, Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(tarred(t, file("a", "a"), file("b", "b")))}) {
		last = err
		n++
		cancel()
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, 2, n)
}

// FuzzFiles: any bytes are an archive, a compressed file or a file; paths are
// unique and stay inside, nothing panics, and twice the same is the same.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("text\n"))
	f.Add(tarred(f, file("a", "a"), file("../b", "b")))
	f.Add(zipped(f, tarred(f, file("a", "a"))))
	f.Add(zipped(f, []byte("x"))[:12])
	f.Add(winZipped(f, "a", "a", "../b", "b", "c.tgz", string(zipped(f, tarred(f, file("d", "d"))))))
	f.Add(zipped(f, tarred(f, file("a.zip", string(winZipped(f, "b", "b"))))))
	f.Add(packed(f, "xz", []byte("x")))
	f.Add(packed(f, "zstd", tarred(f, file("a", "a"))))
	f.Fuzz(func(t *testing.T, in []byte) {
		run := func() string {
			var out strings.Builder
			seen := map[string]bool{}
			for f, err := range Files(t.Context(), Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(in), Limits: Limits{Bytes: 1 << 20, Files: 100}}) {
				show(&out, f, err)
				if err != nil {
					continue
				}
				require.False(t, seen[f.Path], "unique")
				seen[f.Path] = true
				require.False(t, strings.HasPrefix(f.Path, "/") || strings.HasPrefix(f.Path, "../"))
			}
			return out.String()
		}
		require.Equal(t, run(), run())
	})
}

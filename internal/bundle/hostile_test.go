package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// within fails a test that does not end.
func within(t *testing.T, limit time.Duration, run func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("not done after %v", limit)
	}
}

// breakSum breaks the sum of the header that begins at off.
func breakSum(b []byte, off int) []byte {
	b = bytes.Clone(b)
	b[off+148] = '7'
	b[off+149] = '7'
	return b
}

// TestBehindEnd: what follows the end mark of a tar archive, or a broken header, is read or named.
func TestBehindEnd(t *testing.T) {
	one, two := tarred(t, file("a.log", "a\n")), tarred(t, file("b.log", "b\n"), file("c.log", "c\n"))
	zeros := make([]byte, 3<<20+512)
	const a, b, c = "a.log 2 \"a\\n\"\n", "b.log 2 \"b\\n\"\n", "c.log 2 \"c\\n\"\n"
	pax := tarred(t, tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("d/", 60) + strings.Repeat("p", 150), Linkname: "p\n"})
	for name, tt := range map[string]struct {
		in   []byte
		want string
	}{
		"two archives":            {bytes.Join([][]byte{one, two}, nil), a + b + c},
		"any blocking factor":     {bytes.Join([][]byte{one, zeros}, nil), a},
		"padding between":         {bytes.Join([][]byte{one, zeros, two, zeros}, nil), a + b + c},
		"no tar behind":           {bytes.Join([][]byte{one, []byte("not a tar archive")}, nil), a + "skip stdin: 17 bytes behind the end of the archive are no tar archive and not read\n"},
		"something between":       {bytes.Join([][]byte{one, bytes.Repeat([]byte("x"), 700), make([]byte, 324), two}, nil), a + "skip stdin: 1024 bytes behind the end of the archive are no tar archive and not read\n" + b + c},
		"broken header":           {breakSum(two, 1024), b + "error stdin: archive/tar: invalid tar header at byte 1024 of the archive; the 512 bytes behind it are not read; the file before it is kept\n"},
		"members behind a broken": {append(breakSum(two, 1024), one...), b + "skip stdin: archive/tar: invalid tar header at byte 1024 of the archive; the 512 bytes behind it are not read\n" + a},
		"one block of zeros":      {one[:1024+512], a},
		"cut between members":     {two[:1024], b + "error stdin: the archive is cut: its end mark is missing at 1024 bytes; the file before it is kept\n"},
		"cut in the padding":      {two[:600], b + "error stdin: the archive is cut: its end mark is missing at 600 bytes; the file before it is kept\n"},
		"cut behind a long name":  {append(bytes.Clone(two[:1024]), pax[:1024]...), b + "error stdin: the archive is cut: its end mark is missing at 2048 bytes; the file before it is kept\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, stdin(t, tt.in))
			if !strings.Contains(tt.want, "error") {
				require.Equal(t, tt.want, stdin(t, zipped(t, tt.in)), "compressed as a whole")
			}
			nested := tarred(t, file("in.tar", string(tt.in)), file("last.log", "z"))
			require.Contains(t, stdin(t, nested), "last.log 1 \"z\"", "costs no member of the archive around it")
		})
	}
	require.Equal(t, a+b+c, stdin(t, append(zipped(t, one), zipped(t, two)...)), "two .tgz")
	require.Equal(t, a, stdin(t, append(zipped(t, one), zeros...)), "a .tgz that is padded")
	require.Equal(t, "stdin -1 \"x\"\n", stdin(t, append(zipped(t, []byte("x")), zeros...)))
	require.Contains(t, stdin(t, append(zipped(t, one), "this is not gzip"...)), a+"error stdin: what follows the end of the archive cannot be read: gzip: invalid header at ")
}

// TestBehindZip: the same for what follows a table of contents.
func TestBehindZip(t *testing.T) {
	one, two := winZipped(t, "a.log", "a\n"), winZipped(t, "b.log", "b\n", "c.log", "c\n")
	const a, b, c = "a.log -1 \"a\\n\"\n", "b.log -1 \"b\\n\"\n", "c.log -1 \"c\\n\"\n"
	require.Equal(t, a+b+c, stdin(t, append(bytes.Clone(one), two...)))
	require.Equal(t, a+"skip stdin: what follows the end of the archive is not read: \"junk\" stands where an entry should begin\n", stdin(t, append(bytes.Clone(one), "junk"...)))
}

// endless gives more with every error.
type endless struct{ err error }

func (e endless) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte("y"), len(p))), e.err
}

// TestErrorsStay: a reader that has reached a limit gives nothing more.
func TestErrorsStay(t *testing.T) {
	b := newBudget(Limits{Bytes: 10_000})
	few := &countingReader{r: strings.NewReader("few")}
	for name, r := range map[string]io.Reader{
		"bytes":   b.limitReader(endless{}, nil, nil),
		"ratio":   &inflatedReader{r: endless{}, in: few, limit: 1, n: ratioFrom},
		"archive": &archiveStream{r: endless{}, out: &unpacked{budget: newBudget(Limits{Ratio: 1})}, n: 1},
	} {
		buf := make([]byte, 64<<10)
		var first error
		for range 1 << 20 {
			if _, first = r.Read(buf); first != nil {
				break
			}
		}
		require.Error(t, first, name)
		n, again := r.Read(buf)
		require.Zero(t, n, name)
		require.Equal(t, first, again, name)
	}
}

// deflatedZip is a zip archive of one file under several names, with the sizes before the data.
func deflatedZip(t testing.TB, body []byte, names ...string) []byte {
	t.Helper()
	packed := winZipped(t, "x", string(body))
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	require.NoError(t, err)
	raw, err := r.File[0].OpenRaw()
	require.NoError(t, err)
	deflated, err := io.ReadAll(raw)
	require.NoError(t, err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		h := r.File[0].FileHeader
		h.Name, h.Flags = name, 0
		f, err := w.CreateRaw(&h)
		require.NoError(t, err)
		_, err = f.Write(deflated)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestNestedBombs: archives inside of archives, each within its own ratio, do not multiply.
func TestNestedBombs(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("%d.log", i))
	}
	in := deflatedZip(t, deflatedZip(t, make([]byte, 100<<20), names...), "a.zip", "b.zip")
	for _, limits := range []Limits{{}, {Bytes: 1 << 20}} {
		total := int64(0)
		var failed error
		within(t, time.Minute, func() {
			for f, err := range Files(t.Context(), Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(in), Limits: limits}) {
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				r, err := f.Open()
				require.NoError(t, err)
				n, err := io.Copy(io.Discard, r)
				failed = errors.Join(failed, err)
				total += n
			}
		})
		require.Error(t, failed)
		require.Less(t, total, int64(bombFrom+1<<20))
	}
}

// TestSkippedMembers: a member that is not read is not inflated when its packed size is known, and
// counted when it is not.
func TestSkippedMembers(t *testing.T) {
	zeros := make([]byte, 300<<20)
	walk := func(in []byte) (out *unpacked, names []string, failed error) {
		w := walker{ctx: t.Context(), budget: newBudget(Limits{Bytes: 1 << 20}), seen: map[string]bool{}, yield: func(f File, err error) bool {
			names = append(names, f.Path)
			failed = errors.Join(failed, err)
			return true
		}}
		w.walkStream("stdin", bytes.NewReader(in), "")
		return w.out, names, failed
	}
	out, _, failed := walk(append(deflatedZip(t, zeros, "a"), winZipped(t, "b", "b")...))
	require.ErrorContains(t, failed, "a: 314572800 bytes are more than is left of the limit")
	require.Less(t, out.out.Load(), int64(1<<20))
	out, names, failed := walk(winZipped(t, "a", string(zeros), "b", "b"))
	require.NoError(t, failed)
	require.Equal(t, []string{"a", "b"}, names)
	require.Greater(t, out.out.Load(), int64(250<<20))

	b := newBudget(Limits{Bytes: 1})
	require.NoError(t, b.addWalked(leastWalk))
	require.ErrorContains(t, b.addWalked(2), "limit of 1073741825 bytes for all archives is reached")
}

// TestReadAheadIsClosed: whoever reads ahead is told when the walk of an archive ends early.
func TestReadAheadIsClosed(t *testing.T) {
	closed := false
	opt := Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(zipped(t, tarred(t, file("a", "x"), file("b", "x"), file("c", "x")))), Limits: Limits{Files: 2},
		ReadAhead: func(r io.Reader) io.Reader { return closing{r, &closed} },
	}
	require.Contains(t, list(t, opt), "more than 2 entries")
	require.True(t, closed)
}

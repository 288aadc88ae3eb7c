package bundle

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Limits bound what one run reads. A zero field means its default.
type Limits struct {
	// Bytes is how much is read of all files together, inflated; 16 GiB. To reach them, as much
	// again is read of archives (at least 1 GiB): of archives inside of archives and of members
	// that are skipped.
	Bytes int64
	Files int // entries of directories and archives; 200 000: a must-gather of a large cluster has some 50 000
	Name  int // bytes of one path; 4096, Linux's PATH_MAX
	Depth int // directories above a file; 64
	// Nesting is how many archives may stand one inside the other; 4: a support bundle holds a
	// node's archive, and that one journals in archives of their own.
	Nesting int
	// Ratio is how many bytes one compressed byte may become, once 256 MiB have come out; 500.
	// Text logs reach 50, deflate ends at 1032.
	Ratio int64
}

// ratioFrom is how much must have been inflated before the ratio counts: a small file of one
// repeated line is no bomb.
const ratioFrom = 256 << 20

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 16 << 30
	}
	if l.Files <= 0 {
		l.Files = 200_000
	}
	if l.Name <= 0 {
		l.Name = 4096
	}
	if l.Depth <= 0 {
		l.Depth = 64
	}
	if l.Nesting <= 0 {
		l.Nesting = 4
	}
	if l.Ratio <= 0 {
		l.Ratio = 500
	}
	return l
}

// budget is what is left of the limits. Readers share it, also in parallel.
type budget struct {
	limits Limits
	bytes  atomic.Int64 // read of files so far
	walked atomic.Int64 // read of archives so far, see addWalked
}

func newBudget(l Limits) *budget { return &budget{limits: l.orDefault()} }

// refuseFile says why a file is not read; empty when it is.
func (b *budget) refuseFile(name string, size int64) string {
	switch {
	case len(name) > b.limits.Name:
		return fmt.Sprintf("name of %d bytes is longer than %d", len(name), b.limits.Name)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Sprintf("name %.80q is not printable", name)
	case size > b.limits.Bytes-b.bytes.Load():
		return fmt.Sprintf("%d bytes are more than is left of the limit of %d", size, b.limits.Bytes)
	}
	return ""
}

// clipName shortens a name that is too long to be printed.
func clipName(name string) string {
	if len(name) > 256 {
		return name[:256] + "…"
	}
	return name
}

// limitReader bounds r by what is left; closing it closes c, if there is one. Out counts what an
// archive became; nil for a file on disk.
func (b *budget) limitReader(r io.Reader, c io.Closer, out *unpacked) io.ReadCloser {
	return &limitedReader{r: r, c: c, budget: b, out: out}
}

// limitedReader ends with an error, once for all, when the limit is reached.
type limitedReader struct {
	r      io.Reader
	c      io.Closer
	budget *budget
	out    *unpacked
	err    error
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	limit := l.budget.limits.Bytes
	n := 0
	if l.budget.bytes.Load() <= limit {
		n, l.err = l.r.Read(p)
	}
	if total := l.budget.bytes.Add(int64(n)); total > limit && l.err == nil {
		l.err = fmt.Errorf("limit of %d bytes for all files is reached", limit)
	}
	if l.out != nil && l.err == nil {
		l.err = l.out.addOutput(int64(n))
	}
	return n, l.err
}

func (l *limitedReader) Close() error {
	if l.c == nil {
		return nil
	}
	return l.c.Close()
}

// bombFrom is how much may come out of one archive, archives inside of it included, before the
// ratio counts for it as a whole. It is more than ratioFrom, so that one bomb among the members
// costs only itself.
const bombFrom = 4 * ratioFrom

// leastWalk is how much may be read of archives to reach their members, whatever the limit of bytes
// is.
const leastWalk = 1 << 30

// unpacked counts what comes out of an archive that is an input, so that archives inside of
// archives, each of them within its own ratio, do not multiply.
type unpacked struct {
	budget *budget
	in     atomic.Int64 // bytes that were read of the archive, inflated when the whole archive is compressed
	out    atomic.Int64 // bytes of its members, of the archives among them, and of members that were skipped
}

// addOutput counts n bytes that came out. It returns an error when there are too many for what was
// read.
func (u *unpacked) addOutput(n int64) error {
	in, out := u.in.Load(), u.out.Add(n)
	if out > bombFrom && out/max(1, in) > u.budget.limits.Ratio {
		return fmt.Errorf("%d bytes of the archive became %d: this is no log", in, out)
	}
	return nil
}

// addWalked counts n bytes that were read of archives, of those inside of others too, and of
// members that are only skipped. It returns an error when they are more than the limit of bytes for
// the files themselves, and as many again.
func (b *budget) addWalked(n int64) error {
	limit := b.limits.Bytes
	if limit += max(limit, leastWalk); b.walked.Add(n) > limit {
		return fmt.Errorf("limit of %d bytes for all archives is reached", limit)
	}
	return nil
}

// Write counts what is skipped, as the end of an io.Copy.
func (u *unpacked) Write(skipped []byte) (int, error) {
	n := int64(len(skipped))
	return len(skipped), cmp.Or(u.addOutput(n), u.budget.addWalked(n))
}

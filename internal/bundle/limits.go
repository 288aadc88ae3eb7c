package bundle

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Limits bound what one run reads. A zero field means its default.
type Limits struct {
	Bytes int64 // of all files together, inflated; 16 GiB
	Files int   // entries of directories and archives; 200 000: a must-gather of a large cluster has some 50 000
	Name  int   // bytes of one path; 4096, Linux's PATH_MAX
	Depth int   // directories above a file; 64
	// Nesting is how many archives may stand one inside the other; 4: a support bundle holds a node's archive, and that
	// one journals in archives of their own.
	Nesting int
	// Ratio is how many bytes one compressed byte may become, once 256 MiB have come out; 500.
	// Text logs reach 50, deflate ends at 1032.
	Ratio int64
}

// ratioFrom is how much must have been inflated before the ratio counts: a small file of one repeated line is no bomb.
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
	bytes  atomic.Int64 // read so far
}

func newBudget(l Limits) *budget { return &budget{limits: l.orDefault()} }

// admit says why a file is not read; empty when it is.
func (b *budget) admit(name string, size int64) string {
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

// clip shortens a name that is too long to be printed.
func clip(name string) string {
	if len(name) > 256 {
		return name[:256] + "…"
	}
	return name
}

// reader bounds r by what is left; closing it closes c, if there is one.
func (b *budget) reader(r io.Reader, c io.Closer) io.ReadCloser {
	return &limited{r: r, c: c, budget: b}
}

type limited struct {
	r      io.Reader
	c      io.Closer
	budget *budget
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if total := l.budget.bytes.Add(int64(n)); total > l.budget.limits.Bytes && err == nil {
		err = fmt.Errorf("limit of %d bytes for all files is reached", l.budget.limits.Bytes)
	}
	return n, err
}

func (l *limited) Close() error {
	if l.c == nil {
		return nil
	}
	return l.c.Close()
}

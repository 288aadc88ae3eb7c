package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
)

// head is a stream whose first bytes have been looked at: content decides what it is, not its name.
type head struct {
	raw  *counter
	in   *bufio.Reader // what was written
	gzip bool
	out  *bufio.Reader // inflated; nil when gzip is false
}

const (
	peekSize = 4 << 10  // for a look at the start; larger reads pass it by
	zipSize  = 64 << 10 // read at once from a compressed file
)

func newHead(r io.Reader) *head {
	raw := &counter{r: r}
	h := &head{raw: raw, in: bufio.NewReaderSize(raw, peekSize)}
	magic, _ := h.in.Peek(3)
	if h.gzip = bytes.Equal(magic, []byte{0x1f, 0x8b, 8}); !h.gzip { // RFC 1952; 8 is deflate
		return h
	}
	// A header that is cut: whoever reads the file is told. What has been consumed is lost with it.
	zip, err := gzip.NewReader(bufio.NewReaderSize(h.in, zipSize))
	if err != nil {
		h.out = bufio.NewReaderSize(broken{err}, peekSize)
		return h
	}
	h.out = bufio.NewReaderSize(zip, peekSize)
	return h
}

// isArchive says whether a tar archive is inside.
func (h *head) isArchive() bool {
	in := h.in
	if h.gzip {
		in = h.out
	}
	block, _ := in.Peek(tarBlock)
	if len(block) < tarBlock {
		return false
	}
	// The reader checks the header's sum, so that old archives without "ustar" are known too. It may look
	// for more blocks behind it; only the verdict on this one counts.
	hdr, err := tar.NewReader(bytes.NewReader(block)).Next()
	ustar := bytes.HasPrefix(block[257:], []byte("ustar"))
	return ustar || err == nil && hdr != nil && hdr.Name != ""
}

// tarBlock is the size of a tar header.
const tarBlock = 512

// content is the stream from its start, inflated if it was compressed.
func (h *head) content(l Limits) io.Reader {
	if !h.gzip {
		return h.in
	}
	return &inflated{head: h, limit: l.Ratio}
}

// inflated guards against a compressed file that becomes absurdly large.
type inflated struct {
	head  *head
	limit int64
	n     int64
}

func (i *inflated) Read(p []byte) (int, error) {
	n, err := i.head.out.Read(p)
	i.n += int64(n)
	if in := i.head.raw.n.Load(); err == nil && i.n > ratioFrom && i.n/max(1, in) > i.limit {
		err = fmt.Errorf("%d compressed bytes became %d: this is no log", in, i.n)
	}
	return n, err
}

// broken is the content of a file that cannot be inflated.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// counter counts what was read, so that errors can say where. ReadAhead may read in another goroutine.
type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

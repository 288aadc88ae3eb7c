package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
)

// packing is one way to compress a file.
type packing struct {
	name   string
	magic  []byte
	unpack func(r *bufio.Reader) (io.Reader, error)
}

// packings by their first bytes.
var packings = []packing{
	{"gzip", []byte{0x1f, 0x8b, 8}, newGzip},          // RFC 1952; 8 is deflate
	{"zstd", []byte{0x28, 0xb5, 0x2f, 0xfd}, newZstd}, // RFC 8878
	{"xz", []byte{0xfd, '7', 'z', 'X', 'Z', 0}, newXZ},
	{"bzip2", []byte("BZh"), func(r *bufio.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
}

// maxWindow is how much memory a compressed file may ask for; zstd -19 uses 8 MiB, xz -9 64 MiB.
const maxWindow = 128 << 20

// gzipReader reads gzip members one behind the other, and zeros behind them, which pad files on
// tapes and disks, as gzip itself does.
type gzipReader struct {
	in     *bufio.Reader
	member *gzip.Reader
}

func newGzip(r *bufio.Reader) (io.Reader, error) {
	member, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{r, member}, nil
}

func (g *gzipReader) Read(p []byte) (int, error) {
	n, err := g.member.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	next, err := g.in.Peek(1)
	for ; err == nil && next[0] == 0; next, err = g.in.Peek(1) {
		_, _ = g.in.Discard(1) // cannot fail for what Peek returned
	}
	if err != nil {
		return n, err
	}
	err = g.member.Reset(g.in)
	g.member.Multistream(false)
	return n, err
}

// newZstd decodes in the goroutine that reads.
func newZstd(r *bufio.Reader) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
}

// newXZ takes an xz decoder that refuses a block whose header asks for more.
func newXZ(r *bufio.Reader) (io.Reader, error) { return xz.NewReader(r, maxWindow) }

// head is a stream whose first bytes have been looked at: content decides what it is, not its name.
type head struct {
	raw    *countingReader
	in     *bufio.Reader // what was written
	packed string        // how it is compressed; empty when it is not
	out    *bufio.Reader // inflated; nil when packed is empty
}

const (
	peekSize = 4 << 10  // for a look at the start; larger reads pass it by
	zipSize  = 64 << 10 // read at once from a compressed file
)

func newHead(r io.Reader) *head {
	h := &head{raw: &countingReader{}, in: bufio.NewReaderSize(nil, peekSize)}
	h.begin(r)
	return h
}

// begin makes h the head of another stream; the one before is not read any more.
func (h *head) begin(r io.Reader) {
	h.raw.r, h.packed, h.out = r, "", nil
	h.raw.n.Store(0)
	h.in.Reset(h.raw)
	for _, p := range packings {
		magic, _ := h.in.Peek(len(p.magic))
		if !bytes.Equal(magic, p.magic) {
			continue
		}
		h.packed = p.name
		// A header that is cut: whoever reads the file is told. What has been consumed is lost with
		// it.
		inner, err := p.unpack(bufio.NewReaderSize(h.in, zipSize))
		if err != nil {
			inner = brokenReader{err}
		}
		h.out = bufio.NewReaderSize(inner, peekSize)
		break
	}
}

// peek looks at the first bytes of the content.
func (h *head) peek(n int) []byte {
	in := h.in
	if h.packed != "" {
		in = h.out
	}
	b, _ := in.Peek(n)
	return b
}

// isArchive says whether a tar or a zip archive is inside.
func (h *head) isArchive() bool { return h.isTar() || h.isZip() }

func (h *head) isTar() bool {
	block := h.peek(tarBlock)
	if len(block) < tarBlock || !maySum(block) {
		return false
	}
	// The reader checks the header's sum, so that old archives without "ustar" are known too. It
	// may look for more blocks behind it; only the verdict on this one counts.
	hdr, err := tar.NewReader(bytes.NewReader(block)).Next()
	ustar := bytes.HasPrefix(block[257:], []byte("ustar"))
	return ustar || err == nil && hdr != nil && hdr.Name != ""
}

func (h *head) isZip() bool { return bytes.Equal(h.peek(len(localHeader)), localHeader) }

// content is the stream from its start, inflated if it was compressed.
func (h *head) content(l Limits) io.Reader {
	if h.packed == "" {
		return h.in
	}
	return &inflatedReader{r: h.out, in: h.raw, limit: l.Ratio}
}

// inflatedReader guards against a compressed file that becomes absurdly large: then it ends with an
// error, once for all.
type inflatedReader struct {
	r      io.Reader
	in     *countingReader // what it is made of
	before int64           // of what in has read belongs to others
	limit  int64
	n      int64
	err    error
}

func (i *inflatedReader) Read(p []byte) (int, error) {
	if i.err != nil {
		return 0, i.err
	}
	n, err := i.r.Read(p)
	i.n += int64(n)
	if in := i.in.n.Load() - i.before; err == nil && i.n > ratioFrom && i.n/max(1, in) > i.limit {
		err = fmt.Errorf("%d compressed bytes became %d: this is no log", in, i.n)
	}
	i.err = err
	return n, err
}

// brokenReader is the content of a file that cannot be inflated.
type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

// countingReader counts what was read, so that errors can say where. ReadAhead may read in another
// goroutine.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

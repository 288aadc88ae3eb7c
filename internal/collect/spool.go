package collect

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/gzip"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/redact"
)

// pieceSize is how much of an item is kept uncompressed. A larger item is compressed piece by piece.
// The pieces together are one gzip file (RFC 1952 2.2), and the oldest ones can be left out.
const pieceSize = 1 << 20

// spool keeps an item until its size is known, because a tar archive needs the size first.
type spool struct {
	newest bool // keep the newest pieces, not the oldest
	limit  int  // bytes of all pieces
	filter filter
	// the beginning of an entry: pieces are cut between entries; nil cuts between lines
	entry []byte

	size    int64 // bytes taken
	pieces  [][]byte
	sizes   []int64 // of the pieces before they were compressed
	stored  int
	dropped int64
	raw     bytes.Buffer
	zip     *gzip.Writer
}

// filter takes content and passes on what can be in the bundle.
type filter interface {
	// Filter appends the filtered content to dst, as far as it is complete. last says that nothing
	// follows.
	Filter(dst *bytes.Buffer, content []byte, last bool)
	// Counts is how many values each rule replaced.
	Counts() *redact.Counts
}

// plain passes on everything.
type plain struct{}

// Filter implements filter.
func (plain) Filter(dst *bytes.Buffer, content []byte, _ bool) { dst.Write(content) }

// Counts implements filter.
func (plain) Counts() *redact.Counts { return &redact.Counts{} }

// Write adds content. It does not fail.
func (s *spool) Write(p []byte) (int, error) {
	s.addContent(p)
	return len(p), nil
}

func (s *spool) addContent(p []byte) {
	s.size += int64(len(p))
	if !s.newest && s.stored >= s.limit {
		s.dropped += int64(len(p))
		return
	}
	s.filter.Filter(&s.raw, p, false)
	for s.raw.Len() >= pieceSize {
		s.packPiece(s.cutPoint())
	}
}

// cutPoint is where the next piece ends.
func (s *spool) cutPoint() int {
	b := s.raw.Bytes()[:pieceSize]
	if s.entry != nil {
		if i := bytes.LastIndex(b, s.entry); i > 0 {
			return i + 2 // after the blank line
		}
	}
	if i := bytes.LastIndexByte(b, '\n'); i > 0 {
		return i + 1
	}
	return len(b)
}

// packPiece compresses the first n bytes.
func (s *spool) packPiece(n int) {
	var out bytes.Buffer
	if s.zip == nil {
		s.zip, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a known one
	}
	s.zip.Reset(&out)
	_, _ = s.zip.Write(s.raw.Next(n)) // into memory
	s.zip.Close()
	s.pieces, s.sizes = append(s.pieces, out.Bytes()), append(s.sizes, int64(n))
	s.stored += out.Len()
	for s.newest && s.stored > s.limit && len(s.pieces) > 1 {
		s.stored -= len(s.pieces[0])
		s.dropped += s.sizes[0]
		s.pieces, s.sizes = s.pieces[1:], s.sizes[1:]
	}
}

// finishContent returns the content as it is stored, and whether it is compressed.
func (s *spool) finishContent() (content []byte, packed bool) {
	s.filter.Filter(&s.raw, nil, true)
	if len(s.pieces) == 0 {
		return s.raw.Bytes(), false
	}
	if s.raw.Len() > 0 {
		s.packPiece(s.raw.Len())
	}
	return bytes.Join(s.pieces, nil), true
}

// storeItem ends an item and writes its file, if it has content.
func (c *collector) storeItem(item *bundle.Item, s *spool) {
	content, packed := s.finishContent()
	counts := s.filter.Counts()
	item.Redacted, item.Dropped = counts.Total(), s.dropped
	c.replaced.Add(counts)
	if packed {
		item.Name += ".gz"
	}
	if item.Outcome == "" {
		switch {
		case s.dropped > 0:
			item.Outcome = bundle.Capped
		case len(content) == 0:
			item.Outcome = bundle.Empty
		default:
			item.Outcome = bundle.OK
		}
	}
	if s.dropped > 0 && item.Why == "" {
		which := "the rest is"
		if s.newest {
			which = "the oldest part is"
		}
		item.Why = fmt.Sprintf("%s left out: %d bytes", which, s.dropped)
	}
	if len(content) > 0 {
		c.writeItem(item, content)
	}
	c.recordItem(item)
}

// Package spool keeps an item of a bundle until its size is known, because a tar archive needs the
// size first. It replaces secrets, and keeps the oldest or the newest part of what is too large. It
// writes no file and knows no format, except where an entry of the journal begins.
package spool

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/gzip"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/redact"
)

// pieceSize is how much of an item is kept uncompressed. A larger item is compressed piece by
// piece. The pieces together are one gzip file (RFC 1952 2.2), and the oldest ones can be left out.
const pieceSize = 1 << 20

// Options say what is kept of an item.
type Options struct {
	Limit  int  // bytes of what is stored, after compression
	Newest bool // of what is too large keep the newest pieces, not the oldest
	// Export says that the item is the journal's export format: it is cut between entries, not lines.
	Export bool
	// Key makes the tokens that replace secrets; nil replaces nothing.
	Key []byte
}

// New makes a spool.
func New(o Options) *Spool {
	s := &Spool{limit: o.Limit, newest: o.Newest, filter: plain{}}
	if o.Export {
		s.entry = []byte("\n\n__CURSOR=")
	}
	switch {
	case o.Key == nil:
	case o.Export:
		s.filter = redact.NewExport(o.Key)
	default:
		s.filter = redact.New(o.Key)
	}
	return s
}

// Spool holds one item. The zero Spool cannot be used.
type Spool struct {
	newest bool
	limit  int
	filter filter
	entry  []byte // the beginning of an entry; nil cuts between lines

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
func (s *Spool) Write(p []byte) (int, error) {
	s.add(p)
	return len(p), nil
}

// Size is how many bytes were written to it.
func (s *Spool) Size() int64 { return s.size }

// Counts is how many values each rule replaced.
func (s *Spool) Counts() *redact.Counts { return s.filter.Counts() }

func (s *Spool) add(p []byte) {
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
func (s *Spool) cutPoint() int {
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
func (s *Spool) packPiece(n int) {
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
func (s *Spool) finishContent() (content []byte, packed bool) {
	s.filter.Filter(&s.raw, nil, true)
	if len(s.pieces) == 0 {
		return s.raw.Bytes(), false
	}
	if s.raw.Len() > 0 {
		s.packPiece(s.raw.Len())
	}
	return bytes.Join(s.pieces, nil), true
}

// Finish returns the content of an item as it is stored, and completes what the item says about it:
// the ending of its name, what was replaced and left out, and the outcome where none was set.
func (s *Spool) Finish(item *bundle.Item) []byte {
	content, packed := s.finishContent()
	item.Redacted, item.Dropped = s.filter.Counts().Total(), s.dropped
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
	return content
}

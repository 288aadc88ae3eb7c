package bundle

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Records of a member's PAX header: a bundle that was cut before its manifest can be verified by
// them. They look like extended attributes, because GNU tar warns of every record that it does not
// know.
const (
	paxOutcome = "SCHILY.xattr.user.plegdiag.outcome"
	paxSHA256  = "SCHILY.xattr.user.plegdiag.sha256"
)

// Writer writes a bundle to a stream: one root folder, a member for each file, everything
// compressed. After every member the compressed stream is flushed, so that what was written until
// then can be read.
type Writer struct {
	root string
	zip  flusher
	tar  *tar.Writer
	sums []string // lines of SHA256SUMS
}

type flusher interface {
	io.WriteCloser
	Flush() error
}

// NewWriter begins a bundle whose members stand below root. Name decides the packing: .zst is zstd,
// all else gzip.
func NewWriter(w io.Writer, name, root string) (*Writer, error) {
	zip, err := newPacker(w, name)
	if err != nil {
		return nil, err
	}
	return &Writer{root: root, zip: zip, tar: tar.NewWriter(zip)}, nil
}

func newPacker(w io.Writer, name string) (flusher, error) {
	if strings.HasSuffix(name, ".zst") {
		// A small window, one worker: a node that runs out of memory is where this runs.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithEncoderLevel(zstd.SpeedFastest))
	}
	return gzip.NewWriterLevel(w, gzip.BestSpeed)
}

// Add writes the file of an item and sets the item's Bytes and SHA256.
func (w *Writer) Add(item *Item, content []byte) error {
	sum := sha256.Sum256(content)
	item.Bytes, item.SHA256 = int64(len(content)), hex.EncodeToString(sum[:])
	w.sums = append(w.sums, fmt.Sprintf("%s  %s\n", item.SHA256, item.Name))
	return w.writeMember(item.Name, item.End, content, map[string]string{paxOutcome: string(item.Outcome), paxSHA256: item.SHA256})
}

func (w *Writer) writeMember(name string, at time.Time, content []byte, records map[string]string) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg, Name: w.root + "/" + name, Size: int64(len(content)), Mode: 0o600,
		ModTime: at, Format: tar.FormatPAX, PAXRecords: records,
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	if _, err := w.tar.Write(content); err != nil {
		return err
	}
	return errors.Join(w.tar.Flush(), w.zip.Flush())
}

// Close writes the manifest and SHA256SUMS and ends the archive. The stream below stays open.
func (w *Writer) Close(m *Manifest) error {
	text, err := m.Encode()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	w.sums = append(w.sums, fmt.Sprintf("%s  %s\n", hex.EncodeToString(sum[:]), ManifestName))
	return errors.Join(
		w.writeMember(ManifestName, m.End, text, nil),
		w.writeMember("SHA256SUMS", m.End, []byte(strings.Join(w.sums, "")), nil),
		w.tar.Close(), w.zip.Close(),
	)
}

package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// inMemory is how much of a member is held in memory; more goes to a file.
const inMemory = 4 << 20

// spool holds a member until its size is known, which a tar archive needs first. It only ever holds
// what was redacted.
type spool struct {
	dir    string
	size   int64
	memory bytes.Buffer
	file   *os.File
	hash   hash.Hash
	err    error
}

func (s *spool) reset() {
	s.size, s.err, s.hash = 0, nil, sha256.New()
	s.memory.Reset()
	if s.file != nil {
		_, err := s.file.Seek(0, io.SeekStart)
		s.err = errors.Join(err, s.file.Truncate(0))
	}
}

func (s *spool) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	s.hash.Write(p)
	s.size += int64(len(p))
	if s.size <= inMemory {
		return s.memory.Write(p)
	}
	if s.file == nil {
		if s.file, s.err = os.CreateTemp(s.dir, ".plegdiag-*"); s.err != nil {
			return 0, s.err
		}
		os.Remove(s.file.Name()) // it goes with this process
	}
	n, err := s.file.Write(p)
	s.err = err
	return n, err
}

func (s *spool) sum() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// copyTo writes all of it.
func (s *spool) copyTo(out io.Writer) error {
	if _, err := out.Write(s.memory.Bytes()); err != nil || s.size == int64(s.memory.Len()) {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.CopyN(out, s.file, s.size-int64(s.memory.Len()))
	return err
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// plain passes on what is not compressed.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// newPacker compresses by the ending of a name: .zst and .gz; an archive that has no other ending
// is gzip, unless it is .tar.
func newPacker(w io.Writer, name string, archive bool) (io.WriteCloser, error) {
	switch {
	case strings.HasSuffix(name, ".zst"), strings.HasSuffix(name, ".tzst"):
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	case strings.HasSuffix(name, ".gz"), archive && !strings.HasSuffix(name, ".tar"):
		return gzip.NewWriterLevel(w, gzip.DefaultCompression)
	}
	return plain{w}, nil
}

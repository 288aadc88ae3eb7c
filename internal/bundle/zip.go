package bundle

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"
)

// zipReader reads a zip archive from its beginning, entry by entry, by the headers that stand
// before them (PKWARE APPNOTE 6.3.10, section 4.3.7). So it needs no end: a download that broke off
// yields what came before the cut, and an archive inside another one, or on a pipe, need not be
// held in memory.
type zipReader struct {
	in       *bufio.Reader
	skipped  io.Writer // takes what is inflated only to reach the next entry; it may refuse
	body     io.Reader // of the current entry, as far as it was not read
	skipRest func() error
	listed   bool // a table of contents has been read
}

var (
	localHeader      = []byte("PK\x03\x04")
	descriptorHeader = []byte("PK\x07\x08")
)

// zipRecord is the shape of a record of a table of contents.
type zipRecord struct {
	fixed int   // bytes before its parts of variable length
	sizes []int // offsets of the lengths of these, of 2 bytes each
	long  int   // offset of a length of 8 bytes; 0 for none
}

// zipContents are the records of a table of contents by their first bytes.
var zipContents = map[string]zipRecord{
	"PK\x01\x02": {fixed: 46, sizes: []int{28, 30, 32}}, // an entry
	"PK\x05\x05": {fixed: 6, sizes: []int{4}},           // a signature
	"PK\x06\x06": {fixed: 12, long: 4},                  // the end in zip64
	"PK\x06\x07": {fixed: 20},                           // and where it stands
	"PK\x05\x06": {fixed: 22, sizes: []int{20}},         // the end
}

// errNoEntry says that neither an entry nor a table of contents is at its place.
var errNoEntry = errors.New("stands where an entry should begin")

const (
	zipFixed      = 30     // bytes of a local header before name and extra field
	flagEncrypted = 1 << 0 // of its general purpose bits
	flagTrailed   = 1 << 3 // sizes stand behind the data
	stored        = 0      // compression methods
	deflated      = 8
	zip64         = 0xffffffff // a size that stands in the extra field
	zip64Extra    = 0x0001
)

// zipEntry is one file of a zip archive, or a directory when its name ends in a slash.
type zipEntry struct {
	name     string
	modified time.Time // in UTC, though the archive has the time of day of whoever made it; zero when it has none
	size     int64     // inflated; -1 when it stands behind the data
	why      string    // it is not read; empty when it is
}

func newZip(r io.Reader, skipped io.Writer) *zipReader {
	return &zipReader{in: bufio.NewReaderSize(r, peekSize), skipped: skipped}
}

// nextEntry goes to the next entry. It returns io.EOF behind the last table of contents, or where
// that is cut. Entries that follow a table of contents are of another archive, which was
// concatenated.
func (z *zipReader) nextEntry() (zipEntry, error) {
	if err := z.leaveEntry(); err != nil {
		return zipEntry{}, err
	}
	magic, err := z.in.Peek(4)
	for err == nil && zipContents[string(magic)].fixed > 0 {
		z.listed = true
		if err = z.skipContents(zipContents[string(magic)]); err == nil {
			magic, err = z.in.Peek(4)
		}
	}
	switch {
	case z.listed && errors.Is(err, io.EOF):
		return zipEntry{}, io.EOF
	case err != nil:
		return zipEntry{}, unexpectedEnd(err)
	case string(magic) != string(localHeader):
		return zipEntry{}, fmt.Errorf("%q %w", magic, errNoEntry)
	}
	var h [zipFixed]byte
	if _, err := io.ReadFull(z.in, h[:]); err != nil {
		return zipEntry{}, unexpectedEnd(err)
	}
	name := make([]byte, binary.LittleEndian.Uint16(h[26:]))
	extra := make([]byte, binary.LittleEndian.Uint16(h[28:]))
	for _, b := range [][]byte{name, extra} {
		if _, err := io.ReadFull(z.in, b); err != nil {
			return zipEntry{}, unexpectedEnd(err)
		}
	}
	e := zipEntry{name: strings.ReplaceAll(string(name), `\`, "/"), modified: dosTime(h[10:14])}
	return e, z.enterEntry(&e, h, extra)
}

// skipContents skips one record of a table of contents.
func (z *zipReader) skipContents(r zipRecord) error {
	head, err := z.in.Peek(r.fixed)
	if err != nil {
		return err
	}
	size := int64(r.fixed)
	for _, at := range r.sizes {
		size += int64(binary.LittleEndian.Uint16(head[at:]))
	}
	if r.long > 0 {
		size += int64(binary.LittleEndian.Uint64(head[r.long:]) & (1<<62 - 1))
	}
	_, err = io.CopyN(io.Discard, z.in, size)
	return err
}

// enterEntry prepares the body of an entry, and how to leave it. An entry whose packed size is
// known is left without inflating the rest of it.
func (z *zipReader) enterEntry(e *zipEntry, h [zipFixed]byte, extra []byte) error {
	flags, method := binary.LittleEndian.Uint16(h[6:]), binary.LittleEndian.Uint16(h[8:])
	packed, size := entrySizes(h, extra)
	if flags&flagTrailed != 0 {
		if method != deflated || flags&flagEncrypted != 0 {
			return errors.New("an entry that is neither deflated nor has a size: the rest cannot be read")
		}
		e.size = -1
		z.body = flate.NewReader(z.in) // reads no byte behind its end: z.in is an io.ByteReader
		z.skipRest = func() error {
			if _, err := io.Copy(z.skipped, z.body); err != nil {
				return err
			}
			return z.skipDescriptor()
		}
		return nil
	}
	raw := io.LimitReader(z.in, packed)
	e.size, z.body = size, raw
	z.skipRest = func() error { _, err := io.Copy(io.Discard, raw); return err }
	switch {
	case flags&flagEncrypted != 0:
		e.why = "encrypted"
	case method == deflated:
		z.body = flate.NewReader(raw)
	case method != stored:
		e.why = fmt.Sprintf("compression method %d is not known", method)
	}
	return nil
}

// entrySizes are the sizes of an entry, packed and inflated.
func entrySizes(h [zipFixed]byte, extra []byte) (packed, size int64) {
	packed, size = int64(binary.LittleEndian.Uint32(h[18:])), int64(binary.LittleEndian.Uint32(h[22:]))
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			break
		}
		field := extra[4 : 4+n]
		if id == zip64Extra {
			for _, v := range []*int64{&size, &packed} {
				if *v == zip64 && len(field) >= 8 {
					*v, field = int64(binary.LittleEndian.Uint64(field)&(1<<62-1)), field[8:]
				}
			}
		}
		extra = extra[4+n:]
	}
	return packed, size
}

// leaveEntry skips what is left of the current entry.
func (z *zipReader) leaveEntry() error {
	if z.body == nil {
		return nil
	}
	err := z.skipRest()
	z.body = nil
	return unexpectedEnd(err)
}

// skipDescriptor skips the sizes behind an entry: three numbers, of which the last two may be of 8
// bytes, with or without a signature before them. What follows them decides which of these it is.
func (z *zipReader) skipDescriptor() error {
	b, err := z.in.Peek(28)
	for _, n := range []int{16, 12, 24, 20} {
		signed := n == 16 || n == 24
		if len(b) < n+2 || signed != (string(b[:4]) == string(descriptorHeader)) || string(b[n:n+2]) != "PK" {
			continue
		}
		_, err := z.in.Discard(n)
		return err
	}
	if err == nil {
		err = errors.New("no entry follows an entry")
	}
	return err
}

// Read reads the current entry.
func (z *zipReader) Read(p []byte) (int, error) {
	if z.body == nil {
		return 0, io.EOF
	}
	n, err := z.body.Read(p)
	if err == io.EOF {
		return n, err
	}
	return n, unexpectedEnd(err)
}

// unexpectedEnd makes an unexpected end of an end.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// dosTime is a time and a date of MS-DOS, to two seconds.
func dosTime(b []byte) time.Time {
	t, d := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])
	if d == 0 {
		return time.Time{}
	}
	return time.Date(int(d>>9)+1980, time.Month(d>>5&15), int(d&31), int(t>>11), int(t>>5&63), int(t&31)*2, 0, time.UTC)
}

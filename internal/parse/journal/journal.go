// Package journal reads the file of a journal as systemd-journald stores it
// (systemd.io/JOURNAL_FILE_FORMAT; since 38, keyed hashes since 246, zstd since 246, compact since
// 252). Nothing is looked up by hash: the objects of the file are walked from its start, one behind
// the other, and each ENTRY among them gathers the DATA objects that it points to. So a file that
// was cut, or copied while journald wrote, gives all that is whole in it.
package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
	"github.com/pierrec/lz4/v4"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Magic is what a journal begins with.
const Magic = "LPKSHHRH"

// Bounds of what is inflated.
const (
	maxRatio   = 200       // of inflated bytes to the file's
	minInflate = 256 << 20 // that a small file may inflate to all the same
)

// Places in the header, and in the objects (src/libsystemd/sd-journal/journal-def.h).
const (
	headerMin        = 208 // systemd 38; longer since
	incompatibleAt   = 12
	headerSizeAt     = 88
	objectHead       = 16
	entryRealtimeAt  = 24
	entryMonotonicAt = 32
	entryBootAt      = 40
	entryItemsAt     = 64
	dataPayloadAt    = 64
	dataPayloadSmall = 72 // of the compact form
)

// Flags of the header that change how the file is read, and of a DATA object.
const (
	knownFlags  = 1 | 2 | 4 | 8 | 16 // xz, lz4, keyed hash, zstd, compact
	compactFlag = 16
	dataXZ      = 1
	dataLZ4     = 2
	dataZstd    = 4
)

// Types of objects.
const (
	objectData  = 1
	objectEntry = 3
	objectTypes = 7
)

// File is a journal of which the bytes are in memory, or mapped.
type File struct {
	bytes   []byte
	compact bool
	first   uint64 // where objects begin
	budget  int    // bytes that may yet be inflated
	zstd    *zstd.Decoder
}

// Open reads the header of a journal, whose bytes the File keeps. The error says why nothing of it
// can be read: its header is cut, or its flags are of a later systemd.
func Open(file []byte) (*File, error) {
	f := &File{bytes: file, budget: max(minInflate, maxRatio*len(file))}
	if len(file) < headerMin {
		return nil, fmt.Errorf("the header of a journal breaks off at %d bytes", len(file))
	}
	flags := binary.LittleEndian.Uint32(file[incompatibleAt:])
	if unknown := flags &^ knownFlags; unknown != 0 {
		return nil, fmt.Errorf("a journal with flags %#x, which systemd 257 does not know", unknown)
	}
	f.compact = flags&compactFlag != 0
	f.first = binary.LittleEndian.Uint64(file[headerSizeAt:])
	return f, nil
}

// Object is an ENTRY object of a File, as it is stored, or the place where the journal breaks off.
type Object struct {
	At     uint64 // its place in the file, in bytes
	stored []byte // nil where the file breaks off
}

// Broken says that the journal breaks off here.
func (o Object) Broken() bool { return o.stored == nil }

// Size is how many bytes it takes in the file.
func (o Object) Size() int { return len(o.stored) }

// Whole says that it has a time; its fields may lie elsewhere.
func (o Object) Whole() bool { return len(o.stored) >= entryItemsAt }

// Time is its wall clock.
func (o Object) Time() time.Time {
	return time.UnixMicro(int64(binary.LittleEndian.Uint64(o.stored[entryRealtimeAt:]) & (1<<62 - 1))).UTC()
}

// Monotonic is its clock since the boot, in microseconds.
func (o Object) Monotonic() uint64 { return binary.LittleEndian.Uint64(o.stored[entryMonotonicAt:]) }

// boot is the id of its boot.
func (o Object) boot() string { return fmt.Sprintf("%x", o.stored[entryBootAt:entryBootAt+16]) }

// Objects are all ENTRY objects in the order in which they were written. One that is Broken is the
// last. Zeros are what journald has not yet written.
func (f *File) Objects() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		size := uint64(len(f.bytes))
		for at := f.first; at < size && size-at >= objectHead; {
			kind, length := f.bytes[at], binary.LittleEndian.Uint64(f.bytes[at+8:])
			switch {
			case kind == 0 && length == 0:
				return
			case kind == 0 || kind > objectTypes || length < objectHead || length > size-at:
				yield(Object{At: at})
				return
			case kind == objectEntry && !yield(Object{At: at, stored: f.bytes[at : at+length]}):
				return
			}
			at += (length + 7) &^ 7
		}
	}
}

// Fields are the fields of an ENTRY object that is Whole: "NAME=value". They are valid as long as
// the bytes of the File, and an error stands for one that cannot be read.
func (f *File) Fields(o Object) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		item := 16
		if f.compact {
			item = 4
		}
		for items := o.stored[entryItemsAt:]; len(items) >= item; items = items[item:] {
			at := binary.LittleEndian.Uint64(append(items[:4:4], 0, 0, 0, 0))
			if !f.compact {
				at = binary.LittleEndian.Uint64(items)
			}
			if at != 0 && !yield(f.dataAt(at)) { // 0: removed when the file was repaired
				return
			}
		}
	}
}

// dataAt is the content of the DATA object at a place: "NAME=value".
func (f *File) dataAt(at uint64) ([]byte, error) {
	payload, size := uint64(dataPayloadAt), uint64(len(f.bytes))
	if f.compact {
		payload = dataPayloadSmall
	}
	if at > size || size-at < payload {
		return nil, fmt.Errorf("a field at byte %d lies outside of the file", at)
	}
	length := binary.LittleEndian.Uint64(f.bytes[at+8:])
	if f.bytes[at] != objectData || length < payload || length > size-at {
		return nil, fmt.Errorf("no field stands at byte %d", at)
	}
	data, err := f.inflate(f.bytes[at+1], f.bytes[at+payload:at+length])
	if err != nil {
		return nil, fmt.Errorf("field at byte %d: %w", at, err)
	}
	if key, _, ok := bytes.Cut(data, []byte{'='}); !ok || !IsFieldName(key) {
		return nil, fmt.Errorf("no field name at byte %d: %.40q", at, key)
	}
	return data, nil
}

// IsFieldName knows journald's field names: capitals, digits and underscores.
func IsFieldName(b []byte) bool {
	for _, c := range b {
		if c != '_' && (c < 'A' || c > 'Z') && !lines.IsDigit(c) {
			return false
		}
	}
	return len(b) > 0 && len(b) <= 64 // journald's own limit
}

// inflate undoes the compression of one payload.
func (f *File) inflate(flags byte, packed []byte) (out []byte, err error) {
	limit := min(f.budget, lines.MaxField)
	switch flags & (dataXZ | dataLZ4 | dataZstd) {
	case 0:
		return packed, nil
	case dataXZ:
		var r *xz.Reader
		if r, err = xz.NewReader(bytes.NewReader(packed), lines.MaxField); err == nil {
			out, err = io.ReadAll(io.LimitReader(r, int64(limit)))
		}
	case dataLZ4: // the size in 8 bytes, then one block
		if len(packed) < 8 || binary.LittleEndian.Uint64(packed) > uint64(limit) {
			return nil, errors.New("inflates to more than is believed")
		}
		out = make([]byte, binary.LittleEndian.Uint64(packed))
		var n int
		n, err = lz4.UncompressBlock(packed[8:], out)
		out = out[:max(0, n)]
	case dataZstd:
		if f.zstd == nil {
			if f.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(lines.MaxField)); err != nil {
				return nil, err
			}
		}
		out, err = f.zstd.DecodeAll(packed, nil)
	default:
		return nil, fmt.Errorf("compressed in more than one way (%#x)", flags)
	}
	if f.budget -= len(out); f.budget <= 0 && err == nil {
		err = errors.New("the journal inflates to more than is believed")
	}
	return out, err
}

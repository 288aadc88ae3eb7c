package logs

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

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadJournalFile reads a journal as systemd-journald stores it (systemd.io/JOURNAL_FILE_FORMAT;
// since 38, keyed hashes since 246, zstd since 246, compact since 252). Nothing is looked up by
// hash: the objects of the file are walked from its start, one behind the other, and each ENTRY
// among them gathers the DATA objects that it points to. So a file that was cut, or copied while
// journald wrote, gives all that is whole in it.
//
// A record's line is the number of its entry in the file, from 1 on; journalctl -o export --file
// prints them in the same order.
func ReadJournalFile(in lines.Input) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		file, err := io.ReadAll(io.LimitReader(in.R, maxJournal+1))
		if len(file) > maxJournal {
			file, err = file[:maxJournal], fmt.Errorf("only the first %d bytes of a journal are read", maxJournal)
		}
		j := journalReader{journalBytes: newJournalBytes(file)}
		in.R = bytes.NewReader(nil)
		j.logReader = newLogReader(in, yield)
		if j.learnHeader() && j.walkObjects() && j.closeAll() && err != nil {
			yield(event.Record{}, err)
		}
	}
}

// Bounds of a journal that is read. journald keeps its own files below 128 MiB unless it is
// configured otherwise.
const (
	maxJournal = 1 << 30
	maxRatio   = 200       // of inflated bytes to the file's
	minInflate = 256 << 20 // that a small file may inflate to all the same
)

// Places in the header, and in the objects (src/libsystemd/sd-journal/journal-def.h).
const (
	journalMagic     = "LPKSHHRH"
	journalHeaderMin = 208 // systemd 38; longer since
	incompatibleAt   = 12
	headerSizeAt     = 88
	objectHead       = 16
	entryRealtimeAt  = 24
	entryMonotonicAt = 32
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

type journalReader struct {
	exportReader
	journalBytes
	entries int
}

// journalBytes is the file of a journal.
type journalBytes struct {
	file    []byte
	compact bool
	first   uint64 // where objects begin
	budget  int    // bytes that may yet be inflated
	zstd    *zstd.Decoder
}

func newJournalBytes(file []byte) journalBytes {
	return journalBytes{file: file, first: uint64(len(file)), budget: max(minInflate, maxRatio*len(file))}
}

// SniffJournalFile knows a journal file by its first bytes.
func SniffJournalFile(head *lines.Head) float64 {
	if bytes.HasPrefix(head.Text, []byte(journalMagic)) {
		return 1
	}
	return 0
}

// learnHeader learns where objects begin: at the end of the file, when it cannot be read.
func (j *journalReader) learnHeader() bool {
	if err := j.readHeader(); err != nil {
		return j.yieldLost(0, "%v", err)
	}
	return true
}

func (b *journalBytes) readHeader() error {
	if len(b.file) < journalHeaderMin {
		return fmt.Errorf("the header of a journal breaks off at %d bytes", len(b.file))
	}
	flags := binary.LittleEndian.Uint32(b.file[incompatibleAt:])
	if unknown := flags &^ knownFlags; unknown != 0 {
		return fmt.Errorf("a journal with flags %#x, which systemd 257 does not know", unknown)
	}
	b.compact = flags&compactFlag != 0
	b.first = binary.LittleEndian.Uint64(b.file[headerSizeAt:])
	return nil
}

// yieldLost names something of the file that could not be read. Entries is how many entries are
// lost with it.
func (j *journalReader) yieldLost(entries int, format string, args ...any) bool {
	j.lines.Stats.Lines += entries
	j.start += entries
	return j.yieldSkip(j.entries, entries, format, args...)
}

// walkObjects goes from object to object. Zeros are what journald has not yet written.
func (j *journalReader) walkObjects() bool {
	for at, object := range j.objects() {
		switch {
		case object == nil:
			return j.yieldLost(0, "the journal breaks off at byte %d, after %d entries", at, j.entries)
		case object[0] == objectEntry && !j.readEntry(object):
			return false
		}
	}
	return true
}

// objects are all objects with their places; nil stands for one that is broken, and is the last.
func (b *journalBytes) objects() iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		for at := b.first; at < uint64(len(b.file)) && uint64(len(b.file))-at >= objectHead; {
			kind, size := b.file[at], binary.LittleEndian.Uint64(b.file[at+8:])
			switch {
			case kind == 0 && size == 0:
				return
			case kind == 0 || kind > objectTypes || size < objectHead || size > uint64(len(b.file))-at:
				yield(at, nil)
				return
			case !yield(at, b.file[at:at+size]):
				return
			}
			at += (size + 7) &^ 7
		}
	}
}

// fieldPlaces are the places of the fields of an ENTRY object.
func (b *journalBytes) fieldPlaces(object []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		item := 16
		if b.compact {
			item = 4
		}
		for items := object[entryItemsAt:]; len(items) >= item; items = items[item:] {
			at := binary.LittleEndian.Uint64(append(items[:4:4], 0, 0, 0, 0))
			if !b.compact {
				at = binary.LittleEndian.Uint64(items)
			}
			if at != 0 && !yield(at) { // 0: removed when the file was repaired
				return
			}
		}
	}
}

// readEntry makes a record of an ENTRY object.
func (j *journalReader) readEntry(object []byte) bool {
	j.entries++
	j.lines.Line.N = j.entries
	if len(object) < entryItemsAt {
		return j.yieldLost(1, "entry of %d bytes", len(object))
	}
	j.h.carrier = event.Time{T: entryTime(object), Prec: time.Microsecond, Known: true}
	if us := binary.LittleEndian.Uint64(object[entryMonotonicAt:]); us <= uint64(maxUptime.Microseconds()) {
		j.h.uptime = time.Duration(us) * time.Microsecond
	}
	var failed error
	for at := range j.fieldPlaces(object) {
		if err := j.readData(at); err != nil {
			failed = err
		}
	}
	switch {
	case j.fields == 0 && failed == nil:
		return j.yieldLost(1, "an entry without fields")
	case j.fields == 0:
		return j.yieldLost(1, "%v", failed)
	case failed != nil && !j.yieldSkip(j.entries, 0, "%v", failed):
		return false
	}
	j.lines.Stats.Lines++
	if j.pos == 0 {
		j.keepMessage(nil, nil, j.entries)
	}
	return j.endEntry()
}

// entryTime is the wall clock of an ENTRY object.
func entryTime(object []byte) time.Time {
	return time.UnixMicro(int64(binary.LittleEndian.Uint64(object[entryRealtimeAt:]) & (1<<62 - 1))).UTC()
}

// readData reads the DATA object at a place.
func (j *journalReader) readData(at uint64) error {
	data, err := j.dataAt(at)
	if err != nil {
		return err
	}
	key, value, _ := bytes.Cut(data, []byte{'='})
	j.fields++
	if string(key) != "MESSAGE" {
		j.keepField(key, value)
		return nil
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	j.keepMessage(value, line, j.entries)
	return nil
}

// dataAt is the content of the DATA object at a place: "NAME=value".
func (b *journalBytes) dataAt(at uint64) ([]byte, error) {
	payload := uint64(dataPayloadAt)
	if b.compact {
		payload = dataPayloadSmall
	}
	if at > uint64(len(b.file)) || uint64(len(b.file))-at < payload {
		return nil, fmt.Errorf("a field at byte %d lies outside of the file", at)
	}
	size := binary.LittleEndian.Uint64(b.file[at+8:])
	if b.file[at] != objectData || size < payload || size > uint64(len(b.file))-at {
		return nil, fmt.Errorf("no field stands at byte %d", at)
	}
	data, err := b.inflate(b.file[at+1], b.file[at+payload:at+size])
	if err != nil {
		return nil, fmt.Errorf("field at byte %d: %w", at, err)
	}
	if key, _, ok := bytes.Cut(data, []byte{'='}); !ok || !isFieldName(key) {
		return nil, fmt.Errorf("no field name at byte %d: %.40q", at, key)
	}
	return data, nil
}

// inflate undoes the compression of one payload.
func (b *journalBytes) inflate(flags byte, packed []byte) (out []byte, err error) {
	limit := min(b.budget, lines.MaxField)
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
		if b.zstd == nil {
			if b.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(lines.MaxField)); err != nil {
				return nil, err
			}
		}
		out, err = b.zstd.DecodeAll(packed, nil)
	default:
		return nil, fmt.Errorf("compressed in more than one way (%#x)", flags)
	}
	if b.budget -= len(out); b.budget <= 0 && err == nil {
		err = errors.New("the journal inflates to more than is believed")
	}
	return out, err
}

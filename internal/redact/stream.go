package redact

import (
	"bytes"
	"encoding/binary"
)

// maxLine bounds the line that is held. A longer one is cut where a field ends.
const maxLine = 1 << 20

// Filter appends content without its secrets to dst, as far as its lines are complete. Last says
// that nothing follows.
func (r *Redactor) Filter(dst *bytes.Buffer, content []byte, last bool) {
	for len(content) > 0 {
		i := bytes.IndexByte(content, '\n')
		if i < 0 {
			break
		}
		if len(r.held) == 0 {
			dst.Write(r.Line(content[:i+1]))
		} else {
			r.held = append(r.held, content[:i+1]...)
			dst.Write(r.Line(r.held))
			r.held = r.held[:0]
		}
		content = content[i+1:]
	}
	r.held = append(r.held, content...)
	for len(r.held) > maxLine {
		n := cutPoint(r.held[:maxLine])
		dst.Write(r.Line(r.held[:n]))
		r.held = append(r.held[:0], r.held[n:]...)
	}
	if last && len(r.held) > 0 {
		dst.Write(r.Line(r.held))
		r.held = r.held[:0]
	}
}

// cutPoint is where a line that is too long is cut: behind a comma, so that a name and its value
// stay together.
func cutPoint(b []byte) int {
	const most = 64 << 10
	tail := b[max(0, len(b)-most):]
	if i := bytes.LastIndexAny(tail, ",}"); i >= 0 {
		return len(b) - len(tail) + i + 1
	}
	if i := bytes.LastIndexByte(tail, ' '); i >= 0 {
		return len(b) - len(tail) + i + 1
	}
	return len(b)
}

// Export replaces secrets in the journal's export format (systemd.io/JOURNAL_EXPORT_FORMATS):
// NAME=value, or NAME, a length of eight bytes, and the value.
type Export struct {
	lines Redactor
	held  []byte
}

// NewExport returns an Export.
func NewExport(key []byte) *Export { return &Export{lines: Redactor{key: key}} }

// Counts is what was replaced so far.
func (f *Export) Counts() *Counts { return f.lines.Counts() }

// Filter appends content without its secrets to dst, as far as its fields are complete.
func (f *Export) Filter(dst *bytes.Buffer, content []byte, last bool) {
	f.held = append(f.held, content...)
	rest := f.held
	for {
		n := f.filterField(dst, rest)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	f.held = append(f.held[:0], rest...)
	if last || len(f.held) > 64*maxLine {
		if len(f.held) > 0 {
			f.lines.counts[Key]++ // a field that was cut, or has no end: its content is not known
		}
		f.held = f.held[:0]
	}
}

// filterField writes the next field and returns its length; 0 when it is not complete.
func (f *Export) filterField(dst *bytes.Buffer, b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return 0
	}
	if is := bytes.IndexByte(b[:i+1], '='); i == 0 || is >= 0 {
		dst.Write(f.lines.Line(b[:i+1]))
		return i + 1
	}
	const length = 8
	if len(b) < i+1+length {
		return 0
	}
	size := binary.LittleEndian.Uint64(b[i+1:])
	if size > 64<<20 {
		return 0
	}
	end := i + 1 + length + int(size) + 1
	if len(b) < end {
		return 0
	}
	var value bytes.Buffer
	inner := Redactor{key: f.lines.key}
	inner.Filter(&value, b[i+1+length:end-1], true)
	f.lines.counts.Add(&inner.counts)
	dst.Write(b[:i+1])
	dst.Write(binary.LittleEndian.AppendUint64(nil, uint64(value.Len())))
	dst.Write(value.Bytes())
	dst.WriteByte('\n')
	return end
}

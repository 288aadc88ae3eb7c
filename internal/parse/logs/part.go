package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/event"
)

// part is a message that a container runtime wrote in parts, as it does every 16 KiB: lines of the
// CRI's log with P instead of F, entries of docker's json-file without a line break at their end.
//
//	2025-11-08T09:30:00.123456789+08:00 stderr P E1108 09:30:00.123450    2917 kubelet.go:2412] "Skipping pod
//	2025-11-08T09:30:00.123456790+08:00 stderr F  synchronization"
type part struct {
	held
	h      header // without its slices
	wanted bool
}

// readPart adds a line to the message of its stream; b is the line with its header.
func (l *logReader) readPart(i int, rec event.Record, h *header, b []byte) bool {
	p := l.parts[i]
	if p != nil && len(p.raw)+len(b) > maxHeld {
		if !l.endPart(i) {
			return false
		}
		p = nil
	}
	at := h.innerAt
	if p == nil {
		p = &part{held: held{rec: rec, body: logrus}, h: *h}
		p.h.host, p.h.unit, p.h.caller, p.h.msg = nil, nil, nil, 0
		p.rec.Lines = 0
		l.parts[i] = p
		at = h.msg
	}
	p.rec.Lines += rec.Lines
	p.addPiece(rec.Pos, b[min(at, len(b)):])
	p.wanted = p.wanted || l.Wants(b)
	if h.part {
		return true
	}
	return l.endPart(i)
}

// endPart gives out the message of a stream, if one is open: it is whole, or the file ends.
func (l *logReader) endPart(i int) bool {
	p := l.parts[i]
	if l.parts[i] = nil; p == nil {
		return true
	}
	if p.h.body == plain && bytes.HasPrefix(p.raw, []byte{'{'}) {
		if l.nested.readNested(&p.h, p.raw); p.h.body == inJSON {
			p.rec.Time, p.rec.Outer, p.rec.Level = p.h.inner, p.rec.Time, p.h.level
		}
	}
	if !p.wanted && !l.Wants(p.raw) {
		p.rec.Raw = ""
		return l.yield(p.rec, nil)
	}
	p.rec.Wanted = true
	if p.h.body == logrus {
		return l.closeHeld(&p.held)
	}
	p.rec.Pieces = p.piecesAt(p.bounds)
	if p.h.body == plain {
		p.rec.Text = string(p.raw)
		return l.yieldRecord(p.rec)
	}
	return l.yieldMessage(p.rec, &p.h, string(p.raw))
}

// Package dbus finds the messages of D-Bus in the bytes that went over a connection. It holds no
// more than the header of one message (64 KiB).
package dbus

import (
	"bytes"
	"encoding/binary"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Message is the header of one D-Bus message as it went over a connection.
// What the trace cut off (-s) is empty, or ends in "…".
type Message struct {
	Type   byte // Call, Return, Error or Signal
	Flags  byte
	Serial uint32 // never 0; sd-bus calls it the cookie
	// ReplySerial is that of the call that this answers; 0 when it answers none or is cut off.
	ReplySerial          uint32
	Path, Interface      string
	Member, ErrorName    string
	Destination, Sender  string
	Body                 uint32 // its length in bytes; 0 when cut off
	Cut                  bool   // not all header fields are there
	BigEndian, hasFields bool
	Pos                  event.Pos  // of the call that moved the first byte
	At                   event.Time // as given to Add with that call
}

// Types of messages, and the flag of a call that wants no answer.
const (
	Call byte = 1 + iota
	Return
	Error
	Signal

	NoReply byte = 1
)

// Limits of the protocol: the D-Bus specification, "Message format".
const (
	maxMessage  = 128 << 20
	maxFields   = 64 << 20
	fixedHeader = 16 // bytes up to the header fields, the length of these included
	serialEnd   = 12 // enough to know the serial
	maxHeader   = 64 << 10
)

// Buffer is the data of one buffer that a call moved.
type Buffer struct {
	Bytes []byte // what is known of them
	Len   int64  // how many were moved; a trace shows the first of them
}

// Stream reads one direction of a D-Bus connection out of the buffers that calls moved. Messages
// may be split over calls (sd-bus reads 24 bytes and then the rest, godbus 16 bytes, the fields,
// the body) or lie several in one; where -s cut a buffer, their sizes show where the next one
// begins. The zero value is ready for use.
type Stream struct {
	// Auth says that the handshake of D-Bus went over the connection.
	Auth bool
	// Lost counts calls whose bytes fit no message, after which the stream was picked up again.
	Lost int

	head  []byte // of the message that is being collected
	need  int    // length of its header; 0 while unknown
	start Message
	skip  int64 // bytes of the message before that are still to come
	lost  bool  // between messages: the next one is looked for at the start of a call
}

// Add takes the data of one call and appends the messages whose header is now
// as complete as it will be. Pos and at are the call's; a message keeps those of its first byte.
func (s *Stream) Add(dst []Message, bufs []Buffer, pos event.Pos, at event.Time) []Message {
	for i, b := range bufs {
		ok := true
		for ok && b.Len > 0 {
			if s.lost {
				if i > 0 {
					return dst
				}
				s.lost = !isMessageStart(b.Bytes) && !isAuth(b.Bytes)
				if s.lost {
					return dst
				}
			}
			if len(s.head) == 0 && s.skip == 0 {
				s.start = Message{Pos: pos, At: at}
			}
			dst, ok = s.takePiece(dst, &b)
		}
		if !ok {
			s.head, s.need, s.skip, s.lost = s.head[:0], 0, 0, true
			s.Lost++
			return dst
		}
	}
	return dst
}

// Peek is Add for a call that has not returned: what it would send. The stream stays as it is.
func (s *Stream) Peek(bufs []Buffer, pos event.Pos, at event.Time) []Message {
	probe := *s
	probe.head = bytes.Clone(s.head)
	return probe.Add(nil, bufs, pos, at)
}

// takePiece takes the next piece of a buffer: the rest of a message, a line of the
// handshake, a part of a header. It is false where the bytes fit nothing.
func (s *Stream) takePiece(dst []Message, b *Buffer) ([]Message, bool) {
	switch {
	case s.skip > 0:
		n := min(s.skip, b.Len)
		s.skip -= n
		b.dropBytes(n)
		return dst, true
	case len(b.Bytes) == 0: // cut off by -s
		return s.endHeader(dst, false)
	case len(s.head) == 0 && isAuth(b.Bytes):
		// a zero byte alone may come before it, or belong to another protocol
		s.Auth = s.Auth || len(b.Bytes) > 1
		n := b.Len
		if i := bytes.Index(b.Bytes, []byte("BEGIN\r\n")); i >= 0 {
			n = int64(i + 7)
		}
		b.dropBytes(n)
		return dst, true
	}
	need := fixedHeader
	if s.need > 0 {
		need = s.need
	}
	n := min(need-len(s.head), len(b.Bytes))
	s.head = append(s.head, b.Bytes[:n]...)
	b.dropBytes(int64(n))
	if len(s.head) < need {
		return dst, isHeaderStart(s.head)
	}
	if s.need == 0 {
		if !isHeaderStart(s.head) {
			return dst, false
		}
		if s.need = fixedHeader + int(byteOrder(s.head).Uint32(s.head[12:])); s.need > maxHeader {
			return dst, false
		}
		if s.need > fixedHeader {
			return dst, true
		}
	}
	return s.endHeader(dst, true)
}

func (b *Buffer) dropBytes(n int64) {
	b.Bytes = b.Bytes[min(n, int64(len(b.Bytes))):]
	b.Len -= n
}

// endHeader passes on the message whose header is as complete as it will be.
func (s *Stream) endHeader(dst []Message, whole bool) ([]Message, bool) {
	h := s.head
	if len(h) < serialEnd || !isHeaderStart(h) {
		return dst, false
	}
	m := s.start
	o := byteOrder(h)
	m.BigEndian = h[0] == 'B'
	m.Type, m.Flags, m.Body, m.Serial, m.Cut = h[1], h[2], o.Uint32(h[4:]), o.Uint32(h[8:]), !whole
	if len(h) >= fixedHeader {
		fields := int64(o.Uint32(h[12:]))
		s.skip = (fixedHeader+fields+7)&^7 + int64(m.Body) - int64(len(h))
		if !m.readFields(h[fixedHeader:], o) {
			return dst, false
		}
	}
	s.head, s.need = s.head[:0], 0
	return append(dst, m), len(h) >= fixedHeader
}

// Proven says that at least one header field was read, so that no other
// protocol's bytes look like this by chance.
func (m *Message) Proven() bool { return m.hasFields }

// readFields reads the header fields as far as they are there. It is false for bytes that are no
// fields.
func (m *Message) readFields(b []byte, o binary.ByteOrder) bool {
	for i := 0; i < len(b); i = (i + 7) &^ 7 {
		if len(b)-i < 4 {
			return m.Cut
		}
		code, kind := b[i], b[i+2]
		if b[i+1] != 1 || b[i+3] != 0 || code == 0 || int(code) < len(fieldTypes) && fieldTypes[code] != kind {
			return false
		}
		i += 4
		var value string
		var ok bool
		switch kind {
		case 'u':
			if len(b)-i < 4 {
				return m.Cut
			}
			if code == 5 {
				m.ReplySerial = o.Uint32(b[i:])
			}
			i += 4
		case 's', 'o':
			if len(b)-i < 4 {
				return m.Cut
			}
			n := int(min(o.Uint32(b[i:]), maxFields))
			if value, ok = m.readString(b[i+4:], n); !ok {
				return false
			}
			i += 4 + n + 1
		case 'g':
			if len(b) == i {
				return m.Cut
			}
			i += 1 + int(b[i]) + 1
		default:
			return false // a field that no version of the protocol has
		}
		m.hasFields = true
		m.setField(code, value)
	}
	return true
}

// fieldTypes are the types of the header fields, by code. none, PATH, INTERFACE, MEMBER,
// ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE, UNIX_FDS.
const fieldTypes = "\x00osssussgu"

// readString is a string of n bytes, or as much of it as there is.
func (m *Message) readString(b []byte, n int) (string, bool) {
	switch {
	case n < len(b):
		return string(b[:n]), b[n] == 0
	case m.Cut:
		return string(b) + "…", true
	}
	return "", false
}

func (m *Message) setField(code byte, value string) {
	texts := [...]*string{1: &m.Path, 2: &m.Interface, 3: &m.Member, 4: &m.ErrorName, 6: &m.Destination, 7: &m.Sender}
	if int(code) < len(texts) && texts[code] != nil {
		*texts[code] = value
	}
}

func byteOrder(h []byte) binary.ByteOrder {
	if h[0] == 'B' {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// isHeaderStart checks as much of a fixed header as is there.
func isHeaderStart(h []byte) bool {
	if h[0] != 'l' && h[0] != 'B' || len(h) > 1 && (h[1] < Call || h[1] > Signal) ||
		len(h) > 2 && h[2] > 7 || len(h) > 3 && h[3] != 1 {
		return false
	}
	o := byteOrder(h)
	return (len(h) < 8 || o.Uint32(h[4:]) <= maxMessage) && (len(h) < 12 || o.Uint32(h[8:]) != 0) &&
		(len(h) < 16 || o.Uint32(h[12:]) <= maxFields)
}

// isMessageStart says whether a message can begin with b.
func isMessageStart(b []byte) bool { return len(b) >= 4 && isHeaderStart(b[:min(len(b), fixedHeader)]) }

// isAuth knows the handshake: a zero byte, then lines (the D-Bus specification, "Authentication
// protocol").
func isAuth(b []byte) bool {
	if len(b) > 0 && b[0] == 0 {
		return len(b) == 1 || bytes.HasPrefix(b[1:], []byte("AUTH"))
	}
	for _, word := range [...]string{"AUTH", "NEGOTIATE_UNIX_FD\r", "BEGIN\r", "DATA", "OK ", "REJECTED", "AGREE_UNIX_FD\r", "CANCEL\r", "ERROR"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return bytes.Contains(b, []byte("\r\n")) || len(b) < len(word)+2
		}
	}
	return false
}

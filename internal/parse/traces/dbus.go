package traces

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// BusMessage is the header of one D-Bus message as it went over a connection.
// What the trace cut off (-s) is empty, or ends in "…".
type BusMessage struct {
	Type   byte // BusCall, BusReturn, BusError or BusSignal
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
	BusCall byte = 1 + iota
	BusReturn
	BusError
	BusSignal

	BusNoReply byte = 1
)

// Limits of the protocol: the D-Bus specification, "Message format".
const (
	maxBusMessage = 128 << 20
	maxBusFields  = 64 << 20
	busFixed      = 16 // bytes up to the header fields, the length of these included
	busSerialEnd  = 12 // enough to know the serial
	maxBusHeader  = 64 << 10
)

// Buffer is the data of one buffer of a traced call.
type Buffer struct {
	Bytes []byte // what the trace shows
	Len   int64  // what was moved; strace cuts strings at -s
}

// Buffers are the data that a call of the write, send, read or recv family moved, n bytes of it; n
// < 0 stands for all that is in the buffers. It knows every way in which strace writes strings.
func Buffers(name, args string, n int64) []Buffer {
	var all []Buffer
	add := func(s string, cut bool, size int64) {
		b := stringBytes(s)
		if !cut {
			size = int64(len(b))
		}
		if n >= 0 {
			size = min(size, n)
			n -= size
		}
		all = append(all, Buffer{Bytes: b[:min(int64(len(b)), size)], Len: size})
	}
	_, rest, ok := ReadDescriptor(args)
	if !ok {
		return nil
	}
	if !strings.Contains(name, "msg") && !strings.HasSuffix(name, "v") {
		if s, tail, ok := cutString(rest); ok {
			after, cut := strings.CutPrefix(tail, "...")
			add(s, cut, firstNumber(after))
		}
		return all
	}
	for len(all) < maxBuffers {
		_, at, ok := strings.Cut(rest, "iov_base=")
		if !ok {
			break
		}
		rest = at
		s, tail, ok := cutString(at)
		if !ok || at[0] != '"' {
			continue // an address: nothing was moved
		}
		after, cut := strings.CutPrefix(tail, "...")
		_, size, _ := strings.Cut(after[:min(len(after), 40)], "iov_len=")
		add(s, cut, firstNumber(size))
		rest = after
	}
	return all
}

// maxBuffers bounds the buffers of one call: the kernel's UIO_MAXIOV.
const maxBuffers = 1024

// ReadDescriptor reads the descriptor that a call works on: its number, what -y
// wrote behind it ("UNIX-STREAM:[315702->314541]", empty without), and the rest of the arguments.
func ReadDescriptor(args string) (d FD, rest string, ok bool) {
	if i := strings.IndexByte(args, '='); i > 0 && identifier([]byte(args[:i])) == i {
		args = args[i+1:] // -N
	}
	n, digits := 0, 0
	for digits < len(args) && digits < 9 && lines.IsDigit(args[digits]) {
		n = n*10 + int(args[digits]-'0')
		digits++
	}
	if digits == 0 || strings.HasPrefix(args[digits:], "x") { // none, or an address
		return FD{}, args, false
	}
	d.N, rest = n, args[digits:]
	if strings.HasPrefix(rest, "<") {
		if end := labelEnd(rest); end > 0 {
			d.Label, rest = rest[1:end-1], rest[end:]
		}
	}
	return d, rest, true
}

// FD is a file descriptor as a trace shows it.
type FD struct {
	N     int
	Label string // of -y and -yy; empty without
}

// labelEnd is the offset behind the > that closes the < at the start of s. Paths may hold both.
func labelEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			if i = lines.QuoteEnd([]byte(s), i+1); i < 0 {
				return -1
			}
		case '<':
			depth++
		case '>':
			if i > 0 && s[i-1] == '-' {
				continue
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// cutString is the inside of the first string literal of s, and what follows it. An open one
// reaches to the end.
func cutString(s string) (in, rest string, ok bool) {
	i := strings.IndexByte(s, '"')
	if i < 0 {
		return "", s, false
	}
	s = s[i+1:]
	if end := lines.QuoteEnd([]byte(s), 0); end >= 0 {
		return s[:end], s[end+1:], true
	}
	return s, "", true
}

// FirstString is the first string of the arguments with strace's escapes undone; ok is false when
// there is none.
func FirstString(args string) (s string, ok bool) {
	in, _, ok := cutString(args)
	if strings.IndexByte(in, '\\') < 0 {
		return in, ok
	}
	return string(stringBytes(in)), ok
}

// firstNumber is the first decimal number of s, which the kernel took for a length; 0 without one.
func firstNumber(s string) int64 {
	i := strings.IndexAny(s, "0123456789")
	if i < 0 {
		return 0
	}
	n, _ := lines.Digits([]byte(s[i:]))
	return int64(n)
}

// stringBytes undoes what strace does to strings: \x and two hex digits (-x, -xx),
// up to three octal digits, as few as possible, else one letter.
func stringBytes(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; {
		case c == 'x' && i+2 < len(s) && isHexDigit(s[i+1]) && isHexDigit(s[i+2]):
			out = append(out, hexValue(s[i+1])<<4|hexValue(s[i+2]))
			i += 2
		case '0' <= c && c <= '7':
			v := 0
			for n := 0; n < 3 && i < len(s) && '0' <= s[i] && s[i] <= '7'; n++ {
				v = v<<3 | int(s[i]-'0')
				i++
			}
			i--
			out = append(out, byte(v))
		default:
			if n := strings.IndexByte("fnrtv", c); n >= 0 {
				c = "\f\n\r\t\v"[n]
			}
			out = append(out, c)
		}
	}
	return out
}

func isHexDigit(c byte) bool { return lines.IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if lines.IsDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// BusStream reads one direction of a D-Bus connection out of the buffers that calls moved. Messages
// may be split over calls (sd-bus reads 24 bytes and then the rest, godbus 16 bytes, the fields,
// the body) or lie several in one; where -s cut a buffer, their sizes show where the next one
// begins. The zero value is ready for use.
type BusStream struct {
	// Auth says that the handshake of D-Bus went over the connection.
	Auth bool
	// Lost counts calls whose bytes fit no message, after which the stream was picked up again.
	Lost int

	head  []byte // of the message that is being collected
	need  int    // length of its header; 0 while unknown
	start BusMessage
	skip  int64 // bytes of the message before that are still to come
	lost  bool  // between messages: the next one is looked for at the start of a call
}

// Add takes the data of one call and appends the messages whose header is now
// as complete as it will be. Pos and at are the call's; a message keeps those of its first byte.
func (s *BusStream) Add(dst []BusMessage, bufs []Buffer, pos event.Pos, at event.Time) []BusMessage {
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
				s.start = BusMessage{Pos: pos, At: at}
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
func (s *BusStream) Peek(bufs []Buffer, pos event.Pos, at event.Time) []BusMessage {
	probe := *s
	probe.head = bytes.Clone(s.head)
	return probe.Add(nil, bufs, pos, at)
}

// takePiece takes the next piece of a buffer: the rest of a message, a line of the
// handshake, a part of a header. It is false where the bytes fit nothing.
func (s *BusStream) takePiece(dst []BusMessage, b *Buffer) ([]BusMessage, bool) {
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
	need := busFixed
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
		if s.need = busFixed + int(byteOrder(s.head).Uint32(s.head[12:])); s.need > maxBusHeader {
			return dst, false
		}
		if s.need > busFixed {
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
func (s *BusStream) endHeader(dst []BusMessage, whole bool) ([]BusMessage, bool) {
	h := s.head
	if len(h) < busSerialEnd || !isHeaderStart(h) {
		return dst, false
	}
	m := s.start
	o := byteOrder(h)
	m.BigEndian = h[0] == 'B'
	m.Type, m.Flags, m.Body, m.Serial, m.Cut = h[1], h[2], o.Uint32(h[4:]), o.Uint32(h[8:]), !whole
	if len(h) >= busFixed {
		fields := int64(o.Uint32(h[12:]))
		s.skip = (busFixed+fields+7)&^7 + int64(m.Body) - int64(len(h))
		if !m.readFields(h[busFixed:], o) {
			return dst, false
		}
	}
	s.head, s.need = s.head[:0], 0
	return append(dst, m), len(h) >= busFixed
}

// Proven says that at least one header field was read, so that no other
// protocol's bytes look like this by chance.
func (m *BusMessage) Proven() bool { return m.hasFields }

// readFields reads the header fields as far as they are there. It is false for bytes that are no
// fields.
func (m *BusMessage) readFields(b []byte, o binary.ByteOrder) bool {
	for i := 0; i < len(b); i = (i + 7) &^ 7 {
		if len(b)-i < 4 {
			return m.Cut
		}
		code, kind := b[i], b[i+2]
		if b[i+1] != 1 || b[i+3] != 0 || code == 0 || int(code) < len(busFieldTypes) && busFieldTypes[code] != kind {
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
			n := int(min(o.Uint32(b[i:]), maxBusFields))
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

// busFieldTypes are the types of the header fields, by code.
// none, PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE, UNIX_FDS
const busFieldTypes = "\x00osssussgu"

// readString is a string of n bytes, or as much of it as there is.
func (m *BusMessage) readString(b []byte, n int) (string, bool) {
	switch {
	case n < len(b):
		return string(b[:n]), b[n] == 0
	case m.Cut:
		return string(b) + "…", true
	}
	return "", false
}

func (m *BusMessage) setField(code byte, value string) {
	switch code {
	case 1:
		m.Path = value
	case 2:
		m.Interface = value
	case 3:
		m.Member = value
	case 4:
		m.ErrorName = value
	case 6:
		m.Destination = value
	case 7:
		m.Sender = value
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
	if h[0] != 'l' && h[0] != 'B' || len(h) > 1 && (h[1] < BusCall || h[1] > BusSignal) ||
		len(h) > 2 && h[2] > 7 || len(h) > 3 && h[3] != 1 {
		return false
	}
	o := byteOrder(h)
	return (len(h) < 8 || o.Uint32(h[4:]) <= maxBusMessage) && (len(h) < 12 || o.Uint32(h[8:]) != 0) &&
		(len(h) < 16 || o.Uint32(h[12:]) <= maxBusFields)
}

// isMessageStart says whether a message can begin with b.
func isMessageStart(b []byte) bool { return len(b) >= 4 && isHeaderStart(b[:min(len(b), busFixed)]) }

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

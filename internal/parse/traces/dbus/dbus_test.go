package dbus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// messageBytes is a message as a program would send it.
func messageBytes(o binary.AppendByteOrder, kind byte, serial, reply uint32, member string, body int) []byte {
	var fields []byte
	field := func(code, letter byte, value []byte) {
		for len(fields)%8 != 0 {
			fields = append(fields, 0)
		}
		fields = append(append(fields, code, 1, letter, 0), value...)
	}
	text := func(s string) []byte { return append(append(o.AppendUint32(nil, uint32(len(s))), s...), 0) }
	if reply != 0 {
		field(5, 'u', o.AppendUint32(nil, reply))
	}
	field(3, 's', text(member))
	field(8, 'g', []byte{1, 's', 0})
	field(1, 'o', text("/org/freedesktop/systemd1"))
	endian := byte('l')
	if o.AppendUint32(nil, 1)[0] == 0 {
		endian = 'B'
	}
	m := o.AppendUint32([]byte{endian, kind, 0, 1}, uint32(body))
	m = o.AppendUint32(o.AppendUint32(m, serial), uint32(len(fields)))
	m = append(m, fields...)
	for len(m)%8 != 0 {
		m = append(m, 0)
	}
	return append(m, bytes.Repeat([]byte{'l'}, body)...)
}

func conversation() []byte {
	all := []byte("\x00AUTH EXTERNAL 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n")
	all = append(all, messageBytes(binary.LittleEndian, Call, 1, 0, "Hello", 0)...)
	all = append(all, messageBytes(binary.BigEndian, Call, 2, 0, "StartTransientUnit", 77)...)
	all = append(all, messageBytes(binary.LittleEndian, Return, 0xffffffff, 9, "x", 3)...)
	return append(all, messageBytes(binary.LittleEndian, Signal, 1<<31, 0, "JobRemoved", 0)...)
}

func told(ms []Message) string {
	var out strings.Builder
	for _, m := range ms {
		fmt.Fprintf(&out, "%d %d %d %s %s %d %v;", m.Type, m.Serial, m.ReplySerial, m.Member, m.Path, m.Body, m.Cut)
	}
	return out.String()
}

// TestStreamSplits: however calls cut the stream, the messages are the same.
func TestStreamSplits(t *testing.T) {
	all := conversation()
	begin := bytes.Index(all, []byte("BEGIN")) + 7
	const want = "1 1 0 Hello /org/freedesktop/systemd1 0 false;1 2 0 StartTransientUnit /org/freedesktop/systemd1 77 false;" +
		"2 4294967295 9 x /org/freedesktop/systemd1 3 false;4 2147483648 0 JobRemoved /org/freedesktop/systemd1 0 false;"
	feed := func(s *Stream, parts ...[]byte) (ms []Message) {
		for _, p := range parts {
			ms = s.Add(ms, []Buffer{{p, int64(len(p))}}, event.Pos{}, event.Time{})
		}
		return ms
	}
	var whole Stream
	require.Equal(t, want, told(feed(&whole, all)))
	require.True(t, whole.Auth)
	for i := begin; i < len(all); i++ {
		for _, j := range []int{i, i + 1, i + 8, i + 16, i + 24, len(all)} {
			var s Stream
			j = min(j, len(all))
			require.Equal(t, want, told(feed(&s, all[:i], all[i:j], all[j:])), "%d %d", i, j)
			require.Zero(t, s.Lost)
		}
	}
}

// TestStreamCut: of what -s cut off the sizes are known, so that the next message is found.
func TestStreamCut(t *testing.T) {
	a, b := messageBytes(binary.LittleEndian, Call, 7, 0, "First", 500), messageBytes(binary.LittleEndian, Call, 8, 0, "Second", 0)
	for show := range 40 {
		var s Stream
		ms := s.Add(nil, []Buffer{{a[:show], int64(len(a))}}, event.Pos{Line: 1}, event.Time{})
		ms = s.Add(ms, []Buffer{{b, int64(len(b))}}, event.Pos{Line: 2}, event.Time{})
		require.Equal(t, uint32(8), ms[len(ms)-1].Serial)
		require.Equal(t, "Second", ms[len(ms)-1].Member)
		require.Equal(t, show >= 12, len(ms) == 2, "%d bytes are enough for the serial", show)
		require.True(t, len(ms) == 1 || ms[0].Serial == 7 && ms[0].Cut)
	}
}

// TestStreamOther: no other protocol's bytes become messages.
func TestStreamOther(t *testing.T) {
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "l\x01\x00\x02xxxxxxxxxxxxx", "\x6c\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x6e\x00\x00\x00", "B", "", "log line"} {
		var s Stream
		require.Empty(t, s.Add(nil, []Buffer{{[]byte(text), int64(len(text))}}, event.Pos{}, event.Time{}), "%q", text)
	}
}

// FuzzStream: any bytes, cut anywhere, and the messages do not depend on whether one call or two
// moved them as long as both were understood; nothing panics and little is held.
func FuzzStream(f *testing.F) {
	f.Add(conversation(), 60)
	f.Add([]byte(`l\1\0\1`), 2)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(0, min(cut, len(data)))
		var one, two Stream
		a := one.Add(nil, []Buffer{{data, int64(len(data))}}, event.Pos{}, event.Time{})
		b := two.Add(nil, []Buffer{{data[:cut], int64(cut)}}, event.Pos{}, event.Time{})
		b = two.Add(b, []Buffer{{data[cut:], int64(len(data) - cut)}}, event.Pos{}, event.Time{})
		if one.Lost == 0 && two.Lost == 0 && !one.Auth && !two.Auth {
			require.Equal(t, told(a), told(b))
		}
		require.LessOrEqual(t, len(one.head), maxHeader)
		for _, m := range a {
			require.NotZero(t, m.Serial)
		}
	})
}

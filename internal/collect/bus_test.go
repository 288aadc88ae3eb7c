package collect

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"
)

// PID 1's own socket leaves a message that came together with BEGIN unread until more comes.
func TestPingTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "private")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go lazySystemd(conn)
		}
	}()
	var out bytes.Buffer
	f := newFrames(&out)
	b := bus{asker: asker{api: "dbus", endpoint: path, bound: 5 * time.Second, out: itemWriter{f, "bus/private.jsonl"}}}
	require.True(t, b.connect(false))
	t.Cleanup(func() { b.conn.Close() })
	require.True(t, b.ping(), out.String())
}

// lazySystemd authenticates whoever comes, and answers messages, the first only once a second is
// there. It hangs up on one that could start a service.
func lazySystemd(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		answer := ""
		switch line = strings.TrimSpace(strings.TrimPrefix(line, "\x00")); {
		case line == "BEGIN":
		case strings.HasPrefix(line, "AUTH EXTERNAL"):
			answer = "OK 0123456789abcdef0123456789abcdef\r\n"
		case line == "AUTH":
			answer = "REJECTED EXTERNAL\r\n"
		default: // NEGOTIATE_UNIX_FD
			answer = "AGREE_UNIX_FD\r\n"
		}
		if answer == "" {
			break
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
	var waiting []*dbus.Message
	for {
		m, err := dbus.DecodeMessage(r)
		if err != nil || m.Flags&dbus.FlagNoAutoStart == 0 {
			return // without the flag the bus would start whom it is for
		}
		if waiting = append(waiting, m); len(waiting) < 2 {
			continue
		}
		for _, m := range waiting {
			reply := dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{dbus.FieldReplySerial: dbus.MakeVariant(m.Serial())}}
			if err := reply.EncodeTo(conn, binary.LittleEndian); err != nil {
				return
			}
		}
		waiting = waiting[1:]
	}
}

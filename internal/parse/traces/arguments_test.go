package traces

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/traces/dbus"
)

// TestStringBytes holds every escape of every strace: 4.22 shortened the octal ones.
func TestStringBytes(t *testing.T) {
	for in, want := range map[string]string{
		`plain`:             "plain",
		`l\1\0\1\"\0\0\0`:   "l\x01\x00\x01\"\x00\x00\x00",
		` \0\0\0`:           " \x00\x00\x00",
		`\t\0\0\0`:          "\t\x00\x00\x00",
		`\0001\352\377\377`: "\x001\xea\xff\xff",
		`\08\352`:           "\x008\xea",
		`\0019`:             "\x019",
		`\x6c\x01\x00B`:     "l\x01\x00B",
		`\f\n\r\v\\`:        "\f\n\r\v\\",
		`\x6`:               "x6",
		`end\`:              `end\`,
	} {
		require.Equal(t, want, string(undoEscapes(in)), in)
	}
}

func TestDescriptor(t *testing.T) {
	for in, want := range map[string]struct {
		fd   FD
		rest string
	}{
		`5, 0xc0`: {FD{5, ""}, ", 0xc0"},
		`7<UNIX-STREAM:[267374->267370,"/run/x>.sock"]>, "l"`: {FD{7, `UNIX-STREAM:[267374->267370,"/run/x>.sock"]`}, `, "l"`},
		`1</dev/null<char 1:3>>, "x"`:                         {FD{1, "/dev/null<char 1:3>"}, `, "x"`},
		`sockfd=5<socket:[9]>, buf="x"`:                       {FD{5, "socket:[9]"}, `, buf="x"`},
		`5<open`:                                              {FD{5, ""}, "<open"},
	} {
		fd, rest, ok := ReadDescriptor(in)
		require.True(t, ok)
		require.Equal(t, want.fd, fd)
		require.Equal(t, want.rest, rest)
	}
	_, _, ok := ReadDescriptor(`AT_FDCWD</>, "/etc"`)
	require.False(t, ok)
}

func TestBuffers(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		n          int64
		want       []dbus.Buffer
	}{
		{"write", `8, "ab"..., 500`, 400, []dbus.Buffer{{Bytes: []byte("ab"), Len: 400}}},
		{"write", `8, "abcd", 4`, 2, []dbus.Buffer{{Bytes: []byte("ab"), Len: 2}}},
		{"sendmsg", `3, {msg_iov=[{iov_base="ab"..., iov_len=128}, {iov_base="", iov_len=0}, {iov_base="c", iov_len=1}], msg_iovlen=3}, 0`, 129, []dbus.Buffer{{Bytes: []byte("ab"), Len: 128}, {Bytes: []byte{}, Len: 0}, {Bytes: []byte("c"), Len: 1}}},
		{"recvmsg", `3, {msg_name={sun_path="/x"}, msg_iov=[{iov_base="ab", iov_len=2048}]}, 0`, 2, []dbus.Buffer{{Bytes: []byte("ab"), Len: 2}}},
		{"recvmsg", `3, {msg_iov=[{iov_base=0x7ff, iov_len=2048}]}, 0`, 2, nil},
		{"read", `8<UNIX:[9,"/run/bus"]>, buf="l\1", count=2`, -1, []dbus.Buffer{{Bytes: []byte("l\x01"), Len: 2}}},
	} {
		require.Equal(t, tt.want, Buffers(tt.name, tt.args, tt.n), tt.args)
	}
}

// FuzzBuffers: no argument makes the readers panic.
func FuzzBuffers(f *testing.F) {
	f.Add(`8, "ab"..., 500`, 60)
	f.Add(`3, {msg_iov=[{iov_base="ab"..., iov_len=128}], msg_iovlen=3}, 0`, 2)
	f.Fuzz(func(t *testing.T, args string, n int) {
		for _, name := range []string{"sendmsg", "write"} {
			for _, b := range Buffers(name, args, int64(n)) {
				require.LessOrEqual(t, int64(len(b.Bytes)), b.Len)
			}
		}
	})
}

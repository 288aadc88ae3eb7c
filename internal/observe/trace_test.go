package observe

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
)

// unzip reads a compressed file of testdata.
func unzip(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	r, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	b, err = io.ReadAll(r)
	require.NoError(t, err)
	return b
}

// follow reads a trace as analyze does, with the calls that may matter.
func follow(t testing.TB, text []byte) (*Trace, []event.Event) {
	t.Helper()
	trace := NewTrace()
	var events []event.Event
	for _, f := range parse.Formats {
		if f.Syscalls == nil {
			continue
		}
		for call, err := range f.Syscalls(parse.Input{Path: "f", R: bytes.NewReader(text), Calls: trace.Filter()}) {
			require.NoError(t, err)
			events = trace.Call(events, call)
		}
	}
	return trace, trace.Finish(events)
}

func busTrace(t testing.TB, name string) (*Trace, []event.Event) {
	t.Helper()
	return follow(t, unzip(t, "strace/"+name+".strace.gz"))
}

// serials are the numbers of the messages that went one way, over one descriptor or any (0).
func serials(b *Bus, sent bool, fd int) (all []uint32) {
	for _, m := range b.Messages {
		if m.Sent == sent && (fd == 0 || m.Conn.FD == fd) {
			all = append(all, m.Serial)
		}
	}
	return all
}

func upTo(first, last uint32) (all []uint32) {
	for n := first; ; n++ {
		if all = append(all, n); n == last {
			return all
		}
	}
}

// TestBusTruth holds what the makers of the traces know of them (testdata/README.md).
func TestBusTruth(t *testing.T) {
	wrap := append(upTo(0xfffffffb, 0xffffffff), upTo(0x80000000, 0x80000003)...)
	for name, want := range map[string][]uint32{
		"dbus-serial-wrap.f.tt.T.yy.s256":       wrap,
		"dbus-serial-wrap.f.tt.T.default-s32":   wrap,
		"dbus-batch-one-sendmsg.f.tt.T.yy.s256": upTo(0x7ffffff0, 0x7ffffff5),
		"dbus-big-endian.f.tt.T.yy.s256":        upTo(0x01020304, 0x01020307),
		"dbus-send.f.tt.T.yy.s512":              upTo(1, 2),
		"dbus-send.f.tt.T.default-s32":          upTo(1, 2),
		"dbus-send.x.s256":                      upTo(1, 2),
		"dbus-send.xx.s256":                     upTo(1, 2),
	} {
		trace, _ := busTrace(t, name)
		require.Equal(t, want, serials(&trace.Bus, true, 0), name)
		require.Len(t, trace.Bus.Conns, 1, name)
		require.True(t, trace.Bus.Conns[0].Known, name)
	}
	t.Run("every answer of the wrapping client", func(t *testing.T) {
		trace, _ := busTrace(t, "dbus-serial-wrap.f.tt.T.yy.s256")
		for _, m := range trace.Bus.Messages {
			require.True(t, !m.Sent || m.Answer != nil && m.Answer.ReplySerial == m.Serial)
		}
		own := trace.Bus.Conns[0].Serials[0]
		require.True(t, own.Wrapped)
		require.False(t, own.Mixed)
	})
	t.Run("nothing is claimed of answers that -s cut off", func(t *testing.T) {
		for _, name := range []string{"dbus-serial-wrap.f.tt.T.default-s32", "dbus-send.f.tt.T.default-s32"} {
			trace, events := busTrace(t, name)
			require.True(t, trace.Bus.Conns[0].Unreadable)
			for _, m := range trace.Bus.Messages {
				require.False(t, m.Open(), "%s %d", name, m.Serial)
			}
			require.Empty(t, events)
		}
	})
	t.Run("systemd counts per connection", func(t *testing.T) {
		trace, _ := busTrace(t, "systemd-pid1-dbus.attach.f.tt.T.yy.s1024")
		require.Equal(t, upTo(28, 48), serials(&trace.Bus, true, 42))
		require.Equal(t, upTo(1, 19), serials(&trace.Bus, true, 20))
	})
	t.Run("the bus relays systemd's numbers", func(t *testing.T) {
		trace, _ := busTrace(t, "dbus-daemon-relaying-systemd.attach.f.tt.T.yy.s1024")
		// It reads up to 2048 bytes at once; where messages begin behind -s 1024 nobody sees them.
		got := serials(&trace.Bus, false, 9)
		require.Subset(t, upTo(28, 48), got)
		require.True(t, slices.IsSorted(got))
		require.Equal(t, []uint32{28, 48}, []uint32{got[0], got[len(got)-1]})
		relayed := 0
		for _, m := range trace.Bus.Messages {
			if m.Sent && m.Sender == ":1.0" {
				relayed++
				require.True(t, m.Serial >= 28 && m.Serial <= 48)
			}
		}
		require.NotZero(t, relayed)
	})
	t.Run("runc waits for systemd", func(t *testing.T) {
		trace, events := busTrace(t, "runc-systemd-cgroup-dbus-stall.f.tt.T.yy.s256")
		require.Equal(t, upTo(1, 4), serials(&trace.Bus, true, 8))
		require.Equal(t, upTo(1, 2), serials(&trace.Bus, true, 16))
		var start *BusMessage
		for _, m := range trace.Bus.Messages {
			if m.Member == "StartTransientUnit" {
				start = m
			}
		}
		require.Equal(t, []any{uint32(2), 2112, "org.freedesktop.systemd1"}, []any{start.Serial, start.Pos.Line, start.Destination})
		require.Equal(t, uint32(416), start.Answer.Serial)
		took, ok := start.Answered()
		require.True(t, ok)
		require.InDelta(t, 5.93, took.Seconds(), 0.02)
		require.Equal(t, []string{"dbus.call"}, kinds(events))
		member, _ := events[0].Get("member")
		require.Equal(t, "StartTransientUnit", member.Text())
		require.InDelta(t, 5.93, events[0].Duration().Seconds(), 0.02)
	})
	t.Run("a send that blocks", func(t *testing.T) {
		trace, events := busTrace(t, "dbus-write-blocked.attach.f.tt.T.yy.s64")
		last := trace.Bus.Messages[len(trace.Bus.Messages)-1]
		require.True(t, last.Blocked && last.Sent)
		require.Equal(t, "/org/freedesktop/DBus", last.Path)
		require.Subset(t, kinds(events), []string{"syscall"})
		bus, _ := events[0].Get("bus")
		require.Equal(t, "true", bus.Text())
	})
}

func kinds(events []event.Event) (all []string) {
	for i := range events {
		all = append(all, string(events[i].Kind))
	}
	return all
}

// TestNetlinkWithoutLabels: a trace without -y tells the same when it shows the socket being made.
func TestNetlinkWithoutLabels(t *testing.T) {
	const text = `9 10:00:00.000000 socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_ROUTE) = 5 <0.000010>
9 10:00:00.000100 dup3(5, 6, O_CLOEXEC) = 6 <0.000010>
9 10:00:00.000200 socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 7 <0.000010>
9 10:00:01.000000 recvfrom(7, "", 4096, 0, NULL, NULL) = 0 <4.000000>
9 10:00:06.000000 clone(child_stack=NULL, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 10 <0.000010>
10 10:00:07.000000 recvfrom(6, 0xc000, 4096, 0, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable) <4.000000>
`
	_, events := follow(t, []byte(text))
	require.Len(t, events, 1)
	netlink, _ := events[0].Get("netlink")
	require.Equal(t, "true", netlink.Text())
	require.Equal(t, 10, events[0].IDs.TID)
}

// TestPathsWithoutLabels: fsync names no path, the openat before it does.
func TestPathsWithoutLabels(t *testing.T) {
	const id = "2346f52c0b0a0f6c4b8e4d3c2b1a09f8e7d6c5b4a3928170f1e2d3c4b5a69788"
	text := `9 10:00:00.000000 openat(AT_FDCWD, "/var/lib/containerd/io.containerd.grpc.v1.cri/containers/` + id + `/.tmp-status", O_WRONLY) = 12 <0.000010>
9 10:00:01.000000 fsync(12) = 0 <9.000000>
9 10:00:10.100000 close(12) = 0 <0.000010>
`
	_, events := follow(t, []byte(text))
	require.Len(t, events, 1)
	require.Equal(t, id, events[0].IDs.Container)
}

// describeBus: line who direction type serial ← reply name destination marks.
func describeBus(b *Bus) string {
	var out strings.Builder
	for _, m := range b.Messages {
		way := "<-"
		if m.Sent {
			way = "->"
		}
		fmt.Fprintf(&out, "%d %d %s fd %d type %d serial %d reply %d %s %s %s", m.Pos.Line, m.TID, way, m.Conn.FD, m.Type, m.Serial, m.ReplySerial, m.Path, m.Name(), m.Destination)
		if d, ok := m.Answered(); ok {
			fmt.Fprintf(&out, " answered %v", d)
		}
		for _, mark := range []struct {
			set  bool
			name string
		}{{m.Open(), "open"}, {m.Unsure, "unsure"}, {m.Blocked, "blocked"}, {m.Cut, "cut"}} {
			if mark.set {
				fmt.Fprint(&out, " ", mark.name)
			}
		}
		fmt.Fprintln(&out)
	}
	for _, c := range b.Conns {
		fmt.Fprintf(&out, "conn pid %d fd %d inode %s path %s known %v\n", c.PID, c.FD, c.Inode, c.Path, c.Known)
		for _, n := range c.Serials {
			fmt.Fprintf(&out, "  %q sent %v count %d %d…%d systemd %v wrapped %v mixed %v\n", n.Sender, n.Sent, n.Count, n.First, n.Last, n.Systemd, n.Wrapped, n.Mixed)
		}
	}
	return out.String()
}

func TestBusGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/strace/*.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".strace.gz")
		t.Run(name, func(t *testing.T) {
			trace, events := busTrace(t, name)
			var got strings.Builder
			got.WriteString(describeBus(&trace.Bus))
			for i := range events {
				got.WriteString(fmt.Sprintln("event", describe(&events[i])))
			}
			golden := "testdata/strace/" + name + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String(), "accept with -update")
		})
	}
}

package syscalls

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// follow reads a trace as analyze does, with the calls that may matter.
func follow(t testing.TB, text []byte) (*Trace, []event.Event) {
	t.Helper()
	trace := NewTrace()
	var events []event.Event
	for call, err := range traces.Read(traces.Input{Input: lines.Input{Path: "f", R: bytes.NewReader(text)}, Calls: trace.Filter()}) {
		require.NoError(t, err)
		events = trace.Call(events, call)
	}
	return trace, trace.Finish(events)
}

func busTrace(t testing.TB, name string) (*Trace, []event.Event) {
	t.Helper()
	return follow(t, observetest.ReadGzip(t, filepath.Join(observetest.Testdata(t), "strace", name+".strace.gz")))
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
	for _, file := range observetest.SampleFiles(t, "strace/*.gz") {
		name := strings.TrimSuffix(filepath.Base(file), ".strace.gz")
		t.Run(name, func(t *testing.T) {
			trace, events := busTrace(t, name)
			var got strings.Builder
			got.WriteString(describeBus(&trace.Bus))
			for i := range events {
				got.WriteString(fmt.Sprintln("event", observetest.Describe(t, &events[i])))
			}
			observetest.Golden(t, "strace/"+name+".golden", got.String())
		})
	}
}

// TestWaits: a parent waits for what its descendant is blocked in, and for nothing that a bystander
// does.
func TestWaits(t *testing.T) {
	const text = `9 10:00:00.000000 clone(child_stack=NULL, flags=SIGCHLD) = 10 <0.000010>
10 10:00:00.000100 clone(child_stack=NULL, flags=SIGCHLD) = 11 <0.000010>
9 10:00:00.000200 clone(child_stack=NULL, flags=SIGCHLD) = 12 <0.000010>
11 10:00:00.000300 umount2("/run/k8s.io/2346f52c/rootfs", 0 <unfinished ...>
10 10:00:00.000400 wait4(11,  <unfinished ...>
12 10:00:00.000500 pause( <unfinished ...>
9 10:00:00.000600 wait4(-1,  <unfinished ...>
20 10:00:00.000700 wait4(12,  <unfinished ...>
13 10:00:05.000000 close(3) = 0 <0.000010>
`
	_, events := follow(t, []byte(text))
	require.Equal(t, []string{"syscall", "syscall", "syscall"}, kinds(events))
	for _, e := range events[1:] {
		for field, want := range map[event.Key]string{"waits_for": "11", "waits_in": "umount2", "name": "wait4"} {
			v, _ := e.Get(field)
			require.Equal(t, want, v.Text())
		}
	}
	require.Equal(t, []int{11, 10, 9}, []int{events[0].IDs.TID, events[1].IDs.TID, events[2].IDs.TID})
}

// convoy makes a trace of threads that wait for one lock, and of others.
func convoy(others string) string {
	var b strings.Builder
	for tid := 11; tid < 15; tid++ {
		fmt.Fprintf(&b, "9 10:00:00.000000 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = %d <0.000010>\n", tid)
	}
	for tid := 11; tid < 14; tid++ {
		fmt.Fprintf(&b, "%d 10:00:0%d.000000 futex(0x55e0, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>\n", tid, tid-10)
	}
	return b.String() + others + "77 10:00:09.000000 close(3) = 0 <0.000010>\n"
}

// TestConvoy: who may hold a lock is said only where one thread is left that can be stuck with it.
func TestConvoy(t *testing.T) {
	const (
		stuck  = "14 10:00:00.500000 fsync(7 <unfinished ...>\n"
		second = "9 10:00:00.600000 fdatasync(8 <unfinished ...>\n"
		reader = "9 10:00:00.600000 recvfrom(8,  <unfinished ...>\n"
		parked = "9 10:00:00.600000 futex(0x66, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>\n"
		born   = "9 10:00:00.700000 clone(child_stack=NULL, flags=SIGCHLD) = 30 <0.000010>\n"
		other  = "30 10:00:00.800000 fsync(9 <unfinished ...>\n"
	)
	for name, tt := range map[string]struct {
		others string
		holder int
	}{
		"one":                        {stuck, 14},
		"and an idle reader":         {stuck + reader, 14},
		"and a parked thread":        {stuck + parked, 14},
		"and another process":        {stuck + born + other, 14},
		"two":                        {stuck + second, 0},
		"only a reader":              {reader, 0},
		"only another process's":     {born + other, 0},
		"nobody":                     {"", 0},
		"a thread without open call": {"14 10:00:01.500000 getpid() = 9 <0.000010>\n", 0},
	} {
		trace, events := follow(t, []byte(convoy(tt.others)))
		require.Len(t, trace.Convoys, 1, name)
		v := trace.Convoys[0]
		require.Equal(t, tt.holder, v.Holder, name)
		require.Equal(t, []int{11, 12, 13}, v.Waiters, name)
		require.Equal(t, "0x55e0", v.Address)
		require.Contains(t, kinds(events), "futex.convoy")
	}
	for name, text := range map[string]string{
		"two waiters":      strings.ReplaceAll(convoy(stuck), "13 10:00:03.000000 futex(0x55e0", "13 10:00:03.000000 futex(0x77"),
		"a condition":      strings.ReplaceAll(convoy(stuck), "PRIVATE, 2,", "PRIVATE, 8,"),
		"parked Go thread": strings.ReplaceAll(convoy(stuck), "PRIVATE, 2,", "PRIVATE, 0,"),
	} {
		trace, _ := follow(t, []byte(text))
		require.Empty(t, trace.Convoys, name)
	}
	trace, _ := follow(t, []byte(strings.ReplaceAll(convoy(stuck), "FUTEX_WAIT_PRIVATE, 2, NULL", "FUTEX_LOCK_PI_PRIVATE, 0, NULL")))
	require.Len(t, trace.Convoys, 1)
}

// cookies makes a trace of PID 1 that sends signals on the system bus with these serials, so many
// seconds apart.
func cookies(path string, step time.Duration, serials ...uint32) string {
	var b strings.Builder
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for _, n := range serials {
		fmt.Fprintf(&b, `1 %d.000000 sendmsg(42<UNIX-STREAM:[100->200,"%s"]>, {msg_iov=[{iov_base="l\4\1\1\0\0\0\0\%03o\%03o\%03o\%03o)\0\0\0\2\1s\0 \0\0\0org.freedesktop.systemd1.Manager\0\0\0\0\0\0\0\0", iov_len=64}], msg_iovlen=1}, MSG_NOSIGNAL) = 64 <0.000010>`+"\n",
			at.Unix(), path, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		at = at.Add(step)
	}
	return b.String()
}

// TestCookieForecast: a rate is measured on systemd's own numbers, over a minute at least.
func TestCookieForecast(t *testing.T) {
	const bus = "/run/dbus/system_bus_socket"
	forecast := func(text string) (e event.Event, ok bool) {
		_, events := follow(t, []byte(text))
		for i := range events {
			if events[i].Kind == event.KindCookie {
				require.False(t, ok, "one forecast")
				e, ok = events[i], true
			}
		}
		return e, ok
	}
	e, ok := forecast(cookies(bus, time.Minute, 4_000_000_000, 4_000_000_100, 4_000_000_300))
	require.True(t, ok)
	for field, want := range map[event.Key]float64{
		"cookie": 4_000_000_300, "first": 4_000_000_000, "rate": 2.5, "duration": 120, "left": (1<<32 - 4_000_000_300) / 2.5,
	} {
		v, ok := e.Get(field)
		require.True(t, ok, field)
		got, _ := v.Number()
		require.InDelta(t, want, got, 0.01, field)
	}
	require.Len(t, e.Evidence, 2)
	require.Contains(t, e.Text, "216000 more a day in the 2m0s of the trace")
	for name, text := range map[string]string{
		"too short":            cookies(bus, 10*time.Second, 4_000_000_000, 4_000_000_100),
		"a client of its own":  cookies("/run/systemd/private", time.Hour, 4_000_000_000, 4_000_000_100),
		"has wrapped":          cookies(bus, time.Hour, 1<<32-1, 1<<31),
		"somebody else's":      strings.ReplaceAll(cookies(bus, time.Hour, 4_000_000_000, 4_000_000_100), "systemd1.Manager", "PolicyKit1.Manag"),
		"not in a century":     cookies(bus, 10*time.Hour, 100, 101),
		"no longer one sender": cookies(bus, time.Hour, 4_000_000_100, 4_000_000_000, 4_000_000_200),
	} {
		_, ok := forecast(text)
		require.False(t, ok, name)
	}
	e, ok = forecast(cookies(bus, time.Second, 4_200_000_000, 4_200_000_100))
	require.True(t, ok, "near the end it counts without a rate")
	_, ok = e.Get("rate")
	require.False(t, ok)
}

// TestPathsOfContainers: the calls by which runtimes write their state name the container in many
// ways.
func TestPathsOfContainers(t *testing.T) {
	const id = "2346f52c0b0a0f6c4b8e4d3c2b1a09f8e7d6c5b4a3928170f1e2d3c4b5a69788"
	const dir = "/var/lib/containerd/io.containerd.grpc.v1.cri/containers/" + id
	for _, line := range []string{
		`rename("` + dir + `/.tmp-status", "` + dir + `/status") = 0 <9.0>`,
		`renameat(AT_FDCWD, "` + dir + `/.tmp-status", AT_FDCWD, "` + dir + `/status") = 0 <9.0>`,
		`renameat2(AT_FDCWD<` + dir + `>, ".tmp-status", AT_FDCWD<` + dir + `>, "status", 0) = 0 <9.0>`,
		`renameat(12<` + dir + `>, ".tmp-status", 12<` + dir + `>, "status") = 0 <9.0>`,
		`fsync(12<` + dir + `/.tmp-status>) = 0 <9.0>`,
		`fdatasync(12<` + dir + `/.tmp-status>(deleted)) = 0 <9.0>`,
		`syncfs(12<` + dir + `>) = 0 <9.0>`,
		`umount2("/run/containerd/io.containerd.runtime.v2.task/k8s.io/` + id + `/rootfs", MNT_DETACH) = 0 <9.0>`,
		`umount2("rootfs", UMOUNT_NOFOLLOW <unfinished ...>`,
	} {
		_, events := follow(t, []byte("9 10:00:00.000000 "+line+"\n"))
		require.Len(t, events, 1, line)
		if strings.Contains(line, id) {
			require.Equal(t, id, events[0].IDs.Container, line)
		} else {
			require.Empty(t, events[0].IDs.Container, line)
		}
	}
}

// TestUpperBounds: without -T, a call on one line was over before the next line.
func TestUpperBounds(t *testing.T) {
	const text = `9 10:00:00.000000 fsync(3) = 0
9 10:00:02.000000 close(3) = 0
9 10:00:02.000010 fsync(4) = 0
 > /lib/libc.so.6(fsync+0x1a) [0x8595a]
9 10:00:03.000010 --- SIGCHLD {si_signo=SIGCHLD} ---
9 10:00:03.000020 fsync(5) = 0
10 10:00:03.000030 read(0,  <unfinished ...>
9 10:00:09.000000 fsync(6) = 0
9 10:00:09.000001 close(6) = 0
9 10:00:09.100000 nanosleep({tv_sec=5, tv_nsec=0}, NULL) = 0
9 10:00:14.200000 close(7) = 0
`
	sum := NewSummary("f", traces.Form{})
	for call, err := range traces.Read(traces.Input{Input: lines.Input{Path: "f", R: strings.NewReader(text)}, Calls: sum.Filter()}) {
		require.NoError(t, err)
		sum.Add(call)
	}
	sum.Finish(lines.Stats{})
	var got []string
	for _, c := range sum.Slow {
		require.Equal(t, c.Duration, c.AtMost)
		got = append(got, fmt.Sprintf("%s(%s) %v", c.Name, c.Args, c.Duration))
	}
	require.Equal(t, []string{"fsync(3) 2s", "fsync(4) 1s"}, got)
}

// TestHandshake: a bus that is not read from shows at the handshake first.
func TestHandshake(t *testing.T) {
	const begun = `9 10:00:00.000000 connect(3, {sa_family=AF_UNIX, sun_path="/run/dbus/system_bus_socket"}, 29) = 0 <0.000010>
9 10:00:01.000000 write(3, "\0AUTH EXTERNAL 30\r\n", 19) = 19 <0.000010>
9 10:00:01.000100 read(3, 0xc000, 16) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>
`
	const answered = `9 10:00:04.000000 read(3, "OK 10af13f2\r\n", 4096) = 13 <0.000010>
`
	const other = `9 10:00:09.000000 getpid() = 9 <0.000010>
`
	for text, want := range map[string]string{begun + answered + other: "3.00001s", begun + other: "8.00001s"} {
		trace, events := follow(t, []byte(text))
		require.Equal(t, []string{"dbus.call"}, kinds(events))
		require.Equal(t, want, events[0].Duration().Round(10*time.Microsecond).String())
		require.Equal(t, text == begun+other, events[0].Open)
		require.Equal(t, "/run/dbus/system_bus_socket", trace.Bus.Conns[0].Path)
		member, _ := events[0].Get("member")
		require.Equal(t, "AUTH", member.Text())
	}
	_, events := follow(t, []byte(strings.ReplaceAll(begun, "read(", "dup(")+other))
	require.Empty(t, events, "nothing that could bring an answer was traced")
	_, events = follow(t, []byte(strings.ReplaceAll(strings.ReplaceAll(begun, `\0AUTH EXTERNAL 30\r\n", 19) = 19`, `\0", 1) = 1`), "dbus/system_bus_socket", "x")+other))
	require.Empty(t, events, "a zero byte is no handshake")
}

// TestInitError: what runc init wrote before it ended is the same event as in the log of whoever
// ran it; what another program writes is none.
func TestInitError(t *testing.T) {
	const last = `write(2, "standard_init_linux.go:207: init seccomp caused: error loading seccomp filter into kernel: loading seccomp filter: invalid argument\n", 132) = 132`
	_, events := follow(t, []byte("strace: Process 20950 attached\n"+last+"\n+++ exited with 1 +++\n"))
	require.Len(t, events, 1)
	require.Equal(t, event.KindRuncFailed, events[0].Kind)
	require.Equal(t, "seccomp", events[0].FieldText(event.FieldReason))
	require.Equal(t, "true", events[0].FieldText(event.FieldFirstCall))
	require.Equal(t, last, events[0].Evidence[0].Text)
	require.Empty(t, event.Undeclared(&events[0]))
	for _, other := range []string{
		`write(2, "standard_init_linux.go:228: exec user process caused: exec format error\n", 74) = 74`,
		`write(21, "x_linux.go:207: init seccomp caused: error\n", 132) = 132`,
	} {
		_, events := follow(t, []byte("strace: Process 20950 attached\n"+other+"\n"))
		require.Empty(t, events, other)
	}
}

// TestLooksThatDoNotReturn holds that a trace which ends in a look at a file, or at the memory of
// another process, says so, and that one which ends in a read of anything else does not.
func TestLooksThatDoNotReturn(t *testing.T) {
	for text, want := range map[string]string{
		"stat(\"/var/lib/kubelet/pods/1/volumes/kubernetes.io~nfs/a\", ":                                                   "stat of /var/lib/kubelet/pods/1/volumes/kubernetes.io~nfs/a has not returned",
		"stat(\"/etc\", {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0\nbrk(NULL) = 0x1d1f000\nbrk(0x1d42000) = 0x1d42000": "",
		"open(\"/proc/20262/cmdline\", O_RDONLY) = 6\nread(6, ":                                                            "read of /proc/20262/cmdline has not returned",
		"open(\"/proc/20262/status\", O_RDONLY) = 6\nread(6, ":                                                             "",
	} {
		_, events := follow(t, []byte("close(3) = 0\n"+text))
		var said []string
		for i := range events {
			said = append(said, events[i].Text)
		}
		require.Equal(t, want, strings.Join(said, "; "), "%s", text)
	}
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"
)

// The generated trace: a containerd-shim and its runtime, both Go programs, under strace -f -tt -T
// -yy -s 256, in the shapes and about the proportions of real ones (a third futex and nanosleep,
// two calls in five interrupted by another thread's line), with one umount2 that lasts for 40 % of
// the trace, and calls to systemd over D-Bus.

// hungCall is the call that must be the first of the slowest.
const hungCall = "umount2"

// traceFiles are one trace, which grows in threads and connections of D-Bus, too.
func traceFiles(size int64, seed uint64) []textFile {
	const (
		full        = 500 * mega
		threads     = 5000
		connections = 300
	)
	return []textFile{{"node-1/runtime.strace", func(w io.Writer) error {
		return generateTrace(w, size, seed, max(24, int(threads*size/full)), max(1, int(connections*size/full)))
	}}}
}

// writeTrace writes the trace of a small runtime, of size bytes, to a file of its own.
func writeTrace(path string, size int64, seed uint64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return generateTrace(f, size, seed, 24, 1)
}

// tracee is the state of the generator.
type tracee struct {
	*rand.Rand
	out     *bufio.Writer
	written int64
	now     time.Time
	threads []traceThread
	serials []uint32 // of each connection of D-Bus
}

type traceThread struct {
	end   string // of the open call: what its resumed line says; empty without one
	name  string
	since time.Time
}

// generateTrace writes a trace of so many threads and connections of D-Bus. The same arguments give
// the same bytes.
func generateTrace(w io.Writer, size int64, seed uint64, threads, connections int) error {
	t := &tracee{
		Rand: rand.New(rand.NewPCG(seed, 7)), out: bufio.NewWriterSize(w, 1<<16), now: dayStart.Add(9 * time.Hour),
		threads: make([]traceThread, threads), serials: make([]uint32, connections),
	}
	const victimThread = 0
	t.threads[victimThread].end = "-" // waits for its turn
	hung, freed := false, false
	for t.written < size {
		t.now = t.now.Add(time.Duration(3+t.IntN(50)) * time.Microsecond)
		switch i := 1 + t.IntN(len(t.threads)-1); {
		case !hung && t.written > size/10*4:
			hung = true
			t.beginCall(victimThread, hungCall, `"/run/containerd/io.containerd.runtime.v2.task/k8s.io/`+victim+`/rootfs", 0`, "0", ") = ")
		case hung && !freed && t.written > size/10*8:
			freed = true
			t.resumeCall(victimThread)
		case t.threads[i].end != "":
			t.resumeCall(i)
		default:
			t.writeCall(i)
		}
	}
	return t.out.Flush()
}

// writeStamp starts a line.
func (t *tracee) writeStamp(i int) {
	// Flush has the error
	n, _ := fmt.Fprintf(t.out, "%-5d %s ", 41227+i, t.now.Format("15:04:05.000000"))
	t.written += int64(n)
}

func (t *tracee) writeParts(parts ...string) {
	for _, s := range parts {
		n, _ := t.out.WriteString(s)
		t.written += int64(n)
	}
}

// beginCall writes a call whose end comes later.
func (t *tracee) beginCall(i int, name, in, result, out string) {
	t.writeStamp(i)
	t.writeParts(name, "(", in, " <unfinished ...>\n")
	t.threads[i] = traceThread{end: out + result, name: name, since: t.now}
}

func (t *tracee) resumeCall(i int) {
	th := &t.threads[i]
	t.writeStamp(i)
	t.writeParts("<... ", th.name, " resumed>", th.end, fmt.Sprintf(" <%.6f>\n", t.now.Sub(th.since).Seconds()))
	th.end = ""
}

// writeCall writes the next call of a thread, the whole of it or its first half.
func (t *tracee) writeCall(i int) {
	name, in, out, result := traceCalls[t.IntN(len(traceCalls))](t)
	if t.IntN(5) < 2 {
		t.beginCall(i, name, in, result, out)
		return
	}
	t.writeStamp(i)
	t.writeParts(name, "(", in, out, result, fmt.Sprintf(" <0.%06d>\n", 2+t.IntN(60)))
}

// traceCalls give name, arguments of entry, arguments of exit, and result. What is common is there
// several times.
var traceCalls = func() (all []func(*tracee) (name, in, out, result string)) {
	for _, c := range []struct {
		share int
		call  func(*tracee) (name, in, out, result string)
	}{
		{20, func(t *tracee) (string, string, string, string) {
			return "futex", fmt.Sprintf("0xc000%06x, FUTEX_WAIT_PRIVATE, 0, NULL", t.IntN(1<<24)), ") = ", "0"
		}},
		{10, func(t *tracee) (string, string, string, string) {
			return "futex", fmt.Sprintf("0xc000%06x, FUTEX_WAKE_PRIVATE, 1", t.IntN(1<<24)), ") = ", "1"
		}},
		{15, func(*tracee) (string, string, string, string) {
			return "nanosleep", "{tv_sec=0, tv_nsec=20000}, ", "NULL) = ", "0"
		}},
		{8, func(t *tracee) (string, string, string, string) {
			return "epoll_pwait", "4<anon_inode:[eventpoll]>, ", fmt.Sprintf("[{events=EPOLLIN, data={u32=%d, u64=139902796802152}}], 128, 0, NULL, 0) = ", t.IntN(1<<30)), "1"
		}},
		{6, func(t *tracee) (string, string, string, string) {
			return "read", fmt.Sprintf("%d<pipe:[%d]>, ", 9+t.IntN(9), 267000+t.IntN(99)), `"time=\"2026-11-19T09:00:00Z\" level=info msg=\"listening\"\n", 4096) = `, "56"
		}},
		{6, func(t *tracee) (string, string, string, string) {
			return "write", fmt.Sprintf(`%d</run/log.json>, "{\"level\":\"debug\",\"msg\":\"step %d of the start\",\"time\":\"2026-11-19T09:00:00Z\"}\n", 81`, 9+t.IntN(9), t.IntN(99)), ") = ", "81"
		}},
		{5, func(t *tracee) (string, string, string, string) {
			p := fmt.Sprintf("/sys/fs/cgroup/cpu/kubepods/pod%08x/cpu.cfs_quota_us", t.Uint32())
			return "openat", `AT_FDCWD</>, "` + p + `", O_RDONLY|O_CLOEXEC`, ") = ", "12<" + p + ">"
		}},
		{5, func(*tracee) (string, string, string, string) { return "close", "12</etc/passwd>", ") = ", "0" }},
		{5, func(*tracee) (string, string, string, string) {
			return "newfstatat", `AT_FDCWD</>, "/run/containerd/io.containerd.runtime.v2.task", {st_mode=S_IFDIR|0711, st_size=80, ...}, 0`, ") = ", "0"
		}},
		{6, func(*tracee) (string, string, string, string) {
			return "rt_sigprocmask", "SIG_SETMASK, ~[], ", "[], 8) = ", "0"
		}},
		{5, func(*tracee) (string, string, string, string) {
			return "fcntl", "8<UNIX-STREAM:[425874->430369]>, F_GETFL", ") = ", "0x802 (flags O_RDWR|O_NONBLOCK)"
		}},
		{3, func(*tracee) (string, string, string, string) {
			return "recvmsg", "8<UNIX-STREAM:[425874->430369]>, ", "{msg_namelen=112}, MSG_CMSG_CLOEXEC) = ", "-1 EAGAIN (Resource temporarily unavailable)"
		}},
		{3, func(t *tracee) (string, string, string, string) {
			return "mmap", "NULL, 262144, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0", ") = ", fmt.Sprintf("0x7f%010x", t.Uint32())
		}},
		{1, (*tracee).busCall},
	} {
		for range c.share {
			all = append(all, c.call)
		}
	}
	return all
}()

// busCall is a message as godbus writes it: a header with the next serial, then its fields. It
// wants no answer.
func (t *tracee) busCall() (name, in, out, result string) {
	c := t.IntN(len(t.serials))
	t.serials[c]++
	serial := t.serials[c] + 1
	return "write", fmt.Sprintf(`8<UNIX-STREAM:[%d->%d]>, "l\1\1\1\0\0\0\0\%03o\%03o\%03o\0i\0\0\0`+
		`\1\1o\0\31\0\0\0/org/freedesktop/systemd1\0\0\0\0\0\0\0\3\1s\0\22\0\0\0StartTransientUnit\0\0\0\0\0\0`+
		`\6\1s\0\30\0\0\0org.freedesktop.systemd1\0\0\0\0\0\0\0\0", 128`,
		425874+2*c, 430369+2*c, byte(serial), byte(serial>>8), byte(serial>>16)), ") = ", "128"
}

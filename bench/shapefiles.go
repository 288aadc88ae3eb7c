package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// dumpFiles are dumps of containerd, one every ten minutes, of 5 000 goroutines each: the handlers
// of requests, most of which wait for one lock.
func dumpFiles(size int64, seed uint64) (files []textFile) {
	const (
		goroutines = 5000
		each       = 5_500_000 // bytes of a dump, about
	)
	for i := range max(1, int(size/each)) {
		at := dayStart.Add(time.Duration(i) * 10 * time.Minute)
		files = append(files, textFile{
			fmt.Sprintf("node-1/containerd.%s.goroutines.txt", at.Format("20060102-150405")),
			func(w io.Writer) error {
				return writeDump(w, min(goroutines, int(size/(each/goroutines))), rand.New(rand.NewPCG(seed, uint64(i))))
			},
		})
	}
	return files
}

// writeDump writes what a Go program prints on SIGQUIT or at /debug/pprof/goroutine?debug=2.
func writeDump(w io.Writer, goroutines int, r *rand.Rand) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprint(out, dumpingGoroutine) // Flush has the error
	for i := range goroutines {
		kind := dumpedGoroutines[r.IntN(len(dumpedGoroutines))]
		wait := ""
		if minutes := r.IntN(90); minutes > 0 {
			wait = fmt.Sprintf(", %d minutes", minutes)
		}
		fmt.Fprintf(out, "goroutine %d [%s%s]:\n", i+1, kind.state, wait)
		object := 0xc000000000 + uint64(r.IntN(1<<24))*16
		if kind.lock {
			object = 0xc000130f80 + uint64(r.IntN(20))*0x40
		}
		for _, f := range kind.frames {
			fmt.Fprintf(out, "%s(0x%x, 0x%x)\n\t%s +0x%x\n", f[0], object, r.Uint32(), f[1], r.IntN(4000))
		}
		fmt.Fprintf(out, "created by google.golang.org/grpc.(*Server).serveStreams.func1 in goroutine %d\n"+
			"\t/go/src/google.golang.org/grpc/server.go:932 +0x28a\n\n", 1+r.IntN(goroutines))
	}
	return out.Flush()
}

// dumpingGoroutine is the one that writes the dump, which comes first and runs.
const dumpingGoroutine = "goroutine 9999 [running]:\n" +
	"github.com/containerd/containerd/cmd/containerd/command.dumpStacks(0x1)\n" +
	"\t/go/src/github.com/containerd/containerd/cmd/containerd/command/main_unix.go:89 +0x8b\n\n"

// dumpedGoroutines are the stacks of a dump; what is common is there several times.
var dumpedGoroutines = func() (all []dumpedGoroutine) {
	served := [][2]string{
		{"github.com/containerd/containerd/pkg/cri/server.(*instrumentedService).ListContainers", "/go/src/github.com/containerd/containerd/pkg/cri/server/instrumented_service.go:452"},
		{"k8s.io/cri-api/pkg/apis/runtime/v1._RuntimeService_ListContainers_Handler", "/go/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.pb.go:9431"},
		{"google.golang.org/grpc.(*Server).processUnaryRPC", "/go/src/google.golang.org/grpc/server.go:1282"},
		{"google.golang.org/grpc.(*Server).handleStream", "/go/src/google.golang.org/grpc/server.go:1619"},
	}
	withServed := func(frames ...[2]string) [][2]string { return append(frames, served...) }
	for _, g := range []struct {
		share int
		dumpedGoroutine
	}{
		{6, dumpedGoroutine{"sync.RWMutex.RLock", true, withServed(
			[2]string{"sync.runtime_SemacquireRWMutexR", "/usr/local/go/src/runtime/sema.go:82"},
			[2]string{"sync.(*RWMutex).RLock", "/usr/local/go/src/sync/rwmutex.go:71"},
			[2]string{"github.com/containerd/containerd/pkg/cri/store/container.(*statusStorage).Get", "/go/src/github.com/containerd/containerd/pkg/cri/store/container/status.go:217"},
		)}},
		{2, dumpedGoroutine{"select", false, withServed(
			[2]string{"github.com/containerd/ttrpc.(*Client).dispatch", "/go/src/github.com/containerd/ttrpc/client.go:379"},
			[2]string{"github.com/containerd/ttrpc.(*Client).Call", "/go/src/github.com/containerd/ttrpc/client.go:125"},
			[2]string{"github.com/containerd/containerd/runtime/v2/task.(*taskClient).Update", "/go/src/github.com/containerd/containerd/runtime/v2/task/shim_ttrpc.pb.go:311"},
			[2]string{"github.com/containerd/containerd/pkg/cri/store/container.(*statusStorage).UpdateSync", "/go/src/github.com/containerd/containerd/pkg/cri/store/container/status.go:231"},
		)}},
		{2, dumpedGoroutine{"IO wait", false, [][2]string{
			{"internal/poll.runtime_pollWait", "/usr/local/go/src/runtime/netpoll.go:305"},
			{"internal/poll.(*pollDesc).wait", "/usr/local/go/src/internal/poll/fd_poll_runtime.go:84"},
			{"net.(*conn).Read", "/usr/local/go/src/net/net.go:183"},
		}}},
	} {
		for range g.share {
			all = append(all, g.dumpedGoroutine)
		}
	}
	return all
}()

type dumpedGoroutine struct {
	state  string
	lock   bool // of the few that all wait for
	frames [][2]string
}

// sampleFiles are the hourly CSV files of xcapture 1.2.6 with -a: each second the threads of the
// node, most asleep, some in D state. A day of them has about 10 million rows.
func sampleFiles(size int64, seed uint64) (files []textFile) {
	const hour = 62 * mega // bytes of one hour
	for i, left := 0, size; left > 0; i, left = i+1, left-hour {
		start := dayStart.Add(time.Duration(i) * time.Hour)
		files = append(files, textFile{"node-1/" + start.Format("2006-01-02.15.csv"), func(w io.Writer) error {
			return writeSamples(w, min(hour, left), start, rand.New(rand.NewPCG(seed, uint64(i))))
		}})
	}
	return files
}

const sampledThreads = 115

func writeSamples(w io.Writer, size int64, at time.Time, r *rand.Rand) error {
	out, written := bufio.NewWriterSize(w, 1<<16), 0
	n, _ := fmt.Fprintln(out, "TS,PID,TID,USERNAME,ST,COMMAND,SYSCALL,WCHAN,EXE,CMDLINE,NSPID,KSTACK") // Flush has the error
	for written = n; int64(written) < size; at = at.Add(time.Second) {
		for thread := range sampledThreads {
			p := sampledPrograms[thread%len(sampledPrograms)]
			k := &sampledWaits[(thread/3+r.IntN(2))%len(sampledWaits)]
			n, _ := fmt.Fprintf(out, "%s,%d,%d,root,%s,(%s),%s,%s,%s,%s,4026531836,%s\n", at.Format("2006-01-02 15:04:05.000"),
				1000+thread/5, 1000+thread, k.state, p, k.call, k.wchan, p, p, k.stack)
			written += n
		}
	}
	return out.Flush()
}

var sampledPrograms = []string{"containerd", "kubelet", "containerd-shim", "dockerd", "runc:[2:INIT]", "kworker/u8:3"}

var sampledWaits = []struct{ state, call, wchan, stack string }{
	{"S", "futex", "futex_wait_queue", "->__x64_sys_futex()->do_futex()->futex_wait()->futex_wait_queue()"},
	{"S", "epoll_pwait", "do_epoll_wait", "->__x64_sys_epoll_pwait()->do_epoll_pwait()->do_epoll_wait()"},
	{"S", "wait4", "do_wait", "->kernel_wait4()->do_wait()"},
	{"R", "[running]", "0", "-"},
	{"D", "umount2", "wb_wait_for_completion", "->task_work_run()->cleanup_mnt()->ovl_sync_fs()->sync_inodes_sb()->wb_wait_for_completion()"},
	{"S", "read", "pipe_read", "->ksys_read()->vfs_read()->pipe_read()"},
}

// findingFiles are the logs of the ordinary day with 1 000 pairs of lines that rules join.
func findingFiles(size int64, seed uint64) []textFile {
	pairs := max(5, int(1000*size/(300*mega)))
	kubelet, containerd := nodeIncident(incidentStart, victim)
	var volumes []moment
	for i := range pairs {
		at := dayStart.Add(time.Duration(float64(day) * (float64(i) + 0.3) / float64(pairs)))
		for _, what := range []string{"lost", "restored"} {
			volumes = append(volumes, moment{at, fmt.Sprintf("acme-vold[812]: backend %d of vol-%d %s", i%joinRules, i, what)})
			at = at.Add(10 * time.Second)
		}
	}
	return logFiles(size, seed, day, []logFile{
		{"node-1/kubelet.log", 54, kubeletEntry, kubeletLine, kubelet},
		{"node-1/containerd.log", 36, containerdEntry, containerdLine, containerd},
		{"node-1/messages", 10, shortEntry, messagesLine, volumes},
	})
}

// joinRules is how many rules join the lines of findingFiles.
const joinRules = 160

func writeJoinRules(dir string) error {
	for i := range joinRules {
		text := fmt.Sprintf(`id: acme-volume-%[1]d
title: acme-vold loses the backend of a volume, sort %[1]d
role: root
per: volume
needs: [{any: [acme-vold.log], collect: journalctl -u acme-vold}]
steps:
  - {id: lost, role: cause, text: "the backend of {volume} is lost", kind: log.line,
     match: {component: acme-vold, text|captures: "backend %[1]d of {volume} lost"}}
  - {id: restored, role: recovery, text: "the backend of {volume} is back", kind: log.line,
     match: {component: acme-vold, text|captures: "backend %[1]d of {volume} restored"}}
edges:
  - {from: lost, to: restored, gap: {min: 0s, max: 1m}, relation: "ends with"}
verdict: {likely: "lost and restored", possible: lost}
headline: "acme-vold loses the backend of {volume} at {lost.start|time}"
`, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("acme-volume-%d.yaml", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// wideFiles are 200 000 small files, as a sosreport with the logs and the processes of a large node
// has them: logs of pods, files of /proc, settings, output of commands.
func wideFiles(size int64, seed uint64) (files []textFile) {
	const each = 700 // bytes of text in a file, about
	// a bundle may have 200 000 entries
	for i := range min(199_999, max(10, int(size/each))) {
		kind := wideKinds[i%len(wideKinds)]
		files = append(files, textFile{fmt.Sprintf(kind.path, i), func(w io.Writer) error {
			return kind.write(w, rand.New(rand.NewPCG(seed, uint64(i))), i)
		}})
	}
	return files
}

var wideKinds = []struct {
	path  string
	write func(w io.Writer, r *rand.Rand, i int) error
}{
	{"sosreport-node-1/var/log/pods/team_service-%d/main/0.log", func(w io.Writer, r *rand.Rand, i int) error {
		for line := range 12 {
			at := dayStart.Add(time.Duration(i+line) * time.Second / 4)
			if _, err := fmt.Fprintf(w, "%s stdout F GET /api/orders/%d status=200 took %d ms\n",
				at.Format("2006-01-02T15:04:05.000000000Z"), r.IntN(1e6), r.IntN(900)); err != nil {
				return err
			}
		}
		return nil
	}},
	{"sosreport-node-1/proc/%d/status", func(w io.Writer, r *rand.Rand, i int) error {
		_, err := fmt.Fprintf(w, "Name:\tservice\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%[1]d\nNgid:\t0\nPid:\t%[1]d\nPPid:\t1\n"+
			"TracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t64\nVmPeak:\t%[2]d kB\nVmRSS:\t%[3]d kB\nThreads:\t%[4]d\n"+
			"SigQ:\t0/95000\nCapEff:\t000001ffffffffff\nvoluntary_ctxt_switches:\t%[5]d\nnonvoluntary_ctxt_switches:\t7\n",
			i, r.IntN(1e7), r.IntN(1e6), 1+r.IntN(40), r.IntN(1e6))
		return err
	}},
	{"sosreport-node-1/sys/fs/cgroup/kubepods/pod%d/memory.stat", func(w io.Writer, r *rand.Rand, _ int) error {
		for _, name := range []string{"anon", "file", "kernel_stack", "slab", "sock", "shmem", "file_mapped", "file_dirty", "file_writeback"} {
			if _, err := fmt.Fprintf(w, "%s %d\n", name, r.IntN(1e9)); err != nil {
				return err
			}
		}
		return nil
	}},
	{"sosreport-node-1/etc/service/conf.d/%d.conf", func(w io.Writer, r *rand.Rand, i int) error {
		for line := range 40 {
			if _, err := fmt.Fprintf(w, "# setting %d of service %d\noption_%d = %x\n", line, i, line, r.Uint32()); err != nil {
				return err
			}
		}
		return nil
	}},
	{"sosreport-node-1/sos_commands/networking/ip_-s_link_show_veth%d", func(w io.Writer, r *rand.Rand, i int) error {
		_, err := fmt.Fprintf(w, "%d: veth%d@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP mode DEFAULT group default\n"+
			"    link/ether 7e:%02x:%02x:09:aa:01 brd ff:ff:ff:ff:ff:ff link-netnsid 4\n    RX:  bytes packets errors dropped  missed   mcast\n"+
			"    %d %d 0 0 0 0\n", i, i, r.IntN(256), r.IntN(256), r.IntN(1e9), r.IntN(1e6))
		return err
	}},
}

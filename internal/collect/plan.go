//go:build linux

package collect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/fleet"
)

// step is one row of the plan.
type step struct {
	name    string
	touches string // files, calls, signals
	hazard  string // what could go wrong, and what prevents it
	bound   time.Duration
	newest  bool // of an item that is too large the newest part is kept
	export  bool // the journal's export format
	do      func(c *collector, s *step)
}

const (
	// rpcBound is for one call to a daemon. The kubelet itself waits two minutes.
	rpcBound = 5 * time.Second
	// dumpGap is the time between two dumps of a daemon: a goroutine that is at the same place
	// after it is stuck, not slow.
	dumpGap = 20 * time.Second
	// fileBound is for one file on a disk.
	fileBound = 2 * time.Second
	fileLimit = 1 << 20
	dumpLimit = 64 << 20
)

// steps are all steps, the most volatile and the most harmless first.
var steps = []step{
	{name: "clock", touches: "three clocks, boot id, uname", hazard: "none", do: collectClock},
	{
		name: "threads", touches: "/proc/*/task/*/{stat,wchan,syscall,stack}, /proc/*/{status,cgroup,exe}; three times",
		hazard: "locks of the kernel; each read has a time limit; never maps or environ", bound: 25 * time.Second,
		do: collectThreads,
	},
	{
		name: "node", touches: "/proc/{loadavg,meminfo,vmstat,buddyinfo,diskstats,pressure/*,…}, /proc/1/mountinfo, names of /sys/fs/pstore",
		hazard: "none known",
		bound:  10 * time.Second, do: runFixed(readTask("", 4<<20, nodeFiles)),
	},
	{
		name: "kmsg", touches: "/dev/kmsg, without waiting", hazard: "none", bound: 5 * time.Second, newest: true,
		do: runFixed(&task{
			Do: "kmsg", Bound: 5 * time.Second,
			Items: []want{{Name: "kernel/dmesg", Source: "/dev/kmsg"}},
		}),
	},
	{
		name: "cgroups", touches: "/sys/fs/cgroup: freezer, pids, memory, CPU, limits, pressure of pods, daemons, their slice and PID 1",
		hazard: "cgroup_mutex; each read has a time limit", bound: 15 * time.Second,
		do: runFixed(&task{
			Do: "cgroups", Bound: time.Second,
			Items: []want{{Name: "cgroups/values.txt", Source: "/sys/fs/cgroup"}},
		}),
	},
	{
		name: "dumps", touches: "GET /debug/pprof/goroutine?debug=2 at the sockets of containerd's debug server and dockerd, and at the kubelet, /debug/goroutines at CRI-O's; twice, 20 s apart",
		hazard: "the daemon stops while it writes the dump",
		bound:  15 * time.Second, do: collectDumps,
	},
	{
		name: "bus", touches: "D-Bus and /run/systemd/private: Hello, Peer.Ping, ListUnits", hazard: "none",
		bound: 20 * time.Second, do: collectBus,
	},
	{
		name: "runtime", touches: "CRI: Version, ListPodSandbox, ListContainers, ContainerStatus and PodSandboxStatus of each; docker: /_ping, the list of containers, each of them",
		hazard: "a call without an answer leaves a waiter in the daemon, 6 at most; for none of them a daemon starts a program",
		bound:  60 * time.Second, do: collectRuntime,
	},
	{
		name: "kubelet", touches: "GET /healthz, /metrics of the kubelet, /configz with --kubelet-token", hazard: "none", bound: 12 * time.Second,
		do: collectKubelet,
	},
	{
		name: "processes", touches: "/proc/PID/cmdline of daemons, shims and runc that have no thread in state D",
		hazard: "cmdline hangs while another thread holds mmap_lock; 0.2 s each", bound: 10 * time.Second,
		do: collectProcesses,
	},
	{
		name: "journal", touches: "journalctl -o export of kubelet, runtime, systemd, dbus, kernel; where it fails or hangs, the files in /run/log/journal and /var/log/journal",
		hazard: "reads the disk of the journal; limited in time and size, the newest part is kept",
		bound:  20 * time.Second, newest: true, export: true, do: collectJournals,
	},
	{
		name: "config", touches: "files of the kubelet's, containerd's, docker's, CRI-O's configuration, and the dates of certificates; never kubeconfig, never a key",
		hazard: "reads the root disk; 2 s each", bound: 20 * time.Second,
		do: func(c *collector, s *step) {
			c.runTask(readTask("config", fileLimit, configFiles), s)
			c.runTask(certificateTask(), s)
		},
	},
	{
		name: "fleet", touches: "zone, region, instance type and image in " + fleet.CloudInit + ", and nothing else of it; names of maker and machine in /sys/class/dmi/id",
		hazard: "none known; 2 s each", bound: 8 * time.Second,
		do: runFixed(&task{Do: "fleet", Bound: fileBound, Items: []want{
			{Name: "fleet", Source: fleet.CloudInit},
			{Name: "fleet", Source: fleet.DMIVendor},
			{Name: "fleet", Source: fleet.DMIProduct},
		}}),
	},
	{
		name: "versions", touches: "kubelet, containerd, dockerd, crio, runc, systemctl with --version",
		hazard: "starts each program", bound: 5 * time.Second, do: collectVersions,
	},
	{
		name: "mounts", touches: "statfs of mounted file systems; those of the network with --probe-remote",
		hazard: "a file server that does not answer; 1 s each", bound: 15 * time.Second, do: collectMounts,
	},
	{
		name: "signals", touches: "SIGUSR1 to containerd, dockerd, crio where no socket gave a dump; twice, 20 s apart",
		hazard: "leaves a file in /tmp or /run/docker (--remove-dumps); ends a program without a handler, so SigCgt must show one; skipped while a thread is in state D, in vfork or clone, or the process is stopped, frozen or traced, and while journald hangs",
		bound:  25 * time.Second, do: collectSignals,
	},
	{
		name: "shims", touches: "containerd-shim-runc-v2 that look stuck, 16 at most: their debug sockets (containerd 2.0 at level debug, where served), else SIGUSR1, and containerd's journal, which they write to; twice, 20 s apart",
		hazard: "as signals; skipped while containerd, which reads what they log, is stopped",
		bound:  20 * time.Second, do: collectShims,
	},
	{
		name: "dumps-again", touches: "the second round of dumps, signals and shims", hazard: "as in these steps",
		bound: 25 * time.Second, do: collectSecondDumps,
	},
	{
		name: "daemon-info", touches: "CRI: Status; docker: /version, /info",
		hazard: "dockerd runs runc and docker-init for it, a runtime can run CNI plugins: skipped when the daemon did not answer another call, docker's also when runc --version did not answer",
		bound:  20 * time.Second, do: collectDaemonInfo,
	},
	{
		name: "remove-dumps", touches: "removes the files that signals left, once they are in the bundle; only with --remove-dumps",
		hazard: "only files that were not there before the signal, have not changed since they were copied, and belong to the daemon's user",
		bound:  10 * time.Second, do: collectRemovals,
	},
	{
		name: "sysrq", touches: "writes w to /proc/sysrq-trigger and reads what the kernel logs; only with --sysrq-w",
		hazard: "a slow serial console can lock up a CPU; refused where one would print it, and above 200 threads in state D",
		bound:  8 * time.Second, do: collectSysrq,
	},
	{
		name: "strace", touches: "strace -f of one process for 5 s; only with --strace PID, or --strace suspicious: a runc or shim that looks stuck, else the runtime that does not answer",
		hazard: "slows the process down; refused when a thread is in state D, or the process is stopped or traced",
		bound:  9 * time.Second, do: collectStrace,
	},
	{
		name: "kill", touches: "SIGQUIT to the daemons of --allow-kill, then their journal", hazard: "ends the daemon",
		bound: 15 * time.Second, newest: true, export: true, do: collectKilled,
	},
}

// byProcess are the steps whose items depend on the processes that run.
var byProcess = []string{"clock", "threads", "processes", "signals", "shims", "dumps-again", "remove-dumps", "strace", "kill"}

// planSteps returns the steps that the options select.
func planSteps(opt *Options) ([]step, error) {
	known := map[string]bool{}
	for i := range steps {
		known[steps[i].name] = true
	}
	for _, name := range slices.Concat(opt.Only, opt.Skip) {
		if !known[name] {
			return nil, fmt.Errorf("no step is named %q; --dry-run lists them", name)
		}
	}
	for kind := range opt.Sockets {
		if !slices.ContainsFunc(places, func(p place) bool { return p.kind == kind }) {
			return nil, fmt.Errorf("no kind of socket is named %q", kind)
		}
	}
	var left []step
	for _, s := range steps {
		switch {
		case len(opt.Only) > 0 && !slices.Contains(opt.Only, s.name), slices.Contains(opt.Skip, s.name):
		case s.name == "signals" && opt.NoSignal, s.name == "remove-dumps" && !opt.RemoveDumps, s.name == "strace" && opt.Strace == "",
			s.name == "sysrq" && !opt.SysrqW, s.name == "kill" && len(opt.AllowKill) == 0:
		default:
			left = append(left, s)
		}
	}
	return left, nil
}

// WritePlan writes what a collection with these options would touch, with hazards and bounds. It
// touches nothing itself.
func WritePlan(w io.Writer, opt *Options) error {
	left, err := planSteps(opt)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "STEP\tBOUND\tTOUCHES\tHAZARD")
	for _, s := range left {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", s.name, s.bound, s.touches, s.hazard)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nEvery file, call and command, except those that depend on which processes run:")
	dry := collector{opt: *opt, names: map[string]int{}, hurry: make(chan struct{}), begun: moment(), deadline: moment()}
	for i := range left {
		s := &left[i]
		dry.planned = func(from want) { fmt.Fprintf(w, "%-12s %s\n", s.name, from.Source+from.Query) }
		if !slices.Contains(byProcess, s.name) {
			s.do(&dry, s)
		}
	}
	_, err = fmt.Fprintf(w,
		"\nIn total at most %s and %d MiB. Helpers that hang are killed; at most %d that cannot be killed are left behind.\n",
		opt.Timeout, opt.MaxSize>>20, maxLeft)
	return err
}

// place is an address of a daemon.
type place struct{ kind, path string }

// places are the default addresses of daemons.
var places = []place{
	{"cri", "/run/containerd/containerd.sock"},
	{"cri", "/run/crio/crio.sock"},
	{"cri", "/run/cri-dockerd.sock"},
	{"cri", "/run/k3s/containerd/containerd.sock"},
	{"docker", "/run/docker.sock"},
	{"containerd-debug", "/run/containerd/debug.sock"},
	{"dbus", "/run/dbus/system_bus_socket"},
	{"dbus", "/run/systemd/private"},
	{"kubelet", "https://127.0.0.1:10250"},
	{"kubelet", "http://127.0.0.1:10255"}, // --read-only-port, where it is on
	{"kubelet-healthz", "http://127.0.0.1:10248"},
}

// socketsOf returns the addresses of the daemons of a kind.
func (c *collector) socketsOf(kind string) []string {
	if p := c.opt.Sockets[kind]; p != "" {
		return []string{p}
	}
	var all []string
	for _, p := range places {
		if p.kind == kind {
			all = append(all, p.path)
		}
	}
	return all
}

// readme is for the person who opens the bundle.
const readme = `plegdiag collect made this bundle on node %s at %s.

manifest.json   every item: what became of it (ok, empty, denied, absent, failed, timeout, stuck, skipped, capped), when, its size and sum
clock.json      three clocks at one moment
threads.jsonl   all threads, three times: state, kernel stack, system call
proc/           load, memory, pressure and mounts of the node
kernel/         the kernel's log
cgroups/        freezer, pids, memory, CPU, limits of pods and daemons
dumps/          goroutines of the daemons, twice; dumps/earlier-… are dumps that somebody had asked for before
runtime/ bus/   calls to containerd, dockerd, CRI-O and D-Bus: how long each took, and whether there was an answer
kubelet/        what the kubelet's /healthz and /metrics answered
journal/        journals in export format: systemd-journal-remote -o FILE.journal INPUT makes journal files of them; journal/files/ where journalctl failed
config/ versions/ mounts/ processes.txt

A file that ends in .gz is compressed. %s

What this collection leaves on the node: a daemon that gave no dump through a socket is sent SIGUSR1, and writes one.
containerd      /tmp/containerd.PID.stacks.log, overwritten each time; and its log
dockerd         /run/docker/goroutine-stacks-TIME.log; old versions also daemon-data-TIME.log, with environments of containers
CRI-O           /tmp/crio-goroutine-stacks-TIME.log
shims           nothing but lines in containerd's log
dump_files in manifest.json names those that were written, and whether --remove-dumps removed them.

Read it with: plegdiag analyze BUNDLE; check it with: plegdiag verify BUNDLE
`

func collectClock(c *collector, s *step) {
	redaction := "Values of secrets were replaced by tokens, <redacted:…>; the same value has the same token everywhere in this bundle."
	if c.opt.NoRedact {
		redaction = "Nothing was redacted: arguments and logs can contain secrets."
	}
	t := readClocks()
	c.storeContent(s, "README.txt", "",
		fmt.Appendf(nil, readme, hostName(), t.Realtime.Format(time.RFC3339), redaction))
	text, err := json.Marshal(map[string]any{
		"realtime": t.Realtime, "monotonic": t.Monotonic, "boottime": t.Boottime, "boot_id": t.BootID,
		"node": hostName(),
	})
	if err == nil {
		c.storeContent(s, "clock.json", "clock_gettime(2)", append(text, '\n'))
	}
}

func collectThreads(c *collector, s *step) {
	c.runTask(&task{Do: "walk", Count: 3, Items: []want{{Name: "threads.jsonl", Source: "/proc"}}}, s)
}

// addNote keeps what a helper found for later steps.
func (c *collector) addNote(n *note) {
	switch {
	case n.Process != nil:
		c.walked.Processes = append(c.walked.Processes, *n.Process)
	case n.Container != "":
		c.walked.Containers = append(c.walked.Containers, n.Container)
	case n.Silent != "":
		c.silent = append(c.silent, n.Silent)
	case n.Signalled != 0:
		c.signalled++
	case n.Dump != nil:
		c.noteDump(n.Dump)
	case n.Fleet != nil:
		fleet.Facts(c.manifest.Fleet).Add(n.Fleet)
	case n.Mute != "":
		c.mute[n.Mute] = true
	}
	c.waits += n.Unanswered
}

// runFixed makes a step of a task that is the same on every node.
func runFixed(t *task) func(c *collector, s *step) {
	return func(c *collector, s *step) { c.runTask(t, s) }
}

// readTask reads files, each up to a limit. The items have the paths of their files, below dir.
func readTask(dir string, limit int, paths []string) *task {
	t := &task{Do: "files", Bound: fileBound, Limit: limit}
	for _, p := range paths {
		t.Items = append(t.Items, want{Name: strings.TrimPrefix(path.Join(dir, p), "/"), Source: p})
	}
	return t
}

// nodeFiles are the files of the kernel that say how the node does.
var nodeFiles = []string{
	"/proc/loadavg", "/proc/meminfo", "/proc/vmstat", "/proc/buddyinfo", "/proc/diskstats", "/proc/softirqs",
	"/proc/interrupts",
	"/proc/cgroups", "/proc/uptime", "/proc/version", "/proc/stat", "/proc/consoles",
	"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max", "/proc/sys/kernel/tainted",
	"/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory", "/proc/pressure/irq", "/proc/1/mountinfo",
	"/sys/fs/pstore/*",
}

// configFiles are the configurations of the kubelet and the runtimes.
var configFiles = []string{
	"/etc/os-release", "/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env",
	"/var/lib/kubelet/cpu_manager_state",
	"/var/lib/kubelet/memory_manager_state", "/etc/default/kubelet", "/etc/sysconfig/kubelet",
	"/etc/kubernetes/kubelet/config.json",
	"/etc/systemd/system/kubelet.service", "/usr/lib/systemd/system/kubelet.service",
	"/etc/systemd/system/kubelet.service.d/*", "/usr/lib/systemd/system/kubelet.service.d/*",
	"/etc/systemd/system/containerd.service", "/usr/lib/systemd/system/containerd.service",
	"/etc/systemd/system/containerd.service.d/*", "/etc/containerd/config.toml", "/etc/containerd/conf.d/*",
	"/etc/docker/daemon.json", "/usr/lib/systemd/system/docker.service", "/etc/systemd/system/docker.service.d/*",
	"/etc/systemd/system/crio.service", "/usr/lib/systemd/system/crio.service", "/etc/systemd/system/crio.service.d/*",
	"/etc/crio/crio.conf", "/etc/crio/crio.conf.d/*", "/etc/systemd/journald.conf",
}

// dumpRound is a dump that there will be a second one of.
type dumpRound struct {
	daemon string
	at     time.Time
	ok     bool
	again  func(s *step) bool // takes the second
}

const goroutines = "/debug/pprof/goroutine?debug=2"

// dumpName says in a form that a dump is dated by when it was taken (layout.DumpTime).
func dumpName(daemon string) string {
	return "dumps/" + daemon + dumpStamp(now())
}

// earlierDump is how the names of dumps begin that daemons were asked for before this collection.
const earlierDump = "dumps/earlier-"

func dumpStamp(at time.Time) string {
	return "-goroutine-stacks-" + at.Format("2006-01-02T150405Z") + ".log"
}

func collectDumps(c *collector, s *step) {
	for _, d := range [...]struct{ kind, daemon, query string }{
		{"containerd-debug", "containerd", goroutines},
		{"docker", "dockerd", goroutines},
		{"kubelet", "kubelet", goroutines},
		{"cri", "crio", "/debug/goroutines"}, // its socket speaks HTTP, too (cri-o server/inspect.go)
	} {
		for _, place := range c.socketsOf(d.kind) {
			if d.kind == "cri" && path.Base(place) != "crio.sock" {
				continue
			}
			t := &task{
				Do: "http", Bound: 10 * time.Second, Limit: dumpLimit,
				Items: []want{{Source: place, Query: d.query}},
			}
			if d.kind == "kubelet" {
				t.Names = c.tokenFiles()
			}
			c.takeDump(d.daemon, t, s)
		}
	}
}

// tokenFiles is the file with the token for the kubelet, if one was given.
func (c *collector) tokenFiles() []string {
	if c.opt.KubeletToken == "" {
		return nil
	}
	return []string{c.opt.KubeletToken}
}

// takeDump takes a dump of a daemon, now and in the second round.
func (c *collector) takeDump(daemon string, t *task, s *step) {
	bound := s.bound
	c.takeDumpTwice(daemon, s, func(s *step) bool {
		t.Items[0].Name, t.Dumps = dumpName(daemon), c.dumpFiles
		as := *s
		as.bound = bound
		return c.hasContent(func() { c.runTask(t, &as) }, "")
	})
}

// hasContent runs do, and says whether an item that it collected has content. The item but does not
// count, nor do earlier dumps.
func (c *collector) hasContent(do func(), but string) bool {
	before := len(c.manifest.Items)
	do()
	return slices.ContainsFunc(c.manifest.Items[before:], func(i bundle.Item) bool {
		return (i.Outcome == bundle.OK || i.Outcome == bundle.Capped) && i.Name != but &&
			!strings.HasPrefix(i.Name, earlierDump)
	})
}

// takeDumpTwice takes a dump, and remembers to take a second one if that worked.
func (c *collector) takeDumpTwice(daemon string, s *step, take func(s *step) bool) {
	d := dumpRound{daemon: daemon, at: moment(), again: take}
	d.ok = take(s)
	c.dumped = append(c.dumped, d)
}

func collectRuntime(c *collector, s *step) {
	for _, place := range c.socketsOf("cri") {
		c.runTask(&task{
			Do: "cri", Bound: rpcBound, IDs: c.walked.Containers,
			Items: []want{{Name: criItem(place) + ".jsonl", Source: place}},
		}, s)
	}
	for _, place := range c.socketsOf("docker") {
		c.runTask(&task{
			Do: "docker", Bound: rpcBound, IDs: c.walked.Containers,
			Items: []want{{Name: "runtime/docker.jsonl", Source: place}},
		}, s)
	}
}

// criItem is the beginning of the names of what a socket of the CRI gives.
func criItem(place string) string {
	if strings.Contains(place, "k3s") {
		return "runtime/cri-k3s"
	}
	return "runtime/cri-" + strings.TrimSuffix(path.Base(place), ".sock")
}

func collectBus(c *collector, s *step) {
	for _, place := range c.socketsOf("dbus") {
		name := "bus/dbus.jsonl"
		if strings.HasSuffix(place, "/private") {
			name = "bus/systemd-private.jsonl"
		}
		c.runTask(&task{Do: "bus", Bound: 3 * time.Second, Items: []want{{Name: name, Source: place}}}, s)
	}
}

func collectKubelet(c *collector, s *step) {
	t := &task{Do: "http", Bound: 3 * time.Second, Limit: 16 << 20, Names: c.tokenFiles()}
	for _, place := range c.socketsOf("kubelet-healthz") {
		t.Items = append(t.Items, want{Name: "kubelet/healthz.txt", Source: place, Query: "/healthz"})
	}
	for i, place := range c.socketsOf("kubelet") {
		t.Items = append(t.Items,
			want{Name: "kubelet/metrics" + strings.Repeat("-read-only", i) + ".txt", Source: place, Query: "/metrics"})
	}
	if len(t.Names) > 0 {
		t.Items = append(t.Items,
			want{Name: "kubelet/configz.json", Source: c.socketsOf("kubelet")[0], Query: "/configz"})
	}
	c.runTask(t, s)
}

func collectProcesses(c *collector, s *step) {
	t := &task{
		Do: "processes", Items: []want{{Name: "processes.txt", Source: "/proc/*/cmdline"}},
		Processes: c.walked.Processes,
	}
	if len(t.Processes) == 0 {
		c.skipItems(s, t, "the walk over /proc found no process whose arguments are safe to read")
		return
	}
	c.runTask(t, s)
}

// journals are the parts of the journal that are collected, by the name of the item.
var journals = []struct {
	name string
	args []string
}{
	{"kubelet", unitArgs("kubelet", "k3s", "k3s-agent", "rke2-agent", "rke2-server")},
	{"containerd", unitArgs("containerd")},
	{"docker", unitArgs("docker", "cri-docker")},
	{"crio", unitArgs("crio")},
	{"kernel", []string{"-k"}},
	{"systemd", []string{"_PID=1"}},
	{"sudo", []string{"-t", "sudo"}}, // who restarted what
	{"bus", unitArgs("dbus", "dbus-broker", "systemd-logind", "systemd-udevd", "polkit", "systemd-journald")},
}

func unitArgs(units ...string) []string {
	var all []string
	for _, unit := range units {
		all = append(all, "-u", unit)
	}
	return all
}

// journalUnits are all units of journals.
var journalUnits = func() (all []string) {
	for _, j := range journals {
		for i, arg := range j.args {
			if i > 0 && j.args[i-1] == "-u" {
				all = append(all, arg)
			}
		}
	}
	return all
}()

// journalFields are the fields of an entry that are collected. _CMDLINE is left out because it
// contains arguments, the others because nothing reads them.
var journalFields = []string{
	"MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "SYSLOG_FACILITY", "_PID", "_COMM", "_SYSTEMD_UNIT", "_HOSTNAME",
	"_BOOT_ID", "_SOURCE_REALTIME_TIMESTAMP",
	"_SOURCE_MONOTONIC_TIMESTAMP", "UNIT", "_TRANSPORT", "CONTAINER_ID_FULL", "INVOCATION_ID", "_SYSTEMD_INVOCATION_ID",
}

// runcVersion is the item that says that runc can be run.
const runcVersion = "versions/runc.txt"

func collectVersions(c *collector, s *step) {
	before := len(c.manifest.Items)
	ask := func(item, program, argument string) {
		c.runUnless(c.whyNoProgram(before), execTask(item, program, argument), s)
	}
	for _, name := range append([]string{"kubelet"}, runtimes...) {
		program := name
		if i := c.findProcess(name); i >= 0 {
			program = fmt.Sprintf("/proc/%d/exe", c.walked.Processes[i].PID) // the one that runs, not the installed one
		} else if other := c.findOtherRuntime(name); other != "" {
			c.runUnless("it does not run, and "+other+" does", execTask("versions/"+name+".txt", name, "--version"), s)
			continue
		}
		ask("versions/"+name+".txt", program, "--version")
	}
	ask(runcVersion, "runc", "--version")
	ask("versions/systemctl.txt", "systemctl", "--version")
	ask("versions/uname.txt", "uname", "-a")
}

// runtimes are the programs that can be a node's runtime.
var runtimes = []string{"containerd", "dockerd", "crio"}

// findProcess returns the index of a process of a program; negative when there is none.
func (c *collector) findProcess(program string) int {
	found := -1
	for i := range c.walked.Processes {
		p := &c.walked.Processes[i]
		if p.Exe == program && (found < 0 || compareHomes(*p, c.walked.Processes[found]) < 0) {
			found = i
		}
	}
	return found
}

// compareHomes puts the processes of units before others of the same program, which somebody has
// started by hand or in a container.
func compareHomes(a, b process) int {
	home := func(p process) int {
		if strings.HasSuffix(p.Cgroup, ".service") {
			return 0
		}
		return 1
	}
	return cmp.Compare(home(a), home(b))
}

// findOtherRuntime returns the runtime that runs in place of another, which is installed at most:
// its release would speak of faults that the node does not have. Empty when none runs. containerd
// and dockerd run together.
func (c *collector) findOtherRuntime(name string) string {
	for _, other := range runtimes {
		if slices.Contains(runtimes, name) && (name == "crio") != (other == "crio") && c.findProcess(other) >= 0 {
			return other
		}
	}
	return ""
}

// whyNoProgram says why no other program is started: two of those whose items came after the first
// ones hang in the kernel, as all do where a scanner or a disk holds the start of programs. The
// time is that of later steps.
func (c *collector) whyNoProgram(first int) string {
	const enough = 2
	hung := 0
	for i := range c.manifest.Items[first:] {
		if c.manifest.Items[first+i].Outcome == bundle.Stuck {
			hung++
		}
	}
	if hung < enough {
		return ""
	}
	return fmt.Sprintf("%d programs that were started before it hang in the kernel", hung)
}

func collectMounts(c *collector, s *step) {
	t := &task{Do: "mounts", Bound: time.Second, Items: []want{{Name: "mounts/df.txt", Source: "/proc/self/mountinfo"}}}
	if c.opt.ProbeRemote {
		t.Names = []string{"remote"}
	}
	c.runTask(t, s)
}

// collectSignals sends SIGUSR1 to the daemons of which no socket gave a dump.
func collectSignals(c *collector, s *step) {
	all := slices.Clone(c.walked.Processes)
	slices.SortStableFunc(all, compareHomes) // only the first of a program gives a dump
	for _, p := range all {
		if dumperOf(p.Exe) == nil ||
			slices.ContainsFunc(c.dumped, func(d dumpRound) bool { return d.ok && d.daemon == p.Exe }) {
			continue
		}
		t := &task{
			Do: "signal", Bound: 12 * time.Second, Limit: dumpLimit, Processes: []process{p},
			Items: []want{{Name: dumpName(p.Exe), Source: fmt.Sprintf("SIGUSR1 to PID %d", p.PID)}},
		}
		if why := c.whyJournaldHangs(); why != "" {
			c.skipItems(s, t, why)
			continue
		}
		c.takeDump(p.Exe, t, s)
	}
}

// whyJournaldHangs says why a daemon that logs would hang in its signal handler; empty when it
// would not. containerd writes its dump to its log first, in the goroutine that also handles
// SIGTERM.
func (c *collector) whyJournaldHangs() string {
	for i := range c.walked.Processes {
		if p := &c.walked.Processes[i]; p.Exe == "systemd-journald" && (p.Blocked > 0 || p.isStopped()) {
			return fmt.Sprintf("journald does not work (state %s, PID %d): a daemon that dumps to its log would hang",
				p.State, p.PID)
		}
	}
	return ""
}

// collectSecondDumps takes a second dump of every daemon that gave a first one.
func collectSecondDumps(c *collector, s *step) {
	for _, d := range c.dumped {
		if !d.ok {
			continue
		}
		c.waitUntil(d.at.Add(dumpGap))
		d.again(s)
	}
}

// collectKilled ends daemons for their goroutines, which Go prints to standard error on SIGQUIT.
// Everything else has been collected by then.
func collectKilled(c *collector, s *step) {
	for i := range c.walked.Processes {
		p := &c.walked.Processes[i]
		if !slices.Contains(c.opt.AllowKill, p.Exe) {
			continue
		}
		t := journalTask("dumps/"+p.Exe+"-killed.export", now(), fmt.Sprintf("_PID=%d", p.PID))
		t.Items[0].Source = fmt.Sprintf("SIGQUIT to PID %d; %s", p.PID, t.Items[0].Source)
		if why := c.whyNoHelper(); why != "" {
			c.skipItems(s, t, why)
			continue
		}
		if err := p.sendSignal(sigQuit); err != nil {
			c.skipItems(s, t, errorText(err))
			continue
		}
		c.waitUntil(moment().Add(3 * time.Second))
		c.runTask(t, s)
	}
}

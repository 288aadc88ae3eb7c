//go:build linux

package collect

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/fleet"
)

// readKmsg sends what is in the kernel's ring buffer now, as dmesg prints it.
func readKmsg(t *task, out itemWriter) result {
	var g guard
	return g.try(t.Bound, func() error {
		fd, err := unix.Open(t.Items[0].Source, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return sendKmsg(fd, out)
	})
}

// appendKmsg writes a record of /dev/kmsg as dmesg does.
//
//	6,339,5140900,-,caller=T42;NET: Registered protocol family 10     Documentation/ABI/testing/dev-kmsg
//	 SUBSYSTEM=acpi                                                    a line that begins with a blank continues it
func appendKmsg(dst, record []byte) []byte {
	head, message, ok := bytes.Cut(record, []byte{';'})
	if !ok {
		return dst
	}
	fields := strings.Split(string(head), ",")
	if len(fields) < 3 {
		return dst
	}
	micros, _ := strconv.ParseInt(fields[2], 10, 64)
	dst = fmt.Appendf(dst, "[%5d.%06d]", micros/1e6, micros%1e6)
	for _, f := range fields[3:] {
		if caller, ok := strings.CutPrefix(f, "caller="); ok {
			dst = fmt.Appendf(dst, "[%6s]", caller)
		}
	}
	text, _, _ := bytes.Cut(message, []byte{'\n'})
	return append(append(append(dst, ' '), text...), '\n')
}

// groupFiles are the files that are read of a cgroup: whether it is frozen, how many processes it
// has and can have, what it waits for.
var groupFiles = []string{
	"cgroup.events", "cgroup.freeze", "cgroup.stat", "pids.current", "pids.max", "pids.events", "memory.events",
	"cpu.stat",
	"cpu.max", "io.max", "memory.current", "memory.max", "memory.high", "io.pressure", "cpu.pressure", "memory.pressure", // unified hierarchy
	"freezer.state", "memory.failcnt", "memory.oom_control", "cpu.cfs_quota_us", "cpu.cfs_period_us", // controllers of their own
}

// groupNames matches the cgroups that are read: of pods, of the daemons, of the slice whose limits
// hold for all daemons, and of PID 1, which can be frozen.
var groupNames = regexp.MustCompile(`kubepods|kubelet|containerd|docker|crio|cri-|k3s|rke2|/(system|runtime|podruntime)\.slice$|/init\.scope$`)

// maxGroups bounds the cgroups that are read.
const maxGroups = 3000

// readCgroups reads cgroups as grep . prints them, /sys/fs/cgroup/…/pids.max:100.
func readCgroups(t *task, out itemWriter) result {
	var g, tree guard // a guard does one thing at a time, and the walk waits for each file
	text := out.buffered()
	last := result{}
	groups := 0
	visit := func(dir string) {
		if groups++; groups > maxGroups {
			return
		}
		for _, name := range groupFiles {
			path := filepath.Join(dir, name)
			content, r := g.tryFile(t.Bound, path, 8<<10)
			switch r.outcome {
			case "":
				for line := range bytes.Lines(content) {
					fmt.Fprintf(text, "%s:%s\n", path, bytes.TrimRight(line, "\n"))
				}
			case bundle.Timeout, bundle.Stuck:
				last = r
				last.why = path + ": " + r.why
			}
		}
	}
	r := tree.try(time.Hour, func() error { return walkGroups(t.Items[0].Source, visit) })
	text.Flush()
	if last.outcome == "" {
		last = r
	}
	if groups > maxGroups {
		last = result{outcome: bundle.Capped, why: fmt.Sprintf("%d cgroups; the first %d were read", groups, maxGroups)}
	}
	return last
}

// walkGroups visits the cgroups that match groupNames.
func walkGroups(root string, visit func(dir string)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == root {
				return err
			}
			return nil //nolint:nilerr // it is gone by now
		}
		if d.IsDir() && groupNames.MatchString(path) {
			visit(path)
		}
		return nil
	})
}

// programsOfInterest are those whose arguments are read: daemons, shims, runc, CNI plugins.
var programsOfInterest = regexp.MustCompile(`^(kubelet|containerd.*|dockerd|crio|conmon|cri-dockerd|runc.*|crun|k3s.*|rke2|systemd.*|dbus.*|hyperkube|mount.*|umount.*|fsck.*|nsenter|ip|iptables.*|flanneld?|calico.*|bridge|loopback|terway.*|cilium.*)$`)

// lineBound is for the arguments of one process: their page can be on a disk, and the holder of the
// address space's lock can wait for that disk.
const lineBound = 200 * time.Millisecond

// listProcesses writes a listing as ps -eo pid,ppid,stat,nlwp,wchan:32,args does. It does not open
// cmdline where that can hang: of a process with a thread in state D, or one that waits for its
// address space. There it writes the name instead, as [name].
func listProcesses(t *task, out itemWriter) result {
	var g guard
	text := out.buffered()
	fmt.Fprintf(text, "%7s %7s %-4s %4s %-32s %s\n", "PID", "PPID", "STAT", "NLWP", "WCHAN", "COMMAND")
	hung := result{}
	for i := range t.Processes {
		p := &t.Processes[i]
		args, state := "["+p.Comm+"]", p.State
		safe := p.Blocked == 0 && p.Waits == "" && !p.Kernel && p.State != "Z"
		if p.Blocked > 0 {
			state = "D"
		}
		if safe && (programsOfInterest.MatchString(p.Comm) || programsOfInterest.MatchString(p.Exe)) {
			path := fmt.Sprintf("/proc/%d/cmdline", p.PID)
			content, r := g.tryFile(lineBound, path, 16<<10)
			switch r.outcome {
			case "":
				if p.Comm == "kubelet" {
					out.sendNote(note{Fleet: fleet.OfKubeletArguments(strings.Split(string(content), "\x00"))})
				}
				if line := strings.TrimSpace(strings.ReplaceAll(string(content), "\x00", " ")); line != "" {
					args = joinOnOneLine(line)
				}
			case bundle.Timeout, bundle.Stuck:
				hung = r
				hung.why = path + ": " + r.why
			}
		}
		fmt.Fprintf(text, "%7d %7d %-4s %4d %-32s %s\n", p.PID, p.PPID, state, p.Threads, cmp.Or(p.Waits, "-"), args)
	}
	text.Flush()
	return hung
}

// joinOnOneLine is a command line without line breaks and other control characters.
func joinOnOneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, s)
}

// remote are the file systems for which statfs asks a server or a process, by the prefix of their
// type.
var remote = []string{
	"nfs", "cifs", "smb", "ceph", "fuse", "gluster", "lustre", "9p", "virtiofs", "afs", "autofs",
	"ocfs", "gfs", "beegfs",
}

// statMounts asks each mounted file system how full it is, of bytes and of inodes, and writes it as
// df and df -i do. Names contains "remote" when network file systems are asked, too.
func statMounts(t *task, out itemWriter) result {
	mounts, _, err := readFile(t.Items[0].Source, 8<<20)
	if err != nil {
		return resultOf(withoutPath(err))
	}
	var g guard
	text := out.buffered()
	fmt.Fprintf(text, "%-40s %12s %12s %12s %4s %s\n", "Filesystem", "1K-blocks", "Used", "Available", "Use%",
		"Mounted on")
	inodes := []byte("\n" + fmt.Sprintf("%-40s %12s %12s %12s %5s %s\n", "Filesystem", "Inodes", "IUsed", "IFree", "IUse%", "Mounted on"))
	hung := result{}
	var whys []string
	seen := map[string]bool{}
	for line := range strings.Lines(string(mounts)) {
		m, ok := parseMount(line)
		if !ok || seen[m.device] || m.isSkipped(len(t.Names) > 0) {
			continue
		}
		fs, r := tryFor(&g, t.Bound, m.stat)
		seen[m.device] = !fs.atFile
		switch {
		case fs.atFile:
		case r.outcome == "":
			unit := uint64(max(fs.Frsize, 1024)) //nolint:gosec,nolintlint // positive
			all, free, used := fs.Blocks*unit>>10, fs.Bavail*unit>>10, (fs.Blocks-fs.Bfree)*unit>>10
			fmt.Fprintf(text, "%-40s %12d %12d %12d %3d%% %s\n", m.source, all, used, free, shareOf(used, used+free),
				m.target)
			if fs.Files > 0 { // some file systems do not count them
				inodes = fmt.Appendf(inodes, "%-40s %12d %12d %12d %4d%% %s\n", m.source, fs.Files, fs.Files-fs.Ffree, fs.Ffree,
					shareOf(fs.Files-fs.Ffree, fs.Files), m.target)
			}
		case r.isOpen():
			if len(whys) < maxWhys {
				whys = append(whys, m.target+": "+r.why)
			}
			if hung.outcome == "" || r.outcome != bundle.Skipped {
				hung = r
			}
		}
	}
	hung.why = strings.Join(whys, "; ")
	_, _ = text.Write(inodes)
	text.Flush()
	return hung
}

// mountedRoom is how much room a file system has. At a file it is not asked: there is no room to
// write to, and what is mounted so is often of another machine (/run/host/os-release of
// systemd-nspawn, resolv.conf of a container).
type mountedRoom struct {
	unix.Statfs_t
	atFile bool
}

func (m *mountPoint) stat() (room mountedRoom, err error) {
	var at unix.Stat_t
	if err = unix.Stat(m.target, &at); err != nil {
		return room, err
	}
	if at.Mode&unix.S_IFMT != unix.S_IFDIR {
		return mountedRoom{atFile: true}, nil
	}
	err = unix.Statfs(m.target, &room.Statfs_t)
	return room, err
}

// shareOf is a part in hundredths of the whole, rounded up as df does.
func shareOf(part, whole uint64) uint64 {
	whole = max(whole, 1)
	return (part*100 + whole - 1) / whole
}

// maxWhys is how many file systems that did not answer are named.
const maxWhys = 20

// mountPoint is a line of mountinfo: 36 35 98:0 /root /target options - type source super.
type mountPoint struct{ device, target, fstype, source string }

func parseMount(line string) (m mountPoint, ok bool) {
	head, tail, ok := strings.Cut(line, " - ")
	h, s := strings.Fields(head), strings.Fields(tail)
	if !ok || len(h) < 5 || len(s) < 2 {
		return m, false
	}
	return mountPoint{h[2], unescapeMount(h[4]), s[0], s[1]}, true
}

// unescapeMount undoes the kernel's escapes for blanks in paths.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// isSkipped says that a file system is not asked: it is remote, has no size, or is an image that
// nobody writes to, which is full from the start.
func (m *mountPoint) isSkipped(withRemote bool) bool {
	switch m.fstype {
	case "proc", "sysfs", "cgroup", "cgroup2", "overlay", "devpts", "mqueue", "debugfs", "tracefs", "securityfs",
		"pstore", "bpf", "configfs", "hugetlbfs", "nsfs", "binfmt_misc", "fusectl", "rpc_pipefs",
		"squashfs", "erofs", "iso9660":
		return true
	}
	for _, prefix := range remote {
		if strings.HasPrefix(m.fstype, prefix) {
			return !withRemote
		}
	}
	return false
}

// errGone says that a process is not the one that the walk saw.
var errGone = fmt.Errorf("%w: the process has ended", os.ErrNotExist)

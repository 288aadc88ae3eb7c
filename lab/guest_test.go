//go:build lab

package lab

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var onGuest = flag.Bool("guest", false, "nodes are machines of qemu with Debian's own kernel: cgroup version 2, modules, device-mapper, NFS")

// guestPackages are what a node has besides packages when it is a machine.
const guestPackages = ",udev,linux-image-amd64,dmsetup,nfs-kernel-server,openssh-server"

// guestFiles are written into the base of machines, besides nodeFiles.
var guestFiles = map[string]string{
	"/etc/hostname": "guest\n",
	"/etc/fstab":    "LABEL=lab /opt/lab ext4 ro 0 0\n",
	// without a list the first file system takes ten times as long to unpack
	"/etc/initramfs-tools/conf.d/lab":            "MODULES=list\n",
	"/etc/initramfs-tools/modules":               "virtio_pci\nvirtio_blk\nvirtio_net\next4\n",
	"/etc/modules-load.d/lab.conf":               "overlay\n",
	"/etc/ssh/sshd_config.d/lab.conf":            "UsePAM no\nUseDNS no\nMaxSessions 1000\nPermitRootLogin prohibit-password\n",
	"/etc/systemd/system/lab-network.service":    "[Unit]\nRequires=sys-subsystem-net-devices-eth0.device\nAfter=sys-subsystem-net-devices-eth0.device\nBefore=ssh.service\n[Service]\nType=oneshot\nExecStart=ip link set eth0 up\nExecStart=ip address add 10.0.2.15/24 dev eth0\n",
	"/etc/systemd/system/ssh.service.d/lab.conf": "[Unit]\nWants=lab-network.service\n",
	// the journal of a machine is on its disk, as on most nodes
	"/etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=persistent\n",
}

// notAtGuestBoot are units that the lab starts in a machine once its disks are there, or that a
// scenario starts.
var notAtGuestBoot = []string{"multi-user.target.wants/containerd.service", "multi-user.target.wants/nfs-server.service", "timers.target.wants/fstrim.timer", "timers.target.wants/e2scrub_all.timer", "multi-user.target.wants/e2scrub_reap.service"}

// guestParts are the files of a base of machines.
const (
	guestDisk   = "disk"
	guestKernel = "vmlinuz"
	guestInitrd = "initrd"
	guestKey    = "key"
)

// guestMasked are units of Debian that no scenario needs; each takes seconds.
var guestMasked = []string{
	"systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "nfs-blkmap.service", "rpc-statd-notify.service", "rpcbind.service", "rpcbind.socket",
	"systemd-update-utmp.service", "systemd-update-utmp-runlevel.service", "getty@tty1.service", "serial-getty@ttyS0.service", "sys-kernel-tracing.mount",
}

// makeGuestBase turns the file system of a node into what a machine boots from: a disk, a kernel,
// the kernel's first file system, and the key that opens the machine.
func (r *run) makeGuestBase(tree string) (dir string, err error) {
	dir = filepath.Join(r.dir, "guest-base")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	script := `
set -e
ssh-keygen -q -t ed25519 -N '' -C lab -f "$2/key"
mkdir -p "$1/root/.ssh"
cp "$2/key.pub" "$1/root/.ssh/authorized_keys"
chroot "$1" update-initramfs -u
cp -L "$1/vmlinuz" "$2/vmlinuz"
cp -L "$1/initrd.img" "$2/initrd"
rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
truncate -s 4G "$2/disk"
mkfs.ext4 -q -F -L root -d "$1" "$2/disk"
`
	if out, err := r.commandInGroup("base", "nice", "sh", "-c", script, "sh", tree, dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the disk of machines: %w: %s", err, lastOutput(out))
	}
	return dir, os.RemoveAll(tree)
}

// guest is the machine that a node is.
type guest struct {
	qemu    *exec.Cmd
	ended   chan struct{} // closed when qemu has ended, as after a panic of the kernel
	port    int           // of its ssh, at the host's loopback
	key     string        // opens it
	control string        // a connection that commands share
}

// guestMemory and guestCPUs are what a machine gets.
const (
	guestMemory = "1280"
	guestCPUs   = "2"
)

// guestSlowness is how much longer things may take in a machine than in a container.
const guestSlowness = 6

// bootGuest boots a machine and waits until containerd answers in it. It ends with the test. The
// directory slow of the node is on a disk of its own.
func (r *run) bootGuest(t *testing.T, name, slow string) *node {
	t.Helper()
	n := &node{t: t, run: r, name: name, booted: time.Now(), from: time.Now()}
	port, err := freePort()
	require.NoError(t, err)
	n.guest = &guest{port: port, key: filepath.Join(r.basePath(), guestKey), control: filepath.Join(r.dir, name+".ssh")}
	programs := filepath.Join(r.dir, name+"-programs.img")
	n.makeImage(programs, "lab", r.binDir(), 256<<20)
	disks := []string{filepath.Join(r.basePath(), guestDisk), programs}
	if slow != "" {
		disks = append(disks, filepath.Join(r.dir, name+"-slow.img"))
		n.makeImage(disks[2], "slow", "", 1<<30)
	}
	n.startMachine(disks)
	t.Cleanup(n.stop)
	n.waitFor(60*time.Second, "ssh of the machine", func() bool { _, err := n.runCommand("true"); return err == nil })
	n.shareConnection()
	t.Logf("ssh answers after %s", time.Since(n.booted).Round(time.Second))
	if slow != "" {
		n.mountSlowDisk(slow)
	}
	n.mustRun("systemctl", "start", "containerd")
	n.waitFor(60*time.Second, "containerd", func() bool { _, err := n.runCommand("ctr", "version"); return err == nil })
	n.mustRun("ctr", "-n", "k8s.io", "images", "import", "/opt/lab/image.tar")
	n.mustRun("systemctl", "start", "kubelet")
	n.waitFor(10*time.Second, "kubelet", func() bool { _, err := n.runCommand("pgrep", "-f", kubeletCommand); return err == nil })
	t.Logf("the node works after %s", time.Since(n.booted).Round(time.Second))
	return n
}

// makeImage makes a file system in a file, with what is in a directory, if one is given.
func (n *node) makeImage(path, label, from string, size int64) {
	n.t.Helper()
	require.NoError(n.t, os.WriteFile(path, nil, 0o600))
	require.NoError(n.t, os.Truncate(path, size))
	argv := []string{"mkfs.ext4", "-q", "-F", "-L", label}
	if from != "" {
		argv = append(argv, "-d", from)
	}
	out, err := exec.Command(argv[0], append(argv[1:], path)...).CombinedOutput()
	require.NoError(n.t, err, "mkfs.ext4: %s", out)
}

// startMachine starts qemu. Nothing that the machine writes to its root reaches the base.
func (n *node) startMachine(disks []string) {
	n.t.Helper()
	g := n.guest
	argv := []string{
		"nice", "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", guestCPUs, "-m", guestMemory,
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio", "-device", "virtio-rng-pci",
		"-kernel", filepath.Join(n.run.basePath(), guestKernel), "-initrd", filepath.Join(n.run.basePath(), guestInitrd),
		"-append", "root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off panic=-1 modprobe.blacklist=kvm_amd systemd.mask=" + strings.Join(guestMasked, " systemd.mask="),
		// the machine reaches nothing; the host reaches its ssh
		"-netdev", fmt.Sprintf("user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", g.port), "-device", "virtio-net-pci,netdev=net,romfile=",
	}
	for _, path := range disks {
		argv = append(argv, "-drive", "if=virtio,format=raw,snapshot=on,file="+path)
	}
	g.qemu = n.run.commandInGroup(n.name, argv...)
	g.qemu.Env = append(os.Environ(), "TMPDIR="+n.run.dir) // of what is written to the disks
	log, err := os.Create(n.logPath())
	require.NoError(n.t, err)
	defer log.Close()
	g.qemu.Stdout, g.qemu.Stderr = log, log
	g.qemu.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(n.t, g.qemu.Start())
	g.ended = make(chan struct{})
	go func() {
		_ = g.qemu.Wait() // it may have been killed
		close(g.ended)
	}()
}

// mountSlowDisk mounts the machine's third disk at a directory, below device-mapper.
func (n *node) mountSlowDisk(dir string) {
	n.t.Helper()
	n.mustRun("modprobe", "dm-delay")
	n.mapSlowDisk("linear /dev/vdc 0")
	n.mustRun("mkdir", "-p", dir)
	n.mustRun("mount", "/dev/mapper/slow", dir)
}

// mapSlowDisk replaces what device-mapper does with the slow disk.
func (n *node) mapSlowDisk(target string) {
	n.t.Helper()
	const sectors = 1 << 30 >> 9
	table := fmt.Sprintf("0 %d %s", sectors, target)
	if _, err := n.runCommand("dmsetup", "info", "slow"); err != nil {
		n.mustRun("dmsetup", "create", "slow", "--table", table)
		return
	}
	n.mustRun("dmsetup", "reload", "slow", "--table", table)
	n.mustRun("dmsetup", "suspend", "--nolockfs", "slow")
	n.mustRun("dmsetup", "resume", "slow")
}

// sshArgs are how ssh reaches the machine.
func (g *guest) sshArgs() []string {
	return []string{
		"-F", "none", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "ConnectTimeout=20", "-o", "ControlPath=" + g.control, "-i", g.key, "-p", strconv.Itoa(g.port), "root@127.0.0.1",
	}
}

// shareConnection opens a connection that all commands use.
func (n *node) shareConnection() {
	n.t.Helper()
	cmd := n.run.commandInGroup(n.name, append([]string{"ssh", "-M", "-N"}, n.guest.sshArgs()...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(n.t, cmd.Start())
	go func() { _ = cmd.Wait() }() // it ends with the machine
	n.waitFor(20*time.Second, "connection", func() bool { _, err := os.Stat(n.guest.control); return err == nil })
}

// command makes a command inside the machine. Where the command line waits, the command goes on
// without its client.
func (g *guest) command(ctx context.Context, argv []string) *exec.Cmd {
	var words []string
	for _, word := range argv {
		words = append(words, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	return exec.CommandContext(ctx, "ssh", append(g.sshArgs(), "--", strings.Join(words, " "))...)
}

// end ends the machine at once, as a power cut.
func (g *guest) end() {
	_ = g.qemu.Process.Kill() // it may have ended
	<-g.ended
}

// hasEnded says that the machine is not there any more.
func (g *guest) hasEnded() bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

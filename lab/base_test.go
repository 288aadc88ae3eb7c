//go:build lab

package lab

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// packages are what a node consists of: containerd 1.6, runc 1.1, docker 20.10, systemd 252, of the
// time of many incidents; and the monitor of containers that CRI-O needs.
const (
	suite    = "bookworm"
	packages = "systemd,systemd-sysv,dbus,containerd,runc,docker.io,conmon,strace,busybox-static,procps,iproute2,kmod"
)

// nodeFiles are written into the base.
var nodeFiles = map[string]string{
	"/etc/hosts":                "127.0.0.1 localhost\n", // without it CRI builds no sandbox
	"/etc/kubernetes/lab-token": "only-for-the-lab\n",
	// restrict_oom_score_adj: a machine without CAP_SYS_RESOURCE cannot lower it, and runc fails.
	"/etc/containerd/config.toml": `version = 2
[debug]
  level = "debug"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
`,
	"/etc/docker/daemon.json": `{"exec-opts": ["native.cgroupdriver=systemd"], "iptables": false, "ip-forward": false, "bridge": "none", "debug": true, "storage-driver": "overlay2"}
`,
	"/etc/systemd/system/kubelet.service":  unitFile("kubelet run"),
	"/etc/systemd/system/lab-cnid.service": unitFile("lab-cnid"),
}

func unitFile(command string) string {
	return "[Unit]\nAfter=containerd.service\n[Service]\nExecStart=/opt/lab/" + command + "\nRestart=always\nRestartSec=1\n"
}

// notAtBoot are units that a scenario starts where it needs them.
var notAtBoot = []string{"multi-user.target.wants/docker.service", "sockets.target.wants/docker.socket", "timers.target.wants/apt-daily.timer", "timers.target.wants/apt-daily-upgrade.timer", "timers.target.wants/dpkg-db-backup.timer"}

// ensureBase makes the file system that nodes boot from, out of packages and nodeFiles, unless it
// exists. It is kept for the next run.
func (r *run) ensureBase() error {
	lock, err := os.OpenFile(filepath.Join(r.place, "base.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if _, err := os.Stat(r.basePath()); err == nil {
		return nil
	}
	if err := r.makeBase(); err != nil {
		return fmt.Errorf("no node can be made: %w", err)
	}
	return nil
}

// basePath has another name whenever the base is made of something else.
func (r *run) basePath() string {
	packages, files, notAtBoot := baseContent()
	sum := sha256.Sum256(fmt.Append(nil, suite, packages, files, notAtBoot))
	return filepath.Join(r.place, fmt.Sprintf("base-%x", sum[:4]))
}

// baseContent is what the base is made of: packages, files, and units that are not started.
func baseContent() (list string, files map[string]string, notStarted []string) {
	if !*onGuest {
		return packages, nodeFiles, notAtBoot
	}
	files = maps.Clone(nodeFiles)
	maps.Copy(files, guestFiles)
	return packages + guestPackages, files, slices.Concat(notAtBoot, notAtGuestBoot)
}

func (r *run) makeBase() error {
	packages, files, notAtBoot := baseContent()
	mirror, err := findMirror()
	if err != nil {
		return err
	}
	dir := filepath.Join(r.dir, "base")
	fmt.Fprintln(os.Stderr, "lab: debootstrap, for the first time; a minute or two")
	cmd := r.commandInGroup("base", "nice", "debootstrap", "--variant=minbase", "--include="+packages, suite, dir, mirror)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("debootstrap: %w: %s", err, lastOutput(out))
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	for _, link := range notAtBoot {
		if err := os.Remove(filepath.Join(dir, "/etc/systemd/system", link)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, point := range []string{"opt/lab", "var/lib/kubelet"} {
		if err := os.MkdirAll(filepath.Join(dir, point), 0o755); err != nil {
			return err
		}
	}
	if *onGuest {
		if dir, err = r.makeGuestBase(dir); err != nil {
			return err
		}
	}
	return os.Rename(dir, r.basePath())
}

// findMirror returns where the host's apt gets the suite's main component from.
func findMirror() (string, error) {
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(CODENAME) $(RELEASE) $(COMPONENT) $(REPO_URI)").Output()
	if err != nil {
		return "", fmt.Errorf("apt does not say where it gets packages from: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 4 && (f[0] == suite || f[1] == suite) && f[2] == "main" {
			return f[3], nil
		}
	}
	return "", fmt.Errorf("apt knows no source of %s main", suite)
}

// lastOutput is the end of what a program printed.
func lastOutput(out []byte) string {
	const enough = 1000
	return strings.TrimSpace(string(out[max(0, len(out)-enough):]))
}

//go:build lab

package lab

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var full = flag.Bool("full", false, "real lengths, and the scenario that passes the threshold of PLEG")

var down = flag.Bool("down", false, "run nothing, and remove what runs left and what is kept for the next one")

// root is the repository.
const root = ".."

// theRun is this run of the lab.
var theRun *run

func TestMain(m *testing.M) {
	if dir := os.Getenv(guardVariable); dir != "" {
		os.Exit(runGuard(dir))
	}
	flag.Parse()
	status, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		status = 1
	}
	os.Exit(status)
}

// runTests runs the tests inside a run that leaves nothing behind.
func runTests(m *testing.M) (status int, err error) {
	if err := checkHost(); err != nil {
		return 1, err
	}
	theRun, err = newRun(labDir())
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, theRun.endRun()) }()
	if *down {
		return 0, removeKept(labDir())
	}
	if err := errors.Join(theRun.buildPrograms(), writeImages(theRun.binDir()), theRun.ensureBase()); err != nil {
		return 1, err
	}
	if *onCluster {
		theRun.cluster, err = theRun.startCluster()
		if err != nil {
			return 1, err
		}
	}
	if !isFlagGiven("test.parallel") {
		// Nodes wait most of the time. One of a cluster takes 14 inotify instances; a user has 128.
		parallel := "8"
		if *onCluster {
			parallel = "6"
		}
		if *onGuest { // each emulates two CPUs and has 1.25 GiB of memory
			parallel = "2"
		}
		if err := flag.Set("test.parallel", parallel); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// isFlagGiven says whether a flag is on the command line.
func isFlagGiven(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// labDir is the directory outside the repository that keeps the node's files from one run to the
// next.
func labDir() string {
	if dir := os.Getenv("PLEGDIAG_LAB"); dir != "" {
		return dir
	}
	return "/var/tmp/plegdiag-lab"
}

// tools are the programs of the host that the lab needs, and Debian's packages of them.
var tools = map[string]string{
	"debootstrap": "debootstrap", "systemd-nspawn": "systemd-container", "strace": "strace", "busybox": "busybox-static",
	"nsenter": "util-linux", "losetup": "mount", "mkfs.ext4": "e2fsprogs", "apt-get": "apt",
}

// checkHost says why no node can be booted here.
func checkHost() error {
	if os.Geteuid() != 0 {
		return errors.New("it boots nodes with systemd-nspawn, which takes root")
	}
	if *onCluster {
		tools["ip"], tools["nft"] = "iproute2", "nftables"
	}
	if *onCRIO {
		if !*onCluster {
			return errors.New("-crio needs -cluster")
		}
		tools["cc"] = "gcc libc6-dev"
	}
	if *onGuest {
		tools["qemu-system-x86_64"], tools["ssh"] = "qemu-system-x86", "openssh-client"
		delete(tools, "systemd-nspawn")
		delete(tools, "strace")
	}
	var missing []string
	for tool, pkg := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, pkg)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		return fmt.Errorf("programs are missing: apt-get install %s", strings.Join(missing, " "))
	}
	if len(cgroupHierarchies()) == 0 {
		return errors.New("no cgroup file system is mounted: systemd cannot be booted")
	}
	for _, h := range cgroupHierarchies() {
		probe := filepath.Join(h, fmt.Sprintf("%sprobe-%d", groupPrefix, os.Getpid()))
		if err := os.Mkdir(probe, 0o755); err != nil {
			return fmt.Errorf("no cgroup can be made, so no node booted: %w", err)
		}
		if err := os.Remove(probe); err != nil {
			return err
		}
	}
	return nil
}

// buildPrograms builds what runs inside the nodes.
func (r *run) buildPrograms() error {
	for _, p := range []struct{ dir, pkg, name string }{
		{root, "./cmd/plegdiag", "plegdiag"},
		{root, "./lab/kubelet", "kubelet"},
		{root, "./lab/fault", "lab-fault"},
		{"cnid", ".", "lab-cnid"}, // a module of its own, for the sake of an old library
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(r.binDir(), p.name), p.pkg)
		cmd.Dir = p.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w: %s", p.pkg, err, out)
		}
	}
	return nil
}

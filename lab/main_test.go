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

// root is the repository.
const root = ".."

// theRun is this run of the lab.
var theRun *run

func TestMain(m *testing.M) {
	if dir := os.Getenv(guardVariable); dir != "" {
		os.Exit(guard(dir))
	}
	flag.Parse()
	status, err := within(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		status = 1
	}
	os.Exit(status)
}

// within runs the tests inside of a run that leaves nothing behind.
func within(m *testing.M) (status int, err error) {
	if err := possible(); err != nil {
		return 1, err
	}
	theRun, err = newRun(place())
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, theRun.end()) }()
	if err := errors.Join(theRun.programs(), writeImages(theRun.bin()), theRun.base()); err != nil {
		return 1, err
	}
	if !given("test.parallel") {
		// Nodes wait most of the time.
		if err := flag.Set("test.parallel", "8"); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// given says whether a flag stood on the command line.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// place is the directory outside of the repository that keeps the node's files from one run to the next.
func place() string {
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

// possible says why no node can be booted here.
func possible() error {
	if os.Geteuid() != 0 {
		return errors.New("it boots nodes with systemd-nspawn, which takes root")
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
	if len(hierarchies()) == 0 {
		return errors.New("no cgroup file system is mounted: systemd cannot be booted")
	}
	for _, h := range hierarchies() {
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

// programs builds what runs inside of the nodes.
func (r *run) programs() error {
	for _, p := range []struct{ dir, pkg, name string }{
		{root, "./cmd/plegdiag", "plegdiag"},
		{root, "./lab/kubelet", "kubelet"},
		{"cnid", ".", "lab-cnid"}, // a module of its own, for the sake of an old library
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(r.bin(), p.name), p.pkg)
		cmd.Dir = p.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w: %s", p.pkg, err, out)
		}
	}
	return nil
}

//go:build lab

package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// makeDisk makes a file system for a node, in a file on a loop device, mounted below the run's
// directory.
func (r *run) makeDisk(name string) (*disk, error) {
	image, point := filepath.Join(r.dir, name+".img"), filepath.Join(r.dir, name)
	if err := os.MkdirAll(point, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(image, 1<<30); err != nil {
		return nil, err
	}
	for _, argv := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, point}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
		}
	}
	var st syscall.Stat_t
	if err := syscall.Stat(point, &st); err != nil {
		return nil, err
	}
	return &disk{run: r.dir, point: point, device: fmt.Sprintf("%d:%d", st.Dev>>8, st.Dev&0xff)}, nil
}

// disk is a mounted file system on a device that can be made slow.
type disk struct {
	run    string // its directory
	point  string
	device string // MAJOR:MINOR
}

// throttleFile sets how many bytes a second a cgroup of version 1 may write to a device.
const throttleFile = "blkio.throttle.write_bps_device"

var errNoThrottle = errors.New("a disk cannot be made slow here")

// throttle limits what is written to the disk, in bytes a second; zero lifts the limit. Every group
// needs its own limit: write-back counts for the root group, what a daemon syncs for the daemon's.
// The kernel does not throttle the journal of the file system.
func (d *disk) throttle(bytes int) error {
	set := 0
	for _, dir := range append(cgroupHierarchies(), listGroups(d.run)...) {
		err := os.WriteFile(filepath.Join(dir, throttleFile), fmt.Appendf(nil, "%s %d", d.device, bytes), 0)
		switch {
		case err == nil:
			set++
		// no such file can be made in another hierarchy
		case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission):
			return err
		}
	}
	if set == 0 {
		return fmt.Errorf("%w: no hierarchy has %s", errNoThrottle, throttleFile)
	}
	return nil
}

// liftThrottles lifts the limits of all disks of the run in dir, so that processes that wait for
// them can end.
func liftThrottles(dir string) error {
	for _, name := range listLoops(dir) {
		text, err := os.ReadFile("/sys/block/" + name + "/dev")
		if err != nil {
			return err
		}
		d := disk{run: dir, device: strings.TrimSpace(string(text))}
		if err := d.throttle(0); err != nil && !errors.Is(err, errNoThrottle) {
			return err
		}
	}
	return nil
}

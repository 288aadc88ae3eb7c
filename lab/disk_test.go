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

// disk makes a file system of its own for a node, in a file on a loop device, mounted below the run's directory.
func (r *run) disk(name string) (*disk, error) {
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

// slow bounds what is written to the disk, in bytes a second; zero lifts the bound. Groups do not count for those above them:
// write-back is the root's, what a daemon syncs is its own. The kernel lets the journal of the file system pass.
func (d *disk) slow(bytes int) error {
	set := 0
	for _, dir := range append(hierarchies(), groups(d.run)...) {
		err := os.WriteFile(filepath.Join(dir, throttleFile), fmt.Appendf(nil, "%s %d", d.device, bytes), 0)
		switch {
		case err == nil:
			set++
		case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission): // no such file can be made in another hierarchy
			return err
		}
	}
	if set == 0 {
		return fmt.Errorf("%w: no hierarchy has %s", errNoThrottle, throttleFile)
	}
	return nil
}

// letGo lifts the bounds of all disks of the run in dir, so that who waits for them can end.
func letGo(dir string) error {
	for _, name := range loops(dir) {
		text, err := os.ReadFile("/sys/block/" + name + "/dev")
		if err != nil {
			return err
		}
		d := disk{run: dir, device: strings.TrimSpace(string(text))}
		if err := d.slow(0); err != nil && !errors.Is(err, errNoThrottle) {
			return err
		}
	}
	return nil
}

//go:build lab

package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroupHierarchies returns the mount points of cgroup file systems.
func cgroupHierarchies() (all []string) {
	for _, m := range listMounts() {
		if m.kind == "cgroup" || m.kind == "cgroup2" {
			all = append(all, m.point)
		}
	}
	return all
}

type mount struct{ point, kind string }

// listMounts returns the mounts of this namespace, in the order in which they were mounted.
func listMounts() (all []mount) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 2 {
			all = append(all, mount{point: strings.ReplaceAll(f[1], `\040`, " "), kind: f[2]})
		}
	}
	return all
}

// removeAll removes what the run in dir made: processes, cgroups, mounts, loop devices, files, in
// this order. Any process can do it, also again.
func removeAll(dir string) error {
	// On a busy machine the kernel has a loop device for half a minute after its last mount has gone.
	const patience = time.Minute
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		err := errors.Join(endProcesses(dir), removeGroups(dir), unmountAll(dir), detachLoops(dir))
		if err == nil {
			err = os.RemoveAll(dir)
		}
		if err == nil || time.Since(began) > patience {
			return err
		}
	}
}

// listGroups returns the cgroups of the run in dir, in all hierarchies, the innermost first.
func listGroups(dir string) (all []string) {
	for _, h := range cgroupHierarchies() {
		tops, _ := filepath.Glob(filepath.Join(h, groupOf(dir)+"*")) // the pattern is fine
		for _, top := range tops {
			// a group may go meanwhile
			_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					all = append(all, path)
				}
				return nil
			})
		}
	}
	slices.Reverse(all)
	return all
}

// endProcesses lifts throttles, thaws what is frozen, and kills every process in a cgroup of the
// run.
func endProcesses(dir string) error {
	if err := liftThrottles(dir); err != nil {
		return err
	}
	left := 0
	for _, g := range listGroups(dir) {
		// only that hierarchy has it
		_ = os.WriteFile(filepath.Join(g, "freezer.state"), []byte("THAWED"), 0)
		text, err := os.ReadFile(filepath.Join(g, "cgroup.procs"))
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
				left++
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	if left > 0 {
		return fmt.Errorf("%d processes are left in cgroups of %s", left, dir)
	}
	return nil
}

func removeGroups(dir string) error {
	for _, g := range listGroups(dir) {
		if err := os.Remove(g); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// unmountAll unmounts what is mounted below dir, the last first.
func unmountAll(dir string) error {
	all := listMounts()
	slices.Reverse(all)
	for _, m := range all {
		if strings.HasPrefix(m.point, dir+"/") {
			if err := syscall.Unmount(m.point, 0); err != nil {
				return fmt.Errorf("umount %s: %w", m.point, err)
			}
		}
	}
	return nil
}

// listLoops returns the loop devices whose files are below dir.
func listLoops(dir string) (names []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(text), dir+"/") {
			names = append(names, filepath.Base(filepath.Dir(filepath.Dir(f))))
		}
	}
	return names
}

func detachLoops(dir string) error {
	for _, name := range listLoops(dir) {
		if out, err := exec.Command("losetup", "-d", "/dev/"+name).CombinedOutput(); err != nil {
			return fmt.Errorf("losetup -d %s: %w: %s", name, err, out)
		}
	}
	if left := listLoops(dir); len(left) > 0 {
		return fmt.Errorf("loop devices are left: %v", left)
	}
	return nil
}

// removeKept removes what runs keep for the next one: the file system of nodes and the programs of
// clusters. It fails while another run is at work, which uses them.
func removeKept(place string) error {
	runs, err := filepath.Glob(filepath.Join(place, "run-*"))
	if err != nil {
		return err
	}
	if len(runs) > 1 { // the first is this one
		return fmt.Errorf("another run is at work: %v", runs)
	}
	for _, pattern := range []string{"base-*", ".#base-*.lck", "cluster-*", "crio-*"} { // the second is of systemd-nspawn
		kept, err := filepath.Glob(filepath.Join(place, pattern))
		if err != nil {
			return err
		}
		for _, dir := range kept {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

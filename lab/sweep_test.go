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

// hierarchies are the mount points of cgroup file systems.
func hierarchies() (all []string) {
	for _, m := range mounts() {
		if m.kind == "cgroup" || m.kind == "cgroup2" {
			all = append(all, m.point)
		}
	}
	return all
}

type mount struct{ point, kind string }

// mounts are those of this namespace, in the order in which they were mounted.
func mounts() (all []mount) {
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

// sweep takes away what the run in dir made: processes, cgroups, mounts, loop devices, files, in this order. It may be
// done again, and by anybody.
func sweep(dir string) error {
	const patience = 20 * time.Second
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

// groups are the cgroups of the run in dir, in all hierarchies, the innermost first.
func groups(dir string) (all []string) {
	for _, h := range hierarchies() {
		tops, _ := filepath.Glob(filepath.Join(h, groupOf(dir)+"*")) // the pattern is fine
		for _, top := range tops {
			_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error { // a group may go meanwhile
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

// endProcesses kills every process in a cgroup of the run, after it has thawed what is frozen and let go of what is throttled.
func endProcesses(dir string) error {
	if err := letGo(dir); err != nil {
		return err
	}
	left := 0
	for _, g := range groups(dir) {
		_ = os.WriteFile(filepath.Join(g, "freezer.state"), []byte("THAWED"), 0) // only that hierarchy has it
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
	for _, g := range groups(dir) {
		if err := os.Remove(g); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// unmountAll unmounts what is mounted below dir, the last first.
func unmountAll(dir string) error {
	all := mounts()
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

// loops are the loop devices whose files lie below dir.
func loops(dir string) (names []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(text), dir+"/") {
			names = append(names, filepath.Base(filepath.Dir(filepath.Dir(f))))
		}
	}
	return names
}

func detachLoops(dir string) error {
	for _, name := range loops(dir) {
		if out, err := exec.Command("losetup", "-d", "/dev/"+name).CombinedOutput(); err != nil {
			return fmt.Errorf("losetup -d %s: %w: %s", name, err, out)
		}
	}
	if left := loops(dir); len(left) > 0 {
		return fmt.Errorf("loop devices are left: %v", left)
	}
	return nil
}

//go:build linux

package batch

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// Confine bounds this process before it reads anything. It needs no rights. RLIMIT_DATA counts what
// a process can write of its own memory, since Linux 4.7; RLIMIT_AS would also count the address
// space that Go reserves and never uses. Near the bound Go collects garbage more often instead of
// growing.
func Confine(memory int64) error {
	debug.SetMemoryLimit(memory / 8 * 7)
	if memoryIsBounded {
		if err := setLimit(unix.RLIMIT_DATA, "memory", memory); err != nil {
			return err
		}
	}
	signal.Ignore(syscall.SIGXFSZ) // a write that is too much is an error then
	if err := setLimit(unix.RLIMIT_FSIZE, "size of files", maxReport); err != nil {
		return err
	}
	if err := setLimit(unix.RLIMIT_CORE, "core files", 0); err != nil {
		return err
	}
	// If the machine has no memory left, this process is the one to be killed. Where that cannot be
	// said, the kernel chooses.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	return nil
}

// setLimit lowers a limit of this process.
func setLimit(resource int, name string, to int64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return fmt.Errorf("limit of %s: %w", name, err)
	}
	now.Cur = min(uint64(to), now.Max)
	now.Max = now.Cur
	if err := unix.Setrlimit(resource, &now); err != nil {
		return fmt.Errorf("limit of %s: %w", name, err)
	}
	return nil
}

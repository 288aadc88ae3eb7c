package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// holdFiles makes the kernel ask before any file on the mount of dir is opened or executed, and
// gives no answer: a scanner of viruses that hangs. It opens no file itself. When the time is over
// it returns, and with the end of the program the kernel lets everybody go on.
func holdFiles(dir string, limit time.Duration) error {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY|unix.O_LARGEFILE)
	if err != nil {
		return fmt.Errorf("fanotify_init: %w", err)
	}
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, unix.FAN_OPEN_PERM|unix.FAN_OPEN_EXEC_PERM, unix.AT_FDCWD, dir); err != nil {
		return fmt.Errorf("fanotify_mark: %w", err)
	}
	fmt.Println("holding")
	time.Sleep(limit)
	return nil
}

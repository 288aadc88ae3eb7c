package sink

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// noTerminal keeps a terminal from becoming that of this process when it is opened.
const noTerminal = unix.O_NOCTTY

// refusals are the signals that come with an error of write.
var refusals = []os.Signal{unix.SIGPIPE, unix.SIGXFSZ}

func (s *file) allocate(to int64) error {
	err := unix.Fallocate(int(s.f.Fd()), unix.FALLOC_FL_KEEP_SIZE, s.at, to-s.at)
	if err == nil {
		s.reserved, s.allocated = to, true
	}
	return err
}

// whyNoSpace says why the file system has too little space or too few inodes; empty when it has
// enough.
func (s *file) whyNoSpace() string {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(s.f.Fd()), &fs); err != nil {
		return ""
	}
	free := fs.Bavail * uint64(fs.Bsize) //nolint:gosec,unconvert,nolintlint // positive; its type differs by processor
	switch {
	case free < s.floor:
		return fmt.Sprintf("%d MiB are free, and --min-free keeps %d", free>>20, s.floor>>20)
	case s.floor > 0 && fs.Files > 0 && fs.Ffree == 0:
		return "no inode is free"
	case s.floor > 0 && fs.Type == unix.TMPFS_MAGIC && isMemoryScarce():
		return "it is in memory, and little memory is available"
	}
	return ""
}

// isMemoryScarce says that less than a twentieth of the memory is available.
func isMemoryScarce() bool {
	text, _ := os.ReadFile("/proc/meminfo")
	available := meminfoKiB(string(text), "MemAvailable:")
	total := meminfoKiB(string(text), "MemTotal:")
	return available > 0 && available < total/20
}

// meminfoKiB is a row of /proc/meminfo in KiB; 0 when there is none.
func meminfoKiB(text, row string) int {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, row); ok {
			words := strings.Fields(rest)
			if len(words) > 0 {
				n, _ := strconv.Atoi(words[0])
				return n
			}
		}
	}
	return 0
}

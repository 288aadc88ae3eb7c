package bundle

import "syscall"

// liveFileSystems are those whose files are not stored anywhere: the kernel answers each read. Some
// of their files never end or wait for the next event (/proc/kmsg, trace_pipe), and reading others
// does something. The numbers are f_type of statfs(2), from linux/magic.h.
var liveFileSystems = map[uint32]string{
	0x9fa0:     "proc",
	0x62656572: "sysfs",
	0x64626720: "debugfs",
	0x74726163: "tracefs",
}

// liveFileSystem is the name of the file system of the running kernel that a directory is part of,
// or empty if it is part of none.
func liveFileSystem(dir string) string {
	var info syscall.Statfs_t
	if syscall.Statfs(dir, &info) != nil {
		return "" // reading it will say why
	}
	return liveFileSystems[uint32(info.Type)]
}

package layout

import (
	"path"
	"strconv"
	"strings"
	"time"
)

// DumpTime is when a goroutine dump was taken, to the second, as its file's name tells: dockerd
// writes goroutine-stacks-2026-11-20T190535Z.log, cri-o crio-goroutine-stacks-….log (RFC 3339
// without its colons). Other names tell nothing: ok is false.
func DumpTime(file string) (t time.Time, ok bool) {
	_, stamp, ok := strings.Cut(path.Base(file), "goroutine-stacks-")
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse("2006-01-02T150405Z0700", strings.TrimSuffix(strings.TrimSuffix(stamp, ".gz"), ".log"))
	return t.UTC(), err == nil
}

// DumpPID is the process of a goroutine dump as its file's name tells: containerd
// writes containerd.43.stacks.log. Other names tell nothing: 0.
func DumpPID(file string) int {
	rest, ok := strings.CutSuffix(path.Base(file), ".stacks.log")
	if !ok {
		return 0
	}
	pid, err := strconv.Atoi(rest[strings.LastIndexByte(rest, '.')+1:])
	if err != nil || pid <= 0 {
		return 0
	}
	return pid
}

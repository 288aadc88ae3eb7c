package stackdump

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TimeInName is when a dump was taken as its file's name tells: dockerd writes
// goroutine-stacks-2026-11-20T190535Z.log, cri-o crio-goroutine-stacks-….log
// (RFC 3339 without its colons). Other names tell nothing: the zero Time.
func TimeInName(file string) event.Time {
	_, stamp, ok := strings.Cut(path.Base(file), "goroutine-stacks-")
	if !ok {
		return event.Time{}
	}
	t, err := time.Parse("2006-01-02T150405Z0700", strings.TrimSuffix(strings.TrimSuffix(stamp, ".gz"), ".log"))
	if err != nil {
		return event.Time{}
	}
	return event.Time{T: t.UTC(), Prec: time.Second, Known: true}
}

// PIDInName is the process of a dump as its file's name tells: containerd
// writes containerd.43.stacks.log. Other names tell nothing: 0.
func PIDInName(file string) int {
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

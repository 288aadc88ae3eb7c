package stackdump

import (
	"path"
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
	t, err := time.Parse("2006-01-02T150405Z0700", strings.TrimSuffix(stamp, ".log"))
	if err != nil {
		return event.Time{}
	}
	return event.Time{T: t.UTC(), Prec: time.Second, Known: true}
}

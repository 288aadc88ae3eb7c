package event

import (
	"strconv"
	"strings"
)

// Suppressed is a line in which journald says that it dropped messages of a unit,
// because the unit wrote too many at once (RateLimitBurst, 10 000 in 30 s by default).
type Suppressed struct {
	Messages int
	Unit     string // "containerd.service"; with systemd 219 its path, "/system.slice/containerd.service"
}

// ParseSuppressed reads a message of journald, journald-server.c since systemd 38:
//
//	Suppressed 4523 messages from containerd.service
func ParseSuppressed(message string) (s Suppressed, ok bool) {
	rest, ok := strings.CutPrefix(message, "Suppressed ")
	if !ok {
		return s, false
	}
	count, unit, ok := strings.Cut(rest, " messages from ")
	n, err := strconv.ParseUint(count, 10, 31)
	if !ok || err != nil || unit == "" || strings.Contains(unit, " ") {
		return s, false
	}
	return Suppressed{Messages: int(n), Unit: unit}, true
}

// Writer is the unit without its path and type: "containerd". It is empty for "/",
// under which systemd 219 counts what belongs to no unit.
func (s Suppressed) Writer() string {
	unit := s.Unit[strings.LastIndexByte(s.Unit, '/')+1:]
	if i := strings.LastIndexByte(unit, '.'); i > 0 { // .service, .scope
		unit = unit[:i]
	}
	return unit
}

// Of says whether the messages may be those of a writer, which is named as it names
// itself: journald counts by unit.
func (s Suppressed) Of(writer string) bool {
	unit := s.Writer()
	return writer == "" || strings.Contains(writer, unit) || strings.Contains(unit, writer)
}

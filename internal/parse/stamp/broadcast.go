package stamp

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Broadcast reads the line that stands on every terminal above what is so bad that all shall
// know it, of a syslog daemon and of journald:
//
//	Message from syslogd@node-1 at Nov 23 10:11:12 ...
//	Broadcast message from systemd-journald@node-1 (Sun 2025-11-23 10:11:12 UTC):
func Broadcast(b []byte) (t event.Time, host string, ok bool) {
	const longest = 160
	if len(b) > longest || !lines.StartsWith(b, "Message from syslogd@", "Broadcast message from systemd-journald@") {
		return t, "", false
	}
	_, rest, _ := strings.Cut(string(b), "@")
	host, when, found := strings.Cut(rest, " ")
	if when = strings.Trim(strings.TrimPrefix(when, "at "), " .:()"); !found || when == "" {
		return t, "", false
	}
	t, n := Short([]byte(when))
	if ok = n > 0 && n == len(when); !ok {
		t, ok = Date(when)
	}
	return t, host, ok
}

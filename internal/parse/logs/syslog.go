package logs

import (
	"bytes"
	"cmp"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// scanUnknownMonth reads a line of syslog whose month is a word that nobody knows: of one more
// language, or of characters that were lost on the way.
//
//	??? 23 09:30:11 node-1 kubelet[2917]: E1123 09:30:11.885000    2917 kubelet.go:2412] …
//
// The writer tells it from prose. The date is not known, but for the one that klog writes.
func (h *header) scanUnknownMonth(b []byte) int {
	n := bytes.IndexByte(b[:min(len(b), 24)], ' ') + 1
	if n < 2 || len(b) < n+13 || b[n+2] != ' ' || b[n+5] != ':' || b[n+8] != ':' {
		return 0
	}
	day := stamp.TwoDigits(b[n], b[n+1])
	face, prec, c := stamp.TimeOfDay(b[n+3:])
	if c == 0 || day < 1 || day > 31 || stamp.Month(b) > 0 || bytes.ContainsAny(b[:n-1], `:/<>[](){}"'=_-@`) {
		return 0
	}
	end := h.scanWriter(b, n+3+c)
	if !h.carried || len(h.unit) == 0 || h.pid == 0 && string(h.unit) != "kernel" {
		h.host, h.unit, h.pid, h.carried = nil, nil, 0, false
		return 0
	}
	if inner := (header{}); !inner.scanInner(b[end:]) || !inner.inner.Known {
		h.carrier = stamp.Moment(stamp.YearZero, face, prec, stamp.NoDate)
	}
	return end
}

// scanPriority reads what starts with the priority of syslog: a file of rsyslog's that keeps what
// came over the wire, RFC 3164 and RFC 5424, and dmesg -r, also of a kernel without stamps.
//
//	<30>Nov  8 09:30:11 node-1 kubelet[2917]: …
//	<30>1 2025-11-08T09:30:11.885000+08:00 node-1 kubelet 2917 - - …
//	<3>[42000.009100] INFO: task …
//	<3>INFO: task …
func (h *header) scanPriority(b []byte) int {
	pri, d := lines.Digits(b[1:])
	at := d + 2
	if d == 0 || d > 3 || pri > 191 || at >= len(b) || b[at-1] != '>' {
		return 0
	}
	n := 0
	switch {
	case b[at] == '[':
		n = h.scanBracket(b[at:])
	case lines.IsDigit(b[at]) || b[at] >= 'A' && b[at] <= 'Z':
		n = h.scanCarrier(b[at:])
	}
	switch {
	case n <= 0 && d == 1 && !h.carried: // of the kernel: facility 0
		h.markRing()
		n = 0
	case n <= 0:
		return 0
	}
	if h.level == event.NoLevel {
		h.level = severityLevel(pri)
	}
	return at + n
}

// severityLevel is the level in a syslog priority, facility*8+severity.
func severityLevel(pri int64) event.Level {
	return [...]event.Level{
		event.Fatal, event.Fatal, event.Fatal, event.Error, event.Warning, event.Info, event.Info, event.Debug,
	}[pri&7]
}

// scanProtocol reads the header of RFC 5424, as RSYSLOG_SyslogProtocol23Format writes it, from its
// version on:
//
//	1 2025-11-08T09:30:11.885000+08:00 node-1 kubelet 2917 - [timeQuality isSynced="1"] …
func (h *header) scanProtocol(b []byte) int {
	p, n := readProtocol(b, len("1 "), 0)
	if n == 0 {
		return 0
	}
	h.carrier = p.time
	return h.setWriter(b, p.host, p.app, p.pid, n)
}

// scanProtocolRest reads the same without its priority and version, as templates of rsyslog and
// forwarders write it. Programs put words behind a stamp, too: the process has to have its number.
//
//	2025-11-08T09:30:11.885000+08:00 node-1 kubelet 2917 - - …
func (h *header) scanProtocolRest(b []byte) int {
	p, n := readProtocol(b, 0, 0)
	if n == 0 || p.pid == 0 || len(p.host) < 2 || len(p.app) < 2 {
		return 0
	}
	h.carrier = p.time
	return h.setWriter(b, p.host, p.app, p.pid, n)
}

// protocol is what a header of RFC 5424 says.
type protocol struct {
	time      event.Time
	host, app []byte
	pid       int
}

// readProtocol reads a header of RFC 5424 from its stamp on, which begins at the given place, and
// in which lost of the first words behind it are not there. End is where the message starts, 0 for
// anything else.
func readProtocol(b []byte, at, lost int) (p protocol, end int) {
	if len(b) < at {
		return p, 0
	}
	t, n := stamp.ISO(b[at:])
	if n += at; n == at || t.Lacks != 0 || afterStamp(b, n) == 0 {
		return p, 0
	}
	n++
	var words [4][]byte // host, app, process, message id
	for i := lost; i < len(words); i++ {
		w := wordLength(b[n:])
		if w == 0 || w > 255 {
			return p, 0
		}
		words[i] = b[n : n+w]
		n += w + 1
	}
	sd := structuredDataLength(b[n:])
	if sd == 0 || n+sd < len(b) && b[n+sd] != ' ' {
		return p, 0
	}
	n = min(n+sd+1, len(b))
	if n < len(b) && b[n] == ' ' {
		n++ // the blank with which rsyslog begins the messages that came with RFC 3164
	}
	if bytes.HasPrefix(b[n:], lines.BOM) {
		n += len(lines.BOM)
	}
	pid, _ := lines.Digits(words[2])
	return protocol{time: t, host: words[0], app: words[1], pid: int(min(pid, 1<<31))}, n
}

// scanRelayed reads a header of RFC 5424 that is the message of another syslog line, as of a relay
// that passes lines on through logger(1). It has the year and the zone, which the outer one lacks,
// and may have no name of a host:
//
//	Feb 19 11:44:36 198.51.100.7 logger: <11>1 2019-02-19T11:44:36Z [] 15539 - - E0219 11:44:36.270203 15539 …
func (h *header) scanRelayed(b []byte) bool {
	pri, d := lines.Digits(b[1:])
	at := d + 2
	if d == 0 || d > 3 || pri > 191 || at >= len(b) || b[at-1] != '>' {
		return false
	}
	p, n := readProtocol(b[at:], len("1 "), 0)
	if n == 0 {
		p, n = readProtocol(b[at:], len("1 "), 1)
	}
	if n == 0 {
		return false
	}
	h.carrier = p.time
	if p.pid > 0 {
		h.pid = p.pid
	}
	if len(p.app) > 1 && p.app[0] != '[' { // "-" and "[]" are none
		h.unit = p.app
	}
	if len(p.host) > 1 {
		h.host = p.host
	}
	at += n
	if string(h.unit) == "kernel" {
		h.uptime, n = readRingStamp(b[at:])
		at += n
	}
	if !h.scanInner(b[at:]) {
		h.body, h.msg = plain, 0
	}
	h.msg += at
	h.level = cmp.Or(h.level, severityLevel(pri))
	return true
}

// structuredDataLength is the length of RFC 5424's "-" or "[id key="value"][…]".
func structuredDataLength(b []byte) int {
	if len(b) > 0 && b[0] == '-' {
		return 1
	}
	n, quoted := 0, false
	for n < len(b) && b[n] == '[' {
		for n++; n < len(b) && (quoted || b[n] != ']'); n++ {
			switch b[n] {
			case '"':
				quoted = !quoted
			case '\\':
				n++
			}
		}
		if n++; n > len(b) {
			return 0
		}
	}
	return n
}

// scanRepeated reads what rsyslog writes for messages that came several times
// ($RepeatedMsgReduction), with the message itself, at most 800 bytes of it:
//
//	message repeated 3 times: [ E1108 09:30:11.885000    2917 kubelet.go:2412] "Skipping pod synchronization"]
func (h *header) scanRepeated(b []byte) bool {
	const start, times = "message repeated ", " times: ["
	if !bytes.HasPrefix(b, []byte(start)) {
		return false
	}
	n, d := lines.Digits(b[len(start):])
	at := len(start) + d
	if d == 0 || d > 9 || !bytes.HasPrefix(b[at:], []byte(times)) {
		return false
	}
	if at += len(times); at < len(b) && b[at] == ' ' {
		at++
	}
	h.repeats = int(n)
	if h.msg = 0; bytes.HasPrefix(b[at:], []byte(start)) || !h.scanInner(b[at:]) {
		h.body = plain
	}
	h.msg += at
	return true
}

// readLastRepeatedCount reads "last message repeated 3 times", which sysklogd, busybox and rsyslog
// before 4.5 write instead of the messages; 0 for anything else.
func readLastRepeatedCount(b []byte) int {
	if len(b) == 0 || b[0] != 'l' { // inlined: every line of a journal comes here
		return 0
	}
	return readRepeatCount(b)
}

func readRepeatCount(b []byte) int {
	const start = "last message repeated "
	if !bytes.HasPrefix(b, []byte(start)) {
		return 0
	}
	n, d := lines.Digits(b[len(start):])
	if d == 0 || d > 9 || !bytes.HasPrefix(b[len(start)+d:], []byte(" time")) {
		return 0
	}
	return int(n)
}

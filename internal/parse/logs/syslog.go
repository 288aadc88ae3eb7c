package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// scanPriority reads what starts with the priority of syslog: a file of rsyslog's that keeps what
// came over the wire, RFC 3164 and RFC 5424, and dmesg -r.
//
//	<30>Nov  8 09:30:11 node-1 kubelet[2917]: …
//	<30>1 2025-11-08T09:30:11.885000+08:00 node-1 kubelet 2917 - - …
//	<3>[42000.009100] INFO: task …
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
	if n <= 0 {
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
	t, n := stamp.ISO(b[2:])
	if n += 2; n == 2 || t.Lacks != 0 || afterStamp(b, n) == 0 {
		return 0
	}
	n++
	var words [4][]byte // host, app, process, message id
	for i := range words {
		w := wordLength(b[n:])
		if w == 0 || w > 255 {
			return 0
		}
		words[i] = b[n : n+w]
		n += w + 1
	}
	sd := structuredDataLength(b[n:])
	if sd == 0 {
		return 0
	}
	if n += sd; n < len(b) && b[n] == ' ' {
		n++
	}
	if bytes.HasPrefix(b[n:], lines.BOM) {
		n += len(lines.BOM)
	}
	pid, _ := lines.Digits(words[2])
	h.carrier, h.host, h.unit, h.pid, h.carried = t, words[0], words[1], int(min(pid, 1<<31)), true
	return n
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

// lastRepeated reads "last message repeated 3 times", which sysklogd, busybox and rsyslog before
// 4.5 write instead of the messages; 0 for anything else.
func lastRepeated(b []byte) int {
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

package logs

import (
	"bytes"
	"regexp"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

var kernelUnit, beforeObject, behindBracket = []byte("kernel"), []byte(": {\""), []byte("] ")

// markRing says that the line is one of the kernel's ring buffer, which names no writer.
func (h *header) markRing() { h.unit, h.carried, h.dmesg = kernelUnit, true, true }

// scanBracket reads what starts with a bracket: the ring buffer of the kernel in every form of
// dmesg (util-linux 2.38, sys-utils/dmesg.c), and journalctl in its monotonic modes.
//
//	[42000.009100] INFO: task …                             seconds since boot, no time of day
//	[42000.009100 <    0.000001>] INFO: task …              -d; journalctl -o short-delta pads differently
//	[<    0.000001>] INFO: task …                           --time-format=delta
//	[Sat Nov  8 09:30:11 2025] INFO: task …                 -T, --time-format=ctime; in the language of its user
//	[Nov 8 09:30] INFO: task …  then  [  +0.000001] …       -e, --time-format=reltime
//	[ 1147.851282] node-1 kubelet[2917]: …                  journalctl -o short-monotonic
//	[2019-12-19T22:18:19.230681635Z]: …                     Talos
func (h *header) scanBracket(b []byte) (n int) {
	if h.uptime, n = readRingStamp(b); n > 0 {
		h.carrier = stamp.Moment(stamp.YearZero, h.uptime, time.Microsecond, event.LacksBoot)
		if at := h.scanMonotonic(b, n); at > 0 {
			return at
		}
		h.markRing()
		return n
	}
	if len(b) < 13 {
		return 0
	}
	switch c := b[1]; {
	case c == ' ' || c == '+' || c == '<':
		n = h.scanTimeStep(b)
	case lines.IsDigit(c) && b[5] == '-':
		return h.scanBracketISO(b)
	default:
		if n = h.scanCtime(b); n == 0 {
			h.carrier, n = stamp.WithoutSeconds(b)
		}
	}
	if n > 0 {
		h.markRing()
		if n+30 < len(b) && b[n] == '[' { // two formats at once (util-linux 2.40), and the thread: "[  +0.000001] [Tue Jan 13 04:33:10 2026] [T88977] "
			second := h.scanCtime(b[n:])
			h.sameAsBefore = h.sameAsBefore && second == 0
			n += second
			n += len(callerStamp.Find(b[n:]))
		}
	}
	return n
}

// scanLostBracket reads a line of the ring buffer whose first sign was lost where somebody pasted
// it. A time since boot has six digits behind its point then: any other number may stand there.
//
//	Sat Nov  8 09:30:11 2025] INFO: task …
//	42000.009100] INFO: task …
func (h *header) scanLostBracket(b []byte) int {
	const longest = 40 // with a day and a month in any language
	end := bytes.Index(b[:min(len(b), longest)], behindBracket)
	if end < len("1.000000") || !lines.IsDigit(b[end-1]) || bytes.IndexByte(b[:end], '[') >= 0 || lines.IsDigit(b[0]) && b[end-7] != '.' {
		return 0
	}
	return max(0, h.scanBracket(append([]byte{'['}, b...))-1)
}

// scanMonotonic reads the writer behind a stamp of journalctl's monotonic modes, "node-1
// kubelet[2917]: ". The kernel's own messages look alike without a process, and hold a colon where
// a host's name does not; those of user space ("systemd[1]: …") name no host.
func (h *header) scanMonotonic(b []byte, n int) int {
	var w header
	at := w.scanWriter(b, n-1)
	if at <= n || len(w.host) == 0 || bytes.IndexByte(w.host, ':') >= 0 || w.pid == 0 && string(w.unit) != "kernel" {
		return 0
	}
	h.host, h.unit, h.pid, h.carried = w.host, w.unit, w.pid, true
	return at
}

// stepStamp is how long after the line before this one came: 1 a plus, where that is a line of the
// same minute.
var stepStamp = regexp.MustCompile(`^\[ *(?:< *\d+\.\d+>|(\+)\d+\.\d+)\] `)

// scanTimeStep reads "[ +0.000001] " and "[< 0.000001>] ".
func (h *header) scanTimeStep(b []byte) int {
	m := stepStamp.FindSubmatch(b)
	if m == nil {
		return 0
	}
	h.sameAsBefore = m[1] != nil
	return len(m[0])
}

// ctimeEnd is what follows the time of day: 1 the year.
var ctimeEnd = regexp.MustCompile(`^ (\d{4})(?: <[^>]{0,20}>)?\] `)

// scanCtime reads "[Sat Nov  8 09:30:11 2025] ", perhaps with a delta behind the year.
func (h *header) scanCtime(b []byte) int {
	day := 2 + wordLength(b[1:min(len(b), 24)])
	t, n := stamp.Short(b[day:])
	m := ctimeEnd.FindSubmatch(b[day+n:])
	if day == 2 || n == 0 || m == nil {
		return 0
	}
	year, _ := lines.Digits(m[1])
	t.T = t.T.AddDate(int(year), 0, 0)
	t.Lacks = event.LacksZone
	h.carrier = t
	return day + n + len(m[0])
}

// scanBracketISO reads "[2025-11-08T09:30:11.885+08:00] " and Talos' "[…]: ".
func (h *header) scanBracketISO(b []byte) int {
	t, n := stamp.ISO(b[1:])
	if n++; n == 1 || n+1 >= len(b) || b[n] != ']' {
		return 0
	}
	if n++; b[n] == ':' {
		n++
	}
	h.carrier = t
	return afterStamp(b, n)
}

// isKernelISO says that a stamp of length n is dmesg --time-format=iso's, which no other program
// writes so: a comma, microseconds and an offset.
func (h *header) isKernelISO(b []byte, n int) bool {
	if h.carrier.Lacks != 0 || h.carrier.Prec != time.Microsecond || b[10] != 'T' || b[n] != ' ' {
		return false
	}
	h.markRing()
	return true
}

// scanFacility reads what dmesg -x puts before the stamp, "kern :err : ", and Talos' "kern: err: ".
func (h *header) scanFacility(b []byte) int {
	level, at := lines.Facility(b, ':')
	if at == 0 || at >= len(b) {
		return 0
	}
	h.level = level
	n := 0
	switch {
	case b[at] == '[':
		n = h.scanBracket(b[at:])
	case len(b)-at > 27 && lines.IsDigit(b[at]):
		if t, c := stamp.ISO(b[at:]); c > 0 {
			h.carrier, n = t, afterStamp(b[at:], c)
		}
	}
	h.markRing()
	return at + n
}

// kmsgHead is the head of a record of /dev/kmsg: 1 the priority, 2 the microseconds since boot.
var kmsgHead = regexp.MustCompile(`^(\d+),\d+,(\d+)(?:,[^;]*)?;`)

// scanKmsg reads a record of /dev/kmsg, with priority, number and microseconds since boot:
//
//	6,1234,42000009100,-;INFO: task containerd:1422 blocked for more than 120 seconds.
//
// Lines of properties (" SUBSYSTEM=…") follow some of them.
func (h *header) scanKmsg(b []byte) int {
	m := kmsgHead.FindSubmatch(b[:min(len(b), 80)])
	if m == nil {
		return 0
	}
	priority, _ := lines.Digits(m[1])
	h.level, h.uptime = severityLevel(priority), readSinceBoot(m[2])
	h.carrier = stamp.Moment(stamp.YearZero, h.uptime, time.Microsecond, event.LacksBoot)
	h.markRing()
	return len(m[0])
}

// scanNetconsole reads the head of such a record behind the stamp and the host of a syslog: a
// kernel has sent it over the network (netconsole, in its extended form), which names no writer.
//
//	Dec  7 10:12:34 192.0.2.50 6,3873,1349697082,-,caller=C0;Call Trace:
func (h *header) scanNetconsole(host, rest []byte) int {
	if len(rest) < len("6,1,1,-;") || !lines.IsDigit(rest[0]) { // as in nearly all lines
		return 0
	}
	m := kmsgHead.FindSubmatch(rest[:min(len(rest), 80)])
	if m == nil {
		return 0
	}
	priority, _ := lines.Digits(m[1])
	h.level, h.uptime = severityLevel(priority), readSinceBoot(m[2])
	h.host, h.unit, h.carried = host, kernelUnit, true
	return len(m[0])
}

// maxUptime bounds the time since boot: no machine runs for 31 years.
const maxUptime = 1e9 * time.Second

// readRingStamp reads a "[42000.017348] " of the kernel's ring buffer: the time since boot, and the
// length, which is 0 without one.
func readRingStamp(b []byte) (uptime time.Duration, n int) {
	if len(b) < 5 || b[0] != '[' {
		return 0, 0
	}
	i := lines.SkipBlanks(b, 1)
	seconds, d := lines.Digits(b[i:])
	if i += d; d == 0 || seconds >= int64(maxUptime/time.Second) || i >= len(b) || b[i] != '.' {
		return 0, 0
	}
	part, _, f := stamp.Fraction(b[i:])
	if i += f; f == 0 || f > 10 {
		return 0, 0
	}
	end := bytes.IndexByte(b[i:min(len(b), i+24)], ']')
	if end < 0 || end > 0 && !stepInStamp.Match(b[i:i+end]) {
		return 0, 0
	}
	i += end + 1
	switch {
	case i < len(b) && b[i] == ' ':
		i++
	case i < len(b) && b[i] == '[' && callerStamp.Match(b[i:]):
		i += bytes.IndexByte(b[i:], ']') + 2
	default:
		return 0, 0
	}
	return time.Duration(seconds)*time.Second + part, i
}

// stepInStamp is the time since the line before, " < 0.000001>" of dmesg -d, " < 0.000001 >" and
// " < 0.000001*>" of journalctl, or the room for it.
var stepInStamp = regexp.MustCompile(`^ *(?:<[ *]*\d+\.\d+[ *]*>)? *$`)

// callerStamp names the thread or processor that printed a line (CONFIG_PRINTK_CALLER, since 5.1).
var callerStamp = regexp.MustCompile(`^\[ *[TC]\d+\] `)

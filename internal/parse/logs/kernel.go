package logs

import (
	"bytes"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

var kernelUnit = []byte("kernel")

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
	if h.uptime, n = ringStamp(b); n > 0 {
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
		n = h.scanStep(b)
	case lines.IsDigit(c) && b[5] == '-':
		return h.scanBracketISO(b)
	default:
		if n = h.scanCtime(b); n == 0 {
			n = h.scanMinute(b)
		}
	}
	if n > 0 {
		h.markRing()
	}
	return n
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

// scanStep reads "[ +0.000001] " and "[< 0.000001>] ", which say how long after the line before
// this one came.
func (h *header) scanStep(b []byte) int {
	end := bytes.IndexByte(b[:min(len(b), 32)], ']')
	if end < 0 || end+1 >= len(b) || b[end+1] != ' ' {
		return 0
	}
	inner := bytes.TrimLeft(b[1:end], " ")
	if len(inner) > 2 && inner[0] == '<' && inner[len(inner)-1] == '>' {
		inner = bytes.TrimLeft(inner[1:len(inner)-1], " ")
	} else if len(inner) > 1 && inner[0] == '+' {
		inner = inner[1:]
		h.sameAsBefore = true // a line of the same minute
	} else {
		return 0
	}
	_, d := lines.Digits(inner)
	if _, _, f := stamp.Fraction(inner[d:]); d == 0 || f == 0 || d+f != len(inner) {
		h.sameAsBefore = false
		return 0
	}
	return end + 2
}

// scanCtime reads "[Sat Nov  8 09:30:11 2025] ", perhaps with a delta behind the year.
func (h *header) scanCtime(b []byte) int {
	day := 1 + wordLength(b[1:min(len(b), 24)])
	if day == 1 || day+22 > len(b) {
		return 0
	}
	t, n := stamp.Short(b[day+1:])
	if n += day + 1; n == day+1 || n+6 >= len(b) || b[n] != ' ' {
		return 0
	}
	y, d := lines.Digits(b[n+1 : n+5])
	n += 5
	if d != 4 {
		return 0
	}
	if b[n] == ' ' && b[n+1] == '<' {
		if end := bytes.IndexByte(b[n:min(len(b), n+24)], '>'); end > 0 {
			n += end + 1
		}
	}
	if n+1 >= len(b) || b[n] != ']' || b[n+1] != ' ' {
		return 0
	}
	t.T = t.T.AddDate(int(y), 0, 0)
	t.Lacks = event.LacksZone
	h.carrier = t
	return n + 2
}

// scanMinute reads "[Nov 8 09:30] " and "[Nov22 06:51] ".
func (h *header) scanMinute(b []byte) int {
	end := bytes.IndexByte(b[:min(len(b), 32)], ']')
	if end < 11 || end+1 >= len(b) || b[end+1] != ' ' || b[end-3] != ':' || b[end-6] != ' ' {
		return 0
	}
	month := bytes.TrimRight(b[1:end-8], " ")
	m := 0
	if len(month) == 3 {
		m = stamp.Month(month)
	}
	if m == 0 {
		m = stamp.ForeignMonths[string(month)]
	}
	hh, mm := stamp.TwoDigits(b[end-5], b[end-4]), stamp.TwoDigits(b[end-2], b[end-1])
	day, ok := stamp.Days(0, m, stamp.TwoDigits(b[end-8], b[end-7]))
	if !ok || uint(hh) > 23 || uint(mm) > 59 {
		return 0
	}
	h.carrier = stamp.Moment(day, time.Duration(hh*60+mm)*time.Minute, time.Minute, stamp.NoYear)
	return end + 2
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
	f := bytes.IndexByte(b[:min(len(b), 10)], ':')
	if f < 3 || !facilities[string(bytes.TrimRight(b[:f], " "))] {
		return 0
	}
	l := bytes.IndexByte(b[f+1:min(len(b), f+11)], ':')
	if l < 3 {
		return 0
	}
	level, ok := severities[string(bytes.Trim(b[f+1:f+1+l], " "))]
	at := f + 1 + l + 2
	if !ok || at >= len(b) || b[at-1] != ' ' {
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

// facilities are syslog's, as dmesg names them.
var facilities = map[string]bool{
	"kern": true, "user": true, "mail": true, "daemon": true, "auth": true, "syslog": true, "lpr": true, "news": true,
	"uucp": true, "cron": true, "authpriv": true, "ftp": true, "local0": true, "local1": true, "local2": true, "local3": true,
	"local4": true, "local5": true, "local6": true, "local7": true,
}

var severities = map[string]event.Level{
	"emerg": event.Fatal, "alert": event.Fatal, "crit": event.Fatal, "err": event.Error, "warn": event.Warning, "warning": event.Warning,
	"notice": event.Info, "info": event.Info, "debug": event.Debug,
}

// scanKmsg reads a record of /dev/kmsg, with priority, number and microseconds since boot:
//
//	6,1234,42000009100,-;INFO: task containerd:1422 blocked for more than 120 seconds.
//
// Lines of properties (" SUBSYSTEM=…") follow some of them.
func (h *header) scanKmsg(b []byte) int {
	semicolon := bytes.IndexByte(b[:min(len(b), 80)], ';')
	if semicolon < 0 {
		return 0
	}
	numbers := 0
	for part := range bytes.SplitSeq(b[:semicolon], []byte{','}) {
		if _, d := lines.Digits(part); d == len(part) && d > 0 && numbers < 3 {
			numbers++
		} else if numbers < 3 {
			return 0
		}
	}
	if numbers < 3 {
		return 0
	}
	pri, d := lines.Digits(b)
	h.level = severityLevel(pri)
	_, n := lines.Digits(b[d+1:])
	h.uptime = sinceBoot(b[d+n+2:])
	h.carrier = stamp.Moment(stamp.YearZero, h.uptime, time.Microsecond, event.LacksBoot)
	h.markRing()
	return semicolon + 1
}

// maxUptime bounds the time since boot: no machine runs for 31 years.
const maxUptime = 1e9 * time.Second

// ringStamp reads a "[42000.017348] " of the kernel's ring buffer: the time since boot, and the
// length, which is 0 without one.
func ringStamp(b []byte) (uptime time.Duration, n int) {
	if len(b) < 5 || b[0] != '[' {
		return 0, 0
	}
	i := 1
	for i < len(b) && b[i] == ' ' {
		i++
	}
	seconds, d := lines.Digits(b[i:])
	if i += d; d == 0 || seconds >= int64(maxUptime/time.Second) || i >= len(b) || b[i] != '.' {
		return 0, 0
	}
	part, _, f := stamp.Fraction(b[i:])
	if i += f; f == 0 || f > 10 || i+1 >= len(b) {
		return 0, 0
	}
	if b[i] == ' ' { // a delta, or the room for one
		end := bytes.IndexByte(b[i:min(len(b), i+24)], ']')
		if end < 0 || !isDelta(b[i:i+end]) {
			return 0, 0
		}
		i += end
	}
	if b[i] != ']' || i+1 >= len(b) {
		return 0, 0
	}
	n = callerStamp(b[i+1:])
	switch {
	case n > 0:
		n += i + 1
	case b[i+1] == ' ':
		n = i + 2
	default:
		return 0, 0
	}
	return time.Duration(seconds)*time.Second + part, n
}

// isDelta knows " < 0.000001>" of dmesg -d, " < 0.000001 >" and " < 0.000001*>" of journalctl, and
// blanks.
func isDelta(b []byte) bool {
	b = bytes.Trim(b, " ")
	if len(b) == 0 {
		return true
	}
	if len(b) < 3 || b[0] != '<' || b[len(b)-1] != '>' {
		return false
	}
	b = bytes.Trim(b[1:len(b)-1], " *")
	_, d := lines.Digits(b)
	_, _, f := stamp.Fraction(b[d:])
	return d > 0 && f > 0 && d+f == len(b)
}

// callerStamp is the length of the "[ T1234] " behind the stamp of a kernel that names the thread
// or processor that printed a line (CONFIG_PRINTK_CALLER, since 5.1).
func callerStamp(b []byte) int {
	if len(b) < 5 || b[0] != '[' {
		return 0
	}
	i := 1
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i >= len(b) || b[i] != 'T' && b[i] != 'C' {
		return 0
	}
	_, d := lines.Digits(b[i+1:])
	if i += d + 1; d == 0 || i+1 >= len(b) || b[i] != ']' || b[i+1] != ' ' {
		return 0
	}
	return i + 2
}

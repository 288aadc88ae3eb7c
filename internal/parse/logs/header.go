package logs

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// body is how the message of a line is written.
type body uint8

const (
	plain    body = iota // as it is
	klog                 // "msg" key="value", or plain text
	logrus               // key=value pairs, msg among them
	terminal             // as logrus writes to a terminal: the message, then key=value pairs
	inJSON               // an object that a logger wrote
	banner               // a line of journalctl itself
	created              // the first line of a file that klog writes
	none                 // the line has no header at all
)

// header is what stands before a message. Its slices are parts of the line.
type header struct {
	carrier event.Time // of journald or syslog, or the only stamp of a bare line
	inner   event.Time // of klog or logrus
	// uptime is what a clock that starts with the boot said; 0 when the line does not say, or in
	// the kernel's first line.
	uptime time.Duration
	host   []byte
	unit   []byte
	caller []byte // the source file that klog names
	pid    int
	level  event.Level
	body   body
	msg    int // where the message starts: after the header, for logrus at the first pair
	// carried says that a journal or syslog header was found, so that the writer is known.
	carried bool
	dmesg   bool // a line of the kernel's ring buffer
	child   bool // the message of logrus is a line that a child printed, of which unit is the name
	// container says that the line is one of a container's log file, CRI or docker's
	// json-file: of one writer, whose long lines are cut every 16 KiB.
	container    bool
	stderr       bool // of a container's line
	part         bool // of a container's line: it is cut, the next one goes on
	innerAt      int  // where the message starts with the header of klog or logrus
	repeats      int  // how often a syslog daemon says that the message came again
	sameAsBefore bool // the message, or the time where repeats is 0, is that of the line before
}

// scanHeader reads the header of one line, whatever the format of its file: an
// excerpt in a ticket mixes them. It decides by the first byte and looks at
// the header only, so that a line that is not wanted costs no more than that.
func scanHeader(b []byte) (h header) {
	start := 0
	for start < len(b) && b[start] == 0 { // a file that was open when the power failed
		start++
	}
	b = b[start:]
	if len(b) == 0 {
		h.body = none
		return h
	}
	n := h.scanCarrier(b)
	if n < 0 {
		h.msg += start
		return h
	}
	if n == 0 {
		h.carrier = event.Time{} // of a number that only looked like a stamp
		if n = h.scanLostBracket(b); n == 0 {
			n = h.scanUnknownMonth(b)
		}
	}
	if !h.scanInner(b[n:]) && n == 0 {
		if in := h.scanIndented(b); in > 0 {
			h.msg, h.innerAt = h.msg+start+in, h.innerAt+start+in
			return h
		}
		h.body = none
	}
	h.innerAt = start + n
	h.msg += h.innerAt
	return h
}

// scanIndented reads the header of a line that stands indented in a post, as code of Markdown does,
// and gives how far it is; 0 for any other line. It names its writer or is logrus' or the kernel's:
// what programs indent themselves is the rest of a message.
func (h *header) scanIndented(b []byte) int {
	const most = 16 // a list in a list, and code in it
	in := 0
	for in < min(len(b), most) && (b[in] == ' ' || b[in] == '\t') {
		in++
	}
	if in == 0 || in+15 > len(b) {
		return 0
	}
	c := b[in]
	if named := c >= 'A' && c <= 'Z' || lines.IsDigit(c); !named && c != '[' && !bytes.HasPrefix(b[in:], []byte(`time="`)) {
		return 0
	}
	inner := scanHeader(b[in:])
	if inner.body == none || inner.container || !(inner.body == logrus || inner.dmesg || inner.carrier.Known && (inner.pid > 0 || inner.dmesg || string(inner.unit) == "kernel") && len(inner.unit) > 0) {
		return 0
	}
	*h = inner
	return in
}

// streamIndex is 0 for a container's stdout and 1 for its stderr.
func (h *header) streamIndex() int {
	if h.stderr {
		return 1
	}
	return 0
}

// scanCarrier reads the stamp and the writer in front of the message and returns
// where the message starts; 0 without a carrier, -1 when h is complete.
func (h *header) scanCarrier(b []byte) int {
	switch c := b[0]; {
	case c >= 'A' && c <= 'Z':
		return h.scanFromCapital(b)
	case c == '-':
		if isBanner(b) {
			h.body = banner
			h.msg = len(b)
			return -1
		}
	case c == '[':
		return h.scanBracket(b)
	case c == '<':
		return h.scanPriority(b)
	case lines.IsDigit(c):
		return h.scanDigits(b)
	case c >= 'a' || c == ' ':
		return h.scanForeign(b)
	}
	return 0
}

// scanDigits reads a carrier that starts with a digit.
func (h *header) scanDigits(b []byte) (n int) {
	if len(b) < 8 {
		return 0
	}
	switch {
	case b[2] == ':':
		h.carrier, n = stamp.BareTimeOfDay(b)
		return h.scanWriterOfClock(b, n)
	case b[1] == ' ' && b[0] == '1':
		return h.scanProtocol(b)
	case b[1] == ',' || b[2] == ',' || b[3] == ',':
		return h.scanKmsg(b)
	}
	if h.carrier, n = stamp.ISO(b); n == 0 {
		// A whole number of seconds is no stamp that journalctl writes (-o short-unix has
		// microseconds): it is an inode, or a counter.
		if h.carrier, n = stamp.Epoch(b); n <= len("1762565411") {
			h.carrier, n = stamp.Short(b) // 11月 08
		}
	} else if len(b) > n && n > 19 && b[19] == ',' && h.isKernelISO(b, n) {
		return n + 1
	} else if n < len(b) && b[n] == '|' {
		return h.scanSwitch(b, n+1)
	} else if n > 0 && n < len(b) && b[n] == ' ' {
		end := h.scanWriter(b, n)
		if !h.carried && !h.container {
			end = max(end, h.scanProtocolRest(b))
		}
		return end
	}
	return h.scanWriter(b, n)
}

// scanSwitch reads the rest of a stamp of Open vSwitch (lib/vlog.c), which counts its messages and
// names the module and the level:
//
//	2023-12-13T03:08:45.046Z|18853|ovs_rcu(urcu8)|WARN|blocked 16000 ms waiting for main to quiesce
func (h *header) scanSwitch(b []byte, n int) int {
	_, d := lines.Digits(b[n:])
	if n += d; d == 0 || n >= len(b) || b[n] != '|' {
		return 0
	}
	n++
	_, rest, ok := bytes.Cut(b[n:min(len(b), n+64)], []byte{'|'})
	if h.level = readLevel(rest); !ok || h.level == event.NoLevel || bytes.IndexByte(rest, '|') < 0 {
		h.level = event.NoLevel
		return 0
	}
	return n
}

// scanForeign reads what few lines start with: "nov. 08 09:30:11 node-1 …" of a
// journalctl in another language, "kern  :err   : [42000.009100] …" of dmesg -x.
func (h *header) scanForeign(b []byte) (n int) {
	if len(b) < 15 {
		return 0
	}
	if bytes.HasPrefix(b, auditType) {
		return h.scanAudit(b)
	}
	at := 0
	switch unit, pid, end := lines.Tag(b); {
	case end > 0 && (pid > 0 || string(unit) == "kernel" || string(unit) == "systemd"): // its stamp was cut off
		h.sameAsBefore = true
		return h.setWriter(b, nil, unit, pid, end)
	case end > 0 && lines.IsUnitName(string(unit)):
		h.unit, h.carried, h.sameAsBefore = []byte("systemd"), true, true // its stamp and tag were cut off
		return -1
	case b[0] != ' ':
		// Names are padded to six letters; of eight is authpriv.
		if b[4] == ':' || b[6] == ':' || b[8] == ':' {
			if n = h.scanFacility(b); n > 0 {
				return n
			}
		}
	case b[2] < utf8.RuneSelf:
		if b[5] == ':' || b[7] == ':' || b[9] == ':' { // Talos' console has a blank before each line
			if n = h.scanFacility(b[1:]); n > 0 {
				return n + 1
			}
		}
		return 0
	default: // the Japanese months before October are padded
		at = 1
	}
	if h.carrier, n = stamp.Short(b[at:]); n == 0 {
		return 0
	}
	return h.scanWriter(b, at+n)
}

// auditType begins a line of auditd's own log.
var auditType = []byte("type=")

// scanAudit reads the stamp of auditd's log, which is in seconds since 1970 and before a serial:
//
//	type=AVC msg=audit(1665420973.105:11631): avc:  denied  { execute } for  pid=87017 comm="(ntainerd)" …
func (h *header) scanAudit(b []byte) int {
	const most = 64 // the longest type has 25 letters
	at := bytes.Index(b[:min(len(b), most)], []byte(" msg=audit("))
	if at < 0 {
		return 0
	}
	at += len(" msg=audit(")
	t, n := stamp.Epoch(b[at:])
	end := bytes.Index(b[at:min(len(b), at+most)], []byte("): "))
	if n == 0 || end < n {
		return 0
	}
	h.carrier = t
	return at + end + len("): ")
}

// scanFromCapital reads a carrier that starts with a capital letter.
func (h *header) scanFromCapital(b []byte) int {
	if len(b) < 9 {
		return 0
	}
	if bytes.HasPrefix(b, fileCreated) {
		h.body, h.msg = created, len(b)
		return -1
	}
	n := 0
	// T09:30:11.885 level=debug, as write-ups cut logrus lines
	if b[0] == 'T' && lines.IsDigit(b[1]) {
		h.carrier, n = stamp.BareTimeOfDay(b[1:])
		if n > 0 {
			n++
		}
		return afterStamp(b, n)
	}
	if h.carrier, n = stamp.Short(b); n == 0 && b[3] == ' ' && lines.IsDigit(b[4]) {
		// Sat 2025-11-08 09:30:11 CST node-1 …, journalctl -o short-full. The zone's letters are
		// ambiguous (CST is China's and Chicago's), so only UTC is used.
		if h.carrier, n = stamp.ISO(b[4:]); n > 0 {
			n += 4
			end := bytes.IndexByte(b[min(n+1, len(b)):], ' ')
			if end < 0 {
				return afterStamp(b, n)
			}
			if string(b[n+1:n+1+end]) == "UTC" {
				h.carrier.Lacks = 0
			}
			n += 1 + end
		}
	}
	if n > 0 && bytes.HasPrefix(b[n:], ginkgo) {
		return n + len(ginkgo)
	}
	return h.scanWriter(b, n)
}

// ginkgo is what the tests of Kubernetes write behind their stamp, which has no year and no zone:
//
//	Feb 25 11:53:11.774: INFO: Condition Ready of node minion-1 is false instead of true. …
var ginkgo = []byte(": INFO: ")

// afterStamp skips the blank behind a stamp of length n; without it there is no stamp.
func afterStamp(b []byte, n int) int {
	if n == 0 || n >= len(b) || b[n] != ' ' {
		return 0
	}
	return n + 1
}

// scanWriter reads " host unit[pid]: " behind a stamp of length n, or the
// " stdout F " of a container's log file.
func (h *header) scanWriter(b []byte, n int) int {
	if n = afterStamp(b, n); n == 0 {
		return 0
	}
	if rest := b[n:]; len(rest) > 9 && (string(rest[:7]) == "stdout " || string(rest[:7]) == "stderr ") && rest[8] == ' ' {
		h.container, h.stderr, h.part = true, rest[3] == 'e', rest[7] == 'P'
		return n + 9
	}
	if n+1 < len(b) && b[n] == ' ' { // where somebody took the host's name out
		n++
	}
	if end := h.scanLeveledTag(b, nil, n); end > 0 { // logread, and linuxkit's log
		return end
	}
	// journalctl --no-hostname
	if unit, pid, end := lines.Tag(b[n:]); end > 0 && (pid > 0 || string(unit) == "kernel") {
		return h.setWriter(b, nil, unit, pid, n+end)
	}
	host := wordLength(b[n:])
	if host == 0 || host > 255 || n+host >= len(b) {
		return n
	}
	tag := b[n+host+1:]
	if end := h.scanLeveledTag(b, b[n:n+host], n+host+1); end > 0 {
		return end
	}
	if end := h.scanNetconsole(b[n:n+host], tag); end > 0 {
		return n + host + 1 + end
	}
	if times := readLastRepeatedCount(tag); times > 0 {
		h.host, h.carried, h.repeats, h.sameAsBefore = b[n:n+host], true, times, true
		return n + host + 1
	}
	unit, pid, end := lines.Tag(tag)
	// "2025-11-08 09:30:11 some words: …" of a program's own log is not a host and its unit.
	if end == 0 || pid == 0 && h.carrier.Lacks == event.LacksZone && lines.IsDigit(b[0]) {
		return n
	}
	return h.setWriter(b, b[n:n+host], unit, pid, n+host+1+end)
}

// scanLeveledTag reads "kern.err kernel: ", as busybox writes its tags: behind the host, if any.
func (h *header) scanLeveledTag(b, host []byte, at int) int {
	level, n := lines.Facility(b[at:], '.')
	if n == 0 { // as in nearly all lines
		return 0
	}
	unit, pid, end := lines.Tag(b[at+n:])
	if end == 0 {
		return 0
	}
	if len(host) == 4 && lines.IsDigit(host[0]) { // logread has the year there
		host = nil
	}
	h.level = level
	return h.setWriter(b, host, unit, pid, at+n+end)
}

// scanWriterOfClock reads "kubelet[90]: " or "node-1 kubelet[90]: " behind a time of day of length
// n, as of a journal whose date was cut off. Other programs put words and colons there, but no PID.
func (h *header) scanWriterOfClock(b []byte, n int) int {
	if n = afterStamp(b, n); n == 0 {
		return 0
	}
	unit, pid, end := lines.Tag(b[n:])
	host := 0
	if end == 0 {
		if host = wordLength(b[n:]); host > 0 && host < 256 && n+host < len(b) {
			unit, pid, end = lines.Tag(b[n+host+1:])
			end += host + 1
		}
	}
	if pid == 0 {
		return n
	}
	return h.setWriter(b, b[n:n+host], unit, pid, n+end)
}

// setWriter takes the writer, and gives where the message starts: at, or behind what the writer put
// there.
func (h *header) setWriter(b, host, unit []byte, pid, at int) int {
	h.host, h.unit, h.pid, h.carried = host, unit, pid, true
	switch {
	case string(h.unit) == "kernel":
		n := 0
		h.uptime, n = readRingStamp(b[at:])
		at += n
	case b[len(b)-1] == 's' && pid == 0:
		// busybox: "syslogd: last message repeated 3 times"
		if times := readLastRepeatedCount(b[at:]); times > 0 {
			h.unit, h.repeats, h.sameAsBefore = nil, times, true
		}
	}
	return at
}

// wordLength is the length of the word that b starts with.
func wordLength(b []byte) int {
	n := bytes.IndexByte(b, ' ')
	if n < 0 {
		return 0
	}
	return n
}

func isBanner(b []byte) bool {
	return lines.StartsWith(b, "-- Boot ", event.RebootBanner, "-- Logs begin", "-- Journal begins", "-- No entries --",
		"-- No journal files were found. --")
}

// fileCreated begins the first line of a file that klog, or glog before it, writes.
var fileCreated = []byte("Log file created at: ")

// createdAt is when a file of klog begins, by its writer's clock. The lines below have no year:
//
//	Log file created at: 2019/08/20 20:28:26
func createdAt(b []byte) event.Time {
	at, err := time.Parse("2006/01/02 15:04:05", string(bytes.TrimRight(b[len(fileCreated):], " \t\r")))
	return event.Time{T: at, Prec: time.Second, Lacks: event.LacksZone, Known: err == nil}
}

// bannerEnd is when the journal ended, as its first line says; unknown where it does not:
//
//	-- Logs begin at Tue 2023-11-07 20:13:40 CST, end at Wed 2023-11-08 10:01:03 CST. --
//	-- Journal begins at Tue 2023-11-07 20:13:40 CST, ends at Wed 2023-11-08 10:01:03 CST. --
func bannerEnd(b []byte) event.Time {
	_, rest, found := bytes.Cut(b, []byte(", end at "))
	if !found {
		_, rest, found = bytes.Cut(b, []byte(", ends at "))
	}
	_, date, weekday := bytes.Cut(rest, []byte{' '})
	if !found || !weekday {
		return event.Time{}
	}
	t, n := stamp.ISO(date)
	if n > 0 && bytes.HasPrefix(date[n:], []byte(" UTC")) {
		t.Lacks = 0
	}
	return t
}

// scanInner reads the header that klog or logrus put before the message. It says
// whether there was one; h.msg is counted from b.
func (h *header) scanInner(b []byte) bool {
	if len(b) < 6 {
		return false
	}
	switch b[0] {
	case 'I', 'W', 'E', 'F':
		if b[1] >= 'A' {
			return h.scanTerminal(b)
		}
		return h.scanKlog(b)
	case 't':
		return h.scanLogrus(b)
	case 'D', 'T', 'P':
		return h.scanTerminal(b)
	case ' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return h.scanCutKlog(b)
	case '<':
		return h.carried && h.scanRelayed(b)
	case 'l', 'm':
		if string(b[:6]) == "messag" && h.carried {
			return h.scanRepeated(b)
		}
		if string(b[:6]) == "level=" || string(b[:4]) == "msg=" && !bytes.HasPrefix(b, []byte("msg=audit(")) { // auditd's
			h.body = logrus
			h.scanLevel(b)
			return true
		}
	}
	return false
}

// scanKlog reads the header of k8s.io/klog and of glog before it:
//
//	E1108 09:30:11.885000    2917 kubelet.go:2412] "Skipping pod synchronization" err="…"
//
// It has no year and no zone. What looks like a thread id is the process id.
func (h *header) scanKlog(b []byte) bool {
	if len(b) < 22 || b[5] != ' ' || b[1] == ' ' || b[3] == ' ' {
		return false
	}
	day, ok := stamp.Days(0, stamp.TwoDigits(b[1], b[2]), stamp.TwoDigits(b[3], b[4]))
	face, prec, c := stamp.TimeOfDay(b[6:])
	if !ok || c == 0 {
		return false
	}
	i := lines.SkipBlanks(b, 6+c)
	pid, d := lines.Digits(b[i:])
	if i += d; d > 0 && i < len(b) && b[i] == ' ' {
		i++
	}
	end := bytes.IndexByte(b[i:min(len(b), i+256)], ']')
	if end < 0 {
		return false
	}
	h.caller = callerFile(b[i : i+end])
	i += end + 1
	if i < len(b) && b[i] == ' ' {
		i++
	}
	h.inner = stamp.Moment(day, face, prec, stamp.NoYear)
	if h.pid == 0 && d < 11 {
		h.pid = int(pid)
	}
	h.level, h.body, h.msg = readLevel(b), klog, i
	return true
}

// scanCutKlog reads the rest of klog's header where level and date were cut off, and the time
// stands before it:
//
//	09:30:11.885000    2917 kubelet.go:2412] "Skipping pod synchronization" err="…"
func (h *header) scanCutKlog(b []byte) bool {
	if !h.carrier.Known {
		return false
	}
	start := lines.SkipBlanks(b, 0)
	pid, d := lines.Digits(b[start:])
	if d += start; d == start || d > start+10 || d >= len(b) || b[d] != ' ' {
		return false
	}
	end := bytes.IndexByte(b[:min(len(b), d+64)], ']')
	if end < 0 || end+1 >= len(b) || b[end+1] != ' ' {
		return false
	}
	file, line, ok := bytes.Cut(b[d+1:end], []byte(".go:"))
	if _, digits := lines.Digits(line); !ok || digits == 0 || digits != len(line) || bytes.ContainsAny(file, " \"=") {
		return false
	}
	h.caller = callerFile(b[d+1 : end])
	if h.pid == 0 {
		h.pid = int(pid)
	}
	h.body, h.msg = klog, end+2
	return true
}

// callerFile is the file of "kubelet.go:2412", or of "kubelet/kubelet.go:2412" in JSON.
func callerFile(b []byte) []byte {
	file, _, _ := bytes.Cut(b, []byte{':'})
	return file[bytes.LastIndexByte(file, '/')+1:]
}

// scanLogrus reads the stamp and the level in front of a line of
// sirupsen/logrus, or of log/slog's text handler, which does not quote the time:
//
//	time="2025-11-08T09:30:11.885000000+08:00" level=debug msg="…" key=value
//	time=2025-11-08T09:30:11.885+08:00 level=INFO msg="…"
func (h *header) scanLogrus(b []byte) bool {
	if string(b[:5]) != "time=" {
		return false
	}
	i := 5
	if b[i] == '"' {
		i++
	}
	t, n := stamp.ISO(b[i:])
	if i += n; n == 0 || i >= len(b) {
		return false
	}
	if b[i] == '"' {
		i++
	}
	if i < len(b) && b[i] == ' ' {
		i++
	}
	h.inner, h.body, h.msg = t, logrus, i
	h.scanLevel(b[i:])
	h.scanChild(b[i:])
	return true
}

// scanChild reads whose words a line of k0s repeats, which runs the kubelet and containerd as its
// children, and the header that these gave them. Up to 1.20 nothing but that header tells such a
// line from one of k0s about its child:
//
//	k0s[811]: time="2021-02-19 13:40:45" level=info msg="E0219 13:40:45.120733  178301 pod_workers.go:191] Error syncing pod …" component=kubelet
//	k0s[811]: time="2024-07-08 08:46:26" level=info msg="E0708 08:46:26.112550    1814 kubelet.go:2347] \"Skipping…\" err=…" component=kubelet stream=stderr
//	k0s[811]: time="2024-07-08 08:46:28" level=info msg="time=\"2024-07-08T08:46:28.031245678Z\" level=warning msg=…" component=containerd stream=stderr
func (h *header) scanChild(b []byte) {
	b = bytes.TrimRight(b, " \t\r")
	rest, streamed := bytes.CutSuffix(b, []byte(" stream=stderr"))
	if !streamed {
		rest, streamed = bytes.CutSuffix(b, []byte(" stream=stdout"))
	}
	const key = " component="
	at := bytes.LastIndexByte(rest, ' ')
	if at < 0 || !bytes.HasPrefix(rest[at:], []byte(key)) || bytes.IndexByte(rest[at:], '"') >= 0 {
		return
	}
	said := bytes.Index(b[:min(len(b), 32)], []byte(` msg="`))
	if said < 0 {
		return
	}
	inner := header{}
	text := rest[said+len(` msg="`) : max(at, said+len(` msg="`))]
	isKlog := len(text) >= 6 && inner.scanInner(text) && inner.body == klog
	if !streamed && !isKlog && !bytes.HasPrefix(text, []byte(`time=\"`)) {
		return
	}
	h.unit, h.child = rest[at+len(key):], true
	if isKlog {
		h.inner, h.level, h.pid, h.caller = inner.inner, inner.level, inner.pid, inner.caller
		return
	}
	text, ok := bytes.CutPrefix(text, []byte(`time=\"`))
	if t, n := stamp.ISO(text); ok && n > 0 {
		h.inner = t
		if level, found := bytes.CutPrefix(text[n:], []byte(`\" level=`)); found {
			h.level = readLevel(level)
		}
	}
}

func (h *header) scanLevel(b []byte) {
	if len(b) > 7 && string(b[:6]) == "level=" {
		h.level = readLevel(b[6:])
	}
}

// levels are by the first letter of their words, which klog, logrus and slog share.
var levels = [256]event.Level{
	't': event.Trace, 'd': event.Debug, 'i': event.Info, 'w': event.Warning, 'e': event.Error, 'f': event.Fatal, 'p': event.Fatal,
}

// readLevel reads the level that b starts with, as a word or a letter of either case.
func readLevel(b []byte) event.Level {
	if len(b) == 0 {
		return event.NoLevel
	}
	return levels[b[0]|0x20]
}

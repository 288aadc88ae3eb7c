package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// HasHeader says that a line has the header of a log beyond doubt.
func HasHeader(line []byte) bool {
	h := scanHeader(line)
	return h.isSure()
}

// isSure says that the header is one of a log beyond doubt.
func (h *header) isSure() bool {
	return h.body == klog || h.body == logrus || h.body == terminal || h.container || h.carried && (h.carrier.Known || h.dmesg) && len(h.unit) > 0
}

// The marks of a line that this package finds: what its header, or its JSON, shows.
const (
	headedMark    uint8 = 1 << iota // see HasHeader
	containerMark                   // see IsContainer
	shortMark                       // of journalctl's text forms, or of syslog
	dmesgMark                       // of the kernel's ring buffer
	klogMark                        // see IsKlog
	logrusMark                      // see IsLogrus
)

// marksOf are the marks of the lines of head. Each header is looked at once for all formats.
func marksOf(head *lines.Head) []uint8 {
	if head.Marks == nil {
		head.Marks = make([]uint8, len(head.Lines))
		for i, line := range head.Lines {
			head.Marks[i] = findMarks(line)
		}
	}
	return head.Marks
}

func findMarks(line []byte) (marks uint8) {
	set := func(is bool, mark uint8) {
		if is {
			marks |= mark
		}
	}
	if line[0] == '{' {
		set(IsContainer(line), containerMark)
		set(IsKlog(line), klogMark)
		set(IsLogrus(line), logrusMark)
		return marks
	}
	h := scanHeader(line)
	inner := h.body == logrus || h.body == terminal
	set(h.isSure(), headedMark)
	set(h.container, containerMark)
	set(h.body == banner || h.carried && !h.dmesg && (h.carrier.Known || h.host != nil), shortMark)
	set(h.dmesg, dmesgMark)
	set(h.body == klog && !h.carried, klogMark)
	set(inner && !h.carried, logrusMark)
	return marks
}

// sniffMarked makes a sniffer of a mark. A line that continues the one before need not have it.
func sniffMarked(mark uint8) func(head *lines.Head) float64 {
	return func(head *lines.Head) float64 {
		marks := marksOf(head)
		return lines.ShareOf(head, func(n int) lines.Sign {
			if c := head.Lines[n][0]; c == ' ' || c == '\t' {
				return lines.Silent
			}
			return lines.SignIf(marks[n]&mark != 0, lines.Proves)
		})
	}
}

// The sniffers of formats that a line's header, or its JSON, shows.
var (
	SniffContainer    = sniffMarked(containerMark) // the log files that the CRI and docker's json-file driver write
	SniffJournalShort = sniffMarked(shortMark)     // journalctl's text forms, and syslog
	SniffDmesg        = sniffMarked(dmesgMark)     // the kernel's ring buffer
	SniffKlog         = sniffMarked(klogMark)
	SniffLogrus       = sniffMarked(logrusMark)
)

// IsHeaded says that line n of head has the header of a log beyond doubt.
func IsHeaded(head *lines.Head, n int) bool { return marksOf(head)[n]&headedMark != 0 }

// MayHaveHeaders says that a header, or an entry of JSON, may stand somewhere in head: they have a
// time of day, a bracket, the separator of /dev/kmsg, or a word of logrus or of a container's log.
func MayHaveHeaders(head *lines.Head) bool {
	if head.HoldsByte(':') || head.HoldsByte(']') || head.HoldsByte(';') || head.HoldsByte('{') {
		return true
	}
	return head.MayHold("level=", "msg=", "stdout ", "stderr ")
}

// SniffJournalJSON knows the entries on one line each, and those of json-pretty, of which the
// indented lines do not count.
func SniffJournalJSON(head *lines.Head) float64 {
	if !head.MayHold(`"__REALTIME_TIMESTAMP"`, `"__CURSOR"`) {
		return 0
	}
	pretty := head.Holds("\n\t\"__REALTIME_TIMESTAMP\" : ") || head.Holds("\n\t\"__CURSOR\" : ")
	return lines.Sniffer(func(line []byte) bool {
		return IsJournalJSON(line) || pretty && len(line) == 1 && (line[0] == '{' || line[0] == '}')
	})(head)
}

// IsJournalJSON knows an entry of the journal on one line of JSON, as journalctl -o json, json-seq
// and json-sse write it.
func IsJournalJSON(line []byte) bool {
	line = bytes.TrimPrefix(bytes.TrimPrefix(line, []byte{0x1e}), []byte("data: "))
	return len(line) > 0 && line[0] == '{' && (bytes.Contains(line, []byte(`"__REALTIME_TIMESTAMP":`)) || bytes.Contains(line, []byte(`"__CURSOR":`)))
}

// IsContainer knows the log files that the CRI and docker's json-file driver write for a container.
func IsContainer(line []byte) bool {
	if line[0] == '{' {
		return bytes.HasPrefix(line, []byte(`{"log":`)) && bytes.Contains(line, []byte(`"time":"`))
	}
	return scanHeader(line).container
}

// IsProperty knows a line of the properties that follow some records of /dev/kmsg, as in Talos'
// dmesg, each behind a blank: SUBSYSTEM=nvme, DEVICE=c245:1.
func IsProperty(line []byte) bool { return lines.StartsWith(line, " SUBSYSTEM=", " DEVICE=") }

// IsKlog knows klog's text, and the JSON that the kubelet writes with --logging-format=json.
func IsKlog(line []byte) bool {
	if line[0] == '{' {
		return bytes.HasPrefix(line, []byte(`{"ts":`)) && bytes.Contains(line, []byte(`"msg":`))
	}
	h := scanHeader(line)
	return h.body == klog && !h.carried
}

// IsLogrus knows a line of logrus or log/slog, as text, as JSON or as on a terminal, without a
// carrier.
func IsLogrus(line []byte) bool {
	if line[0] == '{' {
		return bytes.Contains(line, []byte(`"msg":`)) && (bytes.Contains(line, []byte(`"time":`)) || bytes.Contains(line, []byte(`"ts":`)))
	}
	h := scanHeader(line)
	return (h.body == logrus || h.body == terminal) && !h.carried
}

// SniffText gives printable text just enough to be read when nothing knows it better. A
// quarter of it may be noise: what a crash left in a log, or a paste of something binary.
func SniffText(head *lines.Head) float64 {
	noise, all := 0, 0
	for _, line := range head.Lines {
		line = bytes.TrimLeft(line, "\x00")
		all += len(line)
		if lines.IsNoise(line) {
			noise += len(line)
		}
	}
	switch {
	case all == 0 && len(head.Text) > 0 && lines.IsBlank(head.Text):
		return 0.5
	case all == 0:
		return 0
	case noise*4 <= all:
		return 0.5
	}
	return 0.5 * float64(all-noise) / float64(all)
}

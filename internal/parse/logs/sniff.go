package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// HasHeader says that a line has the header of a log beyond doubt.
func HasHeader(line []byte) bool {
	return len(line) > 0 && line[0] != '{' && findMarks(line)&Headed != 0
}

// Mark is a format that the header of a line shows, or its JSON.
type Mark uint8

// The marks of a line. Headed is one that has the header of a log beyond doubt.
const (
	Headed       Mark = 1 << iota
	Container         // the log files that the CRI and docker's json-file driver write
	JournalShort      // journalctl's text forms, and syslog
	Dmesg             // the kernel's ring buffer
	Klog              // its text, and the JSON that the kubelet writes with --logging-format=json
	Logrus            // or log/slog, as text, as JSON or as on a terminal, without a carrier
)

// Marks are the marks of the lines of head. Each header is looked at once for all formats.
func Marks(head *lines.Head) []uint8 {
	if head.Marks == nil {
		head.Marks = make([]uint8, len(head.Lines))
		for i, line := range head.Lines {
			head.Marks[i] = uint8(findMarks(line))
		}
	}
	return head.Marks
}

func findMarks(line []byte) Mark {
	if line[0] == '{' {
		return Container.when(IsContainer(line)) | Klog.when(IsKlog(line)) | Logrus.when(IsLogrus(line))
	}
	h := scanHeader(line)
	inner := h.body == logrus || h.body == terminal
	return Headed.when(h.body == klog || inner || h.container || h.carried && (h.carrier.Known || h.dmesg) && len(h.unit) > 0) |
		Container.when(h.container) | Dmesg.when(h.dmesg) | JournalShort.when(h.body == banner || h.carried && !h.dmesg && (h.carrier.Known || h.host != nil)) |
		Klog.when(h.body == klog && !h.carried) | Logrus.when(inner && !h.carried)
}

func (m Mark) when(is bool) Mark {
	if is {
		return m
	}
	return 0
}

// Sniff is the share of the lines that have the mark. One that continues the one before need not.
func (m Mark) Sniff(head *lines.Head) float64 {
	return lines.ShareOf(head, func(n int) lines.Sign {
		if c := head.Lines[n][0]; c == ' ' || c == '\t' {
			return lines.Silent
		}
		return lines.SignIf(Marks(head)[n]&uint8(m) != 0, lines.Proves)
	})
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

// IsContainer knows an object that docker's json-file driver wrote.
func IsContainer(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"log":`)) && bytes.Contains(line, []byte(`"time":"`))
}

// IsProperty knows a line of the properties that follow some records of /dev/kmsg, as in Talos'
// dmesg, each behind a blank: SUBSYSTEM=nvme, DEVICE=c245:1.
func IsProperty(line []byte) bool { return lines.StartsWith(line, " SUBSYSTEM=", " DEVICE=") }

// IsKlog knows an object of the kubelet's.
func IsKlog(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"ts":`)) && bytes.Contains(line, []byte(`"msg":`))
}

// IsLogrus knows an object of logrus, log/slog, or zap as operators set it up.
func IsLogrus(line []byte) bool {
	said := bytes.Contains(line, []byte(`"msg":`)) || bytes.Contains(line, []byte(`"message":`)) && bytes.Contains(line, []byte(`,"logger":`))
	return line[0] == '{' && said && (bytes.Contains(line, []byte(`"time":`)) || bytes.Contains(line, []byte(`"ts":`)))
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

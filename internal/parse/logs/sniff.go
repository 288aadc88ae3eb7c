package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// HasHeader says that a line has the header of a log beyond doubt.
func HasHeader(line []byte) bool {
	h := scanHeader(line)
	return h.body == klog || h.body == logrus || h.body == terminal || h.container || h.carried && (h.carrier.Known || h.dmesg) && len(h.unit) > 0
}

// SniffJournalJSON knows the entries on one line each, and those of json-pretty, of which the
// indented lines do not count.
func SniffJournalJSON(head []byte) float64 {
	if !lines.MayHold(head, `"__REALTIME_TIMESTAMP"`, `"__CURSOR"`) {
		return 0
	}
	pretty := bytes.Contains(head, []byte("\n\t\"__REALTIME_TIMESTAMP\" : ")) || bytes.Contains(head, []byte("\n\t\"__CURSOR\" : "))
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

// IsJournalShort knows a line with the header of journalctl's text forms, or of syslog.
func IsJournalShort(line []byte) bool {
	h := scanHeader(line)
	return h.body == banner || h.carried && !h.dmesg && (h.carrier.Known || h.host != nil)
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

// IsDmesg knows a line of the kernel's ring buffer.
func IsDmesg(line []byte) bool { return scanHeader(line).dmesg }

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
func SniffText(head []byte) float64 {
	noise, all := 0, 0
	for line := range lines.OfHead(head) {
		line = bytes.TrimLeft(line, "\x00")
		all += len(line)
		if lines.IsNoise(line) {
			noise += len(line)
		}
	}
	switch {
	case all == 0 && len(head) > 0 && lines.IsBlank(head):
		return 0.5
	case all == 0:
		return 0
	case noise*4 <= all:
		return 0.5
	}
	return 0.5 * float64(all-noise) / float64(all)
}

package logs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// systemctl status prints properties of a unit and then the last lines of its journal:
//
//	● containerd.service - containerd container runtime
//	     Loaded: loaded (/lib/systemd/system/containerd.service; enabled; preset: enabled)
//	     Active: active (running) since Fri 2026-11-20 18:22:10 UTC; 3min 2s ago
//	   Main PID: 43 (containerd)
//	      Tasks: 12 (limit: 28844)
//
//	Nov 20 18:25:12 node-1 containerd[43]: …
//
// It is a log, of which the lines of properties get the name of the unit as their field "unit". The
// mark before the first line is often lost on the way: terminals show it in another character set,
// and people begin to copy behind it.

// readStatusHead is the unit of which systemctl status prints the properties below; nil when the
// line begins none.
func readStatusHead(line []byte) []byte {
	if len(line) < 8 {
		return nil
	}
	mark, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return nil
	}
	if len(mark) > 3 {
		mark, rest = nil, line
	}
	unit, rest, _ := bytes.Cut(rest, []byte{' '})
	if len(mark) == 0 && !bytes.HasPrefix(rest, []byte("- ")) || len(mark) > 0 && !slices.Contains([]string{"●", "*", "○", "×", "↻"}, string(mark)) {
		return nil
	}
	if !lines.IsUnitName(string(unit)) {
		return nil
	}
	return unit
}

// statusProperties begin lines of a unit's status. The files of two of them name the unit, where
// the first line is not there.
var statusProperties = []string{
	"Loaded: ", "Drop-In: ", "Active: ", "Docs: ", "Process: ", "Main PID: ", "Status: ", "Tasks: ", "Memory: ",
	"CPU: ", "CGroup: ", "TriggeredBy: ", "Condition: ",
}

// followStatus notes whose properties a line without a header is about. Where they stand at the
// left edge, as pages show them, they are known by their names.
func (l *logReader) followStatus(b []byte) {
	unit := readStatusHead(b)
	text := bytes.TrimLeft(b, " \t")
	switch is := lines.StartsWith(text, statusProperties...); {
	case unit != nil:
		l.status = string(unit)
	case is && l.status == "":
		l.status = unitOfFile(text)
	case !is && len(b) > 0 && len(text) == len(b):
		l.status = ""
	}
}

// unitOfFile is the unit of a file that a property names; empty for any other property:
//
//	Loaded: loaded (/usr/lib/systemd/system/kubelet.service; enabled; vendor preset: disabled)
//	Drop-In: /etc/systemd/system/kubelet.service.d
func unitOfFile(property []byte) string {
	name, rest, _ := strings.Cut(string(property), ": ")
	file, _, _ := strings.Cut(strings.TrimPrefix(rest, "loaded ("), ";")
	file = strings.TrimSuffix(strings.TrimSpace(file), ".d")
	unit := file[strings.LastIndexByte(file, '/')+1:]
	if name != "Loaded" && name != "Drop-In" || !strings.HasPrefix(file, "/") || !lines.IsUnitName(unit) {
		return ""
	}
	return unit
}

// SniffStatus wants the first two lines of a unit's status.
func SniffStatus(head *lines.Head) float64 {
	if len(head.Lines) > 1 && readStatusHead(head.Lines[0]) != nil && bytes.HasPrefix(bytes.TrimLeft(head.Lines[1], " "), []byte("Loaded: ")) {
		return 1
	}
	return 0
}

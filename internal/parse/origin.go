package parse

import (
	"bytes"
	"io"
	"regexp"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// Origin is what a tool that shows the logs of several writers puts before every line:
//
//	10.200.1.3: {"ts":1762565411885.0,…                     talosctl logs
//	node-1: kern: warning: [2025-11-08T09:30:11.885Z]: …    talosctl dmesg
//	[pod/containerd-x/containerd] time="2025-…              kubectl logs --prefix
//	kubelet-x kubelet I1108 09:30:11.885000 …               stern; its words are coloured
//	kubelet_1  | I1108 09:30:11.885000 …                    docker compose logs
//	messages-20251108:1234:Nov  8 09:30:11 node-1 …         grep -n
//	   12	I1108 09:30:11.885000 …                           cat -n
//
// It ends behind the same mark in all lines, which FindOrigin finds. It is no part of the line
// proper.
type Origin struct {
	end    byte // of the origin
	times  int  // how many of them it holds, runs counting as one
	seen   map[string]bool
	colour []byte
}

// maxOrigin is the longest origin that is looked for, in bytes: namespace, pod and container may
// have 63 to 253 each.
const maxOrigin = 400

// maxOrigins bounds how many are remembered.
const maxOrigins = 4096

// origins are the marks that are tried: blanks, the bar of compose, the colons of grep and the tab
// of cat.
var origins = []Origin{{end: ' ', times: 1}, {end: ' ', times: 2}, {end: ' ', times: 3}, {end: '|', times: 1}, {end: ':', times: 1}, {end: ':', times: 2}, {end: '\t', times: 1}}

// FindOrigin is the origin that most lines of head start with; nil when without it no more lines
// are known than with it.
func FindOrigin(head *lines.Head) *Origin {
	if !mayHaveHeaders(head) {
		return nil
	}
	var best *Origin
	most, least := 0, 0
	for _, o := range origins {
		all, known, size := 0, 0, 0
		left := len(head.Lines)
		for _, line := range head.Lines {
			if known+left < all-known {
				break // less than half, whatever follows
			}
			left--
			if logs.IsProperty(line) {
				continue
			}
			all++
			if n := o.lengthIn(line); n > 0 && o.knowsLine(line[n:]) {
				known++
				size += n
			}
		}
		// Of two the shorter: what follows the stamp of a line may look like a line, too.
		if known > 0 && known*2 >= all && (known > most || known == most && size < least) {
			most, least, best = known, size, &Origin{end: o.end, times: o.times, seen: map[string]bool{}}
		}
	}
	return best
}

// mayHaveHeaders says that a header, or an entry of JSON, may stand somewhere in head: they have a
// time of day, a bracket, the separator of /dev/kmsg, or a word of logrus or of a container's log.
func mayHaveHeaders(head *lines.Head) bool {
	if head.HoldsByte(':') || head.HoldsByte(']') || head.HoldsByte(';') || head.HoldsByte('{') {
		return true
	}
	return head.MayHold("level=", "msg=", "stdout ", "stderr ")
}

// talosLine is a line of talosctl dmesg with the node before it: its name, or its address.
var talosLine = regexp.MustCompile(`(?m)^([\w.:-]{1,253}): (?:kern|user|daemon|syslog|auth): +[a-z]+: \[\d{4}-`)

// findTalosNode finds the node that talosctl dmesg names before the lines of head; empty for none,
// and for several.
func findTalosNode(head []byte) (node string) {
	if !bytes.Contains(head, []byte(": [2")) {
		return ""
	}
	for _, m := range talosLine.FindAllSubmatch(head, -1) {
		if node != "" && node != string(m[1]) {
			return ""
		}
		node = string(m[1])
	}
	return node
}

// lengthIn is how much of a line stands before the line proper, if it has an origin.
func (o *Origin) lengthIn(line []byte) int {
	line = line[:min(len(line), maxOrigin)]
	n := lines.SkipBlanks(line, 0)
	for range o.times {
		i := bytes.IndexByte(line[n:], o.end)
		if i < 0 {
			return 0
		}
		for n += i; n < len(line) && line[n] == o.end; n++ {
		}
	}
	if (o.end == '|' || o.end == ':') && n < len(line) && line[n] == ' ' { // of talosctl's colon and compose's bar
		n++
	}
	if isEventRow(line[:n]) {
		return 0
	}
	return n
}

// isEventRow says that a line begins as a row of kubectl's events does: its message can quote the
// line of a program, as "Readiness probe failed: F1108 …", whose beginning is no origin.
func isEventRow(start []byte) bool {
	for _, word := range []string{"Warning", "Normal"} {
		i := bytes.Index(start, []byte(word))
		end := i + len(word)
		if i >= 0 && (i == 0 || start[i-1] <= ' ') && end < len(start) && start[end] <= ' ' {
			return true
		}
	}
	return false
}

// knowsLine says that what follows an origin is a line with a header.
func (o *Origin) knowsLine(line []byte) bool {
	line = line[:min(len(line), 512)]
	if bytes.IndexByte(line, '\x1b') >= 0 {
		o.colour = lines.WithoutColours(o.colour[:0], line)
		line = o.colour
	}
	if len(line) > 0 && line[0] == '{' {
		return logs.IsKlog(line) || logs.IsLogrus(line) || logs.IsContainer(line) || logs.IsJournalJSON(line)
	}
	return len(line) > 0 && logs.HasHeader(line)
}

// cutLength is how much of a line to take off: an origin before a line with a header, or one that
// stood before such a line.
func (o *Origin) cutLength(line []byte) int {
	n := o.lengthIn(line)
	if n == 0 || o.seen[string(line[:n])] {
		return n
	}
	if !o.knowsLine(line[n:]) {
		return 0
	}
	if len(o.seen) < maxOrigins && o.end != ':' && o.end != '\t' { // grep's and cat's hold numbers
		o.seen[string(line[:n])] = true
	}
	return n
}

// WithoutOrigin reads r without the origin of its lines. They keep their numbers, and what is left
// of a line is still a part of it.
func WithoutOrigin(r io.Reader, o *Origin) io.Reader {
	return lines.WithoutStarts(r, maxOrigin+512, func(head []byte) int {
		line, _, _ := bytes.Cut(head, []byte{'\n'})
		return o.cutLength(line)
	})
}

// Package parse turns the bytes of one text format into event.Record: what is
// written, where. It says nothing about what a line means, and it loses no line
// silently: each is used by a record, blank, or named in an *event.Skip.
//
// It makes one streaming pass, starts no goroutines and holds no more than one
// line (MaxLine), plus messages that are written in several pieces (64 MiB).
package parse

import (
	"bytes"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Input is one file to be read.
type Input struct {
	Path string // as it appears in every event.Pos
	R    io.Reader
	// Want says whether a raw line, or what stands behind its header, may matter; nil wants every line. What it rejects becomes
	// a record with Pos, Lines, Time and, where that is free, Unit and Level. It must want the first line of
	// a message that is cut into pieces ("goroutine ") for these to be joined.
	// The format journal-export asks it about the value of MESSAGE.
	Want func(line []byte) bool
	// Calls says which calls of a trace may matter; nil leaves it to Want.
	Calls *CallFilter
	// Thread is the one of a trace's lines that name none, as strace -ff has it in the name of the file; 0 without.
	Thread int
	// Go runs a function beside the reading, so that the lines of a trace are taken apart ahead of their use;
	// nil does one after the other. What it runs has ended when the reading has.
	Go    func(func())
	Stats *Stats // filled while reading; nil allowed
}

// Format is one kind of file plegdiag can read.
//
// In the sequences, an error that is an *event.Skip concerns one record, or is
// a remark when its Lines is 0, and the sequence goes on; any other error is the
// last pair. Records come in the order in which they are complete.
type Format struct {
	Name string
	// Sniff is the share of head's lines that the format understands, 0 to 1. Head may end inside a line.
	Sniff func(head []byte) float64
	// Named says that a file is of the format by where it stands, with a look at its head: content alone
	// cannot tell some. Nil for most.
	Named    func(file string, head []byte) bool
	Records  func(Input) iter.Seq2[event.Record, error] // logs; nil for other kinds
	Syscalls func(Input) iter.Seq2[*Syscall, error]     // strace; nil for other kinds. A call is valid until the next step
	Samples  func(Input) iter.Seq2[Sample, error]       // samplers of threads; nil for other kinds
	Data     func(Input) iter.Seq2[Datum, error]        // snapshots: configuration, listings, /proc; nil for other kinds
	Dump     bool                                       // a goroutine dump, which package stackdump reads
	Entries  bool                                       // it is no text: what counts as a line, and has its number, is an entry
	// Placed says by their place which files may be of a format whose content tells nothing (a bare number): such
	// content is worth one half to Sniff, and wins only there. Nil for formats that content alone decides.
	Placed func(file string) bool
}

// Text is the name of the last format: lines of no known shape.
const Text = "text"

// Formats is ordered, most specific first: on a tie the first wins. All formats
// that are written line by line share one reader; their rows say what a file mostly is.
var Formats = []Format{
	{Name: "journal-file", Sniff: sniffJournalFile, Records: journalFile, Entries: true},
	{Name: "journal-json", Sniff: sniffJournalJSON, Records: logRecords},
	{Name: "journal-verbose", Sniff: sniffVerbose, Records: verboseRecords},
	{Name: "journal-export", Sniff: sniffExport, Records: exportRecords},
	{Name: "goroutines", Sniff: sniffGoroutines, Dump: true},
	{Name: "strace", Sniff: sniffStrace, Syscalls: syscalls},
	{Name: "threads", Sniff: share(isThreads), Samples: threadWalks},
	{Name: "proc", Sniff: sniffProc, Named: namedProc, Samples: threadFiles},
	{Name: "psn", Sniff: sniffPSN, Samples: psnRows},
	{Name: "xcapture", Sniff: sniffSamples, Samples: threadSamples},
	{Name: "collected", Sniff: sniffCollected, Data: collectedData},
	{Name: "unit-status", Sniff: sniffStatus, Records: logRecords},
	{Name: "json", Sniff: sniffJSON, Data: jsonData},
	{Name: "yaml", Sniff: sniffYAML, Data: yamlData},
	{Name: "metrics", Sniff: sniffMetrics, Data: metricData},
	{Name: "mounts", Sniff: share(isMount), Data: mountData},
	{Name: "table", Sniff: sniffTable, Data: tableData},
	{Name: "packages", Sniff: sniffPackages, Data: packageData},
	{Name: "properties", Sniff: sniffProperties, Data: propertyData},
	{Name: "toml", Sniff: sniffTOML, Data: tomlData},
	{Name: "outline", Sniff: sniffOutline, Data: outlineData},
	{Name: "values", Sniff: sniffValues, Data: valueData, Placed: isValueFile},
	{Name: "container", Sniff: share(isContainer), Records: logRecords},
	{Name: "journal-short", Sniff: share(isJournalShort), Records: logRecords},
	{Name: "dmesg", Sniff: share(isDmesg), Records: logRecords},
	{Name: "klog", Sniff: share(isKlog), Records: logRecords},
	{Name: "logrus", Sniff: share(isLogrus), Records: logRecords},
	{Name: Text, Sniff: sniffText, Records: logRecords},
}

// Detect names the format of a file by its first bytes, at least a few lines of
// it. Ok is false when no format understands half of them. The path only breaks
// ties (of two equal scores the one whose name is part of it wins), but for the formats that are known by it.
func Detect(head []byte, file string) (f Format, ok bool) {
	best := 0.5
	name := path.Base(file)
	for _, g := range Formats {
		if g.Named != nil && g.Named(file, head) {
			return g, true
		}
		score := g.Sniff(head)
		if score <= 0.5 && g.Placed != nil && !g.Placed(file) {
			continue
		}
		if score > best || score == best && (!ok || strings.Contains(name, g.Name) && !strings.Contains(name, f.Name)) {
			f, best, ok = g, score, true
		}
	}
	return f, ok
}

// share makes a sniffer of a test for one line. Blank lines and lines that
// continue the one before do not count.
func share(known func(line []byte) bool) func([]byte) float64 {
	return func(head []byte) float64 {
		all, good := 0, 0
		for line := range headLines(head) {
			if line[0] == ' ' || line[0] == '\t' {
				continue
			}
			all++
			if known(line) {
				good++
			}
		}
		if all == 0 {
			return 0
		}
		return float64(good) / float64(all)
	}
}

// headLines are the lines of head that are not blank, without a last one that is cut, unless it is all there is.
func headLines(head []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for first := true; len(head) > 0; first = false {
			line, rest, whole := bytes.Cut(head, []byte{'\n'})
			if !whole && !first {
				return
			}
			head = rest
			line = bytes.TrimRight(line, "\r")
			if bytes.IndexByte(line, '\x1b') >= 0 {
				line = withoutColours(nil, line)
			}
			if !isBlank(line) && !yield(line) {
				return
			}
		}
	}
}

// sniffJournalJSON knows the entries on one line each, and those of json-pretty, of which the
// indented lines do not count.
func sniffJournalJSON(head []byte) float64 {
	pretty := bytes.Contains(head, []byte("\n\t\"__REALTIME_TIMESTAMP\" : ")) || bytes.Contains(head, []byte("\n\t\"__CURSOR\" : "))
	return share(func(line []byte) bool {
		return isJournalJSON(line) || pretty && len(line) == 1 && (line[0] == '{' || line[0] == '}')
	})(head)
}

func isJournalJSON(line []byte) bool {
	line = bytes.TrimPrefix(bytes.TrimPrefix(line, []byte{0x1e}), []byte("data: "))
	return len(line) > 0 && line[0] == '{' && (bytes.Contains(line, []byte(`"__REALTIME_TIMESTAMP":`)) || bytes.Contains(line, []byte(`"__CURSOR":`)))
}

func isJournalShort(line []byte) bool {
	h := scanHeader(line)
	return h.body == banner || h.carried && !h.dmesg && (h.carrier.Known || h.host != nil)
}

// isContainer knows the log files that the CRI and docker's json-file driver write for a container.
func isContainer(line []byte) bool {
	if line[0] == '{' {
		return bytes.HasPrefix(line, []byte(`{"log":`)) && bytes.Contains(line, []byte(`"time":"`))
	}
	return scanHeader(line).container
}

func isDmesg(line []byte) bool { return scanHeader(line).dmesg }

// isKlog knows klog's text, and the JSON that the kubelet writes with --logging-format=json.
func isKlog(line []byte) bool {
	if line[0] == '{' {
		return bytes.HasPrefix(line, []byte(`{"ts":`)) && bytes.Contains(line, []byte(`"msg":`))
	}
	h := scanHeader(line)
	return h.body == klog && !h.carried
}

func isLogrus(line []byte) bool {
	if line[0] == '{' {
		return bytes.Contains(line, []byte(`"msg":`)) && (bytes.Contains(line, []byte(`"time":`)) || bytes.Contains(line, []byte(`"ts":`)))
	}
	h := scanHeader(line)
	return (h.body == logrus || h.body == terminal) && !h.carried
}

// sniffText gives printable text just enough to be read when nothing knows it better. A
// quarter of it may be noise: what a crash left in a log, or a paste of something binary.
func sniffText(head []byte) float64 {
	noise, all := 0, 0
	for line := range headLines(head) {
		line = bytes.TrimLeft(line, "\x00")
		all += len(line)
		if isNoise(line) {
			noise += len(line)
		}
	}
	switch {
	case all == 0 && len(head) > 0 && isBlank(head):
		return 0.5
	case all == 0:
		return 0
	case noise*4 <= all:
		return 0.5
	}
	return 0.5 * float64(all-noise) / float64(all)
}

// pprofGoroutines starts a goroutine profile of runtime/pprof (debug=0): one
// sample type, strings 1 and 2 of the string table, and then samples. CPU and heap profiles have several types.
var pprofGoroutines = []byte{0x0a, 4, 8, 1, 16, 2, 0x12}

// sniffGoroutines knows the text of runtime.Stack and of a goroutine profile
// (debug=1 and 2), and the profile in protocol buffers. Reading them is package stackdump's work.
func sniffGoroutines(head []byte) float64 {
	if bytes.HasPrefix(head, pprofGoroutines) || bytes.HasPrefix(head, []byte("goroutine profile: total ")) {
		return 1
	}
	all, good, goroutines := 0, 0, 0
	for line := range headLines(head) {
		all++
		switch {
		case bytes.HasPrefix(line, []byte("goroutine ")) && bytes.IndexByte(line, '[') > 0 && !bytes.Contains(line, []byte(`]:\n`)):
			goroutines++
			good++
		case line[0] == '\t' && bytes.Contains(line, []byte(".go:")),
			bytes.HasPrefix(line, []byte("created by ")), bytes.HasPrefix(line, []byte("=== ")),
			bytes.HasPrefix(line, []byte("...")), line[len(line)-1] == ')' && bytes.IndexByte(line, '.') > 0 && line[0] != ' ':
			good++
		}
	}
	if goroutines == 0 {
		return 0
	}
	return float64(good) / float64(all)
}

// Package parse names the format of a file and the function that reads it. The formats are in the
// packages below, by what is read: logs, traces, samples and snapshots.
//
// They say what is written, and where, and nothing about what it means. They lose no line silently:
// each is used by what is read, blank, or named in an *event.Skip. Each makes one pass over the
// bytes, starts no goroutines and holds no more than one line (lines.MaxLine), unless its own
// package says otherwise.
package parse

import (
	"iter"
	"path"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// Format is one kind of file plegdiag can read.
//
// In the sequences, an error that is an *event.Skip concerns one record, or is
// a remark when its Lines is 0, and the sequence goes on; any other error is the
// last pair. Records come in the order in which they are complete.
type Format struct {
	Name string
	// Sniff is the share of head's lines that the format understands, 0 to 1.
	Sniff func(head *lines.Head) float64
	// Named says that a file is of the format by where it stands, with a look at its head: some
	// cannot be recognized by content alone. Nil for most.
	Named   func(file string, head *lines.Head) bool
	Reader  Reader // what its files hold, and the function that reads it
	Entries bool   // it is no text: what counts as a line, and has its number, is an entry
	// Sorted says that the records come in the order of time, whatever that of the lines is, and that
	// several may stand on one line, of which one accounts for it.
	Sorted bool
	// Placed says by a file's path whether it may be of a format whose content shows nothing (a
	// bare number): Sniff gives such content one half, and it wins only there. Nil for formats that
	// content alone decides.
	Placed func(file string) bool
}

// Reader says what the files of a format hold: it is one of Records, Syscalls, Samples, Data, Dump,
// Reference and Transcript. All but the last three read them.
type Reader interface{ reader() }

type (
	// Records reads a log.
	Records func(lines.Input) iter.Seq2[event.Record, error]
	// Syscalls reads what strace wrote. A call is valid until the next step.
	Syscalls func(traces.Input) iter.Seq2[*traces.Syscall, error]
	// Samples reads what a sampler saw of threads.
	Samples func(lines.Input) iter.Seq2[samples.Sample, error]
	// Data reads a snapshot: configuration, a listing, a file of /proc.
	Data func(lines.Input) iter.Seq2[snapshots.Datum, error]
	// Dump is a goroutine dump, which package stackdump reads.
	Dump struct{}
)

func (Records) reader()  {}
func (Syscalls) reader() {}
func (Samples) reader()  {}
func (Data) reader()     {}
func (Dump) reader()     {}

// Text is the name of the last format: lines of no known shape.
const Text = "text"

// Formats is ordered, most specific first: on a tie the first wins. All formats
// that are written line by line share one reader; their rows say what a file mostly is.
var Formats = []Format{
	{Name: "journal-file", Sniff: logs.SniffJournalFile, Reader: Records(logs.ReadJournalFile), Entries: true},
	{Name: "journal-json", Sniff: logs.SniffJournalJSON, Reader: Records(logs.ReadLines)},
	{Name: "journal-verbose", Sniff: logs.SniffVerbose, Reader: Records(logs.ReadVerbose)},
	{Name: "journal-export", Sniff: logs.SniffExport, Reader: Records(logs.ReadExport)},
	{Name: "goroutines", Sniff: sniffGoroutines, Reader: Dump{}},
	{Name: "strace", Sniff: traces.Sniff, Reader: Syscalls(traces.Read)},
	{Name: "threads", Sniff: lines.Sniffer(samples.IsWalk), Reader: Samples(samples.ReadWalks)},
	{Name: "proc", Sniff: samples.SniffProc, Named: samples.IsProcFile, Reader: Samples(samples.ReadProc)},
	{Name: "transcript", Sniff: sniffTranscript, Reader: Transcript{}},
	{Name: "offcputime", Sniff: samples.SniffOffCPU, Reader: Samples(samples.ReadOffCPU)},
	{Name: "psn", Sniff: samples.SniffPSN, Reader: Samples(samples.ReadPSN)},
	{Name: "xcapture", Sniff: samples.SniffXCapture, Reader: Samples(samples.ReadXCapture)},
	{Name: "collected", Sniff: snapshots.SniffCollected, Reader: Data(snapshots.ReadCollected)},
	{Name: "aggregated", Sniff: logs.SniffAggregated, Reader: Records(logs.ReadAggregated), Sorted: true},
	{Name: "unit-status", Sniff: logs.SniffStatus, Reader: Records(logs.ReadLines)},
	{Name: "json", Sniff: snapshots.SniffJSON, Reader: Data(snapshots.ReadJSON)},
	{Name: "yaml", Sniff: snapshots.SniffYAML, Reader: Data(snapshots.ReadYAML)},
	{Name: "metrics", Sniff: snapshots.SniffMetrics, Reader: Data(snapshots.ReadMetrics)},
	{Name: "mounts", Sniff: snapshots.SniffMounts, Reader: Data(snapshots.ReadMounts)},
	{Name: tableFormat, Sniff: snapshots.SniffTable, Reader: Data(snapshots.ReadTable)},
	{Name: "boots", Sniff: snapshots.SniffBoots, Reader: Data(snapshots.ReadBoots)},
	{Name: "packages", Sniff: snapshots.SniffPackages, Reader: Data(snapshots.ReadPackages)},
	{Name: "properties", Sniff: snapshots.SniffProperties, Reader: Data(snapshots.ReadProperties)},
	{Name: "toml", Sniff: snapshots.SniffTOML, Reader: Data(snapshots.ReadTOML)},
	{Name: "outline", Sniff: snapshots.SniffOutline, Reader: Data(snapshots.ReadOutline)},
	{Name: "values", Sniff: snapshots.SniffValues, Reader: Data(snapshots.ReadValues), Placed: snapshots.IsValueFile},
	{Name: "container", Sniff: logs.Container.Sniff, Reader: Records(logs.ReadLines)},
	{Name: "journal-short", Sniff: logs.JournalShort.Sniff, Reader: Records(logs.ReadLines)},
	{Name: "dmesg", Sniff: logs.Dmesg.Sniff, Reader: Records(logs.ReadLines)},
	{Name: "klog", Sniff: logs.Klog.Sniff, Reader: Records(logs.ReadLines)},
	{Name: "logrus", Sniff: logs.Logrus.Sniff, Reader: Records(logs.ReadLines)},
	{Name: Text, Sniff: logs.SniffText, Reader: Records(logs.ReadLines)},
}

// TextFormat is the format of lines of no known shape.
func TextFormat() Format { return Formats[len(Formats)-1] }

// Detect names the format of a file by its first bytes, which must be at least a few lines. Ok is
// false when no format understands half of them. The path only breaks ties (of two equal scores the
// one whose name is part of it wins), but for the formats that are known by it.
func Detect(head []byte, file string) (f Format, ok bool) { return detect(lines.NewHead(head), file) }

func detect(head *lines.Head, file string) (f Format, ok bool) {
	for _, g := range Formats {
		if g.Named != nil && g.Named(file, head) {
			return g, true
		}
	}
	best := 0.5
	name := path.Base(file)
	for _, g := range Formats {
		if best == 1 && !strings.Contains(name, g.Name) { // it could only have as much, and would lose
			continue
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

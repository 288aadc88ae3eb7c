package samples

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// psnReader is the state of one pass over a report of psn.
type psnReader struct {
	columns []string
	scans   int // as the first row says, which has most samples
}

// ReadPSN reads the report of 0xtools' psn, which sums up samples and has no times:
//
//	 samples | avg_threads | comm              | state                  | syscall | wchan          | kstack
//	-----------------------------------------------------------------------
//	      60 |        1.00 | (containerd-shim) | Disk (Uninterruptible) | umount2 | folio_wait_bit | cleanup_mnt()->ovl_sync_fs()
//
// It writes a star for every row of digits in a name.
func ReadPSN(in lines.Input) iter.Seq2[Sample, error] {
	r := psnReader{}
	return sampleLines(in, r.readRow)
}

// readRow reads one line.
func (r *psnReader) readRow(line string) (s Sample, reason string) {
	f := splitPSNRow(line)
	switch {
	case lines.StartsWith(line, psnNotes...), len(r.columns) == 0 && lines.StartsWith(line, "$ ", "# ", "## "):
		return s, ""
	case len(f) >= 3 && f[0] == "samples":
		r.columns = f
		return s, ""
	case len(r.columns) == 0 || len(f) != len(r.columns):
		return s, fmt.Sprintf("no row of a report: %.40q", line)
	}
	count, err := strconv.Atoi(f[0])
	if err != nil || count <= 0 {
		return s, fmt.Sprintf("%.20q is no count of samples", f[0])
	}
	s.Count = count
	for i, column := range r.columns {
		switch v := f[i]; column {
		case "avg_threads":
			if share, err := strconv.ParseFloat(v, 64); err == nil && share >= 0.01 && r.scans == 0 {
				r.scans = int(float64(count)/share + 0.5)
			}
		case "comm":
			s.Comm = strings.TrimSuffix(strings.TrimPrefix(v, "("), ")")
		case "state":
			s.State = stateLetter(v)
		case "syscall":
			s.Kernel = v == "[kernel_thread]"
			s.Syscall = withoutPlaceholder(v)
		case "wchan":
			s.WChan = withoutPlaceholder(v)
		case "kstack":
			s.Stack = readArrowStack(v)
		case "exe":
			s.Exe = withoutPlaceholder(v)
		}
	}
	s.Scans = r.scans
	if strings.HasPrefix(s.Syscall, "[") {
		s.Syscall = ""
	}
	s.correctCall()
	return s, ""
}

func splitPSNRow(line string) []string {
	f := strings.Split(line, " | ")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	return f
}

// psnNotes start the lines around the table.
var psnNotes = []string{
	"Linux Process Snapper", "Sampling /proc/", "finished.", "=== Active Threads ===", "-----", "samples: ", "(expected: ",
	"total processes: ", "runtime: ", "Warning:",
}

// SniffPSN knows a report by the head of its table and the line of dashes below. Who pastes it
// often leaves out the title, and has the command above.
func SniffPSN(head *lines.Head) float64 {
	if !head.MayHold(psnHead) {
		return 0
	}
	for i, line := range head.Lines {
		if lines.StartsWith(line, psnHead) && i+1 < len(head.Lines) && lines.StartsWith(head.Lines[i+1], "-----") {
			return 1
		}
	}
	return 0
}

// psnHead begins the head of each table.
const psnHead = " samples | avg_threads | "

package traces

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// CallTotal is a row of the table that strace -c (or -C, after a trace) prints:
//
//	% time     seconds  usecs/call     calls    errors syscall
//	------ ----------- ----------- --------- --------- ----------------
//	 72.63    0.000560          62         9         4 wait4
//
// -U chooses the columns and their order; a column that is missing leaves its field 0.
type CallTotal struct {
	Name          string // of the call; "total" in the last row
	Table         int    // a trace holds one for each ABI: 0 is the first
	Title         string // "32 bit mode", where a trace holds several; empty otherwise
	Calls, Errors int
	// Total is the column "seconds": CPU time in the kernel, or with -w the time from entry to
	// return.
	Total time.Duration
	Min   time.Duration // shortest
	Max   time.Duration // longest
	// Wall is wall-total and WallMax wall-max, which strace prints since 7.1.
	Wall, WallMax time.Duration
	Timed         bool // the table has seconds
}

// countTable reads the rows of one table.
type countTable struct {
	columns []countColumn
	index   int
	title   string
	state   countState
	header  []byte
}

type countState uint8

const (
	noTable   countState = iota // the header comes next
	wantRule                    // the dashes come next, which show how wide the columns are
	inRows                      // rows, until the second line of dashes
	wantTotal                   // the last row
)

type countColumn struct {
	name string
	end  int
}

// countColumns are the headings of strace 4.15 to 7.2 (src/count.c).
var countColumns = []string{
	"% time", "seconds", "usecs/call", "calls", "errors", "syscall", "shortest", "longest", "wall-total", "wall-min", "wall-max", "wall-avg",
}

// isTableRow says whether a line is part of a table, and makes that table known. What comes
// between its first and its last line are rows, and nothing else.
func (t *tracer) isTableRow(b []byte) bool {
	if t.table == nil {
		t.table = &countTable{}
	}
	return t.table.takesLine(b)
}

func (c *countTable) takesLine(b []byte) bool {
	rule := isRule(b)
	switch {
	case bytes.HasPrefix(b, []byte("System call usage summary for ")) && bytes.HasSuffix(b, []byte(":")):
		c.title = string(b[len("System call usage summary for ") : len(b)-1])
		c.state = noTable
		return true
	case isCountHeader(b):
		c.header = append(c.header[:0], b...)
		c.state = wantRule
		return true
	case c.state == wantRule && rule:
		c.measureColumns(b)
		c.state = inRows
		return true
	case c.state == inRows && rule:
		c.state = wantTotal
		return true
	case c.state == inRows || c.state == wantTotal:
		return c.fitsColumns(b)
	}
	return false
}

// isRule knows the dashes under the headings, and those above the sums.
func isRule(b []byte) bool {
	return len(b) > 6 && b[0] == '-' && b[1] == '-' && len(bytes.Trim(b, "- ")) == 0
}

// isCountHeader knows the headings: only known ones, the calls' names among them.
func isCountHeader(b []byte) bool {
	b = b[:min(len(b), 200)]
	if !bytes.Contains(b, []byte("syscall")) {
		return false
	}
	s := string(b)
	words := strings.Fields(strings.ReplaceAll(s, "% time", "%time"))
	known := func(word string) bool { return slices.Contains(countColumns, strings.Replace(word, "%", "% ", 1)) }
	return len(words) > 1 && slices.Contains(words, "syscall") && !slices.ContainsFunc(words, func(w string) bool { return !known(w) })
}

// dashes are the rule under one heading.
var dashes = regexp.MustCompile(`-+`)

// measureColumns learns the columns from the dashes under the headings.
func (c *countTable) measureColumns(rule []byte) {
	c.columns = c.columns[:0]
	for _, at := range dashes.FindAllIndex(rule, -1) {
		heading := c.header[min(at[0], len(c.header)):min(at[1], len(c.header))]
		c.columns = append(c.columns, countColumn{name: string(bytes.TrimSpace(heading)), end: at[1]})
	}
}

// fitsColumns says that a line has as many numbers as a row of this table.
func (c *countTable) fitsColumns(b []byte) bool {
	row := c.cutCells(b)
	if row["syscall"] == "" || strings.ContainsAny(row["syscall"], " (=<>\"") {
		return false
	}
	for name, cell := range row {
		if name != "syscall" && strings.Trim(cell, "0123456789.") != "" {
			return false
		}
	}
	return true
}

// cutCells are a row's values by their headings. A number that is wider than its column sticks out
// to the left.
func (c *countTable) cutCells(b []byte) map[string]string {
	row := map[string]string{}
	from := 0
	for i, col := range c.columns {
		if from >= len(b) {
			break
		}
		end := min(col.end, len(b))
		if i == len(c.columns)-1 {
			end = len(b)
		}
		row[col.name] = strings.TrimSpace(string(b[from:max(from, end)]))
		from = max(from, end)
	}
	return row
}

// readRow is what a line of the table says; nil for headings and dashes.
func (c *countTable) readRow(b []byte) *CallTotal {
	if c.state != inRows && c.state != wantTotal || isRule(b) {
		return nil
	}
	cell := c.cutCells(b)
	_, timed := cell["seconds"]
	n := &CallTotal{
		Name: cell["syscall"], Table: c.index, Title: c.title,
		Calls: int(firstNumber(cell["calls"])), Errors: int(firstNumber(cell["errors"])),
		Total: decimalSeconds(cell["seconds"]), Min: decimalSeconds(cell["shortest"]), Max: decimalSeconds(cell["longest"]),
		Wall: decimalSeconds(cell["wall-total"]), WallMax: decimalSeconds(cell["wall-max"]), Timed: timed,
	}
	if c.state == wantTotal {
		c.index++
		c.title, c.state = "", noTable
	}
	return n
}

// decimalSeconds reads "0.053853"; 0 for anything else.
func decimalSeconds(s string) time.Duration {
	d, _, _ := readSeconds([]byte(s))
	return d
}

// readSeconds reads the seconds that b starts with: whole is how many digits they have before the
// point, all how long they are.
func readSeconds(b []byte) (d time.Duration, whole, all int) {
	sec, whole := lines.Digits(b)
	f, _, fraction := stamp.Fraction(b[whole:])
	return time.Duration(sec)*time.Second + f, whole, whole + fraction
}

// Sniff is the share of lines that can only be those of a trace, or of a table of -c.
func Sniff(head *lines.Head) float64 {
	if only := bytes.TrimSpace(head.Text); bytes.IndexByte(only, '\n') < 0 && isCutCall(only) {
		return 1
	}
	if !mayHoldCalls(head) && !head.MayHold("syscall", "System call") {
		return 0
	}
	var table countTable
	return lines.Share(head, func(line []byte) lines.Sign {
		switch {
		case table.takesLine(line):
			table.readRow(line)
			return lines.Proves
		case isStrace(trimEnd(line)): // with -r alone it starts with blanks
			return lines.Proves
		case line[0] == ' ' || line[0] == '\t':
			return lines.Silent
		}
		return lines.Foreign
	})
}

// mayHoldCalls says that a line of head may be of a trace.
func mayHoldCalls(head *lines.Head) bool {
	return head.MayHold("(", "resumed", "---", "+++", "strace")
}

// traceRun is how many lines of a trace in a row make a trace that stands in the middle of other
// text.
const traceRun = 3

// HasCalls says that a trace stands somewhere in head, as it does in a ticket or a journal that
// somebody pasted one into.
func HasCalls(head *lines.Head) bool {
	if !mayHoldCalls(head) {
		return false
	}
	run := 0
	for _, line := range head.Lines {
		if !isStrace(line) {
			run = 0
		} else if run++; run == traceRun {
			return true
		}
	}
	return false
}

// isCutCall knows the only line of a thread that strace -ff found inside a call: it stops with the
// arguments.
func isCutCall(line []byte) bool {
	l := scanTrace(line)
	return l.kind == traceCut && (l.at.clock != noClock || blocking[string(l.name)])
}

// blocking are calls that threads are found in when strace attaches.
var blocking = map[string]bool{
	"accept": true, "accept4": true, "clock_nanosleep": true, "connect": true, "epoll_pwait": true, "epoll_wait": true,
	"fdatasync": true, "flock": true, "fsync": true, "futex": true, "io_getevents": true, "mount": true, "nanosleep": true, "openat": true,
	"poll": true, "ppoll": true, "pselect6": true, "read": true, "readv": true, "recvfrom": true, "recvmsg": true, "restart_syscall": true,
	"rt_sigsuspend": true, "rt_sigtimedwait": true, "select": true, "sendmsg": true, "sendto": true, "sync": true, "syncfs": true,
	"umount2": true, "wait4": true, "waitid": true, "write": true, "writev": true,
}

package snapshots

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadTable reads listings by their header, of which a file may have several: ps with any columns,
// df, free, systemctl list-units, kubectl get, crictl ps.
//
//	  PID                  STARTED     ELAPSED COMMAND         COMMAND
//	20713 Fri Nov 20 18:22:16 2026       03:32 runc            runc --root /run/containerd/runc/k8s.io …
//
// A row has the header's names as the keys of its fields, in written order, the last one taking the
// rest of the line.
func ReadTable(in lines.Input) iter.Seq2[Datum, error] {
	var t table
	return lineData(in, func(line []byte) (Datum, bool) {
		if t.readHead(line) {
			return Datum{Path: []string{tableHeader}, Value: t.kind.String()}, true
		}
		fields, ok := t.splitRow(string(line))
		return Datum{Fields: fields}, ok
	})
}

// tableHeader is the path of the datum that a header makes; its value says what is listed.
const tableHeader = "header"

type tableKind uint8

const (
	noListing   tableKind = iota
	psTable               // ps
	dfTable               // df, df -i, df -T
	freeTable             // free
	unitTable             // systemctl list-units
	eventTable            // kubectl get events
	nodeTable             // kubectl get nodes
	criTable              // crictl ps, crictl pods
	dockerTable           // docker ps
)

// String is what the table lists, as the program that prints it is called.
func (k tableKind) String() string {
	return [...]string{"", "ps", "df", "free", "units", "events", "nodes", "crictl", "docker"}[k]
}

// column is one of a table.
type column struct {
	name string
	at   int // where its name begins in the header
}

// table is the table that a file is in.
type table struct {
	kind    tableKind
	columns []column
	first   string // a row that stands on two lines: its first cell
}

// headers are the words by which a table is recognized; all of them must stand in its header.
var headers = []struct {
	kind  tableKind
	first string // the first word; empty for any
	words []string
	cells bool // columns are two blanks apart, names hold single ones
}{
	{dfTable, "Filesystem", []string{"Mounted", "on"}, false},
	{freeTable, "total", []string{"used", "free"}, false},
	{unitTable, "UNIT", []string{"LOAD", "ACTIVE", "SUB"}, false},
	{eventTable, "", []string{"TYPE", "REASON", "MESSAGE"}, true},
	{nodeTable, "NAME", []string{"STATUS", "VERSION"}, true},
	{criTable, "CONTAINER", []string{"IMAGE", "STATE"}, true},
	{criTable, "POD", []string{"CREATED", "STATE"}, true},
	{dockerTable, "CONTAINER", []string{"IMAGE", "STATUS"}, true},
}

// lastColumns are names under which ps prints a command, which is the rest of a row.
var lastColumns = []string{"CMD", "COMMAND", "ARGS", "COMM"}

// idColumns are names under which ps prints the ids of processes and threads.
var idColumns = []string{"PID", "TGID", "TID", "SPID", "LWP"}

// foreignColumns are what ps has not: of xcapture, lsof, lslocks and lsns, iotop, in this order.
var foreignColumns = []string{"SYSCALL", "FD", "TYPE", "DISK"}

// readHead makes t the table that begins with a line; it is false where none does.
func (t *table) readHead(line []byte) bool {
	kind, columns := readTableHead(line)
	if kind != noListing {
		*t = table{kind: kind, columns: columns}
	}
	return kind != noListing
}

// readTableHead says which table begins with a line, if any does.
func readTableHead(line []byte) (tableKind, []column) {
	c := line[len(line)-len(bytes.TrimLeft(line, " \t"))]
	if len(line) > 1000 || c-'A' >= 26 && c != '%' && c != 't' {
		return noListing, nil
	}
	columns := cutWords(string(line))
	if len(columns) < 3 || len(columns) > 60 {
		return noListing, nil
	}
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(c column) bool { return c.name == name })
	}
	if slices.ContainsFunc(lastColumns, has) && slices.ContainsFunc(idColumns, has) && isUpper(columns) && !slices.ContainsFunc(foreignColumns, has) {
		return psTable, columns
	}
	for _, h := range headers {
		if h.first != "" && columns[0].name != h.first || slices.ContainsFunc(h.words, func(w string) bool { return !has(w) }) {
			continue
		}
		if h.cells {
			columns = cutCells(string(line))
		}
		if h.kind == dfTable { // "Mounted on" is one
			columns = append(columns[:len(columns)-2], column{"Mounted on", columns[len(columns)-2].at})
		}
		if h.kind == freeTable {
			columns = append([]column{{"", 0}}, columns...)
		}
		return h.kind, columns
	}
	return noListing, nil
}

func isUpper(columns []column) bool {
	return !slices.ContainsFunc(columns, func(c column) bool { return c.name != strings.ToUpper(c.name) })
}

// cutWords are the words of a line and where they begin.
func cutWords(line string) (all []column) {
	for at := 0; at < len(line); {
		if line[at] == ' ' || line[at] == '\t' {
			at++
			continue
		}
		end := at
		for end < len(line) && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		all = append(all, column{line[at:end], at})
		at = end
	}
	return all
}

// cutCells are the parts of a line that stand two blanks or a tab apart.
func cutCells(line string) (all []column) {
	for _, w := range cutWords(line) {
		if n := len(all); n > 0 && w.at-all[n-1].at == len(all[n-1].name)+1 && line[w.at-1] == ' ' {
			all[n-1].name = line[all[n-1].at : w.at+len(w.name)]
			continue
		}
		all = append(all, w)
	}
	return all
}

// splitRow splits a line by the columns of the table; ok is false when it is no row of it.
func (t *table) splitRow(line string) (fields []event.Pair, ok bool) {
	switch t.kind {
	case noListing:
		return nil, false
	case psTable:
		return t.splitProcess(line)
	case dfTable, freeTable, unitTable:
		return t.splitWords(line)
	}
	return t.splitCells(line)
}

// splitWords takes a row apart at blanks. A name that is too long for its column stands on a line
// of its own in old versions of df.
func (t *table) splitWords(line string) (fields []event.Pair, ok bool) {
	if t.kind == unitTable {
		line = strings.TrimLeft(line, " ●*○↻×")
	}
	row := cutWords(line)
	if t.kind == dfTable && t.first != "" {
		row, t.first = append([]column{{t.first, 0}}, row...), ""
	} else if t.kind == dfTable && len(row) == 1 && strings.HasPrefix(line, "/") {
		t.first = row[0].name
		return nil, true
	}
	n := len(t.columns)
	switch {
	case t.kind == freeTable && len(row) > 1 && strings.HasSuffix(row[0].name, ":") && len(row) <= n:
		n = len(row) // Swap: has no more
	case t.kind == freeTable || len(row) < min(n, 4):
		return nil, false
	case t.kind == unitTable && !strings.Contains(row[0].name, "."):
		return nil, false // the legend below
	case t.kind == dfTable && (len(row) < n || strings.Trim(row[n-2].name, "0123456789%-") != ""):
		return nil, false
	}
	return t.pairCells(line, row, n), true
}

// pairCells joins columns and the cells of a row; the last one has the rest of the line.
func (t *table) pairCells(line string, row []column, n int) []event.Pair {
	fields := make([]event.Pair, 0, n)
	for i := range min(n, len(row)) {
		value := row[i].name
		if i == len(t.columns)-1 && len(row) > n {
			value = strings.TrimRight(line[row[i].at:], " \t")
		}
		fields = append(fields, event.Pair{Key: t.columns[i].name, Value: value})
	}
	return fields
}

// splitCells takes a row apart where the header's columns begin, for a cell may be empty; a row
// that is not aligned, at two blanks.
func (t *table) splitCells(line string) (fields []event.Pair, ok bool) {
	aligned := true
	for _, c := range t.columns[1:] {
		if c.at > len(line) || c.at > 0 && line[c.at-1] != ' ' {
			aligned = c.at > len(line)
			break
		}
	}
	if !aligned {
		row := cutCells(line)
		if len(row) != len(t.columns) {
			return nil, false
		}
		return t.pairCells(line, row, len(row)), true
	}
	for i, c := range t.columns {
		end := len(line)
		if i+1 < len(t.columns) {
			end = min(end, t.columns[i+1].at)
		}
		if c.at < end {
			fields = append(fields, event.Pair{Key: c.name, Value: strings.TrimSpace(line[c.at:end])})
		}
	}
	return fields, len(fields) >= 2
}

// splitProcess takes a row of ps apart. Values are single words, but for times of several and a
// name before the last column.
func (t *table) splitProcess(line string) (fields []event.Pair, ok bool) {
	rest, at := line, 0
	last := len(t.columns) - 1
	for i, c := range t.columns {
		trimmed := strings.TrimLeft(rest, " \t")
		at += len(rest) - len(trimmed)
		rest = trimmed
		n := len(rest)
		switch {
		case i == last: // the rest of the line, which may be empty
		case rest == "":
			return nil, false
		case slices.Contains(lastColumns, c.name):
			n = nameLength(line, at, t.columns[i+1].at)
		case c.name == "STARTED" || c.name == "START":
			n = timeLength(rest)
		default:
			n = wordLength(rest)
		}
		value := strings.TrimRight(rest[:n], " \t")
		if !t.mayHold(c.name, value) {
			return nil, false
		}
		fields = append(fields, event.Pair{Key: c.name, Value: value})
		rest, at = rest[n:], at+n
	}
	return fields, true
}

// mayHold says that a value may stand under a header; a line of something else is no row.
func (t *table) mayHold(name, value string) bool {
	switch name {
	case "PID", "PPID", "TID", "SPID", "LWP", "NLWP":
		_, err := strconv.Atoi(value)
		return err == nil || value == "-"
	}
	return true
}

func wordLength(s string) int {
	if n := strings.IndexAny(s, " \t"); n >= 0 {
		return n
	}
	return len(s)
}

// nameLength is how long a name is that may hold blanks and stands before the column that begins at
// next.
func nameLength(line string, at, next int) int {
	if next > at && next < len(line) && line[next-1] == ' ' && line[next] != ' ' {
		return next - at
	}
	return wordLength(line[at:])
}

// timeLength is that of a start: "19:11:07", "Nov 20", "Nov20", "Fri Nov 20 18:22:16 2026".
func timeLength(s string) int {
	f := cutWords(s[:min(len(s), 40)])
	end := func(i int) int { return f[i].at + len(f[i].name) }
	switch {
	case len(f) >= 5 && len(f[0].name) == 3 && strings.Count(f[3].name, ":") == 2 && len(f[4].name) == 4:
		return end(4)
	case len(f) >= 2 && len(f[0].name) == 3 && f[0].name[0] > '9' && len(f[1].name) <= 2:
		return end(1)
	}
	return end(0)
}

// SniffTable wants a header, and rows below it.
func SniffTable(head []byte) float64 {
	var t table
	return lines.Share(head, func(line []byte) lines.Sign {
		if t.readHead(line) {
			return lines.Proves
		}
		_, ok := t.splitRow(string(line))
		return lines.SignIf(ok, lines.Fits)
	})
}

// isNumber reads 12, 1.5e+06, NaN, +Inf.
func isNumber(s []byte) bool {
	_, err := strconv.ParseFloat(string(s), 64)
	return err == nil && len(s) > 0
}

package snapshots

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ListedColumns is the header that a listing of ps would have, where a command names its columns
// and may not print them:
//
//	ps -eLo stat,wchan:24,comm | grep ^D                          STAT WCHAN COMM
//	ps -eLo stat,comm,wchan:28 | sort | uniq -c | sort -rn        COUNT STAT COMM WCHAN
//
// It is empty for all other commands, and where what stands behind ps does not leave its rows as
// they are.
func ListedColumns(command string) string {
	// a bar in a pattern of grep or awk is none between programs
	command = quotedPart.ReplaceAllStringFunc(command, func(s string) string { return strings.ReplaceAll(s, "|", " ") })
	ps, rest, _ := strings.Cut(command, "|")
	at := startsPS.FindStringSubmatchIndex(ps)
	if at == nil {
		return ""
	}
	ps, _, _ = strings.Cut(ps[at[2]:], ";")
	var columns []string
	for _, m := range columnList.FindAllStringSubmatch(ps, -1) {
		for name := range strings.SplitSeq(strings.Trim(m[1], ","), ",") {
			columns = append(columns, columnHeader(name))
		}
	}
	if !slices.ContainsFunc(columns, func(c string) bool { return c == "STAT" || c == "S" || slices.Contains(idColumns, c) }) ||
		!slices.ContainsFunc(columns, func(c string) bool { return slices.Contains(lastColumns, c) }) {
		return "" // any line could be such a row, or it names nobody
	}
	for stage := range strings.SplitSeq(rest, "|") {
		switch stage = strings.TrimSpace(stage); {
		case stage == "" || keepsRows.MatchString(stage) && !strings.Contains(stage, "print"):
		case countsRows.MatchString(stage) && columns[0] != "COUNT":
			columns = slices.Insert(columns, 0, "COUNT")
		default:
			return ""
		}
	}
	return strings.Join(columns, " ")
}

var (
	// startsPS is a command that ps begins, perhaps in a loop: 1 ps with all behind it.
	startsPS   = regexp.MustCompile(`(?:^|[;&({] *|\bdo )(?:(?:sudo|timeout|time)(?: -[A-Za-z-]+| \d+s?)* )*(ps .*)`)
	quotedPart = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	// columnList is a list of columns: 1 the list.
	columnList = regexp.MustCompile(` (?:-[A-Za-z]*o *|[a-zA-Z]*o +|--format[ =])([a-z%_][a-z%_:=,0-9]*)`)
	// keepsRows are the programs that leave a row as it is, or leave it out.
	keepsRows = regexp.MustCompile(`^(?:(?:sudo )?[ef]?grep(?: -[A-Zabd-kmnp-z0-9]+)* [^-]|g?awk |sort\b|head\b|tail\b|sed -n |column\b|less\b|cat\b|tee\b|more\b|cut -c1?-\d{2})`)
	// countsRows is what puts before each row how often it comes.
	countsRows = regexp.MustCompile(`^uniq -c\b`)
)

// columnHeader is the header of a column by its name in the list: wchan:24, or pid= without a
// header.
func columnHeader(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name, _, _ = strings.Cut(name, "=")
	if header := columnHeaders[name]; header != "" {
		return header
	}
	return strings.ToUpper(name)
}

// columnHeaders are the headers that are not the name in capital letters (ps(1), standard format
// specifiers).
var columnHeaders = map[string]string{
	"state": "S", "ucmd": "COMM", "ucomm": "COMM", "command": "ARGS", "cmd": "ARGS", "lstart": "STARTED", "start_time": "START", "bsdstart": "START",
	"etime": "ELAPSED", "etimes": "ELAPSED", "lwp": "LWP", "spid": "SPID", "pcpu": "%CPU", "pmem": "%MEM", "thcount": "THCNT", "euser": "USER", "wname": "WCHAN",
	"cputime": "TIME", "bsdtime": "TIME", "rssize": "RSS", "rsz": "RSS", "vsize": "VSZ", "tt": "TTY", "tname": "TTY", "nice": "NI",
}

// rowsOf is a table whose columns a header names that is not among its lines; the zero table for
// none.
func rowsOf(header string) (t table) {
	if header != "" {
		t.kind, t.columns, t.guessed = psTable, cutWords(header), true
		for i := range t.columns {
			t.columns[i].at = 0 // where the columns stand nobody knows
		}
	}
	return t
}

// HasRows says that one of the first lines, and most of them, are rows of a listing with a header
// that is not among them.
func HasRows(head *lines.Head, header string) bool {
	t, rows := rowsOf(header), 0
	for _, line := range head.Lines {
		if t.readHead(line) {
			return false // it has one
		}
		if _, ok := t.splitRow(plainRow(string(line))); ok {
			rows++
		}
	}
	return rows > 0 && 2*rows >= len(head.Lines)
}

// NewRows follows a listing with a header that is not among its lines; empty for none.
func NewRows(header string) Rows { return Rows{table: rowsOf(header)} }

package snapshots

import (
	"bytes"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadTable reads listings by their header, of which a file may have several: ps with any columns,
// df, free, systemctl list-units, kubectl get, crictl ps, sar, lsof; and the trees of pstree and
// systemd-cgls.
//
//	  PID                  STARTED     ELAPSED COMMAND         COMMAND
//	20713 Fri Nov 20 18:22:16 2026       03:32 runc            runc --root /run/containerd/runc/k8s.io …
//
// A row has the header's names as the keys of its fields, in written order, the last one taking the
// rest of the line. Rows of ps and lsof are known without a header, too, by what stands in them;
// their path says what they are.
func ReadTable(in lines.Input) iter.Seq2[Datum, error] {
	t := rowsOf(in.Header)
	return lineData(in, func(line []byte) (Datum, bool) {
		if t.readHead(line) {
			return Datum{Path: []string{tableHeader}, Value: t.kind.String()}, true
		}
		path, fields, ok := t.readRow(line)
		return Datum{Path: path, Fields: fields}, ok
	})
}

// tableHeader is the path of the datum that a header makes; its value says what is listed.
const tableHeader = "header"

// bareRow is the path of a row of ps that stands below no header of its own.
var bareRow = []string{"row"}

// fileRow is the path of a row of lsof.
var fileRow = []string{"file"}

// fileSystemRow is the path of a row of df that stands below no header.
var fileSystemRow = []string{"file system"}

// loneFileSystem is such a row: a device, its size, what is used and free of it, in 1 KiB blocks or
// with a unit, and where it is mounted.
//
//	/dev/mapper/rl-root   17G   17G   28K 100% /
var loneFileSystem = regexp.MustCompile(`^ *(/dev/\S+) +([0-9.]+[KMGTP]?) +([0-9.]+[KMGTP]?) +([0-9.]+[KMGTP]?) +([0-9]{1,3}%) +(/\S*) *$`)

// readFileSystem reads such a row.
func readFileSystem(line string) (fields []event.Pair, ok bool) {
	if !strings.HasPrefix(strings.TrimLeft(line, " "), "/dev/") {
		return nil, false
	}
	m := loneFileSystem.FindStringSubmatch(line)
	if m == nil {
		return nil, false
	}
	for i, name := range [...]string{"Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on"} {
		fields = append(fields, event.Pair{Key: name, Value: m[i+1]})
	}
	return fields, true
}

// nodeRow is the path of a row of kubectl get nodes that stands below no header: grep took it away.
var nodeRow = []string{"node"}

// loneNode is such a row: a name, whether the node is ready, its roles, its age, and the version of
// its kubelet. A terminal may have joined the columns.
//
//	node-5   NotReady,SchedulingDisabled   <none>   3h12m   v1.30.4
var loneNode = regexp.MustCompile(`^\s*([a-z0-9][a-z0-9.-]{0,252})\s+((?:Not)?Ready(?:,[A-Za-z,]+)?)\s+(<none>|[a-z0-9,./-]+)\s+([0-9]+[ydhms][0-9ydhms]*)\s+(v1\.[0-9]+\.[0-9]+\S*)(?:\s|$)`)

// mayBeNode says that a line may be such a row.
func mayBeNode(line []byte) bool {
	return bytes.Contains(line, []byte("Ready")) && bytes.Contains(line, []byte("v1."))
}

// readNodeRow reads such a row, with the names that the header has.
func readNodeRow(line string) (fields []event.Pair, ok bool) {
	if !strings.Contains(line, "Ready") {
		return nil, false
	}
	m := loneNode.FindStringSubmatch(line)
	if m == nil {
		return nil, false
	}
	for i, name := range [...]string{"NAME", "STATUS", "ROLES", "AGE", "VERSION"} {
		fields = append(fields, event.Pair{Key: name, Value: m[i+1]})
	}
	return fields, true
}

// readRow reads a row of the table, or one that no header need explain, whose path says what it is.
// A row without path and fields tells nothing that anybody asks for.
func (t *table) readRow(raw []byte) (path []string, fields []event.Pair, ok bool) {
	if t.kind == noListing && !mayBeRow(raw) {
		t.tree = tree{open: t.tree.open[:0]} // it ends there, if there was one
		return bareRow, nil, false
	}
	line := plainRow(string(raw))
	if path, fields, ok = t.tree.readRow(line); ok {
		return path, fields, true
	}
	if fields, ok = t.splitRow(line); ok {
		if t.guessed {
			path = bareRow
		}
		return path, fields, true
	}
	if fields, ok = readSystemLine(line); ok {
		return systemRow, fields, true
	}
	if fields, ok = readContainerRow(line); ok {
		return containerRow, fields, true
	}
	if fields, ok = readFileSystem(line); ok {
		return fileSystemRow, fields, true
	}
	if fields, ok = readNodeRow(line); ok {
		return nodeRow, fields, true
	}
	if isTopMemory(raw) {
		if fields, ok = readTopMemory(line); ok {
			return memoryRow, fields, true
		}
	}
	if isBlamed(line) {
		return nil, nil, true
	}
	if !hasEarlyNumber(line) {
		return bareRow, nil, false
	}
	var few [32]column // most lines need no more, which then stay off the heap
	words := appendWords(few[:0], line[:min(len(line), longestRow)])
	if fields, ok = readOpenFile(line, words); ok {
		return fileRow, fields, true
	}
	fields, ok = readBareRow(line, words)
	return bareRow, fields, ok
}

// mayBeRow says that a line may be a row that no header explains: a quick look rules out most lines
// of other files.
func mayBeRow(line []byte) bool {
	switch c := line[0]; {
	case c <= ' ' || c >= utf8.RuneSelf || c == '|' || c == '`' || lines.StartsWith(line, "**") || len(line) > longestRow:
		return true // perhaps a branch of a tree, or a row that is set in bold
	case lines.IsDigit(c):
		rest := bytes.TrimLeft(line, "0123456789.")
		if len(rest) > 0 && strings.IndexByte("ymwdhus", rest[0]) >= 0 { // of isBlamed
			return true
		}
	}
	return lines.StartsWith(line, "-.slice", "Control group ", "Unit ", "CGroup: ", "Linux ", "/dev/") || isTopMemory(line) ||
		bytes.IndexByte(line[:min(len(line), 22)], ',') > 0 ||
		bytes.IndexByte(line, ')') >= 0 && (bytes.Contains(line, []byte(")-")) || bytes.Contains(line, []byte(")─"))) ||
		mayBeProcess(line) || mayBeContainer(line) || mayBeNode(line)
}

// longestRow is how much of a line is looked at for the columns of a row without a header.
const longestRow = 4 << 10

// isBlamed tells a row of systemd-analyze blame: 2min 31.123s containerd.service.
func isBlamed(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" || !lines.IsDigit(line[0]) || strings.IndexByte(line, '.') < 0 {
		return false
	}
	words := strings.Fields(line[:min(len(line), 300)])
	if len(words) < 2 || len(words) > 5 || !lines.IsUnitName(words[len(words)-1]) {
		return false
	}
	for _, w := range words[:len(words)-1] {
		unit := strings.TrimLeft(w, "0123456789.")
		if unit == w || !slices.Contains([]string{"y", "month", "w", "d", "h", "min", "s", "ms", "us"}, unit) {
			return false
		}
	}
	return true
}

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
	jobTable              // systemctl list-jobs
	deviceTable           // iostat -x, sar -d
	cpuTable              // iostat, above the devices
	vmTable               // vmstat
	busTable              // busctl list
	fileTable             // lsof
	sarTable              // sar, below its clock
	sourceTable           // chronyc sources, ntpq -p
	taskTable             // ctr task ls, runc list
	imageTable            // crictl images, docker images
	podTable              // kubectl get pods
)

// String is what the table lists, as the program that prints it is called.
func (k tableKind) String() string {
	return [...]string{"", "ps", "df", "free", "units", "events", "nodes", "crictl", "docker", "jobs", "devices", "cpu", "vmstat", "bus", "files", "sar", "sources", "tasks", "images", "pods"}[k]
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
	tree    tree
	guessed bool // the columns are told by the values below them, for there is no header
	threads bool // the listing that follows is one of threads, as top -H says above it
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
	{eventTable, "", []string{"TYPE", "REASON", "MESSAGE"}, false},
	{nodeTable, "NAME", []string{"STATUS", "VERSION"}, true},
	{criTable, "CONTAINER", []string{"IMAGE", "STATE"}, true},
	{criTable, "POD", []string{"CREATED", "STATE"}, true},
	{dockerTable, "CONTAINER", []string{"IMAGE", "STATUS"}, true},
	{jobTable, "JOB", []string{"UNIT", "TYPE", "STATE"}, false},
	{deviceTable, "", []string{"%util"}, false},
	{cpuTable, "avg-cpu:", []string{"%iowait", "%idle"}, false},
	{vmTable, "r", []string{"b", "swpd", "wa"}, false},
	{busTable, "NAME", []string{"PID", "PROCESS", "CONNECTION"}, false},
	{fileTable, "COMMAND", []string{"PID", "FD", "TYPE", "NAME"}, false},
	{sourceTable, "MS", []string{"Stratum", "Reach", "LastRx"}, false},
	{sourceTable, "remote", []string{"refid", "reach", "jitter"}, false},
	{taskTable, "TASK", []string{"PID", "STATUS"}, false},
	{taskTable, "ID", []string{"PID", "STATUS", "BUNDLE"}, false},
	{criTable, "CONTAINER", []string{"MEM", "DISK"}, true},
	{criTable, "POD", []string{"MEM", "CPU"}, true},
	{dockerTable, "CONTAINER", []string{"MEM", "PIDS"}, true},
	{imageTable, "IMAGE", []string{"TAG", "ID", "SIZE"}, true},
	{podTable, "", []string{"NAME", "READY", "STATUS", "RESTARTS"}, true},
	{imageTable, "REPOSITORY", []string{"TAG", "ID", "SIZE"}, true},
}

// readHead makes t the table that begins with a line; it is false where none does.
func (t *table) readHead(line []byte) bool {
	kind, columns := readTableHead(line)
	if kind != noListing {
		t.kind, t.columns, t.first, t.guessed = kind, columns, "", false
		if kind == psTable && t.threads {
			renamePIDToTID(t.columns)
		}
	}
	t.threads = t.threads && kind == noListing || isThreadCount(line)
	return kind != noListing
}

// topSummary are the starts of the lines that top prints above its listing.
var topSummary = []string{"top - ", "Tasks: ", "Threads: ", "%Cpu", "Cpu(s): ", "KiB Mem", "KiB Swap", "MiB Mem", "MiB Swap", "GiB Mem", "GiB Swap"}

// isTopSummary tells such a line.
func isTopSummary(line []byte) bool {
	return lines.StartsWith(line, topSummary...) || isTopMemory(line)
}

// memoryRow is the path of a line of top about memory, above its listing.
var memoryRow = []string{"memory"}

// isTopMemory tells such a line, of which readTopMemory reads the numbers:
//
//	Mem:  16436820k total, 16300112k used,   136708k free,      404k buffers      (procps 3.2; below it Swap: … 13592k cached)
//	KiB Mem:  16436820 total, 16300112 used,   136708 free,      404 buffers      (3.3; KiB Swap: … 0 free.    13592 cached Mem)
//	MiB Mem :  15885.2 total,    133.5 free,  15548.6 used,    203.1 buff/cache   (since 3.3.10; MiB Swap: … 0.0 used.     12.1 avail Mem)
func isTopMemory(line []byte) bool {
	if c := line[0]; c != 'K' && c != 'M' && c != 'G' && c != 'T' && c != 'S' {
		return false
	}
	if len(line) > 4 && line[1] == 'i' && line[2] == 'B' && line[3] == ' ' {
		line = line[4:]
	}
	return lines.StartsWith(line, "Mem:", "Mem :", "Swap:", "Swap :") && bytes.Contains(line, []byte("total,"))
}

// commaOfNumber is the point of a number in many languages.
var commaOfNumber = regexp.MustCompile(`(\d),(\d)`)

// readTopMemory reads the numbers of such a line, by what stands behind each; what the line is
// about has the key "of".
func readTopMemory(line string) (fields []event.Pair, ok bool) {
	name, rest, _ := strings.Cut(line, ":")
	words := strings.Fields(name)
	fields = append(fields, event.Pair{Key: "of", Value: words[len(words)-1]})
	rest = strings.NewReplacer("used. ", "used, ", "free. ", "free, ", "+", " ").Replace(commaOfNumber.ReplaceAllString(rest, "$1.$2"))
	for part := range strings.SplitSeq(rest, ",") {
		value, what, found := strings.Cut(strings.TrimSpace(part), " ")
		if !found || !lines.IsDigit(value[0]) {
			return nil, false
		}
		fields = append(fields, event.Pair{Key: strings.TrimSpace(what), Value: value})
	}
	return fields, true
}

// isThreadCount tells the line of top -H above its listing, whose column PID holds threads:
//
//	Threads: 3812 total,   2 running, 3790 sleeping,   0 stopped,  20 zombie
func isThreadCount(line []byte) bool { return bytes.HasPrefix(line, []byte("Threads: ")) }

// renamePIDToTID calls the column of threads by its name.
func renamePIDToTID(columns []column) {
	for i := range columns {
		if columns[i].name == "PID" {
			columns[i].name = "TID"
		}
	}
}

// readTableHead says which table begins with a line, if any does.
func readTableHead(line []byte) (tableKind, []column) {
	if len(line) > 2 && line[2] == ':' && len(line) <= 1000 {
		if columns, ok := readClockHead(string(line)); ok {
			return sarTable, columns
		}
	}
	c := line[len(line)-len(bytes.TrimLeft(line, " \t"))]
	if len(line) > 1000 || c-'A' >= 26 && c != '%' && c != 't' && c != 'r' && c != 'a' && !bytes.HasSuffix(line, []byte(" %util")) {
		return noListing, nil
	}
	if n := countWords(line); n < 3 || n > 60 {
		return noListing, nil
	}
	columns := undoHtop(cutWords(string(line)))
	if len(columns) > 60 {
		return noListing, nil
	}
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(c column) bool { return c.name == name })
	}
	if slices.ContainsFunc(lastColumns, has) && (slices.ContainsFunc(idColumns, has) || has("WCHAN") || has("RTPRIO")) && isUpper(columns) && !slices.ContainsFunc(foreignColumns, has) {
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

// IsProcessHead says that a line is the header of a listing of ps.
func IsProcessHead(line []byte) bool {
	kind, _ := readTableHead(line)
	return kind == psTable
}

func isUpper(columns []column) bool {
	return !slices.ContainsFunc(columns, func(c column) bool { return c.name != strings.ToUpper(c.name) })
}

// countWords is how many words cutWords gives.
func countWords(line []byte) (n int) {
	blank := true
	for _, c := range line {
		before := blank
		if blank = c == ' ' || c == '\t'; before && !blank {
			n++
		}
	}
	return n
}

// cutWords are the words of a line and where they begin.
func cutWords(line string) []column { return appendWords(nil, line) }

// appendWords appends the words of a line to all, with where they begin.
func appendWords(all []column, line string) []column {
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
	case eventTable:
		return CutEvent(line)
	case jobTable, deviceTable, cpuTable, vmTable, busTable, taskTable:
		return t.splitPlain(line)
	case sarTable:
		return t.splitClocked(line)
	case sourceTable:
		return splitTimeSource(line)
	case fileTable:
		return nil, false // its rows are known by themselves
	case nodeTable:
		if _, other := CutCondition(line); other { // of describe, which somebody pasted below
			return nil, false
		}
	}
	return t.splitCells(line)
}

// splitPlain takes a row apart whose cells are single words and none of which is empty. What is
// behind the last column belongs to it.
func (t *table) splitPlain(line string) (fields []event.Pair, ok bool) {
	row := cutWords(line)
	columns := t.columns
	if t.kind == cpuTable { // its first word is no column
		columns = columns[1:]
	}
	n := len(columns)
	switch {
	case len(row) < n || len(row) > n && t.kind != busTable:
		return nil, false
	case t.kind == taskTable && !isWhole(row[1].name):
		return nil, false
	case t.kind == jobTable && !isWhole(row[0].name),
		(t.kind == vmTable || t.kind == cpuTable || t.kind == deviceTable) && !isDecimal(row[n-1].name):
		return nil, false
	case t.kind == busTable && !strings.Contains(row[0].name, "."):
		return nil, false
	}
	for i, c := range columns {
		fields = append(fields, event.Pair{Key: c.name, Value: row[i].name})
	}
	return fields, true
}

// splitTimeSource takes the mark of a server of time off a row of chronyc sources or ntpq -p: "*"
// is the one that the clock follows, and "?" one that does not answer.
//
//	^* ntp1.example.com              2   6   377    23    +12us[  +15us] +/-   12ms
//	*10.0.0.9        .GPS.            1 u   12   64  377    0.212   -0.012   0.023
func splitTimeSource(line string) (fields []event.Pair, ok bool) {
	if len(line) < 30 || len(strings.Fields(line)) < 8 {
		return nil, false
	}
	mark := line[:1]
	if strings.Contains("^=#", mark) {
		mark = line[1:2]
	}
	return []event.Pair{{Key: "mark", Value: mark}}, strings.Contains("*+-? x~#o.", mark)
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

// MayHaveRows says that a line of head may be one of a listing: its header, or a row that no header
// explains.
func MayHaveRows(head *lines.Head) bool {
	if head.Rows == lines.NotAsked {
		head.Rows = lines.AnswerOf(slices.ContainsFunc(head.Lines, mayBeListed))
	}
	return head.Rows == lines.Yes
}

// mayBeListed says that a line is of a listing, or that what Rows and a table know changes with it.
func mayBeListed(line []byte) bool {
	if isTopSummary(line) || mayBeRow(line) {
		return true
	}
	kind, _ := readTableHead(line)
	return kind != noListing
}

// SniffTable wants a header, and rows below it.
func SniffTable(head *lines.Head) float64 {
	if !MayHaveRows(head) {
		return 0
	}
	var t table
	return lines.Share(head, func(line []byte) lines.Sign {
		if t.readHead(line) {
			return lines.Proves
		}
		if isTopMemory(line) {
			return lines.Proves
		}
		if isTopSummary(line) {
			return lines.Silent
		}
		path, fields, ok := t.readRow(line)
		if ok && path == nil && fields != nil {
			return lines.Fits
		}
		return lines.SignIf(ok, lines.Proves)
	})
}

// isDecimal reads a number that may have a comma for its point, as in many languages: 12,50.
func isDecimal(s string) bool { return isNumber([]byte(strings.Replace(s, ",", ".", 1))) }

// isNumber reads 12, 1.5e+06, NaN, +Inf.
func isNumber(s []byte) bool {
	bare := bytes.TrimLeft(s, "+-")
	switch { // without the error, which would have to be made
	case len(bare) == 0:
		return false
	case !lines.IsDigit(bare[0]) && bare[0] != '.':
		if !slices.ContainsFunc(oddNumbers, func(odd []byte) bool { return bytes.EqualFold(bare, odd) }) {
			return false
		}
	case !decimalBytes.HasAll(string(bare)) && (!mantissaBytes.HasAll(string(bare)) || !lines.StartsWith(bare, "0x", "0X")):
		return false
	}
	_, err := strconv.ParseFloat(string(s), 64)
	return err == nil && len(s) > 0
}

// oddNumbers are those that begin with a letter.
var oddNumbers = [][]byte{[]byte("inf"), []byte("infinity"), []byte("nan")}

// The bytes of a number that begins with a digit or a point, and of one with a mantissa in
// hexadecimal.
var decimalBytes, mantissaBytes = lines.NewByteSet("0123456789eE+-._"), lines.NewByteSet("0123456789abcdefABCDEF+-._xXpP")

// Rows follows the lines of a text to see where a listing begins and where it ends.
type Rows struct {
	HasRows bool // the current listing has more than a header
	table   table
	in      bool // a listing
	top     bool // what top prints above one
}

// EndsBefore says that what came before a line ends there: a listing begins, or the current one is
// over. Filled says that something came before. The next text begins with the zero Rows.
func (r *Rows) EndsBefore(line []byte, filled bool) bool {
	above := r.top
	if r.top = isTopSummary(line); r.top {
		r.table.readHead(line)
		r.in = true
		return filled && !above
	}
	if r.table.readHead(line) {
		r.in = true
		return filled && !above
	}
	_, _, isRow := r.table.readRow(line)
	switch {
	case isRow && !r.in:
		r.in, r.HasRows = true, true
		return filled
	case isRow:
		r.HasRows = true
	}
	return !isRow && r.in
}

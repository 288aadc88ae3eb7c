package snapshots

import (
	"bytes"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// lastColumns are names under which ps prints a command, which is the rest of a row.
var lastColumns = []string{"CMD", "COMMAND", "ARGS", "COMM"}

// idColumns are names under which ps prints the ids of processes and threads.
var idColumns = []string{"PID", "TGID", "TID", "SPID", "LWP"}

// processLayouts are the columns of the forms of ps, and of top, that people paste without their
// header. The first that a row fits counts: those with more columns come first.
var processLayouts = cutLayouts(
	"F S UID PID PPID LWP C NLWP PRI NI ADDR SZ WCHAN STIME TTY TIME CMD", // ps -eLlf
	"F S UID PID PPID C PRI NI ADDR SZ WCHAN STIME TTY TIME CMD",          // ps -elf
	"F S UID PID PPID LWP C PRI NI ADDR SZ WCHAN TTY TIME CMD",            // ps -eLl
	"F S UID PID PPID C PRI NI ADDR SZ WCHAN TTY TIME CMD",                // ps -el
	"S UID PID PPID C PRI NI RSS SZ WCHAN TTY TIME CMD",                   // ps -ely
	"F UID PID PPID PRI NI VSZ RSS WCHAN STAT TTY TIME COMMAND",           // ps axl
	"PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND",               // top, htop
	"USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND",              // ps aux
	"UID PID PPID LWP C NLWP STIME TTY TIME CMD",                          // ps -eLf
	"PPID PID PGID SID TTY TPGID STAT UID TIME COMMAND",                   // ps axj
	"UID PID SPID PPID C STIME TTY TIME CMD",                              // ps -efT
	"UID PID PPID C STIME TTY TIME CMD",                                   // ps -ef
	"PID TTY STAT TIME COMMAND",                                           // ps ax
	"PID TTY TIME CMD",                                                    // ps -e
)

// undoHtop spells the header of htop as that of top: it names the command in another way, and has
// no blank between the two columns beside the mark of the one that it sorts by.
//
//	PID USER       PRI  NI  VIRT   RES   SHR S CPU%▽MEM%   TIME+  Command
func undoHtop(columns []column) []column {
	n := len(columns)
	if n < 8 || columns[n-1].name != "Command" {
		return columns
	}
	var all []column
	for _, c := range columns {
		if c.name == "Command" {
			c.name = "COMMAND"
		}
		first, second, glued := strings.Cut(c.name, "%")
		if glued && len(second) > 1 {
			all = append(all, column{first + "%", c.at})
			c.name = strings.TrimLeft(second, "-+▽△")
		}
		all = append(all, c)
	}
	return all
}

// cutLayouts are headers as their columns.
func cutLayouts(headers ...string) (all [][]column) {
	for _, h := range headers {
		all = append(all, cutWords(h))
	}
	return all
}

// foreignColumns are what ps has not: of xcapture, lsof, lslocks and lsns, iotop, in this order.
var foreignColumns = []string{"SYSCALL", "FD", "TYPE", "DISK"}

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
	if t.guessed {
		return fitsColumn(name, value)
	}
	switch name {
	case "PID", "PPID", "TID", "SPID", "LWP", "NLWP":
		return isWhole(value) || value == "-"
	}
	return true
}

func wordLength[T string | []byte](s T) int {
	for i := range len(s) {
		if s[i] == ' ' || s[i] == '\t' {
			return i
		}
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

// fitsColumn says that a value is what ps prints under a header, and not only may stand there: by
// such values a row is known that has no header.
func fitsColumn(name, value string) bool {
	switch name {
	case "PID", "PPID", "TID", "SPID", "LWP", "NLWP", "PGID", "SID", "VSZ", "RSS", "SZ":
		return isWhole(value)
	case "COUNT":
		return len(value) <= 7 && isWhole(value)
	case "F":
		return len(value) <= 2 && isWhole(value)
	case "C":
		return len(value) <= 3 && isWhole(value)
	case "TPGID":
		return isWhole(strings.TrimPrefix(value, "-"))
	case "PRI", "PR", "NI":
		return value == "-" || value == "rt" || isWhole(strings.TrimPrefix(value, "-"))
	case "VIRT", "RES", "SHR", "%CPU", "%MEM": // of top, with the sign for decimals of its language
		return isDecimal(strings.TrimRight(value, "kmgtKMGT"))
	case "S", "STAT":
		return isProcessState(value)
	case "TTY":
		return value == "?" || value == "-" || strings.HasPrefix(value, "pts/") || strings.HasPrefix(value, "tty") ||
			value == "console" || strings.HasPrefix(value, "hvc")
	case "START", "STIME":
		return isStartTime(value)
	case "TIME", "TIME+":
		return isClock(value)
	case "ADDR":
		return value == "-" || isHexNumber(value)
	case "WCHAN":
		return value == "-" || value == "*" || isHexNumber(value) || symbolBytes.HasAll(value)
	case "UID", "USER":
		return isName(value, ".+$")
	}
	return value != ""
}

// The bytes that these values are made of.
var (
	symbolBytes = lines.NewByteSet("abcdefghijklmnopqrstuvwxyz0123456789_.") // a function of the kernel
	hexBytes    = lines.NewByteSet("0123456789abcdef")
	clockBytes  = lines.NewByteSet("0123456789:-.")
	stateBytes  = lines.NewByteSet("sl+<NLW") // behind the state of a process
)

// isWhole says that s is a whole number of at most nine digits, or eighteen for sizes.
func isWhole[T string | []byte](s T) bool {
	return len(s) <= 18 && lines.IsNumber(s)
}

func isHexNumber(s string) bool { return s != "" && hexBytes.HasAll(s) }

// isProcessState tells the states of ps: "D", "Ssl", "R+".
func isProcessState(s string) bool {
	return s != "" && len(s) <= 6 && strings.IndexByte("DRSTtZIWXxKP", s[0]) >= 0 && stateBytes.HasAll(s[1:])
}

// isStartTime tells the start of a process: 18:22, 18:22:16, Nov20, 2019; of a locale that numbers
// the months 11月20, 11월20, 11/20.
func isStartTime(s string) bool {
	switch {
	case len(s) == 4 && isWhole(s):
		return s[0] == '1' || s[0] == '2'
	case len(s) == 5 && s[0] >= 'A' && s[0] <= 'Z':
		return isWhole(s[3:])
	case len(s) >= 4 && s[0] > '9': // a month in another language
		return isWhole(s[len(s)-2:])
	case len(s) >= 4 && lines.IsDigit(s[0]) && isWhole(s[len(s)-2:]):
		if month := strings.TrimLeft(s[:len(s)-2], "0123456789"); month == "/" || month == "月" || month == "월" {
			return true
		}
	}
	return isClock(s)
}

// isClock tells a time of day or a length of time: 0:00, 00:00:00, 2-03:04:05, 1:02.34.
func isClock(s string) bool {
	return strings.IndexByte(s, ':') >= 0 && lines.IsDigit(s[0]) && clockBytes.HasAll(s)
}

// isWaitChannel tells a function of the kernel; ps cuts its name at six letters unless told
// otherwise, and takes underscores off its front.
func isWaitChannel(s string) bool {
	if len(s) < 3 || lines.IsDigit(s[0]) {
		return false
	}
	return symbolBytes.HasAll(s) && (len(s) == 6 || strings.Contains(s, "_"))
}

// readBareRow takes a row of ps apart that no header explains; words are its first.
func readBareRow(line string, words []column) (fields []event.Pair, ok bool) {
	if len(line) > 1<<16 {
		return nil, false
	}
	for _, columns := range processLayouts {
		if len(words) < len(columns) || !fitsColumn(columns[0].name, words[0].name) {
			continue
		}
		t := table{kind: psTable, columns: columns, guessed: true}
		if fields, ok := t.splitProcess(line); ok && fields[len(fields)-1].Value != "" {
			return fields, true
		}
	}
	return readListedRow(line, words)
}

// hasEarlyNumber says that one of the first words of a line is a number: all rows have a pid there.
func hasEarlyNumber[T string | []byte](line T) bool {
	for range 5 {
		for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			line = line[1:]
		}
		n := wordLength(line)
		if isWhole(line[:n]) {
			return true
		}
		line = line[n:]
	}
	return false
}

// mayBeProcess says that a line may be a row of ps or lsof without a header: an early number, and a
// time, the state of a process, or as many words as lsof prints.
func mayBeProcess(line []byte) bool {
	if !hasEarlyNumber(line) {
		return false
	}
	if bytes.IndexByte(line, ':') >= 0 {
		return true
	}
	state, second, n := false, false, 0
	for at := 0; ; n++ {
		for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
			at++
		}
		if at == len(line) {
			break
		}
		end := at
		for end < len(line) && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		if word := line[at:end]; n < 5 && isWhole(word) {
			second = second || n == 1
		} else if len(word) <= 6 && isProcessState(string(word)) {
			state = true
		}
		at = end
	}
	return state || second && n >= 6
}

// readListedRow takes a row of ps -o apart, whose columns are anybody's choice: it wants a pid and
// a state before the command, and a function of the kernel, a whole date or a command that is one.
//
//	27916 27400 Ds __refrigerator /usr/local/bin/runc init
//	D 4411 containerd-shim
//	14378 14378 13862 Ds   __refrigerator   runc:[2:INIT]   runc init
//	14378 Ds   refrigerator   Mon Oct 28 00:49:38 2024 runc init
func readListedRow(line string, words []column) (fields []event.Pair, ok bool) {
	var ids []string
	state, wchan, dated := "", "", false
	add := func(name, value string) { fields = append(fields, event.Pair{Key: name, Value: value}) }
	i := 0
cells:
	for ; i < len(words); i++ {
		w := words[i].name
		switch {
		case isWhole(w) && len(w) <= 9 && len(ids) < 4:
			ids = append(ids, w)
		case state == "" && isProcessState(w):
			state = w
			add("STAT", w)
		case state != "" && wchan == "" && !isStartDate(words[i:]) && (w == "-" || isWaitChannel(w) && (strings.Contains(w, "_") || i+1 < len(words) && isCommand(words[i+1].name)) ||
			symbolBytes.HasAll(w) && isStartDate(words[i+1:])):
			wchan = w
			add("WCHAN", w)
		case len(ids) > 0 && isStartDate(words[i:]):
			year := words[i+4]
			add("STARTED", line[words[i].at:year.at+len(year.name)])
			dated = true
			i += 4
		case len(ids) > 0 && isClock(w):
			add("ELAPSED", w)
		case i == 0 && w == "root":
			add("USER", w)
		default:
			break cells
		}
	}
	if len(ids) == 0 || state == "" || i == len(words) {
		return nil, false
	}
	rest := words[i:]
	if !isCommand(rest[0].name) && (wchan == "" || wchan == "-") && !dated {
		return nil, false
	}
	add("PID", ids[0])
	if len(ids) == 2 && ids[1] != ids[0] && dated {
		add("PPID", ids[1])
	}
	if n := len(ids); n > 1 && ids[1] == ids[0] { // of a thread, or of the first one of a process
		add("TID", ids[1])
		if n > 2 {
			add("PPID", ids[2])
		}
	}
	if len(rest) > 1 && isNameOf(rest[0].name, rest[1].name) {
		add("COMM", rest[0].name)
		rest = rest[1:]
	}
	add("ARGS", line[rest[0].at:])
	return fields, true
}

// isStartDate says that words begin with a start as ps prints it whole (lstart): Mon Oct 28
// 00:49:38 2024.
func isStartDate(words []column) bool {
	return len(words) >= 5 && len(words[0].name) == 3 && len(words[1].name) == 3 && isWhole(words[2].name) &&
		isClock(words[3].name) && strings.Count(words[3].name, ":") == 2 && len(words[4].name) == 4 && isWhole(words[4].name)
}

// isCommand says that a word is the path of a program, a thread of the kernel, or one of the
// programs that are looked for.
func isCommand(w string) bool {
	switch {
	case w[0] == '/' || w[0] == '[' && strings.HasSuffix(w, "]"):
		return true
	}
	name := w[:min(len(w), 15)]
	return slices.ContainsFunc(nodePrograms, func(p string) bool { return strings.HasPrefix(name, p) })
}

// nodePrograms are those that stand without a path in many listings.
var nodePrograms = []string{
	"runc", "containerd", "dockerd", "docker", "kubelet", "crio", "conmon", "umount", "mount", "systemd", "dbus-daemon", "kworker", "jbd2/",
}

// isNameOf says that a word is the name of the program that the next word starts: the kernel keeps
// fifteen letters of it.
func isNameOf(comm, program string) bool {
	base := program[strings.LastIndexByte(program, '/')+1:]
	return base != "" && (comm == base[:min(len(base), 15)] || strings.HasPrefix(comm, "runc:[") && base == "runc")
}

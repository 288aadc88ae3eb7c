package snapshots

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// tree reads what pstree, systemd-cgls and systemctl status draw: processes below their parents, or
// below their control groups, in UTF-8 or in ASCII.
//
//	systemd(1)-+-containerd(901)-+-containerd-shim(27400)-+-runc(27901)     pstree -p
//	           |                 |                        `-{containerd-shim}(27401)
//	  ├─containerd-shim,27400 -namespace k8s.io -id …                       pstree -ap
//	  │   └─{containerd-shim},27401
//	│ ├─containerd.service                                                  systemd-cgls
//	│ │ └─27916 /usr/local/bin/runc init
type tree struct {
	open   []branch // those that the next line may hang below, outermost first
	groups bool     // the tree is one of control groups, as its first line says
}

// branch is a process or a control group, and where its name begins, in characters.
type branch struct {
	at    int
	pid   string // of a process
	group string // name of a control group, "/a.slice" for those of several levels
}

// treeRow is the path of a row of a tree. Its fields are those of several processes at times: each
// begins with PID.
var treeRow = []string{"tree"}

// groupRow is the path of a row that names a control group, of which the tree has the processes.
var groupRow = []string{"group"}

// treeMarks stand before a branch.
var treeMarks = []string{"├─", "└─", "|-", "`-"}

// chained is a process of pstree -p at the start of a text: 1 its name, 2 its pid, 3 what follows.
// With -u and -g there is more in the brackets.
var chained = regexp.MustCompile(`^([^()]{1,20}|\([^()]{1,18}\))\((\d{1,9})(?:,[\w.$-]+)*\)(-\+-|---|─┬─|───|$)`)

// listed is a process of pstree -ap: 1 its name, 2 its pid, 3 its arguments.
var listed = regexp.MustCompile(`^(\{[^{},]{1,18}\}|[^{},]{1,20}),(\d{1,9})(?:,[\w.$-]+)*(?: +(.*))?$`)

// readRow reads a line of a tree. The line that names the root of pstree -ap proves nothing.
func (t *tree) readRow(line string) (path []string, fields []event.Pair, ok bool) {
	if len(line) == 0 || len(line) > 1<<16 {
		t.open = t.open[:0]
		return nil, nil, false
	}
	text, at, marked := cutMark(line)
	if marked {
		return t.readBranch(text, at)
	}
	*t = tree{open: t.open[:0]}
	if group, ok := readRootGroup(line); ok {
		t.open, t.groups = append(t.open, branch{-1, "", group}), true
		return groupRow, nil, true
	}
	if strings.Contains(line, ")-") || strings.Contains(line, ")─") {
		if m := chained.FindStringSubmatch(line); m != nil && m[3] != "" {
			return t.readChain(line, 0)
		}
	}
	if i := strings.IndexByte(line[:min(len(line), 22)], ','); i > 0 {
		if m := listed.FindStringSubmatch(line); m != nil { // of pstree -ap, if more follows
			t.open = append(t.open, branch{at: 0, pid: m[2]})
		}
	}
	return nil, nil, false
}

// cutMark cuts what is drawn off the front of a branch; at is where the rest begins. A process that
// is the only child of the one before it on its line has no mark of its own.
func cutMark(line string) (text string, at int, ok bool) {
	if c := line[0]; c != ' ' && c != '\t' && c != '|' && c != '`' && c != 0xe2 { // the first byte of every mark of UTF-8
		return "", 0, false
	}
	rest := strings.TrimLeft(line, " \t│|")
	if strings.HasPrefix(rest, "-") { // the last bar belongs to the mark
		rest = line[len(line)-len(rest)-1:]
	}
	for _, mark := range treeMarks {
		if text, ok = strings.CutPrefix(rest, mark); ok {
			return text, utf8.RuneCountInString(line[:len(line)-len(text)]), true
		}
	}
	return "", 0, false
}

// readBranch reads a branch whose text begins at a column.
func (t *tree) readBranch(text string, at int) (path []string, fields []event.Pair, ok bool) {
	if pid, args, ok := strings.Cut(strings.TrimLeft(text, " "), " "); ok && isWhole(pid) && len(pid) <= 9 {
		if args = strings.TrimSpace(args); args == "" {
			return nil, nil, false
		}
		t.closeFrom(at)
		fields := []event.Pair{{Key: "PID", Value: pid}}
		if group := t.group(); group != "" {
			fields = append(fields, event.Pair{Key: "CGROUP", Value: group})
		}
		return treeRow, append(fields, event.Pair{Key: "ARGS", Value: args}), true
	}
	if chained.MatchString(text) {
		return t.readChain(text, at)
	}
	if m := listed.FindStringSubmatch(text); m != nil {
		fields := t.addProcess(nil, m[1], m[2], at)
		if m[3] != "" && m[1][0] != '{' {
			fields = append(fields, event.Pair{Key: "ARGS", Value: m[1] + " " + m[3]})
		}
		return treeRow, fields, true
	}
	name, rest, _ := strings.Cut(strings.TrimRight(text, " "), " ")
	if rest != "" && rest != "…" && rest != "..." && rest[0] != '(' && rest[0] != '@' { // (#1234), @3.1s +2s
		return nil, nil, false
	}
	if name == "" || !t.groups && !lines.IsUnitName(name) {
		return nil, nil, false
	}
	t.closeFrom(at)
	t.open = append(t.open, branch{at: at, group: "/" + strings.TrimPrefix(name, "/")})
	return groupRow, nil, true
}

// readChain reads the processes of pstree -p that stand in one line, the first of which begins at a
// column. What a terminal cut off at the end is left out.
func (t *tree) readChain(text string, at int) (path []string, fields []event.Pair, ok bool) {
	for {
		m := chained.FindStringSubmatch(text)
		if m == nil {
			return treeRow, fields, len(fields) > 0
		}
		fields = t.addProcess(fields, m[1], m[2], at)
		at += utf8.RuneCountInString(m[0])
		text = text[len(m[0]):]
		if m[3] == "" {
			return treeRow, fields, true
		}
	}
}

// addProcess adds a process whose name begins at a column, or a thread, which stands in braces.
func (t *tree) addProcess(fields []event.Pair, name, pid string, at int) []event.Pair {
	t.closeFrom(at)
	parent := ""
	if n := len(t.open); n > 0 {
		parent = t.open[n-1].pid
	}
	if comm, ok := strings.CutPrefix(name, "{"); ok {
		return append(fields, event.Pair{Key: "PID", Value: parent}, event.Pair{Key: "TID", Value: pid},
			event.Pair{Key: "COMM", Value: strings.TrimSuffix(comm, "}")})
	}
	t.open = append(t.open, branch{at: at, pid: pid})
	fields = append(fields, event.Pair{Key: "PID", Value: pid})
	if parent != "" {
		fields = append(fields, event.Pair{Key: "PPID", Value: parent})
	}
	return append(fields, event.Pair{Key: "COMM", Value: name})
}

// closeFrom leaves open only what begins left of a column.
func (t *tree) closeFrom(at int) {
	for n := len(t.open); n > 0 && t.open[n-1].at >= at; n-- {
		t.open = t.open[:n-1]
	}
}

// group is the path of the control group that the next process is in; empty where none is drawn.
func (t *tree) group() string {
	var path strings.Builder
	for _, b := range t.open {
		path.WriteString(b.group)
	}
	return path.String()
}

// readRootGroup reads the line above a tree of control groups:
//
//	Control group /:                                                 systemd-cgls; "-.slice" follows
//	Control group /system.slice/containerd.service:
//	Unit containerd.service (/system.slice/containerd.service):      systemd-cgls -u
//	     CGroup: /system.slice/containerd.service                    systemctl status
func readRootGroup(line string) (group string, ok bool) {
	bare := strings.TrimSpace(line)
	if bare == "-.slice" {
		return "", true
	}
	inner, headed := strings.CutSuffix(bare, ":")
	if rest, ok := strings.CutPrefix(inner, "Control group /"); ok && headed {
		return strings.TrimSuffix("/"+rest, "/"), true
	}
	if rest, ok := strings.CutPrefix(inner, "Unit "); ok && headed {
		_, path, _ := strings.Cut(rest, " (")
		path, ok = strings.CutSuffix(path, ")")
		return path, ok && strings.HasPrefix(path, "/")
	}
	if rest, ok := strings.CutPrefix(bare, "CGroup: /"); ok {
		return strings.TrimSuffix("/"+rest, "/"), true
	}
	return "", false
}

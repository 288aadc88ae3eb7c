package samples

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// threadRow is a thread that a loop of a shell prints on one line, with what it waits in or its
// state: 1 the pid, 2 the tid, 3 the name, 4 the state, 5 what it waits in, of
//
//	/proc/1234/task/1240 runc fanotify_handle_event         echo "$t $(cat $t/comm) $(cat $t/wchan)"
//	1240 containerd-shim State: D (disk sleep) ovl_sync_fs  … $(grep ^State $t/status) $(cat $t/wchan)
var threadRow = regexp.MustCompile(`^(?:/proc/([1-9]\d{0,6})/task/|/proc/)?([1-9]\d{0,6}) (\S.{0,14}?)(?: State:\s+([A-Za-z]) \([a-z ]+\))?(?: ([a-z_]\w*_[\w.]+|0))?$`)

// runcRow is a run of runc with what it waits in, and its arguments: 1 the pid, 2 what it waits in,
// 3 the program, of "51234 fanotify_handle_event runc --root /run/containerd/runc/k8s.io exec …".
var runcRow = regexp.MustCompile(`^([1-9]\d{0,6}) ([a-z_]\w*_[\w.]+) (?:/\S*/)?(runc|crun) -`)

// readThreadRow reads such a line. A number and words alone are any text: the path of the thread or
// its state must be there.
func readThreadRow(line string) (p procPlace, state, wchan string, ok bool) {
	line = strings.TrimRight(line, " \t")
	if len(line) > maxRow || line == "" || line[0] != '/' && !lines.IsDigit(line[0]) {
		return p, "", "", false
	}
	if m := runcRow.FindStringSubmatch(line); m != nil {
		p.tid, _ = strconv.Atoi(m[1])
		p.pid, p.comm = p.tid, m[3]
		wchan, _, _ = strings.Cut(m[2], ".")
		return p, "", wchan, true
	}
	m := threadRow.FindStringSubmatch(line)
	if m == nil || m[4] == "" && (line[0] != '/' || m[5] == "") {
		return p, "", "", false
	}
	p.tid, _ = strconv.Atoi(m[2])
	if p.pid = p.tid; m[1] != "" {
		p.pid, _ = strconv.Atoi(m[1])
	}
	p.comm = m[3]
	wchan, _, _ = strings.Cut(withoutPlaceholder(m[5]), ".")
	return p, m[4], wchan, true
}

// maxRow bounds such a line, in bytes; the arguments of runc are the longest part.
const maxRow = 4096

// sniffThreadRows is the share of lines that are such rows.
func sniffThreadRows(head *lines.Head) float64 {
	if !head.Holds("/proc/") && !head.Holds(" State:") && !head.Holds("runc") && !head.Holds("crun") {
		return 0
	}
	all, good := 0, 0
	for _, line := range head.Lines {
		if _, dates := readStampLine(string(line)); dates {
			continue
		}
		all++
		if _, _, _, ok := readThreadRow(string(line)); ok {
			good++
		}
	}
	if good == 0 {
		return 0
	}
	return float64(good) / float64(all)
}

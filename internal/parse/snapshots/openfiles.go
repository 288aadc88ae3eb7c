package snapshots

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// openFileTypes are what lsof prints under TYPE.
var openFileTypes = []string{
	"REG", "DIR", "CHR", "BLK", "FIFO", "LINK", "unix", "sock", "netlink", "IPv4", "IPv6", "pack", "raw", "raw6", "icmp", "a_inode", "unknown", "0000", "STSO",
}

// namedDescriptors are what lsof prints under FD where a file has no number.
var namedDescriptors = []string{"cwd", "rtd", "txt", "mem", "mmap", "DEL", "ltx", "err", "jld", "NOFD", "fp."}

// readOpenFile reads a row of lsof, of which words are the first, which is known without its
// header, too: its columns are of any width, and those of a thread and of sizes may be empty.
//
//	COMMAND     PID   TID TASKCMD  USER   FD      TYPE  DEVICE SIZE/OFF    NODE NAME
//	container 24218                root  txt       REG   253,0  7184384 3162026 /usr/local/bin/containerd-shim
//	container 24218 24219 containe root   14r     FIFO    0,25      0t0 1435690 /run/containerd/…/1-stdout
func readOpenFile(line string, words []column) (fields []event.Pair, ok bool) {
	if len(words) < 6 || !isWhole(words[1].name) {
		return nil, false
	}
	at := 3 // of FD
	switch {
	case isDescriptor(words[3].name) && slices.Contains(openFileTypes, words[4].name):
	case len(words) > 6 && isWhole(words[2].name) && isDescriptor(words[4].name) && slices.Contains(openFileTypes, words[5].name): // TID, without TASKCMD in old ones
		at = 4
	case len(words) > 7 && isWhole(words[2].name) && isDescriptor(words[5].name) && slices.Contains(openFileTypes, words[6].name):
		at = 5
	default:
		return nil, false
	}
	fields = []event.Pair{{Key: "COMMAND", Value: words[0].name}, {Key: "PID", Value: words[1].name}}
	if at > 3 {
		fields = append(fields, event.Pair{Key: "TID", Value: words[2].name})
	}
	name := words[len(words)-1].at
	for _, w := range words[at+2:] {
		if w.name[0] == '/' || w.name[0] == '@' { // what follows may hold blanks: "type=STREAM", "(deleted)"
			name = w.at
			break
		}
	}
	return append(fields,
		event.Pair{Key: "FD", Value: words[at].name}, event.Pair{Key: "TYPE", Value: words[at+1].name}, event.Pair{Key: "NAME", Value: line[name:]},
	), true
}

// isDescriptor tells the column FD: cwd, 14r, 3uW.
func isDescriptor(s string) bool {
	if slices.Contains(namedDescriptors, s) {
		return true
	}
	digits := strings.TrimRight(s, "rwuNRWxXU -")
	return isWhole(digits) && len(s)-len(digits) <= 2 && len(s) > len(digits) && lines.IsDigit(s[0])
}

package snapshots

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadMounts reads mounts, one a line, as /proc/PID/mountinfo, /proc/mounts or mount(8) has them:
//
//	22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw
//	overlay /run/containerd/…/rootfs overlay rw,relatime,lowerdir=…,volatile 0 0
//	overlay on /run/containerd/…/rootfs type overlay (rw,relatime,lowerdir=…)
//
// The path of a datum is the mount point, its fields are source, fstype and options (of the mount
// and of the file system).
func ReadMounts(in lines.Input) iter.Seq2[Datum, error] {
	return lineData(in, func(line []byte) (Datum, bool) {
		source, target, fstype, options, ok := readMountLine(string(line))
		if !ok {
			return Datum{}, false
		}
		return Datum{Path: []string{target}, Fields: []event.Pair{{Key: "source", Value: source}, {Key: "fstype", Value: fstype}, {Key: "options", Value: options}}}, true
	})
}

func readMountLine(line string) (source, target, fstype, options string, ok bool) {
	if rest, found := strings.CutSuffix(strings.TrimRight(line, " "), ")"); found || strings.Contains(line, " type ") {
		source, rest, found = strings.Cut(rest, " on ")
		target, rest, ok = cutLast(rest, " type ")
		fstype, options, _ = strings.Cut(rest, " (")
		return source, target, fstype, options, found && ok && fstype != "" && !strings.Contains(fstype, " ")
	}
	f := strings.Fields(line)
	for i := 6; i+3 <= len(f); i++ { // behind a number of optional fields
		if f[i] == "-" && strings.Contains(f[2], ":") && f[4][0] == '/' {
			super := ""
			if i+3 < len(f) {
				super = "," + f[i+3]
			}
			return unescapeMount(f[i+2]), unescapeMount(f[4]), f[i+1], f[5] + super, true
		}
	}
	if len(f) == 6 && f[1][0] == '/' && isNumber([]byte(f[4])) && isNumber([]byte(f[5])) && strings.HasPrefix(f[3], "r") {
		return unescapeMount(f[0]), unescapeMount(f[1]), f[2], f[3], true
	}
	return "", "", "", "", false
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// unescapeMount undoes \040 and its like, which seq_path writes for blanks, tabs, newlines and
// backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// IsMount is strict for the sake of sniffing: prose has " on " and " type ", too.
func IsMount(line []byte) bool {
	if bytes.Contains(line, []byte(" on ")) && !bytes.Contains(line, []byte(" on /")) {
		return false
	}
	_, target, _, _, ok := readMountLine(string(line))
	return ok && strings.HasPrefix(target, "/")
}

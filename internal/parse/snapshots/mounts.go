package snapshots

import (
	"bytes"
	"iter"
	"regexp"
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
		fields := []event.Pair{{Key: "source", Value: source}, {Key: "fstype", Value: fstype}, {Key: "options", Value: options}}
		return Datum{Path: []string{target}, Fields: fields}, true
	})
}

// mountedOn is a line of mount(8): 1 the source, 2 the target, 3 the type, 4 the options.
var mountedOn = regexp.MustCompile(`^(.*?) on (.*) type ([^ ]+)(?: \((.*?)\)?)? *$`)

func readMountLine(line string) (source, target, fstype, options string, ok bool) {
	if strings.HasSuffix(strings.TrimRight(line, " "), ")") || strings.Contains(line, " type ") {
		m := mountedOn.FindStringSubmatch(line)
		if m == nil {
			return "", "", "", "", false
		}
		return m[1], m[2], m[3], m[4], true
	}
	f := strings.Fields(line)
	for i := 6; i+3 <= len(f); i++ { // behind a number of optional fields
		if f[i] == "-" && strings.Contains(f[2], ":") && f[4][0] == '/' {
			super := ""
			if i+3 < len(f) {
				super = "," + f[i+3]
			}
			return mountEscapes.Replace(f[i+2]), mountEscapes.Replace(f[4]), f[i+1], f[5] + super, true
		}
	}
	if len(f) == 6 && f[1][0] == '/' && isNumber([]byte(f[4])) && isNumber([]byte(f[5])) && strings.HasPrefix(f[3], "r") {
		return mountEscapes.Replace(f[0]), mountEscapes.Replace(f[1]), f[2], f[3], true
	}
	return "", "", "", "", false
}

// mountEscapes undoes what the kernel writes for bytes that would split a field (mangle in
// fs/proc_namespace.c).
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")

// SniffMounts is the share of lines that name what is mounted and where.
func SniffMounts(head *lines.Head) float64 {
	if !head.MayHold(" /", "\t/") { // a target is behind a blank
		return 0
	}
	return lines.Sniffer(isMount)(head)
}

// isMount is strict for the sake of sniffing: prose has " on " and " type ", too.
func isMount(line []byte) bool {
	if !bytes.Contains(line, []byte(" /")) && !bytes.Contains(line, []byte("\t/")) ||
		bytes.Contains(line, []byte(" on ")) && !bytes.Contains(line, []byte(" on /")) {
		return false
	}
	_, target, _, _, ok := readMountLine(string(line))
	return ok && strings.HasPrefix(target, "/")
}

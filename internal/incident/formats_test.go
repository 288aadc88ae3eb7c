package incident_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/incident"
)

// One incident, written in every format and in several zones, has one answer: the same findings at
// the same moments. The entries of an incident that is known are taken apart, and each form writes
// them anew, stamps included.

// entry is one message on the node.
type entry struct {
	at   time.Time
	unit string
	pid  int
	msg  string // with the stamp of klog or logrus, in the zone of the node
}

// node is an incident as its entries, and the files besides its logs.
type node struct {
	entries []entry
	files   map[string]string // traces stamp with the node's clock
}

var (
	logrusTime = regexp.MustCompile(`^time="([^"]+)"`)
	klogTime   = regexp.MustCompile(`^([IWEF])(\d{4} \d\d:\d\d:\d\d\.\d{6})`)
	goTime     = regexp.MustCompile(`(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) \+0800 CST`)
	straceTime = regexp.MustCompile(`(?m)^(\d+ +)(\d\d:\d\d:\d\d\.\d{6})`)
	shortLine  = regexp.MustCompile(`^(\w{3} \d\d \d\d:\d\d:\d\d) node-1 ([^\[: ]+)(?:\[(\d+)\])?: (.*)$`)
)

// labNode takes lab-umount2 apart: a journal in UTC, with a message cut into pieces.
func labNode(t *testing.T) node {
	files := untar(t, "../../testdata/lab-umount2/bundle.tgz")
	n := node{files: map[string]string{"containerd.43.stacks.log": files["lab-umount2/containerd.43.stacks.log"], "shim.strace": files["lab-umount2/shim.strace"]}}
	for line := range strings.Lines(files["lab-umount2/all.journal.short.log"]) {
		m := shortLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		require.NotNil(t, m, line)
		at, err := time.Parse("2006 Jan 02 15:04:05", "2026 "+m[1])
		require.NoError(t, err)
		pid, _ := strconv.Atoi(m[3])
		if stamp := logrusTime.FindStringSubmatch(m[4]); stamp != nil {
			at, err = time.Parse(time.RFC3339Nano, stamp[1])
			require.NoError(t, err)
		} else if last := len(n.entries) - 1; m[2] == "containerd" && strings.Contains(m[4], "goroutine ") && n.entries[last].unit == m[2] {
			n.entries[last].msg += m[4]
			continue
		}
		n.entries = append(n.entries, entry{at, m[2], pid, m[4]})
	}
	return n
}

// seedNode takes seed-short-tasks apart: logs of two programs, eight hours ahead of UTC.
func seedNode(t *testing.T) node {
	n := node{files: map[string]string{}}
	for _, unit := range []string{"kubelet", "containerd"} {
		text, err := os.ReadFile("../../testdata/seed-short-tasks/bundle/" + unit + ".log")
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			e := entry{unit: unit, pid: 2917, msg: line}
			if m := klogTime.FindStringSubmatch(line); m != nil {
				e.at, err = time.Parse("2006 0102 15:04:05.000000 -0700", "2023 "+m[2]+" +0800")
			} else {
				e.at, err = time.Parse(time.RFC3339Nano, logrusTime.FindStringSubmatch(line)[1])
			}
			require.NoError(t, err)
			n.entries = append(n.entries, e)
		}
	}
	slices.SortStableFunc(n.entries, func(a, b entry) int { return a.at.Compare(b.at) })
	text, err := os.ReadFile("../../testdata/seed-short-tasks/bundle/shim.strace")
	require.NoError(t, err)
	n.files["shim.strace"] = string(text)
	return n
}

// in is the node with its clock in a zone; from is the zone that it was written in.
func (n node) in(zone, from *time.Location) node {
	out := node{files: map[string]string{}}
	for _, e := range n.entries {
		e.at = e.at.In(zone)
		e.msg = logrusTime.ReplaceAllLiteralString(e.msg, e.at.Format(`time="2006-01-02T15:04:05.000000000Z07:00"`))
		if klogTime.MatchString(e.msg) {
			e.msg = e.msg[:1] + e.at.Format("0102 15:04:05.000000") + e.msg[21:]
		}
		e.msg = goTime.ReplaceAllStringFunc(e.msg, func(s string) string {
			t, _ := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.TrimSuffix(s, " CST"))
			return t.In(zone).Format("2006-01-02 15:04:05.999999999 -0700 -07")
		})
		out.entries = append(out.entries, e)
	}
	for name, text := range n.files {
		out.files[name] = straceTime.ReplaceAllStringFunc(text, func(s string) string {
			m := straceTime.FindStringSubmatch(s)
			// Any day of that season: the trace has none.
			t, _ := time.ParseInLocation("2006-01-02 15:04:05.000000", n.entries[0].at.In(from).Format("2006-01-02 ")+m[2], from)
			return m[1] + t.In(zone).Format("15:04:05.000000")
		})
	}
	return out
}

// form writes the logs of a node; the name of a file is known by what the form's tool would call
// it.
type form struct {
	name  string
	write func(node) map[string]string
}

// line makes a form of one file, of how one entry is written.
func line(name string, write func(e entry, i int) string) form {
	return form{name, func(n node) map[string]string {
		var out strings.Builder
		for i, e := range pieces(n.entries) {
			out.WriteString(write(e, i))
			out.WriteByte('\n')
		}
		return map[string]string{"node.log": out.String()}
	}}
}

// units makes a form of one file for each program.
func units(name string, write func(e entry) string) form {
	return form{name, func(n node) map[string]string {
		out := map[string]string{}
		for _, e := range n.entries {
			if e.unit == "kubelet" || e.unit == "containerd" {
				out[e.unit+".log"] += write(e) + "\n"
			}
		}
		return out
	}}
}

// pieces cuts messages as journald does.
func pieces(entries []entry) (out []entry) {
	const lineMax = 48 << 10
	for _, e := range entries {
		for ; len(e.msg) > lineMax; e.msg = e.msg[lineMax:] {
			cut := e
			cut.msg = e.msg[:lineMax]
			out = append(out, cut)
		}
		out = append(out, e)
	}
	return out
}

func (e entry) tag() string {
	if e.pid == 0 {
		return e.unit
	}
	return fmt.Sprintf("%s[%d]", e.unit, e.pid)
}

// boot is when the node booted.
func (e entry) boot() time.Duration {
	return e.at.Sub(time.Date(e.at.UTC().Year(), 1, 1, 0, 0, 0, 0, time.UTC))
}

func (e entry) fields() map[string]any {
	f := map[string]any{
		"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": strconv.FormatInt(e.at.UnixMicro(), 10), "_BOOT_ID": "e04a33f80c3747cfae76afbd59dd1892",
		"_HOSTNAME": "node-1", "SYSLOG_IDENTIFIER": e.unit, "PRIORITY": "6", "MESSAGE": e.msg,
	}
	if e.pid > 0 {
		f["_PID"] = strconv.Itoa(e.pid)
	}
	return f
}

func object(prefix, indent string) func(e entry, _ int) string {
	return func(e entry, _ int) string {
		out, _ := json.MarshalIndent(e.fields(), "", indent)
		if indent == "" {
			return prefix + strings.ReplaceAll(string(out), "\n", "")
		}
		return prefix + strings.ReplaceAll(string(out), `": "`, `" : "`)
	}
}

func stamped(layout string) func(e entry, _ int) string {
	return func(e entry, _ int) string { return e.at.Format(layout) + " node-1 " + e.tag() + ": " + e.msg }
}

// forms are the formats: how their programs would have written the entries.
func forms() []form {
	short := stamped("Jan 02 15:04:05")
	klogObject := func(e entry) string {
		if m := klogTime.FindString(e.msg); m != "" {
			caller, text, _ := strings.Cut(strings.TrimLeft(e.msg[len(m):], " 0123456789"), "] ")
			out, _ := json.Marshal(klogFields(caller, text))
			return fmt.Sprintf(`{"ts":%d.%03d,%s`, e.at.UnixMilli(), e.at.Nanosecond()/1000%1000, out[1:])
		}
		return slogObject(e)
	}
	all := []form{
		line("short", short),
		line("short-precise", stamped("Jan 02 15:04:05.000000")),
		line("short-full", stamped("Mon 2006-01-02 15:04:05 XST")),
		line("with-unit", func(e entry, i int) string {
			if e.unit != "kernel" { // which is of no unit
				e.unit = strings.Replace(e.unit+".service", "systemd.service", "init.scope", 1)
			}
			return stamped("Mon 2006-01-02 15:04:05 XST")(e, i)
		}),
		line("short-iso", stamped("2006-01-02T15:04:05-0700")),
		line("short-iso-precise", stamped("2006-01-02T15:04:05.000000-07:00")),
		line("short-unix", func(e entry, _ int) string {
			return fmt.Sprintf("%d.%06d node-1 %s: %s", e.at.Unix(), e.at.Nanosecond()/1000, e.tag(), e.msg)
		}),
		line("short-monotonic", func(e entry, _ int) string {
			return fmt.Sprintf("[%12.6f] node-1 %s: %s", e.boot().Seconds(), e.tag(), e.msg)
		}),
		line("short-delta", func(e entry, _ int) string {
			return fmt.Sprintf("[%12.6f <    0.000001 >] node-1 %s: %s", e.boot().Seconds(), e.tag(), e.msg)
		}),
		line("verbose", func(e entry, i int) string {
			return fmt.Sprintf("%s [s=1c3c;i=%x;b=e04a;m=446ad213;t=%x;x=dfaa]\n    _HOSTNAME=node-1\n    SYSLOG_IDENTIFIER=%s\n    _PID=%d\n    MESSAGE=%s",
				e.at.Format("Mon 2006-01-02 15:04:05.000000 XST"), i, e.at.UnixMicro(), e.unit, e.pid, e.msg)
		}),
		line("json", object("", "")), line("json-pretty", object("", "\t")), line("json-seq", object("\x1e", "")), line("json-sse", object("data: ", "")),
		line("json-bytes", func(e entry, _ int) string {
			f := e.fields()
			numbers := []int{}
			for _, c := range []byte("\x1b[0;1m" + e.msg + "\x1b[0m") {
				numbers = append(numbers, int(c))
			}
			f["MESSAGE"] = numbers
			out, _ := json.Marshal(f)
			return string(out)
		}),
		line("export", func(e entry, _ int) string {
			return fmt.Sprintf("__REALTIME_TIMESTAMP=%d\n_HOSTNAME=node-1\nSYSLOG_IDENTIFIER=%s\n_PID=%d\nMESSAGE=%s\n", e.at.UnixMicro(), e.unit, e.pid, e.msg)
		}),
		line("export-binary", func(e entry, _ int) string {
			return fmt.Sprintf("__REALTIME_TIMESTAMP=%d\n_HOSTNAME=node-1\nSYSLOG_IDENTIFIER=%s\n_PID=%d\nMESSAGE\n%s%s\n", e.at.UnixMicro(), e.unit, e.pid,
				binary.LittleEndian.AppendUint64(nil, uint64(len(e.msg))), e.msg)
		}),
		line("german", func(e entry, i int) string { return strings.Replace(short(e, i), "Nov", "nov.", 1) }),
		line("chinese", func(e entry, i int) string { return strings.Replace(short(e, i), "Nov", "11月", 1) }),
		line("rsyslog", stamped("Jan _2 15:04:05")),
		line("rsyslog-file", stamped("2006-01-02T15:04:05.000000-07:00")),
		line("rfc3164", func(e entry, i int) string { return "<30>" + stamped("Jan _2 15:04:05")(e, i) }),
		line("rfc5424", func(e entry, _ int) string {
			return fmt.Sprintf(`<30>1 %s node-1 %s %d - [x y="z"] %s`, e.at.Format("2006-01-02T15:04:05.000000-07:00"), e.unit, e.pid, e.msg)
		}),
		line("repeated", func(e entry, i int) string {
			if len(e.msg) > 800 || e.unit != "kubelet" {
				return short(e, i)
			}
			return e.at.Format("Jan _2 15:04:05") + " node-1 " + e.tag() + ": message repeated 2 times: [ " + e.msg + "]"
		}),
		line("colours", func(e entry, i int) string {
			return e.at.Format("Jan 02 15:04:05.000000") + " node-1 " + e.tag() + ": \x1b[0;1;31m\x1b[0;1;39m" + e.msg + "\x1b[0m"
		}),
		line("k3s", func(e entry, i int) string {
			if e.unit == "kubelet" {
				e.unit = "k3s"
			}
			return short(e, i)
		}),
		line("json-in-journal", func(e entry, i int) string {
			if len(e.msg) < 48<<10 && (e.unit == "kubelet" || e.unit == "containerd") && (klogTime.MatchString(e.msg) || logrusTime.MatchString(e.msg)) {
				e.msg = klogObject(e)
			}
			return short(e, i)
		}),
		units("cat", func(e entry) string { return e.msg }),
		units("kubectl-timestamps", func(e entry) string { return e.at.UTC().Format(time.RFC3339Nano) + " " + e.msg }),
		units("cri", func(e entry) string { return parts(e, 16<<10) }),
		units("cri-short-parts", func(e entry) string { return parts(e, 64) }),
		units("docker", func(e entry) string {
			var out []string
			for i := 0; i < len(e.msg); i += 16 << 10 {
				end := min(len(e.msg), i+16<<10)
				text := e.msg[i:end]
				if end == len(e.msg) {
					text += "\n"
				}
				row, _ := json.Marshal(map[string]string{"log": text, "stream": "stderr", "time": e.at.UTC().Format(time.RFC3339Nano)})
				// The driver's own order of the fields.
				out = append(out, `{"log":`+strings.SplitN(string(row), `"log":`, 2)[1])
			}
			return strings.Join(out, "\n")
		}),
		units("stern", func(e entry) string { return "\x1b[35mpod-x \x1b[0m\x1b[95m" + e.unit + " \x1b[0m" + e.msg }),
		units("talos", func(e entry) string { return "10.200.1.3: " + e.msg }),
		units("compose", func(e entry) string { return e.unit + "_1  | " + e.msg }),
		units("grep-n", func(e entry) string { return strconv.Itoa(e.at.Nanosecond()/1000+1) + ":" + e.msg }),
		units("json-logs", klogObject),
		units("slog", func(e entry) string {
			return logrusTime.ReplaceAllString(e.msg, "time="+e.at.Format("2006-01-02T15:04:05.000Z07:00"))
		}),
	}
	for _, recoded := range []struct {
		name string
		of   func(string) string
	}{
		{"crlf", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"bom", func(s string) string { return "\ufeff" + s }},
		{"utf16le", func(s string) string { return wide(binary.LittleEndian, "\ufeff"+strings.ReplaceAll(s, "\n", "\r\n")) }},
		{"utf16be", func(s string) string { return wide(binary.BigEndian, "\ufeff"+s) }},
		{"quoted", func(s string) string {
			return "> " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n> ") + "\n"
		}},
	} {
		all = append(all, form{"short-" + recoded.name, func(n node) map[string]string {
			return map[string]string{"node.log": recoded.of(line("", short).write(n)["node.log"])}
		}})
	}
	return all
}

var klogPair = regexp.MustCompile(`^ (\w+)=("(?:[^"\\]|\\.)*"|[^"\s]\S*)`)

// klogFields are the fields of a line of klog as its JSON has them.
func klogFields(caller, text string) map[string]any {
	f := map[string]any{"caller": caller, "msg": text}
	msg, err := strconv.QuotedPrefix(text)
	if err != nil {
		return f
	}
	f["msg"], _ = strconv.Unquote(msg)
	for text = text[len(msg):]; ; {
		m := klogPair.FindStringSubmatch(text)
		if m == nil {
			if key, cut, ok := strings.Cut(text, `="`); ok { // the end of the line is lost
				f[strings.TrimSpace(key)] = cut
			}
			return f
		}
		value, err := strconv.Unquote(m[2])
		if err != nil {
			value = m[2]
		}
		f[m[1]], text = value, text[len(m[0]):]
	}
}

// slogObject is a line of logrus as its JSON formatter writes it.
func slogObject(e entry) string {
	m := regexp.MustCompile(`^time="([^"]+)" level=(\w+) msg=("(?:[^"\\]|\\.)*")(.*)$`).FindStringSubmatch(e.msg)
	if m == nil {
		return e.msg
	}
	f := map[string]string{"time": m[1], "level": m[2]}
	f["msg"], _ = strconv.Unquote(m[3])
	for _, pair := range regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|\S+)`).FindAllStringSubmatch(m[4], -1) {
		value, err := strconv.Unquote(pair[2])
		if err != nil {
			value = pair[2]
		}
		f[pair[1]] = value
	}
	out, _ := json.Marshal(f)
	return string(out)
}

// parts writes an entry as the CRI does, cut every size bytes.
func parts(e entry, size int) string {
	var out []string
	for i := 0; i < len(e.msg); i += size {
		tag := "P"
		if i+size >= len(e.msg) {
			tag = "F"
		}
		out = append(out, e.at.Format("2006-01-02T15:04:05.000000000Z07:00")+" stderr "+tag+" "+e.msg[i:min(len(e.msg), i+size)])
	}
	return strings.Join(out, "\n")
}

func wide(order binary.AppendByteOrder, s string) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

// untar reads the files of a small archive.
func untar(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		var text bytes.Buffer
		_, err = io.Copy(&text, r)
		require.NoError(t, err)
		files[h.Name] = text.String()
	}
}

// answer is what must not depend on how the logs were written.
func answer(inc *incident.Incident) string {
	var out strings.Builder
	const layout = "2006-01-02T15:04:05.000"
	fmt.Fprintf(&out, "%s\n", inc.Result.Headline)
	for _, f := range inc.Result.Findings {
		fmt.Fprintf(&out, "%s %s %s %s\n", f.Rule, f.Verdict, f.Role, f.Container)
		for _, s := range f.Chain {
			end := s.End.Format(layout)
			if s.End.Sub(s.Start) < time.Millisecond { // some formats have no more digits
				end = "at once"
			}
			fmt.Fprintf(&out, "  %s %s – %s\n", s.ID, s.Start.Format(layout), end)
		}
	}
	for _, s := range inc.Timeline.Stalls {
		fmt.Fprintf(&out, "stall %s – %s %s not ready %s\n", s.Start.Format(layout), s.End.Format(layout), s.Phase, s.NotReady.Format(layout))
	}
	return out.String()
}

func TestOneIncidentInEveryFormat(t *testing.T) {
	east := time.FixedZone("", 8*3600)
	zones := map[string]*time.Location{"utc": time.UTC, "east": east, "west": time.FixedZone("", -3*3600-1800)}
	for _, tt := range []struct {
		name, dir string
		node      node
		from      *time.Location
	}{
		{"lab-umount2", "../../testdata/lab-umount2/bundle.tgz", labNode(t), time.UTC},
		{"seed-short-tasks", "../../testdata/seed-short-tasks/bundle", seedNode(t), east},
	} {
		want := answer(load(t, tt.dir))
		for zone, location := range zones {
			n := tt.node.in(location, tt.from)
			for i, f := range slices.Concat(forms(), aggregators(), tags()) {
				if passed(i) {
					continue
				}
				t.Run(tt.name+"/"+zone+"/"+f.name, func(t *testing.T) {
					t.Parallel()
					dir := filepath.Join(t.TempDir(), "node")
					require.NoError(t, os.Mkdir(dir, 0o755))
					for _, files := range []map[string]string{n.files, f.write(n)} {
						for name, text := range files {
							require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
						}
					}
					inc := load(t, dir)
					require.Equal(t, want, answer(inc))
					checkAccount(t, inc)
					if !strings.Contains(f.name, "utf16") { // whose lines are not the file's bytes
						checkEvidence(t, dir, inc)
					}
				})
			}
		}
	}
}

// TestWhatIsLost: a log of klog alone tells neither year nor zone. It is read as it stands, and
// says so.
func TestWhatIsLost(t *testing.T) {
	var log strings.Builder
	for _, e := range seedNode(t).entries {
		if e.unit == "kubelet" && !goTime.MatchString(e.msg) {
			log.WriteString(e.msg + "\n")
		}
	}
	file := filepath.Join(t.TempDir(), "kubelet.log")
	require.NoError(t, os.WriteFile(file, []byte(log.String()), 0o644))
	inc := load(t, file)
	require.Len(t, inc.Timeline.Stalls, 1)
	require.Equal(t, "2000-11-08 09:30:14", inc.Timeline.Stalls[0].Start.Format(time.DateTime), "the clock's face, in the year that stands for none")
	require.Len(t, inc.Timeline.Clocks, 1)
	require.Contains(t, inc.Timeline.Clocks[0].Basis, "zone not known")
	require.Contains(t, inc.Timeline.Clocks[0].Basis, "year not known")

	// The ring buffer without times of day: what happened is known, when is not.
	file = filepath.Join(t.TempDir(), "dmesg.txt")
	require.NoError(t, os.WriteFile(file, []byte("[42000.009100] INFO: task containerd:1422 blocked for more than 120 seconds.\n"), 0o644))
	inc = load(t, file)
	require.Equal(t, "dmesg", inc.Files[0].Format)
	require.NotEmpty(t, inc.Timeline.Events)
	require.True(t, inc.Timeline.Events[0].Start.IsZero())
}

package incident_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// carriedBundles are the tickets and the incidents of testdata, each as its files.
func carriedBundles(t *testing.T) (names []string, bundles map[string]map[string]string) {
	t.Helper()
	bundles = map[string]map[string]string{}
	for _, pattern := range []string{"../../testdata/tickets/*/bundle", "../../testdata/s*/bundle", "../../testdata/lab-healthy/bundle"} {
		dirs, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, dir := range dirs {
			files := map[string]string{}
			require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				name, _ := filepath.Rel(dir, path)
				files[name] = string(text)
				return err
			}))
			name := filepath.Base(filepath.Dir(dir))
			if name == "synthetic_strangers" {
				continue // of several hosts, and every form writes one
			}
			if strings.HasPrefix(name, "cmd-") || strings.HasPrefix(name, "shell-") {
				continue // what a terminal shows is no log that one of them brings
			}
			names = append(names, name)
			bundles[name] = files
		}
	}
	slices.Sort(names)
	return names, bundles
}

var (
	isoLine    = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*) (\S+) ([^\[: ]+)(?:\[(\d+)\])?: (.*)$`)
	uptimeLine = regexp.MustCompile(`^\[ *(\d+\.\d{6})\] (.*)$`)
	klogObject = regexp.MustCompile(`^\{"ts":(\d+)\.`)
)

// clockYear is what a clock says about the year of its file.
var clockYear = regexp.MustCompile(`year (\d{4})`)

// writerOf is who wrote the lines of a file that name nobody, as journald knows it: whom the file
// is named after, or else the daemon that is read from them.
func writerOf(name string, plain *incident.Incident) string {
	unit, _, _ := strings.Cut(filepath.Base(name), ".")
	if daemon.Writer(unit) != "" {
		return unit
	}
	for _, e := range plain.Timeline.Events {
		if read := daemon.Named(e.Component); read != "" && filepath.Base(e.Pos().File) == filepath.Base(name) {
			return read
		}
	}
	return unit
}

// logEntries takes a log apart, by the clock that it was read by and the writer of lines that name
// none; ok is false where the file is none.
func logEntries(text, unit string, clock timeline.Clock) (all []entry, ok bool) {
	year, zone, boot := "2025 ", time.UTC, time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	if m := clockYear.FindStringSubmatch(clock.Basis); m != nil && !strings.Contains(clock.Basis, "year not known") {
		year = m[1] + " "
	}
	if clock.Offset != 0 {
		zone = time.FixedZone("", int(clock.Offset.Seconds()))
	}
	if !clock.Boot.IsZero() {
		boot = clock.Boot
	}
	headed := false // by syslog: a line without is one that a terminal broke
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		var e entry
		var err error
		if m := syslogLine.FindStringSubmatch(line); m != nil {
			e.at, err = time.ParseInLocation("2006 Jan _2 15:04:05", year+m[1], zone)
			e.unit, e.msg, headed = m[3], m[5], true
			e.pid, _ = strconv.Atoi(m[4])
		} else if m := isoLine.FindStringSubmatch(line); m != nil {
			for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700"} {
				if e.at, err = time.Parse(layout, m[1]); err == nil {
					break
				}
			}
			e.unit, e.msg, headed = m[3], m[5], true
			e.pid, _ = strconv.Atoi(m[4])
		} else if m := klogTime.FindStringSubmatch(line); m != nil {
			e.at, err = time.ParseInLocation("2006 0102 15:04:05.000000", year+m[2], zone)
			e.unit, e.msg = unit, line
		} else if m := logrusTime.FindStringSubmatch(line); m != nil {
			e.at, err = time.Parse(time.RFC3339Nano, m[1])
			e.unit, e.msg = unit, line
		} else if m := klogObject.FindStringSubmatch(line); m != nil {
			ms, _ := strconv.ParseInt(m[1], 10, 64)
			e.at, e.unit, e.msg = time.UnixMilli(ms).In(zone), unit, line
		} else if m := uptimeLine.FindStringSubmatch(line); m != nil {
			up, _ := strconv.ParseFloat(m[1], 64)
			e.at, e.unit, e.msg = boot.In(zone).Add(time.Duration(up*1e6)*time.Microsecond), "kernel", m[2]
		} else if len(all) > 0 && !headed { // journald makes an entry of each line of a message
			e = all[len(all)-1]
			e.msg = line
		} else {
			return nil, false
		}
		if err != nil {
			return nil, false
		}
		e.useInnerStamp()
		if e.pid == 0 && e.unit != "kernel" { // journald knows it of every other writer
			e.pid = 1893
			if e.unit == "systemd" {
				e.pid = 1
			}
		}
		all = append(all, e)
	}
	return all, len(all) > 0
}

// useInnerStamp takes the time of the writer, which is finer than the carrier's and may have what
// the carrier's lacks.
func (e *entry) useInnerStamp() {
	inner := e.at
	if m := klogTime.FindStringSubmatch(e.msg); m != nil {
		inner, _ = time.ParseInLocation("2006 0102 15:04:05.000000", e.at.Format("2006 ")+m[2], e.at.Location())
	} else if m := logrusTime.FindStringSubmatch(e.msg); m != nil {
		inner, _ = time.Parse(time.RFC3339Nano, m[1])
	}
	if inner.Format("0102 15:04:05") == e.at.Format("0102 15:04:05") {
		e.at = inner
	}
	if m := uptimeLine.FindStringSubmatch(e.msg); m != nil && e.unit == "kernel" {
		e.msg = m[2] // only files of syslog keep it
	}
}

// logNode is a bundle with its logs taken apart; its other files stand beside them.
func logNode(files map[string]string, plain *incident.Incident) (n node, ok bool) {
	n.files = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var clock timeline.Clock
		for _, c := range plain.Timeline.Clocks {
			if clock.File == "" || filepath.Base(c.File) == filepath.Base(name) {
				clock = c
			}
		}
		all, isLog := logEntries(files[name], writerOf(name, plain), clock)
		first, _, _ := strings.Cut(files[name], "\n")
		// at no time of the other files
		sinceBoot := isLog && uptimeLine.MatchString(first) && clock.Boot.IsZero() && len(files) > 1
		if !isLog || sinceBoot {
			n.files[name] = files[name]
			continue
		}
		n.entries = append(n.entries, all...)
	}
	slices.SortStableFunc(n.entries, func(a, b entry) int { return a.at.Compare(b.at) })
	for i := range n.entries {
		if i > 0 && !n.entries[i].at.After(n.entries[i-1].at) {
			n.entries[i].at = n.entries[i-1].at.Add(time.Microsecond).Truncate(time.Microsecond) // as fine as journald's
		}
	}
	return n, len(n.entries) > 0
}

// shown is what a report says of a bundle.
type shown struct {
	findings []string // rule, verdict, role, container, and the steps of the chain
	times    []time.Time
	kinds    map[string]int
}

func shownOf(inc *incident.Incident) (s shown) {
	s.findings = append(s.findings, "state "+inc.Result.Opening.State.String())
	for _, f := range inc.Result.Findings {
		var said strings.Builder
		said.WriteString(fmt.Sprintf("%s %s %s %s", f.Rule, f.Verdict, f.Role, f.Container))
		for _, step := range f.Chain {
			said.WriteString(" " + step.ID)
			s.times = append(s.times, step.Start, step.End)
		}
		s.findings = append(s.findings, said.String())
	}
	for _, x := range inc.Timeline.Stalls {
		s.findings = append(s.findings, "stall "+string(x.Phase))
		s.times = append(s.times, x.Start, x.End, x.NotReady)
	}
	s.kinds = kindsOf(inc)
	return s
}

// lost is what a carrier cannot carry.
type lost uint8

const (
	nothing lost = iota
	// fractions of seconds, or pids: which of two lines of one second was first, and which process
	// wrote one, is not known. Times differ by a second, intervals may have no end, and what two
	// programs say of one thing may be two events.
	fractions
	// dates: lines without a stamp of their own have no time, and what has no time is no part of a
	// stall or a chain.
	dates
	// sections carry more: the processes below systemctl status are a listing of their own, and are
	// not read where the status is a file.
	sections
	// addresses: a lock is known by its own, so that who holds it, and for whom others wait, is not
	// known.
	addresses
	// paths of sources: where the frames are of a library alone, they show whose dump it is, and so
	// which step of a rule it is.
	sources
	// names of writers of lines that no word of their own gives away: what is normal, and starts, are
	// nobody's.
	writerNames
)

// differences are what want shows and got does not, and the other way around.
func differences(want, got shown, without lost) (all []string) {
	a, b := want.findings, got.findings
	switch without {
	case addresses:
	case dates, sources:
		all = append(missingRules(a, b), missingRules(b, a)...)
	default:
		if !slices.Equal(a, b) {
			return []string{fmt.Sprintf("%q is %q", a, b)}
		}
	}
	if without != dates && without != addresses {
		all = append(all, timeDifferences(want.times, got.times, without)...)
	}
	return append(all, kindDifferences(want.kinds, got.kinds, without)...)
}

// missingRules are the rules that want names and got does not even call possible. What want alone
// calls possible does not count, nor does the fallback, which is named where there is a stall.
func missingRules(want, got []string) (all []string) {
	for _, finding := range want[1:] {
		rule, _, _ := strings.Cut(finding, " ")
		known := func(other string) bool { return strings.HasPrefix(other, rule+" ") }
		if rule != "stall" && rule != "runtime-latency" && !strings.Contains(finding, " possible ") && !slices.ContainsFunc(got, known) {
			all = append(all, finding)
		}
	}
	return all
}

// timeDifferences leaves the year out, which many carriers lack.
func timeDifferences(want, got []time.Time, without lost) (all []string) {
	tolerance := time.Duration(0)
	if without == fractions {
		tolerance = 1100 * time.Millisecond
	}
	inLeapYear := func(t time.Time) time.Time {
		return time.Date(2024, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	for i := range want {
		if without == fractions && (want[i].IsZero() || got[i].IsZero()) {
			continue
		}
		if d := inLeapYear(want[i]).Sub(inLeapYear(got[i])).Abs(); d > tolerance || want[i].IsZero() != got[i].IsZero() {
			all = append(all, fmt.Sprintf("%s is %s", want[i], got[i]))
		}
	}
	return all
}

func kindDifferences(want, got map[string]int, without lost) (all []string) {
	if without != nothing {
		want, got = mergeComponents(want), mergeComponents(got)
	}
	for _, kind := range slices.Sorted(maps.Keys(want)) {
		switch {
		case without == dates && slices.Contains([]string{"kubelet.stall", "daemon.restart", "fact"}, kind):
		case without == addresses && strings.HasPrefix(kind, "lock."):
		case without == writerNames && slices.Contains([]string{"noise", "kubelet.start"}, kind):
		case without == nothing && got[kind] != want[kind], got[kind] == 0:
			all = append(all, fmt.Sprintf("%s: %d, now %d", kind, want[kind], got[kind]))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(got)) {
		if want[kind] == 0 && without != addresses && !(without == sections && kind == "process") {
			all = append(all, fmt.Sprintf("%s: 0, now %d", kind, got[kind]))
		}
	}
	return all
}

// textCarrier changes the text of a file, as a paste does. It returns a text as it is that it
// cannot carry.
type textCarrier struct {
	name string
	of   func(name, text string) string
}

var (
	goroutineHead = regexp.MustCompile(`^goroutine \d+ .*\[`)
	stackFrame    = regexp.MustCompile(`(?m)^\s*\[<[0-9a-f]+>\] `)
	frameArgs     = regexp.MustCompile(`(?m)\((?:0x|\{0x)[^()]*\)$`)
	framePath     = regexp.MustCompile(`(?m)^\s+/\S*/([^/\s]+\.go:\d+)`)
	frameOffset   = regexp.MustCompile(`(?m) \+0x[0-9a-f]+$`)
	lineStart     = regexp.MustCompile(`(?m)^[ \t]+`)
)

// stackCarriers are what people do to goroutine dumps and kernel stacks. At and node are those of
// the journal that has a dump: no log may say that it was written at another time, or on another
// node.
func stackCarriers(at time.Time, node string) []textCarrier {
	dump := func(name string, change func(name, text string) string) textCarrier {
		return textCarrier{"dump-" + name, func(file, text string) string {
			if !goroutineHead.MatchString(text) {
				return text
			}
			return change(file, text)
		}}
	}
	replace := func(of *regexp.Regexp, with string) func(name, text string) string {
		return func(_, text string) string { return of.ReplaceAllString(text, with) }
	}
	return []textCarrier{
		dump("indentation lost", replace(lineStart, "")),
		dump("blanks for tabs", replace(lineStart, "    ")),
		dump("arguments elided", replace(frameArgs, "(...)")),
		dump("paths elided", replace(framePath, "\t.../$1")),
		dump("offsets lost", replace(frameOffset, "")),
		dump("in a journal", func(name, text string) string {
			unit, _, _ := strings.Cut(name, "-")
			unit, _, _ = strings.Cut(unit, ".")
			return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(text, at.Format(time.Stamp)+" "+node+" "+unit+"[43]: $1")
		}),
		{"stack-indentation lost", func(_, text string) string {
			return stackFrame.ReplaceAllStringFunc(text, func(head string) string { return strings.TrimLeft(head, " \t") })
		}},
		{"stack-addresses lost", func(_, text string) string { return stackFrame.ReplaceAllString(text, "[<0>] ") }},
	}
}

// textCarriers are pages, mails, chats and terminals.
func textCarriers() []textCarrier {
	each := func(change func(line string) string) func(name, text string) string {
		return func(_, text string) string {
			var out strings.Builder
			for line := range strings.Lines(text) {
				out.WriteString(change(strings.TrimSuffix(line, "\n")) + "\n")
			}
			return out.String()
		}
	}
	return []textCarrier{
		{"crlf", func(_, s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"bom", func(_, s string) string { return "\ufeff" + s }},
		{"utf16le", func(_, s string) string {
			return wide(binary.LittleEndian, "\ufeff"+strings.ReplaceAll(s, "\n", "\r\n"))
		}},
		{"utf16be", func(_, s string) string { return wide(binary.BigEndian, "\ufeff"+s) }},
		{"quoted", each(func(line string) string { return "> " + line })},
		{"quoted-twice", each(func(line string) string { return "> > " + line })},
		{"quoted-twice-tight", each(func(line string) string { return ">> " + line })},
		{"indented", each(func(line string) string { return "    " + line })},
		{"indented-tab", each(func(line string) string { return "\t" + line })},
		{"ticked", func(name, s string) string {
			if strings.Contains(s, "`") {
				return s
			}
			return each(func(line string) string { return "`" + line + "`" })(name, s)
		}},
		{"listed", each(func(line string) string { return "* " + line })},
		{"fenced", func(_, s string) string { return "```\n" + s + "```\n" }},
		{"fenced-words", func(_, s string) string {
			return "Hello,\n\nthis is what we see on the node:\n\n```console\n" + s + "```\n\nWhat can it be?\nThank you\n"
		}},
		{"fenced-in-list", func(_, s string) string {
			if strings.Contains(s, "```") {
				return s
			}
			return "1. Look at the node:\n\n   ```\n   " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n   ") + "\n   ```\n\n2. Then we restarted it.\n"
		}},
		{"tilde-fenced", func(_, s string) string { return "~~~\n" + s + "~~~\n" }},
		{"quoted-fenced", func(_, s string) string {
			return "> We see:\n> ```\n> " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n> ") + "\n> ```\n\nCan you show more?\n"
		}},
		{"html-escaped", func(_, s string) string { return html.EscapeString(s) }},
		{"html-amp", func(_, s string) string {
			return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
		}},
		{"html-pre", func(_, s string) string { return "<pre><code>" + html.EscapeString(s) + "</code></pre>\n" }},
		{"details", func(_, s string) string {
			return "<details>\n<summary>log</summary>\n\n```\n" + s + "```\n</details>\n"
		}},
		{"jira-noformat", func(_, s string) string { return "We see this:\n{noformat}\n" + s + "{noformat}\nPlease help.\n" }},
		{"nbsp", func(_, s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }},
		{"nbsp-second", func(_, s string) string { return strings.ReplaceAll(s, "  ", " \u00a0") }},
		{"trailing-blanks", each(func(line string) string { return line + "   " })},
		{"blank-lines", each(func(line string) string { return line + "\n" })},
		{"tabs-expanded", func(_, s string) string { return strings.ReplaceAll(s, "\t", "        ") }},
		{"cat-prompt", func(name, s string) string { return "[root@node-1 ~]# cat " + name + "\n" + s + "[root@node-1 ~]# \n" }},
		{"cat-path", func(name, s string) string {
			return "root@node-1:/var/log# hostname\nnode-1\nroot@node-1:/var/log# cat " + name + "\n" + s + "root@node-1:/var/log# exit\n"
		}},
		{"cat-dollar", func(name, s string) string { return "$ cat " + name + "\n" + s + "$ \n" }},
		{"typescript", func(name, s string) string {
			return "Script started on 2025-11-08 09:30:00+00:00 [TERM=\"xterm\"]\r\n\x1b]0;root@node-1: ~\x07[root@node-1 ~]# cat " + name + "\r\n" + strings.ReplaceAll(s, "\n", "\r\n") + "\x1b]0;root@node-1: ~\x07[root@node-1 ~]# exit\r\n\nScript done on 2025-11-08 09:31:00+00:00\n"
		}},
		{"cat-n", func(name, s string) string {
			n := 0
			return each(func(line string) string { n++; return fmt.Sprintf("%6d\t%s", n, line) })(name, s)
		}},
		{"grep-H", func(name, s string) string {
			return each(func(line string) string { return name + ":" + line })(name, s)
		}},
		{"colours", each(func(line string) string { return "\x1b[0;1;31m" + line + "\x1b[0m" })},
		{"no-last-newline", func(_, s string) string { return strings.TrimRight(s, "\n") }},
		{"smart-quotes", func(_, s string) string {
			open := false
			return strings.Map(func(r rune) rune {
				if r != '"' {
					return r
				}
				open = !open
				if open {
					return '“'
				}
				return '”'
			}, s)
		}},
	}
}

// lossy are the forms that lose something. All others carry what journald knows of a line.
var lossy = map[string]lost{
	"short": fractions, "short-full": fractions, "with-unit": fractions, "short-iso": fractions, "german": fractions, "chinese": fractions,
	"rsyslog": fractions, "rfc3164": fractions, "k3s": fractions, "json-in-journal": fractions,
	"short-crlf": fractions, "short-bom": fractions, "short-utf16le": fractions, "short-utf16be": fractions, "short-quoted": fractions,
	// of one writer: its lines without a stamp
	"cat": fractions, "stern": fractions, "talos": fractions, "compose": fractions, "grep-n": fractions, "slog": fractions,
	// entries in milliseconds, or without the zeros at the end of a fraction, so that it looks like
	// less
	"json-logs": fractions, "cloud-logging": fractions, "cloud-logging-lines": fractions,
	"cloudwatch": fractions, "cloudwatch-insights": fractions, "splunk": fractions,
	// no pid
	"loki": fractions, "loki-pretty": fractions, "grafana": fractions, "logcli": fractions, "logcli-jsonl": fractions,
	"elasticsearch-fields": fractions, "datadog": fractions, "fluent-bit-2.1": fractions,
	"fenced": sections, "fenced-words": sections, "fenced-in-list": sections, "tilde-fenced": sections, "quoted-fenced": sections, "details": sections,
	"jira-noformat": sections, "cat-prompt": sections, "cat-path": sections, "cat-dollar": sections, "typescript": sections,
	// a message that a terminal broke is not joined over blank lines, and its stamp may be in a later
	// one
	"blank-lines":           dates,
	"dump-in a journal":     dates, // which gives a dump a date that is not the incident's
	"dump-arguments elided": addresses,
	"dump-paths elided":     sources,
	"short-monotonic":       dates, "short-delta": dates,
	"tag-docker": writerNames, "tag-env": writerNames, "tag-start-node.sh": writerNames,
}

// carriesAll says that a form holds all that was written: some hold the logs of two programs.
func carriesAll(f form, n node) bool {
	if len(f.write(node{entries: []entry{{unit: "kernel", msg: "x"}}})) > 0 {
		return true
	}
	return !slices.ContainsFunc(n.entries, func(e entry) bool { return e.unit != "kubelet" && e.unit != "containerd" })
}

// everyCarrier says that all pairs are compared, which takes minutes; else each bundle comes in
// some carriers, and each carrier brings some bundles.
var everyCarrier = os.Getenv("PLEGDIAG_ALL_CARRIERS") != ""

// rotation is how many of the pairs are left out for one that is compared.
const rotation = 17

// TestEveryBundleInEveryCarrier: tickets and incidents show the same in every carrier that can hold
// them. What a carrier loses is said once, in lossy; there are no exceptions for a ticket.
func TestEveryBundleInEveryCarrier(t *testing.T) {
	pasted := len(textCarriers()) + len(stackCarriers(time.Time{}, ""))
	// a repeated line is an event with a number
	written := slices.DeleteFunc(slices.Concat(forms(), aggregators(), tags()), func(f form) bool { return f.name == "repeated" })
	names, bundles := carriedBundles(t)
	for i, name := range names {
		if passed(i) {
			continue
		}
		taken := func(j int) bool { return everyCarrier || (i+j)%rotation == 0 }
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := bundles[name]
			plain := loadFiles(t, files)
			want := shownOf(plain)
			for j, c := range slices.Concat(textCarriers(), stackCarriers(findLastMoment(plain), cmp.Or(plain.Node, "node-1"))) {
				if !taken(j) {
					continue
				}
				changed := map[string]string{}
				for file, text := range files {
					changed[file] = c.of(file, text)
				}
				if maps.Equal(changed, files) {
					continue
				}
				require.Empty(t, differences(want, shownOf(loadFiles(t, changed)), lossy[c.name]), c.name)
			}
			n, ok := logNode(files, plain)
			if !ok {
				return
			}
			carried := func(f form) shown { return shownOf(loadFiles(t, f.write(n), n.files)) }
			journal := carried(line("journal", stamped("2006-01-02T15:04:05.000000-07:00")))
			require.Empty(t, differences(want, journal, fractions), "journal")
			for j, f := range written {
				if taken(pasted+j) && carriesAll(f, n) {
					require.Empty(t, differences(journal, carried(f), lossy[f.name]), f.name)
				}
			}
		})
	}
}

// findLastMoment is the time of the last event that has a whole one; a day of November where none
// has.
func findLastMoment(inc *incident.Incident) time.Time {
	last := time.Date(2025, 11, 8, 9, 30, 11, 0, time.UTC)
	known := false
	for _, e := range inc.Timeline.Events {
		if e.Start.Known && e.Start.Lacks == 0 && (!known || e.Start.T.After(last)) {
			last, known = e.Start.T, true
		}
	}
	return last
}

// dirs are the directories of tests, by their names: to make one for each carrier takes a sixth of
// their time.
var dirs sync.Map

// emptyDir is the directory of a test, without what its last carrier left there.
func emptyDir(t *testing.T) string {
	t.Helper()
	made, ok := dirs.Load(t.Name())
	if !ok {
		made = filepath.Join(t.TempDir(), "node")
		require.NoError(t, os.Mkdir(made.(string), 0o755))
		dirs.Store(t.Name(), made)
	}
	dir := made.(string)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range left {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, f.Name())))
	}
	return dir
}

// loadFiles reads files as those of a node, and holds the laws of the account.
func loadFiles(t *testing.T, all ...map[string]string) *incident.Incident {
	t.Helper()
	dir := emptyDir(t)
	for _, files := range all {
		for name, text := range files {
			path := filepath.Join(dir, name)
			if strings.Contains(name, "/") {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			}
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	inc := loadReferences(t, dir)
	checkAccount(t, inc)
	return inc
}

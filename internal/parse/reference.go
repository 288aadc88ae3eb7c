package parse

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// Reference is a kind of file that names what programs can do or print, and shows nothing that
// happened: a list of the kernel's functions, a manual, source code. Its lines can look like those
// of a log or a stack, and none of them is evidence.
type Reference struct {
	Name string // the format in the account of a file
	What string // in words, as "a list of kernel symbols"

	// isNamed knows the kind by the path of a file; a file whose lines are mostly those of a log is
	// a log whatever its name.
	isNamed func(file string) bool
	// isContent knows it by the first bytes, of a file that is neither a log nor prose.
	isContent func(head *lines.Head) bool
}

func (Reference) reader() {}

func (r *Reference) format() Format { return Format{Name: r.Name, Reader: *r} }

// Prose is the name of the format of sentences that may quote log lines.
const Prose = "prose"

// References is the table of files that are no evidence. The first match wins.
var References = []Reference{
	{"symbols", "a list of symbols or events that can be traced", isSymbolFile, isSymbolList},
	{"history", "a history of commands", isHistoryFile, isHistory},
	{"rules", "rules or patterns that a program looks for", isRuleFile, isRules},
	{"source", "source code or a script", isSourceFile, isSource},
	documentation,
}

var documentation = Reference{"documentation", "documentation", isManualFile, isManual}

// prose is the format of an incident's description, a page, a chat: its sentences quote and retell.
// Of it only lines that carry the header of a log are evidence.
var prose = Format{Name: Prose, Reader: Records(logs.ReadStamped)}

// ReadQuotes reads all lines of prose, also those that carry no header of a log.
var ReadQuotes = Records(logs.ReadLines)

// setReferenceAside makes a Reference, or prose, of a file that is one.
func (o *Opened) setReferenceAside(file string) {
	for i := range References {
		if r := &References[i]; r.isNamed(file) && !isMostlyLog(o.Head) && !isNotes(file, o.Head) {
			o.Format = r.format()
			return
		}
	}
	if mayBePasted(o.Format) && isPatch(o.Head) {
		o.Format = documentation.format()
		return
	}
	_, sections := o.Reader.(Transcript)
	if !mayQuote(o.Format) && !sections {
		return
	}
	if advises(o.Head) && !isMostlyLog(o.Head) {
		o.Format = documentation.format()
		return
	}
	t := countText(o.Head)
	if t.isProse() && !dataFiles.has(file) {
		switch {
		case explains(o.Head, &t):
			o.Format = documentation.format()
		case o.Name == Text:
			o.Format = prose
		}
		return
	}
	if sections { // a session has commands, and a ticket anything
		return
	}
	for i := range References {
		if r := &References[i]; r.isContent(o.Head) {
			o.Format = r.format()
			return
		}
	}
}

// dataFiles are files whose sentences are values.
var dataFiles = newFileNames("*.yaml", "*.yml", "*.json", "*.toml")

// mayQuote says that lines of a format can be those of a page or of code that looks like it. The
// other formats prove themselves line by line.
func mayQuote(f Format) bool {
	switch f.Name {
	case Text, "json", "yaml", "goroutines", "table", "properties", "outline", "toml", "packages", "values", "mounts":
		return true
	}
	return false
}

// isMostlyLog says that half of the lines have the header of a log.
func isMostlyLog(head *lines.Head) bool {
	stamped, marks := 0, logs.Marks(head)
	for n, line := range head.Lines {
		if marks[n]&uint8(logs.Headed) != 0 || IsJSONLog(line) {
			stamped++
		}
	}
	return stamped > 0 && stamped*2 >= len(head.Lines)
}

// IsJSONLog says that a line is an entry of a log that is written as JSON.
func IsJSONLog(line []byte) bool {
	return logs.IsJournalJSON(line) || line[0] == '{' && (logs.IsKlog(line) || logs.IsLogrus(line) || logs.IsContainer(line))
}

// --- symbols

// symbolFiles are the names of the kernel's and of tracers' own lists, and of boot's.
var symbolFiles = newFileNames(
	"available_filter_functions*", "available_events", "available_filter_functions_addrs", "set_ftrace_filter", "enabled_functions", "touched_functions",
	"kallsyms*", "System.map*", "Module.symvers*", "modules.symbols*", "modules.alias*", "modules.builtin*", "symvers*",
)

func isSymbolFile(file string) bool { return symbolFiles.has(file) }

var (
	symbolName    = `[A-Za-z_][\w.$]*`
	addressedLine = regexp.MustCompile(`^(0x)?[0-9a-fA-F]{8,16} ([A-Za-z] )?` + symbolName + `(\t\[\w+\])?$`)
	probeLine     = regexp.MustCompile(`^(kprobe|kretprobe|kfunc|kretfunc|fentry|fexit|tracepoint|rawtracepoint|uprobe|uretprobe|usdt|hardware|software|profile|interval|iter|self|BEGIN|END)(:\S*)?( .*)?$`)
	perfLine      = regexp.MustCompile(`^ .*\[(Tracepoint event|Kernel PMU event|Hardware event|Software event|Hardware cache event|Raw (hardware )?event descriptor|Hardware breakpoint|Raw event descriptor|SDT event|Tool event)[^\]]*\]$`)
	bareLine      = regexp.MustCompile(`^(` + symbolName + `)( \[\w+\])?$`)
	// sleepOrEntry are functions that one end of every stack has: those in which a thread enters
	// the kernel, and those in which it sleeps.
	sleepOrEntry = regexp.MustCompile(`^(__)?(entry_|do_syscall_|system_call|sysenter|ret_from_|kthread|worker_thread|el0|invoke_syscall|ret_fast_syscall|(io_)?schedule|msleep|SyS_|sys_|(__)?x64_sys_|__arm64_sys_|start_kernel|cpu_startup_entry)`)
)

// fewestSymbols is how many lines a list has at least: a stack of as many functions is rare, and
// has both its ends.
const fewestSymbols, longestStack = 8, 64

// isSymbolList knows kallsyms and System.map, available_filter_functions, bpftrace -l and perf
// list, also what grep took out of them. Names alone are a list where they are more than any stack
// has, or where no thread can have this stack: it begins nowhere.
func isSymbolList(head *lines.Head) bool {
	if len(head.Lines) < fewestSymbols {
		return false
	}
	all, known, bare, named := 0, 0, 0, 0
	ends := false
	for _, line := range head.Lines {
		if isOther := all - known - bare; isOther > 4 && isOther*4 > all {
			return false
		}
		all++
		switch {
		case isBareSymbol(line):
			bare++
			ends = ends || sleepOrEntry.Match(line)
			if bytes.IndexByte(line, '_') > 0 {
				named++
			}
		case isKnownSymbol(line):
			known++
		}
	}
	switch {
	case all < fewestSymbols:
		return false
	case known*10 >= all*9:
		return true
	}
	return bare*10 >= all*9 && named*2 >= bare && (!ends || all > longestStack)
}

// isBareSymbol says that a line is a name and perhaps its module.
func isBareSymbol(line []byte) bool {
	blanks := bytes.Count(line, []byte{' '})
	return (blanks == 0 || blanks == 1 && line[len(line)-1] == ']') && bareLine.Match(line)
}

// isKnownSymbol says that a line has an address before the name, or says what can be traced. Most
// lines begin with another letter.
func isKnownSymbol(line []byte) bool {
	beginsWith := func(any string) bool { return strings.IndexByte(any, line[0]) >= 0 }
	return beginsWith("0123456789abcdefABCDEF") && addressedLine.Match(line) ||
		beginsWith("kftruhspiBE") && probeLine.Match(line) || beginsWith(" ") && perfLine.Match(line)
}

// --- histories

var historyFiles = newFileNames(".*_history*", "*bash_history*", "*zsh_history*", "*shell_history*", "history", "history.txt", ".history", "fish_history", ".lesshst", ".viminfo", ".python_history")

func isHistoryFile(file string) bool { return historyFiles.has(file) }

// commands are what an administrator of a node types: a line of a history begins with one.
var commands = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`
		alias apt apt-cache apt-get awk bash bpftrace cat cd chmod chown clear containerd cp crictl ctr curl cut date df dig dmesg dnf docker du
		echo ethtool exit export find free fuser gdb git go grep head helm history hostname hostnamectl htop ifconfig iostat ip iptables journalctl
		jq kill killall kubeadm kubectl kubelet less ln loginctl ls lsblk lsmod lsns lsof make man mkdir more mount mv nano nc nerdctl netstat nsenter
		openssl perf pgrep ping pkill plegdiag podman ps pstree pwd python python3 reboot rm rpm rsync runc scp sed service sh sleep sort ss ssh
		stat strace sudo su sync sysctl systemctl tail tar tcpdump tee telnet time top touch tree umount uname unzip uptime vi vim vmstat watch wc
		wget which while for if xargs yum zcat zgrep busctl gcore dlv go-torch sar mpstat pidstat`) {
		m[name] = true
	}
	return m
}()

// historyNumber is what history puts before a command: its number, and its time where
// HISTTIMEFORMAT says so; zsh's extended history has a stamp of its own.
var historyNumber = regexp.MustCompile(`^(\s*\d+\*? +(\[?\d{2,4}[-/]\d{2}[-/]\d{2,4}[ T]\d{2}:\d{2}(:\d{2})?\]? +)?|: \d{9,}:\d+;)`)

// historyStamp is the line that bash puts before a command with HISTTIMEFORMAT.
var historyStamp = regexp.MustCompile(`^#\d{9,11}$`)

// isHistory knows lines that are all commands: of a session there would be answers between them.
func isHistory(head *lines.Head) bool {
	all, known := 0, 0
	for _, line := range head.Lines {
		if line[0] == '#' && historyStamp.Match(line) {
			continue
		}
		if all > 16 && known*2 < all {
			return false
		}
		all++
		if c := line[0]; c <= ' ' || c == ':' || lines.IsDigit(c) {
			line = line[len(historyNumber.Find(line)):]
		}
		word, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte{' '})
		if commands[string(word)] {
			known++
		}
	}
	return all >= 5 && known*10 >= all*7
}

// --- rules

var ruleFiles = newFileNames("*.rules", "*.grok", "*.sigma.yml", "*.sigma.yaml", "*.rego")

func isRuleFile(file string) bool { return ruleFiles.has(file) }

// ruleMarks are signs of which a file of rules has all: keys of plegdiag's rules, of Prometheus and
// Loki, sigma, falco, the node problem detector, hotsos, Ansible. The literal is what is looked for
// first.
var ruleMarks = []struct {
	literal string
	all     func() []*regexp.Regexp
}{
	{"title: ", compile(`(?m)^id: `, `(?m)^(conditions|steps|events|match|chain|minimum|tells):`)},
	{"match: {", compile(`(?m)^\s*(- )?\{?(- )?id: `, `kind: [a-z]+\.[a-z-]+`)},
	{"expr", compile(`(?m)^[\s"-]*(alert|record)"?: `, `(?m)^[\s"-]*expr"?: `)},
	{"annotations:", compile(`(?m)^\s*- alert: `, `(?m)^\s*annotations:`)}, // a piece of the same
	{"logsource:", compile(`(?m)^detection:`, `(?m)^logsource:`)},
	{"conclusions:", compile(`(?m)^checks:`, `(?m)^conclusions:`, `(?m)^\s+(raises|decision):`)},
	{"tasks:", compile(`(?m)^- hosts: `, `(?m)^\s+(- )?tasks:`)},
	{"- rule: ", compile(`(?m)^\s*- rule: `, `(?m)^\s+condition: `)},
	{`"pattern"`, compile(`"rules"\s*:`, `"pattern"\s*:`, `"(plugin|source|logPath|bufferSize)"\s*:`)},
}

// compile is the expressions of some patterns, compiled when a file first asks for them: no start
// of the program needs them all.
func compile(patterns ...string) func() []*regexp.Regexp {
	return sync.OnceValue(func() (all []*regexp.Regexp) {
		for _, p := range patterns {
			all = append(all, regexp.MustCompile(p))
		}
		return all
	})
}

func hasAll(head *lines.Head, literal string, all func() []*regexp.Regexp) bool {
	return head.Holds(literal) &&
		!slices.ContainsFunc(all(), func(r *regexp.Regexp) bool { return !r.Match(head.Text) })
}

// patternTexts are what regular expressions have and messages have not.
var patternTexts = []string{
	"%s", "%d", "%v", "%q", "%ld", "%lu", // of printf, as strings finds them in a program
	".*", ".+", `\d`, `\w`, `\s`, `\S`, `\.`, `\[`, `\(`, `\{`, `\|`, "[^", "(?:", "(?P<", "(?i)", "[0-9]", "[a-z", "[A-Z", "%{",
}

var patternParts = lines.NewLiterals(patternTexts)

// patternKey starts a line that gives a program a pattern.
var patternKey = regexp.MustCompile(`(?i)^[\s"-]*(pattern|regex|regexp|regex_?pattern|match|grok|expression|query)"?\s*[:=]`)

// queryLine asks for a text: in LogQL, by grep in a script, in a filter of rsyslog or fluent-bit.
var queryLine = regexp.MustCompile(`\|[=~] ?["` + "`" + `]|\be?grep (-\w+ )*['"]|:msg, *!?(contains|regex|startswith|isequal|ereregex)|(?i)^[\s-]*(search|regex|exclude|pattern|match|query|expr)"?(\s*[:=]|\s+\S)`)

// queryTexts are what a queryLine holds, cheap to look for.
var queryTexts = []string{"|= ", "|~ ", "grep ", ":msg,", "earch", "egex", "xclude", "attern", "atch", "uery", "xpr"}

var mayQuery = lines.NewLiterals(queryTexts)

// promptLine is one that somebody typed in a session, with the command.
var promptLine = regexp.MustCompile(`^\s*(?:\[?[\w.-]+@[\w.-]+[^#$]{0,60})?[#$] (\S+)`)

func isTyped(line []byte) bool {
	if bytes.IndexByte(line, '#') < 0 && bytes.IndexByte(line, '$') < 0 {
		return false
	}
	typed := promptLine.FindSubmatch(line)
	return typed != nil && commands[string(typed[1])] // a comment begins with # too
}

// isRootPrompt says that a line that begins as a heading does is what root typed: the name of a
// command, and an option or a path.
//
//	# mkdir /sys/fs/cgroup/memory/kubepods/burstable/podeb6abc31
func isRootPrompt(line []byte) bool {
	typed, ok := bytes.CutPrefix(line, []byte("# "))
	if !ok {
		return false
	}
	word, rest, _ := bytes.Cut(typed, []byte{' '})
	if !commands[string(word)] {
		return false
	}
	return lines.StartsWith(rest, "-", "/") || isKnownCommand(string(typed))
}

// isRules knows a file by the words of its language, and a list of regular expressions, formats or
// queries by them.
// What an API server says of its objects, in which programs may have their rules, is read.
func isRules(head *lines.Head) bool {
	for _, mark := range ruleMarks {
		if !hasAll(head, mark.literal, mark.all) {
			continue
		}
		return !head.Holds("apiVersion") || head.Holds("PrometheusRule")
	}
	if !head.MayHold(queryTexts...) && !head.MayHold(patternTexts...) { // as most files
		return false
	}
	all, patterns, keyed, queries := 0, 0, 0, 0
	for _, line := range head.Lines {
		if isTyped(line) {
			return false // what follows is an answer
		}
		if line[0] == '#' {
			continue
		}
		all++
		if mayQuery.Match(line) && queryLine.Match(line) {
			queries++
		}
		if patternParts.Match(line) {
			patterns++
			if patternKey.Match(line) {
				keyed++
			}
		}
	}
	return patterns >= 3 && patterns*2 >= all || keyed >= 3 && keyed*8 >= all || queries >= 2 && queries*3 >= all
}

// --- source

var sourceFiles = newFileNames(
	"*.go", "*.c", "*.h", "*.cc", "*.cpp", "*.hpp", "*.rs", "*.py", "*.pl", "*.pm", "*.rb", "*.java", "*.js", "*.ts", "*.lua", "*.php", "*.sh", "*.bash", "*.zsh",
	"*.bt", "*.stp", "*.awk", "*.sql", "*.tf", "*.proto", "*.mk", "*.patch", "*.diff", "*.txtar", "*.css", "*.ps1", "*.vim", "*.el", "*.spec",
	"Makefile", "Dockerfile*", "Jenkinsfile", "Vagrantfile", "CMakeLists.txt",
)

func isSourceFile(file string) bool { return sourceFiles.has(file) }

// sourceMarks are signs that a file of a language has. The literal is what is looked for first.
var sourceMarks = []struct {
	literal string
	all     func() []*regexp.Regexp
}{
	{"#!", compile(`\A#! ?/`)}, // a script
	{"package ", compile(`\A(\s*//.*\n|\s*/\*(?s:.*?)\*/\s*\n|\s*\n)*package [a-z]\w*\s*\n`)}, // Go
	{"include", compile(`(?m)^#\s*include\s+[<"]`)},                                           // C
	{"import ", compile(`(?m)^(import|from) [\w.]+`, `(?m)^(def|class) \w+.*:$`)},             // Python
	{"@@ -", compile(`(?m)^@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)},                                  // a patch
}

func isSource(head *lines.Head) bool {
	for _, mark := range sourceMarks {
		if hasAll(head, mark.literal, mark.all) {
			return true
		}
	}
	return false
}

// --- documentation

// manualPlaces are where distributions put documents.
var manualPlaces = []string{"/usr/share/doc/", "/usr/share/man/", "/usr/local/share/man/", "/usr/share/info/", "/usr/share/licenses/"}

var manualFiles = newFileNames("LICENSE*", "LICENCE*", "COPYING*", "CHANGELOG*", "CHANGES*", "CONTRIBUTING*", "CODEOWNERS", "AUTHORS*", "*.rst", "*.adoc", "*.texi", "*.roff", "*.troff")

func isManualFile(file string) bool {
	inPlace := func(place string) bool { return strings.HasPrefix(file, place[1:]) || strings.Contains(file, place) }
	return slices.ContainsFunc(manualPlaces, inPlace) || manualFiles.has(file)
}

// markedUp are names of documentation in which people keep their notes, too.
var markedUp = newFileNames("*.rst", "*.adoc")

// fewestPasted is how many lines of a log somebody pastes who notes what happened on a node.
const fewestPasted = 3

// isNotes says that a file with the name of documentation holds what was pasted of a log whose
// lines tell the time of day. The kernel's own documents quote its messages, which count seconds.
func isNotes(file string, head *lines.Head) bool {
	if !markedUp.has(file) {
		return false
	}
	pasted := 0
	for _, line := range head.Lines {
		if line = bytes.TrimLeft(line, " \t"); len(line) > 0 && line[0] != '[' && logs.HasHeader(line) {
			pasted++
		}
	}
	return pasted >= fewestPasted && pasted*leastQuotes >= len(head.Lines)
}

var (
	manPage  = regexp.MustCompile(`(?m)^(\.TH |\.SH |NAME$|SYNOPSIS$|DESCRIPTION$)`)
	webPage  = regexp.MustCompile(`(?i)\A\s*(<!--.*-->\s*)?(<!doctype html|<html)`)
	pageLink = regexp.MustCompile(`\]\((#|[\w./-]+\.(md|yaml|yml|go|json|sh|png|svg)(#|\)))`)
)

// leastQuotes is how many lines a page that explains has to one that it quotes of a log.
const leastQuotes = 50

// isManual knows manual pages, and pages of the web.
func isManual(head *lines.Head) bool {
	return webPage.Match(head.Text) ||
		(head.Holds("SYNOPSIS") || head.Holds(".TH ")) && len(manPage.FindAll(head.Text, 3)) == 3
}

// explains says that a page of sentences explains programs in general: it quotes no more than a
// line here and there, or it links to other pages of a project. A page about an incident quotes
// more.
func explains(head *lines.Head, t *textCount) bool {
	return t.markdown > 0 && (t.all > leastQuotes && t.all > t.logs*leastQuotes || pageLink.Match(head.Text))
}

// --- prose

// textCount is what the lines of a text are.
type textCount struct {
	all       int // lines that are not blank
	logs      int // with the header of a log
	machine   int // written by a program, without such a header
	sentences int // of prose
	different int // sentences that differ in more than numbers
	markdown  int // headings, fences, tables
}

// isProse says that somebody wrote more of the text than was pasted into it. Bare messages are
// sentences too at times, so that a few prove nothing.
func (t *textCount) isProse() bool {
	least := 4
	if t.markdown > 0 {
		least = 2
	}
	return t.different >= least && t.sentences > t.logs+t.machine
}

// markdownSign starts a heading, a fence or a row of a table.
var markdownSign = regexp.MustCompile("^(#{1,6} \\S|```|~~~|\\|[ -]|[-*] \\[[ x]\\] )")

// callTree is a line of the tree that perf report draws; it looks like a row of a table.
var callTree = regexp.MustCompile(`^\|( {3,}|--[\d.]+%--)[\w.$]*\s*$`)

// machineSign stands in lines that programs write: frames and addresses, pairs, columns, prompts.
var machineSign = regexp.MustCompile(`\+0x[0-9a-f]+|\[<|^goroutine \d+|\.go:\d+|^\S+\(.*\)\s*=|^\s*[\w.-]+=\S+$|^\s*"?[\w /().-]+"?: {2,}\S|\S {3,}\S+ {2,}\S|^[\[({<]|[{\[]$|^[$#%] |rpc error: code = | \(0x[0-9a-f]+`)

// countText counts the lines of a text by what they are, where it holds sentences at all.
func countText(head *lines.Head) (t textCount) {
	if !hasSentences(head) {
		return t
	}
	seen := map[string]bool{}
	for _, line := range head.Lines {
		t.all++
		line = logs.TrimQuotation(line)
		switch {
		case len(line) == 0:
		case logs.HasHeader(line) || IsJSONLog(line):
			t.logs++
		case line[0] == '|' && callTree.Match(line):
			t.machine++
		case line[0] == '#' && isRootPrompt(line):
			t.machine++
		case markdownSign.Match(line):
			t.markdown++
		case machineSign.Match(line):
			t.machine++
		case isSentence(line):
			t.sentences++
			if key := withoutDigits(line); !seen[key] {
				seen[key] = true
				t.different++
			}
		}
	}
	return t
}

// hasSentences says that a text may be prose: most files of a node need no closer look.
func hasSentences(head *lines.Head) bool {
	n := 0
	for _, line := range head.Lines {
		if isSentence(line) {
			if n++; n >= 2 {
				return true
			}
		}
	}
	return false
}

func withoutDigits(line []byte) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, string(line))
}

// joiningWords hold English sentences together. Messages of programs have few of them.
var joiningWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`
		the a an is are was were be been of to and in that this these those it its we you i he she they them their our your my on for as at by or from with not no but
		if when then than so which who what there can could will would should may must do does did have had has after before because while where also only all one
		out up about into over more same any some such each other how why here now just still until since`) {
		m[w] = true
	}
	return m
}()

// joiningStarts are the letters that joiningWords of a length begin with.
var joiningStarts = func() (starts [longestJoining + 1]lines.ByteSet) {
	for w := range joiningWords {
		starts[len(w)][w[0]] = true
	}
	return starts
}()

// isJoining says that a word, in letters of any size, is one of joiningWords.
func isJoining(word []byte) bool {
	if len(word) == 0 || len(word) > longestJoining || !joiningStarts[len(word)][lowerLetter(word[0])] {
		return false
	}
	var lower [longestJoining]byte
	for i, c := range word {
		lower[i] = lowerLetter(c)
	}
	return joiningWords[string(lower[:len(word)])]
}

func lowerLetter(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// longestMarks is how many characters of a sentence or of Markdown stand on each side of a word, as
// in **"because",**.
const longestMarks = 4

// longestJoining is the length of the longest of joiningWords.
const longestJoining = len("because")

// leastWords is how many words a sentence has at least.
const leastWords = 5

// isSentence says that a line reads as prose: a third of its words join others. In scripts other
// than Latin it is a line with enough letters of them.
func isSentence(line []byte) bool {
	if lines.StartsWith(line, "created by ") { // the end of a goroutine's stack
		return false
	}
	if isForeign(line) {
		return true
	}
	if bytes.Count(line, []byte{' '})+bytes.Count(line, []byte{'\t'}) < leastWords-1 {
		return false
	}
	words, joining := 0, 0
	for w := range bytes.FieldsSeq(line) {
		words++
		if len(w) > longestJoining+2*longestMarks {
			continue
		}
		if isJoining(trimMarks(w)) {
			joining++
		}
	}
	return words >= leastWords && joining*10 >= words*3
}

// isForeign says that a line has enough letters of a script other than Latin.
func isForeign(line []byte) bool {
	const fewest = 6
	if lines.IsASCII(line) {
		return false
	}
	foreign := 0
	for _, r := range string(line) {
		if r >= 0x250 && r != 0xfffd && (r < 0x2000 || r >= 0x3000) { // not what terminals draw with
			foreign++
		}
	}
	return foreign >= fewest
}

// trimMarks takes off a word what is around it in sentences and in Markdown.
func trimMarks(word []byte) []byte {
	for len(word) > 0 && wordMarks[word[0]] {
		word = word[1:]
	}
	for len(word) > 0 && wordMarks[word[len(word)-1]] {
		word = word[:len(word)-1]
	}
	return word
}

var wordMarks = lines.NewByteSet("*_`'\"().,:;!?")

// fileNames is a set of names of files, by patterns of [path.Match].
type fileNames struct {
	names, endings map[string]bool // "Makefile"; ".go" of "*.go"
	starts, parts  []string        // "LICENSE" of "LICENSE*"; "bash_history" of "*bash_history*"
	ends           []string        // ".sigma.yml" of "*.sigma.yml"
	others         []string
}

func newFileNames(patterns ...string) *fileNames {
	f := &fileNames{names: map[string]bool{}, endings: map[string]bool{}}
	for _, p := range patterns {
		start, open := strings.CutSuffix(p, "*")
		part, anywhere := strings.CutPrefix(start, "*")
		ending := path.Ext(p)
		switch {
		case !strings.ContainsAny(p, `*?[\`):
			f.names[p] = true
		case p == "*"+ending:
			f.endings[ending] = true
		case p[0] == '*' && !strings.ContainsAny(p[1:], `*?[\`):
			f.ends = append(f.ends, p[1:])
		case open && !strings.ContainsAny(start, `*?[\`):
			f.starts = append(f.starts, start)
		case open && anywhere && !strings.ContainsAny(part, `*?[\`):
			f.parts = append(f.parts, part)
		default:
			f.others = append(f.others, p)
		}
	}
	return f
}

// has says that the name of a file, compressed or not, is in the set. Case counts.
func (f *fileNames) has(file string) bool {
	name := path.Base(file)
	for _, packed := range []string{".gz", ".xz", ".bz2", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return f.names[name] || f.endings[path.Ext(name)] ||
		slices.ContainsFunc(f.starts, func(start string) bool { return strings.HasPrefix(name, start) }) ||
		slices.ContainsFunc(f.parts, func(part string) bool { return strings.Contains(name, part) }) ||
		slices.ContainsFunc(f.ends, func(end string) bool { return strings.HasSuffix(name, end) }) ||
		slices.ContainsFunc(f.others, func(p string) bool {
			if p[0] == '.' && name[0] != '.' { // before the search
				return false
			}
			ok, _ := path.Match(p, name)
			return ok
		})
}

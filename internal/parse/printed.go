package parse

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// printers are the commands that print a file as it is.
var printers = []string{"cat", "head", "tail", "less", "more"}

// printedFiles are the files that a command prints, as paths without their root; none where it
// prints something else. The command date prints what a file of that name holds.
func printedFiles(command string) []string {
	command = WithoutWrapper(command)
	if m := onlyDate.FindString(command); m != "" { // its line stands before what follows, and may date it
		command = WithoutWrapper(command[len(m):])
		if files := printedFiles(command); len(files) > 1 {
			return append([]string{"date"}, files...)
		}
	}
	if m := onlyUptime.FindStringSubmatch(command); m != nil {
		if files := printedFiles(m[1]); files != nil {
			return append([]string{"uptime"}, files...)
		}
	}
	command, _, _ = strings.Cut(namePIDs(setNumbers(command)), "|")
	command = strings.TrimRight(command, " ")
	for _, end := range [...]string{"echo", ";", "&&"} { // wchan ends without a line feed
		command = strings.TrimRight(strings.TrimSuffix(command, end), " ")
	}
	if command == "date" || strings.HasPrefix(command, "date ") {
		return []string{"date"}
	}
	var files []string
	for part := range strings.SplitSeq(strings.ReplaceAll(command, "&&", ";"), ";") {
		if part = strings.TrimSpace(part); part == "echo" {
			continue
		}
		printed := printedBy(WithoutWrapper(part))
		if printed == nil {
			break // what else it prints comes after them
		}
		files = append(files, printed...)
	}
	return files
}

// onlyDate is a command whose first line is a date, before the rest of it.
var onlyDate = regexp.MustCompile(`^date(?: -u| --utc| -R)? *(?:;|&&) *`)

// bodyOfLoop is what a loop of a shell runs again and again, where its commands are the same each
// time: 1 those commands.
//
//	for i in 1 2 3; do date; cat /proc/1234/stack; sleep 60; done
//	while true; do date; cat /proc/1234/comm /proc/1234/stack; sleep 60; done
var bodyOfLoop = regexp.MustCompile(`^(?:for \w+ in [^;]+|while (?:true|:|sleep \d+\w?)) *; *do +([^$]*?) *;? *done$`)

// repeatedFiles are the files that such a loop prints each time.
func repeatedFiles(command string) []string {
	m := bodyOfLoop.FindStringSubmatch(WithoutWrapper(command))
	if m == nil {
		return nil
	}
	files := printedFiles(m[1])
	switch {
	case len(files) == 1 && files[0] == "date": // of date +%T; what follows it is no file
		return nil
	case len(files) == 1 && onlyDate.MatchString(m[1]):
		files = append([]string{"date"}, files...)
	}
	return files
}

// beginsRound says that a line is the first that such a loop prints of a round.
func beginsRound(files []string, line []byte) bool {
	switch {
	case len(files) < 2:
		return false
	case files[0] == "date":
		return samples.IsStampLine(string(line[:min(len(line), 60)]))
	}
	return path.Base(files[0]) == "status" && samples.IsStatusLine(line)
}

// onlyUptime is a command whose first line is what uptime prints: 1 the rest of it.
var onlyUptime = regexp.MustCompile(`^uptime *(?:;|&&) *(.+)`)

// printedBy are the files that one command prints, as they are named; nil where it prints something
// else.
func printedBy(command string) (files []string) {
	words := strings.Fields(command)
	if grepsStatus.MatchString(command) {
		return words[len(words)-1:]
	}
	if len(words) < 2 || !slices.Contains(printers, words[0]) {
		return nil
	}
	for i, w := range words[1:] {
		switch {
		case w[0] == '-' || w[0] == '>' || w[0] == '2':
		case lines.IsDigit(w[0]) && words[i] == "-n":
		default:
			for _, file := range expandBraces(w) {
				if strings.ContainsAny(file, "*?{[") && !samples.IsOfAllThreads(file) {
					return nil
				}
				files = append(files, file)
			}
		}
	}
	return files
}

// grepsStatus is a grep that prints lines of the file status of one process as they are.
var grepsStatus = regexp.MustCompile(`^e?grep (?:-[Ee] ?|-i )*\S.* /proc/\w+(?:/task/\d+)?/status$`)

// setNumbers writes the number in the place of a variable that the same line sets before:
// T=4123; cat /proc/$T/stack.
func setNumbers(command string) string {
	m := setsNumber.FindStringSubmatch(command)
	if m == nil {
		return command
	}
	return strings.NewReplacer("$"+m[1]+"/", m[2]+"/", "${"+m[1]+"}", m[2]).Replace(command[len(m[0]):])
}

// setsNumber is such a variable: 1 its name, 2 the number.
var setsNumber = regexp.MustCompile(`^([A-Za-z]\w*)=([1-9]\d{0,6}); *`)

// expandBraces are the words that a shell makes of one with braces: /proc/1234/{comm,stack}.
func expandBraces(word string) (words []string) {
	before, rest, opened := strings.Cut(word, "{")
	inside, after, closed := strings.Cut(rest, "}")
	if !opened || !closed || !strings.Contains(inside, ",") {
		return []string{word}
	}
	for part := range strings.SplitSeq(inside, ",") {
		words = append(words, before+part+after)
	}
	return words
}

// namePIDs writes the name of a process where a command asks for its number: /proc/`pidof
// containerd`/task/*/stack, /proc/$(pgrep -x containerd)/task/*/stack.
func namePIDs(command string) string {
	return askedPID.ReplaceAllString(command, "$1$2")
}

var askedPID = regexp.MustCompile("`(?:pidof|pgrep)(?: -[a-z]+)* ([a-z][a-z0-9-]*)`|\\$\\((?:pidof|pgrep)(?: -[a-z]+)* ([a-z][a-z0-9-]*)\\)")

// printedFile is the only file that a command prints, as a path without its root; else empty.
func printedFile(command string) string {
	files := printedFiles(command)
	if len(files) != 1 {
		return ""
	}
	return strings.TrimLeft(files[0], "/")
}

// directory is where the shell of a transcript stands, as far as its lines show it.
type directory struct {
	path string // absolute, or the last part of it; empty where nothing shows it
}

// follow takes the directory from the prompt of a line, and goes where its command goes. It returns
// the command behind that.
func (d *directory) follow(raw, command string) string {
	if shown := promptDirectory(strings.TrimSuffix(raw, command)); shown != "" && shown != path.Base(d.path) {
		d.path = shown
	}
	for {
		rest, ok := strings.CutPrefix(command, "cd ")
		if !ok {
			return command
		}
		end := strings.IndexAny(rest, "&;")
		if end < 0 {
			end = len(rest)
		}
		d.enter(strings.TrimSpace(rest[:end]))
		command = strings.TrimLeft(rest[end:], "&; ")
	}
}

// enter goes to a directory; one that a variable or the shell's memory names is not known.
func (d *directory) enter(to string) {
	to = strings.Trim(to, `"'`)
	switch {
	case strings.HasPrefix(to, "/"):
		d.path = path.Clean(to)
	case d.path == "" || to == "" || strings.ContainsAny(to[:1], "~-$") || strings.ContainsAny(to, "$*?"):
		d.path = ""
	default:
		d.path = path.Join(d.path, to)
	}
}

// note takes the directory of a process from a line that is the first of a prompt of two lines:
//
//	root@node-1:/proc/11952/task/11952
//	# cat stack
func (d *directory) note(line []byte) {
	if len(line) > 100 || !bytes.Contains(line, []byte("/proc/")) {
		return
	}
	if m := processDirectory.FindSubmatch(line); m != nil {
		d.path = string(m[1])
	}
}

var processDirectory = regexp.MustCompile(`^[^\s/]{0,40}(/proc/\d+(?:/task/\d+)?)/?\]?\s*$`)

// promptDirectory is the directory that a prompt shows: all of it or, of [root@node-1 kubelet]#,
// its last part; empty where it shows none.
func promptDirectory(prompt string) string {
	prompt = strings.TrimRight(prompt, "#$%>] ")
	i := strings.LastIndexAny(prompt, " :")
	if strings.HasPrefix(prompt[i+1:], "/") { // node-1:/proc/11952 # and, of busybox, /proc/11952 #
		return prompt[i+1:]
	}
	if !strings.Contains(prompt, "@") || i < 0 || strings.HasSuffix(prompt, "~") || strings.Contains(prompt[i+1:], "@") {
		return ""
	}
	return prompt[i+1:]
}

// place is a file as its path shows what it is.
func (d *directory) place(file string) string {
	if !strings.HasPrefix(file, "/") && d.path != "" && file != "date" {
		file = path.Join(d.path, file)
	}
	return strings.TrimLeft(file, "/")
}

// readPathHeading reads a line that is the path of a small file of a cgroup or of the node, or the
// command that prints it without its prompt, and nothing else: whoever prints several files writes
// it above each. On a page of Markdown it may be the file of a thread, too, as a heading, in bold
// or as code: "**cat /proc/1234/stack:**".
func readPathHeading(line []byte) (file string, ok bool) {
	if len(line) > 0 && (line[0] == '#' || line[0] == '*' || line[0] == '`') && bytes.Contains(line, []byte("/proc/")) {
		bare := bytes.TrimPrefix(bytes.Trim(line, "#*`: \t"), []byte("sudo "))
		file = string(bytes.TrimPrefix(bare, []byte("cat ")))
		return file, samples.IsThreadFile(file)
	}
	line = bytes.TrimPrefix(line, []byte("cat "))
	if len(line) == 0 || line[0] != '/' || !lines.StartsWith(line, "/sys/fs/cgroup/", "/proc/sys/", "/proc/pressure/") {
		return "", false
	}
	file = strings.TrimSuffix(strings.TrimRight(string(line), " \t"), ":")
	return file, !strings.ContainsAny(file, " \t:") && snapshots.IsValueFile(file)
}

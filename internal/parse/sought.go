package parse

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// Sought is what a command shows that looks for the process of one program:
//
//	ps -ef | grep kubelet      ps aux | grep [k]ubelet      pgrep -fl containerd      pidof dockerd
//
// or for the process of one number, among all of them:
//
//	ps aux | grep 1365945      ps -ef | grep -w 20481 | grep -v grep
type Sought struct {
	Program string // as typed; empty for every other command
	PID     int    // in the place of a program
	// Found says that a line shows a process of it, or is no line of such a command's output.
	Found bool
	Shim  event.Quote // of the first process of a shim of it, whose name begins with the program's
}

// looksForProcess is such a command without its wrapper. The pattern of the grep is a plain name.
var looksForProcess = regexp.MustCompile(`^(?:ps\b[^|]*\|\s*(?:grep\s+-v\s+["']?grep["']?\s*\|\s*)?e?grep(?:\s+-[a-zA-Z]+)*|(?:pgrep|pidof)(?:\s+-[a-zA-Z]+)*)` +
	`\s+["']?(\[\w\])?([A-Za-z][\w.-]+|\d{2,7})["']?\s*(?:\|\s*grep\s+-v\s+["']?grep["']?\s*)?$`)

// findSought finds what a command looks for. A grep that prints the other lines looks for nothing.
func findSought(command string) Sought {
	m := looksForProcess.FindStringSubmatch(WithoutWrapper(command))
	if m == nil || inverts.MatchString(command) {
		return Sought{}
	}
	pattern := strings.Trim(m[1], "[]") + m[2]
	pid, err := strconv.Atoi(pattern)
	switch {
	case err != nil:
		return Sought{Program: pattern}
	case listsAll.MatchString(WithoutWrapper(command)):
		return Sought{PID: pid}
	}
	return Sought{}
}

// listsAll is a ps that lists the processes of everybody.
var listsAll = regexp.MustCompile(`^ps\s[^|]*?(?:-\w*[eA]|\b[a-z]*x)`)

// pattern is what a line about the process holds; empty where nothing is looked for.
func (s *Sought) pattern() string {
	if s.PID > 0 {
		return strconv.Itoa(s.PID)
	}
	return s.Program
}

// IsMissed says that the process was looked for and that no line shows it.
func (s *Sought) IsMissed() bool { return s.pattern() != "" && !s.Found }

// inverts is a grep with -v behind ps, of anything but the grep itself.
var inverts = regexp.MustCompile(`grep\s+-\w*v\w*\s+["']?([^g"'\s]|g[^r])`)

// note looks at a line of the output.
func (s *Sought) note(line []byte, quote event.Quote) {
	if s.pattern() == "" || s.Found || snapshots.IsProcessHead(line) {
		return
	}
	line = line[:min(len(line), maxSectionHead)]
	_, rest, named := bytes.Cut(line, []byte(s.pattern()))
	switch {
	case bytes.Contains(line, []byte("grep ")): // it finds itself
	case !named || s.PID > 0 || !bytes.HasPrefix(rest, []byte("-shim")):
		s.Found = true
	case s.Shim.Pos.Line == 0:
		s.Shim = quote
	}
}

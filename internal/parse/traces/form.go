package traces

import (
	"bytes"
	"iter"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Form says with which options of strace a trace was written, as far as its first lines show. What
// they cannot show (a trace in which nothing has a descriptor) counts as missing.
type Form struct {
	// PID is "[pid N]" on stderr, "N" in a file, "file" where every thread has a file of its own
	// (-ff); empty without -f.
	PID       string
	Comms     bool   // -Y
	Clock     string // "-t", "-tt" (any fraction), "-ttt"; empty without an absolute time
	Relative  bool   // -r
	Took      bool   // -T
	Labels    string // "-y" or "-yy"
	Hex       bool   // -x or -xx
	Arguments bool   // -N
	Stacks    bool   // -k
	Colours   bool   // --color
	// Strings is -s: how long the longest string is that was cut; 0 when none was.
	Strings int
}

// formLines is how many calls vote; the first lines of a trace may be of another form than the
// rest.
const formLines = 400

// ReadForm looks at the head of a trace.
func ReadForm(head []byte) Form {
	var f Form
	votes := struct{ calls, bracket, number, comm, date, face, fine, relative, ended, took int }{}
	for line := range linesOfHead(head) {
		if bytes.IndexByte(line, '\x1b') >= 0 {
			f.Colours = true
			line = lines.WithoutColours(nil, line)
		}
		f.Stacks = f.Stacks || bytes.HasPrefix(line, []byte(" > "))
		l := scanTrace(line)
		if l.name == nil {
			continue
		}
		if votes.calls++; votes.calls > formLines {
			break
		}
		switch {
		case bytes.HasPrefix(line, []byte("[pid ")):
			votes.bracket++
		case l.pid != 0:
			votes.number++
		}
		before := line[:l.from]
		if i := bytes.IndexByte(before, '<'); i > 0 && l.pid != 0 && lines.IsDigit(before[i-1]) {
			votes.comm++
		}
		switch {
		case l.at.clock == epochClock:
			votes.date++
		case l.at.clock == faceClock && l.at.prec < 1e9:
			votes.fine++
		case l.at.clock == faceClock:
			votes.face++
		}
		if l.hasDelta {
			votes.relative++
		}
		if (l.kind == traceCall || l.kind == traceResumed) && l.returned() {
			votes.ended++
			if l.hasTook {
				votes.took++
			}
		}
		if string(l.name) != "getrandom" { // always in hex
			f.lookAtArguments(line[l.from:])
		}
	}
	f.PID = majority(votes.calls, "[pid N]", votes.bracket, "N", votes.number)
	if f.PID == "" && votes.bracket > 0 {
		f.PID = "[pid N]" // only while more than one is traced
	}
	f.Comms = votes.comm > 0
	switch {
	case votes.date*2 > votes.calls:
		f.Clock = "-ttt"
	case votes.fine*2 > votes.calls:
		f.Clock = "-tt"
	case (votes.face+votes.fine)*2 > votes.calls:
		f.Clock = "-t"
	}
	f.Relative = votes.relative*2 > votes.calls
	f.Took = votes.took*2 > votes.ended
	return f
}

// majority names what more than half of all votes are for.
func majority(all int, a string, forA int, b string, forB int) string {
	switch {
	case forA*2 > all:
		return a
	case forB*2 > all:
		return b
	}
	return ""
}

// lookAtArguments finds in the arguments what only some calls show.
func (f *Form) lookAtArguments(b []byte) {
	s := string(b)
	fd, _, ok := ReadDescriptor(s)
	switch what, _, socket := strings.Cut(fd.Label, ":["); {
	case !ok || fd.Label == "":
	case socket && what != "socket" && what != "pipe" && !strings.HasPrefix(what, "anon_inode"), strings.Contains(fd.Label, "<char "):
		f.Labels = "-yy"
	case f.Labels == "":
		f.Labels = "-y"
	}
	if i := strings.IndexByte(s, '='); ok && i > 0 && callNameLength(b[:i]) == i {
		f.Arguments = true
	}
	for range 8 { // the strings of one call
		in, rest, ok := cutString(s)
		if !ok {
			break
		}
		f.Hex = f.Hex || strings.HasPrefix(in, `\x`)
		if strings.HasPrefix(rest, "...") {
			f.Strings = max(f.Strings, len(undoEscapes(in)))
		}
		s = rest
	}
}

// linesOfHead are the whole lines of head.
func linesOfHead(head []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			line, rest, whole := bytes.Cut(head, []byte{'\n'})
			if !whole && len(line) == 0 || !yield(trimEnd(line)) || !whole {
				return
			}
			head = rest
		}
	}
}

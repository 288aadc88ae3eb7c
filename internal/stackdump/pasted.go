package stackdump

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/stackdump/paste"
)

// This file reads what people and editors make of a dump: marks of Markdown and HTML, ids and
// colons that are not there, stacks on one line, and the lists and stacks of the debugger delve.

// takeCleaned reads a line as it is without the marks of a ticket; false when that is no part of a
// dump, either. What is quoted is the line as it stands.
func (p *parser) takeCleaned(s string, at int) bool {
	clean := paste.CleanLine(s)
	if clean == s {
		return false
	}
	if clean == "" { // nothing but marks
		if paste.IsFence(s) {
			p.takeFence(at)
		}
		return true
	}
	p.cleaned, p.rawFrom, p.rawTo = true, at, at+len(s)
	used := p.takeLine(clean, at)
	for p.rest != "" {
		clean, p.rest = p.rest, ""
		used = p.takeLine(clean, at) || used
	}
	p.cleaned = false
	return used
}

// takeFence ends the goroutine whose header stands in the block of code that ends here: frames in
// the next block are of another one. A header above a block is its title.
func (p *parser) takeFence(at int) {
	p.fenced = !p.fenced
	switch {
	case !p.fenced && p.open && p.headFenced:
		p.endGoroutine()
	case p.fenced && p.headFenced && p.where == outsideDump:
		p.where = afterMissingHeader
		if _, next, _ := strings.Cut(p.src.Text[at:], "\n"); p.isHeadless(next) {
			p.beginHeadless(at, next)
			p.orphaned = true
		}
	}
}

// elidedIDs are what people write for the number of a goroutine.
var elidedIDs = []string{"…", "...", "N", "X", "XX", "XXX", "x", "xxx", "?", "#", "n", "<id>", "<N>"}

// elidedIDLen is the length of "goroutine …" at the start of a line, when a state follows that a
// runtime prints; 0 otherwise.
func elidedIDLen(s string) int {
	rest, ok := strings.CutPrefix(s, headerWord)
	if !ok {
		return 0
	}
	id := ""
	if open := strings.IndexByte(rest, '['); open < 0 {
		return 0
	} else if id = strings.TrimRight(rest[:open], " "); id != "" {
		known := false
		for _, e := range elidedIDs {
			known = known || id == e
		}
		if !known {
			return 0
		}
		rest = rest[open:]
	}
	if !isKnownState(rest[1:]) {
		return 0
	}
	return len(headerWord) + len(id)
}

// knownStates are how the states of goroutines begin.
var knownStates = []string{
	"running", "runnable", "syscall", "select", "chan ", "semacquire", "sync.", "IO wait", "sleep", "idle",
	"GC ", "finalizer wait", "force gc", "copystack", "wait", "trace ", "debug call", "cleanup wait", "coroutine",
}

func isKnownState(s string) bool {
	for _, state := range knownStates {
		if strings.HasPrefix(s, state) {
			return true
		}
	}
	return false
}

// isHeadless says whether text begins with a call, and below it its file and its offset: somebody
// left the header out.
func (p *parser) isHeadless(text string) bool {
	call, rest, _ := strings.Cut(strings.TrimLeft(text, " \t\r\n"), "\n")
	call = strings.TrimRight(call, " \t\r")
	file, _, _ := strings.Cut(strings.TrimLeft(rest, " \t\r\n"), "\n")
	file = strings.TrimRight(file, " \t\r")
	path, _, isFile := parseFile(file)
	isFile = isFile && strings.Contains(file, " +0x") && (strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".s"))
	open, ok := openParen(call)
	return p.src.Pieces == nil && isFile && ok && open > 0 && !strings.ContainsAny(call[:open], " \t")
}

// beginHeadless begins the goroutine of a text that isHeadless; from is where the line begins that
// is being read. Its ID is 0, and its state is not known.
func (p *parser) beginHeadless(from int, text string) {
	at := len(p.src.Text) - len(strings.TrimLeft(text, " \t\r\n"))
	call, _, _ := strings.Cut(p.src.Text[at:], "\n")
	p.beginGoroutine()
	p.where = inGoroutine
	p.g.Header, p.g.Pos = p.quoteText(at, at+len(strings.TrimRight(call, " \t\r")))
	p.g.Pos.Line += strings.Count(p.src.Text[from:at], "\n") // lines are counted as they are read
}

// takeTitle begins the goroutine of a stack without a header whose title somebody wrote above it,
// or a script that counts stacks:
//
//	31 occurrences. Sample stack trace: (some scripts write one "r")
//
// The goroutine before has its last frame.
func (p *parser) takeTitle(s string, end int) bool {
	if s[len(s)-1] != ':' || p.where != outsideDump && (p.where != inGoroutine || p.file != nil || p.g.CreatedBy.Func == "") {
		return false
	}
	if !p.isHeadless(p.src.Text[min(end+1, len(p.src.Text)):]) {
		return false
	}
	p.endGoroutine()
	p.beginHeadless(end-len(s), p.src.Text[end+1:])
	p.orphaned = true
	if n, rest, _ := strings.Cut(s, " "); strings.HasPrefix(rest, "occur") {
		if count, err := strconv.ParseUint(n, 10, 31); err == nil && count > 1 {
			p.g.Alike = int(count) - 1
		}
	}
	return true
}

// takeElidedHeader begins a goroutine whose number somebody left out; its ID is 0.
func (p *parser) takeElidedHeader(s string, at int) bool {
	n := elidedIDLen(s)
	return n > 0 && p.takeHeader(s, at, n)
}

// betweenCalls stand between the calls of a stack that somebody wrote on one line.
const betweenCalls = " \t,;|<>-←→"

// cutCall takes the first call off a line of calls without their files:
//
//	sync.(*Mutex).Lock(...) <- main.f(0x1) <- main.main()
func cutCall(s string) (text, rest string, ok bool) {
	open := strings.IndexByte(s, '(')
	for open >= 0 && open+1 < len(s) && s[open+1] == '*' { // "pkg.(*T).M("
		next := strings.IndexByte(s[open+1:], '(')
		if next < 0 {
			return "", "", false
		}
		open += 1 + next
	}
	if open <= 0 || strings.IndexByte(s[:open], '.') < 0 || strings.IndexByte(s[:open], ' ') >= 0 {
		return "", "", false
	}
	end := strings.IndexByte(s[open:], ')')
	if end < 0 {
		return "", "", false
	}
	end += open + 1
	return s[:end], strings.TrimLeft(s[end:], betweenCalls), true
}

// Delve prints goroutines as a list, and the stack of one by number:
//
//   - Goroutine 17 - User: /src/x.go:3 main.work (0x4a1b2c) (thread 4242) [chan receive 5000]
//     0  0x000000000043d2f6 in runtime.gopark
//     at /usr/local/go/src/runtime/proc.go:307
func (p *parser) takeDelve(s string, at int) bool {
	switch {
	case strings.HasPrefix(s, "Goroutine ") || strings.HasPrefix(s, "* Goroutine "):
		return p.takeDelveGoroutine(s, at)
	case s[0]-'0' <= 9:
		return p.takeDelveFrame(s, at)
	case p.delved && p.file != nil && strings.HasPrefix(s, "at "):
		return p.takeFile(strings.TrimPrefix(s, "at "))
	case strings.HasPrefix(s, "(dlv)"):
		return p.takeDelveCommand(strings.TrimSpace(strings.TrimPrefix(s, "(dlv)")), at)
	case p.delved && strings.HasPrefix(s, "[") && strings.HasSuffix(s, " goroutines]"), strings.HasPrefix(s, "Switched from "):
		p.endGoroutine()
		return true
	}
	return false
}

// takeDelveCommand begins a goroutine for "goroutine 523 bt"; other commands end one.
func (p *parser) takeDelveCommand(command string, at int) bool {
	p.endGoroutine()
	words := strings.Fields(command)
	if len(words) < 3 || words[0] != "goroutine" && words[0] != "gr" || words[2] != "bt" && words[2] != "stack" {
		return true
	}
	id, err := strconv.ParseUint(words[1], 10, 64)
	if err == nil {
		p.beginDelve(id, at, "(dlv) "+command)
	}
	return true
}

// beginDelve begins a goroutine of delve.
func (p *parser) beginDelve(id uint64, at int, header string) {
	p.beginGoroutine()
	p.where, p.delved, p.listed = inGoroutine, true, false
	p.g.ID = id
	p.g.Header, p.g.Pos = p.quoteText(at, at+min(len(header), len(p.src.Text)-at))
}

// takeDelveGoroutine reads a row of the list: where the goroutine is in the code of its user, and
// what it waits for. Delve counts the wait from the start of the machine: that tells nothing.
func (p *parser) takeDelveGoroutine(s string, at int) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(s, "* "), "Goroutine ")
	number, rest, _ := strings.Cut(rest, " - ")
	id, err := strconv.ParseUint(number, 10, 64)
	which, rest, ok := strings.Cut(rest, ": ")
	if err != nil || !ok || which != "User" && which != "Runtime" && which != "Go" && which != "Start" {
		return false
	}
	p.beginDelve(id, at, s)
	if open := strings.LastIndexByte(rest, '['); open >= 0 && strings.HasSuffix(rest, "]") {
		state := rest[open+1 : len(rest)-1]
		if i := strings.LastIndexByte(state, ' '); i > 0 && strings.Trim(state[i+1:], "0123456789") == "" {
			state = state[:i]
		}
		p.g.State, rest = state, strings.TrimRight(rest[:open], " ")
	}
	if thread := strings.Index(rest, " (thread "); thread >= 0 {
		if rest = rest[:thread]; p.g.State == "" {
			p.g.State = "running"
		}
	}
	if pc := strings.LastIndex(rest, " (0x"); pc >= 0 {
		rest = rest[:pc]
	}
	place, name, ok := strings.Cut(rest, " ")
	path, line, isFile := parseFile(place)
	if !ok || !isFile {
		return true
	}
	f := p.pushFrame()
	f.Func, f.File, f.Line, f.Inlined = name, path, line, true
	f.Raw, f.Pos = p.quoteText(at, at+len(s))
	p.listed, p.g.Elided = true, 1
	return true
}

// takeDelveFrame reads "3  0x0000000000a1b2c3 in main.f"; its file stands on the next line.
func (p *parser) takeDelveFrame(s string, at int) bool {
	number, rest, ok := strings.Cut(s, " ")
	_, err := strconv.ParseUint(number, 10, 32)
	rest = strings.TrimLeft(rest, " ")
	pc, name, in := strings.Cut(rest, " in ")
	if !ok || err != nil || !in || !strings.HasPrefix(pc, "0x") || name == "" || strings.IndexByte(name, ' ') >= 0 {
		return false
	}
	if !p.open || !p.delved {
		p.beginDelve(0, at, s)
	}
	if p.listed { // the stack has the place of the list again
		p.chunk, p.listed, p.g.Elided = p.chunk[:p.first], false, 0
	}
	f := p.pushFrame()
	f.Func, f.Inlined = name, true
	f.Raw, f.Pos = p.quoteText(at, at+len(s))
	p.file = f
	return true
}

// crashMarks are how the last words of a Go program begin, before the goroutine that said them.
var crashMarks = [...]string{"panic: ", "fatal error: ", "runtime: program ", "runtime: failed to create new OS thread", "runtime/cgo: pthread_create failed", "SIGABRT: ", "SIGQUIT: ", "SIGSEGV: "}

// noteCrash keeps the line that says why the program ended, the first of several.
func (p *parser) noteCrash(s string, at int) {
	if p.dump.Crash.Text != "" || p.src.Pieces != nil {
		return // a log has that line as a record
	}
	for _, mark := range crashMarks {
		if strings.HasPrefix(s, mark) {
			text, pos := p.quoteText(at, at+len(s))
			p.dump.Crash = event.Quote{Pos: pos, Text: text}
			return
		}
	}
}

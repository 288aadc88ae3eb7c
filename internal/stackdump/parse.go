package stackdump

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/stackdump/paste"
	"github.com/plegdiag/plegdiag/internal/stackdump/turned"
)

const (
	// maxSkips bounds Dump.Skips; further skipped lines are added to the last one.
	maxSkips = 1000
	// maxQuoted bounds the input quoted in a reason.
	maxQuoted = 80
	// leastGoroutine is how many bytes of text a goroutine takes at least: a header and one frame.
	leastGoroutine = 64
	// frameChunk is how many frames are allocated at once, firstChunk how many of a small dump.
	frameChunk, firstChunk = 2048, 32
)

// Parse reads a dump. It never fails: what cannot be read is in Skips, and one
// damaged goroutine costs that goroutine. Goroutines begin at headers; blank
// lines and indentation are not trusted, as journald drops the first and pastes the second.
//
// A goroutine profile in protocol buffers (pprof's debug=0, inflated) is read as well.
func Parse(src Source) *Dump {
	if strings.HasPrefix(src.Text, profileStart) {
		return parseProfile(src)
	}
	src.Line = max(src.Line, 1)
	p := parser{src: src, dump: &Dump{File: src.File}, file: &Frame{}, g: &Goroutine{}}
	if isBackwards(src.Text) && turned.AreLines(src.Text, src.Pieces) {
		p.unended = src.Pieces != nil // a log's lines before the first header are no part of Text
		src.Text, src.Pieces = turned.Text(src.Text, src.Pieces, event.Pos{File: src.File, Line: src.Line})
		p.src = src
	}
	p.dump.Goroutines = make([]Goroutine, 0, estimateGoroutines(src.Text))
	if p.isHeadless(src.Text) && !strings.Contains(src.Text, "\n"+headerWord) { // else the start is cut off
		p.beginHeadless(0, src.Text)
	}
	for at := 0; at < len(src.Text); {
		end := len(src.Text)
		if n := strings.IndexByte(src.Text[at:], '\n'); n >= 0 {
			end = at + n
		}
		p.readLine(at, end)
		p.dump.Lines++
		at = end + 1
	}
	p.noteCut()
	p.endGoroutine()
	return p.dump
}

// isBackwards says that the last line of a text stands first: the file of a frame, not its call, is
// right below a header.
func isBackwards(text string) bool {
	i, _ := findHeader(text[:min(len(text), 1<<20)])
	_, rest, _ := strings.Cut(text[max(i, 0):], "\n")
	file, rest, _ := strings.Cut(strings.TrimLeft(rest, " \t\r\n"), "\n")
	_, _, ok := parseFile(strings.TrimRight(file, " \t\r"))
	call, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	return i >= 0 && ok && strings.Contains(file, " +0x") && (strings.HasSuffix(strings.TrimRight(call, " \t\r"), ")") || strings.HasPrefix(call, creatorWord))
}

// noteCut says whether the text has all goroutines of its dumps, as far as it shows.
func (p *parser) noteCut() {
	d := p.dump
	if d.Missing = p.total - d.Count(); d.Missing < 0 || p.total == 0 {
		d.Missing = 0
	}
	d.lossy = d.Gaps > 0 || d.Lost > 0 || d.Missing > 0 || p.orphaned
	// Runtimes write an empty line before a goroutine, never behind the last one; loggers do, and
	// people who paste a few goroutines. A cut leaves no two of them, and nothing behind it.
	atBlank := p.blanks == 1 && p.src.Pieces == nil && !p.src.Followed && !d.IsExcerpt()
	d.Incomplete = d.lossy || p.unended || p.where == inGoroutine && (atBlank || p.endsInside())
}

// endsInside says whether the text ends inside of its last goroutine: a call without its file, or a
// stack that ends before the function that it began with. Who pastes stacks without their go
// statements does so for all.
func (p *parser) endsInside() bool {
	if p.dump.Profile || !p.filed {
		return false
	}
	if p.file != nil {
		return true
	}
	if p.g.CreatedBy.Func != "" || p.creators == 0 || p.g.ID == 0 {
		return false
	}
	frames := p.chunk[p.first:]
	if len(frames) == 0 {
		return true
	}
	switch frames[len(frames)-1].Func {
	case "main.main", "runtime.main", "runtime.goexit", "runtime.mstart", "runtime.mcall", "runtime.systemstack":
		return false
	}
	return true
}

// estimateGoroutines is about how many goroutines a text has, so that they are seldom copied while
// they are collected. Headers hold a bracket, little else does; the first megabyte stands for the
// rest.
func estimateGoroutines(text string) int {
	sample := text[:min(len(text), 1<<20)]
	n := min(strings.Count(sample, "]"), len(sample)/leastGoroutine)
	if len(sample) < len(text) {
		n = int(float64(n) * float64(len(text)) / float64(len(sample)) * 1.1)
	}
	return n + 1
}

// parser is between two lines of a dump.
type parser struct {
	src  Source
	dump *Dump
	// where says what lines belong to now.
	where place
	// g is the goroutine being read, the last of dump.Goroutines while open;
	// frames [first:] of the chunk are its frames.
	g      *Goroutine
	open   bool // g was begun
	chunk  []Frame
	first  int
	piece  int    // of Source.Pieces, the last one that began
	file   *Frame // whose file line may come next; nil when none
	junked bool   // the line before was skipped, so the next one joins its Skip
	rest   string // the end of the line being read, from the next header that it holds
	// What shows whether the text is whole: a BEGIN mark that has no END yet, frames without their
	// header, blank lines at the end, that frames have files, and how many go statements were read.
	unended, orphaned, filed bool
	blanks, creators         int
	total                    int // goroutines that the first lines of profiles count
	// Inside of a block of code of Markdown; whether the last header stands in one, or has no colon.
	fenced, headFenced, titled bool
	// Of a line that was cleaned of a ticket's marks: what of Text is quoted for it.
	cleaned        bool
	rawFrom, rawTo int
	// delved says that the goroutine being read is delve's, listed that its only frame is from a list.
	delved, listed bool
	places         [1 << placeBits]fileLine
	funcs          [1 << placeBits]*function // those in calls that have nothing in them that needs a look
	functions      map[string]*function      // all, by their names as printed
}

// fileLine is a file line that was read. Most of a dump's file lines come again and again.
type fileLine struct {
	text, path string
	line       int
}

// placeBits is how many file lines, and how many names of functions, are remembered, as a power of
// two.
const placeBits = 9

// slotOf is where a text is remembered: its length and its last bytes tell most apart.
func slotOf(s string) uint32 {
	n := len(s)
	if n < 4 {
		return 0
	}
	tail := uint32(s[n-4]) | uint32(s[n-3])<<8 | uint32(s[n-2])<<16 | uint32(s[n-1])<<24
	return (tail + uint32(n)) * 0x9e3779b1 >> (32 - placeBits)
}

// place is what the lines of a dump belong to.
type place uint8

const (
	// outsideDump is before the first header and behind an end marker or registers.
	outsideDump place = iota
	// inGoroutine is below a header that was read.
	inGoroutine
	// inOtherStack is below "runtime stack:" and "[originating from goroutine 7]:",
	// whose frames belong to no goroutine of the dump.
	inOtherStack
	// inProfileEntry is below an entry of a profile in text (debug=1).
	inProfileEntry
	// afterMissingHeader is where frames belong to a goroutine whose header is not there.
	afterMissingHeader
	// afterDamagedHeader is below a header that could not be read.
	afterDamagedHeader
)

// readLine reads Text[at:end], one line, and books it as used, blank or skipped.
func (p *parser) readLine(at, end int) {
	for at < end && isSpace(p.src.Text[at]) {
		at++
	}
	if tab := `\t`; at < end && p.src.Text[at] == tab[0] && strings.HasPrefix(p.src.Text[at:end], tab) &&
		!strings.HasPrefix(p.src.Text[at+len(tab):end], headerWord) {
		at += len(tab) // a tab that somebody escaped, but not the line breaks; no header is indented
	}
	for at < end && isSpace(p.src.Text[end-1]) {
		end--
	}
	if end-at > 2 && p.src.Text[end-1] == 'n' && p.src.Text[end-2] == '\\' {
		end -= 2 // a line break that somebody escaped, beside a real one
	}
	s := p.src.Text[at:end]
	if s == "" {
		p.blanks++
		p.dump.Blank++
		return
	}
	p.blanks = 0
	used := p.takeLine(s, at)
	for p.rest != "" { // the next goroutines of a dump that somebody wrote on one line
		at, s = end-len(p.rest), p.rest
		p.rest = ""
		used = p.takeLine(s, at) || used
	}
	if !used {
		used = p.takeCleaned(s, end-len(s)) || p.takeCutCall(s, end) || p.takeTitle(s, end)
	}
	if used {
		p.dump.Used++
		p.junked = false
		return
	}
	p.dump.Skipped++
	p.skipLine(at, s)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// takeLine reads one trimmed line that begins at offset at. It returns false when
// the line is no part of a dump. A call line ends in ), which no file line does.
func (p *parser) takeLine(s string, at int) bool {
	switch {
	case s[0]|' ' == 'g' && strings.HasPrefix(s[1:], headerWord[1:]): // a mailer may begin each line with a capital
		if n := headerIDLen(s); n > 0 {
			return p.takeHeader(s, at, n)
		}
		if p.takeElidedHeader(s, at) {
			return true
		}
	case p.where == afterDamagedHeader:
	case s[0] == '#' && p.takeProfileLine(s, at):
		return true
	case s[len(s)-1] == ')':
		if p.takeCall(s, at) {
			return true
		}
	case p.file != nil:
		if p.takeFile(s) {
			return true
		}
	case p.where == inGoroutine && strings.HasPrefix(s, creatorWord) && !holdsHeader(s):
		p.takeCreatedBy(s, s[len(creatorWord):], at)
		return true
	}
	return p.takeRareLine(s, at)
}

// creatorWord begins the line of a go statement.
const creatorWord = "created by "

// takeFile reads the file line of the frame before.
func (p *parser) takeFile(s string) bool {
	slot := &p.places[slotOf(s)]
	if slot.text != s {
		path, line, ok := parseFile(s)
		if !ok {
			return false
		}
		*slot = fileLine{s, path, line}
	}
	p.file.File, p.file.Line = slot.path, slot.line
	p.file, p.filed = nil, true
	return true
}

// takeRareLine reads the lines that a dump has few of.
func (p *parser) takeRareLine(s string, at int) bool {
	if i, idEnd := findHeader(s); i >= 0 { // "dump stacks: goroutine 9 [running]:"
		if before := strings.TrimRight(s[:i], " "); before != "" {
			p.takeLine(before, at)
		}
		return p.takeHeader(s[i:], at+i, idEnd-i)
	}
	if p.where == inGoroutine || p.where == inOtherStack {
		if by, ok := strings.CutPrefix(s, creatorWord); ok {
			p.takeCreatedBy(s, by, at)
			return true
		}
		if n, ok := parseElided(s); ok {
			p.takeElided(n)
			return true
		}
		if p.takeJoinedFrames(s, at) {
			return true
		}
	}
	if p.takeProfileLine(s, at) || p.takeDelve(s, at) {
		return true
	}
	if gap, ok := event.ParseSuppressed(s); ok {
		p.takeGap(gap)
		return true
	}
	switch {
	case p.where == afterDamagedHeader:
		return false
	case s == "runtime stack:":
		p.endGoroutine()
		p.where = inOtherStack
	case strings.HasPrefix(s, "[originating from goroutine "):
		p.where = inOtherStack
	case strings.HasPrefix(s, "=== BEGIN"):
		p.endGoroutine()
		p.unended = true
	case strings.HasPrefix(s, "=== END"), isRegister(s):
		p.endGoroutine()
		p.unended = false
	case isProfileHeader(s):
		p.endGoroutine()
		p.dump.Profile = true
		p.total += totalOf(s)
	case !isFurniture(s):
		return false
	default:
		p.noteCrash(s, at)
	}
	return true
}

// takeHeader begins a goroutine.
func (p *parser) takeHeader(s string, at, idEnd int) bool {
	p.beginGoroutine()
	end, quote, ok := parseHeader(p.g, s, idEnd)
	if !ok {
		p.dump.Lost++
		p.dump.Goroutines = p.dump.Goroutines[:len(p.dump.Goroutines)-1]
		*p.g = Goroutine{}
		p.where, p.open = afterDamagedHeader, false
		p.junked = false // a skip of its own
		return false
	}
	p.where, p.headFenced = inGoroutine, p.fenced
	p.g.Header, p.g.Pos = p.quoteText(at, at+min(quote, len(s)))
	p.dropTitle()
	p.titled = s[end-1] != ':'
	if i, _ := findHeader(s[end:]); i >= 0 {
		p.rest, s = s[end+i:], strings.TrimRight(s[:end+i], " ")
	}
	if rest := strings.TrimLeft(s[end:], " "); rest != "" && paste.CleanLine(rest) != "" && !p.takeCall(rest, at+len(s)-len(rest)) &&
		!p.takeJoinedFrames(rest, at+len(s)-len(rest)) {
		p.addRemark(at, "%q behind the header of goroutine %d", clipText(rest), p.g.ID)
	}
	return true
}

// dropTitle drops the goroutine before the one that begins here when it is the same one and has no
// stack: its header was the title of a block, "<summary>goroutine 7 [select]</summary>".
func (p *parser) dropTitle() {
	all, n := p.dump.Goroutines, len(p.dump.Goroutines)
	if p.titled && n > 1 && all[n-2].ID == p.g.ID && all[n-2].State == p.g.State && len(all[n-2].Frames) == 0 {
		all[n-2] = all[n-1]
		p.dump.Goroutines, p.g = all[:n-1], &all[n-2]
		p.dump.Headers--
	}
}

// takeJoinedFrames reads frames that somebody has put on one line, each with its file behind it:
//
//	main.f(0x1) /src/x.go:7 +0x1d main.main() /src/x.go:9 created by main.init in goroutine 1 /src/x.go:3
func (p *parser) takeJoinedFrames(s string, at int) bool {
	taken := false
	for s != "" {
		text, file, rest, ok := cutJoined(s)
		if !ok {
			if text, rest, ok = cutCall(s); !ok {
				return taken
			}
			file = ""
		}
		if by, created := strings.CutPrefix(text, creatorWord); created {
			p.takeCreatedBy(text, by, at)
		} else if !p.takeCall(text, at) {
			return taken
		}
		if taken = true; file != "" {
			p.takeFile(file)
		}
		at += len(s) - len(rest)
		s = rest
	}
	return taken
}

// cutJoined takes the first frame off a line: a call or go statement, and the file behind it with
// its offset.
func cutJoined(s string) (text, file, rest string, ok bool) {
	gap := strings.Index(s, ") ") + 1
	if escaped := strings.Index(s, `)\n\t`); escaped > 0 && gap == 0 {
		gap, s = escaped+1, strings.Replace(s, `\n\t`, "    ", 1)
	}
	if strings.HasPrefix(s, creatorWord) {
		before, _, found := strings.Cut(s, ".go:")
		if !found {
			return "", "", "", false
		}
		gap = strings.LastIndexByte(before, ' ')
	}
	if gap <= 0 {
		return "", "", "", false
	}
	text, file = s[:gap], strings.TrimLeft(s[gap:], " \t")
	end := strings.IndexByte(file, ' ')
	if end < 0 {
		end = len(file)
	} else if offset, more := strings.CutPrefix(file[end:], " +0x"); more {
		end = len(file) - len(strings.TrimLeft(offset, "0123456789abcdef"))
	}
	file, rest = file[:end], strings.TrimLeft(file[end:], " \t")
	_, _, ok = parseFile(file)
	return strings.TrimRight(text, " \t"), file, rest, ok
}

// beginGoroutine makes room for the goroutine of a header.
func (p *parser) beginGoroutine() {
	p.endGoroutine()
	p.dump.Headers++
	p.dump.Goroutines = append(p.dump.Goroutines, Goroutine{})
	p.g = &p.dump.Goroutines[len(p.dump.Goroutines)-1]
	p.open = true
}

// endGoroutine gives the goroutine being read, if any, its frames.
func (p *parser) endGoroutine() {
	if p.open {
		p.g.Frames = p.chunk[p.first:len(p.chunk):len(p.chunk)]
		for i := range p.g.Frames {
			if f := &p.g.Frames[i]; f.fn == nil {
				f.fn = p.functionNamed(f.Func)
			}
		}
	}
	p.first = len(p.chunk)
	p.file = nil
	p.where, p.open, p.delved = outsideDump, false, false
}

// takeCall adds a frame. Frames beside goroutines are dropped, frames outside are refused.
func (p *parser) takeCall(s string, at int) bool {
	if p.where != inGoroutine && p.where != inOtherStack {
		return false
	}
	open, ok := openParen(s)
	if !ok || open == 0 {
		return false
	}
	start := 0
	slot := &p.funcs[slotOf(s[:open])]
	fn := *slot
	if fn == nil || fn.Printed != s[:open] {
		if holdsHeader(s) {
			return false
		}
		if !p.cleaned && (strings.IndexByte(s[:open], '\\') >= 0 || s[0] == '[') {
			return p.takeCleaned(s, at)
		}
		if strings.IndexByte(s[:open], ' ') >= 0 {
			if start = strings.LastIndexByte(s[:open], ' ') + 1; start == open || !isTag(s[:start]) {
				return false // prose
			}
		}
		fn = p.functionNamed(s[start:open])
		if start == 0 && !p.cleaned {
			*slot = fn
		}
	}
	if p.where == inOtherStack {
		p.file = &Frame{}
		return true
	}
	if p.g.CreatedBy.Func != "" { // the last frame of every goroutine but the first
		p.endGoroutine()
		p.where, p.orphaned = afterMissingHeader, true
		return false
	}
	f := p.pushFrame()
	f.fn, f.Func, f.Args = fn, fn.Printed, s[open+1:len(s)-1]
	f.Inlined = f.Args == "..."
	f.Raw, f.Pos = p.quoteText(at+start, at+len(s))
	p.file = f
	return true
}

func (p *parser) functionNamed(name string) *function {
	fn := p.functions[name]
	if fn == nil {
		if p.functions == nil {
			p.functions = map[string]*function{}
		}
		fn = newFunction(name)
		p.functions[name] = fn
	}
	return fn
}

// takeCutCall reads a call whose arguments end with the text, at end: the last line of a paste that
// was cut.
func (p *parser) takeCutCall(s string, end int) bool {
	open := strings.LastIndex(s, "(0x")
	if p.where != inGoroutine || p.file != nil || !p.filed || p.g.CreatedBy.Func != "" || open <= 0 ||
		strings.IndexByte(s[:open], '.') < 0 || strings.ContainsAny(s[:open], " \t") || strings.TrimSpace(p.src.Text[end:]) != "" {
		return false
	}
	f := p.pushFrame()
	f.Func, f.Args, f.Inlined = s[:open], "...", true // the last argument is part of one
	f.Raw, f.Pos = p.quoteText(end-len(s), end)
	p.file = f
	return true
}

// pushFrame adds an empty frame to the goroutine being read, to be filled in place.
func (p *parser) pushFrame() *Frame {
	if len(p.chunk) == cap(p.chunk) {
		own := p.chunk[p.first:]
		p.chunk = append(make([]Frame, 0, max(firstChunk, min(frameChunk, 2*cap(p.chunk)), 2*len(own))), own...)
		p.first = 0
	}
	p.chunk = p.chunk[:len(p.chunk)+1]
	return &p.chunk[len(p.chunk)-1]
}

// isTag says whether s is the name of a program before the first frame: "kubelet: ".
func isTag(s string) bool {
	word, ok := strings.CutSuffix(s, ": ")
	return ok && !strings.Contains(word, " ") && !isFurniture(s)
}

// takeGap ends the goroutine being read, as the header of the next one may be missing.
func (p *parser) takeGap(s event.Suppressed) {
	p.dump.Gaps++
	p.dump.Suppressed += s.Messages
	if p.where == inGoroutine && p.g.CreatedBy.Func == "" {
		p.g.Elided++
	}
	p.endGoroutine()
	p.where = afterMissingHeader
}

func (p *parser) takeElided(n int) {
	p.file = nil
	if p.where == inGoroutine {
		p.g.Elided += n
	}
}

// holdsMark says that a line has a character of the marks of tickets. Every go statement is asked.
func holdsMark(s string) bool {
	for i := range len(s) {
		if markByte[s[i]] {
			return true
		}
	}
	return false
}

var markByte = [256]bool{'\\': true, '&': true, '<': true, '[': true, '`': true}

// takeCreatedBy reads the go statement: "created by main.(*T).f in goroutine 7".
func (p *parser) takeCreatedBy(s, by string, at int) {
	if !p.cleaned && holdsMark(by) && p.takeCleaned(s, at) {
		return
	}
	f := Frame{Func: by}
	creator := uint64(0)
	if i := strings.LastIndexByte(by, ' '); i >= 0 {
		if of, ok := strings.CutSuffix(by[:i], " in goroutine"); ok {
			if id, err := strconv.ParseUint(by[i+1:], 10, 64); err == nil {
				creator, f.Func = id, of
			}
		}
	}
	if p.where == inOtherStack {
		p.file = &Frame{}
		return
	}
	f.Raw, f.Pos = p.quoteText(at, at+len(s))
	p.g.CreatedBy, p.g.CreatorID = f, creator
	p.creators++
	p.file = &p.g.CreatedBy
}

// openParen is where the arguments of a call line begin. Only what the runtime
// prints as arguments may stand in them, so that prose is not taken for a call.
func openParen(s string) (int, bool) {
	i := len(s) - 2
	for i >= 0 && argByte[s[i]] {
		i--
	}
	return i, i >= 0 && s[i] == '('
}

var argByte = func() (set [256]bool) {
	for _, c := range []byte("0123456789abcdefx?_{}., ") {
		set[c] = true
	}
	return set
}()

// parseFile reads "/path/x.go:384 +0x7c", in abort dumps followed by " fp=0x… sp=0x… pc=0x…".
func parseFile(s string) (path string, line int, ok bool) {
	colon := strings.LastIndexByte(s, ':')
	if colon <= 0 || holdsHeader(s) {
		return "", 0, false
	}
	i := colon + 1
	for ; i < len(s) && s[i]-'0' <= 9 && i-colon < 10; i++ {
		line = line*10 + int(s[i]-'0')
	}
	if i == colon+1 {
		return "", 0, false
	}
	rest := s[i:]
	if rest != "" && !strings.HasPrefix(rest, " +0x") && !strings.HasPrefix(rest, " fp=") &&
		!strings.HasPrefix(rest, " pc=") {
		return "", 0, false
	}
	return s[:colon], line, true
}

// parseElided reads the marks of cut frames: "...additional frames elided..."
// (Go ≤ 1.20), "...201 frames elided..." and what people write.
func parseElided(s string) (n int, ok bool) {
	if s == "…" || s == "..." || s == "...additional frames elided..." {
		return 1, true
	}
	s, ok = strings.CutPrefix(s, "...")
	if !ok {
		return 0, false
	}
	if s, ok = strings.CutSuffix(s, " frames elided..."); !ok {
		return 0, false
	}
	count, err := strconv.ParseUint(s, 10, 31)
	return int(count), err == nil
}

// furniture is how lines begin that runtimes and programs print around
// goroutines: runtime/signal_unix.go, runtime/panic.go, runtime/traceback.go,
// moby pkg/signal and containerd's dumpStacks.
var furniture = [...]string{
	"SIG", "PC=0x", "pc=0x", "panic: ", "panic during panic", "fatal error: ", "fatal: ", "runtime: ", "[signal ",
	"exit status ",
	"goroutine running on other thread", "goroutine in C code", "non-Go function", "signal arrived during ",
	"instruction bytes:", "-----", "dump stacks:",
}

func isFurniture(s string) bool {
	return slices.ContainsFunc(furniture[:], func(f string) bool { return strings.HasPrefix(s, f) })
}

// isRegister recognizes a line of the registers at the end of an abort dump: "rax
// 0xfffffffffffffffc".
func isRegister(s string) bool {
	name, value, ok := strings.Cut(s, " ")
	if !ok || len(name) > 8 || name == "" {
		return false
	}
	for i := range len(name) {
		if !isWord(name[i]) {
			return false
		}
	}
	hex, ok := strings.CutPrefix(strings.TrimLeft(value, " "), "0x")
	_, err := strconv.ParseUint(hex, 16, 64)
	return ok && err == nil
}

// skipLine books a line that was not understood, together with those right before it.
func (p *parser) skipLine(at int, s string) {
	d := p.dump
	if len(d.Skips) > 0 && (p.junked || len(d.Skips) == maxSkips) {
		d.Skips[len(d.Skips)-1].Lines++
		return
	}
	reason := "%q is no part of a goroutine dump"
	switch p.where {
	case afterDamagedHeader:
		reason = "damaged goroutine header %q"
	case afterMissingHeader:
		reason, p.orphaned = "%q belongs to no goroutine: lines before it are missing", true
	}
	d.Skips = append(d.Skips, &event.Skip{Pos: p.posOf(at), Lines: 1, Reason: fmt.Sprintf(reason, clipText(s))})
	p.junked = true
}

// addRemark notes something about a line that is used all the same.
func (p *parser) addRemark(at int, format string, args ...any) {
	if len(p.dump.Skips) < maxSkips {
		p.dump.Skips = append(p.dump.Skips, &event.Skip{Pos: p.posOf(at), Reason: fmt.Sprintf(format, args...)})
	}
}

func clipText(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "…"
}

// posOf is where the byte at an offset of the line being read stands.
func (p *parser) posOf(at int) event.Pos {
	pieces := p.src.Pieces
	if len(pieces) == 0 {
		return event.Pos{File: p.src.File, Line: p.src.Line + p.dump.Lines}
	}
	for p.piece+1 < len(pieces) && pieces[p.piece+1].Off <= at {
		p.piece++
	}
	return pieces[p.piece].Pos
}

// quoteText is what of Text[from:to] stands as it is on one physical line, and on
// which. In a dump inside log messages that is the longest part within one
// piece, up to the first byte that a logger escapes.
func (p *parser) quoteText(from, to int) (string, event.Pos) {
	if p.cleaned {
		from, to = p.rawFrom, p.rawTo
	}
	if len(p.src.Pieces) == 0 {
		return p.src.Text[from:to], p.posOf(from)
	}
	pos := p.posOf(from)
	pieces := p.src.Pieces[p.piece:]
	best, cut := p.src.Text[from:to], from
	if len(pieces) > 1 && pieces[1].Off < to {
		best = ""
		for i, piece := range pieces {
			end := to
			if i+1 < len(pieces) {
				end = min(to, pieces[i+1].Off)
			}
			if end-cut > len(best) {
				best, pos = p.src.Text[cut:end], piece.Pos
			}
			if cut = max(cut, end); cut == to {
				break
			}
		}
	}
	if i := strings.IndexFunc(best, isEscaped); i >= 0 {
		best = best[:i]
	}
	return strings.TrimSpace(best), pos
}

// isEscaped says whether strconv.Quote or encoding/json may write a rune of a message in another
// form.
func isEscaped(r rune) bool {
	return r < ' ' || r > '~' || strings.ContainsRune("\"\\<>&", r)
}

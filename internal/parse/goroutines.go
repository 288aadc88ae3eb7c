package parse

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// pprofGoroutines starts a goroutine profile of runtime/pprof (debug=0): one sample type, strings 1
// and 2 of the string table, and then samples. CPU and heap profiles have several types.
var pprofGoroutines = []byte{0x0a, 4, 8, 1, 16, 2, 0x12}

// sniffGoroutines knows the text of runtime.Stack and of a goroutine profile
// (debug=1 and 2), the profile in protocol buffers, and delve's lists and stacks. Reading them is
// package stackdump's work. A text that has lines of a log, too, is a log that carries a dump: of a
// fatal error the line that says which stands above its stacks. A ticket that has stacks of the
// kernel, too, is read block by block.
func sniffGoroutines(head *lines.Head) float64 {
	if bytes.HasPrefix(head.Text, pprofGoroutines) || bytes.HasPrefix(head.Text, []byte("goroutine profile: total ")) {
		return 1
	}
	if !head.MayHold("oroutine", "0x") { // one of which stands in every line that proves a dump
		return 0
	}
	logged, kernel, headless := false, false, startsWithFrames(head.Text)
	share := lines.Share(head, func(line []byte) lines.Sign {
		line = bytes.TrimPrefix(line, []byte("* ")) // delve marks the goroutine that it is in
		line = bytes.TrimRight(line, " ")           // with which a terminal fills its rows
		switch {
		case len(line) == 0:
			return lines.Foreign
		case isGoroutine(line) && !bytes.Contains(bytes.TrimSuffix(line, []byte(`\n`)), []byte(`]:\n`)),
			isDelve(bytes.TrimLeft(line, " \t")), isProfileLine(line),
			headless && isFileLine(bytes.TrimLeft(line, " \t")):
			return lines.Proves
		case line[0] == '\t' && bytes.Contains(line, []byte(".go:")),
			lines.StartsWith(line, "created by ", "=== ", "...", "(dlv)", "```"),
			line[len(line)-1] == ')' && bytes.IndexByte(line, '.') > 0 && line[0] != ' ',
			isFileLine(bytes.TrimLeft(line, " ")), bytes.Contains(line, []byte(`)\n\t/`)):
			return lines.Fits
		}
		kernel = kernel || isKernelFrame(line)
		logged = logged || logs.HasHeader(line) || lines.StartsWith(line, "[+]", "[-]") // of /healthz
		return lines.Foreign
	})
	if logged || kernel {
		return 0
	}
	return share
}

// maxTitles is how many lines may stand above the first stack that has no header.
const maxTitles = 5

// startsWithFrames knows a stack whose header somebody left out: a call, and below it its file and
// its offset. Above it may stand what somebody wrote, the last line with a colon at its end.
func startsWithFrames(head []byte) bool {
	rest, titled := head, true
	for range maxTitles {
		if titled && isFrame(rest) {
			return true
		}
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if line = bytes.TrimRight(line, " \t\r"); len(line) > 0 {
			titled = line[len(line)-1] == ':'
		}
	}
	return false
}

// isFrame says that text begins with a call, its file and its offset.
func isFrame(head []byte) bool {
	call, rest, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte{'\n'})
	call = bytes.TrimRight(call, " \t\r")
	file, _, _ := bytes.Cut(bytes.TrimLeft(rest, " \t\r\n"), []byte{'\n'})
	return bytes.HasSuffix(call, []byte{')'}) && bytes.IndexByte(call, '.') > 0 && bytes.IndexByte(call, ' ') != 0 &&
		isFileLine(file) && bytes.Contains(file, []byte(" +0x"))
}

// isFileLine knows the file of a frame whose tab somebody lost: "/src/x.go:12 +0x1", "at
// /src/x.s:7".
func isFileLine(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte("at "))
	for _, ending := range []string{".go:", ".s:"} {
		if i := bytes.Index(line, []byte(ending)); i > 0 && bytes.IndexByte(line[:i], ' ') < 0 {
			return true
		}
	}
	return false
}

// isDelve knows "Goroutine 17 - User: /src/x.go:3 main.f (0x4a1b2c)", "0  0x000000000043d2f6 in
// runtime.gopark" and "(dlv) goroutine 17 bt".
func isDelve(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte("* "))
	if rest, ok := bytes.CutPrefix(line, []byte("Goroutine ")); ok {
		return len(rest) > 0 && rest[0]-'0' <= 9 && bytes.Contains(rest, []byte(": ")) && bytes.Contains(rest, []byte(" - "))
	}
	return bytes.HasPrefix(line, []byte("(dlv) goroutine")) ||
		len(line) > 0 && line[0]-'0' <= 9 && bytes.Contains(line, []byte("  0x")) && bytes.Contains(line, []byte(" in "))
}

// isProfileLine knows the lines of a profile in text whose first line is missing: "7 @ 0x43b945
// 0x44c1c5", "#	0x46d3a6	main.f+0x46	/src/x.go:71".
func isProfileLine(line []byte) bool {
	if rest, ok := bytes.CutPrefix(line, []byte("#")); ok {
		return bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte("0x")) && bytes.Contains(rest, []byte("+0x"))
	}
	_, pcs, ok := bytes.Cut(line, []byte(" @ 0x"))
	return ok && line[0]-'0' <= 9 && bytes.Contains(pcs, []byte(" 0x"))
}

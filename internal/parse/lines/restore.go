package lines

import (
	"bufio"
	"bytes"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
)

// FindRestorer is what undoes to a text (see [IsText]) what a page, a mail or a terminal did to all
// of its lines, by head, its start; nil where nothing was done to it, or what was done cannot
// be told. Lines keep their numbers. A text may have to be restored several times: a mail that
// quotes a page.
//
//	&#34;pleg was last seen active&#34;    HTML, with the tags around
//	web-0   1/1                            blanks that do not break, quotes of a word processor
//	> kubelet.service - kubelet            a quotation, an indentation
//	     3	cpu: 0                          cat -n
//	4102:[118.610331] BUG: kernel NULL …    grep -n, also with what stands around (4103-)
//	`pleg was last seen active`            code inside of a sentence, line by line
//	* pleg was last seen active            an item of a list
//	./df.txt:tmpfs   395M  395M            grep -H
//	worker-2.example: {"level":"error",…   talosctl logs
//	{"Output": "[    0.000000] Linux …\r\n"} answers of a cloud, of which the lines are those of the text
//	DEFAULT 2023-09-28T18:31:05.87Z [resource.labels.nodeName: gke-1] time=…   Logs Explorer of Google Cloud
func FindRestorer(head *Head) func(io.Reader) io.Reader {
	if name := findAnswer(head); name != "" {
		return withAnswer(name)
	}
	if isHTML(head.Text) {
		return eachLine(withoutHTML)
	}
	if hasTypography(head) {
		return eachLine(withoutTypography)
	}
	if isTicked(head) {
		return eachLine(withoutTicks)
	}
	if isExplored(head) {
		return eachLine(withoutExplorer)
	}
	if isNumbered(head) {
		return func(r io.Reader) io.Reader { return WithoutStarts(r, maxNumber, numberLength) }
	}
	if isGrepped(head) {
		return func(r io.Reader) io.Reader { return WithoutStarts(r, maxNumber, grepLength) }
	}
	if prefix := sharedPrefix(head); prefix != nil {
		return func(r io.Reader) io.Reader { return WithoutPrefix(r, prefix) }
	}
	return nil
}

// IsText says that head holds nothing but characters of a text and the sequences of a terminal.
func IsText(head *Head) bool {
	for c := range byte(' ') {
		if head.HoldsByte(c) && !textControls[c] {
			return false
		}
	}
	return true
}

var textControls = NewByteSet("\t\n\v\f\r\b\a\x1b")

// StripColours reads r without the sequences of a terminal.
func StripColours(r io.Reader) io.Reader { return eachLine(WithoutColours)(r) }

var (
	htmlTag    = regexp.MustCompile(`</?(?:pre|code|samp|tt|br|p|div|span|details|summary|table|tbody|tr|td|ul|li)(?: [^<>]*)?/?>`)
	htmlEntity = regexp.MustCompile(`&(?:lt|gt|amp|quot|nbsp|#34|#39|#x27|#160);`)
)

// isHTML says that head was taken from the source of a page: it has characters that HTML writes
// with a name, and none of those that it cannot write otherwise, outside of tags. A log that quotes
// a page has both.
func isHTML(head []byte) bool {
	if bytes.IndexByte(head, '&') < 0 && !bytes.Contains(head, []byte("</")) {
		return false
	}
	text, tags := head, 0
	if bytes.IndexByte(head, '<') >= 0 {
		text = htmlTag.ReplaceAllFunc(head, func([]byte) []byte { tags++; return nil })
	}
	return bytes.IndexByte(text, '<') < 0 && bytes.IndexByte(text, '>') < 0 && (tags > 0 || htmlEntity.Match(text))
}

func withoutHTML(dst, line []byte) []byte {
	return append(dst, html.UnescapeString(string(htmlTag.ReplaceAll(line, nil)))...)
}

// explorerEntry is what the Logs Explorer puts before an entry that is copied or downloaded as
// text: severity, time, and the fields that its user had shown.
var explorerEntry = regexp.MustCompile(`^(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY) (\d{4}-\d\d-\d\dT[\d:.]+Z )(?:\[(?:resource|labels|jsonPayload|insertId)[\w./"-]*: [^\]]*\] )+`)

// isExplored says that half of the lines begin as entries do: an entry of several lines has that
// once.
func isExplored(head *Head) bool {
	entries := 0
	for _, line := range head.Lines {
		if explorerEntry.Match(line) {
			entries++
		} else if entries == 0 {
			return false
		}
	}
	return entries > 0 && entries*2 >= len(head.Lines)
}

// withoutExplorer adds a line with the time alone before its text.
func withoutExplorer(dst, line []byte) []byte {
	return append(dst, explorerEntry.ReplaceAll(line, []byte("$1"))...)
}

// typography are characters that programs do not write where they stand, and what they stood for.
var typography = []struct{ shown, written []byte }{
	{[]byte("\u00a0"), []byte(" ")},
	{[]byte("“"), []byte(`"`)},
	{[]byte("”"), []byte(`"`)},
	{[]byte("„"), []byte(`"`)},
}

// hasTypography says that a page or a word processor replaced blanks or quotes.
func hasTypography(head *Head) bool {
	if head.Holds(string(typography[0].shown)) {
		return true
	}
	return !head.HoldsByte('"') && head.Holds(string(typography[1].shown))
}

func withoutTypography(dst, line []byte) []byte {
	for _, t := range typography {
		line = bytes.ReplaceAll(line, t.shown, t.written)
	}
	return append(dst, line...)
}

// maxShared is the longest name of a file or a node before every line.
const maxShared = 255

// sharedPrefix is what stands before every line of head and is no part of it: a quotation, an
// indentation, the name of a file, the address of a node. Of a quotation, half of the lines are
// enough: an answer stands below it. Nil when there is none.
func sharedPrefix(head *Head) []byte {
	var name []byte
	all, quoted, twice, named := 0, 0, 0, 0
	begin := make([]int, len(beginnings)) // lines by what they begin with
	for _, line := range head.Lines {
		if all++; all == 1 {
			name = namePrefix(line)
		}
		switch {
		case StartsWith(line, ">>"):
			quoted++
			twice++
		case line[0] == '>' && (len(line) == 1 || line[1] == ' '):
			quoted++
		case countBeginning(line, begin):
		case name != nil && (bytes.HasPrefix(line, name) || bytes.Equal(line, bytes.TrimRight(name, " "))):
			named++
		case all > 16 && quoted*4 < all:
			return nil
		}
	}
	if i := slices.Index(begin, all); i >= 0 && all > 0 {
		return beginnings[i]
	}
	switch {
	case twice > 0 && twice*2 >= all:
		return []byte(">")
	case quoted > 0 && quoted*2 >= all:
		return []byte("> ")
	case all == 0:
		return nil
	case named == all && (all > 1 || namesText(name)):
		if spaced := slices.Concat(name, []byte(" ")); allBegin(head.Lines, spaced) {
			return spaced // as talosctl writes the name of a node
		}
		return name
	}
	return nil
}

// namesText says that a name before a single line can be nothing but that of a file: of a log, a
// text or a page.
func namesText(name []byte) bool {
	return slices.ContainsFunc([]string{".log:", ".txt:", ".md:"}, func(ending string) bool { return bytes.HasSuffix(name, []byte(ending)) })
}

// allBegin says that each line begins with prefix, or is what it holds before its blank.
func allBegin(all [][]byte, prefix []byte) bool {
	bare := bytes.TrimRight(prefix, " ")
	return !slices.ContainsFunc(all, func(line []byte) bool {
		return !bytes.HasPrefix(line, prefix) && !bytes.Equal(line, bare)
	})
}

// beginnings are an indentation, and the mark of an item, that all lines may have.
var beginnings = [][]byte{[]byte("\t"), []byte("    "), []byte("* ")}

// countBeginning counts a line that begins with one of the beginnings.
func countBeginning(line []byte, count []int) bool {
	i := slices.IndexFunc(beginnings, func(b []byte) bool { return bytes.HasPrefix(line, b) })
	if i >= 0 {
		count[i]++
	}
	return i >= 0
}

// isTicked says that each line of head stands between backticks, as Markdown marks code inside of a
// sentence.
func isTicked(head *Head) bool {
	return len(head.Lines) > 0 && !slices.ContainsFunc(head.Lines, func(line []byte) bool {
		text := withoutTicks(nil, line)
		return len(text) == len(line) || bytes.HasPrefix(text, []byte("`"))
	})
}

// withoutTicks adds a line without the backticks around it.
func withoutTicks(dst, line []byte) []byte {
	text := bytes.TrimRight(line, " \r")
	if len(text) < 2 || text[0] != '`' || text[len(text)-1] != '`' {
		return append(dst, line...)
	}
	return append(dst, text[1:len(text)-1]...)
}

// codeMarks are what pages put around code inside of a line: Markdown, Jira, HTML.
var codeMarks = [...][2]string{{"```", "```"}, {"``", "``"}, {"`", "`"}, {"{{", "}}"}, {"<code>", "</code>"}, {"<tt>", "</tt>"}}

// WholeCode is the text of a line that is code as a whole, behind the marks of a quotation or of a
// list; nil for any other line, and for code of less than four words, which is a name or a command.
//
//   - `Warning ContainerGCFailed <invalid> (x1266 over 21h) kubelet failed to read …`
func WholeCode(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t>*-+")
	if len(line) == 0 || line[0] != '`' && line[0] != '{' && line[0] != '<' { // as nearly everywhere
		return nil
	}
	line = bytes.TrimRight(line, " \t\r*.,:;")
	for _, marks := range codeMarks {
		if !StartsWith(line, marks[0]) {
			continue
		}
		code, ok := bytes.CutSuffix(line[len(marks[0]):], []byte(marks[1]))
		if code = bytes.TrimSpace(code); !ok || bytes.Contains(code, []byte(marks[1])) || len(bytes.Fields(code)) < 4 {
			return nil
		}
		return code
	}
	return nil
}

// namePrefix is the name of a file as grep -H puts it before a line, or the address or the name of
// a node as talosctl does: "./var/log/messages:", "10.200.1.3: ", "worker-2.example:". Nil where a
// line starts otherwise.
func namePrefix(line []byte) []byte {
	line = line[:min(len(line), maxShared)]
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || bytes.ContainsAny(line[:colon], " \t\"'{[(=<") || !bytes.ContainsAny(line[:colon], "./") {
		return nil
	}
	name := line[:colon]
	if len(bytes.Trim(name, "0123456789.")) == 0 {
		if bytes.Count(name, []byte{'.'}) == 3 && bytes.HasPrefix(line[colon:], []byte(": ")) {
			return line[:colon+2]
		}
		return nil
	}
	ending := name[bytes.LastIndexByte(name, '.')+1:]
	if slices.Contains(unitEndings, string(ending)) && bytes.HasPrefix(line[colon:], []byte(": ")) {
		return nil
	}
	return line[:colon+1]
}

// unitEndings end the names of units, with which lines of systemd start.
var unitEndings = []string{"service", "scope", "slice", "socket", "mount", "automount", "timer", "device", "target", "swap", "path"}

// maxNumber is the longest number of a line, with the tab behind it.
const maxNumber = 24

// isNumbered says that each line of head has its number before it, as cat -n writes it.
func isNumbered(head *Head) bool {
	last, all, texts := int64(-1), 0, 0
	for _, line := range head.Lines {
		n, _ := Digits(bytes.TrimLeft(line, " "))
		length := numberLength(line)
		if length == 0 || last >= 0 && n != last+1 {
			return false
		}
		if last = n; length < len(line) {
			texts++
		}
		all++
	}
	return all > 1 && texts > 0 || all == 1 && bytes.HasPrefix(head.Text, []byte("     1\t"))
}

// numberWidth is how far to the right cat -n and nl put a number.
const numberWidth = 6

// numberLength is the length of the number and the tab that a line starts with; 0 without them.
// What is pasted may lack a tab at the end of a line, and what a terminal shows has two blanks for
// it. A shell's history has two blanks as well, but its numbers end a column before.
func numberLength(line []byte) int {
	i := SkipBlanks(line, 0)
	_, d := Digits(line[i:])
	i += d
	switch rest := line[min(i, len(line)):]; {
	case d == 0 || i >= maxNumber:
		return 0
	case len(rest) == 0 || rest[0] == '\n' || rest[0] == '\r':
		return i
	case rest[0] == '\t':
		return i + 1
	case i == numberWidth && bytes.HasPrefix(rest, []byte("  ")):
		return i + len("  ")
	}
	return 0
}

// isGrepped says that each line of head has the number before it that grep -n gives it: with a
// colon, and with a hyphen before what -A, -B or -C show around it.
func isGrepped(head *Head) bool {
	last, found := int64(0), 0
	for _, line := range head.Lines {
		if string(line) == "--" { // between two of them
			continue
		}
		length := grepLength(line)
		n, _ := Digits(line)
		if length == 0 || n <= last || length == len(line) || IsDigit(line[length]) { // as a time has
			return false
		}
		last = n
		if line[length-1] == ':' && line[length] != ' ' { // of ip link a name follows a blank
			found++
		}
	}
	return found > 0 && len(head.Lines) > 2
}

// grepLength is the length of such a number, with the sign behind it; 0 without one.
func grepLength(line []byte) int {
	_, d := Digits(line)
	if d == 0 || d >= maxNumber-1 || d >= len(line) || line[d] != ':' && line[d] != '-' {
		return 0
	}
	return d + 1
}

// eachLine reads a text with each line changed. Change appends to dst what it makes of a line,
// which has no line end; of a line above 64 KiB it is given pieces.
func eachLine(change func(dst, line []byte) []byte) func(io.Reader) io.Reader {
	return func(r io.Reader) io.Reader {
		return &changed{r: bufio.NewReaderSize(r, 64<<10), change: change}
	}
}

type changed struct {
	r      *bufio.Reader
	change func(dst, line []byte) []byte
	out    []byte // what was changed
	next   int    // the first byte of it that was not read
	err    error
}

// Read implements io.Reader.
func (c *changed) Read(p []byte) (int, error) {
	for c.next == len(c.out) {
		if c.err != nil {
			return 0, c.err
		}
		c.out, c.next = c.out[:0], 0
		line, err := c.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			c.err = err
		}
		text, ended := bytes.CutSuffix(line, []byte{'\n'})
		c.out = c.change(c.out, text)
		if ended || len(line) > 0 && len(c.out) == 0 && c.err != nil { // what is left of the last line stays a line
			c.out = append(c.out, '\n')
		}
	}
	n := copy(p, c.out[c.next:])
	c.next += n
	return n, nil
}

package messages

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// isQuoted says that a text of a line without a header stands there as what somebody quotes:
// between quotation marks or backquotes behind words, in a cell of a table, in a drawing, or behind
// a condition. Such a line says what a program can print, and not that it did:
//
//	see `nf_conntrack: table full, dropping packet`
//	| netns leak | unregister_netdevice: waiting for ... to become free | reboot |
//	If you see INFO: task containerd:812 blocked for more than 120 seconds. look at the disk
//
// A value behind its key is none: message: "INFO: task containerd:812 blocked …".
func isQuoted(line string, texts []string) bool {
	before, rest, ok := cutBefore(line, texts)
	if !ok {
		return false
	}
	if isCell(line) || isCode(before, rest) {
		return isMarkedUp(line, texts)
	}
	if open := openSign(before, '"'); open > 0 && strings.IndexByte(rest, '"') > 0 && !isKey(before[:open]) {
		return true
	}
	if open := strings.LastIndex(before, "“"); open > 0 && strings.Contains(rest, "”") && !strings.Contains(before[open:], "”") {
		return true
	}
	return slices.ContainsFunc(strings.Fields(strings.ToLower(before)), func(word string) bool {
		return slices.Contains(conditions, strings.Trim(word, "(,:*_"))
	})
}

// isMarkedUp says the same of what stands in a cell of a table, or between backquotes behind words:
// programs write neither.
func isMarkedUp(line string, texts []string) bool {
	before, rest, ok := cutBefore(line, texts)
	if ok && isCell(line) {
		return !hasTimeOfDay(before) // else it is a row of a log that somebody exported
	}
	return ok && isCode(before, rest)
}

// cutBefore cuts a line before the first of some texts; ok is false where none of them stands
// behind anything.
func cutBefore(line string, texts []string) (before, rest string, ok bool) {
	at := -1
	for _, text := range texts {
		if i := strings.Index(line, text); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at <= 0 {
		return "", "", false
	}
	return strings.TrimLeft(line[:at], listMarks), line[at:], true
}

// isCode says that backquotes stand around where a line was cut, behind words.
func isCode(before, rest string) bool {
	return openSign(before, '`') > 0 && strings.IndexByte(rest, '`') > 0
}

// listMarks stand before a line that is quoted, or one of a list.
const listMarks = " \t>*-+"

// conditions are words behind which a text is an example.
var conditions = []string{"if", "when", "whenever", "e.g.", "i.e."}

// isCell says that a line is a row of a table of Markdown, or of a drawing: it begins and ends with
// a bar, or the bar behind its first cell follows.
func isCell(line string) bool {
	line = strings.TrimSpace(line)
	for _, bar := range [...]string{"| ", "│", "║", "┃"} {
		if rest, ok := strings.CutPrefix(line, bar); ok {
			return strings.Contains(rest, strings.TrimSpace(bar))
		}
	}
	return false
}

// hasTimeOfDay says that a text holds a time of day, as 09:30:11.
func hasTimeOfDay(text string) bool {
	for i := 2; i+5 < len(text); i++ {
		if text[i] == ':' && text[i+3] == ':' && lines.IsDigit(text[i-1]) && lines.IsDigit(text[i+2]) && lines.IsDigit(text[i+4]) {
			return true
		}
	}
	return false
}

// openSign is where a sign stands in what is before a text that it opens and does not close before
// it; -1 where none does.
func openSign(before string, sign byte) int {
	if strings.Count(before, string(sign))%2 == 0 {
		return -1
	}
	return strings.LastIndexByte(before, sign)
}

// isKey says that what stands before a value in quotation marks is its key, and no words: of JSON,
// YAML, or logfmt.
func isKey(before string) bool {
	before = strings.TrimRight(before, " ")
	switch {
	case before == "" || before[0] == '{' || before[0] == '[' || strings.HasSuffix(before, "="):
		return true
	case strings.HasSuffix(before, ":"):
		return !strings.ContainsAny(before, " \t")
	}
	return false
}

// namesTemplate says that the name of what an event is about stands for any name: "...", "<dev>",
// "%s", or no more than letters x where the kernel names a network device.
func namesTemplate(e *event.Event) bool {
	for _, key := range [...]event.Key{event.FieldDevice, event.FieldServer, event.FieldComm} {
		name := e.FieldText(key)
		if name == "" {
			continue
		}
		if strings.HasPrefix(name, "<") || strings.Contains(name, "%s") || strings.ContainsAny(name, "…{}$") || !slices.ContainsFunc([]byte(name), scan.IsWord) {
			return true
		}
		if e.Kind == event.KindNetdevBusy && len(name) > 1 && strings.Trim(strings.ToLower(name), "x") == "" {
			return true
		}
	}
	return false
}

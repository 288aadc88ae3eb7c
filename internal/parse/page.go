package parse

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// lazily is an expression that is compiled when a file first asks for it.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// --- patches

// mayBePatch is what a patchSign holds, cheap to look for.
var mayBePatch = lines.NewLiterals([]string{"Signed-off-by: ", "Reviewed-by: ", "Acked-by: ", "\nFixes: ", "X-Mailing-List: ", "[PATCH", "This patch was applied to ", " upstream."})

// patchSign is a line of a commit's message or of a mail about a patch. Whoever writes one tells
// what was seen on a developer's machine.
var patchSign = lazily(`(?m)^[> ]{0,8}(Signed-off-by|Reviewed-by|Acked-by): .{1,80} <[^\s<>]+@[^\s<>]+>` +
	`|^[> ]{0,8}Fixes: [0-9a-f]{7,40} \("` +
	`|^Subject: .{0,20}\[PATCH|^This patch was applied to |^commit [0-9a-f]{40} upstream\.`)

// listSign is a line of the head of a mail that went through a list of the kernel.
var listSign = lazily(`(?m)^X-Mailing-List: `)

// isPatch knows a patch, a commit and a mail of a list by their marks. A mail of a list may also
// report what happened: it begins a thread, or brings lines with the header of a log.
func isPatch(head *lines.Head) bool {
	if !head.MayHoldAny(mayBePatch) {
		return false
	}
	return patchSign().Match(head.Text) || listSign().Match(head.Text) && !reports(head)
}

// reports says that a mail answers none, or that what it quotes is not all it has of a log. Where
// quotation marks stood before most of the lines, they are taken off already.
func reports(head *lines.Head) bool {
	marks := logs.Marks(head)
	brings, quotes := false, false
	for n, line := range head.Lines {
		if line[0] == '>' {
			quotes = true
		} else if marks[n]&uint8(logs.Headed) != 0 {
			brings = true
		}
	}
	answers := head.Holds(" wrote:\n")
	return !answers && !quotes || brings && quotes
}

// mayBePasted says that lines of a format can also stand in the mail about a patch.
func mayBePasted(f Format) bool {
	_, sections := f.Reader.(Transcript)
	return sections || mayQuote(f) || f.Name == "dmesg" || f.Name == "journal-short"
}

// --- pages about troubles in general

// mayAdvise is what a page about troubles in general holds, cheap to look for.
var mayAdvise = lines.NewLiterals([]string{
	"ou might ", "ou may ", "ou could ", "f you ", "hen you ", "**Cause", "**Root ", "**Fix", "**Solution", "**Resolution", "**Workaround", "**Symptom", "\nweight: ", "\nversions:", "\nsidebar_", "\nlinkTitle: ",
})

var (
	// announcement stands before a fence, and tells what a reader may meet.
	announcement = lazily(`(?i)\b(you (might|may|could) (also )?(see|find|notice|observe|encounter)\b|(if|when) you (see|get|encounter|find) (this|these|the following|an?|any|similar|messages?|errors?|logs?)\b)`)
	// remedy and reason are labels of a section about one trouble.
	remedy = lazily(`(?mi)^\s*(?:[-*] |\d+\. )?\*\*(fix|solution|resolution|workaround)s?:?\*\*`)
	reason = lazily(`(?mi)^\s*(?:[-*] |\d+\. )?\*\*(root cause|cause|reason)s?:?\*\*`)
	// symptom is such a label, too.
	symptom = lazily(`(?mi)^\s*(?:[-*] |\d+\. )?\*\*symptoms?:?\*\*`)
	// anyName stands where each reader has a name or an address of his own.
	anyName = lazily(`(?i)<(fqdn|ip[ _-]?address|node[ _-]?name|host[ _-]?name|cluster[ _-]?name)>|sandbox \\?"\.\.\."|"(Get|Post) \.\.\."`)
	// front is what a generator of pages reads before the text: keys that order pages or tell for
	// which versions they hold.
	front = lazily(`\A---\n(?:[^\n]*\n){0,40}?(?:weight: \d|versions:|sidebar_(?:position|label): |linkTitle: )(?:[^\n]*\n){0,40}?---\n`)
	// section is a heading of a page about a trouble.
	section = lazily(`(?mi)^(#{1,4} |\*\*)(applicable versions|symptoms?|reasons?|(root )?causes?|fix|workarounds?|resolutions?|solutions?|related information)\b`)
)

// advises says that a page tells what to do about troubles that its readers may have: of a
// knowledge base, of a project's documentation, or a piece of one. What it quotes happened to
// nobody in particular.
//
//	You might find iSCSI errors in the kernel log
//	**Cause:** …      **Fix:** …      and again, for another trouble
//	**Symptom**: … https://<fqdn>:443/… **Root Cause**: …
func advises(head *lines.Head) bool {
	if !head.MayHoldAny(mayAdvise) {
		return false
	}
	text := head.Text
	reasons, remedies := len(reason().FindAll(text, 2)), len(remedy().FindAll(text, 2))
	switch {
	case reasons > 1 && remedies > 1, announcesAll(head):
		return true
	case reasons+remedies+len(symptom().FindAll(text, 1)) > 1 && anyName().Match(text):
		return true
	}
	return bytes.HasPrefix(text, []byte("---\n")) && front().Match(text) && section().Match(text)
}

// announcesAll says that each block of the text that holds no commands stands below an
// announcement, and that there is one. In a thread, what somebody has seen stands beside what
// others may see.
func announcesAll(head *lines.Head) bool {
	announced, fenced, begins := false, false, false
	var above []byte // the last line outside of blocks
	for _, line := range head.Lines {
		text := bytes.TrimLeft(line, " \t")
		switch {
		case len(text) > 0 && isFence(text):
			fenced = !fenced
			begins = fenced && !lines.StartsWith(bytes.TrimLeft(text, "`~"), "bash", "sh")
			continue // of blocks one after the other all stand below the same words
		case !fenced && logs.HasHeader(text):
			return false
		case begins:
			begins = false
			word, _, _ := bytes.Cut(bytes.TrimLeft(text, "$# "), []byte{' '})
			if commands[string(word)] {
				break
			}
			if !announcement().Match(above) {
				return false
			}
			announced = true
		}
		if !fenced {
			above = line
		}
	}
	return announced
}

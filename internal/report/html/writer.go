package html

import (
	"fmt"
	"io"
	"net/url"
	"strings"
)

// Writer writes a page. All markup stands in the program's source, and all values are escaped: no
// text of a bundle can become markup. It takes the place of html/template, which calls methods by
// names that it learns while it runs: the linker keeps every method of the program for it, an
// eighth of its size.
type Writer struct {
	out         io.Writer
	err         error
	interactive bool
}

// NewWriter begins a page.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Err is the first error of what the page is written to. Nothing is written after it.
func (w *Writer) Err() error { return w.err }

// markup is a constant of the source: other packages have no name for its type, and can only write
// it out.
type markup string

// Address is a value that a link leads to. One that is neither relative nor of the web leads
// nowhere.
type Address string

// Put writes markup, with a value in each place that is marked {}: in the text of an element, or in
// an attribute between double quotes.
func (w *Writer) Put(m markup, values ...any) {
	if w.err != nil {
		return
	}
	rest := string(m)
	for _, value := range values {
		before, after, _ := strings.Cut(rest, "{}")
		w.write(before)
		w.putValue(value)
		rest = after
	}
	w.write(rest)
}

// PutNonEmpty writes markup with a value, and nothing where that is empty.
func (w *Writer) PutNonEmpty(m markup, value string) {
	if value != "" {
		w.Put(m, value)
	}
}

// PutLeftOut says how many entries of a list are not shown.
func (w *Writer) PutLeftOut(left int) {
	if left > 0 {
		w.Put("<p><small>{} more are left out here; the JSON report has them</small></p>", left)
	}
}

// If is the value where the condition holds, and else empty.
func If(condition bool, value string) string {
	if condition {
		return value
	}
	return ""
}

// escaper escapes for texts and for attributes between quotes, in any encoding that reads ASCII as
// it is.
var escaper = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "+", "&#43;", "\x00", "\uFFFD",
)

func (w *Writer) putValue(value any) {
	switch v := value.(type) {
	case string:
		w.write(escaper.Replace(v))
	case Address:
		w.write(escaper.Replace(v.safeURL()))
	default:
		w.write(escaper.Replace(fmt.Sprint(v)))
	}
}

func (a Address) safeURL() string {
	to, err := url.Parse(string(a))
	if err != nil || to.Scheme != "" && to.Scheme != "https" && to.Scheme != "http" {
		return "#"
	}
	return to.String()
}

func (w *Writer) write(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.out, s)
	}
}

// Begin writes the head of a page, up to the beginning of its body. The policy of an interactive
// page lets its script in, and nothing else.
func (w *Writer) Begin(title, version string, interactive bool) {
	w.interactive = interactive
	policy := policyOf(style)
	if interactive {
		policy = policyOf(style, script)
	}
	w.Put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="plegdiag {}">
<title>{}</title>
<style>`, policy, version, title)
	w.write(style)
	w.Put("</style>\n</head>\n<body>\n")
}

// End writes the end of a page, with its script.
func (w *Writer) End() {
	if w.interactive {
		w.Put("<script>")
		w.write(script)
		w.Put("</script>\n")
	}
	w.Put("</body>\n</html>\n")
}

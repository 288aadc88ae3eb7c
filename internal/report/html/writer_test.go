package html

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

const hostile = "</title></style></script><script>alert(1)</script>\" onload='x' & {} +\x00"

// What is put into a page is read back by a browser's parser as it was, and as nothing else.
func TestValuesStayValues(t *testing.T) {
	var out strings.Builder
	w := NewWriter(&out)
	w.Begin(hostile, hostile, true)
	w.Put(`<p id="{}">{}</p>`, hostile, hostile)
	w.PutNonEmpty("<b>{}</b>", "")
	w.End()
	require.NoError(t, w.Err())
	root, err := html.Parse(strings.NewReader(out.String()))
	require.NoError(t, err)
	want := strings.ReplaceAll(hostile, "\x00", "\uFFFD")
	texts := map[string]string{"title": want, "p": want, "script": script, "style": style}
	var elements []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		elements = append(elements, n.Data)
		if text, ok := texts[n.Data]; ok {
			require.Equal(t, text, n.FirstChild.Data)
		}
		if n.Data == "p" {
			require.Equal(t, []html.Attribute{{Key: "id", Val: want}}, n.Attr)
		}
	}
	require.Equal(t, strings.Fields("html head meta meta meta meta meta title style body p script"), elements)
}

// An address leads to the web, or to a file beside the page.
func TestAddresses(t *testing.T) {
	for from, want := range map[Address]string{
		"https://github.com/a/b?c=d&e": `https://github.com/a/b?c=d&amp;e`, "../reports/a b.json": "../reports/a%20b.json",
		"javascript:alert(1)": "#", "JavaScript:alert(1)": "#", "data:text/html,x": "#", "\x01javascript:alert(1)": "#", " javascript:alert(1)": "#",
	} {
		var out strings.Builder
		NewWriter(&out).Put(`<a href="{}">`, from)
		require.Equal(t, `<a href="`+want+`">`, out.String())
	}
}

// After an error nothing is written.
func TestErrorIsKept(t *testing.T) {
	w := NewWriter(fullWriter{})
	w.Put("<p>")
	w.Begin("", "", false)
	require.ErrorIs(t, w.Err(), errFull)
}

var errFull = errors.New("full")

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

// misplaced finds a value where escaping is not enough: outside of quotes in a tag, as the name of
// an element, in what is script or style, or as the beginning of an address.
var misplaced = regexp.MustCompile(`=\s*\{|='[^']*\{|</?[^\s>]*\{|(?i)\s(on\w+|style|srcdoc|src)\s*=|<(script|style)\b[^>]*>.*\{`)

// TestMarkupOfSources: in all markup that this program holds, each value has its place, in the text
// of an element or in an attribute between double quotes.
func TestMarkupOfSources(t *testing.T) {
	for _, wrong := range []string{`<p class={}>`, `<p class='{}'>`, `<{}>`, `</h{}>`, `<p onclick="{}">`, `<p style="{}">`, `<script>{}</script>`} {
		require.Regexp(t, misplaced, wrong)
	}
	calls := 0
	for _, dir := range []string{"../*.go", "../picture/*.go", "../dashboard/*.go", "*.go"} {
		files, err := filepath.Glob(dir)
		require.NoError(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				method, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || method.Sel.Name != "Put" && method.Sel.Name != "PutNonEmpty" {
					return true
				}
				if literal, ok := call.Args[0].(*ast.BasicLit); ok {
					calls++
					checkMarkup(t, set.Position(call.Pos()).String(), literal.Value, call.Args[1:])
				}
				return true
			})
		}
	}
	require.Greater(t, calls, 100, "the markup is not where this test looks for it")
}

func checkMarkup(t *testing.T, place, literal string, values []ast.Expr) {
	text, err := strconv.Unquote(literal)
	require.NoError(t, err, place)
	require.Equal(t, strings.Count(text, "{}"), len(values), "%s: places and values", place)
	require.NotRegexp(t, misplaced, text, place)
	for _, link := range regexp.MustCompile(`href="\{\}"`).FindAllStringIndex(text, -1) {
		value, ok := values[strings.Count(text[:link[0]], "{}")].(*ast.CallExpr)
		require.True(t, ok, "%s: the value of a link is no Address", place)
		require.Equal(t, "Address", value.Fun.(*ast.SelectorExpr).Sel.Name, place)
	}
}

package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// maxColumns is how wide a comment is: two files stand side by side on a screen.
const maxColumns = 100

func TestCommentsWrap(t *testing.T) {
	root := os.DirFS("../..")
	files := 0
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			return err
		}
		files++
		src, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		for _, wide := range findWideComments(t, name, src) {
			t.Error(wide)
		}
		return nil
	}))
	require.Greater(t, files, 500, "the walk found no source")
}

// findWideComments says where a line of prose in a comment is wider than maxColumns. Examples,
// which are indented, and what stands behind code are as wide as they need.
func findWideComments(t *testing.T, name string, src []byte) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	lines := strings.Split(string(src), "\n")
	for _, group := range file.Comments {
		for _, c := range group.List {
			at := fset.Position(c.Pos())
			line := lines[at.Line-1]
			prose, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
			if ok && strings.TrimLeft(prose, " \t") == prose && utf8.RuneCountInString(line) > maxColumns && strings.Contains(prose, " ") {
				found = append(found, fmt.Sprintf("%s: a comment is wider than %d columns", at, maxColumns))
			}
		}
	}
	return found
}

func TestFindWideComments(t *testing.T) {
	wide := strings.Repeat("word ", 20)
	require.Len(t, findWideComments(t, "a.go", []byte("package a\n\n// "+wide+"\n")), 1)
	require.Empty(t, findWideComments(t, "a.go", []byte("package a\n\n//\t"+wide+"\n\nvar x = 1 // "+wide+"\n")))
}

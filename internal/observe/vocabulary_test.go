package observe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Every kind of kinds.go has its row, once, and says what it is.
func TestVocabulary(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "kinds.go", nil, 0)
	require.NoError(t, err)
	seen := map[event.Kind]bool{}
	for _, row := range Vocabulary() {
		require.False(t, seen[row.Kind], "%s has two rows", row.Kind)
		seen[row.Kind] = true
		require.NotEmpty(t, row.About, row.Kind)
		for i, f := range row.Fields {
			require.NotEmpty(t, f.Name, row.Kind)
			same := func(other event.FieldInfo) bool { return other.Name == f.Name }
			require.False(t, slices.ContainsFunc(row.Fields[:i], same), "%s: %s is there twice", row.Kind, f.Name)
			if slices.ContainsFunc(event.CommonFields, same) {
				require.Contains(t, f.About, "instead of", "%s: every event has %s; a field that hides it says so", row.Kind, f.Name)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			require.True(t, seen[event.Kind(kind)], "%s (%s) has no row in vocabulary.go", spec.Names[0], kind)
			delete(seen, event.Kind(kind))
		}
		return true
	})
	delete(seen, event.KindLogLine) // a word of package event
	require.Empty(t, seen, "kinds that are not in kinds.go")
}

// What the observers' own tests expect is in the vocabulary, too: kinds and quoted fields of their golden files.
func TestVocabularyOfGoldens(t *testing.T) {
	fields := map[string]map[string]bool{}
	for _, row := range Vocabulary() {
		fields[string(row.Kind)] = map[string]bool{}
		for _, f := range slices.Concat(row.Fields, event.CommonFields) {
			fields[string(row.Kind)][f.Name] = true
		}
	}
	field := regexp.MustCompile(` ([a-z0-9_]+)="`)
	var files []string
	for _, pattern := range []string{"testdata/*.golden", "testdata/*/*.golden"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	checked := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			kind, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "-> "), " ")
			if fields[kind] == nil {
				continue
			}
			for _, m := range field.FindAllStringSubmatch(line, -1) {
				checked++
				if !fields[kind][m[1]] {
					t.Errorf("the row of %s lacks the field %q (%s)", kind, m[1], name)
				}
			}
		}
	}
	require.Greater(t, checked, 500)
}

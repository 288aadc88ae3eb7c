package observe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
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
			require.False(t, slices.ContainsFunc(event.CommonFields, same), "%s: every event has %s", row.Kind, f.Name)
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

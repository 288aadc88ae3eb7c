package language

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// TestCompiledIsNotWritten: no file sets what the compiler makes, anywhere in a rule or in the
// effects.
func TestCompiledIsNotWritten(t *testing.T) {
	structs := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(of.Elem())
		case reflect.Struct:
			if structs[of] {
				return
			}
			structs[of] = true
			for key, index := range yamlfile.ListKeys(of) {
				field := of.FieldByIndex(index)
				require.False(t, strings.HasPrefix(field.Type.Name(), "Compiled"), "%s.%s", of, key)
				require.NotContains(t, key, "compiled")
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeFor[Rule]())
	visit(reflect.TypeFor[effectFile]())
	require.Greater(t, len(structs), 12)
	for _, old := range []string{"title:", "kind: a,", "kind: d,", "why: w"} {
		require.Contains(t, whole, old)
		for _, key := range []string{"compiled", "Compiled"} {
			end := ", "
			if old == "title:" {
				end = "\n"
			}
			_, err := Load(nil, treeOf(strings.Replace(whole, old, key+": {}"+end+old, 1)))
			require.ErrorContains(t, err, `unknown field "`+key+`"`)
		}
	}
}

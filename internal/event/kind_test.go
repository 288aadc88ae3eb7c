package event

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every kind is declared once, and all that is declared of it makes sense.
func TestKinds(t *testing.T) {
	seen := map[Kind]bool{}
	for _, kind := range Kinds() {
		require.False(t, seen[kind.Kind], "%s is declared twice", kind.Kind)
		seen[kind.Kind] = true
		require.NotEmpty(t, kind.About, kind.Kind)
		for _, id := range kind.IDs {
			require.True(t, slices.ContainsFunc(idFields, func(f FieldInfo) bool { return f.Key == id }), "%s: %s is no id", kind.Kind, id)
		}
		for i, f := range kind.Fields {
			require.NotEmpty(t, f.About, "%s: %s", kind.Kind, f.Key)
			require.False(t, slices.ContainsFunc(kind.Fields[:i], func(other FieldInfo) bool { return other.Key == f.Key }), "%s: %s is declared twice", kind.Kind, f.Key)
			if IsReserved(f.Key) {
				require.Contains(t, f.About, "instead of", "%s: every event has %s; a field that hides it says so", kind.Kind, f.Key)
			}
			require.True(t, f.Values == nil || f.Type == TypeText || f.Type == TypeNumber, "%s: %s", kind.Kind, f.Key)
			require.True(t, f.Unit == "" || f.Type == TypeNumber, "%s: %s", kind.Kind, f.Key)
			require.Equal(t, kind.Field(f.Key), &kind.Fields[i])
		}
	}
	for value, name := range constants(t, "Kind") {
		require.True(t, seen[Kind(value)], "%s is not declared", name)
		delete(seen, Kind(value))
	}
	require.Empty(t, seen, "kinds without a constant")
}

// Every name of a field is that of an id, of what every event has, or of a field of some kind.
func TestKeys(t *testing.T) {
	used := map[Key]bool{}
	for _, f := range slices.Concat(IDFields(), CommonFields()) {
		used[f.Key] = true
	}
	for _, kind := range Kinds() {
		for _, f := range kind.Fields {
			used[f.Key] = true
		}
	}
	for value, name := range constants(t, "Key") {
		require.True(t, used[Key(value)], "no event has the field of %s", name)
		delete(used, Key(value))
	}
	require.Empty(t, used, "fields without a constant")
}

// constants are the values and names of the package's constants of a type.
func constants(t *testing.T, typ string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	all := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if of, named := spec.Type.(*ast.Ident); named && of.Name == typ {
				value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				require.Empty(t, all[value], "%q has two constants", value)
				all[value] = spec.Names[0].Name
			}
			return true
		})
	}
	require.NotEmpty(t, all)
	return all
}

func TestUndeclared(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Kind: KindCRICall, IDs: IDs{Container: "c"}, Fields: []Field{{FieldOutcome, String("ok")}, {FieldCost, Duration(time.Second)}, {FieldRepeats, Int(2)}}}, ""},
		{Event{Kind: KindLogLine, Fields: []Field{{"any", String("thing")}}}, ""},
		{Event{Kind: KindCgroup, Fields: []Field{{FieldPIDsMax, String("max")}}}, ""},
		{Event{Kind: KindRelist, Fields: []Field{{FieldDoing, String("")}}}, ""},
		{Event{Kind: "cri.cal"}, "cri.cal is not declared"},
		{Event{Kind: KindCRICall, IDs: IDs{Goroutine: 7}}, "cri.call carries no goroutine"},
		{Event{Kind: KindCRICall, Fields: []Field{{FieldComm, String("runc")}}}, "cri.call has no field comm"},
		{Event{Kind: KindCRICall, Fields: []Field{{FieldOutcome, String("good")}}}, "cri.call: outcome is never good"},
		{Event{Kind: KindCRICall, Fields: []Field{{FieldDeadline, String("true")}}}, "cri.call: deadline is never true"},
		{Event{Kind: KindCRICall, Fields: []Field{{FieldCost, Number(2)}}}, "cri.call: cost is never 2"},
		{Event{Kind: KindCgroup, Fields: []Field{{FieldPIDsMax, String("most")}}}, "cgroup: pids_max is never most"},
	} {
		require.Equal(t, c.want, Undeclared(&c.e))
	}
}

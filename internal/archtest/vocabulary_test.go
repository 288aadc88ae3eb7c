package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// vocabulary is the package that declares the kinds and fields of events. Every other package that
// ships uses its constants.
const vocabulary = module + "internal/event"

// compiled is one package as go list prints it, with the file of its exported types.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard                bool
}

// TestVocabulary: a kind or a field written as a string literal may have a slip that the compiler
// does not see.
func TestVocabulary(t *testing.T) {
	cmd := exec.Command("go", "list", "-pgo=off", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard", module+"cmd/...", module+"internal/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	exports := map[string]string{}
	var pkgs []compiled
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p compiled
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) && p.ImportPath != vocabulary {
			pkgs = append(pkgs, p)
		}
	}
	require.Greater(t, len(pkgs), 10, "go list has lost the packages")
	fset := token.NewFileSet()
	compiledTypes := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range pkgs {
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, file)
		}
		for _, found := range literals(t, fset, compiledTypes, p.ImportPath, files) {
			t.Error(found)
		}
	}
}

// literals says, with positions, where a package writes a kind or a field as a string literal.
func literals(t *testing.T, fset *token.FileSet, from types.Importer, path string, files []*ast.File) []string {
	t.Helper()
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: from}
	_, err := conf.Check(path, fset, files, &info)
	require.NoError(t, err)
	var found []string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			value, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			switch typ := info.TypeOf(literal); {
			case typ != nil && (typ.String() == vocabulary+".Kind" || typ.String() == vocabulary+".Key") && value != "":
			case strings.Contains(value, ".") && event.KindNamed(event.Kind(value)) != nil:
			default:
				return true
			}
			found = append(found, fmt.Sprintf("%s: %q: package event has a constant for it", fset.Position(literal.Pos()), value))
			return true
		})
	}
	return found
}

// The checker itself can fail, on each thing it looks for.
func TestLiterals(t *testing.T) {
	const declared = `package event; type Kind string; type Key string; const KindFact Kind = "fact"; type Event struct{ Kind Kind }; func (e Event) Get(Key) string { return "" }`
	fset := token.NewFileSet()
	check := func(path, src string, from types.Importer) (*ast.File, *types.Package) {
		file, err := parser.ParseFile(fset, "a.go", src, parser.SkipObjectResolution)
		require.NoError(t, err)
		if from != nil {
			return file, nil
		}
		conf := types.Config{}
		pkg, err := conf.Check(path, fset, []*ast.File{file}, nil)
		require.NoError(t, err)
		return file, pkg
	}
	_, pkg := check(vocabulary, declared, nil)
	from := only{pkg}
	for _, tc := range []struct {
		src  string
		want int
	}{
		{`func f(e event.Event) bool { return e.Kind == "fact" }`, 1},
		{`func f(e event.Event) { switch e.Kind { case "noise", event.KindFact: } }`, 1},
		{`var e = event.Event{Kind: "fact"}`, 1},
		{`const k = event.Kind("fact")`, 1},
		{`var all = []event.Kind{"fact", "noise"}`, 2},
		{`func f(e event.Event) string { return e.Get("name") }`, 1},
		{`func f(e event.Event) bool { return string(e.Kind) == "lock.held" }`, 1},
		{`func f(e event.Event) bool { return e.Kind == event.KindFact && e.Kind != "" }`, 0},
		{`var e event.Event; var fact = "fact"`, 0},
	} {
		file, _ := check("a", "package a; import \""+vocabulary+"\"; "+tc.src, from)
		require.Len(t, literals(t, fset, from, "a", []*ast.File{file}), tc.want, tc.src)
	}
}

// only imports one package.
type only struct{ pkg *types.Package }

func (o only) Import(string) (*types.Package, error) { return o.pkg, nil }

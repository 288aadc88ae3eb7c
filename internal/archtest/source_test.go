package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// starter is the package that starts goroutines; everything else is plain functions.
const starter = "internal/incident"

// touchers are the packages that touch the machine or ask the cluster: they have its clock, their
// own secrets, and goroutines around what may hang. Batch starts processes: it waits for several of
// them, and says how long that still takes; mcp answers several clients at the same time. What is
// found in a bundle depends on none of it.
var touchers = map[string]bool{"internal/collect": true, "internal/collect/apiserver": true, "internal/batch": true, "internal/mcp": true}

// touching are what it may use besides.
var touching = map[string]bool{"time.Now": true, "crypto/rand": true}

// Why a package may not use something.
const (
	evidence   = "clock and zone come from the evidence"
	determined = "a report depends on the bundle alone"
	handedIn   = "output goes to the writer that was handed in"
	mainEnds   = "only main ends the program"
)

// banned is what the packages below internal/ may not use, by import path and
// name; a path alone bans all of it.
var banned = map[string]string{
	"time.Now": evidence, "time.Since": evidence, "time.Until": evidence, "time.Local": evidence,
	"os.Getenv": determined, "os.LookupEnv": determined, "os.Environ": determined, "os.ExpandEnv": determined,
	"os.Hostname": determined, "math/rand": determined, "math/rand/v2": determined, "crypto/rand": determined,
	"fmt.Print": handedIn, "fmt.Printf": handedIn, "fmt.Println": handedIn, "os.Stdout": handedIn, "os.Stderr": handedIn,
	"log": handedIn, "log/slog": handedIn, "os.Exit": mainEnds,
}

// once are the parts of package sync that need no second goroutine.
var once = map[string]bool{"Once": true, "OnceFunc": true, "OnceValue": true, "OnceValues": true}

func TestSource(t *testing.T) {
	root := os.DirFS("../..")
	files := 0
	err := fs.WalkDir(root, "internal", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !ships(name) {
			return err
		}
		files++
		src, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		for _, c := range complaints(t, name, src) {
			t.Error(c)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 10, "the walk found no source")
}

func ships(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "/testdata/")
}

// complaints says, with positions, what a file uses that its package may not use.
func complaints(t *testing.T, name string, src []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	complain := func(at ast.Node, what, why string) {
		found = append(found, fmt.Sprintf("%s: %s: %s", fset.Position(at.Pos()), what, why))
	}
	touches := touchers[path.Dir(name)]
	starts := path.Dir(name) == starter || touches
	imports := map[string]string{} // by the name that the file gives them
	for _, imp := range file.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		require.NoError(t, err)
		local := path.Base(p)
		if imp.Name != nil {
			local = imp.Name.Name
		}
		imports[local] = p
		if why, ok := banned[p]; ok && !(touches && touching[p]) {
			complain(imp, p, why)
		}
		if !starts && strings.HasPrefix(p, "golang.org/x/sync") {
			complain(imp, p, "only "+starter+" starts goroutines")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if !starts {
				complain(n, "go statement", "only "+starter+" starts goroutines")
			}
		case *ast.CallExpr: // t.Local(), of whatever t
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Local" && len(n.Args) == 0 {
				complain(n, "Local()", evidence)
			}
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			used := imports[id.Name] + "." + n.Sel.Name
			if why, ok := banned[used]; ok && !(touches && touching[used]) {
				complain(n, used, why)
			}
			if imports[id.Name] == "sync" && !once[n.Sel.Name] && !starts {
				complain(n, used, "only "+starter+" starts goroutines")
			}
		}
		return true
	})
	return found
}

// commands is the one package below internal/rules that knows programs: those whose commands change
// a node or its pods.
const commands = "internal/rules/shell"

// nodeWords are names of what rules speak of. The engine, with all below it, must know none of
// them: what a program of the node does stands in the catalogue, in the observers, in timeline or
// in story. Comments may give examples; the schema of rules is made from them.
var nodeWords = regexp.MustCompile(`PLEG|\bCRI|(?i:relist|\bstall|kubelet|containerd|docker|\bcri-?o|\brunc|\bshim|systemd|listcontainers|podsandbox|containerstatus)`)

func TestEngineKnowsNoProgram(t *testing.T) {
	root := os.DirFS("../..")
	packages := map[string]bool{}
	require.NoError(t, fs.WalkDir(root, "internal/rules", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !ships(name) || path.Dir(name) == commands {
			return err
		}
		packages[path.Dir(name)] = true
		src, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		require.Empty(t, findNodeWords(t, name, src))
		return nil
	}))
	for _, dir := range []string{"", "/language", "/condition", "/template", "/catalog"} {
		require.Contains(t, packages, "internal/rules"+dir)
	}
	for src, want := range map[string]int{
		`const source = "containerd.log"`:                            1,
		`var stalls, s = 1, "PLEG is not healthy"`:                   2,
		`func callCRI() { listContainers() }; func listContainers()`: 2,
		`import "github.com/plegdiag/plegdiag/internal/event"`:       0,
		`var installed = 1 // kubelet`:                               0,
	} {
		require.Len(t, findNodeWords(t, "a.go", []byte("package a\n"+src)), want, src)
	}
}

// findNodeWords says, with positions, which names and texts of a file speak of a program of the
// node.
func findNodeWords(t *testing.T, name string, src []byte) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		text := ""
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Ident:
			text = n.Name
		case *ast.BasicLit:
			text = n.Value
		}
		if word := nodeWords.FindString(text); word != "" {
			found = append(found, fmt.Sprintf("%s: the engine of rules speaks of %q", fset.Position(n.Pos()), word))
		}
		return true
	})
	return found
}

// The checker itself can fail, on each thing it looks for.
func TestComplaints(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"internal/rules/a.go", `import "time"; var t = time.Now()`, "internal/rules/a.go:1:35: time.Now: clock and zone"},
		{"internal/rules/a.go", `import clock "time"; var t = clock.Now`, "time.Now"},
		{"internal/rules/a.go", `import "time"; var z = time.Local`, "time.Local"},
		{"internal/rules/a.go", `import "time"; func f(t time.Time) { t.Local() }`, "Local()"},
		{"internal/rules/a.go", `import "os"; var v = os.Getenv("TZ")`, "os.Getenv"},
		{"internal/rules/a.go", `import "fmt"; func f() { fmt.Println() }`, "fmt.Println"},
		{"internal/rules/a.go", `import "math/rand/v2"; var n = rand.Int()`, "math/rand/v2"},
		{"internal/rules/a.go", `func f() { go f() }`, "go statement: only internal/incident starts goroutines"},
		{"internal/rules/a.go", `import "sync"; var mu sync.Mutex`, "sync.Mutex"},
		{"internal/rules/a.go", `import "golang.org/x/sync/errgroup"; var g errgroup.Group`, "golang.org/x/sync/errgroup"},
		{"internal/incident/a.go", `import "os"; func f() { os.Exit(1) }`, "os.Exit"},
		{"internal/incident/a.go", `import "sync"; var mu sync.Mutex; func f() { go f() }`, ""},
		{"internal/collect/a.go", `import "time"; func f() { go f() }; var t = time.Now`, ""},
		{"internal/collect/a.go", `import "os"; var h, _ = os.Hostname()`, "os.Hostname"},
		{"internal/collect/a.go", `import "time"; func f(t time.Time) { t.Local() }`, "Local()"},
		{"internal/rules/a.go", `import "sync"; var load = sync.OnceValue(f); func f() int { return 1 }`, ""},
		{"internal/rules/a.go", `import "time"; func f(now time.Time) int { var os struct{ Exit int }; return os.Exit }`, ""},
	} {
		got := complaints(t, tc.name, []byte("package a; "+tc.src))
		if tc.want == "" {
			require.Empty(t, got, tc.src)
			continue
		}
		require.Len(t, got, 1, tc.src)
		require.Contains(t, got[0], tc.want)
	}
}

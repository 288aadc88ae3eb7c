package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnusedMethodsAreLeftOut: the linker leaves out methods that nobody calls. It cannot where
// code that may run looks methods up by names which it learns then, as text/template and
// html/template do (reflect.Value.MethodByName): every exported method of every type stays, an
// eighth of the program.
func TestUnusedMethodsAreLeftOut(t *testing.T) {
	// What this test looks at is what go test runs it again for.
	for _, source := range []string{"cmd", "internal", "docs", "fleet", "go.mod"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", source), func(_ string, _ fs.DirEntry, err error) error { return err }))
	}
	chain := chainToLookup(t, "../..", "./cmd/plegdiag")
	if len(chain) > 0 {
		t.Fatalf("the program looks methods up by name, so that all of them are linked. How it comes there:\n%s\n"+
			"Do without it, or without the package that does", strings.Join(chain, "\n"))
	}

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module looks\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(`package main

import (
	"os"
	"text/template"
)

func main() { _ = template.Must(template.New("").Parse("")).Execute(os.Stdout, nil) }
`), 0o600))
	chain = chainToLookup(t, dir, ".")
	require.Contains(t, chain, "main.main", "what go build -ldflags=-dumpdep prints has changed: this test finds nothing in it")
	require.Contains(t, chain[len(chain)-1], "text/template.")
}

// attribute is what the linker says of a symbol behind its name.
var attribute = regexp.MustCompile(` <[A-Z][A-Za-z]*>`)

// chainToLookup is how a program comes to look methods up by name: a function, what that one needs,
// and so on; empty where it does not.
func chainToLookup(t *testing.T, dir, pkg string) (chain []string) {
	build := exec.Command("go", "build", "-pgo=off", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "program"), pkg)
	build.Dir = dir
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%.2000s", said)
	first, neededBy := "", map[string]string{}
	for line := range strings.Lines(string(said)) {
		from, to, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " -> ")
		if !ok {
			continue
		}
		name := attribute.ReplaceAllString(to, "")
		neededBy[name] = attribute.ReplaceAllString(from, "")
		if first == "" && strings.Contains(to, "<ReflectMethod>") {
			first = name // later ones may be methods that are kept because of it
		}
	}
	require.Contains(t, neededBy, "main.main", "the linker does not say what needs what")
	for at := first; neededBy[at] != ""; at = neededBy[at] {
		chain = append(chain, at)
		if len(chain) > len(neededBy) {
			break // never in a tree
		}
	}
	slices.Reverse(chain)
	return chain
}

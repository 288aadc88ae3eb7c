package language

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// builtinFiles are the rules that ship with plegdiag. Package catalog, which has them, stands above
// this one.
var builtinFiles = Files{FS: os.DirFS("../catalog"), Dir: "catalog"}

// whole is a rule that has a little of everything, cure one with a cure, in two lines of its
// remediation.
var whole, cure = readTestdata("whole.yaml"), readTestdata("cure.yaml")

func readTestdata(name string) string {
	text, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// loadAll loads a tree in which nothing is wrong.
func loadAll(t *testing.T, files Files) *Catalog {
	t.Helper()
	cat, err := Load(nil, files)
	require.NoError(t, err)
	return cat
}

// loadText loads a rule that a test wrote.
func loadText(t *testing.T, text string) *Catalog {
	t.Helper()
	return loadAll(t, treeOf(text))
}

// treeOf is a tree of one rule.
func treeOf(text string) Files { return Files{FS: fstest.MapFS{"rule.yaml": {Data: []byte(text)}}} }

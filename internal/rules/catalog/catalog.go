// Package catalog holds the rules that ship with plegdiag: their files, and what is read from them.
package catalog

import (
	"embed"
	"sync"

	"github.com/plegdiag/plegdiag/internal/rules/language"
)

//go:embed *.yaml
var files embed.FS

// packed is the catalogue as [language.Pack] reads it: to read its YAML takes most of the time of a
// short run.
//
//go:embed catalog.packed
var packed string

// Builtin is the catalogue that ships with plegdiag, the same for every caller: nobody may change
// it. It is not linted: a test holds that there is nothing to say, and every start would pay for
// it.
func Builtin() (*language.Catalog, error) { return builtinCatalog() }

var builtinCatalog = sync.OnceValues(func() (*language.Catalog, error) {
	if catalog := language.Unpack(packed, BuiltinFiles()); catalog != nil {
		return catalog, nil
	}
	return language.LoadLinted(BuiltinFiles())
})

// BuiltinFiles are the rule files that ship with plegdiag.
func BuiltinFiles() language.Files { return language.Files{FS: files, Dir: "catalog"} }

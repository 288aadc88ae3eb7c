// Package catalog holds the rules that ship with plegdiag: their files, and what the program reads
// of them. The files are not in the program.
package catalog

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// packed is the catalogue as [language.Pack] writes it: to read its YAML takes most of the time of
// a short run. A test holds that it says what the files say.
//
//go:embed catalog.packed
var packed string

// Builtin is the catalogue that ships with plegdiag, the same for every caller: nobody may change
// it.
func Builtin() (*language.Catalog, error) { return builtinCatalog() }

var builtinCatalog = sync.OnceValues(func() (*language.Catalog, error) {
	catalog, err := language.Unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("catalog.packed: %w", err)
	}
	return catalog, nil
})

package catalog

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules/language"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestBuiltinLoads(t *testing.T) {
	cat, err := Builtin()
	require.NoError(t, err)
	for i := range cat.Rules {
		require.Equal(t, &cat.Rules[i], cat.Rule(cat.Rules[i].ID))
	}
	require.Nil(t, cat.Rule("no-such-rule"))
}

// TestPackedCatalogue: catalog.packed says what the files of the catalogue say.
func TestPackedCatalogue(t *testing.T) {
	const file = "catalog.packed"
	fresh, err := language.Pack(BuiltinFiles())
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(file, fresh, 0o644))
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, string(fresh) == string(kept), "%s is older than the rules: go test ./internal/rules/catalog -update", file)
	require.NotNil(t, language.Unpack(string(kept), BuiltinFiles()), "the program starts from it")
}

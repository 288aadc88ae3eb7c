package catalog

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
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

// TestNamedEffects holds that each effect that a tell or an effect names is there, and before it.
func TestNamedEffects(t *testing.T) {
	cat, err := Builtin()
	require.NoError(t, err)
	var known []string
	for i := range cat.Effects {
		require.Subset(t, append(known, ""), []string{cat.Effects[i].Unless})
		known = append(known, cat.Effects[i].ID)
	}
	for i := range cat.Rules {
		for _, tell := range cat.Rules[i].Tells {
			require.Subset(t, append(known, ""), append(tell.ShownBy, tell.Unless), "%s: %s", cat.Rules[i].ID, tell.ID)
		}
	}
}

// TestPackedCatalogue: nothing is wrong with the files of the catalogue, they speak of nothing that
// observers do not make, and catalog.packed says what they say.
func TestPackedCatalogue(t *testing.T) {
	const file = "catalog.packed"
	files := language.Files{FS: os.DirFS("."), Dir: "catalog"}
	checked, err := language.Load(event.Kinds(), files)
	require.NoError(t, err)
	require.Empty(t, checked.Warnings)
	fresh, err := language.Pack(files)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(file, fresh, 0o644))
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, string(fresh) == string(kept), "%s is older than the rules: go test ./internal/rules/catalog -update", file)
}

// waitsForLock are the things that a goroutine does while it waits for a lock, as FieldDoing says.
var waitsForLock = []string{
	"bolt-lock", "snapshot-lock", "nri-sync", "nri-update", "nri-adaptation", "nri-lock", "metrics-add", "metrics-lock", "own-lock", "service-lock", "exit-lock", "reap-lock",
	"ttrpc", "ttrpc-receive",
}

// TestGoroutineInAllForms: who waits is told as goroutine.wait by itself, as lock.held as soon as
// the dump shows somebody who waits behind it, and as lock.wait as soon as it shows the holder of
// its own lock. More of a dump makes no rule lose the goroutine, so that who asks for one form of
// it asks for the others.
func TestGoroutineInAllForms(t *testing.T) {
	cat, err := Builtin()
	require.NoError(t, err)
	asked := 0
	for i := range cat.Rules {
		r := &cat.Rules[i]
		var steps, objections [][]language.Pattern
		for _, s := range r.Steps {
			steps = append(steps, s.Compiled.Patterns)
		}
		for _, o := range r.RulesOut {
			objections = append(objections, []language.Pattern{o.Pattern})
		}
		for _, list := range [][]language.TellRule{r.Tells, r.Supports} {
			for _, t := range list {
				steps = append(steps, t.Compiled.Patterns)
			}
		}
		for _, all := range [][][]language.Pattern{steps, objections} {
			for _, p := range slices.Concat(all...) {
				if p.Kind != event.KindGoroutine {
					continue
				}
				asked++
				forms := []event.Kind{event.KindLockHeld}
				if doing, _ := p.Match["doing"].(string); slices.Contains(waitsForLock, doing) {
					forms = append(forms, event.KindLockWait)
				}
				for _, form := range forms {
					require.True(t, slices.ContainsFunc(slices.Concat(all...), func(other language.Pattern) bool {
						return other.Kind == form && asksNoMore(other.Match, p.Match)
					}), "%s takes no %s with %v", r.ID, form, p.Match)
				}
			}
		}
	}
	require.Greater(t, asked, 40)
}

// asksNoMore says whether a pattern of a form asks for the same of what the goroutine does as one
// of goroutine.wait. How sure that is, and for how long it waits, other steps may ask differently.
func asksNoMore(form, wait map[string]any) bool {
	for key, value := range form {
		switch key {
		case "wait|gte", "again|gte":
			continue
		}
		if !reflect.DeepEqual(wait[key], value) {
			return false
		}
	}
	return true
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// bindRules is the flag that adds a user's own rules to the catalogue.
func bindRules(cmd *cobra.Command, dirs *[]string) {
	cmd.Flags().StringArrayVar(dirs, "rules", nil, "also use the rules in `DIR` (or one rule file); may be repeated")
	if err := cmd.MarkFlagDirname("rules"); err != nil {
		panic(err) //nolint:forbidigo // a broken table of flags, not an input: the flag was bound above
	}
}

// loadCatalog loads the built-in rules and a user's own.
func loadCatalog(dirs []string) (*language.Catalog, error) {
	if len(dirs) == 0 {
		return catalog.Builtin()
	}
	catalog, err := checkCatalog(dirs)
	if _, ok := errors.AsType[yamlfile.Problems](err); ok {
		const hint = "plegdiag rules lint shows what is wrong with rules before they are used"
		return nil, &failure{status: statusFailed, err: err, hint: hint}
	}
	return catalog, err
}

// checkCatalog loads the built-in rules, too, as if they were new.
func checkCatalog(dirs []string) (*language.Catalog, error) {
	trees := []language.Files{catalog.BuiltinFiles()}
	for _, dir := range dirs {
		tree, err := ruleFiles(dir)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	return language.Load(event.Kinds(), trees...)
}

// ruleFiles is a directory of rules, or one rule file.
func ruleFiles(path string) (language.Files, error) {
	info, err := os.Stat(path)
	if err != nil {
		return language.Files{}, fmt.Errorf("rules: %w", err)
	}
	if info.IsDir() {
		return language.Files{FS: os.DirFS(path), Dir: filepath.ToSlash(path)}, nil
	}
	dir, name := filepath.Split(path)
	return language.Files{FS: os.DirFS(filepath.Clean(dir)), Dir: filepath.ToSlash(dir), Only: name}, nil
}

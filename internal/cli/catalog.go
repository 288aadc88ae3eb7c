package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// BindRules is the flag that adds a user's own rules to the catalogue.
func BindRules(cmd *cobra.Command, dirs *[]string) {
	cmd.Flags().StringArrayVar(dirs, "rules", nil, "also use the rules in `DIR` (or one rule file); may be repeated")
	if err := cmd.MarkFlagDirname("rules"); err != nil {
		panic(err) //nolint:forbidigo // a broken table of flags, not an input: the flag was bound above
	}
}

// LoadCatalog loads the built-in rules and a user's own.
func LoadCatalog(dirs []string) (*language.Catalog, error) {
	if len(dirs) == 0 {
		return catalog.Builtin()
	}
	catalog, err := CheckCatalog(dirs)
	if _, ok := errors.AsType[yamlfile.Problems](err); ok {
		const hint = "plegdiag rules lint shows what is wrong with rules before they are used"
		return nil, &Failure{Status: StatusFailed, Err: err, Hint: hint}
	}
	return catalog, err
}

// CheckCatalog loads the built-in rules and those of dirs, with all that is wrong with these.
func CheckCatalog(dirs []string) (*language.Catalog, error) {
	builtin, err := catalog.Builtin()
	if err != nil {
		return nil, err
	}
	var trees []language.Files
	for _, dir := range dirs {
		tree, err := RuleFiles(dir)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	return builtin.Extend(event.Kinds(), trees...)
}

// RuleFiles is a directory of rules, or one rule file.
func RuleFiles(path string) (language.Files, error) {
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

// MaxRuleLine bounds a line of a rule that is shown, in columns; no rule file is that long.
const MaxRuleLine = 1 << 20

// CompleteRules completes the first argument of a command with the ids of rules, also of those that
// its flag --rules names.
func CompleteRules(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	dirs, _ := cmd.Flags().GetStringArray("rules") // nil when there is no such flag
	slices.Sort(dirs)
	catalog, err := LoadCatalog(slices.Compact(dirs)) // cobra parses the flags twice while it completes
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []cobra.Completion
	for _, r := range catalog.Rules {
		ids = append(ids, cobra.CompletionWithDesc(r.ID, show.Escape(r.Title, MaxRuleLine)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

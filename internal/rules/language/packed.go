package language

import (
	"path"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/rules/pack"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// packedTree is a tree of rules as it was decoded from YAML, before it is compiled.
type packedTree struct {
	Digest  string // of the files
	Rules   []*Rule
	Effects []TellRule
}

// decodeTree reads a tree from its files, which must be without mistakes.
func decodeTree(files Files) (*packedTree, error) {
	tree := new(packedTree)
	var err error
	if tree.Digest, err = digest(files); err != nil {
		return nil, err
	}
	var wrong yamlfile.Problems
	keys := yamlfile.Keys{}
	err = files.readEach(func(name string, text []byte) {
		src, problem := yamlfile.Read(name, text)
		if problem != nil {
			wrong = append(wrong, problem)
			return
		}
		if path.Base(name) == effectFileName {
			var read effectFile
			wrong = append(wrong, src.Decode(&read, keys)...)
			tree.Effects = append(tree.Effects, read.Effects...)
		} else {
			rule := new(Rule)
			wrong = append(wrong, src.Decode(rule, keys)...)
			tree.Rules = append(tree.Rules, rule)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	slices.SortFunc(tree.Rules, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) })
	return tree, nil
}

// Pack writes a tree of rules, which must be without mistakes, in a form that [Unpack] reads fast.
func Pack(files Files) ([]byte, error) {
	tree, err := decodeTree(files)
	if err != nil {
		return nil, err
	}
	return pack.Write(tree)
}

// Unpack is the catalogue of a tree that was packed. Its rules are not linted again: that of the
// program's own would be paid for by every start. It fails on what another version packed.
func Unpack(packed string) (*Catalog, error) {
	tree := new(packedTree)
	if err := pack.Read(packed, tree); err != nil {
		return nil, err
	}
	catalog := &Catalog{Digest: tree.Digest, Rules: make([]Rule, len(tree.Rules))}
	for i, rule := range tree.Rules {
		if wrong := compile(rule, &yamlfile.Source{File: rule.ID}); len(wrong) > 0 {
			return nil, wrong
		}
		catalog.Rules[i] = *rule
	}
	effects, wrong := compileEffects(tree.Effects, &yamlfile.Source{File: effectFileName})
	if len(wrong) > 0 {
		return nil, wrong
	}
	catalog.Effects = effects.Supports
	return catalog, nil
}

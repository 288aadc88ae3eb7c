package language

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/spelling"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// Catalog is a checked set of rules.
type Catalog struct {
	Rules   []Rule     // by id
	Effects []TellRule // of all trees, in their order
	// Digest is that of the files which were packed; empty for a catalogue that was not packed.
	Digest string
	// Warnings are what is wrong with rules that load all the same. A later release refuses them.
	Warnings yamlfile.Problems
}

// Files is a tree of rule files: every .yaml file in it is one rule, except effects.yaml, which has
// the effects of all, and what is below a directory that holds a fixture.
type Files struct {
	FS  fs.FS
	Dir string // how problems name the tree; empty for paths inside it
	// Only is the one file to read; empty for all.
	Only string
}

// FixtureFile is the file by which the directory of a fixture is known.
const FixtureFile = "want.yaml"

// readEach calls rule with every rule file, in the order of their names.
func (f Files) readEach(rule func(name string, text []byte)) error {
	read := func(name string) error {
		text, err := f.readFile(name)
		if err == nil {
			rule(path.Join(f.Dir, name), text)
		}
		return err
	}
	if f.Only != "" {
		return read(f.Only)
	}
	return fs.WalkDir(f.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := fs.Stat(f.FS, path.Join(name, FixtureFile)); err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".yaml" {
			return nil
		}
		return read(name)
	})
}

// readFile reads a file, but no more of it than shows that it is too large to be a rule: it may be
// /dev/zero.
func (f Files) readFile(name string) ([]byte, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, yamlfile.MaxSize+1))
}

// Rule returns the rule of that id, or nil.
func (c *Catalog) Rule(id string) *Rule {
	i, found := slices.BinarySearchFunc(c.Rules, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !found {
		return nil
	}
	return &c.Rules[i]
}

// IDs are the ids of all rules, in order.
func (c *Catalog) IDs() []string {
	return listTexts(c.Rules, func(r *Rule) string { return r.ID })
}

// Lines are the log lines that the rules ask for by their text. A nil catalogue asks for none.
func (c *Catalog) Lines() []event.LineWatch {
	if c == nil {
		return nil
	}
	var all []event.LineWatch
	for i := range c.Rules {
		all = append(all, c.Rules[i].lines...)
	}
	return all
}

// Load reads the rules of all trees into one catalogue. They may only speak of events that are
// known; nil knows any. When there is a mistake Load returns no catalogue, and all that is wrong,
// warnings too, as [yamlfile.Problems].
func Load(known []event.KindInfo, trees ...Files) (*Catalog, error) {
	return newLoader(known).load(trees...)
}

// Extend is the catalogue of what c has and of the rules of all trees, which are read as [Load]
// reads them. The catalogue c is not changed.
func (c *Catalog) Extend(known []event.KindInfo, trees ...Files) (*Catalog, error) {
	l := newLoader(known)
	l.catalog.Rules, l.catalog.Effects = slices.Clone(c.Rules), slices.Clone(c.Effects)
	for i := range c.Rules {
		l.byID[c.Rules[i].ID] = builtinRule
	}
	return l.load(trees...)
}

// builtinRule stands for the files of a catalogue that is extended: it is checked already.
var builtinRule = &crossReferences{file: "a built-in rule"}

// loader gathers rules and what is wrong with them.
type loader struct {
	known   []event.KindInfo
	catalog Catalog
	byID    map[string]*crossReferences
	keys    yamlfile.Keys
	wrong   yamlfile.Problems
}

func newLoader(known []event.KindInfo) *loader {
	return &loader{known: known, byID: map[string]*crossReferences{}, keys: yamlfile.Keys{}}
}

func (l *loader) load(trees ...Files) (*Catalog, error) {
	for _, tree := range trees {
		if err := tree.readEach(l.addFile); err != nil {
			return nil, err
		}
	}
	catalog := &l.catalog
	slices.SortFunc(catalog.Rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	if l.wrong.Mistakes() == 0 { // else a rule that could not be read would seem unknown
		for i := range catalog.Rules {
			r := &catalog.Rules[i]
			if at := l.byID[r.ID]; at != builtinRule {
				l.wrong = append(l.wrong, catalog.checkExplanations(r, at)...)
			}
		}
	}
	if l.wrong.Mistakes() > 0 {
		return nil, l.wrong
	}
	catalog.Warnings = l.wrong
	return catalog, nil
}

// crossReferences are where a rule speaks of others, which can only be checked when all are known.
// The tree of its file, some hundred times its size, is not kept for that.
type crossReferences struct {
	file string
	rule []yamlfile.Problem   // by explained_by: with the place of the other rule's id
	join [][]yamlfile.Problem // by explained_by and bind
}

func findCrossReferences(r *Rule, src *yamlfile.Source) *crossReferences {
	x := &crossReferences{file: src.File}
	for i, d := range r.ExplainedBy {
		x.rule = append(x.rule, *src.Problem(yamlfile.Place{"explained_by", i, "rule"}, ""))
		var join []yamlfile.Problem
		for j := range d.Join {
			join = append(join, *src.Problem(yamlfile.Place{"explained_by", i, "join", j}, ""))
		}
		x.join = append(x.join, join)
	}
	return x
}

func (l *loader) addFile(name string, text []byte) {
	if path.Base(name) == effectFileName {
		effects, wrong := readEffects(name, text, l.known)
		l.wrong = append(l.wrong, wrong...)
		if effects != nil {
			l.catalog.Effects = append(l.catalog.Effects, effects.Supports...)
		}
		return
	}
	rule, src, wrong := l.parseRule(name, text)
	l.wrong = append(l.wrong, wrong...)
	if rule == nil {
		return
	}
	if other := l.byID[rule.ID]; other != nil {
		l.wrong = append(l.wrong, src.Problem(yamlfile.Place{"id"}, "id %q is taken by %s", rule.ID, other.file))
		return
	}
	l.byID[rule.ID] = findCrossReferences(rule, src)
	l.catalog.Rules = append(l.catalog.Rules, *rule)
}

// checkExplanations checks what one rule says about others: that they exist, know the joined binds,
// and do not lead back.
func (c *Catalog) checkExplanations(r *Rule, at *crossReferences) (wrong yamlfile.Problems) {
	for i, d := range r.ExplainedBy {
		other := c.Rule(d.Rule)
		if other == nil {
			wrong = append(wrong, at.rule[i].WithReason("unknown rule %q%s", d.Rule, spelling.DidYouMean(d.Rule, c.IDs())))
			continue
		}
		for j, name := range d.Join {
			if other.FindVariable(name) < 0 {
				wrong = append(wrong, at.join[i][j].WithReason("rule %q binds no %q", d.Rule, name))
			}
		}
		if c.explains(other, r.ID, map[string]bool{}) {
			wrong = append(wrong, at.rule[i].WithReason("rule %q is in turn explained by %q", d.Rule, r.ID))
		}
	}
	return wrong
}

// explains says whether the rule of that id may be a cause of r, directly or through others.
func (c *Catalog) explains(r *Rule, id string, visited map[string]bool) bool {
	if r == nil || visited[r.ID] {
		return false
	}
	visited[r.ID] = true
	return r.ID == id || slices.ContainsFunc(r.ExplainedBy, func(d Deeper) bool {
		return c.explains(c.Rule(d.Rule), id, visited)
	})
}

// parseRule reads and checks one rule. The rule is nil when it has a mistake.
func (l *loader) parseRule(file string, text []byte) (*Rule, *yamlfile.Source, yamlfile.Problems) {
	src, problem := yamlfile.Read(file, text)
	if problem != nil {
		return nil, src, yamlfile.Problems{problem}
	}
	rule := new(Rule)
	unread := src.Decode(rule, l.keys)
	wrong := append(compile(rule, src), lint(rule, src, l.known)...)
	wrong = yamlfile.Merge(unread, wrong)
	if wrong.Mistakes() > 0 {
		return nil, src, wrong
	}
	return rule, src, wrong
}

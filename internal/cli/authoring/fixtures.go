package authoring

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/fixture"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

type rulesTestOptions struct {
	dirs   []string
	rules  []string
	update bool
}

func newRulesTest(s cli.Streams) *cobra.Command {
	var o rulesTestOptions
	cmd := &cobra.Command{
		Use:   "test [DIR...]",
		Short: "Run the fixtures of rules: bundles and what they must answer",
		Long: `Analyse every fixture below DIR (without DIR: here) with the built-in rules and those in DIR, and compare
the answer with its want.yaml. Exit status 1 when one differs.

A fixture is a directory with the files of an incident, in bundle/ or as bundle.tgz, and want.yaml. Those of
a rule stand beside it:

  my-rules/disk-lost.yaml
  my-rules/disk-lost/positive/bundle/   fires the rule
  my-rules/disk-lost/near-miss/bundle/  looks like it and must not fire
  my-rules/disk-lost/missing/bundle/    lacks the evidence that decides

A near-miss whose bundle is empty, or lacks what the rule needs, proves nothing: that is a warning now, and a
failure in a later release.

--update writes what is found now to the want.yaml of each that differs. It accepts nothing: read the diff.`,
		Example: `  plegdiag rules test my-rules
  plegdiag rules test my-rules --update`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dirs = args
			if len(args) == 0 {
				o.dirs = []string{"."}
			}
			return rulesTest(cmd.Context(), &o, s)
		},
	}
	cli.BindRules(cmd, &o.rules)
	cmd.Flags().BoolVar(&o.update, "update", false, "write want.yaml where it differs")
	return cmd
}

func rulesTest(ctx context.Context, o *rulesTestOptions, s cli.Streams) error {
	loaded, err := cli.LoadCatalog(append(slices.Clone(o.dirs), o.rules...))
	if err != nil {
		return err
	}
	builtin, err := catalog.Builtin()
	if err != nil {
		return err
	}
	t := tester{catalog: loaded, builtin: builtin, update: o.update, out: bufio.NewWriter(s.Out), tested: map[string]bool{}}
	for _, dir := range o.dirs {
		found, err := fixture.Find(dir)
		if err != nil {
			return err
		}
		for i := range found {
			if err := t.runFixture(ctx, &found[i]); err != nil {
				return err
			}
		}
	}
	return t.printTotals(o.dirs)
}

// tester runs fixtures and prints a row for each.
type tester struct {
	catalog *language.Catalog
	builtin *language.Catalog
	update  bool
	out     *bufio.Writer
	tested  map[string]bool // rules that have a fixture
	ran     int
	failed  int
	warned  int
}

// runFixture prints "ok", "FAIL" or "wrote", what the fixture's rule answers, and its name.
func (t *tester) runFixture(ctx context.Context, f *fixture.Fixture) error {
	t.ran++
	rule := f.Rule(t.catalog)
	t.tested[rule] = true
	inc, err := f.Run(ctx, t.catalog)
	if err != nil {
		t.printRow("FAIL", "", f.Name)
		fmt.Fprintln(t.out, "      "+show.Escape(err.Error(), maxDifference))
		t.failed++
		return ctx.Err()
	}
	differences, err := f.Compare(inc)
	if err != nil {
		differences = strings.Split(err.Error(), "\n")
	}
	weak := f.WhyProvesNothing(inc, rule)
	if weak != "" && t.builtin.Rule(rule) != nil {
		differences, weak = append(differences, weak), ""
	}
	switch {
	case len(differences) == 0:
		t.printRow("ok", describeAnswer(inc, rule), f.Name)
		t.printWarning(weak)
		return nil
	case t.update:
		t.printRow("wrote", describeAnswer(inc, rule), f.Name)
		return f.Update(inc, t.catalog, rule)
	}
	t.failed++
	t.printRow("FAIL", describeAnswer(inc, rule), f.Name)
	for _, line := range differences {
		fmt.Fprintln(t.out, "      "+show.Escape(line, maxDifference))
	}
	t.printWarning(weak)
	return nil
}

// printWarning prints what is no failure yet; an empty text is none.
func (t *tester) printWarning(text string) {
	if text != "" {
		fmt.Fprintln(t.out, "      warning: "+show.Escape(text, maxDifference))
		t.warned++
	}
}

// maxDifference bounds one line of a difference, in columns.
const maxDifference = 500

func (t *tester) printRow(result, answer, name string) {
	fmt.Fprintf(t.out, "%-5s %-13s %s\n", result, answer, show.Escape(name, maxDifference))
}

// describeAnswer is the verdict on the rule that a fixture is for; without one, how much was found.
func describeAnswer(inc *incident.Incident, rule string) string {
	if rule == "" {
		return show.Plural(len(inc.Result.Findings), "finding")
	}
	return fixture.VerdictOf(inc, rule).String()
}

// printTotals prints how many fixtures ran and failed, and which rules have none. It is an error
// when there was none, or one failed.
func (t *tester) printTotals(dirs []string) error {
	if t.ran == 0 {
		return &cli.Failure{
			Status: cli.StatusFailed, Err: fmt.Errorf("no fixture below %s", strings.Join(dirs, ", ")),
			Hint: "a fixture is a directory with bundle/ and want.yaml; plegdiag rules test --help shows how they lie beside a rule",
		}
	}
	for i := range t.catalog.Rules {
		if id := t.catalog.Rules[i].ID; t.builtin.Rule(id) == nil && !t.tested[id] {
			t.printRow("-", "no fixture", id)
		}
	}
	fmt.Fprintf(t.out, "%s, %d failed\n", show.Plural(t.ran, "fixture"), t.failed)
	if t.warned > 0 {
		fmt.Fprintf(t.out, "%s: a later release counts them as failures\n", show.Plural(t.warned, "warning"))
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	if t.failed > 0 {
		err := errors.New(show.Plural(t.failed, "fixture") + " failed")
		return &cli.Failure{Status: cli.StatusFailed, Err: err, Hint: "- is what want.yaml asks for, + what is found"}
	}
	return nil
}

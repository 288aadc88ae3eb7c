package report

import (
	"io"

	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// RulesSchema names the JSON of the command rules list. Fields are added to it, never renamed.
const RulesSchema = "plegdiag.rules/v1"

// RulesJSON writes the rules of a catalogue for programs, by id. Lists are never null.
func RulesJSON(w io.Writer, catalog *language.Catalog, o Options) error {
	return show.EncodeJSON(w, document.RuleList{
		Schema: RulesSchema, Tool: show.Tool{Version: o.Version},
		Rules: show.Rows(catalog.Rules, func(r *language.Rule) document.Rule {
			return document.Rule{
				ID: r.ID, Title: r.Title, Role: string(r.Role), Mechanism: r.Mechanism, Headline: r.Headline,
				Versions: show.Rows(r.Versions, func(v *language.VersionRange) document.Version {
					return document.Version{Fact: v.Fact, Affected: v.Affected}
				}),
				Needs: show.Rows(r.Needs, func(n *language.Need) document.Need {
					return document.Need{Any: show.NonNil(n.Any), Collect: n.Collect}
				}),
				ExplainedBy: show.Rows(r.ExplainedBy, func(d *language.Deeper) string { return d.Rule }),
				Remediation: newRemediation(&r.Remediation),
				References:  show.NonNil(r.References),
			}
		}),
	})
}

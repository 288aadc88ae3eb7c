package report

import (
	"io"

	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// RulesSchema names the JSON of the command rules list. Fields are added to it, never renamed.
const RulesSchema = "plegdiag.rules/v1"

type rulesDocument struct {
	Schema string    `json:"schema"`
	Tool   show.Tool `json:"tool"`
	Rules  []ruleRow `json:"rules"`
}

type ruleRow struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Role        string       `json:"role"`
	Mechanism   string       `json:"mechanism"`
	Headline    string       `json:"headline"`
	Versions    []versionRow `json:"versions"`
	Needs       []needRow    `json:"needs"`
	ExplainedBy []string     `json:"explained_by"`
	Remediation remediation  `json:"remediation"`
	References  []string     `json:"references"`
}

type versionRow struct {
	Fact     string `json:"fact"`
	Affected string `json:"affected"`
}

type needRow struct {
	Any     []string `json:"any"`
	Collect string   `json:"collect"`
}

// RulesJSON writes the rules of a catalogue for programs, by id. Lists are never null.
func RulesJSON(w io.Writer, catalog *rules.Catalog, o Options) error {
	return show.EncodeJSON(w, rulesDocument{
		Schema: RulesSchema, Tool: show.Tool{Version: o.Version},
		Rules: show.Rows(catalog.Rules, func(r *rules.Rule) ruleRow {
			return ruleRow{
				ID: r.ID, Title: r.Title, Role: string(r.Role), Mechanism: r.Mechanism, Headline: r.Headline,
				Versions:    show.Rows(r.Versions, func(v *rules.VersionRange) versionRow { return versionRow{v.Fact, v.Affected} }),
				Needs:       show.Rows(r.Needs, func(n *rules.Need) needRow { return needRow{show.NonNil(n.Any), n.Collect} }),
				ExplainedBy: show.Rows(r.ExplainedBy, func(d *rules.Deeper) string { return d.Rule }),
				Remediation: newRemediation(&r.Remediation),
				References:  show.NonNil(r.References),
			}
		}),
	})
}

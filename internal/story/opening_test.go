package story

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules"
)

// A report says first how certain the finding is that the headline is about, and what to do: the
// cure where the cause is likely, else the command that would decide.
func TestOpening(t *testing.T) {
	command := rules.Missing{Source: "processes", Command: "ps -eLo pid"}
	finding := func(role rules.Role, v rules.Verdict) Finding {
		return Finding{Role: role, Finding: rules.Finding{
			Verdict: v, Remediation: rules.Remediation{Now: []string{"wait"}}, Missing: []rules.Missing{{Source: "config"}, command},
		}}
	}
	ask := Opening{Command: command.Command, Hazard: ReadsOnly}
	for name, c := range map[string]struct {
		found   []Finding
		stalled bool
		next    string
		want    Opening
	}{
		"nothing":                   {want: Opening{State: NothingFound}},
		"a stall alone":             {stalled: true, want: Opening{State: NoCauseFound}},
		"a likely root":             {found: []Finding{finding(rules.Root, rules.Likely)}, stalled: true, want: Opening{State: Likely, Advice: "wait"}},
		"a possible root":           {found: []Finding{finding(rules.Root, rules.Possible)}, want: Opening{Possible, "", ask.Command, ask.Hazard}},
		"a fallback, however sure":  {found: []Finding{finding(rules.Fallback, rules.Confirmed)}, want: Opening{Confirmed, "", ask.Command, ask.Hazard}},
		"a circumstance of a stall": {found: []Finding{finding(rules.Contributing, rules.Likely)}, stalled: true, want: Opening{State: NoCauseFound}},
		"a circumstance":            {found: []Finding{finding(rules.Contributing, rules.Likely)}, want: Opening{State: Likely, Advice: "wait"}},
		"what comes next is asked first": {
			found: []Finding{finding(rules.Fallback, rules.Likely)}, stalled: true, next: "sync",
			want: Opening{Likely, "", "sync", ReadsOnly},
		},
	} {
		r := Result{Findings: c.found, Next: rules.Missing{Command: c.next}}
		require.Equal(t, c.want, writeOpening(&r, c.stalled), name)
	}
}

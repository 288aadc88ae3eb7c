package rules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

func TestActions(t *testing.T) {
	cat := catalogOf(t, readRule(t, "cure"))
	do := func(fields ...setup) language.Action {
		events := []event.Event{ev("a", append(fields, when(1), container(idA))...), ev("b", when(2), container(idA))}
		f := find(t, Evaluate(cat, line(events...)), "cure")
		require.Len(t, f.Remediation.Now, 2)
		require.Equal(t, language.Action{Do: "wait: {it} ends"}, f.Remediation.Now[0], "a text alone is taken as it is")
		return f.Remediation.Now[1]
	}
	require.Equal(t, language.Action{
		Do: "End it, its process is 77.", Hazard: "ends it",
		Commands: []string{"P=77; cat /proc/$P/comm", "kill 77 " + idA[:12] + " ${P:?none} {a,b} {}"},
	}, do(field("method", "77")))
	unknown := language.Action{
		Do: "End it. TOOK is shown by pgrep, too. METHOD is shown by pgrep -x runc.", Hazard: "ends it",
		Commands: []string{"P=TOOK; cat /proc/$P/comm", "kill METHOD " + idA[:12] + " ${P:?none} {a,b} {}"},
	}
	require.Equal(t, unknown, do())
	for _, evil := range []string{"7; reboot", "$(reboot)", "`reboot`", "7\nreboot", "-9", "7 8", "'", "{cid}", "*", "~", "ü"} {
		got := do(field("method", evil))
		require.Equal(t, unknown.Commands, got.Commands, "what a log says does not reach a shell: %q", evil)
	}
	var remediation language.Remediation
	remediation.Now = []language.Action{{Do: "wait"}, unknown}
	require.Equal(t, append([]string{"wait", unknown.Do}, unknown.Commands...), remediation.Lines())
}

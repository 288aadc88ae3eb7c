package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// busy is a timeline of n events: containers that live ordinary lives, and one incident.
func busy(n int) []event.Event {
	events := incident()
	for i := 0; len(events) < n; i++ {
		id, s := fmt.Sprintf("%012x%s", uint64(i+1)*0x9e3779b97f4a7c15>>16, idA[12:]), float64(i%6000)/10
		events = append(events, exitOf(id, s), ev("cri.call", from(s, s+0.2), container(id), field("method", "UpdateContainerResources")),
			ev("containerd.created", when(s), container(id)), ev("shim.gone", when(s+1), container(id)))
	}
	return events
}

func BenchmarkEvaluate(b *testing.B) {
	for _, rules := range []int{40, 200} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			cat := many(b, rules)
			tl := line(busy(20_000)...)
			b.ReportAllocs()
			for b.Loop() {
				require.NotEmpty(b, Evaluate(cat, tl).Findings)
			}
		})
	}
}

// many is the invented rules under as many names as it takes. Half of them look
// for kinds that the timeline lacks, as most of a catalogue does.
func many(b *testing.B, n int) *language.Catalog {
	var texts []string
	for i := range n {
		name := []string{"slow-disk", "held-lock"}[i%2]
		s := strings.Replace(readRule(b, "synthetic/"+name), "id: "+name, fmt.Sprintf("id: %s-%d", name, i), 1)
		s = strings.Replace(s, "explained_by:\n  - {rule: slow-disk, join: [cid]}\n", "", 1)
		if i >= n/2 {
			s = strings.ReplaceAll(s, "kind: ", "kind: other.")
		}
		texts = append(texts, s)
	}
	return catalogOf(b, texts...)
}

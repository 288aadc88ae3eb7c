package story

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/rules/shell"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// requireKnown checks that the kind of a sort declares its fields.
func requireKnown(t *testing.T, sort *eventSort, more ...string) {
	t.Helper()
	kind := event.KindNamed(sort.kind)
	require.NotNil(t, kind, "%s is not declared", sort.kind)
	for key := range sort.fields {
		more = append(more, string(key))
	}
	for _, name := range more {
		require.NotNil(t, kind.Field(event.Key(name)), "%s has no %s", sort.kind, name)
	}
}

var placeholders = regexp.MustCompile(`\{(\w+)\}`)

func TestSuspicions(t *testing.T) {
	for i := range suspicions {
		s := &suspicions[i]
		var spoken []string
		for _, m := range placeholders.FindAllStringSubmatch(s.why, -1) {
			require.Contains(t, []string{"method", "duration"}, m[1])
			spoken = append(spoken, m[1])
		}
		requireKnown(t, &s.eventSort, spoken...)
	}
}

// TestQuestions: what a question asks for is what rules ask for, too; its command does no harm, and
// can be pasted as it stands.
func TestQuestions(t *testing.T) {
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	var sources []string
	for i := range catalog.Rules {
		for _, need := range catalog.Rules[i].Needs {
			sources = append(sources, need.Any...)
		}
	}
	for i := range questions {
		q := &questions[i]
		require.NotEmpty(t, q.lacks)
		for _, source := range q.lacks {
			require.Contains(t, sources, source)
		}
		if q.has != "" {
			require.Contains(t, sources, q.has)
		}
		require.Contains(t, []timeline.Phase{"", timeline.PhaseList, timeline.PhasePod, timeline.PhaseUnknown}, q.phase)
		for j := range q.signs {
			requireKnown(t, &q.signs[j])
		}
		require.NotContains(t, []string{"", "ends the process", "changes the node"}, Hazard(q.command), q.command)
		parsed, err := shell.Parse(q.command)
		require.NoError(t, err, q.command)
		require.Empty(t, parsed.ListBlanks(), q.command)
		if bash, err := exec.LookPath("bash"); err == nil {
			out, err := exec.Command(bash, "-n", "-c", q.command).CombinedOutput()
			require.NoError(t, err, "%s: %s", q.command, out)
		}
	}
}

// Every question can be the first that is open; one that cannot would never be asked.
func TestEveryQuestionIsAsked(t *testing.T) {
	asked := map[string]bool{}
	ask := func(tl *timeline.Timeline) {
		tl.Stalls = []timeline.Stall{stall()}
		if len(tl.Coverage) == 0 || tl.Coverage[0].Source != "list" {
			tl.Stalls[0].Phase = timeline.PhaseUnknown
		}
		for _, n := range Tell(&language.Catalog{}, tl, node.Find(tl), rules.Result{}).Next {
			asked[n.Command] = true
		}
	}
	covers := func(sources ...string) *timeline.Timeline {
		tl := &timeline.Timeline{}
		for _, source := range sources {
			tl.Coverage = append(tl.Coverage, timeline.Coverage{Source: source})
		}
		return tl
	}
	for _, program := range []string{"containerd", "dockerd"} {
		tl := covers("goroutines." + program)
		tl.Events = pointersTo(ev("lock.queue", field("wait", "120"), func(e *event.Event) { e.Component = program }))
		ask(tl)
	}
	for _, log := range []string{"dockerd.log", "crio.log", "containerd.log", "kubelet.log"} {
		ask(covers(log))
	}
	tl := covers("goroutines.containerd")
	tl.Events = pointersTo(ev("containerd.state-timeout", when(100)))
	ask(tl)
	ask(covers("goroutines.containerd"))
	ask(covers("list", "goroutines.containerd"))
	ask(covers("list", "goroutines.containerd", "processes"))
	for i := range questions {
		require.True(t, asked[questions[i].command], questions[i].command)
	}
}

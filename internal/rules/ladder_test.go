package rules

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// frozen is a rule whose chain no test here matches: what it says, it says by its tells.
const frozen = `id: frozen
title: A cgroup is frozen
role: root
mechanism: m
needs: [{any: [kernel.log], collect: dmesg}]
steps: [{id: chain, role: cause, text: "never", kind: never}]
verdict: {confirmed: chain}
tells:
  - {id: sleeps, text: "{comm} sleeps in the freezer", why: w, kind: thread.sample, match: {waits: freezer}}
  - {id: says, text: "{path} is frozen", why: w, kind: cgroup}
  - {id: hint, text: "a hint", why: w, kind: hint, at_most: possible, shown_by: [showing]}
  - {id: crash, text: "a crash", why: w, kind: crash}
  - {id: many, text: "{many|count} lines", why: w, kind: many, min: 3, same: device, within: 2m}
supports:
  - {id: slow, text: "a slow call", kind: slow}
  - {id: full, text: "a full queue", kind: full}
rules_out:
  - {id: thawed, kind: thawed, why: "it was thawed"}
  - {id: doubt, kind: doubt, why: "doubtful", effect: lowers}
  - {id: more, kind: more, why: "more doubtful", effect: lowers}
  - {id: most, kind: most, why: "most doubtful", effect: lowers}
  - {id: same, kind: most, why: "the same again", effect: lowers}
headline: "{chain.comm} is frozen"
`

const frozenEffects = `effects:
  - {id: stall, text: "relist does not complete", kind: kubelet.stall, begins_within: 3m}
  - {id: unhealthy, unless: stall, text: "not healthy", kind: kubelet.pleg-unhealthy}
  - {id: sleeper, text: "a sleeper", kind: thread.sample, match: {comm: sleepy}}
  - {id: stuck, own: true, text: "{comm} is of the chain", kind: thread.sample, match: {component: runc}}
  - {id: showing, text: "what the hint leaves open", kind: showing}
  - {id: ends, own: true, excerpt: true, text: "it ends with it", kind: crash}
  - {id: three, text: "three programs wait", kind: waiting, differ: comm, min: 3, within: 5m}
  - {id: mute, role: notready, text: "nothing is heard of the node", kind: node.condition}
  - {id: listed, role: notready, same: node, text: "{node} is listed", kind: listed}
  - {id: again, role: notready, text: "it starts again", kind: restart, min: 2, within: 1m}
`

// readFrozen loads the rule and the effects.
func readFrozen(t *testing.T) *language.Catalog {
	t.Helper()
	cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{
		"frozen.yaml": {Data: []byte(frozen)}, "effects.yaml": {Data: []byte(frozenEffects)},
	}})
	require.NoError(t, err)
	return cat
}

func sleeperOf(component string, changes ...setup) event.Event {
	return ev("thread.sample", append([]setup{
		field("waits", "freezer"), field("comm", component), func(e *event.Event) { e.Component = component },
	}, changes...)...)
}

func writtenBy(source string) setup { return func(e *event.Event) { e.Source = source } }

func waiting(comm string) event.Event { return ev("waiting", when(2), field("comm", comm)) }

func TestLadder(t *testing.T) {
	stalled := ev("kubelet.stall", from(0, 200))
	for name, c := range map[string]struct {
		events []event.Event
		want   language.Verdict
	}{
		"nothing":                        {nil, language.NotEvaluable},
		"a support alone":                {[]event.Event{ev("slow", when(1))}, language.Weighed},
		"a tell alone":                   {[]event.Event{sleeperOf("java")}, language.Possible},
		"a tell and a stall":             {[]event.Event{sleeperOf("java", when(10)), stalled}, language.Likely},
		"a tell long after a stall":      {[]event.Event{sleeperOf("java", when(3600)), stalled}, language.Possible},
		"a tell late in the stall":       {[]event.Event{sleeperOf("java", when(190)), stalled}, language.Possible},
		"a complaint":                    {[]event.Event{sleeperOf("java", when(10)), ev("kubelet.pleg-unhealthy", when(20))}, language.Likely},
		"a complaint late in a stall":    {[]event.Event{sleeperOf("java", when(190)), stalled, ev("kubelet.pleg-unhealthy", when(190))}, language.Possible},
		"a tell is no effect of itself":  {[]event.Event{sleeperOf("sleepy", when(10))}, language.Possible},
		"a tell without a time":          {[]event.Event{sleeperOf("java"), stalled}, language.Likely},
		"a thread of the chain":          {[]event.Event{sleeperOf("runc")}, language.Likely},
		"another thread of the chain":    {[]event.Event{sleeperOf("java"), ev("thread.sample", func(e *event.Event) { e.Component = "runc" })}, language.Possible},
		"two tells of one writer":        {[]event.Event{sleeperOf("java"), ev("cgroup")}, language.Possible},
		"two tells of two writers":       {[]event.Event{sleeperOf("java"), ev("cgroup", writtenBy("node"))}, language.Likely},
		"too few lines of a tell":        {[]event.Event{ev("many", when(1)), ev("many", when(2))}, language.NotEvaluable},
		"lines enough of a tell":         {[]event.Event{ev("many", when(1)), ev("many", when(2)), ev("many", when(3))}, language.Possible},
		"lines that lie too far apart":   {[]event.Event{ev("many", when(1)), ev("many", when(200)), ev("many", when(300))}, language.NotEvaluable},
		"lines of different devices":     {[]event.Event{ev("many", when(1), field("device", "lo")), ev("many", when(2)), ev("many", when(3))}, language.NotEvaluable},
		"a capped tell and a stall":      {[]event.Event{ev("hint", when(1)), stalled}, language.Possible},
		"what a capped tell leaves open": {[]event.Event{ev("hint", when(1)), ev("showing", when(2))}, language.Likely},
		"an effect of many programs":     {[]event.Event{sleeperOf("java", when(1)), waiting("a"), waiting("b"), waiting("c")}, language.Likely},
		"an effect of too few programs":  {[]event.Event{sleeperOf("java", when(1)), waiting("a"), waiting("b"), waiting("a")}, language.Possible},
		"a crash in an excerpt":          {[]event.Event{ev("crash", when(1))}, language.Likely},
		"a tell, and something against":  {[]event.Event{sleeperOf("runc"), ev("thawed")}, language.RuledOut},
		"a tell, and a doubt":            {[]event.Event{sleeperOf("runc"), ev("doubt")}, language.Possible},
		"a tell alone, and a doubt":      {[]event.Event{sleeperOf("java"), ev("doubt")}, language.Weighed},
		"a tell alone, and many doubts":  {[]event.Event{sleeperOf("java"), ev("doubt"), ev("more"), ev("most")}, language.Weighed},
		"a tell, and many doubts":        {[]event.Event{sleeperOf("runc"), ev("doubt"), ev("more"), ev("most")}, language.Weighed},
		"one line counts once against":   {[]event.Event{sleeperOf("runc"), ev("most")}, language.Possible},
	} {
		t.Run(name, func(t *testing.T) {
			r := Evaluate(readFrozen(t), line(c.events...))
			if c.want >= language.Possible {
				require.Len(t, r.Findings, 1)
				f := &r.Findings[0]
				require.Equal(t, c.want, f.Verdict, f.Formula)
				require.True(t, f.ByTells)
				require.NotEmpty(t, f.Chain)
				require.NotEmpty(t, f.Summary)
				return
			}
			require.Empty(t, r.Findings)
			verdicts := []language.Verdict{}
			for _, h := range r.Hypotheses {
				verdicts = append(verdicts, h.Verdict)
			}
			if c.want == language.NotEvaluable {
				require.Empty(t, verdicts, "nothing speaks for the rule")
			} else {
				require.Equal(t, []language.Verdict{c.want}, verdicts)
			}
			require.Equal(t, c.want == language.RuledOut, len(r.RuledOut) == 1)
		})
	}
}

// TestEffectsOfNotReady holds that a rule of the role notready counts only the effects of that
// role, and any other rule none of them.
func TestEffectsOfNotReady(t *testing.T) {
	mute, stalled := ev("node.condition", when(20)), ev("kubelet.stall", from(0, 200))
	again := func(seconds ...float64) (all []event.Event) {
		for _, s := range seconds {
			all = append(all, ev("restart", when(s)))
		}
		return all
	}
	listed := func(names ...string) (all []event.Event) {
		for _, name := range names {
			all = append(all, ev("listed", when(20), field(event.FieldNode, name)))
		}
		return all
	}
	for name, c := range map[string]struct {
		role   string // and the host that the tell names, behind a slash
		events []event.Event
		want   language.Verdict
	}{
		"notready and a node that is listed":            {"notready", listed("a"), language.Likely},
		"notready, and which of two nodes is not shown": {"notready", listed("a", "b"), language.Possible},
		"notready, and its node is listed":              {"notready/a.example.com", listed("a", "b"), language.Likely},
		"notready, and another node is listed":          {"notready/c", listed("a"), language.Possible},
		"a root and a stall":                            {"root", []event.Event{stalled}, language.Likely},
		"a root and a mute node":                        {"root", []event.Event{mute}, language.Possible},
		"notready and a stall":                          {"notready", []event.Event{stalled}, language.Possible},
		"notready and a mute node":                      {"notready", []event.Event{mute}, language.Likely},
		"notready and one restart":                      {"notready", again(20), language.Possible},
		"notready and restarts in a row":                {"notready", again(20, 40), language.Likely},
		"notready and restarts that lie apart":          {"notready", again(20, 100), language.Possible},
		"notready, and the row lies long before":        {"notready", again(-3600, -3590), language.Possible},
	} {
		t.Run(name, func(t *testing.T) {
			role, host, _ := strings.Cut(c.role, "/")
			cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{
				"frozen.yaml":  {Data: []byte(strings.Replace(frozen, "role: root", "role: "+role, 1))},
				"effects.yaml": {Data: []byte(frozenEffects)},
			}})
			require.NoError(t, err)
			on := func(e *event.Event) { e.Host, e.Source = host, "kubelet.log" }
			r := Evaluate(cat, line(append(c.events, sleeperOf("java", when(10), on))...))
			require.Equal(t, c.want, find(t, r, "frozen").Verdict)
		})
	}
}

// onlyOwn is the rule with contradictions that bind the path of a cgroup, which one tell binds and
// the other does not.
const onlyOwn = `id: frozen
title: A cgroup is frozen
role: root
mechanism: m
needs: [{any: [kernel.log], collect: dmesg}]
steps: [{id: chain, role: cause, text: "never", kind: never, bind: {path: path}}]
verdict: {confirmed: chain}
tells:
  - {id: says, text: "{path} is frozen", why: w, kind: cgroup, bind: {path|optional: path}}
  - {id: sleeps, text: "{comm} sleeps in the freezer", why: w, kind: thread.sample}
rules_out:
  - {id: thawed, kind: thawed, bind: {path: path}, why: "it was thawed"}
  - {id: doubt, kind: doubt, bind: {path: path}, during: chain, near: 10s, why: "doubtful", effect: lowers}
headline: "{chain.comm} is frozen"
`

// TestBoundContradiction holds that a contradiction that binds reaches the events of tells that
// have bound the same, and no others.
func TestBoundContradiction(t *testing.T) {
	cgroup := func(kind event.Kind, path string, changes ...setup) event.Event {
		return ev(kind, append(changes, field("path", path))...)
	}
	stalled := ev("kubelet.stall", from(0, 200))
	for name, c := range map[string]struct {
		events []event.Event
		want   language.Verdict
	}{
		"of the same":                    {[]event.Event{cgroup("cgroup", "/a"), cgroup("thawed", "/a")}, language.RuledOut},
		"of another":                     {[]event.Event{cgroup("cgroup", "/a"), cgroup("thawed", "/b")}, language.Possible},
		"of one of two":                  {[]event.Event{cgroup("cgroup", "/a"), cgroup("cgroup", "/b"), cgroup("thawed", "/a")}, language.Possible},
		"of both":                        {[]event.Event{cgroup("cgroup", "/a"), cgroup("cgroup", "/b"), cgroup("thawed", "/a"), cgroup("thawed", "/b")}, language.RuledOut},
		"the tell does not say which":    {[]event.Event{ev("cgroup"), cgroup("thawed", "/a")}, language.Possible},
		"another tell stands":            {[]event.Event{cgroup("cgroup", "/a"), cgroup("thawed", "/a"), ev("thread.sample")}, language.Possible},
		"a tell that stands is no surer": {[]event.Event{cgroup("cgroup", "/a"), cgroup("thawed", "/a"), ev("thread.sample", writtenBy("node"))}, language.Possible},
		"lowers":                         {[]event.Event{cgroup("cgroup", "/a", when(20)), cgroup("doubt", "/a", when(20)), stalled}, language.Possible},
		"lowers, in each of two bouts": {[]event.Event{
			cgroup("cgroup", "/a", when(20)), cgroup("doubt", "/a", when(20)), stalled,
			cgroup("cgroup", "/a", when(7200)), cgroup("doubt", "/a", when(7200)), ev("kubelet.stall", from(7190, 7400)),
		}, language.Possible},
		"lowers, near":           {[]event.Event{cgroup("cgroup", "/a", when(20)), cgroup("doubt", "/a", when(29)), stalled}, language.Possible},
		"lowers, not near":       {[]event.Event{cgroup("cgroup", "/a", when(20)), cgroup("doubt", "/a", when(40)), stalled}, language.Likely},
		"lowers, without a time": {[]event.Event{cgroup("cgroup", "/a", when(20)), cgroup("doubt", "/a"), stalled}, language.Possible},
	} {
		t.Run(name, func(t *testing.T) {
			cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{
				"frozen.yaml": {Data: []byte(onlyOwn)}, "effects.yaml": {Data: []byte(frozenEffects)},
			}})
			require.NoError(t, err)
			r := Evaluate(cat, line(c.events...))
			require.Len(t, r.Hypotheses, 1)
			require.Equal(t, c.want, r.Hypotheses[0].Verdict)
		})
	}
}

// TestNearContradiction holds that a contradiction without binds may miss a tell by as much as it
// says.
func TestNearContradiction(t *testing.T) {
	near := strings.Replace(onlyOwn, "kind: doubt, bind: {path: path}", "kind: doubt", 1)
	cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{"frozen.yaml": {Data: []byte(near)}, "effects.yaml": {Data: []byte(frozenEffects)}}})
	require.NoError(t, err)
	for seconds, want := range map[float64]language.Verdict{9: language.Likely, 20: language.Possible, 29: language.Possible, 40: language.Likely} {
		r := Evaluate(cat, line(ev("cgroup", when(20)), ev("doubt", when(seconds)), ev("kubelet.stall", from(0, 200))))
		require.Equal(t, want, find(t, r, "frozen").Verdict, "%v s", seconds)
	}
	_, err = language.Load(nil, language.Files{FS: fstest.MapFS{"frozen.yaml": {Data: []byte(strings.Replace(onlyOwn, "during: chain, ", "", 1))}}})
	require.ErrorContains(t, err, "near is measured from the step of during")
}

// TestContradictionAfter holds that one with after: true must not begin before the first event of a
// tell, and is measured from it.
func TestContradictionAfter(t *testing.T) {
	after := strings.NewReplacer("kind: doubt, bind: {path: path}", "kind: doubt", "near: 10s", "near: 10s, after: true").Replace(onlyOwn)
	cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{"frozen.yaml": {Data: []byte(after)}, "effects.yaml": {Data: []byte(frozenEffects)}}})
	require.NoError(t, err)
	for seconds, want := range map[float64]language.Verdict{11: language.Likely, 20: language.Possible, 29: language.Possible, 49: language.Likely} {
		r := Evaluate(cat, line(ev("cgroup", when(20)), ev("cgroup", when(45)), ev("doubt", when(seconds)), ev("kubelet.stall", from(0, 200))))
		require.Equal(t, want, find(t, r, "frozen").Verdict, "%v s", seconds)
	}
	_, err = language.Load(nil, language.Files{FS: fstest.MapFS{"frozen.yaml": {Data: []byte(strings.Replace(after, "during: chain, near: 10s, ", "", 1))}}})
	require.ErrorContains(t, err, "after speaks of the step of during")
}

func TestLadderInDenseLogs(t *testing.T) {
	tell := sleeperOf("java", when(3600), writtenBy("kubelet.log"))
	tell.Evidence[0].Pos.File = "kubelet.log"
	r := Evaluate(readFrozen(t), dense(line(tell)))
	require.Empty(t, r.Findings, "in a whole journal a tell far from every effect is noise more often than not")
	require.Equal(t, language.Weighed, r.Hypotheses[0].Verdict)
	require.Len(t, r.Hypotheses[0].For, 1)

	r = Evaluate(readFrozen(t), dense(line(tell, ev("kubelet.stall", from(3500, 3800)))))
	require.Equal(t, language.Likely, r.Findings[0].Verdict)
	require.Equal(t, []string{"sleeps", "stall"}, stepIDs(r.Findings[0].Chain))
	require.Equal(t, timeline.Window{Start: at(3600).T, End: at(3600).T}, r.Findings[0].Cause, "the stall is no cause")

	boots := dense(line(tell))
	boots.Coverage = append(boots.Coverage, timeline.Coverage{Source: "kubelet.log", File: "kubelet.log"}) // of its line "-- Boot …"
	require.Empty(t, Evaluate(readFrozen(t), boots).Findings, "a log of several boots is a whole journal, too")

	collected := ev("kubelet.stall")
	require.Equal(t, language.Likely, Evaluate(readFrozen(t), dense(line(tell, collected))).Findings[0].Verdict, "what has no time was collected with the log")
	crash := ev("crash", when(3600), writtenBy("kubelet.log"))
	crash.Evidence[0].Pos.File = "kubelet.log"
	r = Evaluate(readFrozen(t), dense(line(crash)))
	require.Empty(t, r.Findings, "a whole journal shows by itself what failed with it")
}

// TestFailedCallLongBefore holds that what was collected without a time explains no call that
// failed long before the end of a whole log.
func TestFailedCallLongBefore(t *testing.T) {
	calls := strings.Replace(onlyOwn, "kind: cgroup", "kind: kubelet.cri-error", 1)
	cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{"frozen.yaml": {Data: []byte(calls)}, "effects.yaml": {Data: []byte(frozenEffects)}}})
	require.NoError(t, err)
	failed := ev(event.KindCRIError, when(3600), writtenBy("kubelet.log"))
	failed.Evidence[0].Pos.File = "kubelet.log"
	for after, want := range map[float64]int{3599: 1, 3601: 0} {
		tl := dense(line(failed, ev("kubelet.stall")))
		for i := range tl.Coverage {
			tl.Coverage[i].End = at(3600 + after).T
		}
		require.Len(t, Evaluate(cat, tl).Findings, want, after)
	}
}

// TestLadderInSearchedLog holds that a log of which every other line is a tell is what somebody
// searched for, as "dmesg | grep" prints it, however long it is.
func TestLadderInSearchedLog(t *testing.T) {
	lines := func(n int) *timeline.Timeline {
		tell := sleeperOf("java", when(3600), writtenBy("kubelet.log"), func(e *event.Event) {
			e.Fields = append(e.Fields, event.FieldRepeats.Int(n))
		})
		tell.Evidence[0].Pos.File = "kubelet.log"
		return dense(line(tell))
	}
	require.Empty(t, Evaluate(readFrozen(t), lines(499)).Findings)
	require.Equal(t, language.Possible, find(t, Evaluate(readFrozen(t), lines(500)), "frozen").Verdict)
}

// TestSoleExplanation holds that several supports are possible where no other rule explains them.
func TestSoleExplanation(t *testing.T) {
	events := []event.Event{ev("slow", when(1)), ev("full", when(2))}
	f := find(t, Evaluate(readFrozen(t), line(events...)), "frozen")
	require.Equal(t, language.Possible, f.Verdict)
	require.Equal(t, []string{"slow", "full"}, stepIDs(f.Chain))

	other := strings.Replace(strings.Replace(frozen, "id: frozen", "id: other", 1), "kind: full", "kind: elsewhere", 1)
	cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{"frozen.yaml": {Data: []byte(frozen)}, "other.yaml": {Data: []byte(other)}}})
	require.NoError(t, err)
	require.Empty(t, Evaluate(cat, line(events...)).Findings, "another rule explains one of the two")
}

// TestNotSeen: what a listing shows to be otherwise is not missed, of what was seen too seldom
// something is there, and what nobody measured is not told.
func TestNotSeen(t *testing.T) {
	cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{"busy.yaml": {Data: []byte(`id: busy
title: PID 1 is busy
role: root
mechanism: m
needs: [{any: [kernel.log], collect: dmesg}]
steps: [{id: chain, role: cause, text: "never", kind: never}]
verdict: {confirmed: chain}
tells:
  - {id: works, text: "PID 1 works", why: w, kind: works}
  - {id: sleeps, text: "PID 1 sleeps", why: w, kind: thread.sample, match: {pid: 1, state: D}}
  - {id: many, text: "many lines", why: w, kind: many, min: 3}
  - {id: short, text: "no memory", why: w, kind: fact, match: {name: memory.available-percent, value: "0"}}
headline: "{chain.comm}"
`)}}})
	require.NoError(t, err)
	listed := func(pid int, state string) event.Event {
		e := ev("process", when(2), field("state", state))
		e.IDs.PID = pid
		return e
	}
	works := ev("works", when(1))
	for name, c := range map[string]struct {
		besides []event.Event
		want    []string
	}{
		"nothing else":                {nil, []string{"PID 1 sleeps", "many lines"}},
		"a listing in which it works": {[]event.Event{listed(1, "Rs")}, []string{"many lines"}},
		"one in which it sleeps":      {[]event.Event{listed(1, "Ds")}, []string{"PID 1 sleeps", "many lines"}},
		"one of another process":      {[]event.Event{listed(7, "Rs")}, []string{"PID 1 sleeps", "many lines"}},
		"one line of many":            {[]event.Event{ev("many", when(3))}, []string{"PID 1 sleeps"}},
		"memory that was measured": {
			[]event.Event{ev("fact", field("name", "memory.available-percent"), field("value", "31"))},
			[]string{"PID 1 sleeps", "many lines", "no memory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Evaluate(cat, line(append([]event.Event{works}, c.besides...)...))
			require.Equal(t, c.want, r.Hypotheses[0].NotSeen)
		})
	}
}

// TestTellsRaiseMatch holds that a match of the chain takes the verdict that its tells allow, with
// what they show.
func TestTellsRaiseMatch(t *testing.T) {
	cat, err := language.Load(nil, language.Files{FS: fstest.MapFS{
		"slow.yaml": {Data: []byte(`id: slow-disk
title: Slow disk
role: root
mechanism: m
needs: [{any: [strace], collect: strace}]
steps:
  - {id: umount, role: cause, text: "umount2 lasts {duration|dur}", kind: syscall}
  - {id: gone, role: symptom, text: "the shim is gone", kind: shim.gone}
verdict: {confirmed: "umount and gone", possible: umount}
tells: [{step: umount, why: w}]
headline: "umount2 lasts {umount.duration|dur}"
`)}, "effects.yaml": {Data: []byte(frozenEffects)},
	}})
	require.NoError(t, err)
	umount := umountOf(idA, 1, 100)
	r := Evaluate(cat, line(umount))
	require.Equal(t, language.Possible, r.Findings[0].Verdict)
	require.False(t, r.Findings[0].ByTells)

	r = Evaluate(cat, line(umount, ev("kubelet.stall", from(2, 200))))
	f := find(t, r, "slow-disk")
	require.Equal(t, language.Likely, f.Verdict)
	require.Equal(t, []string{"umount", "stall"}, stepIDs(f.Chain))
	require.Equal(t, "umount2 lasts 1m39s", f.Summary)
	require.Equal(t, language.Likely, r.Hypotheses[0].Verdict)
	require.True(t, slices.ContainsFunc(r.Hypotheses[0].For, func(why Reason) bool { return why.Text == "relist does not complete" }))
}

// TestEffectsNearDatedTells holds that a tell without a time, as one of a listing, does not make
// effects of hours before those of a tell that has one.
func TestEffectsNearDatedTells(t *testing.T) {
	unhealthy := func(seconds float64) event.Event { return ev("kubelet.pleg-unhealthy", when(seconds)) }
	const hour = 3600
	r := Evaluate(readFrozen(t), line(
		ev("cgroup", field("path", "/a")), sleeperOf("runc", when(5*hour)), unhealthy(1), unhealthy(5*hour+1),
	))
	require.Len(t, r.Findings, 1)
	for _, step := range r.Findings[0].Chain {
		for _, e := range step.Events {
			require.False(t, e.Start.Known && e.Start.T.Before(at(4*hour).T), "%s at %s", e.Kind, e.Start.T)
		}
	}
}

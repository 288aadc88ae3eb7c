package rules

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

func TestConfirmedFinding(t *testing.T) {
	tl := line(incident()...)
	f := find(t, Evaluate(only(t, "slow-disk"), tl), "slow-disk")
	require.Equal(t, language.Confirmed, f.Verdict)
	require.Equal(t, idA, f.Container)
	require.InDelta(t, 0.8, f.Score, 1e-9)
	require.Equal(t, "(exit 20×1 + umount 60×1)/100 = 0.8", f.Formula)
	require.Equal(t, "container 40585f73aa00 exits at 09:30:01; umount2 takes 3m32s", f.Summary)
	require.Equal(t, begin.Add(time.Second), f.Start)
	require.Equal(t, begin.Add(213500*time.Millisecond), f.End)
	require.Empty(t, f.Missing)
	require.Equal(t, []string{"exit", "umount"}, stepIDs(f.Chain))
	umount := f.Chain[1]
	require.Equal(t, Step{
		ID: "umount", Rule: "slow-disk", Role: "mechanism", Observed: true, Start: at(1.5).T, End: at(213.5).T,
		Duration: 212 * time.Second, Text: "umount2 of 40585f73aa00 lasts 3m32s", Evidence: tl.Events[1].Evidence, Events: []*event.Event{tl.Events[1]},
	}, umount)
	require.Zero(t, f.Chain[0].End, "an instant has no end")
}

// TestVerdictPaths takes the incident apart and asks for the verdict that is left.
func TestVerdictPaths(t *testing.T) {
	exit, umount, update := exitOf(idA, 1), umountOf(idA, 1.5, 213.5), updateOf(idA)
	holder, first, second := holderOf(5, 100), waiterFor("0xc0001", 501, 6, 100), waiterFor("0xc0001", 502, 7, 100)
	retry := ev("containerd.retry", when(60), container(idA))
	undated := func(e event.Event) event.Event {
		e.Start, e.End = event.Time{}, event.Time{}
		return e
	}
	for name, c := range map[string]struct {
		rule   string
		events []event.Event
		want   language.Verdict
		score  float64
	}{
		"all steps":                     {"held-lock", []event.Event{exit, update, holder, first, second}, language.Confirmed, 0.1 + 0.3 + 0.15 + 0.3},
		"lock of another address":       {"held-lock", []event.Event{update, holder, waiterFor("0xc0002", 1, 6, 9), waiterFor("0xc0002", 2, 6, 9)}, language.Possible, 0.3 + 0.15},
		"one waiter is below minimum":   {"held-lock", []event.Event{update, holder, first}, language.Possible, 0.3 + 0.15},
		"holder before the update":      {"held-lock", []event.Event{update, holderOf(-200, -100), first, second}, language.Confirmed, 0.3 + 0.3*0.5*0.7 + 0.3*0.7},
		"only absence makes it likely":  {"held-lock", []event.Event{exit, update}, language.Likely, 0.4},
		"the retry is not absent":       {"held-lock", []event.Event{exit, update, retry}, language.Possible, 0.4},
		"another container's retry":     {"held-lock", []event.Event{exit, update, ev("containerd.retry", when(60), container(idB))}, language.Likely, 0.4},
		"a retry of unknown time":       {"held-lock", []event.Event{exit, update, undated(retry)}, language.Possible, 0.4},
		"a retry after the update":      {"held-lock", []event.Event{exit, update, ev("containerd.retry", when(126), container(idA))}, language.Likely, 0.4},
		"exit of another container":     {"held-lock", []event.Event{exitOf(idB, 1), update}, language.Possible, 0.3},
		"exit long before":              {"held-lock", []event.Event{exitOf(idA, -601), update}, language.Possible, 0.3},
		"exit after the update":         {"held-lock", []event.Event{exitOf(idA, 11), update}, language.Possible, 0.3},
		"cut id, as write-ups print it": {"slow-disk", []event.Event{exitOf(idA[:12], 1), umount}, language.Confirmed, 0.8},
		"id cut too short":              {"slow-disk", []event.Event{exitOf(idA[:5], 1), umount}, language.Likely, 0.6},
		"undated umount":                {"slow-disk", []event.Event{exit, undated(umountOf(idA, 0, 100))}, language.NotEvaluable, 0},
		"undated stack of the umount":   {"slow-disk", []event.Event{exit, ev("goroutine.wait", container(idA), field("doing", "umount"))}, language.Confirmed, 0.2 + 0.3},
		"umount seen late, begun early": {"slow-disk", []event.Event{exit, ev("syscall", from(3600, 3700), container(idA), field("name", "umount2"), begun)}, language.Confirmed, 0.2 + 0.6*0.7},
		"umount an hour later":          {"slow-disk", []event.Event{exit, umountOf(idA, 3600, 3700)}, language.Likely, 0.6},
		"quick umount":                  {"slow-disk", []event.Event{exit, umountOf(idA, 1, 2)}, language.NotEvaluable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := Evaluate(only(t, c.rule), line(c.events...))
			switch c.want {
			case language.RuledOut:
				require.Empty(t, r.Findings)
				require.Len(t, r.RuledOut, 1)
			case language.NotEvaluable: // an undated syscall has no duration
				require.Empty(t, r.Findings)
			default:
				require.Len(t, r.Findings, 1)
				require.Equal(t, c.want, r.Findings[0].Verdict, r.Findings[0].Formula)
				require.InDelta(t, c.score, r.Findings[0].Score, 1e-9, r.Findings[0].Formula)
			}
		})
	}
}

// TestPrecision lets the same two moments be certainly, possibly and never in the order asked for.
func TestPrecision(t *testing.T) {
	for name, c := range map[string]struct {
		exit     event.Event
		want     language.Verdict
		quality  float64
		observed bool
	}{
		"certain":       {exitOf(idA, 1), language.Confirmed, 1, true},
		"rounded down":  {ev("containerd.task-exit", when(6.4), prec(time.Second), container(idA)), language.Confirmed, 0.7, false},
		"out of reach":  {ev("containerd.task-exit", when(6.6), prec(time.Second), container(idA)), language.Likely, 1, true},
		"coarse but ok": {ev("containerd.task-exit", when(-60), prec(time.Minute), container(idA)), language.Confirmed, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := find(t, Evaluate(only(t, "slow-disk"), line(c.exit, umountOf(idA, 1.5, 213.5))), "slow-disk")
			require.Equal(t, c.want, f.Verdict)
			share := 0.6 * c.quality
			if c.want == language.Confirmed {
				share += 0.2
			}
			require.InDelta(t, share, f.Score, 1e-9, f.Formula)
			require.Equal(t, c.observed, f.Chain[len(f.Chain)-1].Observed)
		})
	}
}

func TestCertainty(t *testing.T) {
	inferred := umountOf(idA, 1.5, 213.5)
	inferred.Fields = append(inferred.Fields, event.Field{Key: "certainty", Value: event.String("inferred")})
	events := []event.Event{exitOf(idA, 1), inferred}
	f := find(t, Evaluate(only(t, "slow-disk"), line(events...)), "slow-disk")
	require.False(t, f.Chain[1].Observed)
	f = find(t, Evaluate(only(t, "slow-disk", "    weight: 60\n", "    weight: 60\n    certainty: observed\n"), line(events...)), "slow-disk")
	require.True(t, f.Chain[1].Observed, "the rule knows better")
}

// TestApart has the two steps in the order of the rule's edge, told the other way round, and of a
// role that leads to the next.
func TestApart(t *testing.T) {
	nameless := ev("goroutine.wait", field("doing", "umount"))
	optional := []string{"{doing: umount}, bind: {container: cid}", "{doing: umount}, bind: {container|optional: cid}"}
	signs := slices.Concat(optional, []string{"role: cause", "role: mechanism"})
	for name, c := range map[string]struct {
		umount  event.Event
		changes []string
		apart   bool
	}{
		"signs of the same":    {nameless, slices.Concat(signs, []string{"from: exit, to: umount, gap: {min: -5s, max: 10m}", "from: umount, to: exit, gap: {max: 10m}"}), true},
		"an edge leads there":  {nameless, signs, false},
		"both have the id":     {ev("goroutine.wait", container(idA), field("doing", "umount")), signs, false},
		"a cause and its work": {nameless, optional, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := find(t, Evaluate(only(t, "slow-disk", c.changes...), line(exitOf(idA, 1), c.umount)), "slow-disk")
			require.Len(t, f.Chain, 2)
			require.False(t, f.Chain[0].Apart)
			require.Equal(t, c.apart, f.Chain[1].Apart)
		})
	}
}

func TestVersions(t *testing.T) {
	tl := line(incident()...)
	evidence := []event.Quote{{Pos: event.Pos{File: "version.txt", Line: 1}, Text: "containerd 1.7.20"}}
	tl.Facts["containerd.version"] = timeline.Fact{Value: "1.7.20", Evidence: evidence}
	r := Evaluate(only(t, "slow-disk"), tl)
	require.Empty(t, r.Findings)
	require.Equal(t, []Dismissed{{"slow-disk", "containerd.version 1.7.20 is not affected (<1.7.4 is)", evidence}}, r.RuledOut)

	for _, unknown := range []map[string]timeline.Fact{nil, {"containerd.version": {Value: "private build"}}} {
		tl.Facts = unknown
		f := find(t, Evaluate(only(t, "slow-disk"), tl), "slow-disk")
		require.Equal(t, language.Likely, f.Verdict)
		require.Contains(t, f.Notes, "containerd.version is unknown (affected: <1.7.4): without it this cause is very probable, and not proven")
	}
}

func TestNeeds(t *testing.T) {
	cat := only(t, "slow-disk")
	strace := Missing{Source: "strace or goroutines.shim", Command: "strace -f -tt -T -p SHIM"}
	log := Missing{Source: "containerd.log", Command: "journalctl -u containerd -o export"}

	r := Evaluate(cat, drop(line(), "strace", "containerd.log"))
	require.Equal(t, []Unanswered{{"slow-disk", "no strace or goroutines.shim, no containerd.log", []Missing{strace, log}}}, r.NotEvaluable)
	require.Empty(t, r.RuledOut)

	r = Evaluate(cat, drop(line(), "strace"))
	require.Equal(t, []Unanswered{{"slow-disk", "no strace or goroutines.shim; not seen in containerd.log: container … exited; umount2 of … lasts …; and 1 more step", []Missing{strace}}}, r.NotEvaluable)

	r = Evaluate(cat, line(exitOf(idA, 1)))
	require.Empty(t, r.RuledOut, "a step was seen: what is not seen does not rule the rule out")
	require.Equal(t, []Unanswered{{"slow-disk", "not seen in strace, containerd.log: umount2 of … lasts …; the shim is gone", nil}}, r.NotEvaluable)

	r = Evaluate(cat, line())
	require.Empty(t, r.RuledOut, "chosen lines show no absence")
	require.Contains(t, r.NotEvaluable[0].Why, "too few lines")

	r = Evaluate(cat, dense(line()))
	require.Empty(t, r.NotEvaluable)
	require.Equal(t, []Dismissed{{Rule: "slow-disk", Why: "not seen in strace, containerd.log: container … exited; umount2 of … lasts …; and 1 more step"}}, r.RuledOut)

	f := find(t, Evaluate(cat, drop(line(umountOf(idA, 1, 100)), "containerd.log")), "slow-disk")
	require.Equal(t, language.Likely, f.Verdict)
	require.Equal(t, []Missing{log}, f.Missing)

	tl := line() // sources that end before the stall say nothing about it
	tl.Stalls = []timeline.Stall{stall()}
	for i := range tl.Coverage {
		tl.Coverage[i].End = begin.Add(-5 * time.Minute)
	}
	require.Len(t, Evaluate(cat, tl).NotEvaluable, 1)
}

func TestAbsenceNeedsCoverage(t *testing.T) {
	for name, spoil := range map[string]func(*timeline.Coverage){
		"log begins too late": func(c *timeline.Coverage) { c.Start = begin.Add(6 * time.Second) },
		"log ends too early":  func(c *timeline.Coverage) { c.End = begin.Add(124 * time.Second) },
		"log has no debug":    func(c *timeline.Coverage) { c.Level = event.Info },
		"log has no level":    func(c *timeline.Coverage) { c.Level = event.NoLevel },
		"log has no time":     func(c *timeline.Coverage) { c.Start, c.End = time.Time{}, time.Time{} },
		"another source":      func(c *timeline.Coverage) { c.Source = "kubelet.log" },
	} {
		t.Run(name, func(t *testing.T) {
			tl := line(exitOf(idA, 1), updateOf(idA))
			spoil(&tl.Coverage[0])
			f := find(t, Evaluate(only(t, "held-lock"), tl), "held-lock")
			require.Equal(t, language.Possible, f.Verdict)
		})
	}
}

func TestContradictions(t *testing.T) {
	volatile := ev("fact", field("name", "mount"), field("value", "index=off,volatile"))
	nfs := ev("kernel.frame", when(60), field("symbol", "nfs_wait"))

	f := find(t, Evaluate(only(t, "slow-disk"), line(append(incident(), volatile)...)), "slow-disk")
	require.Equal(t, language.Likely, f.Verdict)
	require.InDelta(t, 0.6, f.Score, 1e-9)
	require.Equal(t, "(exit 20×1 + umount 60×1)/100 − 0.2 = 0.6", f.Formula)
	require.Equal(t, []Against{{"the mount is volatile", volatile.Evidence}}, f.Contradictions)

	r := Evaluate(only(t, "slow-disk"), line(append(incident(), nfs)...))
	require.Empty(t, r.Findings)
	require.Equal(t, []Dismissed{{"slow-disk", "the kernel waits for a server", nfs.Evidence}}, r.RuledOut)

	later := ev("kernel.frame", when(600), field("symbol", "nfs_wait"))
	f = find(t, Evaluate(only(t, "slow-disk"), line(append(incident(), later)...)), "slow-disk")
	require.Equal(t, language.Confirmed, f.Verdict, "outside the umount it contradicts nothing")

	// What is ruled out for one container is not for another.
	f = find(t, Evaluate(only(t, "slow-disk"), line(append(incident(), nfs, exitOf(idB, 300), umountOf(idB, 301, 400))...)), "slow-disk")
	require.Equal(t, idB, f.Container)
}

// TestContradictionIsNotEvaded: leaving out the step that a contradiction binds to would hide it.
func TestContradictionIsNotEvaded(t *testing.T) {
	cat := only(t, "held-lock", "per: cid", `rules_out:
  - {kind: lock.held, match: {doing: fsync}, bind: {lock: lock}, why: "the holder waits for the disk"}
per: cid`)
	fsync := holderOf(5, 100)
	fsync.Fields = append(fsync.Fields, event.Field{Key: "doing", Value: event.String("fsync")})
	events := []event.Event{updateOf(idA), fsync, waiterFor("0xc0001", 1, 6, 100), waiterFor("0xc0001", 2, 6, 100)}
	r := Evaluate(cat, line(events...))
	require.Empty(t, r.Findings)
	require.Len(t, r.RuledOut, 1)
	require.Equal(t, "the holder waits for the disk", r.RuledOut[0].Why)
}

func TestOneFindingPerValue(t *testing.T) {
	r := Evaluate(only(t, "slow-disk"), line(exitOf(idA, 1), umountOf(idA[:12], 2, 100), exitOf(idB, 1), umountOf(idB, 2, 100)))
	require.Len(t, r.Findings, 2)
	require.ElementsMatch(t, []string{idA, idB}, []string{r.Findings[0].Container, r.Findings[1].Container})

	var many []event.Event
	for i := range maxFindings + 5 {
		id := string(rune('a'+i%6)) + string(rune('0'+i/6)) + idA[2:]
		many = append(many, umountOf(id, 2, 100))
	}
	r = Evaluate(only(t, "slow-disk"), line(many...))
	require.Len(t, r.Findings, maxFindings)
	require.Contains(t, r.Findings[maxFindings-1].Notes, "only the best 16 of this rule are shown")
}

// TestWithoutGroup: a match of no container is found too, unless a container's has all of it.
func TestWithoutGroup(t *testing.T) {
	dump := []event.Event{holderOf(5, 100), waiterFor("0xc0001", 1, 6, 100), waiterFor("0xc0001", 2, 6, 100)}
	f := find(t, Evaluate(only(t, "held-lock"), line(dump...)), "held-lock")
	require.Empty(t, f.Container)
	require.Equal(t, language.Likely, f.Verdict)
	require.Len(t, Evaluate(only(t, "held-lock"), line(append(dump, updateOf(idA))...)).Findings, 1)
}

func TestAllGathers(t *testing.T) {
	f := find(t, Evaluate(only(t, "held-lock"), line(incident()...)), "held-lock")
	waiters := f.Chain[len(f.Chain)-1]
	require.Equal(t, "3 goroutines wait in ListContainers", waiters.Text)
	require.Len(t, waiters.Evidence, 3)
	require.Equal(t, at(6).T, waiters.Start)
	require.True(t, waiters.AtLeast)
}

// TestRowGoesOn holds that a step is told to the end of its row, which a pause ends, and which has
// no events that say something else about a bind. No verdict hangs on it.
func TestRowGoesOn(t *testing.T) {
	const rule = `
id: refused
title: A request is refused
role: root
headline: "refused"
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: once, role: cause, text: once, kind: a, bind: {server: server}, weight: 50}
  - {id: still, role: mechanism, text: "still ({still|count}×)", goes_on: 10m, kind: a, bind: {server: server}, weight: 50}
edges: [{from: once, to: still, gap: {min: 40s, max: 2m}, relation: "goes on as"}]
verdict: {likely: once and still, possible: once}
`
	cat := catalogOf(t, rule)
	refused := func(second float64, server string) event.Event { return ev("a", when(second), field("server", server)) }
	last := func(events ...event.Event) Step {
		chain := find(t, Evaluate(cat, line(events...)), "refused").Chain
		return chain[len(chain)-1]
	}
	row := []event.Event{refused(0, "x"), refused(60, "x"), refused(70, "y"), refused(600, "x"), refused(1200, "x")}
	still := last(row...)
	require.Equal(t, "still (3×)", still.Text)
	require.Equal(t, at(1200).T, still.End)
	require.Equal(t, "still (3×)", last(append(row, refused(1801, "x"))...).Text, "a pause ends the row")
	require.Equal(t, "still (4×)", last(append(row, refused(1800, "x"))...).Text)
	f := find(t, Evaluate(cat, line(refused(0, "x"), refused(300, "x"), refused(600, "x"))), "refused")
	require.Equal(t, language.Possible, f.Verdict, "a row needs its beginning")
}

// TestTimeAloneProvesNothing: a rule may say confirmed, but two things that merely happen together
// are likely at most.
func TestTimeAloneProvesNothing(t *testing.T) {
	const rule = `
id: together
title: Two things
role: root
headline: "both"
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: one, role: cause, text: one, kind: a, weight: 50}
  - {id: two, role: symptom, text: two, kind: b, weight: 50}
verdict: {confirmed: one and two, possible: two}
`
	cat := catalogOf(t, rule)
	f := find(t, Evaluate(cat, line(ev("a", when(1)), ev("b", when(2)))), "together")
	require.Equal(t, language.Likely, f.Verdict)
	require.Equal(t, "(one 50×1 + two 50×0.5)/100 = 0.75", f.Formula)
	require.Contains(t, f.Notes, "nothing but their times ties the steps together: this cause is very probable, and not proven")
	f = find(t, Evaluate(cat, line(ev("a", when(1)), ev("b", when(3600)))), "together")
	require.Equal(t, language.Possible, f.Verdict, "what no edge ties has to lie near in time")
}

func TestNotes(t *testing.T) {
	events := incident()
	events[1].Fields = append(events[1].Fields, event.Field{Key: "delayed", Value: event.Bool(true)})
	f := find(t, Evaluate(only(t, "slow-disk"), line(events...)), "slow-disk")
	require.Contains(t, f.Notes, "strace injected the delay: this was a test")
	require.Equal(t, []language.Action{{Do: "end that strace"}}, f.Remediation.Now)
}

// TestSearchIsBounded: nothing but time ties the steps, and no two events fit together as asked.
// All events last, so that each may seem near the others.
func TestSearchIsBounded(t *testing.T) {
	const rule = `
id: wide
title: Wide
role: root
headline: "wide"
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: one, role: cause, text: x, kind: a}
  - {id: two, role: cause, text: x, kind: b}
  - {id: three, role: cause, text: x, kind: c}
  - {id: four, role: cause, text: x, kind: d, match: {never: true}}
edges:
  - {from: one, to: two, gap: {min: 0s}}
  - {from: two, to: three, gap: {min: 0s}}
  - {from: three, to: four, gap: {min: 0s}}
  - {from: three, to: one, gap: {min: 0s}}
verdict: {possible: one and two and three}
`
	var events []event.Event
	for i := range 400 {
		s := float64(i)
		events = append(events, ev("a", when(1000+s)), ev("b", when(2000+s)), ev("c", when(s)))
	}
	for i := range events {
		events[i].End = at(9000)
	}
	r := Evaluate(catalogOf(t, rule), line(events...))
	require.Empty(t, r.Findings)
	require.Empty(t, r.RuledOut, "the search did not see everything")
	require.Len(t, r.NotEvaluable, 1)
	require.Contains(t, r.NotEvaluable[0].Why, "the search stopped after 500000 tries")
}

// TestUntiedStep: what only a missing step would tie costs no tries, however much fits the others.
// A kubelet whose runtime is gone logs hundreds of refused calls, and its own start long before.
func TestUntiedStep(t *testing.T) {
	const rule = `
id: refused
title: Refused
role: root
headline: "refused"
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: missing, role: cause, text: x, kind: a}
  - {id: elsewhere, role: recovery, text: x, kind: b}
  - {id: one, role: cause, text: x, weight: 100, kind: c}
  - {id: two, role: cause, text: x, weight: 100, kind: c}
  - {id: three, role: symptom, text: x, weight: 100, kind: d}
edges:
  - {from: missing, to: elsewhere, gap: {min: 0s}}
  - {from: one, to: two, gap: {min: 0s}}
  - {from: two, to: three, gap: {min: 0s}}
verdict: {possible: one and two and three}
`
	events := []event.Event{ev("b", when(1)), ev("d", when(5000))}
	for i := range 800 {
		events = append(events, ev("c", when(float64(1000+i))))
	}
	f := find(t, Evaluate(catalogOf(t, rule), line(events...)), "refused")
	require.Empty(t, f.Notes)
}

// TestOrderOfInputDoesNotMatter: the same events in any order give the same result.
func TestOrderOfInputDoesNotMatter(t *testing.T) {
	cat := synthetic(t)
	events := append(incident(), exitOf(idB, 1), umountOf(idB, 2, 100), updateOf(idB),
		ev("containerd.task-exit", container(idB)), ev("kubelet.cri-error", when(7), field("method", "ListContainers")))
	tl := line(events...)
	tl.Stalls = []timeline.Stall{stall()}
	want := Evaluate(cat, tl)
	require.NotEmpty(t, want.Findings)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		random.Shuffle(len(tl.Events), func(i, j int) { tl.Events[i], tl.Events[j] = tl.Events[j], tl.Events[i] })
		require.Equal(t, want, Evaluate(cat, tl))
	}
}

// TestEvidenceIsQuoted: every finding rests on quotes of the events it was made from.
func TestEvidenceIsQuoted(t *testing.T) {
	tl := line(incident()...)
	known := map[event.Quote]bool{}
	for _, e := range tl.Events {
		known[e.Evidence[0]] = true
	}
	for _, f := range Evaluate(synthetic(t), tl).Findings {
		for _, s := range f.Chain {
			require.NotEmpty(t, s.Evidence, s.ID)
			for _, q := range s.Evidence {
				require.True(t, known[q], "%v", q)
			}
		}
	}
}

func TestHostileTimes(t *testing.T) {
	for _, year := range []int{-5000, 0, 1, 1700, 9999, 300000} {
		tl := line(exitOf(idA, 1), umountOf(idA, 1.5, 213.5))
		tl.Events[0].Start.T = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		f := find(t, Evaluate(only(t, "slow-disk"), tl), "slow-disk")
		require.Equal(t, language.Likely, f.Verdict, "an exit of the year %d explains nothing", year)
	}
}

// Silence proves nothing where lines are missing: a gap inside the step may hide what the rule
// looks for.
func TestAbsenceNeedsCoverageWithoutGaps(t *testing.T) {
	exit := exitOf(idA, 1)
	update := updateOf(idA)
	for name, c := range map[string]struct {
		gap  timeline.Gap
		want language.Verdict
	}{
		"before the update":                {timeline.Gap{Window: timeline.Window{Start: begin.Add(2 * time.Second), End: begin.Add(3 * time.Second)}}, language.Likely},
		"inside the update":                {timeline.Gap{Window: timeline.Window{Start: begin.Add(50 * time.Second), End: begin.Add(60 * time.Second)}}, language.Possible},
		"after the update":                 {timeline.Gap{Window: timeline.Window{Start: begin.Add(200 * time.Second), End: begin.Add(260 * time.Second)}}, language.Likely},
		"before the update, end not known": {timeline.Gap{Window: timeline.Window{Start: begin.Add(2 * time.Second)}}, language.Possible},
	} {
		tl := line(exit, update)
		for i := range tl.Coverage {
			tl.Coverage[i].Gaps = []timeline.Gap{c.gap}
		}
		r := Evaluate(only(t, "held-lock"), tl)
		require.Len(t, r.Findings, 1, name)
		require.Equal(t, c.want, r.Findings[0].Verdict, name)
	}
}

func TestEmptyCatalogue(t *testing.T) {
	r := Evaluate(&language.Catalog{}, line(incident()...))
	require.Zero(t, r)
}

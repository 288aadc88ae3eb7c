package story

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// begin is when the invented incidents begin.
var begin = time.Date(2025, 11, 8, 9, 30, 0, 0, time.UTC)

const (
	idA = "40585f73aa0011223344556677889900aabbccddeeff00112233445566778899"
	idB = "b39895a8aa0011223344556677889900aabbccddeeff00112233445566778899"
)

// at is the moment so many seconds into an incident.
func at(seconds float64) event.Time {
	return event.At(begin.Add(time.Duration(seconds * float64(time.Second))))
}

// setup changes an event that a test invents.
type setup func(*event.Event)

// ev invents an event of one line; its line number is its place in the order of invention.
func ev(kind event.Kind, changes ...setup) event.Event {
	line := len(kind)
	e := event.Event{Kind: kind, Source: "containerd.log", Text: string(kind)}
	for _, change := range changes {
		change(&e)
		line = line*31 + len(e.Fields) + int(e.Start.T.Unix()%1000)
	}
	e.Evidence = []event.Quote{{Pos: event.Pos{File: "log", Line: line & 0xffff}, Text: fmt.Sprintf("%s %s %s", kind, e.IDs.Container, e.Start.T.Format(time.TimeOnly))}}
	return e
}

func from(start, end float64) setup {
	return func(e *event.Event) { e.Start, e.End = at(start), at(end) }
}

func when(start float64) setup { return func(e *event.Event) { e.Start = at(start) } }

func container(id string) setup { return func(e *event.Event) { e.IDs.Container = id } }

func lock(address string) setup { return func(e *event.Event) { e.IDs.Lock = address } }

func goroutine(id uint64) setup               { return func(e *event.Event) { e.IDs.Goroutine = id } }
func open(e *event.Event)                     { e.Open = true }
func field(key event.Key, value string) setup { return with(key, event.String(value)) }
func with(key event.Key, v event.Value) setup {
	return func(e *event.Event) { e.Fields = append(e.Fields, event.Field{Key: key, Value: v}) }
}

// pointersTo are events as a timeline holds them: not copied.
func pointersTo(events ...event.Event) []*event.Event {
	all := make([]*event.Event, len(events))
	for i := range events {
		all[i] = &events[i]
	}
	return all
}

// line invents a timeline whose sources cover ten minutes on either side of the incident.
func line(events ...event.Event) *timeline.Timeline {
	tl := &timeline.Timeline{Events: pointersTo(events...), Facts: map[string]timeline.Fact{"containerd.version": {Value: "1.6.20"}}}
	for _, source := range []string{"containerd.log", "goroutines.containerd", "strace", "kubelet.log"} {
		tl.Coverage = append(tl.Coverage, timeline.Coverage{
			Source: source, File: source, Start: begin.Add(-10 * time.Minute), End: begin.Add(20 * time.Minute), Level: event.Debug,
		})
	}
	return tl
}

// drop takes sources out of the bundle.
func drop(tl *timeline.Timeline, sources ...string) *timeline.Timeline {
	var kept []timeline.Coverage
	for _, c := range tl.Coverage {
		if !slices.Contains(sources, c.Source) {
			kept = append(kept, c)
		}
	}
	tl.Coverage = kept
	return tl
}

// synthetic loads the invented rules.
func synthetic(t testing.TB) *language.Catalog {
	t.Helper()
	cat, err := language.Load(nil, language.Files{FS: os.DirFS("../rules/testdata/synthetic")})
	require.NoError(t, err)
	return cat
}

// catalogOf loads rules written in a test.
func catalogOf(t testing.TB, texts ...string) *language.Catalog {
	t.Helper()
	fsys := fstest.MapFS{}
	for i, text := range texts {
		fsys[fmt.Sprintf("rule%d.yaml", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	cat, err := language.Load(nil, language.Files{FS: fsys})
	require.NoError(t, err)
	return cat
}

// The parts of the invented incident: a container exits, its umount is slow,
// an update of it holds a lock, three lists wait for that.
func exitOf(id string, s float64) event.Event {
	return ev("containerd.task-exit", when(s), container(id))
}

func umountOf(id string, start, end float64) event.Event {
	return ev("syscall", from(start, end), container(id), field("name", "umount2"))
}

func updateOf(id string, start, end float64) event.Event {
	return ev("cri.call", from(start, end), container(id), field("method", "UpdateContainerResources"))
}

func holderOf(start, end float64) event.Event {
	return ev("lock.held", from(start, end), lock("0xc0001"), goroutine(492), open)
}

func waiterFor(address string, n uint64, start, end float64) event.Event {
	return ev("lock.wait", from(start, end), lock(address), goroutine(n), field("call", "ListContainers"), open)
}

func incident() []event.Event {
	return []event.Event{
		exitOf(idA, 1), umountOf(idA, 1.5, 213.5), updateOf(idA, 5, 125), holderOf(5, 100),
		waiterFor("0xc0001", 501, 6, 100), waiterFor("0xc0001", 502, 7, 100), waiterFor("0xc0001", 503, 8, 100),
	}
}

func stall() timeline.Stall {
	return timeline.Stall{
		Window: timeline.Window{Start: begin.Add(6 * time.Second), End: begin.Add(198 * time.Second)}, Phase: timeline.PhaseList,
		NotReady: begin.Add(182 * time.Second),
		Evidence: []event.Quote{{Pos: event.Pos{File: "kubelet.log", Line: 7}, Text: "PLEG is not healthy"}},
	}
}

// find returns the finding of a rule; the test fails without one.
func find(t testing.TB, r Result, rule string) Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Rule == rule {
			return f
		}
	}
	require.Fail(t, "no finding", "%s in %+v", rule, r)
	return Finding{}
}

func stepIDs(chain []rules.Step) []string {
	var ids []string
	for _, s := range chain {
		ids = append(ids, s.ID)
	}
	return ids
}

// evaluate asks the rules and tells their story.
func evaluate(cat *language.Catalog, tl *timeline.Timeline) Result {
	return Tell(cat, tl, node.Find(tl), rules.Evaluate(cat, tl))
}

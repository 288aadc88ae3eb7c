package template

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// texts expands texts about an exit without an end, an umount that is still open, and a lock that
// nobody has seen.
func texts(t *testing.T, s string, own string) string {
	t.Helper()
	steps := []string{"exit", "umount", "lock"}
	variables := []string{"cid", "address"}
	in := Scope{Steps: func(id string) int { return slices.Index(steps, id) }, Variables: func(name string) int { return slices.Index(variables, name) }, Own: own != ""}
	in.Captured = func(int, string) int { return -1 }
	parsed, err := Parse(s, in, func(int) {})
	require.NoError(t, err, s)
	const id = "40585f73aa0011223344556677889900aabbccddeeff00112233445566778899"
	begin := time.Date(2025, 11, 8, 9, 30, 0, 0, time.UTC)
	exit := event.Event{Text: "containerd.task-exit", IDs: event.IDs{Container: id}, Start: event.At(begin.Add(time.Second))}
	umount := withFields("path", "/run\n{cid}; {exit.start}", "what", "pause-image")
	umount.Fields = append(umount.Fields, event.Field{Key: "wait", Value: event.Duration(354 * time.Millisecond)},
		event.Field{Key: "age", Value: event.Duration(math.MaxInt64)})
	umount.IDs.Container, umount.Open = id, true
	umount.Start, umount.End = event.At(begin.Add(2*time.Second)), event.At(begin.Add(121400*time.Millisecond))
	return parsed.Expand(Seen{
		Steps: [][]*event.Event{{&exit}, {&umount, &umount}, nil}, Bound: []string{id, ""}, Own: slices.Index(steps, own),
	})
}

// withFields is an event with fields: each a key and its text.
func withFields(fields ...string) event.Event {
	var e event.Event
	for i := 0; i < len(fields); i += 2 {
		e.Fields = append(e.Fields, event.Field{Key: event.Key(fields[i]), Value: event.String(fields[i+1])})
	}
	return e
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ own, text, want string }{
		{"", "container {cid|id} exits at {exit.start|time}", "container 40585f73aa00 exits at 09:30:01"},
		{"", "{umount.duration|dur} and {umount.wait|dur}", "at least 1m59s and 0.354s"},
		{"", "it lacks a {umount.what|words}", "it lacks a pause image"},
		{"", "the longest {umount.duration|longest}", "the longest at least 1m59s"},
		{"", "{umount|count} umounts, ended {umount.end}", "2 umounts, ended 09:32:01"},
		{"", "{exit|count} goroutines wait for it", "1 goroutine waits for it"},
		{"", "{exit|count} operations on containers fail", "1 operation on containers fails"},
		{"", "{umount|count} goroutines wait for it", "2 goroutines wait for it"},
		{"", "it exits; {lock|count} wait for {address}; done", "it exits; done"},
		{"", "it exits, {lock.goroutine} holds {cid}", "it exits"},
		{"", "{lock.goroutine} holds it", ""},
		{"", "costs 1,5 s;no separator", "costs 1,5 s;no separator"},
		{"", "ends with a stop.", "ends with a stop."},
		{"exit", "container {container|id} exited with {exit_status}", "container 40585f73aa00 exited with"},
		{"exit", "container {sandbox|id} exited", "container exited"},
		{"exit", "container {container|id} ({sandbox|id}) exited", "container 40585f73aa00 exited"},
		{"exit", "the exit: {text}, {umount.duration|dur} later", "the exit: containerd.task-exit, at least 1m59s later"},
		{"lock", "{lock|count} hold {cid|id}", "hold 40585f73aa00"},
		{"", "held ({umount|count}, in all 3) by it", "held (2, in all 3) by it"},
		{"", "held (by {lock.goroutine}, in all 3), to the end; done", "done"},
		// Words without a placeholder are not said without what they go on with.
		{"", "it waits for {lock.goroutine}, too; done", "done"},
		{"", "it waits, for {lock.goroutine}, too; done", "it waits, too; done"},
		{"umount", "{wait}", "354ms"},
		{"umount", "PLEG was last seen active {age|dur} ago", "PLEG was last seen active an unknown time ago"},
		// A count of one is no news.
		{"exit", "it exits ({exit|count}×)", "it exits"},
		{"exit", "it exits ({exit|count} lines); {umount|count} umounts", "it exits; 2 umounts"},
		{"umount", "it is unmounted ({umount|count}×)", "it is unmounted (2×)"},
		{"exit", "it exits; such exits: {exit|count}; done", "it exits; done"},
		{"exit", "it exits; such umounts: {umount|count}", "it exits; such umounts: 2"},
		{"exit", "{exit|count} exits", "1 exits"},
		// What was said is not said again.
		{"", "{cid|id} exits with 137, at {exit.start|time}; {cid|id} exits; done", "40585f73aa00 exits with 137, at 09:30:01; done"},
		{"", "it exits; it exits late", "it exits; it exits late"},
		{"", "one waits, for {umount.wait|dur}; another waits, for {umount.wait|dur}", "one waits, for 0.354s; another waits, for 0.354s"},
		{"", "such umounts: 21; such umounts: {umount|count}; such umounts: 2", "such umounts: 21; such umounts: 2"},
		// What a log says is put in as it is: no placeholder, no new line, no clause of its own.
		{"umount", "umount of {path}, then more", "umount of /run {cid}; {exit.start}, then more"},
	} {
		require.Equal(t, c.want, texts(t, c.text, c.own), c.text)
	}
}

func TestTemplateErrors(t *testing.T) {
	in := Scope{
		Steps:     func(id string) int { return slices.Index([]string{"exit"}, id) },
		Variables: func(name string) int { return slices.Index([]string{"cid"}, name) },
	}
	for text, want := range map[string]string{
		"{":              "{ without }",
		"}":              "} without {",
		"{a{b}}":         "{ without }",
		"{}":             "names nothing",
		"{exit.}":        "names nothing",
		"{cid|idd}":      `unknown format "idd" in {cid|idd}; did you mean "id"?`,
		"{exi.start}":    `unknown step "exi"`,
		"{container|id}": "neither a bind nor step.field",
	} {
		_, err := Parse(text, in, func(int) {})
		require.ErrorContains(t, err, want, text)
	}
}

// TestFirstKnown: {a/b} is the first of its names that has a value.
func TestFirstKnown(t *testing.T) {
	sampled, listed := withFields("pid", "7"), withFields("pid", "8")
	ids := []string{"sampled", "listed"}
	in := Scope{Steps: func(id string) int { return slices.Index(ids, id) }, Variables: func(string) int { return -1 }}
	in.Captured = func(int, string) int { return -1 }
	parsed, err := Parse("one; {sampled.pid/listed.pid} is stopped", in, func(int) {})
	require.NoError(t, err)
	for want, steps := range map[string][][]*event.Event{
		"one; 7 is stopped": {{&sampled}, {&listed}},
		"one; 8 is stopped": {nil, {&listed}},
		"one":               {nil, nil},
	} {
		require.Equal(t, want, parsed.Expand(Seen{Steps: steps, Own: OwnStep}))
	}
}

// TestFieldOfARow: a field that the first event of a row lacks is what all others that have it say,
// and not known where they differ.
func TestFieldOfARow(t *testing.T) {
	first, second, third := withFields(), withFields("server", "10.9.8.7:6443"), withFields("server", "10.9.8.7:6443")
	expand := func(events ...*event.Event) string {
		in := Scope{Steps: func(string) int { return 0 }, Variables: func(string) int { return -1 }, Own: true}
		in.Captured = func(int, string) int { return -1 }
		parsed, err := Parse("no way, to {server}", in, func(int) {})
		require.NoError(t, err)
		return parsed.Expand(Seen{Steps: [][]*event.Event{events}, Own: 0})
	}
	require.Equal(t, "no way, to 10.9.8.7:6443", expand(&first, &second, &third))
	other := withFields("server", "10.9.8.8:6443")
	require.Equal(t, "no way", expand(&first, &second, &other))
}

// TestOthersAreCounted: a text that counts events of several containers does not say all of them of
// the one that it names.
func TestOthersAreCounted(t *testing.T) {
	in := Scope{Steps: func(id string) int { return slices.Index([]string{"silent"}, id) }, Variables: func(string) int { return -1 }, Own: true}
	in.Captured = func(int, string) int { return -1 }
	expandOf := func(text string, events []*event.Event) string {
		parsed, err := Parse(text, in, func(int) {})
		require.NoError(t, err)
		return parsed.Expand(Seen{Steps: [][]*event.Event{events}, Own: 0})
	}
	expand := func(text string, containers ...string) string {
		var events []*event.Event
		for _, id := range containers {
			events = append(events, &event.Event{IDs: event.IDs{Container: id}})
		}
		return expandOf(text, events)
	}
	require.Equal(t, "crio waits, the node waits", expandOf("{component} waits", []*event.Event{{Component: "crio"}})+
		", "+expandOf("{component} waits", []*event.Event{{Component: "node"}}), "the node is no program")
	const counted = "the shim of {container|id} is silent ({silent|count}×)"
	require.Equal(t, "the shim of a is silent (2×)", expand(counted, "a", "a"))
	require.Equal(t, "the shim of a (and 1 other) is silent (3×)", expand(counted, "a", "b", "a"))
	require.Equal(t, "the shim of a (and 2 others) is silent (3×)", expand(counted, "a", "b", "c"))
	require.Equal(t, "the shim of a is silent", expand("the shim of {container|id} is silent", "a", "b"), "nothing is counted")

	var calls []*event.Event
	for _, method := range []string{"ListContainers", "ListPodSandbox"} {
		e := withFields(string(event.FieldMethod), method)
		e.Text = method + " is late"
		calls = append(calls, &e)
	}
	require.Equal(t, "ListContainers (and 1 other) is late (2×)", expandOf("{text} ({silent|count}×)", calls))
	require.Equal(t, "ListContainers (and 1 other) hangs (2×)", expandOf("{method} hangs ({silent|count}×)", calls))
	calls[0].Text = "a call is late"
	require.Equal(t, "a call is late (2×)", expandOf("{text} ({silent|count}×)", calls))
}

package rules

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// texts expands texts about an exit without an end, an umount that is still open, and a lock that nobody has seen.
func texts(t *testing.T, s string, own string) string {
	t.Helper()
	steps := []string{"exit", "umount", "lock"}
	variables := []string{"cid", "address"}
	in := scope{steps: func(id string) int { return index0(steps, id) }, variables: func(name string) int { return index0(variables, name) }, own: own != ""}
	in.captured = func(int, string) int { return -1 }
	parsed, err := parseTemplate(s, in, func(int) {})
	require.NoError(t, err, s)
	exit := exitOf(idA, 1)
	umount := ev("syscall", from(2, 121.4), container(idA), open, field("path", "/run\n{cid}; {exit.start}"), with("wait", event.Duration(354*time.Millisecond)),
		with("age", event.Duration(math.MaxInt64)))
	return parsed.expand(seen{
		steps: [][]*event.Event{{&exit}, {&umount, &umount}, nil}, bound: []string{idA, ""}, own: index0(steps, own),
	})
}

func index0(list []string, s string) int {
	for i := range list {
		if list[i] == s {
			return i
		}
	}
	return -1
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ own, text, want string }{
		{"", "container {cid|id} exits at {exit.start|time}", "container 40585f73aa00 exits at 09:30:01"},
		{"", "{umount.duration|dur} and {umount.wait|dur}", "at least 1m59s and 0.354s"},
		{"", "{umount|count} umounts, ended {umount.end}", "2 umounts, ended 09:32:01"},
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
		{"", "held (by {lock.goroutine}, in all 3), to the end", "to the end"},
		{"umount", "{wait}", "354ms"},
		{"umount", "PLEG was last seen active {age|dur} ago", "PLEG was last seen active an unknown time ago"},
		// A count of one is no news.
		{"exit", "it exits ({exit|count}×)", "it exits"},
		{"exit", "it exits ({exit|count} lines); {umount|count} umounts", "it exits; 2 umounts"},
		{"umount", "it is unmounted ({umount|count}×)", "it is unmounted (2×)"},
		{"exit", "it exits; such exits: {exit|count}; done", "it exits; done"},
		{"exit", "it exits; such umounts: {umount|count}", "it exits; such umounts: 2"},
		{"exit", "{exit|count} exits", "1 exits"},
		// What a log says is put in as it is: no placeholder, no new line, no clause of its own.
		{"umount", "umount of {path}, then more", "umount of /run {cid}; {exit.start}, then more"},
	} {
		require.Equal(t, c.want, texts(t, c.text, c.own), c.text)
	}
}

func TestTemplateErrors(t *testing.T) {
	in := scope{
		steps:     func(id string) int { return index0([]string{"exit"}, id) },
		variables: func(name string) int { return index0([]string{"cid"}, name) },
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
		_, err := parseTemplate(text, in, func(int) {})
		require.ErrorContains(t, err, want, text)
	}
}

// TestFirstKnown: {a/b} is the first of its names that has a value.
func TestFirstKnown(t *testing.T) {
	sampled, listed := ev("a", field("pid", "7")), ev("b", field("pid", "8"))
	ids := []string{"sampled", "listed"}
	in := scope{steps: func(id string) int { return slices.Index(ids, id) }, variables: func(string) int { return -1 }}
	in.captured = func(int, string) int { return -1 }
	parsed, err := parseTemplate("one; {sampled.pid/listed.pid} is stopped", in, func(int) {})
	require.NoError(t, err)
	for want, steps := range map[string][][]*event.Event{
		"one; 7 is stopped": {{&sampled}, {&listed}},
		"one; 8 is stopped": {nil, {&listed}},
		"one":               {nil, nil},
	} {
		require.Equal(t, want, parsed.expand(seen{steps: steps, own: ownStep}))
	}
}

// TestFieldOfARow: a field that the first event of a row lacks is what all others that have it say, and
// not known where they differ.
func TestFieldOfARow(t *testing.T) {
	first, second, third := ev("a"), ev("a", field("server", "10.9.8.7:6443")), ev("a", field("server", "10.9.8.7:6443"))
	expand := func(events ...*event.Event) string {
		in := scope{steps: func(string) int { return 0 }, variables: func(string) int { return -1 }, own: true}
		in.captured = func(int, string) int { return -1 }
		parsed, err := parseTemplate("no way, to {server}", in, func(int) {})
		require.NoError(t, err)
		return parsed.expand(seen{steps: [][]*event.Event{events}, own: 0})
	}
	require.Equal(t, "no way, to 10.9.8.7:6443", expand(&first, &second, &third))
	other := ev("a", field("server", "10.9.8.8:6443"))
	require.Equal(t, "no way", expand(&first, &second, &other))
}

package language

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// invented is a vocabulary for the kinds of the rule whole.
var invented = []event.KindInfo{
	{Kind: "a", About: "an a", IDs: inventedIDs, Fields: []event.FieldInfo{
		{Key: "method"},
		{Key: "seconds", Type: event.TypeNumber},
		{Key: "outcome", Values: []string{"ok", "failed"}},
		{Key: "took", Type: event.TypeDuration},
		{Key: "sure", Type: event.TypeBoolean},
		{Key: "most", Type: event.TypeNumber, Values: []string{"infinity"}},
	}},
	{Kind: "b", About: "a b", IDs: inventedIDs, Withdrawn: []event.Key{"since"}},
	{Kind: "c", About: "a c", IDs: inventedIDs},
	{Kind: "dee", About: "a d", IDs: inventedIDs},
	{Kind: "d", About: "a d", IDs: inventedIDs},
	{Kind: event.KindLogLine, About: "a line", Fields: []event.FieldInfo{{Key: "text"}}, IDs: inventedIDs, Open: true},
}

var inventedIDs = []event.Key{event.FieldContainer, event.FieldPID}

// TestLint makes a whole rule senseless in one place each.
func TestLint(t *testing.T) {
	const line = "kind: log.line, match: {text|contains: lost contact}, bind: {container: cid}"
	for _, c := range []struct{ old, new, want string }{
		{"kind: a,", "kind: aa,", `6:45: unknown kind "aa"`},
		{"kind: d,", "kind: deee,", `unknown kind "deee"; did you mean "dee"?`},
		{"kind: a,", "kind: a, match: {metod: x},", `6:63: a has no field "metod"; did you mean "method"?`},
		{"kind: a, bind: {container: cid}", "kind: a, bind: {containr: cid}", `6:65: a has no field "containr"; did you mean "container"?`},
		{"{one.start}", "{one.methud}", `18:11: a has no field "methud"; did you mean "method"?`},
		{`role: cause, text: "x"`, `role: cause, text: "{metho}"`, `a has no field "metho"; did you mean "method"?`},
		{"per: cid", "per: cid\nnotes: [{when: {step: one, match: {secs|gt: 1}}, text: x}]", `18:45: a has no field "secs"`},
		{"[containerd.log], collect", "[containerd], collect", `4:16: "containerd" is no source: logs are COMPONENT.log`},
		{"source: containerd.log", "source: journal", `"journal" is no source`},
		{"per: cid", "per: cid\nforecast: [{kind: a, value: secs, limit: 5, text: t}]", `18:29: a has no field "secs"`},
		{"per: cid", "per: cid\nexposed: [{facts: {cpus|gt: 8, cpus|lt: 4}, text: t}]", `no event meets all that is asked of "cpus"`},

		{"kind: a,", "kind: a, match: {seconds|gte: 10, seconds|lt: 5},", `6:69: no event meets all that is asked of "seconds"`},
		{"kind: a,", "kind: a, match: {duration|gt: 1m, duration|lt: 60s},", `no event meets all that is asked of "duration"`},
		{"kind: a,", "kind: a, match: {method: x, method|startswith: y},", `no event meets all that is asked of "method"`},
		{"kind: a,", "kind: a, match: {method|in: [x, z], method|re: y},", `no event meets all that is asked of "method"`},
		{"kind: a,", "kind: a, match: {method|exists: false, method: x},", `no event meets all that is asked of "method"`},
		{"kind: a,", "kind: a, match: {container|exists: false},", `no event meets all that is asked of "container"`},

		{"kind: b, bind: {container: cid}", "any: [{kind: b, bind: {container: cid}}, {kind: b, match: {open: true}, bind: {container: cid}}]", `7:83: this alternative is never reached: alternative 1 takes every event that fits it`},
		{"one and two\n  possible: one or two and none-seen", "one\n  possible: one and two or one and none-seen", `14:13: possible is never reached: confirmed holds wherever it does`},
		{"absent:", "  - {from: two, to: one, gap: {min: 1s}}\nabsent:", `10:6: no events can lie so: the edges before it say otherwise of "two" and "one"`},
		{"absent:", "  - {from: two, to: one, overlap: 1s}\n  - {from: one, to: two, from_at: end, gap: {min: 2s}}\nabsent:", `11:6: no events can lie so`},

		{"kind: a, bind: {container: cid}", strings.Replace(line, "lost contact", "lost", 1), `a log.line needs text|contains`},
		{"kind: a, bind: {container: cid}", strings.Replace(line, "lost contact", `'"a"b"cdefg"'`, 1), `with 6 plain letters or more in a row`},
		{"kind: a, bind: {container: cid}", strings.Replace(line, "text|contains", "text|re", 1), `a log.line needs text|contains`},
		{"kind: a, bind: {container: cid}", strings.Replace(line, "text|contains: lost contact", "text|in: [lost contact, no]", 1), `a log.line needs text|contains`},
	} {
		require.Contains(t, whole, c.old)
		_, err := Load(invented, Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(strings.Replace(whole, c.old, c.new, 1))}}})
		require.ErrorContains(t, err, c.want, c.new)
		require.NotContains(t, err.Error(), "\n", "one mistake, one problem")
	}
	for _, c := range []struct{ old, new string }{
		{"kind: a,", "kind: a, match: {seconds|gte: 5, seconds|lte: 5},"},
		{"kind: a,", "kind: a, match: {seconds|in: [1, 7], seconds|gt: 5},"},
		{"kind: a,", "kind: a, match: {duration: 1m0s, duration|gt: 5},"},
		{"kind: a,", "kind: a, match: {method|startswith: x, method|contains: y},"},
		{"kind: b, bind: {container: cid}", "any: [{kind: b, match: {open: true}, bind: {container: cid}}, {kind: b, bind: {container: cid}}]"},
		{"absent:", "  - {from: two, to: one, gap: {min: -10s, max: 0s}}\nabsent:"},
		{"kind: a, bind: {container: cid}", line},
	} {
		_, err := Load(invented, Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(strings.Replace(whole, c.old, c.new, 1))}}})
		require.NoError(t, err, c.new)
	}
}

// TestWarnings: what is suspicious but used to load still loads.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"[containerd.log]", "[containrd.log]", `whole.yaml:4:16: warning: unknown source "containrd.log"; did you mean "containerd.log"?`},
		{"[containerd.log]", "[acme-vold.log]", `4:16: warning: unknown source "acme-vold.log": no log.line of this rule has component: acme-vold`},
		{"source: containerd.log", "source: goroutines.acme", `11:51: warning: unknown source "goroutines.acme"`},
		{"kind: b,", "kind: b, match: {since|exists: true},", `7:72: warning: b never had a value of "since"`},
	} {
		require.Contains(t, whole, c.old)
		cat, err := Load(invented, Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(strings.Replace(whole, c.old, c.new, 1))}}})
		require.NoError(t, err)
		require.Len(t, cat.Rules, 1)
		require.Len(t, cat.Warnings, 1)
		require.Contains(t, cat.Warnings[0].Error(), c.want)
	}
	for _, replaced := range []string{
		strings.NewReplacer("[containerd.log]", "[acme-vold.log]", "kind: a,", "kind: log.line, match: {component: acme-vold, text: lost contact},").Replace(whole),
		strings.ReplaceAll(whole, "containerd.log", `"path:var/log/acme/*.log"`),
	} {
		cat, err := Load(invented, Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(replaced)}}})
		require.NoError(t, err)
		require.Empty(t, cat.Warnings)
	}
	_, err := Load(invented, Files{FS: fstest.MapFS{
		"a.yaml": {Data: []byte(strings.Replace(whole, "[containerd.log]", "[containrd.log]", 1))},
		"b.yaml": {Data: []byte(strings.NewReplacer("id: whole", "id: other", "kind: a,", "kind: aa,").Replace(whole))},
	}})
	require.EqualError(t, err, `a.yaml:4:16: warning: unknown source "containrd.log"; did you mean "containerd.log"?
b.yaml:6:45: unknown kind "aa"`, "with a mistake, warnings of other files are told, too")
}

// TestLines: what the rules of a catalogue ask for by text, as it stands in any file.
func TestLines(t *testing.T) {
	cat := loadText(t, strings.Replace(whole, "kind: a, bind: {container: cid}", `any: [
      {kind: log.line, match: {component: chronyd, text|contains: 'stepped "clock" by', text|re: "x"}, bind: {container: cid}},
      {kind: log.line, match: {component|in: [kubelet, containerd], text|in: [no such host, "disk <sda> is lost"]}, bind: {container: cid}},
      {kind: log.line, match: {error|startswith: "größer als erlaubt"}, bind: {container: cid}}]`, 1))
	require.Equal(t, []event.LineWatch{
		{Component: "chronyd", Literal: "stepped"},
		{Component: "kubelet", Literal: "no such host"},
		{Component: "containerd", Literal: "no such host"},
		{Component: "kubelet", Literal: "is lost"},
		{Component: "containerd", Literal: "is lost"},
		{Literal: "er als erlaubt"},
	}, cat.Lines())
	var none *Catalog
	require.Empty(t, none.Lines())
}

// TestLintValues: a value that a field can never have, and an id that a kind never carries, is a
// warning.
func TestLintValues(t *testing.T) {
	for match, want := range map[string]string{
		"outcome: ok":                 "",
		"outcome: okay":               `no a has such a value of "outcome": it is one of ok, failed`,
		`outcome: ""`:                 "",
		"outcome|in: [ok, okay]":      `it is one of ok, failed`,
		"outcome|contains: fail":      "",
		"outcome|startswith: un":      `it is one of ok, failed`,
		"outcome|exists: true":        "",
		"outcome|gt: 3":               "it is text, and only numbers and durations have an order",
		"method: anything":            "",
		"method|lt: 3":                "it is text, and only numbers and durations have an order",
		"sure: true":                  "",
		`sure: "true"`:                "",
		"sure: yes indeed":            "it is true or false",
		"seconds: 5":                  "",
		"seconds: many":               "it is a number",
		"most: infinity":              "",
		"most: 7":                     "",
		"most: max":                   "it is a number or infinity",
		"took: 90":                    "",
		"took: 1m30s":                 "",
		"took: 90s":                   "it is a duration: compare it with a number of seconds, or by |gte and |lt", // which is written 1m30s
		"took|gte: 90s":               "",
		"duration: long":              "it is a duration",
		"open: maybe":                 "it is true or false",
		"level: warn":                 "it is one of trace, debug, info, warning, error, fatal",
		"goroutine: 7":                "a carries no goroutine",
		"repeats|gt: 2, component: a": "",
	} {
		t.Run(match, func(t *testing.T) {
			rule := strings.Replace(whole, "kind: a,", "kind: a, match: {"+match+"},", 1)
			catalog, err := Load(invented, Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(rule)}}})
			require.NoError(t, err)
			if want == "" {
				require.Empty(t, catalog.Warnings)
				return
			}
			require.Len(t, catalog.Warnings, 1)
			require.Contains(t, catalog.Warnings[0].Error(), ": warning: ")
			require.Contains(t, catalog.Warnings[0].Error(), want)
		})
	}
}

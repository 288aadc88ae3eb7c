package rules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestOperators(t *testing.T) {
	e := ev("syscall", from(0, 30), container(idA),
		field("name", "umount2"), field("version", "v1.6.20~ds1"), field("args", `"/run/a/rootfs", 0`),
		with("wait", event.Duration(90*time.Second)), with("count", event.Int(6)), with("delayed", event.Bool(true)))
	for _, c := range []struct {
		key  string
		arg  any
		want bool
	}{
		{"name", "umount2", true},
		{"name", "umount", false},
		{"nothing", "umount2", false},
		{"count", uint64(6), true},
		{"count", 6.0, true},
		{"count", int64(-6), false},
		{"count", "6", true}, // quoted in YAML
		{"delayed", true, true},
		{"delayed", false, false},
		{"delayed", "true", true},
		{"wait", "1m30s", true},
		{"name|in", []any{"umount", "umount2"}, true},
		{"name|in", []any{"umount", "fsync"}, false},
		{"count|in", []any{uint64(5), uint64(6)}, true},
		{"args|contains", "rootfs", true},
		{"args|contains", "ROOTFS", false},
		{"name|startswith", "umount", true},
		{"name|startswith", "mount", false},
		{"name|endswith", "2", true},
		{"name|endswith", "umount", false},
		{"args|re", `^"/run/.*rootfs"`, true},
		{"args|re", `^rootfs`, false},
		{"duration|gte", "30s", true},
		{"duration|gt", "30s", false},
		{"duration|lte", uint64(30), true}, // a duration counts in seconds
		{"duration|lt", "1m", true},
		{"wait|gte", "2m", false},
		{"count|gt", 5.5, true},
		{"name|gt", uint64(0), false}, // text is no number
		{"nothing|lt", uint64(1), false},
		{"container|exists", true, true},
		{"sandbox|exists", true, false},
		{"sandbox|exists", false, true},
		{"version|semver", "<1.6.24 || >=1.7.0 <1.7.4", true},
		{"version|semver", ">=1.6.24", false},
		{"name|semver", ">=0.0.0", false}, // no version
	} {
		compiled, err := newCondition(c.key, c.arg)
		require.NoError(t, err, "%s: %v", c.key, c.arg)
		require.Equal(t, c.want, meetsConditions(&e, []condition{compiled}), "%s: %v", c.key, c.arg)
	}
}

func TestOperatorErrors(t *testing.T) {
	for key, c := range map[string]struct {
		arg  any
		want string
	}{
		"a|lt":       {"soon", `"soon" is neither a number nor a duration`},
		"a|re":       {"(", "missing closing )"},
		"a|in":       {"x", "takes a list"},
		"a|exists":   {"yes", "takes true or false"},
		"a|contain":  {"x", `unknown operator "contain"; did you mean "contains"?`},
		"a|semver":   {"<one", `"one" is not a version`},
		"a":          {[]any{"x"}, "takes one value"},
		"a|contains": {nil, "takes one value"},
		"|lt":        {uint64(1), "names no field"},
	} {
		_, err := newCondition(key, c.arg)
		require.ErrorContains(t, err, c.want, key)
	}
}

func TestVersionRange(t *testing.T) {
	for _, c := range []struct {
		version, affected string
		in, known         bool
	}{
		{"v1.13.12", "<1.14.0", true, true},
		{"v1.14.0", "<1.14.0", false, true},
		{"v1.14.0-alpha.1", "<1.14.0", true, true},
		{"v1.18.8-aliyun.1", ">=1.18.8", true, true}, // a vendor's build is no pre-release
		{"1.6.20~ds1", "1.6.20", true, true},
		{"17.06.0-ce", "<=17.06", true, true},
		{"1.7.17", ">=1.7.0 <1.7.17", false, true},
		{"1.7.16", ">=1.7.0, <1.7.17", true, true},
		{"2.0.1", "<1.6 || >=2.0.0", true, true},
		{"1.0.0-rc93", ">1.0.0-rc9 <1.0.0-rc100", true, true},
		{"1.0.0-rc93", "<1.0.0", true, true},
		{"252 (252.39-1~deb12u1)", ">=242", true, true},
		{"go1.26", "<1.27", true, true},
		{"", "<1.14.0", false, false},
		{"unknown", "<1.14.0", false, false},
		{"1.2.3.4.5", "<2", true, true},
	} {
		r, err := parseVersionRange(c.affected)
		require.NoError(t, err, c.affected)
		in, known := r.contains(c.version)
		require.Equal(t, c.known, known, "%s %s", c.version, c.affected)
		require.Equal(t, c.in, in, "%s %s", c.version, c.affected)
	}
	for _, bad := range []string{"", "<", "|| 1.0", "1.0 ||", "<x"} {
		_, err := parseVersionRange(bad)
		require.Error(t, err, "%q", bad)
	}
}

func TestExpressions(t *testing.T) {
	bits := map[string]uint64{"a": 1, "b": 2, "c-d": 4}
	bit := func(id string) uint64 { return bits[id] }
	for text, truths := range map[string][]uint64{
		"a":                  {1, 3, 5, 7},
		"a and b":            {3, 7},
		"a or b and c-d":     {1, 3, 5, 6, 7},
		"(a or b) and c-d":   {5, 6, 7},
		"((a))":              {1, 3, 5, 7},
		"a and(b or c-d)":    {3, 5, 7},
		"a and b and c-d":    {7},
		" b  or\n c-d or a ": {1, 2, 3, 4, 5, 6, 7},
	} {
		e, err := parseExpression(text, bit)
		require.NoError(t, err, text)
		var got []uint64
		for set := range uint64(8) {
			if e.holds(set) {
				got = append(got, set)
			}
		}
		require.Equal(t, truths, got, text)
	}
	for text, want := range map[string]string{
		"":      "ends where an id is expected",
		"a and": "ends where an id is expected",
		"a b":   `expected and, or or the end, not "b"`,
		"(a":    "missing )",
		"a)":    "expected and, or or the end",
		"or":    `expected an id, not "or"`,
	} {
		_, err := parseExpression(text, bit)
		require.ErrorContains(t, err, want, text)
	}
}

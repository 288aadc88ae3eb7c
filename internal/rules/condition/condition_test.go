package condition

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestOperators(t *testing.T) {
	begin := time.Date(2025, 11, 8, 9, 30, 0, 0, time.UTC)
	e := event.Event{
		Kind: event.KindSyscall, Start: event.At(begin), End: event.At(begin.Add(30 * time.Second)), IDs: event.IDs{Container: "40585f73aa00"},
		Fields: []event.Field{
			{Key: "name", Value: event.String("umount2")},
			{Key: "version", Value: event.String("v1.6.20~ds1")},
			{Key: "args", Value: event.String(`"/run/a/rootfs", 0`)},
			{Key: "wait", Value: event.Duration(90 * time.Second)},
			{Key: "count", Value: event.Int(6)},
			{Key: "delayed", Value: event.Bool(true)},
		},
	}
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
		compiled, err := New(c.key, c.arg)
		require.NoError(t, err, "%s: %v", c.key, c.arg)
		require.Equal(t, c.want, AreMet(&e, []Condition{compiled}), "%s: %v", c.key, c.arg)
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
		_, err := New(key, c.arg)
		require.ErrorContains(t, err, c.want, key)
	}
}

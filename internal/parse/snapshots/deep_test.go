package snapshots_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// TestDeep: parsers that recurse are not led deeper than the stack is long, nor kept busy.
func TestDeep(t *testing.T) {
	const n = 1 << 18
	for name, tt := range map[string]struct{ format, text string }{
		"json lists":         {"json", strings.Repeat("[", n)},
		"json tables":        {"json", strings.Repeat(`{"a":`, n)},
		"yaml flow":          {"yaml", "kind: a\nb: " + strings.Repeat("[", n) + "\n"},
		"yaml flow tables":   {"yaml", "kind: a\nb: " + strings.Repeat("{a: ", n) + "\n"},
		"yaml elements":      {"yaml", "kind: a\n" + strings.Repeat("- ", n) + "a\n"},
		"yaml keys":          {"yaml", "kind: a\n" + strings.Repeat("? ", n) + "a\n"},
		"yaml marks":         {"yaml", "kind: a\n" + strings.Repeat("!!a &b ", n) + "a\n"},
		"yaml colons":        {"yaml", "kind: a\n" + strings.Repeat("a: ", n) + "a\n"},
		"yaml quotes":        {"yaml", "kind: a\nb: " + strings.Repeat(`"`, n) + "\n"},
		"yaml short colons":  {"yaml", "kind: a\n" + strings.Repeat("a: ", 900) + "a\n"},
		"yaml short quotes":  {"yaml", "kind: a\nb: " + strings.Repeat(`"`, 60000) + "\n"},
		"yaml open quotes":   {"yaml", "kind: a\nb:\n" + strings.Repeat("  - \"a\n", n/8)},
		"yaml plain lines":   {"yaml", "kind: a\nb:\n" + strings.Repeat("  a\n", n/4)},
		"yaml blank lines":   {"yaml", "kind: a\nb:\n" + strings.Repeat("  \n", n/3) + "  a\n"},
		"yaml comments":      {"yaml", "kind: a\nb:\n" + strings.Repeat("  # a\n", n/8) + "  a\n"},
		"yaml folded":        {"yaml", "kind: a\nb: >\n" + strings.Repeat("  a\n", n/4)},
		"yaml colons inside": {"yaml", "kind: a\nb:\n  " + strings.Repeat("a:\n  ", n/8) + "a\n"},
		"yaml long scalar":   {"yaml", "kind: a\nb: |\n" + strings.Repeat("  line of text\n", n/16)},
		"yaml many keys":     {"yaml", "kind: a\nb:\n" + strings.Repeat("  k: v\n", n/32)},
		"toml lists":         {"toml", "a = " + strings.Repeat("[", n)},
		"toml tables":        {"toml", strings.Repeat("[a.b]\nx = {\n", n/32)},
		"toml broken":        {"toml", strings.Repeat("a = [1,\n", n/64)},
		"outline":            {"outline", strings.Repeat("a:\n b:\n", n/32)},
		"properties":         {"properties", strings.Repeat("a=b\\\n", n/32)},
	} {
		t.Run(name, func(t *testing.T) {
			a := parsetest.Read(t, parsetest.Format(t, tt.format), []byte(tt.text), nil)
			require.NoError(t, a.Err)
		})
	}
}

package condition

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWordsStandIn(t *testing.T) {
	for _, one := range []struct {
		pattern, text string
		stand         bool
	}{
		{`abc`, "xabcx", true},
		{`abc`, "ABC", false},
		{`(?i)abc`, "nothing is known of it", true},
		{`[Nn]o more|all gone`, "no more", true},
		{`[Nn]o more|all gone`, "some more", false},
		{`(network|plugin).*(EOF|x509: )`, "x509: of a plugin", true}, // the expression is for the order
		{`(network|plugin).*(EOF|x509: )`, "a plugin", false},
		{`(abc)+(def){2,}`, "abc", false},
		{`(abc)?x*`, "", true},
		{`abc|d*`, "", true},
		{`a.b`, "", true}, // too short
		{"ab\uFFFDc", "ab\xffc", true},
	} {
		p, err := parsePattern(one.pattern)
		require.NoError(t, err)
		require.Equal(t, one.stand, p.words().standIn(one.text), "%s in %s", one.pattern, one.text)
	}
}

// A pattern matches what its expression matches.
func TestPatternMatchesAsItsExpression(t *testing.T) {
	pieces := []string{
		"abc", "bca", "cab", "[ab]", "(abc|bbb)", "(?i:abc)", "(abc)*", "(bca)+", "(abc)?", "(abc){2}", ".", ".*", "|", "^", "$", "(abc.*bca|ccc)", "[^a]",
	}
	rapid.Check(t, func(t *rapid.T) {
		written := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(t, "pieces"), "")
		text := rapid.StringMatching(`(abc|bca|cab|ABC|[abc]){0,5}`).Draw(t, "text")
		p, err := parsePattern(written)
		require.NoError(t, err)
		require.Equal(t, regexp.MustCompile(written).MatchString(text), p.matchString(text), "%s on %q", written, text)
	})
}

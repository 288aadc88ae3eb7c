package language

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestActionProblems(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`do: "End it, its process is {one.method}.", `, "", "do is missing"},
		{`do: "End it, its process is {one.method}."`, `do: "{one.method}, {cid}"`, "each clause of do has a placeholder"},
		{`cat /proc`, `cat /proc/{one.metod}`, `a has no field "metod"; did you mean "method"?`},
		{`cat /proc`, `cat /proc/{pod}`, "{pod} is neither a bind nor step.field"},
		{`, cid: "shown by crictl ps."`, "", "find does not say how to find {cid}"},
		{`cid: "shown`, `pod: "a", cid: "shown`, "no command has the placeholder {pod}"},
		{"hazard: ends it,", "", "hazard is missing: say what kill may do"},
		{"/comm", "/comm  # its name", "a command holds no comment"},
		{"/comm", "/$(comm", "bash refuses it"},
		{"/comm", "/task/TID", "a reader has to replace TID"},
		{"{one.took/one.method}; cat", "{one.took/one.metod}; cat", `a has no field "metod"; did you mean "method"?`},
		{"/comm", "/$Q", "no command of this action sets $Q"},
	} {
		text := strings.Replace(cure, c.old, c.new, 1)
		require.NotEqual(t, cure, text, c.old)
		_, err := Load(invented, Files{FS: fstest.MapFS{"rule.yaml": {Data: []byte(text)}}})
		require.ErrorContains(t, err, c.want, c.new)
	}
	text := strings.Replace(strings.Replace(cure, "/comm", "/task/TID", 1), "End it,", "End the thread TID,", 1)
	_, err := Load(invented, Files{FS: fstest.MapFS{"rule.yaml": {Data: []byte(text)}}})
	require.NoError(t, err, "do says what TID is")
}

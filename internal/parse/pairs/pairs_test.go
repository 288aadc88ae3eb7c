package pairs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A page of Markdown takes the backslashes of quotes: the pairs stay what they were.
func TestLooseQuotes(t *testing.T) {
	text, fields, _, open := ParseLogrus(`level=error msg="StopPodSandbox for "4498f5a09d78" failed" error="failed to kill container "dc2ca0615937": timed out"`, nil)
	require.False(t, open)
	require.Equal(t, `StopPodSandbox for "4498f5a09d78" failed`, text)
	require.Equal(t, []event.Pair{{Key: "error", Value: `failed to kill container "dc2ca0615937": timed out`}}, fields)

	text, _, _, open = ParseLogrus(`level=info msg="Kill container "dc2ca0615937""`, nil)
	require.False(t, open)
	require.Equal(t, `Kill container "dc2ca0615937"`, text)

	text, fields = ParseKlog(`"StopPodSandbox from runtime service failed" err="sandbox "ec2f": plugin type="calico" failed (delete): refused" podSandboxID="ec2f"`)
	require.Equal(t, "StopPodSandbox from runtime service failed", text)
	require.Equal(t, []event.Pair{{Key: "err", Value: `sandbox "ec2f": plugin type="calico" failed (delete): refused`}, {Key: "podSandboxID", Value: "ec2f"}}, fields)

	_, fields = ParseKlog(`"What is escaped is read as ever" err="a \"b\"c" key="v"x`)
	require.Equal(t, "err", fields[0].Key)
	require.Equal(t, `a "b"c`, fields[0].Value)
}

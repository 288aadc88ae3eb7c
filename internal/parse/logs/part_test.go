package logs_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// TestPartsAreOneMessage: what one part makes wanted, or only both together, holds for all of them.
func TestPartsAreOneMessage(t *testing.T) {
	for name, log := range map[string]string{
		"cri": "2025-11-08T09:30:00Z stderr P I1108 09:30:00.223450    2917 kubelet.go:2412] \"first\" err=\"nee\n" +
			"2025-11-08T09:30:00Z stderr F dle\"\n",
		"docker": `{"log":"I1108 09:30:00.223450    2917 kubelet.go:2412] \"first\" err=\"nee","stream":"stderr","time":"2025-11-08T09:30:00Z"}` + "\n" +
			`{"log":"dle\"\n","stream":"stderr","time":"2025-11-08T09:30:00Z"}` + "\n",
	} {
		for _, literal := range []string{"first", "dle", "needle"} {
			a := parsetest.Read(t, parsetest.Format(t, "container"), []byte(log), func(line []byte) bool { return bytes.Contains(line, []byte(literal)) })
			require.Len(t, a.Records, 1, name)
			require.True(t, a.Records[0].Wanted, "%s %s", name, literal)
			require.Equal(t, "first", a.Records[0].Text)
			require.Equal(t, 2, a.Records[0].Lines)
			require.Equal(t, "needle", a.Records[0].Fields[0].Value)
		}
		a := parsetest.Read(t, parsetest.Format(t, "container"), []byte(log), func([]byte) bool { return false })
		require.Len(t, a.Records, 1)
		require.False(t, a.Records[0].Wanted)
		require.Equal(t, 2, strings.Count(log, "\n"))
	}
}

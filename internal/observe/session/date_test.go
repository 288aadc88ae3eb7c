package session

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// TestDate: a date counts for the rest of its own command and for the next command.
func TestDate(t *testing.T) {
	const printed = "Mon Mar 23 09:21:44 UTC 2026\n"
	const listing = "    PID    PPID STAT COMMAND\n      1       0 Ss   /sbin/init\n"
	for text, want := range map[string][]bool{
		"$ date; ps ax\n" + printed + listing:                                {false, true},
		"$ date\n" + printed + "$ ps ax\n" + listing + "$ uptime\nnothing\n": {false, true, false},
		"$ ps ax\n" + listing + "$ uptime\nnothing\n":                        {false, false},
	} {
		var date Date
		var dated []bool
		all := parse.NewSections(lines.Input{R: strings.NewReader(text)})
		for s := all.Next(); s != nil; s = all.Next() {
			at := date.Before(s)
			if at.Known {
				require.Equal(t, "2026-03-23T09:21:44Z", at.T.Format("2006-01-02T15:04:05Z07:00"))
			}
			_, err := io.Copy(io.Discard, s.R)
			require.NoError(t, err)
			date.Take(s)
			dated = append(dated, at.Known)
		}
		require.Equal(t, want, dated, text)
	}
}

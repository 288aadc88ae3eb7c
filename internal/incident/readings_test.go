package incident_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestDateOfListing: a listing that only its youngest process dates has the date that was collected
// with it. One that says itself when it was made keeps that.
func TestDateOfListing(t *testing.T) {
	const stopped = "  PID STAT WCHAN                STARTED                  COMMAND\n" +
		" 1300 Tsl  do_signal_stop       Sun Nov 15 08:00:00 2026 /usr/bin/containerd\n"
	const itself = " 9999 R+   -                    Thu Nov 19 10:30:00 2026 ps -eo pid,stat,wchan,lstart,args\n"
	collected, made := time.Date(2026, 11, 20, 11, 0, 5, 0, time.UTC), time.Date(2026, 11, 19, 10, 30, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		listing string
		want    time.Time
	}{
		"nothing dates it": {stopped, collected},
		"ps is in it":      {stopped + itself, made},
		"its first line":   {"Thu Nov 19 10:30:00 UTC 2026\n" + stopped, made},
	} {
		t.Run(name, func(t *testing.T) {
			inc := loadFiles(t, map[string]string{"ps.txt": c.listing, "date": "Fri Nov 20 11:00:05 UTC 2026\n"})
			i := slices.IndexFunc(inc.Timeline.Events, func(e *event.Event) bool { return e.Kind == event.KindProcess })
			require.Equal(t, c.want, inc.Timeline.Events[i].Start.T)
			require.True(t, inc.Timeline.Events[i].Begun)
		})
	}
}

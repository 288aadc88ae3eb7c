package messages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestToldClock(t *testing.T) {
	for text, want := range map[string]string{
		"rtc_cmos 00:05: setting system clock to 2012-12-22 01:51:07 UTC (1356141067)":  "2012-12-22T01:51:07Z",
		"rtc_cmos 00:03: setting system clock to 2024-01-12T21:52:44 UTC (1705096364)":  "2024-01-12T21:52:44Z",
		`audit: type=1400 audit(1762615360.224:188): apparmor="STATUS" profile="x"`:     "2025-11-08T15:22:40.224Z",
		`audit: type=1400 audit(1762615360.2:188): apparmor="STATUS" profile="cut"`:     "",
		"the audit: type=1400 audit(1762615360.224:188): quoted by somebody":            "",
		"rtc_cmos 00:05: setting system clock to 2012-12-22 01:51:07 UTC (one that is)": "",
	} {
		r := event.Record{Text: text, Time: event.Time{Lacks: event.LacksBoot, Known: true}}
		at, ok := ToldClock(&r)
		assert.Equal(t, want != "", ok, text)
		if ok {
			assert.Equal(t, want, at.T.Format(time.RFC3339Nano), text)
		}
		r.Time.Lacks = 0
		_, ok = ToldClock(&r)
		assert.False(t, ok, "a line with a date")
	}
}

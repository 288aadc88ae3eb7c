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

func TestToldZone(t *testing.T) {
	for text, want := range map[string]string{
		"   Active: inactive (dead) since Tue 2020-07-07 14:13:10 EDT; 11s ago":   "2020-07-07T14:13:10-04:00",
		"Active: active (running) since Fri 2026-11-20 18:22:10 UTC; 3min 2s ago": "2026-11-20T18:22:10Z",
		"Active: active (running) since Fri 2026-11-20 18:22:10 CST; 3min 2s ago": "",
		"Active: inactive (dead)": "",
		"the unit is not what it was since Tue 2020-07-07 14:13:10 EDT; somebody has stopped it": "",
	} {
		at, ok := ToldZone(&event.Record{Text: text})
		assert.Equal(t, want != "", ok, text)
		if ok {
			assert.Equal(t, want, at.T.Format(time.RFC3339), text)
		}
	}
}

func TestToldMoment(t *testing.T) {
	for text, want := range map[string]string{
		"Machine: {Timestamp:2021-01-20 11:42:11.940508631 +0000 UTC m=+0.318352187 NumCores:6 NumPhysicalCores:3}":                                                                "2021-01-20T11:42:11.940508631Z",
		"Docker Info: &{ID:VK75:L4K4 Containers:7 SystemTime:2021-01-20T19:42:12.00124392+08:00 LoggingDriver:json-file}":                                                          "2021-01-20T11:42:12.00124392Z",
		"eviction manager: observations: signal=memory.available, available: 7106568Ki, capacity: 7863912Ki, time: 2019-08-20 22:10:50.6022908 +0000 GMT m=+6143.769875301":        "2019-08-20T22:10:50.6022908Z",
		"eviction manager: observations: signal=imagefs.available, available: 88231544Ki, capacity: 104855548Ki, time: 2019-08-20 22:10:50.7678104 +0000 GMT":                      "",
		`"Observed pod startup duration" pod="a/b" observedRunningTime="2023-09-01 23:35:07.1 +0000 UTC m=+1.0" watchObservedRunningTime="2023-09-01 23:35:07.2 +0000 UTC m=+1.1"`: "2023-09-01T23:35:07.1Z",
		`Operation for "{x}" failed. No retries permitted until 2025-05-09 12:28:16.5 +0000 UTC m=+121017.5 (durationBeforeRetry 2m2s). Error: timed out`:                          "2025-05-09T12:26:14.5Z",
		`Operation for "{x}" failed. No retries permitted until 2025-05-09 12:28:16.5 +0000 UTC m=+121017.5 (durationBefo`:                                                         "",
		"rtc_cmos 00:05: setting system clock to 2012-12-22 01:51:07 UTC (1356141067)":                                                                                             "2012-12-22T01:51:07Z",
		`audit: type=1400 audit(1762615360.224:188): apparmor="STATUS" profile="x"`:                                                                                                "2025-11-08T15:22:40.224Z",
		"certificate rotation deadline is 2025-05-09 12:28:16.5 +0000 UTC m=+121017.5":                                                                                             "",
	} {
		r := event.Record{Text: text, Raw: text, Time: event.Time{Lacks: event.LacksYear | event.LacksZone, Known: true}}
		at, ok := ToldMoment(&r)
		assert.Equal(t, want != "", ok, text)
		if ok {
			assert.Equal(t, want, at.Format(time.RFC3339Nano), text)
		}
		r.Time.Lacks = 0
		_, ok = ToldMoment(&r)
		assert.False(t, ok, "a line with a date")
	}
}

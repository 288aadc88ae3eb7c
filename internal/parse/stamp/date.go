package stamp

import (
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Date reads a date of a collecting script, of ps or of kubectl, which is all of s:
//
//	Fri Nov 20 18:22:16 2026                 ps -o lstart, ctime(3); local
//	Fri Nov 20 18:25:50 UTC 2026             date(1); any other zone's letters name no offset
//	Fri 20 Nov 2026 06:25:50 PM UTC          date(1) in an English locale
//	Fri 2026-11-20 18:22:10 UTC              systemctl
//	Mon, 03 Jun 2019 13:54:18 +0000          kubectl describe, RFC 1123
//	2025-11-08T01:33:05Z                     Kubernetes, RFC 3339
//	2026-11-20 18:25:50
//	2017-03-09 18:45:36 +0100 CET            kubectl get events -w, of Go
func Date(s string) (t event.Time, ok bool) {
	s = strings.TrimSpace(s)
	if t, n := ISO([]byte(s)); n > 0 && n == len(s) {
		return t, true
	}
	f := strings.Fields(s)
	if len(f) > 0 && (len(f[0]) == 3 && f[0][0] > '9' || strings.HasSuffix(f[0], ",")) && len(s) < 60 {
		f = f[1:] // the day of the week
	}
	if len(f) == 6 && len(f[0]) <= len("sáb.") && foreignMonths[f[2]] > 0 { // vr 29 mrt 2019 5:21:18 UTC
		f = f[1:]
	}
	if len(f) > 1 && foreignMonths[f[1]] > 0 {
		f[1] = time.Month(foreignMonths[f[1]]).String()[:3]
	}
	if len(f) == 4 && strings.ContainsAny(f[2][:1], "+-") {
		f = f[:3] // the offset says what the letters stand for
	}
	if len(f) >= 2 && len(f) <= 3 && strings.Count(f[0], "-") == 2 {
		return readZoned(f[0]+"T"+f[1], f[2:])
	}
	if len(f) >= 3 && f[0][0] > '9' { // Nov 20 18:25:50 UTC 2026, as 20 Nov 2026 18:25:50 UTC
		last := len(f) - 1
		f = slices.Concat([]string{f[1], f[0], f[last]}, f[2:last])
	}
	layout := "2 Jan 2006 15:04:05"
	if len(f) == 6 {
		layout = "2 Jan 2006 03:04:05 PM"
	}
	words := strings.Count(layout, " ") + 1
	if len(f) < words {
		return event.Time{}, false
	}
	face, err := time.Parse(layout, strings.Join(f[:words], " "))
	if err != nil {
		return event.Time{}, false
	}
	return readZoned(face.Format("2006-01-02T15:04:05"), f[words:])
}

// readZoned reads a date and a time of day, and the zone behind it. Letters other than
// UTC and GMT name several zones (CST is China's and Chicago's), so they name none.
func readZoned(stamp string, zone []string) (event.Time, bool) {
	if len(zone) == 1 {
		switch z := zone[0]; {
		case z == "UTC" || z == "GMT" || z == "Z":
			stamp += "Z"
		case z != "" && (z[0] == '+' || z[0] == '-'):
			stamp += z
		}
	}
	t, n := ISO([]byte(stamp))
	return t, n > 0 && n == len(stamp) && len(zone) <= 1
}

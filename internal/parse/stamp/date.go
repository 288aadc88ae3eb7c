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
//	Fri Nov 20 18:25:50 UTC 2026             date(1); also of zones whose letters name one offset
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

// zoneLetters are the letters that name one offset in all zones of tzdata since 2018. CST is
// China's and Chicago's, IST India's, Ireland's and Israel's, PST also Manila's, CDT also Havana's:
// they name none.
var zoneLetters = map[string]string{
	"UTC": "Z", "GMT": "Z", "Z": "Z", "WET": "+00:00", "WEST": "+01:00", "BST": "+01:00", "CET": "+01:00", "CEST": "+02:00", "MET": "+01:00", "MEST": "+02:00",
	"EET": "+02:00", "EEST": "+03:00", "MSK": "+03:00", "IDT": "+03:00", "WAT": "+01:00", "CAT": "+02:00", "SAST": "+02:00", "EAT": "+03:00", "PKT": "+05:00",
	"WIB": "+07:00", "WITA": "+08:00", "HKT": "+08:00", "WIT": "+09:00", "JST": "+09:00", "KST": "+09:00", "AWST": "+08:00", "ACST": "+09:30", "ACDT": "+10:30",
	"AEST": "+10:00", "AEDT": "+11:00", "NZST": "+12:00", "NZDT": "+13:00", "NST": "-03:30", "NDT": "-02:30", "AST": "-04:00", "ADT": "-03:00", "EST": "-05:00",
	"EDT": "-04:00", "MST": "-07:00", "MDT": "-06:00", "PDT": "-07:00", "AKST": "-09:00", "AKDT": "-08:00", "HST": "-10:00",
}

// readZoned reads a date and a time of day, and the zone behind it.
func readZoned(stamp string, zone []string) (event.Time, bool) {
	if len(zone) == 1 {
		if z := zone[0]; z[0] == '+' || z[0] == '-' {
			stamp += z
		} else {
			stamp += zoneLetters[z]
		}
	}
	t, n := ISO([]byte(stamp))
	return t, n > 0 && n == len(stamp) && len(zone) <= 1
}

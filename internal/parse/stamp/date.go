package stamp

import (
	"strconv"
	"strings"

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
func Date(s string) (t event.Time, ok bool) {
	s = strings.TrimSpace(s)
	if t, n := ISO([]byte(s)); n > 0 && n == len(s) {
		return t, true
	}
	f := strings.Fields(s)
	if len(f) > 0 && (len(f[0]) == 3 && f[0][0] > '9' || strings.HasSuffix(f[0], ",")) && len(s) < 60 {
		f = f[1:] // the day of the week
	}
	if len(f) >= 2 && len(f) <= 3 && strings.Count(f[0], "-") == 2 {
		return readZoned(f[0]+"T"+f[1], f[2:])
	}
	d, ok := dateParts(f)
	if !ok {
		return event.Time{}, false
	}
	if len(d.month) != 3 {
		return event.Time{}, false
	}
	month := Month([]byte(d.month))
	day, err := strconv.Atoi(d.day)
	if month < 1 || err != nil || len(d.year) != 4 {
		return event.Time{}, false
	}
	return readZoned(d.year+"-"+padded(month)+"-"+padded(day)+"T"+d.clock, d.zone)
}

// dateWords are the words of a date.
type dateWords struct {
	day, month, year, clock string
	zone                    []string
}

// dateParts finds them in the orders in which they are written.
func dateParts(f []string) (d dateWords, ok bool) {
	if len(f) < 4 || len(f) > 6 {
		return d, false
	}
	switch {
	case f[0][0] > '9' && len(f) == 4: // Nov 20 18:22:16 2026
		return dateWords{f[1], f[0], f[3], f[2], nil}, true
	case f[0][0] > '9' && len(f) == 5: // Nov 20 18:25:50 UTC 2026
		return dateWords{f[1], f[0], f[4], f[2], f[3:4]}, true
	case f[0][0] > '9': // Nov 20 06:25:50 PM UTC 2026
		return dateWords{f[1], f[0], f[5], to24Hours(f[2], f[3]), f[4:5]}, true
	case f[1][0] <= '9':
		return d, false
	case len(f) == 6: // 20 Nov 2026 06:25:50 PM UTC
		return dateWords{f[0], f[1], f[2], to24Hours(f[3], f[4]), f[5:6]}, true
	}
	return dateWords{f[0], f[1], f[2], f[3], f[4:]}, true // 03 Jun 2019 13:54:18 +0000
}

// to24Hours makes 18:25:50 of 06:25:50 PM.
func to24Hours(clock, half string) string {
	hour, rest, ok := strings.Cut(clock, ":")
	h, err := strconv.Atoi(hour)
	if !ok || err != nil || h < 1 || h > 12 || half != "AM" && half != "PM" {
		return ""
	}
	if h %= 12; half == "PM" {
		h += 12
	}
	return padded(h) + ":" + rest
}

func padded(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// readZoned reads a date and a clock face, and the zone behind it. Letters other than
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

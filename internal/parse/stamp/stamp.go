// Package stamp reads times as programs write them. What a stamp does not say, its zone, year or
// date, is missing in the event.Time too: nothing is guessed here.
package stamp

import (
	"bytes"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// NoDate is what a stamp without date, or without date and zone, lacks.
const (
	NoYear = event.LacksZone | event.LacksYear
	NoDate = event.LacksZone | event.LacksYear | event.LacksDate
)

// Moment puts a date and a time of day together: day counts from 1970, face from midnight; prec is
// how fine the stamp is, 0 for nanoseconds.
func Moment(day int64, timeOfDay, prec time.Duration, lacks event.Lacks) event.Time {
	sec := day*86400 + int64(timeOfDay/time.Second)
	return event.Time{T: time.Unix(sec, int64(timeOfDay%time.Second)).UTC(), Lacks: lacks, Prec: prec, Known: true}
}

// Days counts the days from 1 January 1970 to a date of the proleptic Gregorian
// calendar ("chrono-Compatible Low-Level Date Algorithms", days_from_civil). Ok is
// false for a day that does not exist.
func Days(y, m, d int) (n int64, ok bool) {
	if m < 1 || m > 12 || d < 1 || d > 31 || d == 31 && (m == 4 || m == 6 || m == 9 || m == 11) {
		return 0, false
	}
	if m == 2 && (d > 29 || d == 29 && (y%4 != 0 || y%100 == 0 && y%400 != 0)) {
		return 0, false
	}
	if m <= 2 {
		y--
		m += 12
	}
	era := (y+400)/400 - 1
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int64(era)*146097 + int64(doe) - 719468, true
}

// TwoDigits reads two digits; -1 when they are not. A blank stands for a leading
// zero: rsyslog pads the day so.
func TwoDigits(b0, b1 byte) int {
	if b0 == ' ' {
		b0 = '0'
	}
	if b0-'0' > 9 || b1-'0' > 9 {
		return -1
	}
	return int(b0-'0')*10 + int(b1-'0')
}

var pow10 = [...]time.Duration{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1}

// Fraction reads ".885000" or ",885": its value, its resolution (0 for
// nanoseconds) and its length. Digits beyond the ninth are read over.
func Fraction(b []byte) (v, prec time.Duration, n int) {
	if len(b) < 2 || b[0] != '.' && b[0] != ',' || !lines.IsDigit(b[1]) {
		return 0, time.Second, 0
	}
	n = 1
	for n < len(b) && lines.IsDigit(b[n]) {
		if n <= 9 {
			v = v*10 + time.Duration(b[n]-'0')
		}
		n++
	}
	prec = pow10[min(n-1, 9)]
	v *= prec
	if prec == 1 {
		prec = 0
	}
	return v, prec, n
}

// TimeOfDay reads "09:30:11" and a fraction; n is 0 when it is not there. A leap second is one.
func TimeOfDay(b []byte) (timeOfDay, prec time.Duration, n int) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' || b[0] == ' ' {
		return 0, 0, 0
	}
	h, m, s := TwoDigits(b[0], b[1]), TwoDigits(b[3], b[4]), TwoDigits(b[6], b[7])
	if uint(h) > 23 || uint(m) > 59 || uint(s) > 60 || b[3] == ' ' || b[6] == ' ' {
		return 0, 0, 0
	}
	timeOfDay = time.Duration(h*3600+m*60+s) * time.Second
	f, prec, n := Fraction(b[8:])
	return timeOfDay + f, prec, 8 + n
}

// BareTimeOfDay reads a stamp that is only a time of day.
func BareTimeOfDay(b []byte) (t event.Time, n int) {
	face, prec, n := TimeOfDay(b)
	if n == 0 {
		return t, 0
	}
	return Moment(YearZero, face, prec, NoDate), n
}

// YearZero is 1 January of year 0, see event.Time.
const YearZero = -719528

// Short reads "Nov 20 18:25:12", with a fraction in short-precise, and the
// "11月 08 09:30:11" or "nov. 08 09:30:11" of other languages.
func Short(b []byte) (t event.Time, n int) {
	if len(b) < 15 {
		return t, 0
	}
	m, n := Month(b), 4
	if m == 0 {
		if m, n = readForeignMonth(b); m == 0 {
			return t, 0
		}
	}
	if b[n-1] != ' ' {
		return t, 0
	}
	of, at := TwoDigits(b[n], b[n+1]), n+3
	switch {
	case b[n+1] == ' ': // where pastes and pages lost one of two blanks
		of, at = TwoDigits(' ', b[n]), n+2
	case b[n+2] != ' ':
		return t, 0
	}
	day, ok := Days(0, m, of)
	face, prec, c := TimeOfDay(b[at:])
	if !ok || c == 0 {
		return t, 0
	}
	return Moment(day, face, prec, NoYear), at + c
}

// months are those of English, of three letters each.
const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// monthAt gives the offset of a month in months by the sum of its last two letters, which no two of
// them share.
var monthAt = func() (at [256]uint8) {
	for i := 0; i < len(months); i += 3 {
		at[months[i+1]+months[i+2]] = uint8(i)
	}
	return at
}()

// Month reads an English month of three letters; 0 for anything else.
func Month(b []byte) int {
	at := int(monthAt[b[1]+b[2]])
	if string(b[:3]) != months[at:at+3] {
		return 0
	}
	return at/3 + 1
}

// ISO reads "2025-11-08T09:30:11.885000+08:00" and its variants: a blank for
// the T, no fraction, a comma before it, Z, +0800, or no zone at all.
func ISO(b []byte) (t event.Time, n int) {
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[10] != 'T' && b[10] != ' ' || b[0] == ' ' || b[2] == ' ' || b[5] == ' ' || b[8] == ' ' {
		return t, 0
	}
	hi, lo := TwoDigits(b[0], b[1]), TwoDigits(b[2], b[3])
	if hi < 0 || lo < 0 {
		return t, 0
	}
	day, ok := Days(hi*100+lo, TwoDigits(b[5], b[6]), TwoDigits(b[8], b[9]))
	face, prec, c := TimeOfDay(b[11:])
	if !ok || c == 0 {
		return t, 0
	}
	n = 11 + c
	offset, z := readZone(b[n:])
	if z == 0 {
		return Moment(day, face, prec, event.LacksZone), n
	}
	t = Moment(day, face-offset, prec, 0)
	t.T = t.T.In(zones[(offset+maxOffset)/zoneStep])
	return t, n + z
}

// Offsets that are written: the world's zones lie on quarters of an hour between -12:00 and +14:00.
const (
	maxOffset = 16 * time.Hour
	zoneStep  = 15 * time.Minute
)

// zones keeps the offset that a stamp was written with in its Time, without an allocation for each.
// It is the zone of the node's other files, too.
var zones = func() (all [2*maxOffset/zoneStep + 1]*time.Location) {
	for i := range all {
		all[i] = time.FixedZone("", int((time.Duration(i)*zoneStep - maxOffset).Seconds()))
	}
	return all
}()

// goUTC is how Go prints a time in UTC.
var goUTC = []byte(" +0000 UTC")

// readZone reads "Z", "+08:00", "+0800" or " +0000 UTC" as what to take from local time to get UTC.
func readZone(b []byte) (offset time.Duration, n int) {
	if len(b) > 0 && b[0] == 'Z' {
		return 0, 1
	}
	if len(b) > 0 && b[0] == ' ' && bytes.HasPrefix(b, goUTC) {
		return 0, len(goUTC)
	}
	if len(b) < 5 || b[0] != '+' && b[0] != '-' {
		return 0, 0
	}
	m := 3
	if b[3] == ':' {
		m = 4
	}
	if len(b) < m+2 || b[1] == ' ' || b[m] == ' ' {
		return 0, 0
	}
	hh, mm := TwoDigits(b[1], b[2]), TwoDigits(b[m], b[m+1])
	if uint(hh) > 15 || uint(mm) > 59 {
		return 0, 0
	}
	offset = time.Duration(hh*60+mm) * time.Minute
	if b[0] == '-' {
		offset = -offset
	}
	return offset, m + 2
}

// Epoch reads "1762565411.885000", seconds since 1970 of the years 2001 to 2286.
func Epoch(b []byte) (t event.Time, n int) {
	sec, n := lines.Digits(b)
	if n != 10 || len(b) > n && lines.IsDigit(b[n]) {
		return t, 0
	}
	f, prec, c := Fraction(b[n:])
	return event.Time{T: time.Unix(sec, int64(f)).UTC(), Prec: prec, Known: true}, n + c
}

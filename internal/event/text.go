package event

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FieldText is a field or an id of the event as text; empty when it has none of that name.
func (e *Event) FieldText(key Key) string {
	v, _ := e.Get(key)
	return v.Text()
}

// shortID is how many digits of an id are printed, as ctr, crictl and docker do.
const shortID = 12

// ShortID cuts an id to the digits that the runtimes' own commands print.
func ShortID(id string) string { return id[:min(len(id), shortID)] }

// OthersText says, after a name, of how many others the same is said: "(and 2 others)".
func OthersText(n int) string {
	if n == 1 {
		return "(and 1 other)"
	}
	return "(and " + strconv.Itoa(n) + " others)"
}

// DurationText is a duration as a reader says it: "1m59s", "0.35s". What is longer than
// [LongestSpan] is "an unknown time".
func DurationText(d time.Duration) string {
	if d.Abs() > LongestSpan {
		return "an unknown time"
	}
	if d.Abs() < time.Second {
		return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', -1, 64) + "s"
	}
	return d.Round(time.Second).String()
}

// TimeOfDay is the time of day in UTC, as headlines write it.
func TimeOfDay(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// maxOneLine bounds what one value of a log may put into a sentence, in bytes.
const maxOneLine = 200

// OneLine makes one bounded line of a value from a log, without control characters.
func OneLine(s string) string {
	if len(s) > maxOneLine {
		s = s[:maxOneLine]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

package show

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Minute is a moment as exactly as a forecast is worth.
func Minute(t time.Time) string {
	return strings.TrimSpace(t.UTC().Format(DayLayout(t) + " 15:04"))
}

// Rate is a growth per second in the unit in which it is a number that people can picture.
func Rate(perSecond float64) string {
	for _, unit := range [...]struct {
		seconds float64
		name    string
	}{{1, "second"}, {60, "minute"}, {3600, "hour"}} {
		if v := perSecond * unit.seconds; v >= 1 {
			return fmt.Sprintf("%s a %s", strconv.FormatFloat(v, 'f', digitsOf(v), 64), unit.name)
		}
	}
	return Number(perSecond*86400) + " a day"
}

// digitsOf is how many digits behind the point a rate is worth.
func digitsOf(v float64) int {
	if v < 10 && v != math.Trunc(v) {
		return 1
	}
	return 0
}

// Number is a measured value with at most three digits behind the point.
func Number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

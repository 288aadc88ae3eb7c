package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// forecastText is a forecast in a sentence.
func forecastText(f *rules.Forecast) string {
	if f.Earliest.IsZero() {
		measured := ""
		if f.Span > 0 {
			measured = ", measured over " + f.Span.Round(time.Second).String()
		}
		return fmt.Sprintf("%s UTC: %s (%s of %s, growing by %s%s)", f.At.UTC().Format(time.DateTime), f.Text,
			numberText(f.Value), numberText(f.Limit), rateText(f.Rate), measured)
	}
	latest := "much later"
	if !f.Latest.IsZero() {
		latest = minuteText(f.Latest)
	}
	grew := fmt.Sprintf("%s of %s, from %s at %s to %[1]s at %[5]s",
		numberText(f.Value), numberText(f.Limit), numberText(f.First), minuteText(f.From), minuteText(f.To))
	if f.Readings == 2 {
		grew += "; two readings do not show whether it grows steadily"
	} else {
		grew += fmt.Sprintf(", %d readings", f.Readings)
	}
	return fmt.Sprintf("about %s UTC, between %s and %s: %s (%s; growing by %s)",
		minuteText(f.At), minuteText(f.Earliest), latest, f.Text, grew, rateText(f.Rate))
}

// minuteText is a moment as exactly as a forecast is worth.
func minuteText(t time.Time) string {
	return strings.TrimSpace(t.UTC().Format(show.DayLayout(t) + " 15:04"))
}

// rateText is a growth per second in the unit in which it is a number that people can picture.
func rateText(perSecond float64) string {
	for _, unit := range [...]struct {
		seconds float64
		name    string
	}{{1, "second"}, {60, "minute"}, {3600, "hour"}} {
		if v := perSecond * unit.seconds; v >= 1 {
			return fmt.Sprintf("%s a %s", strconv.FormatFloat(v, 'f', digitsOf(v), 64), unit.name)
		}
	}
	return numberText(perSecond*86400) + " a day"
}

// digitsOf is how many digits behind the point a rate is worth.
func digitsOf(v float64) int {
	if v < 10 && v != math.Trunc(v) {
		return 1
	}
	return 0
}

// numberText is a measured value with at most three digits behind the point.
func numberText(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

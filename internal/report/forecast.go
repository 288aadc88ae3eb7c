package report

import (
	"fmt"
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
			show.Number(f.Value), show.Number(f.Limit), show.Rate(f.Rate), measured)
	}
	latest := "much later"
	if !f.Latest.IsZero() {
		latest = show.Minute(f.Latest)
	}
	grew := fmt.Sprintf("%s of %s, from %s at %s to %[1]s at %[5]s",
		show.Number(f.Value), show.Number(f.Limit), show.Number(f.First), show.Minute(f.From), show.Minute(f.To))
	if f.Readings == 2 {
		grew += "; two readings do not show whether it grows steadily"
	} else {
		grew += fmt.Sprintf(", %d readings", f.Readings)
	}
	return fmt.Sprintf("about %s UTC, between %s and %s: %s (%s; growing by %s)",
		show.Minute(f.At), show.Minute(f.Earliest), latest, f.Text, grew, show.Rate(f.Rate))
}

package rules

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// ForecastRule says which number grows towards which limit.
type ForecastRule struct {
	Pattern `yaml:",inline"` // the events that carry the number; what it binds tells one growing thing from another
	Value   string           // field with the number
	// Limit is a number, or the name of a fact that is one.
	Limit any
	// Rate is a field with the growth in units per second, where the event itself has measured it; may be empty.
	Rate string
	Text string // what happens when the limit is reached

	limit float64 // when Limit is a number
	fact  string  // when it is not
}

// Forecast is when a number reaches its limit if it goes on as it did.
type Forecast struct {
	Rule  string
	Text  string
	At    time.Time     // when the limit is reached
	Value float64       // the last that was seen
	Limit float64       // what it grows to
	Rate  float64       // per second
	Span  time.Duration // over which the rate was measured; zero when the event does not say
	// Evidence is the first and the last measurement.
	Evidence []event.Quote
}

const (
	// minForecast is the least time over which a rate is believed.
	minForecast = time.Minute
	// maxForecast is how far ahead is looked: what lasts longer than the node is no risk.
	maxForecast = 10 * 365 * 24 * time.Hour
)

func (c *compiler) forecasts() {
	for i := range c.rule.Forecast {
		f := &c.rule.Forecast[i]
		at := []any{"forecast", i}
		c.required(f.Text, append(at, "text")...)
		c.required(f.Value, append(at, "value")...)
		c.required(string(f.Kind), append(at, "kind")...)
		f.conditions = c.conditions(f.Match, append(at, "match"))
		var isNumber bool
		if f.limit, isNumber = numeric(f.Limit); !isNumber {
			if f.fact, _ = f.Limit.(string); f.fact == "" {
				c.errorf(append(at, "limit"), "limit is a number or the name of a fact")
			}
		}
	}
}

// measured is one reading of a growing number.
type measured struct {
	at    time.Time
	value float64
	event *event.Event
}

// forecasts are the limits that rules see coming.
func (x *index) forecasts(cat *Catalog) []Forecast {
	var all []Forecast
	for i := range cat.Rules {
		r := &cat.Rules[i]
		for j := range r.Forecast {
			all = append(all, x.forecast(r, &r.Forecast[j])...)
		}
	}
	return all
}

// forecast reads one growing number, of each thing that it counts.
func (x *index) forecast(r *Rule, rule *ForecastRule) []Forecast {
	limit := rule.limit
	if rule.fact != "" {
		var ok bool
		if limit, ok = factValue(x.timeline.Facts[rule.fact].Value).Number(); !ok {
			return nil
		}
	}
	readings := map[string][]measured{}
	for _, ev := range x.kinds[rule.Kind] {
		e := x.events[ev]
		v, _ := e.Get(rule.Value)
		n, ok := factValue(v.Text()).Number() // facts are texts
		if !ok || e.Last().IsZero() || !meets(e, rule.conditions) {
			continue
		}
		readings[rule.of(e)] = append(readings[rule.of(e)], measured{e.Last().T, n, e})
	}
	var all []Forecast
	for _, of := range sortedKeys(readings) {
		if f, ok := rule.extrapolate(readings[of], limit); ok {
			f.Rule, f.Text = r.ID, rule.Text
			all = append(all, f)
		}
	}
	return all
}

// of tells the things apart that grow each for itself: by what the pattern binds.
func (rule *ForecastRule) of(e *event.Event) string {
	var parts []string
	for _, field := range sortedKeys(rule.Bind) {
		parts = append(parts, fieldOf(e, field))
	}
	return strings.Join(parts, "\x00")
}

// extrapolate draws a line through the first and the last reading, or takes the rate that the last one measured.
func (rule *ForecastRule) extrapolate(all []measured, limit float64) (Forecast, bool) {
	slices.SortStableFunc(all, func(a, b measured) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.value, b.value)) })
	first, last := all[0], all[len(all)-1]
	f := Forecast{Value: last.value, Limit: limit, Span: last.at.Sub(first.at)}
	if v, ok := last.event.Get(rule.Rate); ok {
		f.Rate, _ = v.Number()
		f.Span = last.event.Duration()
	} else if f.Span >= minForecast {
		f.Rate = (last.value - first.value) / f.Span.Seconds()
	}
	ahead := (limit - last.value) / f.Rate
	if f.Rate <= 0 || ahead <= 0 || ahead > maxForecast.Seconds() {
		return f, false
	}
	f.At = last.at.Add(time.Duration(ahead * float64(time.Second))).Truncate(time.Second)
	for _, m := range []measured{first, last} {
		if len(m.event.Evidence) > 0 && !slices.Contains(f.Evidence, m.event.Evidence[0]) {
			f.Evidence = append(f.Evidence, m.event.Evidence[0])
		}
	}
	return f, true
}

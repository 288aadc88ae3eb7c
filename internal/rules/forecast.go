package rules

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// Forecast is when a number reaches its limit if it goes on as it did.
type Forecast struct {
	Rule string
	Text string
	At   time.Time // when the limit is reached
	// Earliest and Latest bound it, as far as the readings' own scatter tells; both zero for a
	// counter, and Latest zero where it is too far to tell.
	Earliest, Latest time.Time
	Readings         int           // from which the rate was taken; 0 when one event has measured it
	First            float64       // the first of them
	From, To         time.Time     // the times of the first and the last; zero when one event has measured it
	Value            float64       // the last that was seen
	Limit            float64       // what it grows to
	Rate             float64       // per second
	Span             time.Duration // over which the rate was measured; zero when the event does not say
	// Evidence is the first and the last measurement.
	Evidence []event.Quote
}

const (
	// minForecast is the least time over which a rate is believed.
	minForecast = time.Minute
	// maxForecast is how far ahead is looked: what lasts longer than the node is no risk.
	maxForecast = 10 * 365 * 24 * time.Hour
	// maxAhead is how many times as long as it was watched a number is believed to go on, unless it
	// is a counter: what a working day brings is gone at night.
	maxAhead = 30
	// fallenShare is the share of what it was to which a number has fallen when it starts anew:
	// after a reboot, a clean-up.
	fallenShare = 0.8
	// noiseShare is the share of a number that comes and goes with one workload and all its
	// threads.
	noiseShare = 0.02
)

// measured is one reading of a growing number.
type measured struct {
	at    time.Time
	value float64
	event *event.Event
}

// listForecasts returns the limits that rules see coming.
func (x *index) listForecasts(cat *language.Catalog) []Forecast {
	var all []Forecast
	for i := range cat.Rules {
		r := &cat.Rules[i]
		for j := range r.Forecast {
			all = append(all, x.readForecast(r, &r.Forecast[j])...)
		}
	}
	return all
}

// readForecast reads one growing number, of each thing that it counts and as each source counts it.
func (x *index) readForecast(r *language.Rule, rule *language.ForecastRule) []Forecast {
	limit := rule.Compiled.Limit
	if rule.Compiled.Fact != "" {
		var ok bool
		if limit, ok = factValue(x.timeline.Facts[rule.Compiled.Fact].Value).Number(); !ok {
			return nil
		}
	}
	readings := map[string][]measured{}
	for _, ev := range x.kinds[rule.Kind] {
		e := x.events[ev]
		v, _ := e.Get(event.Key(rule.Value))
		n, ok := factValue(v.Text()).Number() // facts are texts
		if !ok || e.Last().IsZero() || !condition.AreMet(e, rule.Pattern.Compiled.Conditions) {
			continue
		}
		series := nameSeries(rule, e)
		readings[series] = append(readings[series], measured{e.Last().T, n, e})
	}
	var all []Forecast
	end := x.lastTime()
	for _, of := range slices.Sorted(maps.Keys(readings)) {
		f, ok := extrapolate(rule, readings[of], limit)
		if ok && f.At.After(end) { // what the evidence has outlived is no forecast
			f.Rule, f.Text = r.ID, rule.Text
			all = append(all, f)
		}
	}
	return all
}

// lastTime is when the evidence ends.
func (x *index) lastTime() (end time.Time) {
	for _, c := range x.timeline.Coverage {
		if c.End.After(end) {
			end = c.End
		}
	}
	return end
}

// nameSeries names the thing that an event counts, by what the pattern binds, and the source that
// counts it: two ways to count one thing differ by a little, which is no growth.
func nameSeries(rule *language.ForecastRule, e *event.Event) string {
	parts := []string{e.Source}
	for _, key := range slices.Sorted(maps.Keys(rule.Bind)) {
		field, _, _ := strings.Cut(key, "|")
		parts = append(parts, e.FieldText(event.Key(field)))
	}
	return strings.Join(parts, "\x00")
}

// extrapolate draws a line through the readings, or takes the rate that the last one measured.
func extrapolate(rule *language.ForecastRule, all []measured, limit float64) (Forecast, bool) {
	slices.SortStableFunc(all, func(a, b measured) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.value, b.value)) })
	last := all[len(all)-1]
	f := Forecast{Value: last.value, Limit: limit}
	if rule.Compiled.Field != "" {
		v, _ := last.event.Get(event.Key(rule.Compiled.Field))
		f.Limit, _ = v.Number()
	}
	if v, ok := last.event.Get(event.Key(rule.Rate)); ok {
		f.Rate, _ = v.Number()
		f.Span = last.event.Duration()
		all = all[len(all)-1:]
	} else {
		all = dropBeforeFall(all)
		f.Readings, f.First, f.From, f.To = len(all), all[0].value, all[0].at, last.at
		if f.Span = last.at.Sub(all[0].at); f.Span < minForecast {
			return f, false
		}
		f.Rate = (last.value - f.First) / f.Span.Seconds()
	}
	scatter, most := 0.0, maxForecast.Seconds()
	if f.Readings > 0 && !rule.Counter {
		f.Rate, scatter = fitSlope(all)
		most = min(most, maxAhead*f.Span.Seconds())
	}
	left := f.Limit - f.Value
	if f.Rate <= scatter || left <= 0 || left/f.Rate > most {
		return f, false
	}
	f.At = f.momentAfter(last.at, left/f.Rate)
	if scatter > 0 {
		f.Earliest, f.Latest = f.momentAfter(last.at, left/(f.Rate+scatter)), f.momentAfter(last.at, left/(f.Rate-scatter))
	}
	for _, m := range []measured{all[0], last} {
		if len(m.event.Evidence) > 0 && !slices.Contains(f.Evidence, m.event.Evidence[0]) {
			f.Evidence = append(f.Evidence, m.event.Evidence[0])
		}
	}
	return f, true
}

// momentAfter returns the moment some seconds after a moment; zero where that is too far ahead.
func (f *Forecast) momentAfter(t time.Time, seconds float64) time.Time {
	if seconds > maxForecast.Seconds() {
		return time.Time{}
	}
	return t.Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Second)
}

// dropBeforeFall leaves out what was read before the number fell for good.
func dropBeforeFall(all []measured) []measured {
	from, most := 0, all[0].value
	for i, m := range all {
		if m.value < fallenShare*most {
			from, most = i, m.value
		}
		most = max(most, m.value)
	}
	return all[from:]
}

// fitSlope returns the growth per second by least squares, and how far the true one may be from it:
// by the readings' scatter about the line at 95 %, and at least as much as counts of things that
// come and go differ by chance: their root, or noiseShare.
func fitSlope(all []measured) (rate, scatter float64) {
	n := float64(len(all))
	var t, v float64
	for _, m := range all {
		t += m.at.Sub(all[0].at).Seconds() / n
		v += m.value / n
	}
	var tt, tv, rest float64
	for _, m := range all {
		d := m.at.Sub(all[0].at).Seconds() - t
		tt += d * d
		tv += d * (m.value - v)
	}
	rate = tv / tt
	for _, m := range all {
		d := m.value - v - rate*(m.at.Sub(all[0].at).Seconds()-t)
		rest += d * d
	}
	scatter = 2 * max(math.Sqrt(v), v*noiseShare) / math.Sqrt(tt)
	if free := len(all) - 2; free > 0 {
		scatter = max(scatter, studentT[min(free, len(studentT))-1]*math.Sqrt(rest/float64(free)/tt))
	}
	return rate, scatter
}

// studentT is Student's t at 97.5 %, by degrees of freedom from 1 on; the last stands for all
// above.
var studentT = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201}

package language

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// ForecastRule says which number grows towards which limit.
type ForecastRule struct {
	Pattern `yaml:",inline"` // the events that carry the number; what it binds tells one growing thing from another
	Value   string           // field with the number
	// Limit is a number, the name of a fact that is one (facts have a dot), or a field of the
	// event.
	Limit any
	// Rate is a field with the growth in units per second, where the event itself has measured it;
	// may be empty.
	Rate string
	// Counter says that the number only ever grows, as a serial does, so that any two readings tell
	// its rate. Of every other number growth is believed only where it is more than the number's
	// noise.
	Counter bool
	Text    string // what happens when the limit is reached

	Compiled CompiledForecast `yaml:"-"`
}

// CompiledForecast is the limit of a forecast, as one of three.
type CompiledForecast struct {
	Limit float64 // when it is a number
	Fact  string  // when it is the name of one
	Field string  // when it is the name of a field
}

func (c *compiler) compileForecasts() {
	for i := range c.rule.Forecast {
		f := &c.rule.Forecast[i]
		at := yamlfile.Place{"forecast", i}
		c.requireText(f.Text, at.In("text")...)
		c.requireText(f.Value, at.In("value")...)
		c.requireText(string(f.Kind), at.In("kind")...)
		f.Pattern.Compiled.Conditions = c.compileBindless(f.Match, at.In("match"))
		var isNumber bool
		if f.Compiled.Limit, isNumber = condition.ReadNumber(f.Limit); !isNumber {
			switch name, _ := f.Limit.(string); {
			case name == "":
				c.errorf(at.In("limit"), "limit is a number, the name of a fact or a field")
			case strings.Contains(name, "."):
				f.Compiled.Fact = name
			default:
				f.Compiled.Field = name
			}
		}
	}
}

package language

import (
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// ExposureRule says which versions and settings alone make a node run into the
// rule's cause some day. It needs no incident and names no cause.
type ExposureRule struct {
	Versions []VersionRange // every one of them has to be known and affected
	// Facts is the name of a fact, with an operator as in a match, to the wanted value. A fact that
	// is not known does not hold.
	Facts map[string]any
	Text  string // what may happen, and when

	Compiled []condition.Condition `yaml:"-"` // of Facts
}

func (c *compiler) compileExposures() {
	for i := range c.rule.Exposed {
		e := &c.rule.Exposed[i]
		at := yamlfile.Place{"exposed", i}
		c.requireText(e.Text, at.In("text")...)
		c.compileVersions(e.Versions, at.In("versions"))
		if len(e.Versions)+len(e.Facts) == 0 {
			c.errorf(at, "an exposure names versions or facts")
		}
		e.Compiled = c.compileBindless(e.Facts, at.In("facts"))
	}
}

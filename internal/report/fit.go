package report

import "strings"

// paste is what the place takes that a report is pasted into.
type paste struct {
	limit   int    // characters
	section string // how a line begins that a section begins with
	// open is the mark that ends the block which a text leaves open; empty when it leaves none open.
	open func(text string) string
	note string // says that it was cut, and how to get the whole
}

// fit is the report, cut to what the place takes: sections go from the end, for the verdict and the chain stand first; a
// section that has no room as a whole is cut after a line, and its block closed.
func (p *paste) fit(all string) string {
	if len(all) <= p.limit {
		return all
	}
	note := "\n" + p.note + "\n"
	kept := all[:p.limit-len(note)-200] // room for the end of a block
	if last := strings.LastIndex(kept, "\n"+p.section); last > len(kept)/2 {
		return kept[:last+1] + note[1:]
	}
	kept = kept[:strings.LastIndexByte(kept, '\n')+1]
	if mark := p.open(kept); mark != "" {
		kept += mark + "\n"
	}
	return kept + note
}

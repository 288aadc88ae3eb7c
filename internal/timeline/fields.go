package timeline

import (
	"path"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// addMissingFields gives e the fields of another event that it does not have.
func addMissingFields(e, from *event.Event) {
	for _, f := range from.Fields {
		if v, ok := e.Get(f.Key); !ok || v == event.String("") {
			e.SetField(f)
		}
	}
}

// dropQuoted returns the events without those of lines that somebody quotes, or has written into a
// page, where a whole log is there: what happened on its node stands in it, with a time.
func dropQuoted(events []*event.Event, coverage []Coverage) []*event.Event {
	isDense := func(c Coverage) bool { return c.IsDense() }
	if !slices.ContainsFunc(coverage, isDense) {
		return events
	}
	return slices.DeleteFunc(events, func(e *event.Event) bool {
		return e.Start.IsZero() &&
			(e.FieldText(event.FieldQuoted) == "true" || strings.HasSuffix(e.Source, ".log") && isPage(e.Pos().File))
	})
}

// isPage says that a file has the name of a page of text with marks, as runbooks have.
func isPage(file string) bool {
	return slices.Contains([]string{".md", ".markdown", ".rst", ".adoc", ".org", ".wiki"}, strings.ToLower(path.Ext(file)))
}

// removeEvents returns the events that are not in gone, in their order.
func removeEvents(events []*event.Event, gone map[*event.Event]bool) []*event.Event {
	return slices.DeleteFunc(events, func(e *event.Event) bool { return gone[e] })
}

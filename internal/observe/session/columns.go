package session

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// customColumns is a command that prints Events in columns of somebody's choice: 1 their names and
// paths.
//
//	kubectl get events -A -o custom-columns=T:.lastTimestamp,FROM:.source.component,MSG:.message
var customColumns = regexp.MustCompile(`\b(?:kubectl|oc)\b[^|;]*\bget\s+(?:[^|;]*\s)?(?:events?|ev)\b[^|;]*\bcustom-columns[= ]['"]?([^\s'"]+)`)

// eventCells are the names that kubectl gives to what the paths of an Event name, also of
// events.k8s.io.
var eventCells = map[string]string{
	".lastTimestamp": "LAST SEEN", ".deprecatedLastTimestamp": "LAST SEEN", ".eventTime": "LAST SEEN", ".metadata.creationTimestamp": "LAST SEEN",
	".firstTimestamp": "FIRST SEEN", ".type": "TYPE", ".reason": "REASON", ".message": "MESSAGE", ".note": "MESSAGE", ".count": "COUNT",
	".involvedObject.kind": "KIND", ".involvedObject.name": "NAME", ".involvedObject.namespace": "NAMESPACE", ".metadata.namespace": "NAMESPACE",
	".regarding.kind": "KIND", ".regarding.name": "NAME", ".regarding.namespace": "NAMESPACE",
	".source.component": "SOURCE", ".reportingComponent": "SOURCE", ".reportingController": "SOURCE", ".source.host": "HOST",
}

// columnGap is what kubectl puts between two columns, three blanks at least.
var columnGap = regexp.MustCompile(` {2,}|\t+`)

// takeEvents appends what such a command prints.
func (c *Commands) takeEvents(dst []event.Event, command string, answer []event.Quote) []event.Event {
	m := customColumns.FindStringSubmatch(command)
	if m == nil {
		return dst
	}
	var heads, cells []string
	for column := range strings.SplitSeq(m[1], ",") {
		head, path, _ := strings.Cut(column, ":")
		heads, cells = append(heads, head), append(cells, eventCells["."+strings.TrimPrefix(strings.Trim(path, "{}"), ".")])
	}
	if !slices.Contains(cells, "MESSAGE") {
		return dst
	}
	for _, quote := range answer {
		values := columnGap.Split(quote.Text, len(heads))
		if len(values) != len(heads) || slices.Equal(values, heads) {
			continue
		}
		var row []event.Pair
		for i, value := range values {
			if cells[i] != "" && value != "<none>" {
				row = append(row, event.Pair{Key: cells[i], Value: value})
			}
		}
		dst = c.rows.TakeCells(dst, row, quote)
	}
	return dst
}

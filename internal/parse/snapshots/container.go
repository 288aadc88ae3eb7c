package snapshots

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// containerRow is the path of a row of ctr task ls or crictl ps that tells by itself what it is:
// grep took its header away.
var containerRow = []string{"container"}

// Lengths of a container's id: whole, and as crictl cuts it.
const (
	wholeID = 64
	cutID   = 13
)

// mayBeContainer says that a line may be such a row: it begins with an id of either length.
func mayBeContainer[T string | []byte](line T) bool {
	n := wordLength(line)
	return (n == wholeID || n == cutID) && n < len(line) && hexBytes.HasAll(string(line[:n]))
}

// readContainerRow reads such a row, with the names that the header has:
//
//	b6684441588dcab9cc6fa4e140e33cca0ef8b32b5d49ccee83077e88cd220dab    17103    STOPPED
//	b6684441588dc       e5a616e4b9cf6       9 hours ago         Running             node-exporter           1                   3e290bae764a1
func readContainerRow(line string) (fields []event.Pair, ok bool) {
	if len(line) > longestRow || !mayBeContainer(line) {
		return nil, false
	}
	words := strings.Fields(line)
	if len(words) == 3 && len(words[0]) == wholeID && isWhole(words[1]) && slices.Contains([]string{"RUNNING", "STOPPED", "PAUSED", "CREATED"}, words[2]) {
		return []event.Pair{{Key: "TASK", Value: words[0]}, {Key: "PID", Value: words[1]}, {Key: "STATUS", Value: words[2]}}, true
	}
	i := slices.Index(words, "ago") + 1
	if i < 4 || len(words) < i+4 || !slices.Contains([]string{"Running", "Exited", "Created", "Unknown"}, words[i]) {
		return nil, false
	}
	return []event.Pair{
		{Key: "CONTAINER", Value: words[0]},
		{Key: "STATE", Value: words[i]},
		{Key: "NAME", Value: words[i+1]},
		{Key: "POD ID", Value: words[i+3]},
	}, true
}

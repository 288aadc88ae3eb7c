package snapshots

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// containerRow is the path of a row of ctr task ls, runc list, crictl ps or docker ps that tells by
// itself what it is: grep took its header away.
var containerRow = []string{"container"}

// Lengths of a container's id: whole, and as crictl and docker cut it.
const (
	wholeID  = 64
	cutID    = 13
	dockerID = 12
)

// mayBeContainer says that a line may be such a row: it begins with an id of such a length.
func mayBeContainer[T string | []byte](line T) bool {
	n := wordLength(line)
	return (n == wholeID || n == cutID || n == dockerID) && n < len(line) && hexBytes.HasAll(string(line[:n]))
}

// readContainerRow reads such a row, with the names that the header has:
//
//	b6684441588dcab9cc6fa4e140e33cca0ef8b32b5d49ccee83077e88cd220dab    17103    STOPPED
//	b6684441588dcab9…  17103  stopped  /run/containerd/io.containerd.runtime.v2.task/k8s.io/b6684441588dcab9…  2025-11-08T09:30:11.885Z  root
//	b6684441588dc       e5a616e4b9cf6       9 hours ago         Running             node-exporter           1                   3e290bae764a1
//	b6684441588d        e5a616e4b9cf        "/bin/sh"           9 hours ago         Removal In Progress                         k8s_web_web-1_default_0c1d_0
func readContainerRow(line string) (fields []event.Pair, ok bool) {
	if len(line) > longestRow || !mayBeContainer(line) {
		return nil, false
	}
	words := strings.Fields(line)
	if task := isTaskRow(words); task || isRuncRow(words) {
		id := map[bool]string{true: "TASK", false: "ID"}[task]
		return []event.Pair{{Key: id, Value: words[0]}, {Key: "PID", Value: words[1]}, {Key: "STATUS", Value: words[2]}}, true
	}
	i := slices.Index(words, "ago") + 1
	switch {
	case i < 4 || len(words) < i+2:
		return nil, false
	case len(words[0]) != cutID && strings.HasPrefix(line[len(words[0]):], "  ") && strings.Contains(line, ` "`) && slices.Contains(dockerStates, words[i]):
		return []event.Pair{
			{Key: "CONTAINER ID", Value: words[0]},
			{Key: "STATUS", Value: strings.Join(words[i:len(words)-1], " ")},
			{Key: "NAMES", Value: words[len(words)-1]},
		}, true
	case len(words) < i+4 || len(words[0]) == dockerID || !slices.Contains([]string{"Running", "Exited", "Created", "Unknown"}, words[i]):
		return nil, false
	}
	return []event.Pair{
		{Key: "CONTAINER", Value: words[0]},
		{Key: "STATE", Value: words[i]},
		{Key: "NAME", Value: words[i+1]},
		{Key: "POD ID", Value: words[i+3]},
	}, true
}

// dockerStates are the first words of the states that docker ps prints.
var dockerStates = []string{"Up", "Exited", "Created", "Dead", "Removal", "Restarting"}

// isTaskRow says that the words are a row of ctr task ls.
func isTaskRow(words []string) bool {
	return len(words) == 3 && len(words[0]) == wholeID && isWhole(words[1]) && slices.Contains([]string{"RUNNING", "STOPPED", "PAUSED", "CREATED"}, words[2])
}

// isRuncRow says that the words are a row of runc list.
func isRuncRow(words []string) bool {
	return len(words) >= 5 && isWhole(words[1]) && words[3][0] == '/' && slices.Contains([]string{"running", "stopped", "paused", "created"}, words[2])
}

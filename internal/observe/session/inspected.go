package session

import (
	"regexp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/tasks"
)

// inspects is a command that asks the CRI for one container.
var inspects = regexp.MustCompile(`\bcrictl\b.* inspect (?:-\S+ )*([0-9a-f]{12,64})\b`)

// inspectedStates are the states of the CRI, and as crictl ps calls them.
var inspectedStates = map[string]string{"CONTAINER_RUNNING": "Running", "CONTAINER_EXITED": "Exited"}

// inspected is the container whose state crictl inspect prints, in JSON or as jq and grep leave it:
//
//	"state": "CONTAINER_RUNNING",
//	CONTAINER_RUNNING
func inspected(command string, answer []event.Quote) (task tasks.Task, ok bool) {
	asked := inspects.FindStringSubmatch(command)
	if asked == nil {
		return tasks.Task{}, false
	}
	for _, quote := range answer {
		said := strings.TrimPrefix(strings.Trim(quote.Text, " \t,"), `"state": `)
		if state := inspectedStates[strings.Trim(said, `"`)]; state != "" {
			return tasks.Task{Container: asked[1], State: state, Quote: quote}, true
		}
	}
	return tasks.Task{}, false
}

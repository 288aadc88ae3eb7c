package session

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/states"
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

// conditionOf is the line of crictl info that begins a condition of the runtime: 1 its type.
// whatSaid is one of those behind it: 1 the key, 2 what the runtime says. grep -A4 leaves them so:
//
//	"type": "NetworkReady",
//	"status": false,
//	"reason": "NetworkPluginNotReady",
//	"message": "Network plugin returns error: cni plugin not initialized"
var (
	conditionOf = regexp.MustCompile(`^"type": "(RuntimeReady|NetworkReady)"`)
	whatSaid    = regexp.MustCompile(`^"(reason|message)": "([^"]*)"`)
)

// readConditions returns the events of conditions of the runtime that are not met, where a command
// printed their lines without the rest of the answer.
func readConditions(command string, answer []event.Quote) (all []event.Event) {
	if !strings.Contains(command, "crictl info") || len(answer) == 0 {
		return nil
	}
	if isDocument := strings.ContainsAny(answer[0].Text[:min(len(answer[0].Text), 1)], "{["); isDocument {
		if len(answer) > 1 && strings.HasPrefix(answer[0].Text, `{"type":`) {
			return readConditionRows(answer)
		}
		return nil // it is read as one
	}
	kind, failed := "", false
	said := map[string]string{}
	var quotes []event.Quote
	for _, quote := range answer {
		line := strings.TrimSpace(quote.Text)
		if m := conditionOf.FindStringSubmatch(line); m != nil {
			kind, failed, said, quotes = m[1], false, map[string]string{}, nil
		}
		failed = failed || strings.HasPrefix(line, `"status": false`)
		m := whatSaid.FindStringSubmatch(line)
		if kind == "" || m == nil {
			continue
		}
		said[m[1]], quotes = m[2], append(quotes, quote)
		if m[1] != "message" || !failed {
			continue
		}
		if e, ok := states.RuntimeTrouble(kind, said["reason"], said["message"], quotes); ok {
			all = append(all, e)
		}
		kind = ""
	}
	return all
}

// readConditionRows returns the events of such conditions of which each stands on a line of its
// own, as jq -c leaves them:
//
//	{"type":"NetworkReady","status":false,"reason":"NetworkPluginNotReady","message":"Network plugin returns error: cni plugin not initialized"}
func readConditionRows(answer []event.Quote) (all []event.Event) {
	for _, quote := range answer {
		var c struct {
			Type, Reason, Message string
			Status                bool
		}
		if json.Unmarshal([]byte(quote.Text), &c) != nil || c.Status {
			continue
		}
		if e, ok := states.RuntimeTrouble(c.Type, c.Reason, c.Message, []event.Quote{quote}); ok {
			all = append(all, e)
		}
	}
	return all
}

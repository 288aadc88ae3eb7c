package messages

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// dockerdTable: dockerd 1.11 to 28.
var dockerdTable = table{
	component: "dockerd",
	rows: []row{
		{[]string{"goroutine stacks written to"}, dumpWritten},
		{[]string{"Handler for GET"}, clientGaveUp},
		{[]string{"Docker daemon"}, factFrom("docker.version", versionField)},
		{crashMarks, crashEvent},
	},
}

// clientGaveUp: Handler for GET /v1.24/containers/json returned error: write unix
// /var/run/docker.sock->@: write: broken pipe.
func clientGaveUp(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if !strings.Contains(text, "broken pipe") {
		return event.Event{}, false
	}
	call, _ := scan.Between(text, "Handler for ", " returned")
	return event.New(event.KindClientGaveUp, "a client gave up waiting for "+call, event.FieldPath.Text(call)), true
}

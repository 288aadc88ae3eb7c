package session

import (
	"regexp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
)

// seeksPause is a command that looks for the image of the pause container among those of a runtime.
var seeksPause = regexp.MustCompile(`\b(?:crictl|docker|nerdctl|podman|ctr\b.*) images?\b[^;]*\| *grep\b[^;]*\bpause\b[^;]*$`)

// absentPause is the fact that a node has no image of the pause container: the command for it
// printed the names of its columns, which its pattern holds as well, and nothing else.
//
//	$ crictl images | grep -iE 'pause|IMAGE'
//	IMAGE                TAG         IMAGE ID            SIZE
func absentPause(command string, asked event.Quote, answer []event.Quote) (e event.Event, ok bool) {
	if len(answer) != 1 || !seeksPause.MatchString(command) {
		return e, false
	}
	head := answer[0].Text
	if !strings.Contains(head, "IMAGE ID") || !strings.HasPrefix(head, "IMAGE ") && !strings.HasPrefix(head, "REPOSITORY ") {
		return e, false
	}
	e, ok = facts.New("images.pause", "absent")
	e.Component, e.Source, e.Evidence = "counted", facts.Commands, []event.Quote{asked, answer[0]}
	return e, ok
}

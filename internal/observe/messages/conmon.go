package messages

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// appendConmon appends what a line of conmon (2.0 to 2.1) tells, which runs runc for CRI-O and
// podman and writes down what it prints. Before the message stand the first bytes of the
// container's id and a level:
//
//	conmon 4bbbc006f606958022cb <nwarn>: runtime stderr: runc create failed: unable to start container process: …
//	conmon 4bbbc006f606958022cb <error>: Failed to create container: exit status 1
func appendConmon(dst []event.Event, r *event.Record) []event.Event {
	said := *r
	if _, message, ok := strings.Cut(r.Text, ">: "); ok && strings.HasPrefix(r.Text, "conmon ") {
		said.Text = message
	}
	if printed, ok := strings.CutPrefix(said.Text, "runtime stderr: "); ok {
		said.Text, said.Unit = printed, "crio" // podman's look the same
	}
	return appendOwn(dst, &said)
}

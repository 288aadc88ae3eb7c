package report

import (
	"io"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Selection is the part of an incident's timeline that somebody asked for. Its events are in the
// order of the timeline.
type Selection struct {
	Incident *incident.Incident
	Events   []*event.Event
}

// TimelineFormat is one kind of timeline.
type TimelineFormat struct {
	Name   string // as --output names it
	Ending string // of the files it is written to; empty for one that is not written to files
	Render func(w io.Writer, s *Selection, o Options) error
}

// TimelineFormats is every kind of timeline, in the order of the help text.
var TimelineFormats = []TimelineFormat{
	{"text", "", TimelineText},
	{"jsonl", "", TimelineJSONL},
	{"csv", "", TimelineCSV},
	{"timesketch", ".timesketch.jsonl", Timesketch},
	{"perfetto", ".perfetto.json", Perfetto},
}

// renderAll renders all events of an incident.
func (f TimelineFormat) renderAll(w io.Writer, inc *incident.Incident, o Options) error {
	s := &Selection{Incident: inc}
	if inc.Timeline != nil {
		s.Events = inc.Timeline.Select(timeline.Filter{})
	}
	return f.Render(w, s, o)
}

// TimelineByName returns the format of that name.
func TimelineByName(name string) (f TimelineFormat, ok bool) {
	for _, f := range TimelineFormats {
		if f.Name == name {
			return f, true
		}
	}
	return TimelineFormat{}, false
}

// lanes are the components in the order in which a cause travels through a node, from the kubelet
// that complains down to the kernel. One that is not listed comes last, by its name.
var lanes = []string{
	"kubelet", "containerd", "dockerd", "crio", "shim", "runc", "cni", "process", "thread", "systemd", "dbus", "node", "kernel",
}

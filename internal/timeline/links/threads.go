package links

import (
	"github.com/plegdiag/plegdiag/internal/event"
)

// NameThreads names the threads of a kubelet that a file of /proc shows without a name, as the
// stack of a thread does: the kubelet's own log gives its process id in each line.
func NameThreads(events []*event.Event) {
	kubelets := map[int]bool{}
	var nameless []*event.Event
	for _, e := range events {
		switch {
		case e.Component == "kubelet" && e.Source == event.LogOf("kubelet") && e.IDs.PID != 0:
			kubelets[e.IDs.PID] = true
		case e.Kind == event.KindThreadSample && e.Component == "process" && e.IDs.PID != 0 && e.FieldText(event.FieldComm) == "":
			nameless = append(nameless, e)
		}
	}
	for _, e := range nameless {
		if kubelets[e.IDs.PID] {
			e.Component = "kubelet"
			e.SetField(event.FieldComm.Text("kubelet"))
			e.Text = "kubelet, " + e.Text
		}
	}
}

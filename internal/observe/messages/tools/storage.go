package tools

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Storage is what those say who look after the node's volumes: multipathd (0.4.9 to 0.11), and the
// liveness probe of CSI drivers (1.0 to 2.16), which runs beside each of them.
var Storage = table.Table{Component: "node", Relays: []string{"", table.HostProgram}, Unnamed: "node", Rows: []table.Row{
	{[]string{": remaining active paths: "}, activePaths},
	{[]string{": Disable queueing", " failed faulty "}, failedPath},
	{[]string{"ealth check failed", "Failed to probe CSI driver"}, probeFailed},
}}

// activePaths is how many ways are left to a disk of multipath. Without one device-mapper keeps what is
// written until one comes back, mostly for ever (queue_if_no_path), and whoever writes waits:
//
//	multipathd[1123]: mpatha: remaining active paths: 0
//	multipathd[1123]: mpatha: remaining active paths: 1
func activePaths(r *event.Record) (event.Event, bool) {
	device, paths, ok := strings.Cut(strings.TrimSpace(r.Message()), ": remaining active paths: ")
	left, err := strconv.Atoi(paths)
	if i := strings.LastIndexByte(device, ' '); i >= 0 {
		device = device[i+1:]
	}
	e := event.New(
		event.KindBlockError, "no path is left to the disk "+device+" of multipath", event.FieldDevice.Text(device),
		event.FieldWhat.Text("no-path"),
	)
	e.Span = event.Span{Key: "multipath/" + device, State: true, Edge: event.Begin}
	if left > 0 {
		e.Span.Edge, e.Text = event.End, "a path to the disk "+device+" of multipath is back"
	}
	return e, ok && err == nil && device != ""
}

// failedPath is a disk of which multipathd has given up, so that writes fail, or one path of a listing:
//
//	multipathd: mpathb: Disable queueing
//	| |- 3:0:0:1 sdc 8:32 failed faulty running      (multipath -ll)
func failedPath(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	device, given := strings.CutSuffix(said, ": Disable queueing")
	e := event.New(event.KindBlockError, "multipathd lets writes to "+device+" fail, as no path came back", event.FieldWhat.Text("error"))
	if !given {
		words := strings.Fields(strings.TrimLeft(said, "|`- "))
		if len(words) < 6 || words[3] != "failed" || words[4] != "faulty" || strings.Count(words[0], ":") != 3 {
			return event.Event{}, false
		}
		device = words[1]
		e.Text = "multipath says that the path " + device + " has failed"
	}
	device = device[strings.LastIndexByte(device, ' ')+1:]
	e.AddFields(event.FieldDevice.Text(device))
	return e, device != ""
}

// probeFailed is a CSI driver that did not answer, or said that it cannot work. Its pod is restarted after
// a few of these:
//
//	E0907 11:34:01.681407       1 main.go:66] health check failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded
//	E0312 07:11:02.120413       1 main.go:67] "Health check failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded"      (2.10 and later)
func probeFailed(r *event.Record) (event.Event, bool) {
	said := r.Message()
	reason := cmp.Or(table.ErrorOf(r), scan.After(said, "ealth check failed: "))
	known := strings.HasPrefix(said, "Failed to probe CSI driver") || strings.HasPrefix(strings.ToLower(said), "health check failed")
	if !known || !strings.Contains(reason, "rpc error: ") {
		return event.Event{}, false // others have health checks, too
	}
	late := table.IsDeadline(reason)
	e := event.New(
		event.KindProbeFailed, "the CSI driver "+map[bool]string{true: "does not answer the probe of its health", false: "fails the probe of its health: " + table.Clip(reason)}[late],
		event.FieldError.Text(table.Clip(reason)), event.FieldDeadline.Bool(late),
	)
	if name := r.Value("driver", "driverName"); name != "" {
		e.Text = strings.Replace(e.Text, "the CSI driver", "the CSI driver "+name, 1)
		e.AddFields(event.FieldName.Text(name))
	}
	return e, true
}

package tools

import (
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// monitored are whose lines a monitor of node-problem-detector reads.
var monitored = map[string]string{
	"kernel-monitor": "kernel", "systemd-monitor": "systemd", "docker-monitor": "dockerd",
	"containerd-monitor": "containerd", "readonly-monitor": "kernel",
}

// MonitoredBy is who wrote the lines that a source of node-problem-detector repeats; empty for
// another source.
func MonitoredBy(source string) string { return monitored[source] }

// DetectorWords begin what node-problem-detector (0.6 to 1.35) logs of its monitors: the events and
// the conditions that it sends to the API server. What its health-checker says is a guess of its
// own.
//
//	New status generated: &{Source:systemd-monitor Events:[{Severity:warn Timestamp:2026-04-27 10:09:16.308077 +0000 UTC Reason:ContainerdStart Message:Starting containerd.service - containerd container runtime...}] Conditions:[]}
//	New status generated: &{Source:kernel-monitor Events:[{… Reason:TaskHung Message:INFO: task dockerd:1422 blocked for more than 120 seconds.}] Conditions:[{Type:KernelDeadlock Status:True Transition:… Reason:DockerHung Message:…}]}
const DetectorWords = "New status generated: "

// maxDetected bounds the events that are read of one such line.
const maxDetected = 16

// AppendDetected appends what a line of node-problem-detector tells, and returns the lines of
// others that it repeats; ok is false for a line of somebody else. A start is told without its end,
// so that the event alone counts.
func AppendDetected(dst []event.Event, r *event.Record) (_ []event.Event, repeated []event.Record, ok bool) {
	told, ok := strings.CutPrefix(r.Message(), DetectorWords+"&{Source:")
	source, told, _ := strings.Cut(told, " ")
	writer := MonitoredBy(source)
	if !ok || writer == "" {
		return dst, nil, ok
	}
	found, conditions, _ := strings.Cut(told, "] Conditions:[")
	for _, one := range detectedParts(found, "{Severity:") {
		reason, message := detectedReason(one)
		at := r.Time
		stamped, _ := scan.Between(one, "Timestamp:", " Reason:")
		if t, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", stamped); err == nil {
			at = event.At(t)
		}
		e := event.New(event.KindKubeEvent, reason+": "+scan.Clip(message))
		e.Fields = []event.Field{
			event.FieldReason.Text(reason), event.FieldObject.Text("Node"), event.FieldMessage.Text(scan.Clip(message)),
			event.FieldType.Text("Warning"), event.FieldFrom.Text(source),
		}
		e.Start = at
		dst = append(dst, ofDetector(e, r))
		if line := strings.TrimPrefix(message, "kernel: "); writer != "systemd" {
			repeated = append(repeated, event.Record{Unit: writer, Text: line, Raw: line, Time: at, Pos: r.Pos, Wanted: true})
		}
	}
	for _, one := range detectedParts(conditions, "{Type:") {
		kind, rest, _ := strings.Cut(one, " Status:")
		if !strings.HasPrefix(rest, "True ") {
			continue
		}
		reason, message := detectedReason(rest)
		e := event.New(event.KindNodeCondition, "condition "+kind+" is True: "+reason)
		e.Fields = []event.Field{
			event.FieldCondition.Text(kind), event.FieldStatus.Text("True"), event.FieldReason.Text(reason), event.FieldMessage.Text(scan.Clip(message)),
		}
		dst = append(dst, ofDetector(e, r))
	}
	return dst, repeated, true
}

// detectedParts are the events, or the conditions, of a line, up to a bound.
func detectedParts(told, begin string) []string {
	_, first, ok := strings.Cut(told, begin)
	if !ok {
		return nil
	}
	parts := strings.Split(first, begin)
	return parts[:min(len(parts), maxDetected)]
}

// ofDetector completes what node-problem-detector told, about a node and no process.
func ofDetector(e event.Event, r *event.Record) event.Event {
	e.Source = facts.Kubernetes
	table.Complete(&e, r, facts.Kubernetes)
	e.IDs.PID = 0
	return e
}

// detectedReason is the reason of an event or a condition, and its message.
func detectedReason(told string) (reason, message string) {
	reason, message, _ = strings.Cut(scan.After(told, " Reason:"), " Message:")
	message = strings.TrimRight(strings.TrimSpace(message), "]")
	return reason, strings.TrimSuffix(strings.TrimSpace(message), "}")
}

package linux

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// sendStalled is a network card that has not sent in time what stands in a queue, as its driver or the
// kernel's watchdog says (net/sched/sch_generic.c, in a warning with a stack up to 6.5):
//
//	ena 0000:00:05.0 eth0: Found a Tx that wasn't completed on time, qid 5, index 475.
//	NETDEV WATCHDOG: eth0 (ixgbe): transmit queue 3 timed out      (since 6.3 with "5120 ms" behind it)
//	ixgbe 0000:01:00.0 eth0: NETDEV WATCHDOG: CPU: 7: transmit queue 3 timed out 5120 ms      (since 6.6)
//	mlx5_core 0000:08:00.1 enp8s0f1: TX timeout detected      (bnxt_en: "TX timeout detected, starting reset task!")
func sendStalled(r *event.Record) (event.Event, bool) {
	text := r.Message()
	before, after, watched := strings.Cut(text, "NETDEV WATCHDOG: ")
	queue := scan.Digits(scan.After(text, "completed on time, qid ", "transmit queue "))
	switch {
	case watched && queue == "":
		return event.Event{}, false
	case watched && !strings.HasPrefix(after, "CPU: "):
		before, _, _ = strings.Cut(after, " (")
	case !watched:
		before, _, _ = strings.Cut(text, ": ")
	}
	words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(before), ":"))
	if len(words) == 0 {
		return event.Event{}, false
	}
	device := words[len(words)-1]
	e := event.New(event.KindSendStalled, device+" does not send in time what stands in its queue", event.FieldDevice.Text(device))
	if queue != "" {
		e.Text = device + " does not send in time what stands in its queue " + queue
	}
	e.AddText(event.FieldQueue, queue)
	return e, true
}

package linux

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// networkSendStalled is a network card that has not sent in time what stands in a queue, as its
// driver or the kernel's watchdog says (net/sched/sch_generic.c, in a warning with a stack up to
// 6.5):
//
//	ena 0000:00:05.0 eth0: Found a Tx that wasn't completed on time, qid 5, index 475.
//	NETDEV WATCHDOG: eth0 (ixgbe): transmit queue 3 timed out      (since 6.3 with "5120 ms" behind it)
//	ixgbe 0000:01:00.0 eth0: NETDEV WATCHDOG: CPU: 7: transmit queue 3 timed out 5120 ms      (since 6.6)
//	e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:      (every 2 s while it lasts; igb and ixgbe "Detected Tx Unit Hang")
//	mlx5_core 0000:3b:00.0: poll_health:737:(pid 0): device's health compromised - reached miss count      (its firmware is dead)
//	mlx5_core 0000:08:00.1 enp8s0f1: TX timeout detected      (bnxt_en: "TX timeout detected, starting reset task!")
//	vmxnet3 0000:0b:00.0 ens192: tx hang
//	e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:      (igb, ixgbe: "Detected Tx Unit Hang")
//	ena 0000:00:05.0 eth0: TX hasn't completed, qid 5, index 12. 5012 usecs from last napi execution, napi scheduled: 0      (since 6.8; in Amazon's driver earlier)
//	ena 0000:00:05.0: Keep alive watchdog timeout.
//	mlx5_core 0000:3b:00.0 eth0: TX timeout on queue: 5, SQ: 0x1234, …      (virtio_net since 5.17, too)
//	mlx5_core 0000:3b:00.0: wait_func:1137:(pid 967): MODIFY_RQ(0x909) timeout. Will cause a leak of a command resource
//	mlx5_core 0000:3b:00.0: mlx5_health_try_recover:330:(pid 12): handling bad device here
//	i40e 0000:18:00.0 eno1: tx_timeout: VSI_seid: 390, Q 12, …      (ice: VSI_num)
//	ixgbe 0000:01:00.0 eth0: initiating reset due to tx timeout
//	tg3 0000:02:00.0 eth0: transmit timed out, resetting
//	gve 0000:00:04.0 eth0: Timeout on tx queue, 2
func networkSendStalled(r *event.Record) (event.Event, bool) {
	text := r.Message()
	for _, said := range [...][3]string{
		{": Detected Hardware Unit Hang", "hang", "hangs in what it is to send"},
		{": Detected Tx Unit Hang", "hang", "hangs in what it is to send"},
		{": device's health compromised", "dead", "does not answer: its firmware is dead"},
		{": TX driver issue detected, PF reset issued", "hang", "hangs in what it is to send"},
		{": handling bad device here", "dead", "does not answer: its driver gives it up"},
		{" timeout. Will cause a leak of a command resource", "dead", "does not answer a command of its driver"},
		{": Keep alive watchdog timeout", "dead", "gives no sign of life"},
		{": ENA admin queue is not in running state", "dead", "does not answer its driver"},
		{": TX timeout on queue: ", "", late},
		{": tx_timeout: VSI_", "", late},
		{": initiating reset due to tx timeout", "", late},
		{": transmit timed out, resetting", "", late},
		{": Timeout on tx queue, ", "", late},
		{": TX hasn't completed, qid ", "", late},
		{": Potential MSIX issue on Tx side Queue", "", late},
	} {
		if head, _, ok := strings.Cut(text, said[0]); ok {
			if said[1] == "dead" {
				head, _, _ = strings.Cut(head, ": ")
			}
			device := head[strings.LastIndexByte(head, ' ')+1:]
			e := event.New(event.KindSendStalled, "the network card "+device+" "+said[2], event.FieldDevice.Text(device))
			e.AddText(event.FieldWhat, said[1])
			return e, device != ""
		}
	}
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
	if ms, err := strconv.Atoi(scan.Digits(scan.After(text, " timed out "))); err == nil && strings.HasSuffix(strings.TrimSpace(text), " ms") {
		e.AddFields(event.FieldSeconds.Int(ms / 1000))
	}
	return e, true
}

// late is a card that has not sent in time, in a sentence.
const late = "does not send in time what stands in its queue"

// stalledTexts stand in the lines that [networkSendStalled] makes an event of.
var stalledTexts = []string{
	"completed on time, qid ", "NETDEV WATCHDOG: ", "TX timeout detected", ": tx hang", "Hardware Unit Hang", "etected Tx Unit Hang", "health compromised",
	"TX driver issue detected, PF", "handling bad device here", "leak of a command resource", "Keep alive watchdog timeout", "ENA admin queue is not in",
	"TX timeout on queue: ", "tx_timeout: VSI_", "initiating reset due to tx", "transmit timed out, ", "Timeout on tx queue, ", "TX hasn't completed, qid ",
	"Potential MSIX issue on Tx",
}

// linkTexts stand in the lines that [linkState] makes an event of.
var linkTexts = []string{
	"Link is Down", "Link is down", "Link is Up", "Link is up", ": Link down", ": Link up", "link status definitely ", "without any active interface", "active interface up!",
}

// linkState is a network card that has lost the cable or the switch at its other end, up to the
// line that it has it again; or a bond of several cards that has none left.
//
//	ixgbe 0000:01:00.0 eno1: NIC Link is Down      (i40e, bnx2x; igb, e1000e "e1000e: eth0 NIC Link is Down"; tg3 "Link is down")
//	mlx5_core 0000:05:00.0 enp5s0f0: Link down
//	bond0: (slave eno1): link status definitely down, disabling slave      (before 5.3 "bond0: link status definitely down for interface eno1, disabling it")
//	bond0: now running without any active interface!
//	bond0: first active interface up!
func linkState(r *event.Record) (event.Event, bool) {
	text := r.Message()
	before, said, ok := strings.Cut(text, " NIC Link ")
	for _, words := range [...]string{": Link ", ": now running without ", ": first active ", ": link status definitely "} {
		if !ok {
			if before, said, ok = strings.Cut(text, words); ok {
				said = words + said
			}
		}
	}
	words := strings.Fields(strings.TrimRight(before, "):"))
	if !ok || len(words) == 0 {
		return event.Event{}, false
	}
	device, what := words[len(words)-1], "port"
	switch {
	case strings.Contains(said, "definitely") && strings.Contains(said, " interface "):
		device = strings.TrimSuffix(scan.FirstWord(scan.After(said, " interface ")), ",")
		what = "port-of-bond"
	case strings.Contains(said, "definitely"):
		what = "port-of-bond"
	case strings.Contains(said, "active interface"):
		what = "bond"
	}
	e := event.Event{
		Kind: event.KindLinkDown, Fields: []event.Field{event.FieldDevice.Text(device), event.FieldWhat.Text(what)},
		Span: event.Span{Key: "link/" + device, State: true}, Text: device + " has lost its link",
	}
	low := strings.ToLower(said)
	switch {
	case strings.Contains(low, "without any active interface"):
		e.Span.Edge, e.Text = event.Begin, "no card of "+device+" has a link"
	case strings.Contains(low, "down"):
		e.Span.Edge = event.Begin
	case strings.Contains(low, " up"):
		e.Span.Edge, e.Text = event.End, device+" has its link again"
	}
	return e, e.Span.Edge != event.Whole
}

// Package loss makes events of lines by which programs tell that other lines are missing.
package loss

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// The values of field reach: a loss on the way into one file, and one that no file of the node has
// the lines of.
const (
	ReachFile = "file"
	ReachNode = "node"
)

// lossRow is one message by which a program tells that lines are missing.
type lossRow struct {
	literal string // stands in every spelling, at least eight bytes
	// units are parts of the syslog identifiers that print it.
	units []string
	loss  func(r *event.Record, text string) (event.Event, bool)
}

// lossTable: journald 38 to 257, rsyslog 5 to 8, Linux 2.6 to 6.x.
var lossTable = []lossRow{
	{"Suppressed ", journaldUnits, suppressed},
	{" kernel messages", journaldUnits, missedKernel},
	{"kmsg buffer overrun", journaldUnits, missedKernel},
	{"renaming and replacing", journaldUnits, journalReplaced},
	{" missed ", journaldUnits, notForwarded},
	{"been rotated since", nil, rotatedSince},
	{"drop messages due to rate-limiting", rsyslogUnits, rateLimited},
	{"messages lost due to rate-limiting", rsyslogUnits, rateLimited},
	{"builtin:omfile", rsyslogUnits, outputSuspended},
	{" callbacks suppressed", kernelUnits, notPrinted},
	{" messages suppressed", kernelUnits, notPrinted},
}

// Identifiers: journald is "systemd-journal" to the kernel and "journal" in syslog of EL 7;
// rsyslogd appends its error code ("rsyslogd-2177").
var (
	journaldUnits = []string{"journal"}
	rsyslogUnits  = []string{"rsyslogd"}
	kernelUnits   = []string{"kernel"}
	allUnits      = slices.Concat(journaldUnits, rsyslogUnits, kernelUnits)
)

// Literals are texts of which every such line holds one.
func Literals() []string {
	all := make([]string, 0, len(lossTable))
	for i := range lossTable {
		all = append(all, lossTable[i].literal)
	}
	return all
}

// matches says whether a line may be the row's.
func (row *lossRow) matches(r *event.Record) bool {
	if r.Unit == "" && r.Level != event.NoLevel {
		return false // of a daemon's own file
	}
	return (r.Unit == "" || scan.ContainsAny(r.Unit, row.units)) && strings.Contains(r.Raw, row.literal)
}

// Tells says whether [NewEvent] may make something of a line. It keeps nothing of it.
func Tells(r *event.Record) bool {
	if r.Lost {
		return true
	}
	if r.Unit != "" && !scan.ContainsAny(r.Unit, allUnits) { // as most lines are
		return false
	}
	for i := range lossTable {
		if lossTable[i].matches(r) {
			return true
		}
	}
	return false
}

// NewEvent makes an event of a line by which its writer says that lines are missing. Ok is false
// for every other line.
func NewEvent(r *event.Record) (e event.Event, ok bool) {
	if r.Lost {
		return lostMessage(r), true
	}
	for i := range lossTable {
		row := &lossTable[i]
		if !row.matches(r) {
			continue
		}
		if e, ok = row.loss(r, strings.TrimSpace(r.Message())); ok {
			completeLoss(&e, r)
			return e, true
		}
	}
	return e, false
}

func completeLoss(e *event.Event, r *event.Record) {
	e.Kind = event.KindLoss
	if e.Start.IsZero() {
		e.Start = r.Time
	}
	e.Level = max(r.Level, event.Warning)
	e.Evidence = []event.Quote{{Pos: r.Pos, Text: r.Raw}}
}

// newLoss is the event of lines that a component wrote and that are missing; of everybody's where
// it is empty.
func newLoss(by, of, reach, text string) event.Event {
	e := event.Event{Component: by, Text: text, Fields: []event.Field{event.FieldReach.Text(reach)}}
	e.AddText(event.FieldOf, of)
	return e
}

// withCount adds how many messages are missing.
func withCount(e event.Event, n int) event.Event {
	e.AddFields(event.FieldMessages.Int(n))
	return e
}

// lostMessage is a record of which the carrier did not keep the text.
func lostMessage(r *event.Record) event.Event {
	e := newLoss("journald", daemon.Writer(r.Unit), ReachFile, "the text of a message is missing")
	if r.Time.Prec == 0 {
		e.End = r.Time
	}
	completeLoss(&e, r)
	return e
}

// rateLimit is RateLimitIntervalSec= of journald.conf: messages are counted, and not kept, for so
// long.
const rateLimit = 30 * time.Second

// suppressed is journald's line on a unit, when it takes its next message:
//
//	Suppressed 4523 messages from kubelet.service
//	Suppressed 4523 messages from /system.slice/kubelet.service      (219)
//	Suppressed 917 messages from /                                  (219, of no unit)
func suppressed(r *event.Record, text string) (event.Event, bool) {
	s, ok := event.ParseSuppressed(text)
	if !ok {
		return event.Event{}, false
	}
	// of a unit that nothing else speaks of, too: the loss is then nobody's here
	of := cmp.Or(daemon.Writer(s.Writer()), s.Writer())
	e := withCount(
		newLoss("journald", of, ReachNode, "journald suppressed "+strconv.Itoa(s.Messages)+" messages of "+s.Unit),
		s.Messages,
	)
	e.Start, e.End = r.Time.Add(-rateLimit), r.Time
	return e, true
}

// missedKernel is journald's line (journald-kmsg.c) when the ring buffer was overwritten before it
// had read it:
//
//	Missed 81 kernel messages
//	/dev/kmsg buffer overrun, some messages lost.
func missedKernel(_ *event.Record, text string) (event.Event, bool) {
	e := newLoss("journald", "kernel", ReachNode, "journald missed messages of the kernel")
	if strings.Contains(text, "/dev/kmsg buffer overrun") {
		return e, true
	}
	n, rest, _ := strings.Cut(strings.TrimPrefix(text, "Missed "), " ")
	missed, err := strconv.ParseUint(n, 10, 31)
	if err != nil || !strings.HasPrefix(rest, "kernel messages") {
		return event.Event{}, false
	}
	e.Text = "journald missed " + n + " messages of the kernel"
	return withCount(e, int(missed)), true
}

// journalReplaced is journald's line after a crash: what it had not yet written to disk, at most 5
// minutes (SyncIntervalSec=), is gone.
//
//	File /var/log/journal/…/system.journal corrupted or uncleanly shut down, renaming and replacing.
func journalReplaced(r *event.Record, text string) (event.Event, bool) {
	if !strings.Contains(text, "system.journal ") {
		return event.Event{}, false // of a user
	}
	e := newLoss("journald", "", ReachNode, "the journal was not closed: its last minutes may be missing")
	e.Start, e.End = r.Time.Add(-syncInterval), r.Time
	return e, true
}

const syncInterval = 5 * time.Minute

// notForwarded is journald's line when a syslog daemon did not read fast enough; at most one in 30
// s (journald-syslog.c):
//
//	Forwarding to syslog missed 138 messages.
func notForwarded(r *event.Record, text string) (event.Event, bool) {
	rest, ok := strings.CutPrefix(text, "Forwarding to syslog missed ")
	n, err := strconv.ParseUint(scan.FirstWord(rest), 10, 31)
	if !ok || err != nil {
		return event.Event{}, false
	}
	e := withCount(
		newLoss("journald", "", ReachNode, "syslog did not get "+strconv.FormatUint(n, 10)+" messages of the journal"),
		int(n),
	)
	e.Start, e.End = r.Time.Add(-rateLimit), r.Time
	return e, true
}

// rotatedSince is a warning of journalctl and systemctl, without a time: what is not there was
// there before.
//
//	Journal file /var/log/journal/… has been rotated since journalctl was started, output may be incomplete.
//	Warning: Journal has been rotated since unit was started. Log output is incomplete or unavailable.
func rotatedSince(r *event.Record, text string) (event.Event, bool) {
	if r.Unit != "" || !strings.Contains(text, "ournal ") || !strings.Contains(text, "incomplete") ||
		!strings.Contains(text, "has been rotated since journalctl") {
		return event.Event{}, false
	}
	e := newLoss("journald", "", ReachFile, "the journal was rotated while it was read")
	e.AddFields(event.FieldAnywhere.Bool(true))
	return e, true
}

// rateLimited is rsyslog's ratelimit.c, when it begins to drop what an input reads and when it has
// ended:
//
//	imjournal: begin to drop messages due to rate-limiting
//	imjournal from <node-1:kubelet>: begin to drop messages due to rate-limiting      (≥ 8.31)
//	imuxsock[pid 22830]: begin to drop messages due to rate-limiting
//	imjournal: 84667 messages lost due to rate-limiting
//	imjournal: 84667 messages lost due to rate-limiting (20000 allowed within 600 seconds)      (≥ 8.2201)
func rateLimited(r *event.Record, text string) (event.Event, bool) {
	input := text[:len(text)-len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyz"))]
	if input == "" {
		return event.Event{}, false
	}
	e := newLoss("rsyslog", "", ReachFile, "rsyslog drops what "+input+" reads")
	e.Span = event.Span{Key: "loss/" + r.Pos.File + "/" + input, Edge: event.Begin}
	if i := strings.Index(text, " messages lost due to rate-limiting"); i >= 0 {
		e.Span.Edge = event.End
		count := text[strings.LastIndexByte(text[:i], ' ')+1 : i]
		if n, err := strconv.ParseUint(count, 10, 31); err == nil {
			e = withCount(e, int(n))
			e.Text = "rsyslog has dropped " + count + " messages that " + input + " read"
		}
	}
	return e, true
}

// outputSuspended is rsyslog's action.c on a file that it cannot write, as on a full disk:
//
//	action 'action-0-builtin:omfile' suspended (module 'builtin:omfile'), retry 0. There should be …
//	action 'action-0-builtin:omfile' resumed (module 'builtin:omfile')
func outputSuspended(r *event.Record, text string) (event.Event, bool) {
	name, rest, ok := strings.Cut(strings.TrimPrefix(text, "action '"), "' ")
	e := newLoss("rsyslog", "", ReachFile, "rsyslog cannot write a file")
	e.Span = event.Span{Key: "loss/" + r.Pos.File + "/" + name, State: true, Edge: event.EdgeOf(rest, "suspended ", "resumed ")}
	return e, ok && e.Span.Edge != event.Whole
}

// printkInterval is DEFAULT_RATELIMIT_INTERVAL of include/linux/ratelimit_types.h.
const printkInterval = 5 * time.Second

// notPrinted is lib/ratelimit.c's line on one place of the kernel's code that had too much to say:
//
//	net_ratelimit: 23807 callbacks suppressed
//	printk: 12 messages suppressed.      (before 2.6.32)
func notPrinted(r *event.Record, text string) (event.Event, bool) {
	who, rest, ok := strings.Cut(text, ": ")
	if i := strings.LastIndexByte(who, ' '); i >= 0 { // behind the stamp of the ring buffer
		who = who[i+1:]
	}
	n, err := strconv.ParseUint(scan.FirstWord(rest), 10, 31)
	if !ok || err != nil {
		return event.Event{}, false
	}
	e := withCount(
		newLoss("kernel", "kernel", ReachNode, "the kernel did not print "+scan.FirstWord(rest)+" messages of "+who),
		int(n),
	)
	e.Start, e.End = r.Time.Add(-printkInterval), r.Time
	return e, true
}

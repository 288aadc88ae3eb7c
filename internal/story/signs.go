package story

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Sign is an event that is not routine, where no cause is named, or that a possible cause does not
// explain: the reader should look at it.
type Sign struct {
	Text     string
	Count    int             // events of its kind that say the same
	Evidence []event.Quote   // of one of them
	Window   timeline.Window // of that one; zero where it has no time

	kind event.Kind
}

// isOfWorkload says that an event is a container's own trouble: the runtime starts it, and it ends,
// or the registry does not have its image.
// On a node that is well it is nobody else's; where nothing else is shown, it is what the input is
// about.
func isOfWorkload(e *event.Event) bool {
	return e.FieldText(event.FieldState) == "CrashLoopBackOff" || e.Kind == event.KindKubeEvent && lacksImage.MatchString(e.FieldText(event.FieldMessage))
}

// lacksImage is what the kubelet says of a container whose image the registry does not have, or
// does not give: of a registry that is not reached it says why.
var lacksImage = regexp.MustCompile(`^(Error: (ErrImagePull|ImagePullBackOff)|Back-off (pulling image|restarting failed container) .*|Failed to pull image .*: (not found|denied: .*|manifest unknown|pull access denied.*))$`)

// listWorkload returns the first sign of each container that ends again and again.
func listWorkload(tl *timeline.Timeline) (signs []Sign) {
	for _, e := range tl.Events {
		if !isOfWorkload(e) || len(e.Evidence) == 0 {
			continue
		}
		i := slices.IndexFunc(signs, func(s Sign) bool { return s.Text == e.Text })
		switch {
		case i >= 0:
			signs[i].Count += e.Count()
		case len(signs) < maxSigns:
			signs = append(signs, Sign{e.Text, e.Count(), event.FirstMessages(e.Evidence, 1), findWindow(e), e.Kind})
		}
	}
	return signs
}

// maxSigns bounds the signs that are named.
const maxSigns = 3

// listSigns returns the strongest signs of a timeline: of each kind of event (and program, of
// processes) the one that is said most often, of those the first. What a stall consists of is no
// sign besides it.
func listSigns(tl *timeline.Timeline, stalled bool) []Sign { return listSignsBut(tl, stalled, nil) }

// listSignsBut are the signs without the events that explained names; nil names none.
func listSignsBut(tl *timeline.Timeline, stalled bool, explained func(*event.Event) bool) []Sign {
	type said struct {
		first  *event.Event
		last   event.Pos // the line that was counted last: one that tells two things is one sign
		count  int
		others map[string]bool // subjects that are not named
	}
	byText := map[event.Kind]map[string]*said{}
	begun := findBegun(tl)
	whole := slices.ContainsFunc(tl.Coverage, func(c timeline.Coverage) bool { return c.IsDense() })
	var all []*said
	for _, e := range tl.Events {
		if isRoutine(e) && (whole || !isRefusedProbe(e)) || isOfWorkload(e) || stalled && isOfStall(e) || begun.isOver(e) || explained != nil && explained(e) {
			continue
		}
		if byText[e.Kind] == nil {
			byText[e.Kind] = map[string]*said{}
		}
		sort := sortOf(e)
		s := byText[e.Kind][sort]
		if s == nil {
			s = &said{first: e}
			byText[e.Kind][sort] = s
			all = append(all, s)
		}
		if at := e.Pos(); s.count == 0 || at != s.last {
			s.last = at
			s.count += e.Count()
		}
		if subject := findSubject(e); subject != findSubject(s.first) {
			if s.others == nil {
				s.others = map[string]bool{}
			}
			s.others[subject] = true
		}
	}
	slices.SortStableFunc(all, func(a, b *said) int {
		return cmp.Or(
			cmp.Compare(rankSign(a.first), rankSign(b.first)), cmp.Compare(a.first.Kind, b.first.Kind),
			cmp.Compare(rankAmongKind(a.first), rankAmongKind(b.first)), cmp.Compare(programOf(a.first), programOf(b.first)),
			cmp.Compare(b.count, a.count),
		)
	})
	all = slices.CompactFunc(all, func(a, b *said) bool {
		return a.first.Kind == b.first.Kind && programOf(a.first) == programOf(b.first)
	})
	all = slices.DeleteFunc(all, func(s *said) bool { // the runtime says why
		return s.first.Kind == event.KindCRIError && slices.ContainsFunc(all, func(other *said) bool {
			return other.first.Kind == event.KindCRICall && hasFailed(other.first) && other.first.FieldText(event.FieldMethod) == s.first.FieldText(event.FieldMethod)
		})
	})
	for i := 0; i < len(all); i++ { // of one fact what says more is enough, in the place of the stronger
		j := slices.IndexFunc(all, func(s *said) bool { return saysMore(s.first, all[i].first) })
		if j >= 0 {
			all[min(i, j)] = all[j]
			all = slices.Delete(all, max(i, j), max(i, j)+1)
			i--
		}
	}
	for i := 0; i < len(all); i++ { // of one line the first says enough
		rest := slices.DeleteFunc(all[i+1:], func(s *said) bool { return isSameLine(all[i].first, s.first) })
		all = all[:i+1+len(rest)]
	}
	var signs []Sign
	for _, s := range all[:min(len(all), maxSigns)] {
		text := describeSign(s.first)
		if subject := findSubject(s.first); subject != "" && len(s.others) > 0 {
			text = strings.Replace(text, subject, subject+" "+event.OthersText(len(s.others)), 1)
		}
		signs = append(signs, Sign{text, s.count, event.FirstMessages(s.first.Evidence, 1), findWindow(s.first), s.first.Kind})
	}
	return signs
}

// maxUnexplained bounds the signs beside a possible cause.
const maxUnexplained = 2

// listUnexplained returns the signs that a possible cause does not explain, and no other finding:
// of kinds of which their rules know nothing, and that come of no other trouble.
func (s *story) listUnexplained() []Sign {
	known, lines := map[event.Kind]bool{}, map[event.Pos]bool{}
	for _, p := range s.parts {
		for _, kind := range p.rule.ListKinds() {
			known[kind] = true
		}
		for _, step := range p.Chain {
			for _, e := range step.Events {
				lines[e.Pos()] = true
			}
		}
	}
	all := listSignsBut(s.timeline, true, func(e *event.Event) bool {
		return !slices.Contains(firstTroubles, e.Kind) || known[e.Kind] || lines[e.Pos()]
	})
	return all[:min(len(all), maxUnexplained)]
}

// programOf is the component of a process: one of a pod that does not end and a runc that does not
// are two signs. It is empty for events of other kinds, of which one is enough.
func programOf(e *event.Event) string {
	if e.Kind == event.KindProcess {
		return e.Component
	}
	return ""
}

// saysMore says that an event tells all that another one tells, and more: the stack of a task that
// the watchdog names above it, a lockup of the CPU that RCU waits for, and the clock that is set,
// after it was found wrong by as much.
func saysMore(e, other *event.Event) bool {
	var same event.Key
	switch [2]event.Kind{e.Kind, other.Kind} {
	case [2]event.Kind{event.KindThreadSample, event.KindHungTask}:
		same = event.FieldComm
	case [2]event.Kind{event.KindSoftLockup, event.KindRCUStall}:
		same = event.FieldCPU
	case [2]event.Kind{event.KindClockStep, event.KindClockWrong}:
		same = event.FieldStep
	default:
		return false
	}
	return e.FieldText(same) != "" && e.FieldText(same) == other.FieldText(same)
}

// isStarting says that an event is over before a kubelet can have registered its node.
func (b begun) isStarting(e *event.Event) bool {
	return e.Start.Known && slices.ContainsFunc(b.starts, func(start time.Time) bool {
		return !e.Start.T.Before(start) && e.Last().T.Sub(start) < firstWords
	})
}

// isSameLine says that two events are made of one line.
func isSameLine(a, b *event.Event) bool {
	return len(a.Evidence) > 0 && len(b.Evidence) > 0 && a.Evidence[0].Pos == b.Evidence[0].Pos
}

// begun is when the beginning of a node was over, by what it said of itself; zero when it did not.
type begun struct {
	network, node, images time.Time
	starts                []time.Time           // of the kubelet
	boots                 map[*event.Event]bool // with which logs begin
	stops                 map[*event.Event]bool // of programs that do not end when they are asked to
}

// firstWords is how long after its start a kubelet may find no node object of its own: it is about
// to register its node.
const firstWords = 5 * time.Second

// findBegun finds when the runtime said that its network is ready, and the kubelet that its node
// is, which it says only of one with a network, and that it could clean the file system of the
// images.
func findBegun(tl *timeline.Timeline) (b begun) {
	b.boots, b.stops = findHeads(tl), findForcedStops(tl)
	for _, e := range tl.Events {
		switch {
		case e.Kind == event.KindCollectRPC && e.FieldText(event.FieldNetwork) == "true" && e.Start.Known:
			b.network = e.Start.T
		case e.Kind == event.KindNodeReady && e.Start.Known:
			b.node = e.Start.T
			if b.network.Before(b.node) {
				b.network = b.node
			}
		case e.Kind == event.KindImagesCleaned && e.Start.Known:
			b.images = e.Start.T
		case e.Start.Known && (e.Kind == event.KindKubeletStart || e.Kind == event.KindNoise && e.FieldText(event.FieldName) == event.StatusPending):
			b.starts = append(b.starts, e.Start.T)
		}
	}
	return b
}

// mostStops is how often a program is stopped in vain at most that ends when it is killed.
const mostStops = 2

// findForcedStops are the stops in whole logs at which a program had to be killed, and ended: one
// that does not look at SIGTERM is no trouble of the node. Of a few lines somebody chose them.
func findForcedStops(tl *timeline.Timeline) map[*event.Event]bool {
	found, stops := map[*event.Event]bool{}, map[string]int{}
	for _, e := range tl.Events {
		switch {
		case e.Kind != event.KindKillLate:
		case isAsked(e):
			stops[e.IDs.Container] += e.Count()
		default: // it resists
			stops[e.IDs.Container] += mostStops + 1
		}
	}
	if len(stops) == 0 {
		return found
	}
	type log struct{ file, source string }
	whole := map[log]bool{}
	for i := range tl.Coverage {
		if c := &tl.Coverage[i]; c.IsDense() {
			whole[log{c.File, c.Source}] = true
		}
	}
	for _, e := range tl.Events {
		if e.Kind == event.KindKillLate && stops[e.IDs.Container] <= mostStops && whole[log{e.Pos().File, e.Source}] {
			found[e] = true
		}
	}
	return found
}

// isAsked says that the signal in vain was one at which a program may do what it likes.
func isAsked(e *event.Event) bool {
	signal := e.FieldText(event.FieldSignal)
	return signal != "" && signal != "9" && signal != "SIGKILL"
}

// findHeads are the starts of a machine with which the logs begin: each log of a kernel does, and
// such a line is a sign only where something lies before it.
func findHeads(tl *timeline.Timeline) map[*event.Event]bool {
	var earliest time.Time // that a source covers
	for _, c := range tl.Coverage {
		if !c.Start.IsZero() && (earliest.IsZero() || c.Start.Before(earliest)) {
			earliest = c.Start
		}
	}
	heads, first := map[*event.Event]bool{}, sync.OnceValue(func() map[string]int { return findFirstLines(tl) })
	for _, e := range tl.Events {
		switch {
		case e.Kind != event.KindBoot:
		case e.Start.IsZero(): // as in dmesg, whose order is that of its lines
			heads[e] = first()[e.Pos().File] == e.Pos().Line
		default:
			heads[e] = earliest.IsZero() || !earliest.Before(e.Start.T.Add(-e.Start.Prec))
		}
	}
	return heads
}

// findFirstLines are the lines of the first events, by file.
func findFirstLines(tl *timeline.Timeline) map[string]int {
	first := map[string]int{}
	for _, e := range tl.Events {
		if line, known := first[e.Pos().File]; !known || e.Pos().Line < line {
			first[e.Pos().File] = e.Pos().Line
		}
	}
	return first
}

// isOver says that an event was of the beginning: the boot with which the logs begin, a network
// that nobody has set up, a node that the API server does not know because it has not registered,
// images of which there are no numbers yet, calls that break, or find nobody, while a runtime is
// restarted. A call that was too late is a sign all the same.
func (b begun) isOver(e *event.Event) bool {
	if e.FieldText(event.FieldRestarting) == "true" || b.boots[e] || b.stops[e] {
		return true
	}
	switch e.Kind {
	case event.KindNetworkNotReady:
		return e.Start.T.Before(b.network)
	case event.KindImageFSFailed:
		first := e.FieldText(event.FieldAgain) != "true" && b.isStarting(e)
		return e.FieldText(event.FieldDeadline) != "true" && e.Start.Known && (first || e.Start.T.Before(b.images))
	case event.KindAPIFailed:
		return e.FieldText(event.FieldReason) == "not-found" && (e.Start.T.Before(b.node) || b.isStarting(e))
	}
	return false
}

// rankAmongKind is how much an event says among those of its kind: Ready is what other conditions
// of a node are about, and what the runtime waits for is what its callers wait for.
func rankAmongKind(e *event.Event) int {
	switch {
	case e.FieldText(event.FieldCondition) == "Ready":
		return 0
	case e.Kind == event.KindRuncFailed && e.FieldText(event.FieldReason) == "hook": // what it ran says more
		return 2
	case e.Kind == event.KindHardwareError && slices.Contains([]string{"gpu-program", "gpu-other"}, e.FieldText(event.FieldWhat)): // a card that fails says more
		return 2
	case e.Kind == event.KindDeviceLoad: // the disk that answers last says more
		await, _ := e.Get(event.FieldAwait)
		ms, _ := await.Number()
		return -int(ms)
	case e.Kind == event.KindGoroutine && slices.Contains([]string{"cri", "docker-api"}, e.FieldText(event.FieldDoing)):
		return 2
	}
	return 1
}

// describeCondition adds to a condition what its writer says of it, and since when.
func describeCondition(e *event.Event) string {
	text := e.Text
	if message := strings.TrimRight(e.FieldText(event.FieldMessage), ". "); message != "" {
		text += ", " + message
	}
	if !e.Start.IsZero() {
		text += ", since " + event.TimeOfDay(e.Start.T)
	}
	return text
}

// findSubject returns the container, the sandbox, the pod, the device or the server that the text
// of an event names; empty when it names none.
func findSubject(e *event.Event) string {
	for _, name := range [...]string{
		event.ShortID(e.IDs.Container), event.ShortID(e.IDs.Sandbox), e.IDs.Pod,
		e.FieldText(event.FieldDevice), e.FieldText(event.FieldServer),
	} {
		if name != "" && strings.Contains(e.Text, name) {
			return name
		}
	}
	return ""
}

// sortOf is what events that say the same of several objects have in common: their text without the
// object, or what the Events of several pods tell.
func sortOf(e *event.Event) string {
	switch e.Kind {
	case event.KindCollectRPC: // each is a question of its own, asked once
		return e.Text
	case event.KindCRIError:
		return e.FieldText(event.FieldMethod) + " " + e.FieldText(event.FieldDeadline)
	case event.KindKubeEvent:
		return e.FieldText(event.FieldReason) + " " + e.FieldText(event.FieldMessage)
	case event.KindCRICall:
		if hasFailed(e) {
			return e.FieldText(event.FieldMethod) + " failed"
		}
	}
	return strings.Replace(e.Text, findSubject(e), "", 1)
}

// waits are the kinds of events that dumps show.
var waits = []event.Kind{event.KindGoroutine, event.KindLockWait, event.KindLockHeld, event.KindLockQueue}

// describeSign is the text of an event with how long it lasted, where that is more than a moment.
func describeSign(e *event.Event) string {
	d := e.Duration()
	if wait, waited := e.Get(event.FieldWait); waited && d == 0 { // a dump without a time has ages
		if seconds, ok := wait.Number(); ok {
			d = time.Duration(seconds * float64(time.Second))
		}
	}
	atLeast := e.AtLeast()
	if slices.Contains(waits, e.Kind) && e.Start.Prec > 0 { // a dump rounds to minutes what it shows
		var waited time.Duration
		if wait, ok := e.Get(event.FieldWait); ok {
			seconds, _ := wait.Number()
			waited = time.Duration(seconds * float64(time.Second))
		}
		d, atLeast = min(d, max(waited, d-e.Start.Prec)), true
	}
	text := e.Text
	switch {
	case e.Component == "":
	case e.Kind == event.KindGoroutine:
		text = e.Component + ": " + text + goroutineCountText(e)
	case e.Kind == event.KindLockHeld || e.Kind == event.KindLockWait:
		text = "a goroutine of " + e.Component + " " + text
	}
	switch {
	case e.Kind == event.KindNodeCondition:
		return describeCondition(e)
	case e.Kind == event.KindFact:
		return node.Shortage(e)
	case e.Kind == event.KindCRICall && hasFailed(e), e.Kind == event.KindCRIError && saysFailed(text) && e.FieldText(event.FieldError) != "":
		return describeFailure(e)
	case e.Kind == event.KindClockStep, e.FieldInt(event.FieldSeconds) > 0:
		return text // it says how far, or how long
	case d < time.Second || strings.Contains(strings.ReplaceAll(text, " ", ""), event.DurationText(d)):
		return text
	case e.Kind == event.KindCRICall && e.Open && !strings.Contains(text, " does not end"):
		return text + " has not ended after " + event.DurationText(d)
	case atLeast:
		return text + ", for at least " + event.DurationText(d)
	}
	return text + ", for " + event.DurationText(d)
}

// goroutineCountText says how many goroutines have the stack of an event, where a profile counts
// them.
func goroutineCountText(e *event.Event) string {
	v, ok := e.Get(event.FieldCount)
	if n, number := v.Number(); ok && number && n > 1 && !strings.HasPrefix(e.Text, e.FieldText(event.FieldCount)+" ") {
		return " (" + e.FieldText(event.FieldCount) + " goroutines)"
	}
	return ""
}

// hasFailed says that a call which makes or stops a pod or a container has failed. Other calls
// about containers that have just gone fail on healthy nodes, too.
func hasFailed(e *event.Event) bool {
	if e.FieldText(event.FieldOutcome) != "failed" {
		return false
	}
	switch e.FieldText(event.FieldMethod) {
	case "RunPodSandbox", "CreateContainer":
		return true
	case "StopPodSandbox", "StopContainer":
		return e.FieldText(event.FieldExited) != "true" && !strings.Contains(e.FieldText(event.FieldError), "not found")
	case "StartContainer": // mostly its program is not there
		return slices.ContainsFunc(startFailures, func(text string) bool { return strings.Contains(e.FieldText(event.FieldError), text) })
	}
	return e.Component == "cri" // crictl: somebody asked for it at a prompt
}

// startFailures are in errors of a start that the node is to blame for.
var startFailures = []string{
	"failed to mount ", "device or resource busy", "input/output error", "cannot allocate memory", "ttrpc: closed", "stale NFS file handle", "transport endpoint is not connected",
}

// graceOf is how long a stop may take because its container has that time to end. One that is asked
// for again has lost its caller, and has none.
func graceOf(e *event.Event) time.Duration {
	v, ok := e.Get(event.FieldGrace)
	seconds, number := v.Number()
	if !ok || !number || e.Count() > 1 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// saysFailed says that a text tells of a failure, and of no more; Events of the API add when that
// was.
func saysFailed(text string) bool {
	what, when, _ := strings.Cut(text, " (")
	return strings.HasSuffix(what, " failed") && (when == "" || strings.HasSuffix(when, ")"))
}

// fullID is the id of a container or a sandbox; its first part is what people look for.
var fullID = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// noCode is the head of an error of gRPC that names no kind of error.
const noCode = "rpc error: code = Unknown desc = "

// saidBefore are what an Event of a pod says before the error of a call that the sign names.
var saidBefore = []string{"(combined from similar events): ", "Failed to create pod sandbox: "}

// noCauses are ends of errors that name no cause: of gRPC's codes the one for the rest, and a Go
// error that is none.
var noCauses = []string{": unknown", `": unavailable`, ": <nil>", ": %!w(<nil>)"}

// describeFailure says why a call failed, without what a program printed below its first line.
func describeFailure(e *event.Event) string {
	why, _, _ := strings.Cut(e.FieldText(event.FieldError), "\n")
	why, _, _ = strings.Cut(why, `\n`)
	why = fullID.ReplaceAllString(strings.ReplaceAll(why, noCode, ""), "$1")
	for _, before := range saidBefore {
		why = strings.TrimPrefix(why, before)
	}
	said := e.Text
	if !strings.Contains(said, " failed") && !strings.Contains(said, " does not end ") {
		said += " failed"
	}
	if plugin := e.FieldText(event.FieldPlugin); plugin != "" {
		said = strings.Replace(said, " failed", " failed in the network plugin "+plugin, 1)
		why = afterPlugin(why)
	}
	why = strings.TrimRight(why, `:"\ `)
	if before, after, _ := strings.Cut(why, `: "`); strings.Count(why, `"`)%2 == 1 && !strings.Contains(after, `"`) {
		why = before + ": " + after // the quotation ended below
	}
	for i := 0; i < len(noCauses); i++ {
		if rest, cut := strings.CutSuffix(why, noCauses[i]); cut {
			why, i = rest, -1
		}
	}
	if why = strings.TrimRight(why, `:" `); why == "" {
		return said
	}
	return said + ": " + why
}

// afterPlugin is what a network plugin says, behind what the runtime says of the pod and of the
// plugin.
func afterPlugin(why string) string {
	why = strings.ReplaceAll(why, `\"`, `"`)
	_, said, typed := strings.Cut(why, `plugin type="`)
	if _, rest, ok := strings.Cut(said, "): "); ok { // … failed (add):
		return rest
	}
	if _, rest, ok := strings.Cut(why, " cmd: "); ok && !typed {
		return rest
	}
	return why
}

// Bounds of a sign in a sentence, in bytes.
const (
	maxSignText = 200
	maxSignEnd  = 140
	maxSignRows = 130 // of two rows of the first screen
	minSignHead = 30  // what failed
)

// Brief is the text of a sign in the two rows that the first screen has for it.
func (s *Sign) Brief() string { return clipText(s.Text, maxSignRows) }

// clipSign bounds a sign in a sentence.
func clipSign(text string) string { return clipText(text, maxSignText) }

// clipText cuts a long sign in its middle: errors end with what went wrong, and that stays whole.
func clipText(text string, most int) string {
	if len(text) <= most {
		return event.OneLine(text)
	}
	text = shortenPaths(text)
	head, end := splitCause(text)
	if len(text) <= most || head == "" {
		return event.OneLine(text)
	}
	head = strings.ToValidUTF8(head[:min(len(head), max(minSignHead, most-len(end)-len(" …: ")))], "")
	if i := strings.LastIndex(head, ": "); i >= len(head)/2 {
		head = head[:i]
	}
	return event.OneLine(strings.TrimRight(head, " :")) + " …: " + event.OneLine(end)
}

// longPath is a path of many parts: 1 the first four, 2 the last.
var longPath = regexp.MustCompile(`((?:/[^/\s:"]+){4})(?:/[^/\s:"]+)+(/[^/\s:"]+)`)

// shortenPaths leaves out what stands in the middle of long paths.
func shortenPaths(text string) string { return longPath.ReplaceAllString(text, "$1/…$2") }

// splitCause cuts a long text before the innermost cause of its error, which stands behind the last
// colons: what was refused, by whom, and of what. Head is empty where nothing there is short
// enough.
//
//	… range 0: no IP addresses available in range set: 10.244.3.1-10.244.3.254
//	… update resources: exec: "runc": executable file not found in $PATH
//	… cgroup configuration: mkdir /sys/fs/cgroup/pids/kubepods.slice/…: read-only file system
func splitCause(text string) (head, end string) {
	for rest := text; ; {
		i := strings.LastIndex(rest, ": ")
		if i < 0 || len(text)-i-len(": ") > maxSignEnd {
			return head, end
		}
		last := rest[i+len(": "):]
		if end != "" && strings.Contains(last, " ") && !isCallOfFile(last) && strings.Contains(end, " ") {
			return head, end
		}
		rest, head, end = rest[:i], rest[:i], text[i+len(": "):]
	}
}

// isCallOfFile says that a part of an error is the call and the file that Go's os package names:
// mkdir /sys/fs/cgroup/x, dial unix /run/x.sock.
func isCallOfFile(part string) bool {
	call, path, ok := strings.Cut(strings.TrimPrefix(part, "Error while dialing "), " /") // as grpc writes it up to 1.46
	return ok && !strings.Contains(path, " ") && strings.Count(call, " ") < 2
}

// isOfStall tells what a stall consists of.
func isOfStall(e *event.Event) bool {
	return slices.Contains(stallKinds, e.Kind) || e.Kind == event.KindNodeCondition && e.FieldText(event.FieldCondition) == "Ready"
}

// rankSign is how much a kind of event says; 0 is most. What is not there is why every call fails.
func rankSign(e *event.Event) int {
	kind := e.Kind
	if kind == event.KindRuncFailed && e.FieldText(event.FieldReason) == "missing" {
		kind = event.KindForkFailed
	}
	if i := slices.Index(strongKinds, kind); i >= 0 {
		return i
	}
	return len(strongKinds)
}

// isRoutine says whether an event is what a healthy node shows, too.
func isRoutine(e *event.Event) bool {
	switch e.Kind {
	case event.KindThreadSample:
		state, waits := e.FieldText(event.FieldState), e.FieldText(event.FieldWaits)
		known := waits != "" || e.FieldText(event.FieldWatchdog) == "true"
		if state == "" && waits != "" { // a stack that somebody printed
			return false
		}
		known = known || strings.HasPrefix(e.Source, "kernel") || isCrowd(e) // the kernel prints a task in D when it hangs, or when somebody asks
		return state != "D" || !known && !slices.Contains(chainOfCalls, e.Component)
	case event.KindProcess:
		state := e.FieldText(event.FieldState)
		if e.FieldText(event.FieldReturned) == "true" {
			state = "S"
		}
		waits := slices.Contains(standingWaits, e.FieldText(event.FieldWaits))
		return !waits && !strings.HasPrefix(state, "D") && !strings.HasPrefix(state, "T") && !(strings.HasPrefix(state, "t") && slices.Contains(chainOfCalls, e.Component)) && !isBusyDaemon(e) && !isLateRunc(e)
	case event.KindSyscall:
		return !e.Open && e.Duration() < slowAnswer
	case event.KindGoroutine, event.KindLockWait:
		waits := e.FieldText(event.FieldDoing) != "" || e.Kind == event.KindGoroutine && e.FieldText(event.FieldEnds) != ""
		chosen := e.FieldText(event.FieldExcerpt) == "true" && e.FieldText(event.FieldWait) == ""
		least := cmp.Or(longWaits[e.FieldText(event.FieldDoing)], longWait)
		return !waits || !chosen && e.Duration() < least && !waitsFor(e, least)
	case event.KindNodeNotReady: // with the kubelet's first words, and no other
		message := e.FieldText(event.FieldMessage)
		starts := strings.Contains(message, "status check may not have completed yet") || e.FieldText(event.FieldNever) == "true"
		return starts && !strings.Contains(message, "was last seen active")
	case event.KindCRIError: // a probe of a workload that is slow, or a container that is deleted meanwhile
		return e.FieldText(event.FieldMethod) == "ExecSync" || asksForDeleted(e)
	case event.KindCRICall:
		return e.FieldText(event.FieldDeadline) != "true" && e.Duration() < longCall+graceOf(e) && !hasFailed(e)
	case event.KindDaemonBoot, event.KindUnitStarting: // at its start a service does not answer yet
		return !e.Open && e.Duration() < longBoot
	case event.KindHealthFailed: // one without an end is what somebody met who looked
		return !e.Open && !e.End.IsZero() && e.Duration() < longBoot
	case event.KindSyncLoopLate:
		return e.Duration() > 0 && e.Duration() < longHousekeeping
	case event.KindKubeEvent:
		return slices.Contains(harmlessReasons, e.FieldText(event.FieldReason)) || e.FieldText(event.FieldType) != "Warning" && !slices.Contains(troubledReasons, e.FieldText(event.FieldReason))
	case event.KindNodeCondition:
		want := "False"
		if strings.HasSuffix(e.FieldText(event.FieldCondition), "Ready") { // also KernelReady and its like, on EKS
			want = "True"
		}
		return e.FieldText(event.FieldStatus) == want
	case event.KindCollectRPC:
		return e.FieldText(event.FieldAnswered) == "true" && e.Duration() < slowAnswer
	case event.KindCollectItem: // the ports of a kubelet answer while it runs
		return e.Component != "kubelet"
	case event.KindCgroup:
		return e.FieldText(event.FieldFrozen) != "true"
	case event.KindOOMKill:
		return reachedOwnLimit(e)
	case event.KindFileSystem:
		return !isFull(e, event.FieldUsedPercent) && !isFull(e, event.FieldInodesPercent)
	case event.KindPLEGUnhealthy:
		return e.FieldText(event.FieldNever) == "true"
	case event.KindFact:
		return node.Shortage(e) == ""
	case event.KindHardwareError:
		return e.FieldText(event.FieldCorrected) == "true"
	case event.KindLinkDown: // a socket without a cable has no link either
		return e.FieldText(event.FieldWhat) == "port"
	}
	return slices.Contains(routineKinds, e.Kind)
}

// isRefusedProbe says that the runtime refused to enter a container which has stopped. A whole log
// has such lines on every node, of a container that ends while it is probed. Somebody who copied
// one met it for longer.
func isRefusedProbe(e *event.Event) bool {
	failure := e.FieldText(event.FieldError)
	return e.Kind == event.KindCRIError && e.FieldText(event.FieldMethod) == "ExecSync" &&
		strings.Contains(failure, "cannot exec ") && strings.Contains(failure, "stopped")
}

// asksForDeleted says that a call asked for a container or a sandbox that the runtime had deleted:
// it answered at once. The kubelet asks so about each one that it has just had removed.
func asksForDeleted(e *event.Event) bool {
	return slices.Contains(callsAboutOne, e.FieldText(event.FieldMethod)) && slices.ContainsFunc(notThere, func(text string) bool {
		return strings.Contains(e.FieldText(event.FieldError), text)
	})
}

// callsAboutOne are the calls about a container or a sandbox that may be gone.
var callsAboutOne = []string{"ContainerStatus", "PodSandboxStatus", "RemoveContainer", "RemovePodSandbox", "ContainerStats"}

// notThere are the words of containerd, of CRI-O, and of dockerd below dockershim or cri-dockerd.
var notThere = []string{"code = NotFound", "could not find container", "could not find sandbox", "could not find pod", "No such container"}

// isCrowd says that many threads of a program were seen alike in each look, by their mean.
func isCrowd(e *event.Event) bool {
	all, _ := e.Get(event.FieldSamples)
	looks, _ := e.Get(event.FieldScans)
	n, _ := all.Number()
	scans, counted := looks.Number()
	return counted && scans > 0 && n >= crowd*scans
}

// crowd is a number of threads that do not stand in state D by chance, whatever they wait for.
const crowd = 16

// isLateRunc says that a runc is alive that ends within a second where nothing holds it up: one
// that was asked to run in the foreground lives as long as its program.
func isLateRunc(e *event.Event) bool {
	v, known := e.Get(event.FieldAge)
	age, _ := v.Number()
	verb := e.FieldText(event.FieldVerb)
	return known && age >= lateRunc.Seconds() && e.Component == "runc" &&
		(slices.Contains(briefVerbs, verb) || verb == "exec" && strings.Contains(e.FieldText(event.FieldArgs), "--detach"))
}

// briefVerbs are runc's commands that end at once; lateRunc is an age at which one of them hangs.
var briefVerbs = []string{"create", "start", "delete", "kill", "update", "pause", "resume", "state", "init"}

const lateRunc = 10 * time.Minute

// waitsFor says whether a goroutine has waited for so long.
func waitsFor(e *event.Event, least time.Duration) bool {
	v, ok := e.Get(event.FieldWait)
	seconds, number := v.Number()
	return ok && number && seconds >= least.Seconds()
}

// takesCPU says that a process takes a whole CPU.
func takesCPU(e *event.Event) bool {
	v, ok := e.Get(event.FieldCPUPercent)
	percent, number := v.Number()
	return ok && number && percent >= busyPercent
}

// isBusyDaemon says that PID 1, the kubelet or a runtime takes a whole CPU, or a program that has
// ended, and has a thread that does not.
func isBusyDaemon(e *event.Event) bool {
	ended := strings.HasPrefix(e.FieldText(event.FieldState), "Z")
	return (e.IDs.PID == 1 || e.Component == "kubelet" || node.IsRuntime(e.Component) || ended) && takesCPU(e)
}

// isFull says whether a percentage has reached what leaves no room to work.
func isFull(e *event.Event, key event.Key) bool {
	v, _ := e.Get(key)
	percent, _ := v.Number()
	return percent >= fullPercent
}

// quoteSigns says the signs in one sentence.
func quoteSigns(signs []Sign) string {
	var said []string
	for _, s := range signs {
		text := clipSign(s.Text)
		if s.Count > 1 {
			text += fmt.Sprintf(" (%d×)", s.Count)
		}
		said = append(said, text)
	}
	return strings.Join(said, "; ")
}

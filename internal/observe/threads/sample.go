// Package threads turns samples of threads, files of threads in /proc, and stacks in the kernel's
// log into events: which thread was in which call from when to when.
package threads

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/kernelwait"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// Samples joins samples of one thread in one call, scan after scan, to an interval. A sample says
// that something was so at one moment; a run of them, that it most likely was so in between: at
// least from the first to the last, at most one scan more at either end.
type Samples struct {
	// Single tells of what was seen once, too, as somebody makes such dumps because
	// something hangs. A sampler sees a thread on the disk by chance.
	Single bool

	picked bool // there is one thread only: somebody picked it, whatever it is in

	runs map[int]*run // by thread
	born map[int]bool // processes of daemons whose start was told
	// children are the processes that were seen while PID 1 waits for one.
	children map[int]waitingChild
	now      event.Time // of the current scan
	scan     int        // its number
	pause    time.Duration
	cut      bool         // the scan's end was not seen, so that what is not in it may exist
	rows     []rowMeaning // by their numbers
	briefs   map[briefKey]*briefRuns
}

// rowMeaning is what rows of one number mean, whatever their time.
type rowMeaning struct {
	known, telling bool
	function       string // see functionOf; empty for one that is not telling
}

// run is a thread that is in one call for some scans.
type run struct {
	first, last  samples.Sample
	stack, wchan string        // the last that could be read
	frames       []event.Quote // of stack
	scan         int           // of last
	count        int
	function     string // in which it waits, of first
	moved        bool   // a later sample shows it in another one
}

// NewSamples starts with no thread seen.
func NewSamples() *Samples { return &Samples{runs: map[int]*run{}} }

// slowRun is the least interval that is told; the incidents are about minutes.
const slowRun = time.Second

// longestPause is the longest that two scans may lie apart for a thread to count as unmoved.
const longestPause = 2 * time.Minute

// maxRuns bounds the threads that are followed; a large node has some 10 000.
const maxRuns = 1 << 16

// Sample takes the next sample and appends the intervals that it ends.
func (t *Samples) Sample(dst []event.Event, s *samples.Sample) []event.Event {
	switch {
	case s.Disk != nil:
		return append(dst, slowDisk(s)...)
	case s.Count > 0:
		return append(dst, summedEvent(s)...)
	case s.Walk == samples.WalkEnd:
		t.cut = false
		return dst
	case s.Time.IsZero():
		if all, died := appendDeath(dst, s); died {
			return all
		}
		if t.Single && s.TID != 0 && (isTellingOnce(s) || t.picked && s.Stack != "") {
			dst = append(dst, momentEvent(s))
		}
		return dst
	case s.Ended:
		if e, ok := endedEvent(s); ok {
			dst = append(dst, e)
		}
		return dst
	}
	dst = t.startScan(dst, s.Time)
	if s.Walk == samples.WalkBegin {
		t.cut = true
	}
	if s.TID == 0 {
		return dst
	}
	dst = t.appendBirth(dst, s)
	t.noteChild(s)
	r := t.runs[s.TID]
	if r != nil && !r.isContinuedBy(s, t.scan) {
		dst = t.endRun(dst, r, false)
		delete(t.runs, s.TID)
		r = nil
	}
	meaning := t.meaningOf(s)
	if !meaning.telling {
		return dst
	}
	if r == nil {
		if len(t.runs) >= maxRuns {
			return dst
		}
		r = &run{first: s.Clone(), function: meaning.function}
		t.runs[s.TID] = r
	}
	if !r.moved && (s.Stack != r.last.Stack || s.WChan != r.last.WChan) {
		r.moved = meaning.function != r.function
	}
	if s.Stack != "" {
		r.stack, r.frames = s.Stack, s.Frames
	}
	r.setLast(s)
	r.scan, r.wchan = t.scan, cmp.Or(s.WChan, r.wchan)
	r.count++
	return dst
}

// appendBirth tells when the process of a daemon began.
func (t *Samples) appendBirth(dst []event.Event, s *samples.Sample) []event.Event {
	if !s.Started.Known || s.TID != s.PID || t.born[s.PID] {
		return dst
	}
	name := daemon.Named(s.Exe)
	if name == "" {
		return dst
	}
	if t.born == nil {
		t.born = map[int]bool{}
	}
	t.born[s.PID] = true
	fields := []event.Field{event.FieldDaemon.Text(name)}
	if scan.FindID(s.Cgroup) == "" { // one in a container is not the node's
		fields = append(fields, event.FieldAge.Duration(s.Time.T.Sub(s.Started.T)))
		if unit := path.Base(s.Cgroup); daemon.OfUnit(unit) == name {
			fields = append(fields, event.FieldUnit.Text(unit))
		}
	}
	e := event.Event{
		Kind: event.KindDaemonStart, Component: name, Source: "samples", Start: s.Started, End: s.Started,
		IDs:    event.IDs{PID: s.PID},
		Fields: fields, Text: fmt.Sprintf("%s, PID %d, has run since then", name, s.PID),
		Evidence: []event.Quote{s.Quote()},
	}
	return append(dst, e)
}

// startScan moves on to the scan of a new time; all rows of a scan carry one. A
// time that runs backwards (a change of zone) or stands still for long ends all runs.
func (t *Samples) startScan(dst []event.Event, now event.Time) []event.Event {
	if t.now.Known && now.T.Equal(t.now.T) {
		return dst
	}
	if t.now.Known {
		step := now.T.Sub(t.now.T)
		if step > 0 && (t.pause == 0 || step < t.pause) {
			t.pause = step
		}
		if step < 0 || step > longestPause || step > max(2*t.pause+t.pause/2, time.Second) {
			dst = t.endRuns(dst, false)
		}
	}
	t.now = now
	t.scan++
	return dst
}

// meaningOf is what a row means. It is found out once of rows that are the same.
func (t *Samples) meaningOf(s *samples.Sample) rowMeaning {
	if s.Row < len(t.rows) && t.rows[s.Row].known {
		return t.rows[s.Row]
	}
	m := rowMeaning{known: true, telling: isTelling(s)}
	if m.telling {
		m.function = functionOf(s)
	}
	if s.Row > 0 {
		t.rows = append(t.rows, make([]rowMeaning, max(0, s.Row+1-len(t.rows)))...)
		t.rows[s.Row] = m
	}
	return m
}

// isTelling leaves out what a thread with nothing to do is in. In state D anything tells, and so
// does that a thread is stopped.
func isTelling(s *samples.Sample) bool {
	return heldState(s.State) != "" || s.Syscall != "" && s.State != "R" && kernelwait.Calls[s.Syscall] || standsIn(s) || initWaits(s) ||
		s.State == "" && s.Part && isTellingOnce(s) // a stack that somebody printed, below a date
}

// heldState is the state of a thread that does nothing whatever comes: D in the kernel, T stopped
// by a signal, t by a debugger. Empty for all other states.
func heldState(state string) string {
	if state == "D" || state == "T" || state == "t" {
		return state
	}
	return ""
}

// standsIn says that a thread sleeps where nobody waits who has nothing to do.
func standsIn(s *samples.Sample) bool {
	if s.State != "S" {
		return false
	}
	if isFrozen(s) { // what runs in a container may be paused on purpose
		return scan.FindID(s.Cgroup) == ""
	}
	waits, _ := kernelwait.Of(s.Stack, s.WChan)
	return kernelwait.IsNotable(waits)
}

// isFrozen says that a thread is in the freezer of cgroup v2, do_freezer_trap. Compilers put it
// into get_signal, where nothing else sleeps in state S.
func isFrozen(s *samples.Sample) bool {
	if s.State != "S" {
		return false
	}
	at := s.WChan
	if stack := strings.TrimRight(s.Stack, " "); stack != "" {
		at = stack[strings.LastIndexByte(stack, ' ')+1:]
	}
	return at == "get_signal" || at == "do_freezer_trap"
}

// waitOf is what a thread waits for in the kernel, and the function that tells.
func waitOf(s *samples.Sample) (waits, function string) {
	if isFrozen(s) {
		return "freezer", "do_freezer_trap"
	}
	return kernelwait.Of(s.Stack, s.WChan)
}

// functionOf is the function of the kernel in which a thread waits: the one that shows for what,
// else the innermost that is not the scheduler's. Empty where neither stack nor wchan is known.
func functionOf(s *samples.Sample) string {
	if waits, function := waitOf(s); waits != "" {
		return function
	}
	functions := strings.Fields(s.Stack)
	for _, function := range slices.Backward(functions) {
		if !slices.Contains(schedulerFrames, function) && !isLockFrame(function) {
			return function
		}
	}
	return s.WChan
}

// isLockFrame says that a function waits for a lock or an event, whichever it is: its caller tells
// more.
func isLockFrame(function string) bool {
	return slices.ContainsFunc(lockFrames, func(start string) bool { return strings.HasPrefix(function, start) })
}

// lockFrames are the starts of such functions: kernel/locking, kernel/sched/completion.c and
// wait_bit.c.
var lockFrames = []string{
	"down_read", "down_write", "__down", "down_killable", "down_interruptible", "rwsem_down_", "percpu_down_", "percpu_rwsem_wait", "__percpu_down_",
	"mutex_lock", "__mutex_lock", "ww_mutex_", "rt_mutex_", "wait_for_completion", "__wait_for_common", "do_wait_for_common", "out_of_line_wait_", "__wait_on_bit", "prepare_to_wait",
}

// isTellingOnce leaves out of threads that were seen once what they are in all day: most sleep in a
// call that waits for others.
func isTellingOnce(s *samples.Sample) bool {
	switch s.State {
	case "D":
		return true
	case "", "S":
		return isNetlink(s) || standsIn(s) || s.State == "" && hasTellingStack(s)
	}
	return false
}

// hasTellingStack says that a stack of unknown state, or where there is none a wait channel, shows
// a wait that no idle thread is in.
func hasTellingStack(s *samples.Sample) bool {
	if waits, _ := kernelwait.Of("", s.WChan); s.Stack == "" && waits != "" {
		return waits != kernelwait.Pipe && waits != kernelwait.Socket
	}
	waits, _ := kernelwait.Of(s.Stack, "")
	return waits != "" && waits != kernelwait.Pipe || slices.ContainsFunc(
		strings.Fields(s.Stack), func(f string) bool { return slices.Contains(tellingFrames, f) },
	)
}

// useUnsureFrames takes the frames that the kernel marked with a question mark for true ones where
// the others neither tell what the thread waits for nor reach to where it came into the kernel:
// a kernel without frame pointers, up to 4.13, marks all. With the way to the bottom known, such
// frames are left over from other calls.
func useUnsureFrames(s *samples.Sample) {
	if s.UnsureStack == "" {
		return
	}
	outermost, _, _ := strings.Cut(s.Stack, " ")
	waits, _ := kernelwait.Of(s.Stack, "")
	if waits != "" || kernel.IsStackBottom(outermost) {
		return
	}
	if waits, _ = kernelwait.Of(s.UnsureStack, ""); waits != "" || s.Stack == "" {
		s.Stack, s.Frames, s.Unsure = s.UnsureStack, s.UnsureFrames, true
	}
}

func isNetlink(s *samples.Sample) bool {
	return strings.HasPrefix(s.Target, "NETLINK") || strings.Contains(s.Stack, "netlink_recvmsg")
}

// tellingFrames are functions of the kernel whose line is worth a quote.
var tellingFrames = []string{
	"ovl_sync_fs", "iterate_supers", "sync_inodes_sb", "cleanup_mnt", "deactivate_locked_super",
	"netlink_recvmsg",
}

// schedulerFrames are what every stack of a sleeping task ends in, which tells nothing.
var schedulerFrames = []string{
	"__switch_to", "context_switch", "__schedule", "schedule", "schedule_timeout", "schedule_preempt_disabled",
	"io_schedule",
}

// setLast makes a sample the last one. Its line is copied to where that of the one before was.
func (r *run) setLast(s *samples.Sample) {
	line := append(r.last.Raw[:0], s.Raw...)
	r.last = *s
	r.last.Raw = line
}

// isContinuedBy says whether the thread is still in the same call.
func (r *run) isContinuedBy(s *samples.Sample, scan int) bool {
	if s.Syscall != r.last.Syscall || s.HasNumber != r.last.HasNumber || s.Number != r.last.Number ||
		heldState(s.State) != heldState(r.last.State) || s.Comm != r.last.Comm {
		return false
	}
	if s.Seq != 0 && r.last.Seq != 0 && s.HasAge && r.last.HasAge { // calls are numbered
		return s.Seq == r.last.Seq
	}
	return scan-r.scan <= 1
}

// endRun makes the event of a run; atEnd says that the last scan still holds it.
func (t *Samples) endRun(dst []event.Event, r *run, atEnd bool) []event.Event {
	s := &r.first
	s.Stack, s.Frames, s.WChan = r.stack, r.frames, r.wchan
	if r.count == 1 && !s.HasAge && (t.Single || t.scan == 1) {
		if isTellingOnce(s) {
			dst = append(dst, momentEvent(s))
		}
		return dst
	}
	from := s.Time
	if s.HasAge {
		from = from.Add(-s.Age)
	}
	length := r.last.Time.T.Sub(from.T)
	if length < slowRun {
		return dst
	}
	if atEnd || r.count == t.scan {
		return append(dst, t.runEvent(r, from, atEnd))
	}
	briefs := t.briefsOf(s, r.function, length)
	switch {
	case briefs == nil:
		return append(dst, t.runEvent(r, from, atEnd))
	case briefs.countsRun(from.T, length):
		return dst
	}
	e := t.runEvent(r, from, atEnd)
	return briefs.addRun(dst, &e)
}

// runEvent is the event of a run from a time on.
func (t *Samples) runEvent(r *run, from event.Time, atEnd bool) event.Event {
	s := &r.first
	e := sampleEvent(s)
	e.Start, e.End, e.Open, e.Begun = from, r.last.Time, atEnd, !s.HasAge
	most := r.last.Time.T.Sub(from.T) + t.pause
	if !s.HasAge {
		most += t.pause
	}
	e.AddFields(
		event.FieldSamples.Int(r.count), event.FieldMost.Duration(most), event.FieldEvery.Duration(t.pause),
		event.FieldReturned.Bool(!atEnd),
	)
	if waiting := s.State == "D" || s.State == "S" || s.State == "" && s.Stack != ""; waiting && r.count == t.scan && r.count >= leastScans && !r.moved && r.function != "" {
		e.AddFields(event.FieldUnmoved.Bool(true))
		if _, named := e.Get(event.FieldFunction); !named {
			e.AddFields(event.FieldFunction.Text(r.function))
		}
	}
	e.Text += ", seen " + strconv.Itoa(r.count) + " times in a row"
	t.addChild(&e, &r.last)
	if r.count > 1 {
		e.Evidence = slices.Insert(e.Evidence, 1, r.last.Quote())
	}
	return e
}

// leastScans is how many samples show that a thread does not move.
const leastScans = 3

// sampleEvent is what the events of all samples have in common.
func sampleEvent(s *samples.Sample) event.Event {
	e := event.Event{Kind: event.KindThreadSample, Component: writerOf(s), Source: SourceSamples}
	e.IDs.TID, e.IDs.PID, e.IDs.Container = s.TID, s.PID, scan.FindID(s.Target)
	if s.TID == 1 { // the kernel names threads alone, but this one is systemd's process
		e.IDs.PID = 1
	}
	if e.IDs.Container == "" && e.Component != "shim" { // a shim may run in the cgroup of its sandbox
		e.IDs.Container = scan.FindID(s.Cgroup)
	}
	comm := s.Comm
	if comm == "" && e.Component == "systemd" {
		comm = "systemd"
	}
	e.Fields = []event.Field{
		event.FieldName.Text(s.Syscall), event.FieldState.Text(s.State), event.FieldComm.Text(comm),
		event.FieldExe.Text(s.Exe), event.FieldKernel.Bool(s.Kernel),
		event.FieldNetlink.Bool(isNetlink(s)), event.FieldTarget.Text(s.Target), event.FieldWchan.Text(s.WChan),
		event.FieldStack.Text(s.Stack),
	}
	if waits, function := waitOf(s); waits != "" && s.State != "R" {
		e.AddFields(event.FieldWaits.Text(waits))
		if kernelwait.IsNamed(waits) {
			e.AddFields(event.FieldFunction.Text(function))
		}
	}
	if s.Unsure {
		e.AddFields(event.FieldUnsure.Bool(true))
	}
	for _, f := range [...]event.Field{
		event.FieldCgroup.Text(s.Cgroup), event.FieldArgs.Text(s.Args), event.FieldMachine.Text(s.Machine),
	} {
		if f.Value.Text() != "" {
			e.AddFields(f)
		}
	}
	in := cmp.Or(s.Syscall, s.WChan, functionOf(s), "the kernel")
	if waits, function := waitOf(s); waits != "" && s.Syscall != "" && s.State != "R" {
		in = function + " (" + s.Syscall + ")"
	}
	if s.HasNumber {
		e.AddFields(event.FieldNumber.Int(s.Number))
		if s.Syscall == "" {
			in = "system call " + strconv.Itoa(s.Number) + " of a machine that is not known"
		}
	}
	for _, id := range [...]struct {
		key  event.Key
		base int
		id   uint64
	}{{event.FieldStackID, 16, s.StackID}, {event.FieldCgroupID, 10, s.CgroupID}, {event.FieldCallID, 10, s.Seq}} {
		if id.id != 0 {
			e.AddFields(id.key.Text(strconv.FormatUint(id.id, id.base)))
		}
	}
	e.Text = threadName(s) + ", in " + in
	if s.State != "" {
		e.Text += ", state " + s.State
	}
	e.Evidence = slices.Concat([]event.Quote{s.Quote()}, tellingLines(s), s.More)
	return e
}

// threadName is a thread in a sentence: its name, and its id, where they are known.
func threadName(s *samples.Sample) string {
	switch {
	case s.TID == 0:
		return cmp.Or(s.Comm, "a thread")
	case s.Comm == "" && s.TID == 1:
		return "PID 1"
	case s.Comm == "":
		return "thread " + strconv.Itoa(s.TID)
	}
	return s.Comm + ", thread " + strconv.Itoa(s.TID)
}

// tellingLines are the lines of a stack that are worth a quote: what the thread waits in, and what
// tells why.
func tellingLines(s *samples.Sample) (lines []event.Quote) {
	if len(s.Frames) == 0 {
		return nil
	}
	functions := strings.Fields(s.Stack)
	in := len(functions) - 1 // what it waits in
	for in > 0 && slices.Contains(schedulerFrames, functions[in]) {
		in--
	}
	_, by := kernelwait.Of(s.Stack, "")
	for i, q := range slices.Backward(s.Frames) {
		if i == in || functions[i] == by || slices.Contains(tellingFrames, functions[i]) {
			if q != s.Quote() {
				lines = append(lines, q)
			}
		}
	}
	return lines
}

// momentEvent is a thread that was seen once.
func momentEvent(s *samples.Sample) event.Event {
	e := sampleEvent(s)
	e.Start, e.Begun = s.Time, !s.Time.IsZero() // it was in there before
	e.AddFields(event.FieldSamples.Int(1))
	return e
}

// endedEvent is a call that xcapture 3 saw return. It never sees umount2 return
// late: that call syncs after the kernel's sys_exit, so that its absence tells nothing.
func endedEvent(s *samples.Sample) (event.Event, bool) {
	if !s.HasAge || s.Age < slowRun || !kernelwait.Calls[s.Syscall] {
		return event.Event{}, false
	}
	e := sampleEvent(s)
	e.Source = SourceEnded
	e.Text = s.Syscall + " in thread " + strconv.Itoa(s.TID)
	e.Start, e.End = s.Time, s.Time.Add(s.Age)
	e.AddFields(event.FieldReturned.Bool(true))
	return e, true
}

// summedEvent is a row of a report that sums samples up, and tells neither thread nor time.
func summedEvent(s *samples.Sample) []event.Event {
	if !isTelling(s) {
		return nil
	}
	e := sampleEvent(s)
	e.Source = SourceSummary
	e.AddFields(event.FieldSamples.Int(s.Count), event.FieldScans.Int(s.Scans))
	e.Text = fmt.Sprintf("%s in %s, state %s, in %d samples of %d scans",
		s.Comm, cmp.Or(s.Syscall, s.WChan, "the kernel"), s.State, s.Count, s.Scans)
	return []event.Event{e}
}

// slowDisk is a request that a disk took long for.
func slowDisk(s *samples.Sample) []event.Event {
	d := s.Disk
	took := d.Queued + d.Service
	if took < slowRun || s.Time.IsZero() {
		return nil
	}
	e := event.Event{
		Kind: event.KindDiskRequest, Component: "kernel", Source: SourceEnded, Start: s.Time.Add(-d.Queued),
		End: s.Time.Add(d.Service),
	}
	e.IDs.TID, e.IDs.PID = d.TID, d.PID
	e.Fields = []event.Field{
		event.FieldDevice.Text(d.Device), event.FieldFlags.Text(d.Flags),
		event.FieldBytes.Number(float64(d.Bytes)),
		event.FieldError.Int(d.Error),
		event.FieldQueued.Duration(d.Queued),
		event.FieldService.Duration(d.Service),
	}
	e.Text = "disk " + d.Device + " works on " + strconv.FormatInt(d.Bytes, 10) + " bytes (" + d.Flags + ")"
	e.Evidence = []event.Quote{s.Quote()}
	return []event.Event{e}
}

// The kinds of inputs with threads in them, as rules name sources. They differ in
// what their silence means: nothing, but where a sampler looked at all threads.
const (
	// SourceSamples are scans over all threads on the processor or in state D, or more.
	SourceSamples = "samples"
	// SourceSleepers is the same input once more, where the scans hold sleeping threads too.
	SourceSleepers = "samples.sleeping"
	// SourceEnded are calls and requests that have ended, as xcapture 3 saw them; umount2 is never
	// among them.
	SourceEnded = "samples.ended"
	// SourceSummary is a report that sums samples up.
	SourceSummary = "samples.summary"
	// SourceThreads are files of single threads out of /proc.
	SourceThreads = "samples.proc"
)

// writerOf names the component that a thread belongs to; the kernel cuts names at 15 bytes.
func writerOf(s *samples.Sample) string {
	if s.Kernel {
		return "kernel"
	}
	if s.Comm == "" && s.TID == 1 && scan.FindID(s.Cgroup) == "" { // cat /proc/1/stack
		return "systemd"
	}
	if s.Comm == "exe" { // runc, or a runtime, that started itself again as /proc/self/exe
		return "runc"
	}
	component := daemon.OfProcess(s.Comm)
	if component == "" || strings.Contains(s.Cgroup, "kubepods") && (component == "dockerd" || component == "containerd") {
		return "process" // also a docker inside a pod
	}
	return component
}

// Finish appends the intervals that reach to the end.
func (t *Samples) Finish(dst []event.Event) []event.Event {
	return t.appendBriefs(t.endRuns(dst, true))
}

func (t *Samples) endRuns(dst []event.Event, atEnd bool) []event.Event {
	var left []*run
	for _, r := range t.runs {
		left = append(left, r)
	}
	slices.SortFunc(left, func(a, b *run) int {
		return cmp.Or(
			cmp.Compare(a.first.Pos.Line, b.first.Pos.Line), cmp.Compare(a.first.Pos.File, b.first.Pos.File),
			cmp.Compare(a.first.TID, b.first.TID),
		)
	})
	for _, r := range left {
		dst = t.endRun(dst, r, atEnd && (r.scan == t.scan || t.cut && r.scan == t.scan-1))
	}
	clear(t.runs)
	return dst
}

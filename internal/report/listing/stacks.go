// Package listing shows goroutine dumps, traces of system calls and kinds of events as they are,
// without an incident: what the commands stacks, syscalls and rules events print, for people and
// for programs.
package listing

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/goversion"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
)

// text lays out what is listed.
type text struct{ *show.Text }

func newText(w *bufio.Writer, o show.Options) text { return text{show.NewText(w, o)} }

// Stacks is goroutine dumps as the command stacks shows them.
type Stacks struct {
	Dumps []Dump
	// Diffs are there when dumps are compared: one for each process of which there are several.
	Diffs []Diff
}

// Dump is one dump with its graph.
type Dump struct {
	*incident.Dump
	Graph stackdump.Graph
	// Filtered says that only some goroutines are to be shown: those in Shown, by
	// index, and the locks that they want or hold.
	Filtered bool
	Shown    []int
}

// Diff is what became of the goroutines of one process.
type Diff struct {
	Program string
	Dumps   []int // indexes of Stacks.Dumps, in the order in which they were taken
	series.Diff
}

// shown is the dump as far as the filters let it through.
func (d *Dump) shown() *stackdump.Dump {
	if !d.Filtered {
		return d.Dump.Dump
	}
	part := &stackdump.Dump{File: d.File, Profile: d.Profile}
	for _, i := range d.Shown {
		part.Goroutines = append(part.Goroutines, d.Goroutines[i])
	}
	return part
}

// wants says whether the filters let a lock or a queue through whose goroutines these are.
func (d *Dump) wants(goroutines []int) bool {
	return !d.Filtered || slices.ContainsFunc(goroutines, func(g int) bool {
		_, shown := slices.BinarySearch(d.Shown, g)
		return shown
	})
}

// lockGoroutines are the goroutines that have to do with a lock.
func lockGoroutines(l *stackdump.Lock) []int {
	return append(waiterIndexes(l.Waiters), holderIndexes(l.Holders)...)
}

func holderIndexes(held []stackdump.Holder) []int {
	return show.Rows(held, func(h *stackdump.Holder) int { return h.Goroutine })
}

// waiterIndexes are the goroutines that wait, by index.
func waiterIndexes(ws []stackdump.Waiter) []int {
	return show.Rows(ws, func(w *stackdump.Waiter) int { return w.Goroutine })
}

// count is how many goroutines are meant by indexes: an entry of a profile stands for many.
func (d *Dump) count(goroutines []int) int {
	n := 0
	for _, i := range goroutines {
		n += 1 + d.Goroutines[i].Alike
	}
	return n
}

func (d *Dump) longest(goroutines []int) (wait time.Duration) {
	for _, i := range goroutines {
		wait = max(wait, d.Goroutines[i].Wait)
	}
	return wait
}

// maxIDs bounds the goroutines of which the numbers are listed.
const maxIDs = 20

// idList names goroutines by their numbers.
func (d *Dump) idList(goroutines []int, separator string) string {
	return show.JoinFirst(show.Rows(goroutines, func(g *int) string { return d.id(*g) }), maxIDs, separator)
}

func (d *Dump) id(g int) string {
	if d.Goroutines[g].ID == 0 && !strings.HasPrefix(d.Goroutines[g].Header, "goroutine 0 ") {
		return "(without id)"
	}
	return strconv.FormatUint(d.Goroutines[g].ID, 10)
}

// StacksText writes dumps for people: what holds whom first, then what the rest
// does. When dumps are compared, it writes the comparison only.
func StacksText(w io.Writer, s *Stacks, o show.Options) error {
	out := bufio.NewWriter(w)
	t := newText(out, o)
	for i := range s.Diffs {
		if i > 0 {
			fmt.Fprintln(out)
		}
		t.writeDiff(s, &s.Diffs[i])
	}
	for i := range s.Dumps {
		if len(s.Diffs) > 0 {
			break
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		t.writeDump(&s.Dumps[i])
	}
	return out.Flush()
}

func (t text) writeDump(d *Dump) {
	t.WritePara("", t.Styles.Heading, dumpHeadline(d))
	if !d.Filtered {
		t.WritePara("", t.Plain, summaryText(d))
	}
	if d.Crash.Text != "" {
		t.WriteQuotes([]event.Quote{d.Crash}, 1)
	}
	if n := len(d.Fragments); n > 0 {
		left := show.Plural(n, "fragment") + " of it, cut by a log, left out: " + placesOf(d.Fragments)
		t.WritePara("", t.Plain, left)
	}
	t.writeDeadlocks(d)
	t.writeLocks(d)
	t.writeQueues(d)
	t.WriteHeading("GROUPS (goroutines with one stack)")
	t.writeGroups(d.shown())
}

// placesOf names the files of places, each with its lines.
func placesOf(all []event.Pos) string {
	var files []string
	lines := map[string][]string{}
	for _, p := range all {
		if lines[p.File] == nil {
			files = append(files, p.File)
		}
		lines[p.File] = append(lines[p.File], strconv.Itoa(p.Line))
	}
	for i, file := range files {
		files[i] = file + ":" + strings.Join(lines[file], ",")
	}
	return strings.Join(files, "; ")
}

// summaryText says in a sentence what a dump shows: a deadlock, else the lock that most wait for,
// else that nobody does.
func summaryText(d *Dump) string {
	if n := len(d.Graph.Cycles); n > 0 {
		observed := 0
		for _, c := range d.Graph.Cycles {
			if c.Certainty == stackdump.Observed {
				observed++
			}
		}
		how := stackdump.Observed
		switch observed {
		case n:
		case 0:
			how = stackdump.Inferred
		default:
			how = fmt.Sprintf("%d observed, %d inferred", observed, n-observed)
		}
		return show.Plural(n, "deadlock") + " (" + how + "): goroutines that wait for each other's locks, forever."
	}
	waiters := 0
	for i := range d.Graph.Locks {
		l, c := &d.Graph.Locks[i], &d.Graph.Chains[i]
		ws := waiterIndexes(l.Waiters)
		if waiters += d.count(ws); len(l.Holders) == 0 {
			continue
		}
		s := show.Plural(d.count(ws), "goroutine")
		if longest := d.longest(ws); longest > 0 {
			s += " (" + minutesText(longest) + ")"
		}
		return s + " waiting for the " + objectName(l.Type, "", l.Owner) + ", which " + holdersText(d, l) +
			"; it all ends in " + endText(d, c) + "."
	}
	switch {
	case waiters > 0:
		return show.Plural(waiters, "goroutine") + " waiting for locks; the dump does not show who holds them."
	case d.Profile:
		return "No goroutine waits for a lock. A profile shows neither waits nor addresses: " +
			"a dump (debug=2, SIGUSR1) shows more."
	}
	return "No goroutine waits for a lock."
}

// holderList names the goroutines that hold a lock: "goroutine 12", "readers 13 14".
func holderList(d *Dump, held []stackdump.Holder) string {
	ids := holderIndexes(held)
	if len(held) > 1 {
		return "readers " + d.idList(ids, " ")
	}
	return "goroutine " + d.idList(ids, " ")
}

// holdersText says who holds a lock, and how surely.
func holdersText(d *Dump, l *stackdump.Lock) string {
	verb := "holds"
	if len(l.Holders) > 1 {
		verb = "hold"
	}
	if slices.ContainsFunc(l.Holders, func(h stackdump.Holder) bool { return h.Certainty != stackdump.Observed }) {
		verb = "probably " + verb
	}
	return holderList(d, l.Holders) + " " + verb
}

// objectName is what goroutines wait for: "sync.Mutex 0xc000130f80 of container.(*State)".
func objectName(kind, address, owner string) string {
	name := strings.TrimSpace(kind + " " + address)
	if owner != "" {
		name += " of " + owner
	}
	return name
}

// dumpHeadline says whose dump it is, where it stands and how much of it was understood.
func dumpHeadline(d *Dump) string {
	words := append(processWords(d), show.Plural(d.Count(), "goroutine"))
	if d.Filtered {
		words = append(words, fmt.Sprintf("%d shown", d.count(d.Shown)))
	}
	if d.Lost > 0 {
		words = append(words, fmt.Sprintf("%d not readable", d.Lost))
	}
	if d.Skipped > 0 {
		words = append(words, show.Plural(d.Skipped, "line")+" skipped")
	}
	if version := goversion.Find(d.Dump.Dump).String(); version != "" {
		words = append(words, version)
	}
	if !d.At.IsZero() {
		words = append(words, "written "+asWritten(d.At, time.TimeOnly))
	}
	if d.Gaps > 0 {
		words = append(words, "journald suppressed "+show.Plural(d.Suppressed, "line")+" of it: goroutines are missing")
	} else if d.Missing > 0 {
		words = append(words, fmt.Sprintf("incomplete: %d of %d goroutines are missing", d.Missing, d.Missing+d.Count()))
	} else if d.Incomplete {
		words = append(words, "incomplete: goroutines are missing")
	}
	return d.Pos().String() + ": " + strings.Join(words, ", ")
}

// processWords say which process it is, as far as that is known.
func processWords(d *Dump) (words []string) {
	switch {
	case d.Program != "":
		words = append(words, d.Program)
	case d.Unit != "":
		words = append(words, d.Unit)
	}
	if d.PID != 0 {
		words = append(words, "pid "+strconv.Itoa(d.PID))
	}
	return words
}

// asWritten is a time in the parts that its writer gave; clock is the layout of the time of day.
func asWritten(t event.Time, clock string) string {
	switch {
	case t.Lacks&event.LacksDate != 0:
		return t.T.Format(clock)
	case t.Lacks&event.LacksYear != 0:
		return t.T.Format("01-02 " + clock)
	case t.Lacks&event.LacksZone != 0:
		return t.T.Format(time.DateOnly + " " + clock)
	}
	return t.T.UTC().Format(time.DateOnly+" "+clock) + " UTC"
}

func (t text) writeDeadlocks(d *Dump) {
	for _, c := range d.Graph.Cycles {
		if !d.wants(c.Goroutines) {
			continue
		}
		way := d.idList(c.Goroutines, " → ") + " → " + d.id(c.Goroutines[0])
		if len(c.Goroutines) == 1 {
			way = "goroutine " + d.id(c.Goroutines[0]) + " waits for itself"
		}
		t.WriteHeading("DEADLOCK (%s): %s", c.Certainty, way)
		for _, g := range c.Goroutines {
			t.WriteQuotes([]event.Quote{headerQuote(&d.Goroutines[g])}, 1)
			l := &d.Graph.Locks[d.Graph.Wants(g)]
			t.writeWanted(d, l, slices.IndexFunc(l.Waiters, func(w stackdump.Waiter) bool { return w.Goroutine == g }))
		}
	}
}

// headerQuote is the line with which a goroutine begins.
func headerQuote(g *stackdump.Goroutine) event.Quote { return event.Quote{Pos: g.Pos, Text: g.Header} }

func (t text) writeLocks(d *Dump) {
	shown := 0
	for i := range d.Graph.Locks {
		l := &d.Graph.Locks[i]
		if !d.wants(lockGoroutines(l)) {
			continue
		}
		if shown++; shown == 1 {
			t.WriteHeading("LOCKS")
		}
		t.writeLock(d, l, &d.Graph.Chains[i])
	}
	if d.Graph.Longest < 0 {
		return
	}
	c := &d.Graph.Chains[d.Graph.Longest]
	if len(c.Goroutines) > 1 && d.wants(c.Goroutines) {
		t.WritePara("longest chain: ", t.Plain, "goroutines "+d.idList(c.Goroutines, " → ")+"; "+endText(d, c))
	}
}

func (t text) writeLock(d *Dump, l *stackdump.Lock, c *stackdump.Chain) {
	address := l.Addr
	if address != "" && !l.AddrSure {
		address += "?"
	}
	t.WritePara("", t.Critical, objectName(l.Type, address, l.Owner)+": "+waitText(d, waiterIndexes(l.Waiters)))
	if l.Addr == "" {
		t.WriteLabeled("", t.Plain, "no address is printed: these may be several locks of one kind")
	}
	for held := l.Holders; len(held) > 0; {
		n := 1
		for n < len(held) && holdAlike(d, held[0], held[n]) {
			n++
		}
		t.writeHolders(d, held[:n])
		held = held[n:]
	}
	if len(l.Holders) == 0 {
		why := "the dump does not show it"
		if d.Incomplete {
			why += "; it is incomplete"
		}
		t.WriteLabeled("holder", t.Warning, why)
	}
	if len(l.Pending) > 0 {
		writer := "writer " + d.idList(l.Pending, " ")
		t.WriteLabeled("pending", t.Plain, writer+" waits for readers to leave; later readers queue behind it")
	}
	if !d.Profile {
		t.WriteLabeled("waiting", t.Plain, waiterList(d, l))
	}
	if len(l.Holders) == 0 || l.Owner == "" { // the code that wants it says more about the lock than its address
		t.writeWanted(d, l, 0)
	}
	if len(c.Goroutines) > 0 {
		t.WriteLabeled("ends in", t.Plain, endText(d, c))
		if last := c.Goroutines[len(c.Goroutines)-1]; c.End.Frame >= 0 && !c.Cyclic {
			t.writeFrame(d, last, d.Goroutines[last].Beyond(c.End.Frame))
		}
	}
}

// writeWanted quotes the frame in which a waiter wants a lock.
func (t text) writeWanted(d *Dump, l *stackdump.Lock, waiter int) {
	if w := l.Waiters[waiter]; w.Caller >= 0 {
		t.writeFrame(d, w.Goroutine, w.Caller)
	}
}

// holdAlike says whether two holders hold the lock in the same place and for the same reason.
func holdAlike(d *Dump, a, b stackdump.Holder) bool {
	return a.Certainty == b.Certainty && a.Rule == b.Rule &&
		d.Goroutines[a.Goroutine].State == d.Goroutines[b.Goroutine].State &&
		d.Goroutines[a.Goroutine].Frames[a.Frame].Func == d.Goroutines[b.Goroutine].Frames[b.Frame].Func
}

// writeHolders tells of some that are alike, and shows the first.
func (t text) writeHolders(d *Dump, held []stackdump.Holder) {
	h, who := held[0], holderList(d, held)
	if state := d.Goroutines[h.Goroutine].State; state != "" {
		who += " [" + state + "]"
	}
	t.WriteLabeled("holder", t.Plain, who+", "+h.Certainty+": "+holderReasons[h.Rule])
	t.writeFrame(d, h.Goroutine, h.Frame)
}

// holderReasons say in words why a rule names a holder.
var holderReasons = map[string]string{
	"R1": "its frame shows the lock, or the object that it belongs to",
	"R2": "in the same function, past the lock",
	"R3": "it took the lock before and waits for itself",
	"R4": "this function is known to hold the lock while it calls out",
}

// waitText says how many wait, and how long the first of them has.
func waitText(d *Dump, waiters []int) string {
	s := fmt.Sprintf("%d waiting", d.count(waiters))
	if longest := d.longest(waiters); longest > 0 {
		s += ", longest " + minutesText(longest)
	}
	return s
}

// minutesText is a wait as the runtime prints it, which can be too long and too short by minutes.
func minutesText(d time.Duration) string {
	if d >= time.Hour {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return fmt.Sprintf("%dm", int(d.Minutes()))
}

// waiterList lists waiters by what they want.
func waiterList(d *Dump, l *stackdump.Lock) string {
	var words []string
	for _, mode := range []string{"lock", "write", "read"} {
		var some []int
		for _, w := range l.Waiters {
			if w.Mode == mode {
				some = append(some, w.Goroutine)
			}
		}
		switch {
		case len(some) == 0:
		case mode == "lock":
			words = append(words, d.idList(some, " "))
		default:
			words = append(words, "to "+mode+": "+d.idList(some, " "))
		}
	}
	return strings.Join(words, "; ")
}

// endText says what the last goroutine of a chain waits for.
func endText(d *Dump, c *stackdump.Chain) string {
	way := d.idList(c.Goroutines, " → ")
	if c.Cyclic {
		return "a deadlock: " + way + " → " + d.id(c.Goroutines[c.Back])
	}
	s := endName(c.End)
	if len(c.Goroutines) > 1 {
		s += " (by way of " + way + ")"
	}
	if c.Inferred {
		s += ", inferred"
	}
	return s
}

// endName says what a goroutine waits for that waits for no other one.
func endName(e stackdump.End) string {
	switch e.Kind {
	case "":
		return "nothing that the dump shows"
	case stackdump.RPC:
		return "the answer of another process (" + e.What + ")"
	case stackdump.Locked:
		return "a lock whose holder the dump does not show"
	case stackdump.Running:
		return "nothing: it runs"
	}
	return strings.TrimSpace(cmp.Or(endKinds[e.Kind], "a "+e.Kind) + " " + e.What)
}

// endKinds are kinds of ends in words, where these are not those of package stackdump.
var endKinds = map[string]string{
	stackdump.Child:   "the exit of a child process",
	stackdump.Syscall: "system call",
	stackdump.Ready:   "i/o",
}

// writeFrame quotes one frame. In a binary profile there is nothing to quote: its function is
// named.
func (t text) writeFrame(d *Dump, g, i int) {
	f := &d.Goroutines[g].Frames[i]
	q := event.Quote{Pos: f.Pos, Text: f.Raw}
	if q.Text == "" {
		q.Text = f.Func
	}
	t.WriteQuotes([]event.Quote{q}, 1)
}

func (t text) writeQueues(d *Dump) {
	shown := 0
	for i := range d.Graph.Queues {
		q := &d.Graph.Queues[i]
		ws := waiterIndexes(q.Waiters)
		client := strings.HasSuffix(q.Type, " client")
		if !d.wants(ws) || !client && len(ws) < 2 && len(q.Workers) == 0 && !t.Verbose {
			continue
		}
		if shown++; shown == 1 {
			t.WriteHeading("OTHER WAITS")
		}
		t.WritePara("", t.Plain, objectName(q.Type, q.Addr, q.Owner)+": "+waitText(d, ws))
		if !d.Profile {
			t.WriteLabeled("waiting", t.Plain, d.idList(ws, " "))
		}
		if len(q.Workers) > 0 {
			t.WriteLabeled("for", t.Plain, d.idList(q.Workers, " ")+" (inferred: started there)")
		}
		told := map[string]bool{}
		for _, w := range q.Waiters {
			if w.Caller < 0 {
				continue
			}
			g := &d.Goroutines[w.Goroutine]
			at := g.Beyond(w.Caller)
			if !client {
				at = w.Caller
			}
			if f := g.Frames[at].Func; !told[f] && len(told) < maxCalls {
				told[f] = true
				t.writeFrame(d, w.Goroutine, at)
			}
		}
	}
}

// maxCalls bounds the different calls shown of one client.
const maxCalls = 5

// maxFrames is how many frames of a group are shown without --all.
const maxFrames = 12

// shownGroups are goroutines by their stacks. Those that wait for work are left out and counted,
// unless all are to be shown.
func (t text) shownGroups(d *stackdump.Dump) (shown []stackdump.Group, idle int) {
	for _, g := range d.Groups() {
		if g.Idle && !t.Verbose {
			idle += g.Count
			continue
		}
		shown = append(shown, g)
	}
	return shown, idle
}

func (t text) writeGroups(d *stackdump.Dump) {
	groups, idle := t.shownGroups(d)
	for i := range groups {
		g := &groups[i]
		head := show.Plural(g.Count, "goroutine")
		if g.State != "" {
			head += " [" + g.State + "]"
		}
		if g.MaxWait > 0 {
			head += " " + minutesText(g.MaxWait)
		}
		if len(g.IDs) > 0 {
			head += ": " + groupIDs(g)
		}
		if pos := d.Goroutines[g.First].Pos; pos.Line > 0 { // of the first one
			head += ", at " + pos.String()
		}
		t.WritePara("", t.Label, head)
		t.writeFrames(g.Frames)
	}
	if idle > 0 {
		t.WritePara("", t.Plain, show.Plural(idle, "idle goroutine")+" hidden (--all shows them)")
	}
}

func groupIDs(g *stackdump.Group) string {
	const most = 10
	return show.JoinFirst(show.Rows(g.IDs, func(id *uint64) string { return strconv.FormatUint(*id, 10) }), most, " ")
}

func (t text) writeFrames(frames []stackdump.Frame) {
	left := 0
	if !t.Verbose && len(frames) > maxFrames {
		frames, left = frames[:maxFrames], len(frames)-maxFrames
	}
	for i := range frames {
		f := &frames[i]
		at := ""
		if f.File != "" {
			at = "  " + t.Position.Render(show.Escape(path.Base(f.File)+":"+strconv.Itoa(f.Line), show.MaxQuote))
		}
		fmt.Fprintf(t.W, "%s%s%s\n", show.Margin, t.Styles.Quote.Render(show.Escape(shortFunc(f), show.MaxQuote)), at)
	}
	if left > 0 {
		fmt.Fprintf(t.W, "%s(%d more frames, see --all)\n", show.Margin, left)
	}
}

// shortFunc is the name of a frame's function without the path up to a vendor directory.
func shortFunc(f *stackdump.Frame) string {
	if i := strings.LastIndex(f.Func, "/vendor/"); i >= 0 {
		return f.Func[i+len("/vendor/"):]
	}
	return f.Func
}

// writeDiff is the table of what did not move.
func (t text) writeDiff(s *Stacks, d *Diff) {
	t.WritePara("", t.Styles.Heading, fmt.Sprintf("%d DUMPS%s", len(d.Dumps), ofProgram(d)))
	for i, n := range d.Dumps {
		t.WritePara(fmt.Sprintf("%s%d  ", show.Margin, i+1), t.Plain, dumpHeadline(&s.Dumps[n]))
	}
	fmt.Fprintln(t.W)
	t.writeFateRow("FATE", "GOROUTINES", "STATE", "WHERE")
	stuck := show.Rows(d.Stuck, func(s *series.Stay) stackdump.Goroutine { return s.Goroutine })
	idle := t.writeFateRows(fateStuck, stuck)
	for i := range d.Slow {
		m := &d.Slow[i]
		if m.Was.Idle() && m.Is.Idle() && !t.Verbose {
			continue // served something in between
		}
		where := innermostFunc(m.Was.Frames) + " → " + innermostFunc(m.Is.Frames)
		t.writeFateRow("slow", strconv.FormatUint(m.Is.ID, 10), m.Is.State, where)
	}
	t.writeFateRows("finished", d.Finished)
	t.writeFateRows("new", d.New)
	if idle > 0 {
		t.WritePara("", t.Plain, show.Plural(idle, "goroutine")+" hidden that waited for work all the time (--all shows them)")
	}
}

// ofProgram is the end of a heading, which names the program; empty where it is not known.
func ofProgram(d *Diff) string {
	if d.Program == "" {
		return ""
	}
	return " OF " + d.Program
}

// writeFateRows writes rows for goroutines of one fate, and counts those that it leaves out because
// they wait for work.
func (t text) writeFateRows(fate string, all []stackdump.Goroutine) (idle int) {
	groups, idle := t.shownGroups(&stackdump.Dump{Goroutines: all})
	for i := range groups {
		g := &groups[i]
		state := g.State
		if fate == fateStuck && g.MaxWait > 0 {
			state += " " + minutesText(g.MaxWait)
		}
		t.writeFateRow(fate, groupIDs(g), state, innermostFunc(g.Frames))
	}
	return idle
}

// fateStuck is the fate of goroutines that did not move between two dumps: how long they wait
// matters.
const fateStuck = "stuck"

// writeFateRow is a line of the table; its last column takes what is left.
func (t text) writeFateRow(fate, ids, state, where string) {
	fmt.Fprint(t.W, show.Margin, show.Pad(fate, 10))
	fmt.Fprint(t.W, show.Pad(show.Escape(ids, 24), 26), show.Pad(show.Escape(state, 26), 28))
	fmt.Fprintln(t.W, show.Escape(where, show.MaxQuote))
}

// runtimePrefixes begin the names of functions that only say how a goroutine waits.
var runtimePrefixes = []string{"runtime.", "internal/", "sync.runtime_", "syscall.Syscall"}

// innermostFunc is the innermost function of a stack that is not of the runtime.
func innermostFunc(frames []stackdump.Frame) string {
	for i := range frames {
		f := &frames[i]
		if slices.ContainsFunc(runtimePrefixes, func(p string) bool { return strings.HasPrefix(f.Func, p) }) {
			continue
		}
		name := f.Func[strings.LastIndexByte(f.Func, '/')+1:]
		if f.Line > 0 {
			name += " " + path.Base(f.File) + ":" + strconv.Itoa(f.Line)
		}
		return name
	}
	return ""
}

// Package listing shows goroutine dumps and traces of system calls as they are, without an incident: what the
// commands stacks and syscalls print, for people and for programs.
package listing

import (
	"bufio"
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
	stackdump.Diff
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

// members are the goroutines that have to do with a lock.
func members(l *stackdump.Lock) (all []int) {
	all = waiting(l.Waiters)
	for _, h := range l.Holders {
		all = append(all, h.Goroutine)
	}
	return all
}

func waiting(ws []stackdump.Waiter) []int {
	all := make([]int, len(ws))
	for i, w := range ws {
		all[i] = w.Goroutine
	}
	return all
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

// ids are the numbers of goroutines, most of them left out when there are many.
func (d *Dump) ids(goroutines []int, sep string) string {
	const most = 20
	var words []string
	for i, g := range goroutines {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(goroutines)-most))
			break
		}
		words = append(words, d.id(g))
	}
	return strings.Join(words, sep)
}

func (d *Dump) id(g int) string {
	if d.Profile && d.Goroutines[g].ID == 0 {
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
	t.WritePara("", t.Styles.Heading, headline(d))
	if !d.Filtered {
		t.WritePara("", t.Plain, inShort(d))
	}
	if n := len(d.Fragments); n > 0 {
		t.WritePara("", t.Plain, fmt.Sprintf("%s of it, cut by a log, left out: %s", show.Plural(n, "fragment"), placesOf(d.Fragments)))
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

// inShort says in a sentence what a dump shows: a deadlock, else the lock that most wait for, else that nobody does.
func inShort(d *Dump) string {
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
		return show.Plural(n, "deadlock") + " (" + how + "): goroutines that wait for each other's locks, for ever."
	}
	waiters := 0
	for i := range d.Graph.Locks {
		l, c := &d.Graph.Locks[i], &d.Graph.Chains[i]
		ws := waiting(l.Waiters)
		if waiters += d.count(ws); len(l.Holders) == 0 {
			continue
		}
		s := show.Plural(d.count(ws), "goroutine")
		if longest := d.longest(ws); longest > 0 {
			s += " (" + minutes(longest) + ")"
		}
		return s + " waiting for the " + lockName(l) + ", which " + holding(d, l) + "; it all ends in " + ending(d, c) + "."
	}
	switch {
	case waiters > 0:
		return show.Plural(waiters, "goroutine") + " waiting for locks; the dump does not show who holds them."
	case d.Profile:
		return "No goroutine waits for a lock. A profile tells neither waits nor addresses: a dump (debug=2, SIGUSR1) tells more."
	}
	return "No goroutine waits for a lock."
}

// holding says who holds a lock, and how surely.
func holding(d *Dump, l *stackdump.Lock) string {
	ids, verb := make([]int, len(l.Holders)), "holds"
	sure := true
	for i, h := range l.Holders {
		ids[i] = h.Goroutine
		sure = sure && h.Certainty == stackdump.Observed
	}
	who := "goroutine " + d.ids(ids, " ")
	if len(ids) > 1 {
		who, verb = "readers "+d.ids(ids, " "), "hold"
	}
	if !sure {
		verb = "probably " + verb
	}
	return who + " " + verb
}

// lockName is the type of a lock and whose it is: "sync.Mutex of container.(*State)".
func lockName(l *stackdump.Lock) string {
	if l.Owner == "" {
		return l.Type
	}
	return l.Type + " of " + l.Owner
}

// headline says whose dump it is, where it stands and how much of it was understood.
func headline(d *Dump) string {
	words := append(whose(d), show.Plural(d.Count(), "goroutine"))
	if d.Filtered {
		words = append(words, fmt.Sprintf("%d shown", d.count(d.Shown)))
	}
	if d.Lost > 0 {
		words = append(words, fmt.Sprintf("%d not readable", d.Lost))
	}
	if d.Skipped > 0 {
		words = append(words, show.Plural(d.Skipped, "line")+" skipped")
	}
	if version := d.GoVersion().String(); version != "" {
		words = append(words, version)
	}
	if !d.At.IsZero() {
		words = append(words, "written "+written(d.At))
	}
	if d.Gaps > 0 {
		words = append(words, "journald suppressed "+show.Plural(d.Suppressed, "line")+" of it: goroutines are missing")
	}
	return d.Pos().String() + ": " + strings.Join(words, ", ")
}

// whose says which process it is, as far as that is known.
func whose(d *Dump) (words []string) {
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

// written is a time as far as it was written.
func written(t event.Time) string {
	switch {
	case t.Lacks&event.LacksDate != 0:
		return t.T.Format(time.TimeOnly)
	case t.Lacks&event.LacksYear != 0:
		return t.T.Format("01-02 15:04:05")
	case t.Lacks&event.LacksZone != 0:
		return t.T.Format(time.DateTime)
	}
	return t.T.UTC().Format(time.DateTime) + " UTC"
}

func (t text) writeDeadlocks(d *Dump) {
	for _, c := range d.Graph.Cycles {
		if !d.wants(c.Goroutines) {
			continue
		}
		way := d.ids(c.Goroutines, " → ") + " → " + d.id(c.Goroutines[0])
		if len(c.Goroutines) == 1 {
			way = "goroutine " + d.id(c.Goroutines[0]) + " waits for itself"
		}
		t.WriteHeading("DEADLOCK (%s): %s", c.Certainty, way)
		for _, g := range c.Goroutines {
			t.WriteQuotes([]event.Quote{header(&d.Goroutines[g])}, 1)
			l := &d.Graph.Locks[d.Graph.Wants(g)]
			t.writeWanted(d, l, slices.IndexFunc(l.Waiters, func(w stackdump.Waiter) bool { return w.Goroutine == g }))
		}
	}
}

func header(g *stackdump.Goroutine) event.Quote { return event.Quote{Pos: g.Pos, Text: g.Header} }

func (t text) writeLocks(d *Dump) {
	shown := 0
	for i := range d.Graph.Locks {
		l := &d.Graph.Locks[i]
		if !d.wants(members(l)) {
			continue
		}
		if shown++; shown == 1 {
			t.WriteHeading("LOCKS")
		}
		t.writeLock(d, l, &d.Graph.Chains[i])
	}
	if i := d.Graph.Longest; i >= 0 && len(d.Graph.Chains[i].Goroutines) > 1 && d.wants(d.Graph.Chains[i].Goroutines) {
		t.WritePara("longest chain: ", t.Plain, "goroutines "+d.ids(d.Graph.Chains[i].Goroutines, " → ")+"; "+ending(d, &d.Graph.Chains[i]))
	}
}

func (t text) writeLock(d *Dump, l *stackdump.Lock, c *stackdump.Chain) {
	ws := waiting(l.Waiters)
	name := l.Type
	if l.Addr != "" {
		name += " " + l.Addr
		if !l.AddrSure {
			name += "?"
		}
	}
	if l.Owner != "" {
		name += " of " + l.Owner
	}
	t.WritePara("", t.Critical, name+": "+t.wait(d, ws))
	if l.Addr == "" {
		t.WriteLabeled("", t.Plain, "no address is printed: these may be several locks of one kind")
	}
	for held := l.Holders; len(held) > 0; {
		n := 1
		for n < len(held) && alike(d, held[0], held[n]) {
			n++
		}
		t.writeHolders(d, held[:n])
		held = held[n:]
	}
	if len(l.Holders) == 0 {
		t.WriteLabeled("holder", t.Warning, "the dump does not show it")
	}
	if len(l.Pending) > 0 {
		t.WriteLabeled("pending", t.Plain, "writer "+d.ids(l.Pending, " ")+" waits for readers to leave; later readers queue behind it")
	}
	if !d.Profile {
		t.WriteLabeled("waiting", t.Plain, t.writeModes(d, l))
	}
	if len(l.Holders) == 0 || l.Owner == "" { // the code that wants it says more about the lock than its address
		t.writeWanted(d, l, 0)
	}
	if len(c.Goroutines) > 0 {
		t.WriteLabeled("ends in", t.Plain, ending(d, c))
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

// alike says whether two holders hold the lock in the same place and for the same reason.
func alike(d *Dump, a, b stackdump.Holder) bool {
	return a.Certainty == b.Certainty && a.Rule == b.Rule &&
		d.Goroutines[a.Goroutine].State == d.Goroutines[b.Goroutine].State &&
		d.Goroutines[a.Goroutine].Frames[a.Frame].Func == d.Goroutines[b.Goroutine].Frames[b.Frame].Func
}

// writeHolders tells of some that are alike, and shows the first.
func (t text) writeHolders(d *Dump, held []stackdump.Holder) {
	ids := make([]int, len(held))
	for i, h := range held {
		ids[i] = h.Goroutine
	}
	h := held[0]
	who, what := "goroutine "+d.ids(ids, " "), because[h.Rule]
	if len(held) > 1 {
		who = "readers " + d.ids(ids, " ")
	}
	if state := d.Goroutines[h.Goroutine].State; state != "" {
		who += " [" + state + "]"
	}
	t.WriteLabeled("holder", t.Plain, who+", "+h.Certainty+": "+what)
	t.writeFrame(d, h.Goroutine, h.Frame)
}

// because says in words why a rule names a holder.
var because = map[string]string{
	"R1": "its frame shows the lock, or the object that it belongs to",
	"R2": "in the same function, past the lock",
	"R3": "it took the lock before and waits for itself",
	"R4": "this function is known to hold the lock while it calls out",
}

func (t text) wait(d *Dump, waiters []int) string {
	s := fmt.Sprintf("%d waiting", d.count(waiters))
	if longest := d.longest(waiters); longest > 0 {
		s += ", longest " + minutes(longest)
	}
	return s
}

// minutes is a wait as the runtime prints it, which is never too long.
func minutes(d time.Duration) string {
	if d >= time.Hour {
		return "≥" + strings.TrimSuffix(d.String(), "0s")
	}
	return fmt.Sprintf("≥%dm", int(d.Minutes()))
}

// writeModes lists waiters by what they want.
func (t text) writeModes(d *Dump, l *stackdump.Lock) string {
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
			words = append(words, d.ids(some, " "))
		default:
			words = append(words, "to "+mode+": "+d.ids(some, " "))
		}
	}
	return strings.Join(words, "; ")
}

// ending says what the last goroutine of a chain waits for.
func ending(d *Dump, c *stackdump.Chain) string {
	way := d.ids(c.Goroutines, " → ")
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

func endName(e stackdump.End) string {
	switch e.Kind {
	case "":
		return "nothing that the dump tells"
	case stackdump.RPC:
		return "the answer of another process (" + e.What + ")"
	case stackdump.Child:
		return strings.TrimSpace("the exit of a child process " + e.What)
	case stackdump.Syscall:
		return strings.TrimSpace("system call " + e.What)
	case stackdump.Ready:
		return strings.TrimSpace("i/o " + e.What)
	case stackdump.Locked:
		return "a lock whose holder the dump does not tell"
	case stackdump.Running:
		return "nothing: it runs"
	case stackdump.Condition:
		return strings.TrimSpace("a condition " + e.What)
	}
	return strings.TrimSpace("a " + e.Kind + " " + e.What)
}

// writeFrame quotes one frame. In a binary profile there is nothing to quote: its function is named.
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
		ws := waiting(q.Waiters)
		client := strings.HasSuffix(q.Type, " client")
		if !d.wants(ws) || !client && len(ws) < 2 && len(q.Workers) == 0 && !t.Verbose {
			continue
		}
		if shown++; shown == 1 {
			t.WriteHeading("OTHER WAITS")
		}
		name := strings.TrimSpace(q.Type + " " + q.Addr)
		if q.Owner != "" {
			name += " of " + q.Owner
		}
		t.WritePara("", t.Plain, name+": "+t.wait(d, ws))
		if !d.Profile {
			t.WriteLabeled("waiting", t.Plain, d.ids(ws, " "))
		}
		if len(q.Workers) > 0 {
			t.WriteLabeled("for", t.Plain, d.ids(q.Workers, " ")+" (inferred: started there)")
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

func (t text) writeGroups(d *stackdump.Dump) {
	groups, idle := d.Groups(), 0
	for i := range groups {
		g := &groups[i]
		if g.Idle && !t.Verbose {
			idle += g.Count
			continue
		}
		head := show.Plural(g.Count, "goroutine")
		if g.State != "" {
			head += " [" + g.State + "]"
		}
		if g.MaxWait > 0 {
			head += " " + minutes(g.MaxWait)
		}
		if len(g.IDs) > 0 {
			head += ": " + idList(g.IDs)
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

func idList(ids []uint64) string {
	const most = 10
	var words []string
	for i, id := range ids {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(ids)-most))
			break
		}
		words = append(words, strconv.FormatUint(id, 10))
	}
	return strings.Join(words, " ")
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
		fmt.Fprintf(t.W, "%s%s%s\n", show.Margin, t.Styles.Quote.Render(show.Escape(function(f), show.MaxQuote)), at)
	}
	if left > 0 {
		fmt.Fprintf(t.W, "%s(%d more frames, see --all)\n", show.Margin, left)
	}
}

// function is the name of a frame's function without the path up to a vendor directory.
func function(f *stackdump.Frame) string {
	if i := strings.LastIndex(f.Func, "/vendor/"); i >= 0 {
		return f.Func[i+len("/vendor/"):]
	}
	return f.Func
}

// writeDiff is the table of what did not move.
func (t text) writeDiff(s *Stacks, d *Diff) {
	t.WritePara("", t.Styles.Heading, fmt.Sprintf("%d DUMPS%s", len(d.Dumps), programOf(d)))
	for i, n := range d.Dumps {
		t.WritePara(fmt.Sprintf("%s%d  ", show.Margin, i+1), t.Plain, headline(&s.Dumps[n]))
	}
	fmt.Fprintln(t.W)
	t.writeRow("FATE", "GOROUTINES", "STATE", "WHERE")
	stuck := stackdump.Dump{}
	for i := range d.Stuck {
		stuck.Goroutines = append(stuck.Goroutines, d.Stuck[i].Goroutine)
	}
	idle := 0
	for _, g := range stuck.Groups() {
		if g.Idle && !t.Verbose {
			idle += g.Count
			continue
		}
		state := g.State
		if g.MaxWait > 0 {
			state += " " + minutes(g.MaxWait)
		}
		t.writeRow("stuck", idList(g.IDs), state, place(g.Frames))
	}
	for i := range d.Slow {
		m := &d.Slow[i]
		if m.Was.Idle() && m.Is.Idle() && !t.Verbose {
			continue // served something in between
		}
		t.writeRow("slow", strconv.FormatUint(m.Is.ID, 10), m.Is.State, place(m.Was.Frames)+" → "+place(m.Is.Frames))
	}
	t.writeFates("finished", d.Finished)
	t.writeFates("new", d.New)
	if idle > 0 {
		t.WritePara("", t.Plain, show.Plural(idle, "goroutine")+" that waited for work all the time hidden (--all shows them)")
	}
}

func programOf(d *Diff) string {
	if d.Program == "" {
		return ""
	}
	return " OF " + d.Program
}

func (t text) writeFates(fate string, all []stackdump.Goroutine) {
	part := stackdump.Dump{Goroutines: all}
	for _, g := range part.Groups() {
		if g.Idle && !t.Verbose {
			continue
		}
		t.writeRow(fate, idList(g.IDs), g.State, place(g.Frames))
	}
}

// writeRow is a line of the table; its last column takes what is left.
func (t text) writeRow(fate, ids, state, where string) {
	lead := fmt.Sprintf("%s%s%s%s", show.Margin, show.Pad(fate, 10), show.Pad(show.Escape(ids, 24), 26), show.Pad(show.Escape(state, 26), 28))
	fmt.Fprintf(t.W, "%s%s\n", lead, show.Escape(where, show.MaxQuote))
}

// place is the innermost function of a stack that is not of the runtime.
func place(frames []stackdump.Frame) string {
	for i := range frames {
		f := &frames[i]
		if strings.HasPrefix(f.Func, "runtime.") || strings.HasPrefix(f.Func, "internal/") || strings.HasPrefix(f.Func, "sync.runtime_") || strings.HasPrefix(f.Func, "syscall.Syscall") {
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

package listing

import (
	"io"
	"strconv"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/goversion"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
)

// StacksSchema names the JSON of the command stacks. Fields are added to it, never renamed;
// docs/stacks.md describes them.
const StacksSchema = "plegdiag.stacks/v1"

// StacksJSON writes dumps for programs. Lists are never null; waits are whole minutes, and 0 is
// below one or unknown.
func StacksJSON(w io.Writer, s *Stacks, o show.Options) error {
	return show.EncodeJSON(w, StacksDocument{
		Schema: StacksSchema, Tool: show.Tool{Version: o.Version},
		Dumps: show.Rows(s.Dumps, newDumpRow), Diffs: show.Rows(s.Diffs, newDiffRow),
	})
}

// StacksDocument is goroutine dumps for programs.
type StacksDocument struct {
	Schema string    `json:"schema"` // which document this is
	Tool   show.Tool `json:"tool"`   // what made the document
	Dumps  []dumpRow `json:"dumps"`  // in the order of the inputs
	Diffs  []diffRow `json:"diffs"`  // with --diff, one for each process
}

// dumpRow is one goroutine dump.
type dumpRow struct {
	Path       string     `json:"path"`       // file of the first goroutine
	Line       int        `json:"line"`       // of the first goroutine; 0 is a binary profile
	Program    string     `json:"program"`    // as containerd, dockerd, kubelet; may be empty
	PID        int        `json:"pid"`        // 0 when unknown
	Unit       string     `json:"unit"`       // who wrote it to a log, as the log names it
	Go         goRow      `json:"go"`         // of which version of Go the program is
	Time       show.Stamp `json:"time"`       // empty when no time, or none with a zone, was written
	Goroutines int        `json:"goroutines"` // that were read
	Unreadable int        `json:"unreadable"` // headers that could not be read
	// Lines that are no part of a dump. Of dumps that follow each other in one file, the first has
	// those of all.
	Skipped int `json:"skipped"`
	// Lines of it that journald says it did not keep. Of dumps that follow each other in one file,
	// the first has those of all.
	Suppressed int  `json:"suppressed"`
	Incomplete bool `json:"incomplete"` // goroutines are missing
	Excerpt    bool `json:"excerpt"`    // somebody chose these goroutines
	// The line that says why the program ended, as written; empty when none does.
	Crash     string     `json:"crash"`
	Fragments []placeRow `json:"fragments"` // pieces of the dump in logs that are left out
	Groups    []groupRow `json:"groups"`    // goroutines that are alike, biggest first, then oldest
	Locks     []lockRow  `json:"locks"`     // that somebody waits for
	Queues    []queueRow `json:"queues"`    // other waits than for locks
	// Goroutines of which each waits for the next and the last for the first.
	Deadlocks []cycleRow `json:"deadlocks"`
}

// placeRow is where something stands.
type placeRow struct {
	Path string `json:"path"` // of the file
	Line int    `json:"line"` // of its first line
}

// goRow is the version of Go: exact where a path names it, else bounds; empty where unknown.
type goRow struct {
	Version string `json:"version"` // as a path names it (1.21.5, 1.19); else empty
	// The oldest version that prints such a dump; empty: no bound.
	Min string `json:"min"`
	// The newest version that prints such a dump (1.20); empty: no bound.
	Max string `json:"max"`
}

// groupRow is goroutines with one state and one stack.
type groupRow struct {
	Count   int        `json:"count"`            // goroutines
	State   string     `json:"state"`            // as printed
	MaxWait int        `json:"wait_max_minutes"` // whole minutes; 0 is below one or unknown
	Idle    bool       `json:"idle"`             // they have nothing to do
	Frames  []frameRow `json:"frames"`           // innermost first
	IDs     []uint64   `json:"ids"`              // none in a profile
}

// frameRow is one call on a stack.
type frameRow struct {
	Func string `json:"func"` // with the path of its package
	File string `json:"file"` // of the source
	Line int    `json:"line"` // of the source
	// The call as it stands in the dump; its text is empty in a binary profile.
	Evidence show.Evidence `json:"evidence"`
}

// lockRow is a lock that somebody waits for.
type lockRow struct {
	Address string `json:"address"`      // empty: not printed
	Sure    bool   `json:"address_sure"` // false if the dump marks it with a question mark wherever it stands
	Type    string `json:"type"`         // as sync.Mutex
	Owner   string `json:"owner"`        // whose the lock is; may be empty
	// The first of holders; null when the dump shows none.
	Holder  *holderRow  `json:"holder"`
	Holders []holderRow `json:"holders"` // more than one are readers of an RWMutex
	Pending []uint64    `json:"pending"` // writers behind which readers queue
	Waiters []waiterRow `json:"waiters"` // who waits for it
	Ends    chainRow    `json:"ends"`    // what the holder waits for in the end
}

// holderRow is a goroutine that has a lock.
type holderRow struct {
	Goroutine uint64 `json:"goroutine"` // its number
	Certainty string `json:"certainty"` // whether the dump shows it
	// R1: the holder's frame shows the lock or its object; R2: it is in the same function, after
	// the lock; R3: it took the lock before and waits for itself; R4: the function is known to
	// hold the lock during this call.
	Rule   string     `json:"rule"`
	Frames []frameRow `json:"frames"` // innermost first
}

// waiterRow is a goroutine that waits.
type waiterRow struct {
	Goroutine uint64 `json:"goroutine"`    // its number
	Count     int    `json:"count"`        // goroutines that are alike
	Minutes   int    `json:"wait_minutes"` // whole minutes; 0 is below one or unknown
	Mode      string `json:"mode"`         // of a lock, how it is wanted; "wait" in a queue
}

// chainRow is where waiting ends.
type chainRow struct {
	Goroutines []uint64 `json:"goroutines"` // the chain, from the holder on
	Certainty  string   `json:"certainty"`  // of the chain; empty without one
	Deadlock   bool     `json:"deadlock"`   // the chain comes back to its beginning
	// Of what the last one waits for; empty when nothing tells.
	Kind    string `json:"kind"`
	What    string `json:"what"`    // what names it further; may be empty
	Outside bool   `json:"outside"` // what it waits for is outside of the process
	// That says so; null when only the state does, or nothing.
	Frame *frameRow `json:"frame"`
}

// queueRow is a wait that is for no lock.
type queueRow struct {
	Address string      `json:"address"`      // empty: not printed
	Sure    bool        `json:"address_sure"` // false if the dump marks it with a question mark wherever it stands
	Type    string      `json:"type"`         // as sync.WaitGroup
	Owner   string      `json:"owner"`        // whose it is; may be empty
	Waiters []waiterRow `json:"waiters"`      // who waits
	// Of a WaitGroup: whom its waiter started there, an inference.
	Workers []uint64 `json:"workers"`
}

// cycleRow is a deadlock.
type cycleRow struct {
	Goroutines []uint64 `json:"goroutines"` // each waits for the next and the last for the first
	Certainty  string   `json:"certainty"`  // whether the dump shows all of it
}

// diffRow is what moved between dumps of one process.
type diffRow struct {
	Program string `json:"program"` // as in the dumps
	Dumps   []int  `json:"dumps"`   // places in the list of dumps, from 0
	// In the same frames and state, and the wait is not shorter.
	Stuck    []stayRow `json:"stuck"`
	Slow     []moveRow `json:"slow"`     // that have moved
	Finished []uint64  `json:"finished"` // that are gone
	New      []uint64  `json:"new"`      // that were not there before
}

// stayRow is a goroutine that did not move.
type stayRow struct {
	Goroutine uint64     `json:"goroutine"`    // its number
	State     string     `json:"state"`        // as printed
	Minutes   int        `json:"wait_minutes"` // whole minutes; 0 is below one or unknown
	Since     int        `json:"since"`        // place of the first dump from which on it has not moved
	Idle      bool       `json:"idle"`         // it has nothing to do
	Frames    []frameRow `json:"frames"`       // innermost first
}

// moveRow is a goroutine that moved.
type moveRow struct {
	Goroutine uint64     `json:"goroutine"` // its number
	State     string     `json:"state"`     // as printed in the last dump
	Was       []frameRow `json:"was"`       // its frames in the dump before
	Frames    []frameRow `json:"frames"`    // innermost first
}

func newDumpRow(d *Dump) dumpRow {
	pos := d.Pos()
	r := dumpRow{
		Path: d.File, Line: pos.Line, Program: d.Program, PID: d.PID, Unit: d.Unit, Go: newGoRow(goversion.Find(d.Dump.Dump)),
		Goroutines: d.Count(), Unreadable: d.Lost, Skipped: d.Skipped, Suppressed: d.Suppressed,
		Incomplete: d.Incomplete, Excerpt: d.IsExcerpt(), Crash: d.Crash.Text,
		Fragments: show.Rows(d.Fragments, func(p *event.Pos) placeRow { return placeRow{p.File, p.Line} }),
		Groups:    []groupRow{}, Locks: []lockRow{}, Queues: []queueRow{}, Deadlocks: []cycleRow{},
	}
	if d.At.Lacks == 0 && d.At.Known {
		r.Time = show.Stamp(d.At.T)
	}
	for _, g := range d.shown().Groups() {
		r.Groups = append(r.Groups, groupRow{
			g.Count, g.State, wholeMinutes(g.MaxWait), g.Idle, show.Rows(g.Frames, newFrameRow), append([]uint64{}, g.IDs...),
		})
	}
	for i := range d.Graph.Locks {
		if l := &d.Graph.Locks[i]; d.wants(lockGoroutines(l)) {
			r.Locks = append(r.Locks, newLockRow(d, l, &d.Graph.Chains[i]))
		}
	}
	for _, q := range d.Graph.Queues {
		if d.wants(waiterIndexes(q.Waiters)) {
			r.Queues = append(r.Queues, queueRow{
				q.Addr, q.AddrSure, q.Type, q.Owner, waiterRows(d, q.Waiters), idNumbers(d, q.Workers),
			})
		}
	}
	for _, c := range d.Graph.Cycles {
		if d.wants(c.Goroutines) {
			r.Deadlocks = append(r.Deadlocks, cycleRow{idNumbers(d, c.Goroutines), c.Certainty})
		}
	}
	return r
}

func newGoRow(v goversion.Version) goRow {
	minor := func(n int) string {
		if n == 0 {
			return ""
		}
		return "1." + strconv.Itoa(n)
	}
	return goRow{v.Exact, minor(v.Min), minor(v.Max)}
}

func newLockRow(d *Dump, l *stackdump.Lock, c *stackdump.Chain) lockRow {
	r := lockRow{
		Address: l.Addr, Sure: l.AddrSure, Type: l.Type, Owner: l.Owner,
		Pending: idNumbers(d, l.Pending), Waiters: waiterRows(d, l.Waiters),
		Holders: show.Rows(l.Holders, func(h *stackdump.Holder) holderRow {
			g := &d.Goroutines[h.Goroutine]
			return holderRow{g.ID, h.Certainty, h.Rule, show.Rows(g.Frames, newFrameRow)}
		}),
	}
	if len(r.Holders) > 0 {
		r.Holder = &r.Holders[0]
	}
	r.Ends = chainRow{
		Goroutines: idNumbers(d, c.Goroutines), Deadlock: c.Cyclic,
		Kind: c.End.Kind, What: c.End.What, Outside: c.End.Outside(),
	}
	if n := len(c.Goroutines); n > 0 {
		r.Ends.Certainty = stackdump.Observed
		if c.Inferred {
			r.Ends.Certainty = stackdump.Inferred
		}
		if last := &d.Goroutines[c.Goroutines[n-1]]; c.End.Kind != "" && c.End.Frame >= 0 {
			row := newFrameRow(&last.Frames[last.Beyond(c.End.Frame)])
			r.Ends.Frame = &row
		}
	}
	return r
}

func newDiffRow(d *Diff) diffRow {
	r := diffRow{
		Program: d.Program, Dumps: d.Dumps, Stuck: []stayRow{},
		Slow: show.Rows(d.Slow, func(m *series.Move) moveRow {
			return moveRow{m.Is.ID, m.Is.State, show.Rows(m.Was.Frames, newFrameRow), show.Rows(m.Is.Frames, newFrameRow)}
		}),
		Finished: show.Rows(d.Finished, idOf), New: show.Rows(d.New, idOf),
	}
	for i := range d.Stuck {
		g := &d.Stuck[i]
		r.Stuck = append(r.Stuck, stayRow{
			g.ID, g.State, wholeMinutes(g.Wait), d.Dumps[g.Since], g.Idle(), show.Rows(g.Frames, newFrameRow),
		})
	}
	return r
}

func idOf(g *stackdump.Goroutine) uint64 { return g.ID }

// idNumbers are the numbers of goroutines that are given by their indexes.
func idNumbers(d *Dump, goroutines []int) []uint64 {
	return show.Rows(goroutines, func(g *int) uint64 { return d.Goroutines[*g].ID })
}

func waiterRows(d *Dump, ws []stackdump.Waiter) []waiterRow {
	return show.Rows(ws, func(w *stackdump.Waiter) waiterRow {
		g := &d.Goroutines[w.Goroutine]
		return waiterRow{g.ID, 1 + g.Alike, wholeMinutes(g.Wait), w.Mode}
	})
}

func wholeMinutes(d time.Duration) int { return int(d / time.Minute) }

func newFrameRow(f *stackdump.Frame) frameRow {
	return frameRow{f.Func, f.File, f.Line, show.NewEvidence(&event.Quote{Pos: f.Pos, Text: f.Raw})}
}

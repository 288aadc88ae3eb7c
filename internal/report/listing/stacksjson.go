package listing

import (
	"io"
	"strconv"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
)

// StacksSchema names the JSON of the command stacks. Fields are added to it, never renamed;
// docs/stacks.md describes them.
const StacksSchema = "plegdiag.stacks/v1"

// StacksJSON writes dumps for programs. Lists are never null; waits are whole minutes, and 0 is
// below one or unknown.
func StacksJSON(w io.Writer, s *Stacks, o show.Options) error {
	return show.EncodeJSON(w, stacksDocument{
		Schema: StacksSchema, Tool: show.Tool{Version: o.Version},
		Dumps: show.Rows(s.Dumps, newDumpRow), Diffs: show.Rows(s.Diffs, newDiffRow),
	})
}

type stacksDocument struct {
	Schema string    `json:"schema"`
	Tool   show.Tool `json:"tool"`
	Dumps  []dumpRow `json:"dumps"`
	Diffs  []diffRow `json:"diffs"`
}

type dumpRow struct {
	Path       string     `json:"path"`
	Line       int        `json:"line"`
	Program    string     `json:"program"`
	PID        int        `json:"pid"`
	Unit       string     `json:"unit"`
	Go         goRow      `json:"go"`
	Time       show.Stamp `json:"time"`
	Goroutines int        `json:"goroutines"`
	Unreadable int        `json:"unreadable"`
	Skipped    int        `json:"skipped"`
	Suppressed int        `json:"suppressed"`
	Incomplete bool       `json:"incomplete"`
	Excerpt    bool       `json:"excerpt"`
	Crash      string     `json:"crash"`
	Fragments  []placeRow `json:"fragments"`
	Groups     []groupRow `json:"groups"`
	Locks      []lockRow  `json:"locks"`
	Queues     []queueRow `json:"queues"`
	Deadlocks  []cycleRow `json:"deadlocks"`
}

type placeRow struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

// goRow is the version of Go: exact where a path names it, else bounds; empty where unknown.
type goRow struct {
	Version string `json:"version"`
	Min     string `json:"min"`
	Max     string `json:"max"`
}

type groupRow struct {
	Count   int        `json:"count"`
	State   string     `json:"state"`
	MaxWait int        `json:"wait_max_minutes"`
	Idle    bool       `json:"idle"`
	Frames  []frameRow `json:"frames"`
	IDs     []uint64   `json:"ids"`
}

type frameRow struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
	// Evidence is where the frame stands; its text is empty in a binary profile.
	Evidence show.Evidence `json:"evidence"`
}

type lockRow struct {
	Address string      `json:"address"`
	Sure    bool        `json:"address_sure"`
	Type    string      `json:"type"`
	Owner   string      `json:"owner"`
	Holder  *holderRow  `json:"holder"`
	Holders []holderRow `json:"holders"`
	Pending []uint64    `json:"pending"`
	Waiters []waiterRow `json:"waiters"`
	Ends    chainRow    `json:"ends"`
}

type holderRow struct {
	Goroutine uint64     `json:"goroutine"`
	Certainty string     `json:"certainty"`
	Rule      string     `json:"rule"`
	Frames    []frameRow `json:"frames"`
}

type waiterRow struct {
	Goroutine uint64 `json:"goroutine"`
	Count     int    `json:"count"`
	Minutes   int    `json:"wait_minutes"`
	Mode      string `json:"mode"`
}

type chainRow struct {
	Goroutines []uint64  `json:"goroutines"`
	Certainty  string    `json:"certainty"`
	Deadlock   bool      `json:"deadlock"`
	Kind       string    `json:"kind"`
	What       string    `json:"what"`
	Outside    bool      `json:"outside"`
	Frame      *frameRow `json:"frame"`
}

type queueRow struct {
	Address string      `json:"address"`
	Sure    bool        `json:"address_sure"`
	Type    string      `json:"type"`
	Owner   string      `json:"owner"`
	Waiters []waiterRow `json:"waiters"`
	Workers []uint64    `json:"workers"`
}

type cycleRow struct {
	Goroutines []uint64 `json:"goroutines"`
	Certainty  string   `json:"certainty"`
}

type diffRow struct {
	Program  string    `json:"program"`
	Dumps    []int     `json:"dumps"`
	Stuck    []stayRow `json:"stuck"`
	Slow     []moveRow `json:"slow"`
	Finished []uint64  `json:"finished"`
	New      []uint64  `json:"new"`
}

type stayRow struct {
	Goroutine uint64     `json:"goroutine"`
	State     string     `json:"state"`
	Minutes   int        `json:"wait_minutes"`
	Since     int        `json:"since"`
	Idle      bool       `json:"idle"`
	Frames    []frameRow `json:"frames"`
}

type moveRow struct {
	Goroutine uint64     `json:"goroutine"`
	State     string     `json:"state"`
	Was       []frameRow `json:"was"`
	Frames    []frameRow `json:"frames"`
}

func newDumpRow(d *Dump) dumpRow {
	pos := d.Pos()
	r := dumpRow{
		Path: d.File, Line: pos.Line, Program: d.Program, PID: d.PID, Unit: d.Unit, Go: newGoRow(d.GoVersion()),
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

func newGoRow(v stackdump.GoVersion) goRow {
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

package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *Server) addDumps() {
	addTool(s, "stacks", "Goroutine dumps: who waits for whom", []string{
		"Read the goroutine dumps of a bundle: view locks (who holds each lock, who waits, and what the chain of waits ends in) or",
		"groups (goroutines by stack, the longest waits first). A holder is observed or inferred; no holder is guessed.",
	}, s.stacks)
	addTool(s, "syscalls", "Traces of system calls", []string{
		"Read the strace output of a bundle: view open (calls that had not returned), slowest, calls (the table of strace -c) or",
		"dbus (messages of D-Bus, and calls without an answer).",
	}, s.syscalls)
	addTool(s, "compare", "Two bundles side by side", []string{
		"Compare two bundles, as before and after a fix, or a sick node and a healthy one: stalls, calls of the CRI, findings gained and lost,",
		"facts that differ. lost and gained are said only where the other side rules the rule out; unknown has its reason.",
	}, s.compare)
}

// AskStacks is the input of the tool stacks.
type AskStacks struct {
	Input    string `json:"input" jsonschema:"the bundle, as in analyze"`
	View     string `json:"view,omitempty" jsonschema:"locks (when not given) or groups"`
	Function string `json:"function,omitempty" jsonschema:"only goroutines with a function whose name contains this"`
	Paging
}

// Stacks are locks or groups of goroutines.
type Stacks struct {
	Page
	Dumps  []DumpSummary `json:"dumps"`
	Locks  []Lock        `json:"locks"`
	Groups []Group       `json:"groups"`
}

// DumpSummary is one dump.
type DumpSummary struct {
	Path       Text `json:"path"`
	Line       int  `json:"line"`
	Program    Text `json:"program"`
	Time       Text `json:"time"`
	Goroutines int  `json:"goroutines"`
	Incomplete bool `json:"incomplete"`
	Deadlocks  int  `json:"deadlocks"`
}

// Lock is a lock that is waited for.
type Lock struct {
	Dump    Text     `json:"dump" jsonschema:"path of the dump"`
	Address Text     `json:"address"`
	Type    Text     `json:"type"`
	Owner   Text     `json:"owner" jsonschema:"the type that the lock is part of"`
	Holder  *Holder  `json:"holder" jsonschema:"null where the dump does not show it"`
	Waiters []Waiter `json:"waiters"`
	Waiting int      `json:"waiting" jsonschema:"how many goroutines wait"`
	Ends    End      `json:"ends" jsonschema:"what the chain of waits ends in"`
}

// Holder holds a lock.
type Holder struct {
	Goroutine uint64  `json:"goroutine"`
	Certainty Text    `json:"certainty" jsonschema:"observed or inferred"`
	Frames    []Frame `json:"frames" jsonschema:"innermost first"`
}

// Frame is a function on a stack.
type Frame struct {
	Func     Text  `json:"func"`
	Evidence Quote `json:"evidence"`
}

// Waiter waits for a lock.
type Waiter struct {
	Goroutine uint64 `json:"goroutine"`
	Minutes   int    `json:"wait_minutes" jsonschema:"rounded down"`
	Mode      Text   `json:"mode"`
	Count     int    `json:"count"`
}

// End is what a chain of waits ends in.
type End struct {
	Kind     Text   `json:"kind"`
	What     Text   `json:"what"`
	Deadlock bool   `json:"deadlock"`
	Outside  bool   `json:"outside" jsonschema:"the answer must come from another process"`
	Frame    *Frame `json:"frame"`
}

// Group is goroutines with one stack.
type Group struct {
	Dump    Text    `json:"dump"`
	Count   int     `json:"count"`
	State   Text    `json:"state"`
	MaxWait int     `json:"wait_max_minutes"`
	Idle    bool    `json:"idle" jsonschema:"it waits for work"`
	Frames  []Frame `json:"frames"`
}

// stackDocument is what is read of plegdiag.stacks/v1.
type stackDocument struct {
	Dumps []struct {
		DumpSummary
		Groups    []Group
		Locks     []Lock
		Deadlocks []struct{} `json:"deadlocks"`
	}
}

// maxFrames is how many frames of a stack are shown.
const maxFrames = 12

func (s *Server) stacks(ctx context.Context, req *sdk.CallToolRequest, in AskStacks) (*sdk.CallToolResult, *Stacks, error) {
	at, err := s.dirs.findPlace(in.Input)
	if err != nil {
		return nil, nil, err
	}
	q := &question{command: "stacks", places: []place{at}}
	if in.Function != "" {
		q.flags = append(q.flags, "--func="+in.Function)
	}
	doc, _, err := askJSON[stackDocument](ctx, s, req, q)
	if err != nil {
		return nil, nil, err
	}
	out := &Stacks{Dumps: []DumpSummary{}, Locks: []Lock{}, Groups: []Group{}}
	for _, d := range doc.Dumps {
		summary := d.DumpSummary
		summary.Deadlocks = len(d.Deadlocks)
		out.Dumps = append(out.Dumps, summary)
		for _, l := range d.Locks {
			l.Dump = d.Path
			out.Locks = append(out.Locks, l.shortened())
		}
		for _, g := range d.Groups {
			g.Dump, g.Frames = d.Path, shortFrames(g.Frames)
			out.Groups = append(out.Groups, g)
		}
	}
	out.Dumps = few(out.Dumps, 20)
	locks, groups := len(out.Locks), len(out.Groups)
	switch in.View {
	case "", "locks":
		out.Groups = []Group{}
		out.Locks, out.Page = takePage(out.Locks, in.Paging, 5)
	case "groups":
		slices.SortStableFunc(out.Groups, func(a, b Group) int { return b.MaxWait - a.MaxWait })
		out.Locks = []Lock{}
		out.Groups, out.Page = takePage(out.Groups, in.Paging, 5)
	default:
		return nil, nil, fmt.Errorf("view %q is none of locks, groups", in.View)
	}
	return boundAnswer(out, "%d dumps, %d locks that are waited for, %d groups of goroutines.", len(doc.Dumps), locks, groups)
}

func (l Lock) shortened() Lock {
	for _, w := range l.Waiters {
		l.Waiting += max(w.Count, 1)
	}
	l.Waiters = few(l.Waiters, 8)
	if l.Holder != nil {
		l.Holder.Frames = shortFrames(l.Holder.Frames)
	}
	return l
}

func shortFrames(all []Frame) []Frame {
	kept := make([]Frame, 0, maxFrames)
	for _, f := range few(all, maxFrames) {
		f.Evidence.Text = clip(f.Evidence.Text, 200)
		kept = append(kept, f)
	}
	return kept
}

// AskSyscalls is the input of the tool syscalls.
type AskSyscalls struct {
	Input string `json:"input" jsonschema:"the bundle, as in analyze"`
	View  string `json:"view,omitempty" jsonschema:"open (when not given), slowest, calls or dbus"`
	Paging
}

// Syscalls is a view of the traces of a bundle.
type Syscalls struct {
	Page
	Traces  []TraceSummary `json:"traces"`
	Calls   []Call         `json:"calls" jsonschema:"of the views open and slowest"`
	Table   []CallCount    `json:"table" jsonschema:"of the view calls"`
	Message []Message      `json:"messages" jsonschema:"of the view dbus"`
}

// TraceSummary is one trace.
type TraceSummary struct {
	Path    Text   `json:"path"`
	Threads int    `json:"threads"`
	Lines   int    `json:"lines"`
	Start   Text   `json:"start"`
	End     Text   `json:"end"`
	Missing []Text `json:"missing" jsonschema:"options of strace that would have shown more"`
}

// Call is one system call.
type Call struct {
	Path    Text    `json:"path"`
	Line    int     `json:"line"`
	Name    Text    `json:"name"`
	PID     int     `json:"pid"`
	Wait    Text    `json:"wait" jsonschema:"what it waits for"`
	Start   Text    `json:"start"`
	Age     float64 `json:"age_seconds" jsonschema:"of an open call, at least"`
	Seconds float64 `json:"seconds"`
	Args    Text    `json:"untrusted_args"`
	Result  Text    `json:"untrusted_result"`
}

// theirCall is a call as a worker prints it.
type theirCall struct {
	Call
	File Text
}

// CallCount is a row of the table of calls.
type CallCount struct {
	Path   Text    `json:"path"`
	Name   Text    `json:"name"`
	Count  int     `json:"count"`
	Errors int     `json:"errors"`
	Total  float64 `json:"total_seconds"`
	Max    float64 `json:"max_seconds"`
}

// Message is a message of D-Bus.
type Message struct {
	Path        Text     `json:"trace"`
	Line        int      `json:"line"`
	PID         int      `json:"pid"`
	Direction   Text     `json:"direction"`
	Type        Text     `json:"type"`
	Serial      uint32   `json:"serial"`
	ReplySerial uint32   `json:"reply_serial"`
	Member      Text     `json:"member"`
	Destination Text     `json:"destination"`
	State       Text     `json:"state"`
	Answered    *float64 `json:"answered_after_seconds" jsonschema:"null for a call without an answer"`
}

// traceDocument is what is read of plegdiag.syscalls/v1.
type traceDocument struct {
	Traces []struct {
		TraceSummary
		Calls         map[Text]CallCount
		Open, Slowest []theirCall
		DBus          []Message `json:"dbus"`
	}
}

func (s *Server) syscalls(ctx context.Context, req *sdk.CallToolRequest, in AskSyscalls) (*sdk.CallToolResult, *Syscalls, error) {
	at, err := s.dirs.findPlace(in.Input)
	if err != nil {
		return nil, nil, err
	}
	doc, _, err := askJSON[traceDocument](ctx, s, req, &question{command: "syscalls", places: []place{at}})
	if err != nil {
		return nil, nil, err
	}
	out := &Syscalls{Traces: []TraceSummary{}, Calls: []Call{}, Table: []CallCount{}, Message: []Message{}}
	open := 0
	for _, t := range doc.Traces {
		out.Traces = append(out.Traces, t.TraceSummary)
		open += len(t.Open)
		for name, row := range map[string][]theirCall{"open": t.Open, "slowest": t.Slowest} {
			if name == in.View || name == "open" && in.View == "" {
				for i := range row {
					out.Calls = append(out.Calls, row[i].call(t.Path))
				}
			}
		}
		if in.View == "calls" {
			out.Table = append(out.Table, sortCallCounts(t.Path, t.Calls)...)
		}
		if in.View == "dbus" {
			for _, m := range t.DBus {
				m.Path = t.Path
				out.Message = append(out.Message, m)
			}
		}
	}
	out.Traces = few(out.Traces, 10)
	switch in.View {
	case "", "open", "slowest":
		out.Calls, out.Page = takePage(out.Calls, in.Paging, 20)
	case "calls":
		out.Table, out.Page = takePage(out.Table, in.Paging, 50)
	case "dbus":
		out.Message, out.Page = takePage(out.Message, in.Paging, 30)
	default:
		return nil, nil, fmt.Errorf("view %q is none of open, slowest, calls, dbus", in.View)
	}
	return boundAnswer(out, "%d traces, %d calls that had not returned; %d rows in this view.", len(doc.Traces), open, out.Total)
}

// call is a call as it is answered.
func (t *theirCall) call(trace Text) Call {
	c := t.Call
	c.Path = trace
	if t.File != "" {
		c.Path = t.File
	}
	return c
}

// sortCallCounts are the rows of a table of calls, the longest first.
func sortCallCounts(path Text, calls map[Text]CallCount) (rows []CallCount) {
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		row := calls[name]
		row.Path, row.Name = path, name
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b CallCount) int {
		switch {
		case a.Total > b.Total:
			return -1
		case a.Total < b.Total:
			return 1
		}
		return 0
	})
	return rows
}

// AskCompare is the input of the tool compare.
type AskCompare struct {
	Before string `json:"before" jsonschema:"the first bundle, as in analyze"`
	After  string `json:"after" jsonschema:"the other bundle, below the same directory of this server"`
}

// Compared is two bundles side by side: a is before, b is after.
type Compared struct {
	Page
	A        Side         `json:"a"`
	B        Side         `json:"b"`
	Findings []Change     `json:"findings"`
	Calls    []CallsPair  `json:"calls" jsonschema:"calls of the CRI"`
	Errors   []ErrorsPair `json:"errors"`
	Facts    []FactPair   `json:"facts" jsonschema:"that differ; an empty side does not show the fact"`
}

// Side is one of two bundles.
type Side struct {
	Node     Text     `json:"node"`
	Headline Text     `json:"untrusted_headline"`
	Seen     float64  `json:"seen_seconds"`
	Stalls   int      `json:"stalls"`
	PerDay   *float64 `json:"stalls_per_day" jsonschema:"null for less than an hour of evidence"`
	Stalled  float64  `json:"stalled_seconds"`
	Longest  float64  `json:"longest_seconds"`
	Open     bool     `json:"open"`
}

// Change is what became of a finding.
type Change struct {
	Rule   Text `json:"rule"`
	A      Text `json:"a"`
	B      Text `json:"b"`
	Change Text `json:"change" jsonschema:"lost, gained, same, weaker, stronger or unknown"`
	Why    Text `json:"unknown_why"`
}

// CallsPair is how long the calls of one method took.
type CallsPair struct {
	Method Text  `json:"method"`
	A      Calls `json:"a"`
	B      Calls `json:"b"`
}

// Calls are the calls of one method.
type Calls struct {
	Count  int     `json:"count"`
	Failed int     `json:"failed"`
	Open   int     `json:"open"`
	Median float64 `json:"median_seconds"`
	P95    float64 `json:"p95_seconds"`
	Max    float64 `json:"max_seconds"`
}

// ErrorsPair is how often the calls of one method failed.
type ErrorsPair struct {
	Method Text `json:"method"`
	A      int  `json:"a"`
	B      int  `json:"b"`
}

// FactPair is a fact that differs.
type FactPair struct {
	Name Text `json:"name"`
	A    Text `json:"untrusted_a"`
	B    Text `json:"untrusted_b"`
}

// comparison is what is read of plegdiag.compare/v1.
type comparison struct {
	A, B     Side
	Findings []Change
	Calls    []CallsPair
	Errors   []ErrorsPair
	Facts    []struct{ Name, A, B Text }
}

func (s *Server) compare(ctx context.Context, req *sdk.CallToolRequest, in AskCompare) (*sdk.CallToolResult, *Compared, error) {
	q := &question{command: "compare"}
	for _, input := range []string{in.Before, in.After} {
		at, err := s.dirs.findPlace(input)
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", clean(input, maxQuote), err)
		}
		q.places = append(q.places, at)
	}
	doc, _, err := askJSON[comparison](ctx, s, req, q)
	if err != nil {
		return nil, nil, err
	}
	out := &Compared{
		A: doc.A, B: doc.B, Findings: few(doc.Findings, 40), Calls: few(doc.Calls, 30), Errors: few(doc.Errors, 30), Facts: []FactPair{},
	}
	for _, f := range doc.Facts {
		if f.A != f.B && len(out.Facts) < 40 {
			out.Facts = append(out.Facts, FactPair{f.Name, f.A, f.B})
		}
	}
	out.Total = len(doc.Findings)
	var said []string
	for _, f := range few(doc.Findings, 10) {
		said = append(said, fmt.Sprintf("%s %s", f.Rule, f.Change))
	}
	return boundAnswer(out, "%d stalls before, %d after. %s", doc.A.Stalls, doc.B.Stalls, strings.Join(said, "; "))
}

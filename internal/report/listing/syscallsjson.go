package listing

import (
	"io"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/syscalls"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// SyscallsSchema names the JSON of the command syscalls. Fields are added to it, never renamed;
// docs/syscalls.md describes them.
const SyscallsSchema = "plegdiag.syscalls/v1"

// SyscallsJSON writes traces for programs. Lists are never null; what is unknown is null or absent.
func SyscallsJSON(w io.Writer, traces []*syscalls.Summary, o show.Options) error {
	doc := syscallsDocument{Schema: SyscallsSchema, Tool: show.Tool{Version: o.Version}, Traces: []traceRow{}}
	for _, s := range traces {
		doc.Traces = append(doc.Traces, newTraceRow(s))
	}
	return show.EncodeJSON(w, doc)
}

type syscallsDocument struct {
	Schema string     `json:"schema"`
	Tool   show.Tool  `json:"tool"`
	Traces []traceRow `json:"traces"`
}

type traceRow struct {
	Path    string              `json:"path"`
	Files   []string            `json:"files"`
	Form    formRow             `json:"form"`
	Missing []string            `json:"missing"`
	Start   *string             `json:"start"`
	End     *string             `json:"end"`
	Threads int                 `json:"threads"`
	Lines   int                 `json:"lines"`
	Blank   int                 `json:"blank"`
	Skipped int                 `json:"skipped"`
	Calls   map[string]countRow `json:"calls"`
	Idle    map[string]countRow `json:"idle"`
	Counted bool                `json:"counted_by_strace"` // calls come from the tables, as nothing else is there
	Tables  []tableRow          `json:"tables"`
	Open    []callRow           `json:"open"`
	Slowest []callRow           `json:"slowest"`
	Convoys []convoyRow         `json:"convoys"`
	Conns   []connRow           `json:"connections"`
	DBus    []messageRow        `json:"dbus"`
	// DBusLeft counts messages that are not listed, beyond the first 50 000.
	DBusLeft int `json:"dbus_left"`
}

type formRow struct {
	PID      string `json:"pid"`
	Comms    bool   `json:"comms"`
	Clock    string `json:"clock"`
	Relative bool   `json:"relative"`
	Took     bool   `json:"durations"`
	Labels   string `json:"labels"`
	Hex      bool   `json:"hex"`
	Names    bool   `json:"argument_names"`
	Stacks   bool   `json:"stacks"`
	Colours  bool   `json:"colours"`
	Strings  int    `json:"string_limit"`
}

type countRow struct {
	Count  int     `json:"count"`
	Errors int     `json:"errors"`
	Total  float64 `json:"total_seconds"`
	Max    float64 `json:"max_seconds"`
}

type tableRow struct {
	Table   int     `json:"table"`
	Title   string  `json:"title"`
	Name    string  `json:"name"`
	Count   int     `json:"count"`
	Errors  int     `json:"errors"`
	Seconds float64 `json:"seconds"`
	Min     float64 `json:"min_seconds"`
	Max     float64 `json:"max_seconds"`
	Wall    float64 `json:"wall_seconds"`
	WallMax float64 `json:"wall_max_seconds"`
}

func newTableRow(n *traces.CallTotal) tableRow {
	return tableRow{
		n.Table, utf8Text(n.Title), utf8Text(n.Name), n.Calls, n.Errors,
		n.Total.Seconds(), n.Min.Seconds(), n.Max.Seconds(), n.Wall.Seconds(), n.WallMax.Seconds(),
	}
}

type callRow struct {
	Name     string   `json:"name"`
	PID      int      `json:"pid"`
	Wait     string   `json:"wait"`
	Why      string   `json:"why,omitempty"`
	Blocker  int      `json:"waits_for,omitempty"` // of a wait for a child: the thread at its end
	In       string   `json:"waits_in,omitempty"`
	Start    *string  `json:"start"`
	Age      *float64 `json:"age_seconds,omitempty"`
	Seconds  *float64 `json:"seconds,omitempty"`
	AtLeast  bool     `json:"at_least"`
	AtMost   bool     `json:"at_most,omitempty"`
	Args     string   `json:"args"`
	Result   string   `json:"result,omitempty"`
	Delayed  bool     `json:"delayed"`
	Injected bool     `json:"injected"`
	File     string   `json:"file,omitempty"` // of those of the trace, where it has several
	Line     int      `json:"line"`
	EndLine  int      `json:"end_line,omitempty"`
}

type convoyRow struct {
	Address    string `json:"address"`
	Waiters    []int  `json:"waiters"`
	Holder     *int   `json:"holder"` // null where nothing tells
	HolderCall string `json:"holder_call,omitempty"`
	Certainty  string `json:"certainty"`
}

func newConvoyRow(v *syscalls.Convoy) convoyRow {
	r := convoyRow{utf8Text(v.Address), v.Waiters, nil, v.HolderCall, "inferred"}
	if v.Holder != 0 {
		r.Holder = &v.Holder
	}
	return r
}

type connRow struct {
	PID     int         `json:"pid"`
	FD      int         `json:"fd"`
	Inode   string      `json:"inode"`
	Path    string      `json:"path"`
	Known   bool        `json:"known"`
	Cut     bool        `json:"answers_unreadable"`
	Deaf    bool        `json:"answers_not_traced"`
	Shake   *float64    `json:"handshake_seconds"` // until the first answer; null where the trace does not show it
	Serials []serialRow `json:"serials"`
}

type serialRow struct {
	Direction string   `json:"direction"`
	Sender    string   `json:"sender"`
	Systemd   bool     `json:"systemd"`
	Count     int      `json:"count"`
	First     uint32   `json:"first"`
	Last      uint32   `json:"last"`
	Wrapped   bool     `json:"wrapped"`
	PerDay    *float64 `json:"per_day"`
	Left      *float64 `json:"seconds_to_overflow"`
}

type messageRow struct {
	PID         int      `json:"pid"`
	FD          int      `json:"fd"`
	Direction   string   `json:"direction"`
	Type        string   `json:"type"`
	Serial      uint32   `json:"serial"`
	ReplySerial uint32   `json:"reply_serial"`
	Path        string   `json:"path"`
	Interface   string   `json:"interface"`
	Member      string   `json:"member"`
	ErrorName   string   `json:"error_name"`
	Destination string   `json:"destination"`
	Sender      string   `json:"sender"`
	Start       *string  `json:"start"`
	Answered    *float64 `json:"answered_after_seconds"`
	State       string   `json:"state"`
	Age         *float64 `json:"age_seconds,omitempty"`
	Cut         bool     `json:"cut"`
	File        string   `json:"file,omitempty"`
	Line        int      `json:"line"`
}

func newTraceRow(s *syscalls.Summary) traceRow {
	f := &s.Form
	r := traceRow{
		Path: s.Path, Files: show.NonNil(s.Files), Missing: show.NonNil(s.Missing()),
		Start: momentOf(s.First), End: momentOf(s.Last),
		Threads: s.Threads, Lines: s.Lines, Blank: s.Blank, Skipped: s.Skipped,
		Calls: countRows(s.Calls), Idle: countRows(s.Idle),
		Counted: s.Counted, Tables: show.Rows(s.Tables, newTableRow),
		Form: formRow{
			f.PID, f.Comms, f.Clock, f.Relative, f.Took, f.Labels, f.Hex, f.Arguments, f.Stacks, f.Colours, f.Strings,
		},
		Open:     show.Rows(s.Open, newCallRow),
		Slowest:  show.Rows(s.Slow, newCallRow),
		Convoys:  show.Rows(s.Convoys, newConvoyRow),
		Conns:    []connRow{},
		DBus:     []messageRow{},
		DBusLeft: s.Bus.Left,
	}
	for _, c := range s.Bus.Conns {
		r.Conns = append(r.Conns, newConnRow(c))
	}
	for _, m := range s.Bus.Messages {
		r.DBus = append(r.DBus, newMessageRow(m))
	}
	if len(s.Files) > 1 {
		r.nameFiles(s)
	}
	return r
}

// nameFiles says of every row in which file of the trace its line stands.
func (r *traceRow) nameFiles(s *syscalls.Summary) {
	for i := range r.Open {
		r.Open[i].File = s.Open[i].Pos.File
	}
	for i := range r.Slowest {
		r.Slowest[i].File = s.Slow[i].Pos.File
	}
	for i := range r.DBus {
		r.DBus[i].File = s.Bus.Messages[i].Pos.File
	}
}

func countRows(table map[string]*syscalls.CallCount) map[string]countRow {
	rows := map[string]countRow{}
	for name, n := range table {
		rows[name] = countRow{n.Count, n.Errors, n.Total.Seconds(), n.Max.Seconds()}
	}
	return rows
}

func newCallRow(c *syscalls.TracedCall) callRow {
	r := callRow{
		Name: c.Name, PID: c.PID, Wait: string(c.Wait), Why: c.Why, Blocker: c.Blocker, In: c.BlockerCall,
		Start: momentOf(c.Start), AtLeast: c.AtLeast, AtMost: c.AtMost > 0,
		Args: utf8Text(c.Args), Result: utf8Text(c.Result), Delayed: c.Delayed, Injected: c.Injected,
		Line: c.Pos.Line, EndLine: c.EndPos.Line,
	}
	if c.HasDuration {
		if r.Seconds = seconds(c.Duration); c.Unfinished {
			r.Seconds, r.Age = nil, r.Seconds
		}
	}
	return r
}

func newConnRow(c *syscalls.BusConn) connRow {
	r := connRow{c.PID, c.FD, c.Inode, utf8Text(c.Path), c.Known, c.Unreadable, c.Deaf, nil, []serialRow{}}
	if d, ok := c.Handshake(); ok {
		r.Shake = seconds(d)
	}
	for _, n := range c.Serials {
		row := serialRow{direction(n.Sent), utf8Text(n.Sender), n.Systemd, n.Count, n.First, n.Last, n.Wrapped, nil, nil}
		if rate, ok := n.Rate(); ok {
			row.PerDay = &rate
		}
		if left, ok := n.Left(); ok {
			row.Left = seconds(left)
		}
		r.Serials = append(r.Serials, row)
	}
	return r
}

func newMessageRow(m *syscalls.BusMessage) messageRow {
	r := messageRow{
		PID: m.TID, FD: m.Conn.FD, Direction: direction(m.Sent), Type: busTypes[m.Type], Serial: m.Serial, ReplySerial: m.ReplySerial,
		Path: utf8Text(m.Path), Interface: utf8Text(m.Interface), Member: utf8Text(m.Member), ErrorName: utf8Text(m.ErrorName),
		Destination: utf8Text(m.Destination), Sender: utf8Text(m.Sender),
		Start: momentOf(m.At), State: messageState(m), Cut: m.Cut, Line: m.Pos.Line,
	}
	if took, ok := m.Answered(); ok {
		r.Answered = seconds(took)
	}
	if m.Open() && m.At.Known {
		r.Age = seconds(m.Age)
	}
	return r
}

// messageState says what became of a message: of a call "answered", "unanswered" or
// "unknown", of what could not be sent "blocked", of everything else "".
func messageState(m *syscalls.BusMessage) string {
	switch {
	case m.Blocked:
		return "blocked"
	case m.Answer != nil:
		return "answered"
	case m.Open():
		return "unanswered"
	case m.Unsure:
		return "unknown"
	}
	return ""
}

func direction(sent bool) string {
	if sent {
		return "sent"
	}
	return "received"
}

// momentOf is RFC 3339 in UTC; without a zone where none is known; the time of day alone where the
// trace has no date; nil where it has no time.
func momentOf(t event.Time) *string {
	if !t.Known {
		return nil
	}
	s := t.T.UTC().Format(time.RFC3339Nano)
	switch {
	case t.Lacks&event.LacksDate != 0:
		s = t.T.Format("15:04:05.999999999")
	case t.Lacks&event.LacksZone != 0:
		s = t.T.Format("2006-01-02T15:04:05.999999999")
	}
	return &s
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

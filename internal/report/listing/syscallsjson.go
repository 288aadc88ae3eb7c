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
	doc := SyscallsDocument{Schema: SyscallsSchema, Tool: show.Tool{Version: o.Version}, Traces: []traceRow{}}
	for _, s := range traces {
		doc.Traces = append(doc.Traces, newTraceRow(s))
	}
	return show.EncodeJSON(w, doc)
}

// SyscallsDocument is traces of system calls for programs.
type SyscallsDocument struct {
	Schema string     `json:"schema"` // which document this is
	Tool   show.Tool  `json:"tool"`   // what made the document
	Traces []traceRow `json:"traces"` // in the order of the inputs
}

// traceRow is one trace.
type traceRow struct {
	Path string `json:"path"` // of the trace
	// That it was read from, if strace -ff wrote several: every row then has a file besides its
	// line.
	Files   []string            `json:"files"`
	Form    formRow             `json:"form"`    // how it was written
	Missing []string            `json:"missing"` // what it cannot tell because of the options it was written with
	Start   *traceTime          `json:"start"`   // of its first line
	End     *traceTime          `json:"end"`     // of its last line
	Threads int                 `json:"threads"` // that it shows
	Lines   int                 `json:"lines"`   // in its files
	Blank   int                 `json:"blank"`   // lines without any text
	Skipped int                 `json:"skipped"` // lines that could not be read
	Calls   map[string]countRow `json:"calls"`   // by name, as strace -c -w counts them
	// By name: waits of 10 ms and more of threads that have nothing to do.
	Idle     map[string]countRow `json:"idle"`
	Counted  bool                `json:"counted_by_strace"` // calls are those of tables, as nothing else is there
	Tables   []tableRow          `json:"tables"`            // rows of the tables that strace itself printed (-c, -C)
	Open     []callRow           `json:"open"`              // not returned at the end
	Slowest  []callRow           `json:"slowest"`           // at most ten of each kind, from 10 ms
	Convoys  []convoyRow         `json:"convoys"`           // locks that three threads or more wait for at the end
	Conns    []connRow           `json:"connections"`       // over which messages of D-Bus went
	DBus     []messageRow        `json:"dbus"`              // messages of D-Bus
	DBusLeft int                 `json:"dbus_left"`         // messages that are not listed, beyond the first 50 000
}

// formRow is with which options of strace a trace was written, as far as its first lines show.
type formRow struct {
	// "[pid N]" on stderr, "N" in a file, "file" where every thread has a file of its own (-ff);
	// empty without -f.
	PID   string `json:"pid"`
	Comms bool   `json:"comms"` // -Y
	// "-t", "-tt" (any fraction), "-ttt"; empty without an absolute time.
	Clock    string `json:"clock"`
	Relative bool   `json:"relative"`       // -r
	Took     bool   `json:"durations"`      // -T
	Labels   string `json:"labels"`         // "-y" or "-yy"; empty without
	Hex      bool   `json:"hex"`            // -x or -xx
	Names    bool   `json:"argument_names"` // -N
	Stacks   bool   `json:"stacks"`         // -k
	Colours  bool   `json:"colours"`        // --color
	// -s: how long the longest string is that was cut; 0 when none was.
	Strings int `json:"string_limit"`
}

// countRow counts calls of one name.
type countRow struct {
	Count  int     `json:"count"`         // calls that returned
	Errors int     `json:"errors"`        // calls that failed
	Total  float64 `json:"total_seconds"` // as far as the trace tells
	Max    float64 `json:"max_seconds"`   // the longest
}

// tableRow is a row of a table of strace.
type tableRow struct {
	Table int `json:"table"` // a trace holds one for each ABI: 0 is the first
	// "32 bit mode", if a trace holds several; empty otherwise.
	Title  string `json:"title"`
	Name   string `json:"name"`   // of the call; "total" in the last row of each table
	Count  int    `json:"count"`  // calls
	Errors int    `json:"errors"` // calls that failed
	// CPU time in the kernel, or with -w the time from entry to return.
	Seconds float64 `json:"seconds"`
	Min     float64 `json:"min_seconds"`      // shortest
	Max     float64 `json:"max_seconds"`      // longest
	Wall    float64 `json:"wall_seconds"`     // wall-total, which strace prints since 7.1
	WallMax float64 `json:"wall_max_seconds"` // wall-max, which strace prints since 7.1
}

func newTableRow(n *traces.CallTotal) tableRow {
	return tableRow{
		n.Table, utf8Text(n.Title), utf8Text(n.Name), n.Calls, n.Errors,
		n.Total.Seconds(), n.Min.Seconds(), n.Max.Seconds(), n.Wall.Seconds(), n.WallMax.Seconds(),
	}
}

// callRow is a call that took long.
type callRow struct {
	Name     string     `json:"name"`                  // of the call
	PID      int        `json:"pid"`                   // of the thread
	Wait     string     `json:"wait"`                  // what it waits for
	Why      string     `json:"why,omitempty"`         // of a wait for a child: what that child is in
	Blocker  int        `json:"waits_for,omitempty"`   // the thread that a wait for a child ends at
	In       string     `json:"waits_in,omitempty"`    // the call that this thread is in
	Start    *traceTime `json:"start"`                 // when it began
	Age      *float64   `json:"age_seconds,omitempty"` // how long it had not returned when the trace ended
	Seconds  *float64   `json:"seconds,omitempty"`     // how long it took
	AtLeast  bool       `json:"at_least"`              // the duration is a lower bound
	AtMost   bool       `json:"at_most,omitempty"`     // the duration is an upper bound
	Args     string     `json:"args"`                  // as written
	Result   string     `json:"result,omitempty"`      // as written
	Delayed  bool       `json:"delayed"`               // strace delayed it (--inject)
	Injected bool       `json:"injected"`              // strace made up its result (--inject)
	File     string     `json:"file,omitempty"`        // of those of the trace, if it has several
	Line     int        `json:"line"`                  // in which it began
	EndLine  int        `json:"end_line,omitempty"`    // of the line that it returned in, if it is another one
}

// convoyRow is a lock that threads wait for.
type convoyRow struct {
	Address    string `json:"address"`               // of the lock
	Waiters    []int  `json:"waiters"`               // threads
	Holder     *int   `json:"holder"`                // a thread; null where nothing tells
	HolderCall string `json:"holder_call,omitempty"` // the call that it is in
	Certainty  string `json:"certainty"`             // whether the trace shows it
}

func newConvoyRow(v *syscalls.Convoy) convoyRow {
	r := convoyRow{utf8Text(v.Address), v.Waiters, nil, v.HolderCall, "inferred"}
	if v.Holder != 0 {
		r.Holder = &v.Holder
	}
	return r
}

// connRow is a connection of D-Bus.
type connRow struct {
	PID   int    `json:"pid"`   // of the process, or of the first thread seen in it
	FD    int    `json:"fd"`    // its file descriptor
	Inode string `json:"inode"` // empty without -y
	Path  string `json:"path"`  // of the socket; empty when the trace does not show it
	// The path or the handshake tell that this is a bus; otherwise only the form of the messages
	// does.
	Known bool `json:"known"`
	// Answers came whose number is cut off (-s) or was lost, so that an open call may have been
	// answered.
	Cut  bool `json:"answers_unreadable"`
	Deaf bool `json:"answers_not_traced"` // the trace holds no call that could bring the answers
	// Until the first answer; null where the trace does not show it.
	Shake   *float64    `json:"handshake_seconds"`
	Serials []serialRow `json:"serials"` // one for each sender
}

// serialRow is the numbers that one sender gave to its messages.
type serialRow struct {
	Direction string `json:"direction"` // seen from the traced process
	// As the bus names it; empty for the traced process, or when it is cut off.
	Sender  string `json:"sender"`
	Systemd bool   `json:"systemd"` // at least one message shows that systemd sent it
	Count   int    `json:"count"`   // messages
	First   uint32 `json:"first"`   // number that was seen
	Last    uint32 `json:"last"`    // number that was seen
	// 0xffffffff was followed by 0x80000000: systemd 242 or newer, or one with the fix.
	Wrapped bool     `json:"wrapped"`
	PerDay  *float64 `json:"per_day"`             // how fast they grow; null where the trace does not tell
	Left    *float64 `json:"seconds_to_overflow"` // at that rate; null where the trace does not tell
}

// messageRow is a message of D-Bus.
type messageRow struct {
	PID         int        `json:"pid"`                    // of the thread
	FD          int        `json:"fd"`                     // its file descriptor
	Direction   string     `json:"direction"`              // seen from the traced process
	Type        string     `json:"type"`                   // of message
	Serial      uint32     `json:"serial"`                 // its number
	ReplySerial uint32     `json:"reply_serial"`           // of the call that it answers; 0 for none
	Path        string     `json:"path"`                   // of the object
	Interface   string     `json:"interface"`              // of the object
	Member      string     `json:"member"`                 // method or signal
	ErrorName   string     `json:"error_name"`             // of an error
	Destination string     `json:"destination"`            // name on the bus
	Sender      string     `json:"sender"`                 // name on the bus
	Start       *traceTime `json:"start"`                  // when it was sent or received
	Answered    *float64   `json:"answered_after_seconds"` // null where no answer was seen
	// Of a call: whether it was answered; "blocked": it could not be sent; empty for everything
	// else.
	State string   `json:"state"`
	Age   *float64 `json:"age_seconds,omitempty"` // how long it had no answer when the trace ended
	Cut   bool     `json:"cut"`                   // -s cut it: its text ends in "…"
	File  string   `json:"file,omitempty"`        // of those of the trace, if it has several
	Line  int      `json:"line"`                  // that shows it
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

// traceTime is RFC 3339 in UTC; without a zone where none is known; the time of day alone where the
// trace has no date; null where it has no time.
type traceTime string

// momentOf is the time of a trace; nil where it has none.
func momentOf(t event.Time) *traceTime {
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
	return new(traceTime(s))
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

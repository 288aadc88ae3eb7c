package syscalls

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/parse/traces/dbus"
)

// Bus is the D-Bus conversation of a trace.
type Bus struct {
	Conns    []*BusConn
	Messages []*BusMessage // in the order of the trace
	Left     int           // messages that were counted and not kept
	waiting  int
}

// BusConn is one end of a connection to a bus, or to systemd itself.
type BusConn struct {
	PID   int // of the process, or of the first thread seen in it
	FD    int
	Inode string // empty without -y
	Path  string // of the socket; empty when the trace does not show it
	// Known says that the path or the handshake tell that this is a bus. Otherwise only the form of
	// the messages does.
	Known   bool
	Serials []*Serials
	// Unreadable says that answers came whose number is cut off (-s) or was lost, so that
	// an open call may have been answered.
	Unreadable bool
	// AuthAt is when one side began the handshake, AuthAnswered when the first answer to it was
	// there: the other side was not reading in between.
	AuthAt, AuthAnswered event.Time
	// AuthAge is how long a handshake without an answer had waited when the trace ended; 0 where
	// there was one, or nobody knows.
	AuthAge time.Duration
	// Deaf says that the trace holds no call that could bring the answers.
	Deaf bool

	authSent       bool // the traced side began the handshake
	raw            string
	pos            event.Pos
	sent, received dbus.Stream
	waiting        [2]map[uint32]*BusMessage // calls without an answer: sent, received
}

// Serials are the numbers that one sender gave to its messages on one connection. sd-bus calls them
// cookies.
type Serials struct {
	Sender          string // as the bus names it; empty for the traced process, or when it is cut off
	Sent            bool
	Systemd         bool // at least one message shows that systemd sent it
	Count           int
	First, Last     uint32
	FirstAt, LastAt event.Time
	Wrapped         bool // 0xffffffff was followed by 0x80000000: systemd >= 242, or one with the fix
	LastPos         event.Pos
	firstPos        event.Pos
	firstRaw        string
	lastRaw         string
	Mixed           bool // the numbers go up and down: several senders, or some messages are missing
}

// BusMessage is one message that went over a connection.
type BusMessage struct {
	dbus.Message
	Conn    *BusConn
	TID     int
	Sent    bool
	Blocked bool // the call that sends it did not return
	// Answer is the answer to a call, nil when none was seen; then Unsure says
	// that there may have been one.
	Answer *BusMessage
	Unsure bool
	Age    time.Duration // of a call without an answer: from the call to the end of the trace
	raw    string
}

// Open says that the message is a call to which no answer came, and the trace would show one.
func (m *BusMessage) Open() bool {
	return m.Type == dbus.Call && m.Flags&dbus.NoReply == 0 && m.Answer == nil && !m.Unsure
}

// Answered is the time to the answer; ok is false without one, or where the trace has no times.
func (m *BusMessage) Answered() (d time.Duration, ok bool) {
	if m.Answer == nil || m.At.IsZero() || m.Answer.At.IsZero() {
		return 0, false
	}
	return m.Answer.At.T.Sub(m.At.T), true
}

// Name is what the message says, as far as the trace shows it:
// "org.freedesktop.systemd1.Manager.StartTransientUnit".
func (m *BusMessage) Name() string {
	switch {
	case m.ErrorName != "":
		return m.ErrorName
	case m.Member != "" && m.Interface != "":
		return m.Interface + "." + m.Member
	}
	return cmp.Or(m.Member, m.Interface, m.Destination, m.Path)
}

// What is kept of a conversation.
const (
	maxBusKept    = 50_000
	maxBusWaiting = 1 << 16
	maxBusConns   = 4096
	maxSenders    = 64
	slowAnswer    = time.Second
)

// movingCalls says for every call that moves bytes over a connection, or from and to a file,
// whether it sends.
var movingCalls = map[string]bool{
	"write": true, "pwrite64": true, "writev": true, "send": true, "sendto": true, "sendmsg": true, "sendmmsg": true,
	"read": false, "pread64": false, "readv": false, "recv": false, "recvfrom": false, "recvmsg": false, "recvmmsg": false,
}

// directions are what a traced process does with a message, by the sides of a connection.
var directions = [2]string{"sent", "received"}

// sideOf is the place of a direction wherever both are kept: 0 for what is sent, 1 for what is
// received.
func sideOf(sent bool) int {
	if sent {
		return 0
	}
	return 1
}

// isBusPath knows the sockets of buses by their names: the system bus, the session
// buses (/run/user/1000/bus), and systemd's own, on which systemctl calls it.
func isBusPath(p string) bool {
	return strings.Contains(p, "dbus") || strings.HasSuffix(p, "/bus") || p == "/run/systemd/private"
}

// mayStartBus tells cheaply that a call of an unknown descriptor may move the start of a message or
// of a handshake.
func mayStartBus[T string | []byte](args T) bool {
	i := indexOf(args, iovBase)
	if i >= 0 {
		i += len(iovBase) - 1
	} else if i = indexOf(args, `"`); i < 0 {
		return false
	}
	if i+2 >= len(args) {
		return false
	}
	for _, start := range [...]string{`l\`, `B\`, `\0`, "AUTH", `\x6c`, `\x42`, `\x00`, `\x41\x55\x54\x48`} {
		if s := args[i+1:]; len(s) >= len(start) && string(s[:len(start)]) == start {
			return true
		}
	}
	return false
}

const iovBase = `iov_base="`

// indexOf is strings.Index and bytes.Index.
func indexOf[T string | []byte](s T, what string) int {
	if b, ok := any(s).([]byte); ok {
		return bytes.Index(b, []byte(what))
	}
	return strings.Index(string(s), what)
}

// readBus reads what one call moved over h, if that is or may be a bus. It returns
// the messages whose story it ends: calls that are answered now.
func (t *Trace) readBus(s *traces.Syscall, p *process, fd traces.FD, h *handle) []*BusMessage {
	sent, isMove := movingCalls[s.Name]
	if !isMove || h != nil && h.kind != unknownHandle && h.kind != unixSocket {
		return nil
	}
	if h == nil || h.conn == nil {
		if h = t.openConn(s, p, fd, h); h == nil {
			return nil
		}
	}
	c := h.conn
	c.Known = c.Known || isBusPath(h.path)
	c.Path, c.Inode = cmp.Or(c.Path, h.path), cmp.Or(c.Inode, h.inode)
	n := int64(-1)
	if s.Returned && s.Errno == "" && !strings.HasSuffix(s.Name, "mmsg") {
		moved, ok := leadingInt(s.Result)
		if !ok {
			return nil
		}
		n = int64(moved)
	}
	stream, at := &c.sent, s.Start
	if !sent {
		stream = &c.received
		if s.HasDuration {
			at = at.Add(s.Duration)
		}
	}
	bufs := traces.Buffers(s.Name, s.Args, n)
	var found []dbus.Message
	switch {
	case s.Errno != "" || s.Injected, !s.Returned && !sent:
		return nil
	case s.Returned:
		lost := stream.Lost
		found = stream.Add(nil, bufs, s.Pos, at)
		if stream.Lost > lost && !sent {
			t.markUnsure(c, 0)
		}
	default:
		found = stream.Peek(bufs, s.Pos, at)
	}
	c.Known = c.Known || stream.Auth
	if s.Returned && n != 0 && c.followHandshake(s, stream.Auth, sent, at) {
		t.addConn(c)
	}
	var ended []*BusMessage
	for i := range found {
		if !c.Known && c.Serials == nil && !found[i].Proven() {
			continue
		}
		if done := t.addMessage(c, s, &found[i], sent); done != nil {
			ended = append(ended, done)
		}
	}
	return ended
}

// followHandshake follows the handshake, as far as: when did it begin, and when did the other side
// first say anything. It says whether this is the beginning.
func (c *BusConn) followHandshake(s *traces.Syscall, auth, sent bool, at event.Time) bool {
	switch {
	case !c.AuthAt.Known && auth && at.Known:
		c.AuthAt, c.authSent, c.pos, c.raw = at, sent, s.Pos, s.Raw
		return true
	case c.AuthAt.Known && !c.AuthAnswered.Known && sent != c.authSent:
		c.AuthAnswered = at
	}
	return false
}

// Handshake is how long the other side took to answer the handshake; ok is false where the trace
// shows none, or no answer.
func (c *BusConn) Handshake() (d time.Duration, ok bool) {
	if !c.AuthAt.Known || !c.AuthAnswered.Known {
		return 0, false
	}
	return max(0, c.AuthAnswered.T.Sub(c.AuthAt.T)), true
}

// openConn gives a descriptor a connection when the call looks like one of a bus.
func (t *Trace) openConn(s *traces.Syscall, p *process, fd traces.FD, h *handle) *handle {
	known := h != nil && isBusPath(h.path)
	if !known && !mayStartBus(s.Args) || t.opened >= maxBusConns {
		return nil
	}
	if h == nil {
		h = &handle{}
		p.setHandle(fd.N, h)
	}
	h.conn = &BusConn{PID: p.pid, FD: fd.N, Inode: h.inode, Path: h.path}
	t.opened++
	return h
}

// addMessage files one message; it returns a call that this one answers.
func (t *Trace) addMessage(c *BusConn, s *traces.Syscall, head *dbus.Message, sent bool) *BusMessage {
	m := &BusMessage{Message: *head, Conn: c, TID: s.PID, Sent: sent, Blocked: !s.Returned}
	t.addConn(c)
	if len(t.Bus.Messages) < maxBusKept {
		t.Bus.Messages = append(t.Bus.Messages, m)
	} else {
		t.Bus.Left++
	}
	side := sideOf(sent)
	switch {
	case m.Type == dbus.Call && m.Flags&dbus.NoReply == 0:
		if t.Bus.waiting < maxBusWaiting {
			t.Bus.waiting++
			m.raw = s.Raw
			c.waiting[side][m.Serial] = m
		}
	case m.Type == dbus.Return || m.Type == dbus.Error:
		call := c.waiting[1-side][m.ReplySerial]
		if m.ReplySerial == 0 {
			t.markUnsure(c, 1-side)
		} else if call != nil {
			delete(c.waiting[1-side], m.ReplySerial)
			t.Bus.waiting--
			call.Answer = m
			m.raw = s.Raw
			if s.EndRaw != "" {
				m.Pos, m.raw = s.EndPos, s.EndRaw
			}
			c.countSerial(m, m.raw, call.Sent && fromSystemd(&call.Message))
			return call
		}
	}
	c.countSerial(m, s.Raw, m.Type == dbus.Signal && strings.HasPrefix(m.Interface, "org.freedesktop.systemd1.") ||
		m.Sender == "org.freedesktop.systemd1")
	return nil
}

// addConn makes a connection part of the conversation.
func (t *Trace) addConn(c *BusConn) {
	if c.waiting[0] == nil {
		t.Bus.Conns = append(t.Bus.Conns, c)
		c.waiting = [2]map[uint32]*BusMessage{{}, {}}
	}
}

// fromSystemd says that the answer to a call comes from systemd.
func fromSystemd(call *dbus.Message) bool { return call.Destination == "org.freedesktop.systemd1" }

// markUnsure notes that an answer came and nobody knows to which call.
func (t *Trace) markUnsure(c *BusConn, side int) {
	c.Unreadable = true
	for _, m := range c.waiting[side] {
		m.Unsure = true
	}
}

// countSerial takes note of the message's serial.
func (c *BusConn) countSerial(m *BusMessage, raw string, systemd bool) {
	i := slices.IndexFunc(c.Serials, func(n *Serials) bool { return n.Sender == m.Sender && n.Sent == m.Sent })
	if i < 0 {
		if len(c.Serials) >= maxSenders {
			return
		}
		i = len(c.Serials)
		c.Serials = append(
			c.Serials,
			&Serials{Sender: m.Sender, Sent: m.Sent, First: m.Serial, FirstAt: m.At, firstPos: m.Pos, firstRaw: raw},
		)
	} else if last := c.Serials[i].Last; m.Serial <= last {
		if last > 0xfffffff0 && m.Serial >= 1<<31 && m.Serial < 1<<31+0x10000 {
			c.Serials[i].Wrapped = true
		} else {
			c.Serials[i].Mixed = true
		}
	}
	n := c.Serials[i]
	n.Systemd = n.Systemd || systemd
	n.Count++
	n.Last, n.LastAt, n.LastPos, n.lastRaw = m.Serial, m.At, m.Pos, raw
}

// rateSpan is how long a sender must have been watched for a rate: a few seconds hold one start of
// a container.
const rateSpan = time.Minute

// Rate is how many serials a day the sender uses; ok is false where the trace does not tell.
func (n *Serials) Rate() (perDay float64, ok bool) {
	if n.Count < 2 || n.Mixed || n.Wrapped || n.FirstAt.IsZero() || n.LastAt.IsZero() {
		return 0, false
	}
	span := n.LastAt.T.Sub(n.FirstAt.T)
	return float64(n.Last-n.First) / span.Hours() * 24, span >= rateSpan
}

// Left is how long it takes, at that rate, until the serial reaches 2^32. Systemd
// before 242 then stops answering (systemd/systemd#11809); after it, it goes on at 2^31.
func (n *Serials) Left() (left time.Duration, ok bool) {
	rate, ok := n.Rate()
	if !ok || rate <= 0 {
		return 0, false
	}
	hours := float64(1<<32-int64(n.Last)) / rate * 24
	const century = 24 * 365 * 100
	if hours > century {
		return 0, false
	}
	return time.Duration(hours * float64(time.Hour)), true
}

// nearOverflow is the cookie from which on systemd is about to reach 2^32; the
// high bit is set for good after a wrap, so that 2^31 alone says nothing.
const nearOverflow = 0xf0000000

// busEvent makes an event of a call that waited long for its answer, or still does.
func busEvent(m *BusMessage) event.Event {
	e := event.Event{Kind: event.KindBusCall, Component: "process", Source: "strace", Start: m.At, Open: m.Answer == nil}
	e.IDs.TID = m.TID
	e.Fields = []event.Field{
		event.FieldMember.Text(m.Member), event.FieldInterface.Text(m.Interface), event.FieldPath.Text(m.Path),
		event.FieldDestination.Text(m.Destination),
		event.FieldDirection.Text(directions[sideOf(m.Sent)]),
		event.FieldSerial.Number(float64(m.Serial)),
		event.FieldAnswered.Bool(m.Answer != nil), event.FieldBlocked.Bool(m.Blocked),
	}
	e.Text = "D-Bus call " + cmp.Or(m.Name(), "serial "+strconv.FormatUint(uint64(m.Serial), 10))
	e.Evidence = []event.Quote{{Pos: m.Pos, Text: m.raw}}
	switch {
	case m.Answer != nil:
		e.End = m.Answer.At
		e.AddFields(event.FieldError.Text(m.Answer.ErrorName))
		e.Evidence = append(e.Evidence, event.Quote{Pos: m.Answer.Pos, Text: m.Answer.raw})
	case m.Blocked:
		e.Text += " cannot be sent"
	case m.Sent:
		e.Text += " has no answer"
	default:
		e.Text += " is not answered"
	}
	if m.Answer == nil && !m.At.IsZero() {
		e.End = m.At.Add(m.Age)
	}
	return e
}

// isPrivate says that the connection is one of a client that calls systemd directly and goes away
// again, as systemctl does: it has cookies of its own, which never grow large.
func (c *BusConn) isPrivate() bool { return c.Path == "/run/systemd/private" }

// handshakeEvent makes an event of a handshake that was answered late, or not at all.
func handshakeEvent(c *BusConn) event.Event {
	e := event.Event{
		Kind: event.KindBusCall, Component: "process", Source: "strace", Start: c.AuthAt, End: c.AuthAnswered,
		Open: c.AuthAge > 0,
	}
	if e.Open {
		e.End = c.AuthAt.Add(c.AuthAge)
	}
	e.IDs.PID = c.PID
	e.Fields = []event.Field{
		event.FieldMember.Text("AUTH"), event.FieldPath.Text(c.Path),
		event.FieldDirection.Text(directions[sideOf(c.authSent)]), event.FieldAnswered.Bool(!e.Open),
		event.FieldBlocked.Bool(false),
	}
	e.Text = "D-Bus handshake on " + cmp.Or(c.Path, "fd "+strconv.Itoa(c.FD))
	if e.Open {
		e.Text += " has no answer"
	}
	e.Evidence = []event.Quote{{Pos: c.pos, Text: c.raw}}
	return e
}

// cookieEvent says how far systemd has counted on a connection, and how long the rest lasts at the
// rate of the trace.
func cookieEvent(c *BusConn, n *Serials) event.Event {
	e := event.Event{Kind: event.KindCookie, Component: "systemd", Source: "strace", Start: n.LastAt}
	e.Text = "systemd's bus cookie is " + strconv.FormatUint(uint64(n.Last), 10)
	e.Fields = []event.Field{
		event.FieldCookie.Number(float64(n.Last)),
		event.FieldFirst.Number(float64(n.First)),
		event.FieldOverflow.Bool(false), event.FieldWrapped.Bool(n.Wrapped),
		event.FieldConnection.Text(cmp.Or(c.Path, "fd "+strconv.Itoa(c.FD))),
	}
	e.Evidence = []event.Quote{{Pos: n.LastPos, Text: n.lastRaw}}
	rate, ok := n.Rate()
	left, reached := n.Left()
	if !ok || !reached {
		return e
	}
	e.Start, e.End = n.FirstAt, n.LastAt
	e.AddFields(event.FieldRate.Number(rate/(24*60*60)), event.FieldLeft.Duration(left))
	e.Text += fmt.Sprintf(", %.0f more a day in the %v of the trace", rate, e.Duration().Round(time.Second))
	e.Evidence = append([]event.Quote{{Pos: n.firstPos, Text: n.firstRaw}}, e.Evidence...)
	return e
}

package listing

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/syscalls"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/parse/traces/dbus"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// SyscallsText writes traces for people: what was still blocked first, then what took
// long, then the rest.
func SyscallsText(w io.Writer, traces []*syscalls.Summary, o show.Options) error {
	out := bufio.NewWriter(w)
	t := newText(out, o)
	for i, s := range traces {
		if i > 0 {
			fmt.Fprintln(out)
		}
		t.writeTrace(s)
	}
	return out.Flush()
}

func (t text) writeTrace(s *syscalls.Summary) {
	words := []string{show.Plural(countReturned(s), "call") + " returned"}
	if s.Threads > 0 {
		words = append(words, show.Plural(s.Threads, "thread"))
	}
	if len(s.Files) > 1 {
		words = append(words, show.Plural(len(s.Files), "file"))
	}
	if span := traceSpan(s); span != "" {
		words = append(words, span)
	}
	if s.Skipped > 0 {
		words = append(words, show.Plural(s.Skipped, "line")+" skipped, first "+s.FirstSkip)
	}
	t.WritePara("", t.Styles.Heading, s.Path+": "+strings.Join(words, ", "))
	form := cmp.Or(strings.Join(formWords(&s.Form), " "), "plain")
	if s.Counted {
		form = "-c, a table only"
	}
	t.WritePara(show.Margin+"form     ", t.Plain, form)
	t.writeOpenCalls(s)
	t.writeSlowCalls(s)
	t.writeConversation(s)
	t.writeNoSlowCall(s)
	t.writeMissing(s)
	t.writeIdleWaits(s)
	t.writeCallTable(s)
}

// writeNoSlowCall says that nobody waited for a slow call, where the trace would show one.
func (t text) writeNoSlowCall(s *syscalls.Summary) {
	slow := len(s.Slow) > 0 || isBusSlow(s) ||
		slices.ContainsFunc(s.Open, func(c syscalls.TracedCall) bool { return c.Wait != syscalls.IdleWait })
	timed := s.Form.Took || s.Form.Clock != "" || s.Form.Relative
	if slow || !timed || len(s.Calls) == 0 || s.Counted {
		return
	}
	fmt.Fprintln(t.W)
	t.WritePara(show.Margin, t.Plain, "No call took 10 ms or more, except waits of threads that have nothing to do "+
		"or wait for a thread that the trace does not show.")
}

// isBusSlow says whether somebody on a bus answered late or not at all.
func isBusSlow(s *syscalls.Summary) bool {
	return slices.ContainsFunc(s.Bus.Messages, isMessageSlow) || slices.ContainsFunc(s.Bus.Conns, func(c *syscalls.BusConn) bool {
		d, _ := c.Handshake()
		return max(d, c.AuthAge) >= slowCallShown
	})
}

// isMessageSlow says whether a message was answered late, not at all, or not even sent.
func isMessageSlow(m *syscalls.BusMessage) bool {
	took, _ := m.Answered()
	return m.Open() || m.Blocked || took >= slowCallShown
}

// writeMissing says what the trace does not show.
func (t text) writeMissing(s *syscalls.Summary) {
	missing := s.Missing()
	if len(missing) == 0 {
		return
	}
	t.WriteHeading("MISSING")
	for _, m := range missing {
		t.WritePara(show.Margin+"- ", t.Warning, m)
	}
}

// countReturned counts the calls that ended.
func countReturned(s *syscalls.Summary) (n int) {
	for _, c := range s.Calls {
		n += c.Count
	}
	return n
}

// traceSpan is when the trace was taken, as far as it was written.
func traceSpan(s *syscalls.Summary) string {
	if !s.First.Known || !s.Last.Known {
		return ""
	}
	span := s.Last.T.Sub(s.First.T)
	return momentText(s.First) + " – " + momentText(s.Last) + " (" + cmp.Or(show.Duration(span, false), "0s") + ")"
}

// momentText is a time as far as it was written; the time of day of a trace has no zone.
func momentText(t event.Time) string {
	const micro = "15:04:05.000000"
	if !t.Known {
		return "-"
	}
	return asWritten(t, micro)
}

// formWords are the options of strace that the trace was written with.
func formWords(f *traces.Form) (words []string) {
	for _, w := range []struct {
		set  bool
		word string
	}{
		{f.PID == "file", "-ff"},
		{f.PID != "" && f.PID != "file", "-f"},
		{f.Comms, "-Y"},
		{f.Relative, "-r"},
		{f.Clock != "", f.Clock},
		{f.Took, "-T"},
		{f.Labels != "", f.Labels},
		{f.Hex, "-x"},
		{f.Arguments, "-N"},
		{f.Stacks, "-k"},
		{f.Colours, "--color"},
		{f.Strings > 0, "-s " + strconv.Itoa(f.Strings)},
	} {
		if w.set {
			words = append(words, w.word)
		}
	}
	if f.PID == "[pid N]" {
		words = append(words, "(from stderr)")
	}
	return words
}

func (t text) writeOpenCalls(s *syscalls.Summary) {
	if len(s.Open) == 0 {
		return
	}
	t.WriteHeading("STILL BLOCKED AT THE END (calls: %d)", len(s.Open))
	idle := map[string][]*syscalls.TracedCall{}
	for i := range s.Open {
		c := &s.Open[i]
		if c.Wait == syscalls.IdleWait {
			idle[c.Name] = append(idle[c.Name], c)
			continue
		}
		head := c.Name + ", " + threadName(c.PID) + ": " + ageText(&c.Syscall) + " (" + string(c.Wait) + ")"
		if c.Why != "" {
			head += "; " + c.Why
		}
		t.WritePara(show.Margin, t.Critical, head)
		t.WriteQuotes([]event.Quote{{Pos: c.Pos, Text: c.Raw}}, 1)
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		longest := slices.MaxFunc(idle[name], func(a, b *syscalls.TracedCall) int {
			return cmp.Compare(a.Duration, b.Duration)
		})
		threads := show.Plural(len(idle[name]), "thread")
		t.WritePara(show.Margin, t.Plain, "idle: "+threads+" in "+name+", longest "+ageText(&longest.Syscall))
	}
	for i := range s.Convoys {
		t.WritePara(show.Margin, t.Warning, convoyText(&s.Convoys[i]))
	}
}

// convoyText says which calls wait for one lock, and who may hold it.
func convoyText(v *syscalls.Convoy) string {
	words := fmt.Sprintf("%d of these wait for one lock, at %s", len(v.Waiters), v.Address)
	if v.Holder == 0 {
		return words + "; the trace does not show who holds it"
	}
	return words + fmt.Sprintf("; thread %d, in %s, is the only one of the process that is blocked in something else: "+
		"it may hold the lock (inferred)", v.Holder, v.HolderCall)
}

func threadName(pid int) string {
	if pid == 0 {
		return "the only thread"
	}
	return "thread " + strconv.Itoa(pid)
}

// ageText is how long an open call has lasted: at least, always.
func ageText(c *traces.Syscall) string {
	switch {
	case !c.HasDuration:
		return "for an unknown time"
	case c.Duration == 0:
		return "for an unknown time, it is the last line"
	}
	return show.Duration(c.Duration, true)
}

func (t text) writeSlowCalls(s *syscalls.Summary) {
	if len(s.Slow) == 0 {
		return
	}
	most := 3
	if t.Verbose {
		most = len(s.Slow)
	}
	t.WriteHeading("SLOWEST CALLS (idle waits left out)")
	shown := map[syscalls.Wait]int{}
	for i := range s.Slow {
		c := &s.Slow[i]
		if shown[c.Wait]++; shown[c.Wait] > most {
			continue
		}
		took := show.Duration(c.Duration, c.AtLeast)
		if c.AtMost > 0 {
			took = "≤" + show.Duration(c.Duration, false)
		}
		head := fmt.Sprintf("%s in %s, %s", took, c.Name, threadName(c.PID))
		switch {
		case c.Start.Known:
			head += ", " + momentText(c.Start)
		case c.HasSince:
			head += ", " + cmp.Or(show.Duration(c.Since, false), "0s") + " after the first line"
		}
		head += " (" + string(c.Wait) + ")"
		if made := injectionText(&c.Syscall); made != "" {
			head += "; " + made
		}
		t.WritePara(show.Margin, t.Warning, head)
		quotes := []event.Quote{{Pos: c.Pos, Text: c.Raw}}
		if c.EndRaw != "" {
			quotes = append(quotes, event.Quote{Pos: c.EndPos, Text: c.EndRaw})
		}
		t.WriteQuotes(quotes, 2)
	}
	for _, kind := range syscalls.Waits {
		if left := shown[kind] - most; left > 0 {
			t.WritePara(show.Margin, t.Plain, fmt.Sprintf("%d more of kind %s (--verbose shows them)", left, kind))
		}
	}
}

// injectionText says that a call is not what it seems: strace injected its delay or its result.
func injectionText(c *traces.Syscall) string {
	switch {
	case c.Injected:
		return "made by the tester: strace injected the result"
	case c.Delayed:
		return "made by the tester: strace injected the delay"
	}
	return ""
}

// writeConversation writes what was said over D-Bus: by connection what is known of it, then the
// messages that were answered late or not at all.
func (t text) writeConversation(s *syscalls.Summary) {
	if len(s.Bus.Conns) == 0 {
		return
	}
	t.WriteHeading("D-BUS (messages: %d)", len(s.Bus.Messages)+s.Bus.Left)
	for _, c := range s.Bus.Conns {
		t.writeConn(c)
	}
	unsure := 0
	for _, m := range s.Bus.Messages {
		if m.Unsure {
			unsure++
		}
		switch {
		case m.Open() || m.Blocked:
			t.WritePara(show.Margin, t.Critical, messageText(m))
		case isMessageSlow(m) || t.Verbose:
			t.WritePara(show.Margin, t.Plain, messageText(m))
		}
	}
	if unsure > 0 {
		t.WritePara(show.Margin, t.Plain, show.Plural(unsure, "call")+" with an answer that may belong to another call")
	}
}

// writeConn writes what a trace shows of one connection.
func (t text) writeConn(c *syscalls.BusConn) {
	const indent = show.Margin + "  "
	name := fmt.Sprintf("fd %d of process %d", c.FD, c.PID)
	if c.Path != "" {
		name += ", " + c.Path
	}
	if !c.Known {
		name += " (known by its messages alone)"
	}
	t.WritePara(show.Margin, t.Label, name)
	shake := "handshake at " + momentText(c.AuthAt)
	if d, ok := c.Handshake(); ok && d >= slowCallShown {
		t.WritePara(indent, t.Critical, shake+": answered only after "+show.Duration(d, false))
	} else if c.AuthAge >= slowCallShown {
		t.WritePara(indent, t.Critical, shake+": NO ANSWER, "+show.Duration(c.AuthAge, true))
	}
	for _, n := range c.Serials {
		t.WritePara(indent, t.Plain, serialText(n))
	}
	if c.Deaf {
		t.WritePara(indent, t.Plain, "the trace holds no calls that would bring the answers: whether they came is unknown")
	}
}

// slowCallShown is how late an answer must come to be listed without --verbose.
const slowCallShown = 100 * time.Millisecond

func serialText(n *syscalls.Serials) string {
	sender := n.Sender
	switch {
	case n.Systemd && sender == "":
		sender = "systemd"
	case n.Systemd:
		sender += " (systemd)"
	}
	if sender != "" {
		sender = " of " + sender
	}
	s := fmt.Sprintf("%s %s%s, serial %d … %d", direction(n.Sent), show.Plural(n.Count, "message"), sender, n.First, n.Last)
	if n.Wrapped {
		s += "; 4294967295 was followed by 2147483648: it has the fix for the cookie overflow"
	}
	if left, ok := n.Left(); ok && n.Systemd {
		rate, _ := n.Rate()
		s += fmt.Sprintf("; %.0f a day, 2^32 is reached %s after this trace", rate, daysText(left))
		if at := n.LastAt; at.Lacks&event.LacksDate == 0 {
			s += ", on " + at.T.UTC().Add(left).Format(time.DateOnly)
		}
	}
	return s
}

func daysText(d time.Duration) string {
	if d < 48*time.Hour {
		return show.Duration(d, false)
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}

var busTypes = [...]string{"", "call", "return", "error", "signal"}

// lineText is where a message stands; the file is in the heading.
func lineText(m *syscalls.BusMessage) string { return "line " + strconv.Itoa(m.Pos.Line) }

func messageText(m *syscalls.BusMessage) string {
	s := fmt.Sprintf("%s %s %d %s %s (%s)", momentText(m.At), direction(m.Sent), m.Serial, busTypes[m.Type],
		cmp.Or(m.Name(), "-"), lineText(m))
	took, answered := m.Answered()
	switch {
	case m.Blocked:
		s += ": cannot be sent, the call is still blocked"
	case answered:
		after := cmp.Or(show.Duration(took, false), "0s")
		s += fmt.Sprintf(": answered after %s by serial %d (%s)", after, m.Answer.Serial, lineText(m.Answer))
	case m.Answer != nil:
		s += fmt.Sprintf(": answered by serial %d (%s)", m.Answer.Serial, lineText(m.Answer))
	case m.Open():
		s += ": NO ANSWER, " + cmp.Or(show.Duration(m.Age, true), "≥0s")
	case m.Unsure:
		s += ": the answer may belong to another call"
	case m.Type == dbus.Return || m.Type == dbus.Error:
		s += fmt.Sprintf(": answers %d", m.ReplySerial)
	}
	return s
}

func (t text) writeIdleWaits(s *syscalls.Summary) {
	if len(s.Idle) == 0 {
		return
	}
	var words []string
	for _, name := range namesByTotal(s.Idle) {
		n := s.Idle[name]
		words = append(words, fmt.Sprintf("%s %d× (longest %s)", name, n.Count, cmp.Or(show.Duration(n.Max, false), "-")))
	}
	t.WriteHeading("IDLE WAITS (of 10 ms and more)")
	t.WritePara(show.Margin, t.Plain, strings.Join(words, ", "))
}

// namesByTotal are the names of a table, the one with the most time first.
func namesByTotal(table map[string]*syscalls.CallCount) []string {
	return slices.SortedFunc(maps.Keys(table), func(a, b string) int {
		x, y := table[a], table[b]
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(y.Count, x.Count), cmp.Compare(a, b))
	})
}

func (t text) writeCallTable(s *syscalls.Summary) {
	if len(s.Calls) == 0 {
		return
	}
	switch wall := slices.ContainsFunc(s.Tables, func(n traces.CallTotal) bool { return n.Wall > 0 }); {
	case s.Counted && wall:
		t.WriteHeading("CALLS (as strace counted them)")
	case s.Counted:
		t.WriteHeading("CALLS (as strace counted them; seconds are CPU time of the kernel unless -w was given)")
	default:
		t.WriteHeading("CALLS (as strace -c -w counts)")
	}
	fmt.Fprintf(t.W, "%s%s%12s%12s%10s%8s\n", show.Margin, show.Pad("CALL", 24), "SECONDS", "LONGEST", "CALLS", "ERRORS")
	names := namesByTotal(s.Calls)
	left := 0
	if !t.Verbose && len(names) > maxRows {
		names, left = names[:maxRows], len(names)-maxRows
	}
	for _, name := range names {
		n := s.Calls[name]
		errs := ""
		if n.Errors > 0 {
			errs = strconv.Itoa(n.Errors)
		}
		row := fmt.Sprintf("%s%s%12.6f%12.6f%10d%8s", show.Margin, show.Pad(show.Escape(name, show.MaxCell), 24),
			n.Total.Seconds(), n.Max.Seconds(), n.Count, errs)
		fmt.Fprintln(t.W, strings.TrimRight(row, " "))
	}
	if left > 0 {
		t.WritePara(show.Margin, t.Plain, fmt.Sprintf("%d more names (--verbose shows them)", left))
	}
	if len(s.Tables) > 0 && !s.Counted {
		differ := s.ListDifferences()
		if len(differ) == 0 {
			t.WritePara(show.Margin, t.Plain, "strace's own table at the end of the trace has the same numbers")
			return
		}
		t.WritePara(show.Margin, t.Warning, "strace's own table has other numbers of "+show.JoinFirst(differ, 5, ", ")+
			": a filter (-z, -Z, -e status) hid calls, or lines are missing")
	}
}

// maxRows is how many names the table shows without --verbose.
const maxRows = 15

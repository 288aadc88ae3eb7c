package event

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is one typed thing on the timeline. Everything that lasted is an
// interval: a call, a lock hold, a syscall, a goroutine's wait.
type Event struct {
	Kind Kind
	// Host is the node that its line names, as the carrier wrote it; empty when the
	// line names none.
	Host      string
	Component string // who did it, as "kubelet", "containerd", "shim", "systemd" or "kernel"

	// Start and End are the interval. A zero End is an instant at Start; a
	// zero Start is an event without a known time.
	Start, End Time
	// Open says that the end was not seen: End is then the last moment at which
	// it was still going on, so that End-Start is "at least".
	Open bool
	// Begun says that the start was not seen: Start is then the first moment
	// at which it was already going on.
	Begun bool
	Level Level
	// Basis says where year, zone or date of the interval come from. The timeline sets
	// it; empty means that they were written.
	Basis string

	IDs    IDs
	Fields []Field
	// Text describes the event in a few words, for the timeline and the chain. It
	// holds log text: renderers escape it.
	Text string
	// Evidence is the lines the event was made from, as written, first the one
	// that proves it best. Never empty.
	Evidence []Quote
	// Source is the kind of input it was read from, as rules name inputs:
	// "containerd.log", "goroutines.containerd", "strace".
	Source string

	// Span asks the timeline to pair this event with another one of the same
	// key: a begin with the next end. It is empty for an event that is whole.
	Span Span
}

// Span is one edge of an interval whose two ends were written separately.
type Span struct {
	Key  string // "cri/UpdateContainerResources/<container id>"
	Edge Edge
	// Foreign says that the other end is written by another program: an open
	// span then counts only where the bundle holds such ends at all.
	Foreign bool
	// State says that the edges are those of a state which more than one writer may
	// report: another begin while it lasts, or another end after it, adds nothing.
	State bool
}

// Edge says which end of an interval an event is.
type Edge uint8

// The two ends. Whole is the zero value: the event needs no partner.
const (
	Whole Edge = iota
	Begin
	End
)

// IDs are the names by which events of different components belong together.
// An empty or zero id is unknown.
type IDs struct {
	Container string // 64 hex digits, or as many as were written
	Sandbox   string
	Pod       string // namespace/name
	PodUID    string
	PID       int
	TID       int
	Goroutine uint64
	Lock      string // address as printed, "0xc000130f80"
}

// New is an event of a kind with a text and fields; ids, times and evidence are for its maker to
// add.
func New(kind Kind, text string, fields ...Field) Event {
	return Event{Kind: kind, Text: text, Fields: fields}
}

// AddQuotes adds the evidence of another event to that of e. Copies of e keep theirs.
func (e *Event) AddQuotes(from *Event) {
	e.Evidence = append(slices.Clip(e.Evidence), from.Evidence...)
}

// AddFields adds to what the event has.
func (e *Event) AddFields(fields ...Field) { e.Fields = append(e.Fields, fields...) }

// FieldDuration is a field that holds a length of time, in seconds where it is a plain number. Ok
// is false for an event without it, and for text.
func (e *Event) FieldDuration(key Key) (d time.Duration, ok bool) {
	v, ok := e.Get(key)
	n, isNumber := v.Number()
	return time.Duration(math.Round(n * float64(time.Second))), ok && isNumber
}

// FieldInt is a field that holds a whole number; 0 when the event has none.
func (e *Event) FieldInt(key Key) int {
	v, _ := e.Get(key)
	n, _ := v.Number()
	return int(n)
}

// SetField puts a field into the event, in the place of one with the same key. Copies of an event
// share their fields, so the event gets fields of its own.
func (e *Event) SetField(f Field) {
	e.Fields = slices.Clone(e.Fields)
	if i := slices.IndexFunc(e.Fields, func(old Field) bool { return old.Key == f.Key }); i >= 0 {
		e.Fields[i] = f
		return
	}
	e.AddFields(f)
}

// AddText adds a field of text, unless the text is empty.
func (e *Event) AddText(key Key, s string) {
	if s != "" {
		e.AddFields(key.Text(s))
	}
}

// AddNumber adds the whole number that a text is, if it is one.
func (e *Event) AddNumber(key Key, s string) {
	if n, err := strconv.Atoi(s); err == nil {
		e.AddFields(key.Int(n))
	}
}

// Field is one typed value of an event.
type Field struct {
	Key   Key
	Value Value
}

// Text is a field of this name that holds text. The other types of values have their own method.
func (k Key) Text(s string) Field { return Field{k, String(s)} }

// Int is a field that holds a whole number.
func (k Key) Int(n int) Field { return Field{k, Int(int64(n))} }

// Number is a field that holds any number.
func (k Key) Number(n float64) Field { return Field{k, Number(n)} }

// Duration is a field that holds a length of time.
func (k Key) Duration(d time.Duration) Field { return Field{k, Duration(d)} }

// Bool is a field that holds yes or no.
func (k Key) Bool(b bool) Field { return Field{k, Bool(b)} }

// Get returns the value of a field, of an id, or of what every event has; [Kinds] declares them. Ok
// is false when the event does not carry it, as an instant carries no duration.
func (e *Event) Get(key Key) (v Value, ok bool) {
	for i := range e.Fields {
		if e.Fields[i].Key == key {
			return e.Fields[i].Value, true
		}
	}
	switch key {
	case FieldContainer:
		return textIfSet(e.IDs.Container)
	case FieldSandbox:
		return textIfSet(e.IDs.Sandbox)
	case FieldPod:
		return textIfSet(e.IDs.Pod)
	case FieldPodUID:
		return textIfSet(e.IDs.PodUID)
	case FieldPID:
		return Int(int64(e.IDs.PID)), e.IDs.PID != 0
	case FieldTID:
		return Int(int64(e.IDs.TID)), e.IDs.TID != 0
	case FieldGoroutine:
		return Int(int64(e.IDs.Goroutine)), e.IDs.Goroutine != 0
	case FieldLock:
		return textIfSet(e.IDs.Lock)
	case FieldDuration:
		return Duration(e.Duration()), !e.End.IsZero()
	case FieldOpen:
		return Bool(e.Open), true
	case FieldComponent:
		return textIfSet(e.Component)
	case FieldLevel:
		return String(e.Level.String()), e.Level != NoLevel
	case FieldSource:
		return textIfSet(e.Source)
	}
	return Value{}, false
}

func textIfSet(s string) (Value, bool) { return String(s), s != "" }

// Duration is End-Start, zero for an instant. AtLeast says whether it is a lower bound.
func (e *Event) Duration() time.Duration {
	if e.Start.IsZero() || e.End.IsZero() {
		return 0
	}
	return e.End.T.Sub(e.Start.T)
}

// AtLeast says that Duration is a lower bound: one of its ends was not seen. It is not when the
// start is only known to the minute or worse, as of a goroutine's wait: Duration is then the
// longest that it can have lasted up to End.
func (e *Event) AtLeast() bool { return (e.Open || e.Begun) && !e.HasVagueStart() }

// HasVagueStart says that Start is the earliest of the moments, a minute or more, between which the
// event began.
func (e *Event) HasVagueStart() bool {
	return !e.Begun && !e.End.IsZero() && e.Start.Prec >= time.Minute
}

// RaiseStart says that the event did not begin before a moment. It changes an event only whose
// start is vague and that can have begun before.
func (e *Event) RaiseStart(from time.Time) {
	if latest := e.Start.T.Add(e.Start.Prec); e.HasVagueStart() && e.Start.Lacks == 0 && from.After(e.Start.T) && !from.After(latest) {
		e.Start.T, e.Start.Prec = from, latest.Sub(from)
	}
}

// Last is the end of the interval, or its only moment.
func (e *Event) Last() Time {
	if e.End.IsZero() {
		return e.Start
	}
	return e.End
}

// Count is how many lines the event stands for: more than one where it says so by FieldRepeats.
func (e *Event) Count() int {
	if v, ok := e.Get(FieldRepeats); ok {
		if n, ok := v.Number(); ok && n > 1 {
			return int(n)
		}
	}
	return 1
}

// Pos is where the event's best line stands.
func (e *Event) Pos() Pos {
	if len(e.Evidence) == 0 {
		return Pos{}
	}
	return e.Evidence[0].Pos
}

// Compare is the total order of the timeline: time, then file, line and kind. Events
// without a time come last.
func Compare(a, b *Event) int {
	if az, bz := a.Start.IsZero(), b.Start.IsZero(); az != bz {
		if az {
			return 1
		}
		return -1
	}
	if c := a.Start.T.Compare(b.Start.T); c != 0 {
		return c
	}
	pa, pb := a.Pos(), b.Pos()
	return cmp.Or(cmp.Compare(pa.File, pb.File), cmp.Compare(pa.Line, pb.Line), cmp.Compare(pa.Message, pb.Message), cmp.Compare(a.Kind, b.Kind))
}

// EdgeOf says which end of an interval a text begins to tell of; Whole when none.
func EdgeOf(text, begin, end string) Edge {
	switch {
	case strings.HasPrefix(text, begin):
		return Begin
	case strings.HasPrefix(text, end):
		return End
	}
	return Whole
}

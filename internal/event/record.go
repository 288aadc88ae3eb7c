// Package event holds the words that every other package shares: where a thing
// was written ([Pos], [Quote]), what was written ([Record]), what could not be
// read ([Skip]) and what it means on the timeline ([Event]). It knows no log
// format and no rule, and imports the standard library only.
package event

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Pos is the place a fact was read from.
type Pos struct {
	File string // path inside the bundle, slash-separated
	Line int    // 1-based; 0 means the file as a whole
}

// String is "file:line", or the file alone.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Quote is a line of the bundle, or a part of it, exactly as written: Text is
// found in line Pos.Line of Pos.File.
type Quote struct {
	Pos  Pos
	Text string
}

// Record is one thing a program on the node wrote, as it wrote it.
type Record struct {
	Pos Pos
	// Lines is how many input lines it covers, at least 1.
	Lines int
	// Time is the stamp of the writer itself: of klog or logrus where the line
	// has one, else the carrier's.
	Time Time
	// Outer is the stamp of the carrier (journald, syslog) when the writer
	// stamped too; zero otherwise. A pair of both tells the zone of either. Alone it is what a line that is
	// no entry tells of the time at which the file was made.
	Outer Time
	// Uptime is what a clock that started with the boot showed when the line was written, or read by its
	// carrier; 0 when the line does not say. Beside a stamp of the wall it tells when the boot was.
	Uptime time.Duration
	Unit   string // who wrote it: "kubelet", "containerd", "systemd", "kernel"; empty when the line does not say
	Host   string // as the carrier names it; empty when it does not
	PID    int    // of the writer; 0 when the line does not say
	Level  Level
	// Text is the message: headers removed, escapes of the format undone,
	// otherwise untouched. Empty when the line was not wanted.
	Text string
	// Fields are the key=value pairs after the message, in written order, unquoted.
	Fields []Pair
	// Raw is the line as written, for quoting; at most MaxRaw bytes of it. Empty when the line was not wanted.
	Raw string
	// Pieces maps offsets of Text to lines, when the message was written in
	// several pieces; nil when all of it stands in Pos.
	Pieces []Piece
	// Wanted says that the line may matter: Text, Fields and Raw are set.
	Wanted bool
	// Repeats is how often a syslog daemon says that the message came, of which this line is all that was
	// kept ("message repeated 3 times"); 0 when it says nothing.
	Repeats int
	// Lost says that the message itself is not there: the carrier dropped it, or printed its size instead. Text holds nothing of it.
	Lost bool
}

// MaxRaw bounds Record.Raw. A goroutine dump on one line is longer; its frames are quoted piece by piece.
const MaxRaw = 16 << 10

// Piece is where a part of a message stands: from offset Off of Record.Text on, it is written at Pos.
type Piece struct {
	Off int
	Pos Pos
}

// Pair is a key and its value as logged.
type Pair struct{ Key, Value string }

// Field returns the value of the last pair with that key; loggers let the last win.
func (r *Record) Field(key string) (string, bool) {
	for _, pair := range slices.Backward(r.Fields) {
		if pair.Key == key {
			return pair.Value, true
		}
	}
	return "", false
}

// Lacks says which parts of a moment its writer left out.
type Lacks uint8

// What a stamp may lack. A stamp without a date lacks its year too.
const (
	LacksZone Lacks = 1 << iota
	LacksYear
	LacksDate
	// LacksBoot stands alone: T is the time since the machine booted, from 1 January of year 0 on.
	LacksBoot
)

// Time is a moment as its writer wrote it. While it lacks something, T is the
// clock face read as UTC: in year 0 when the year is missing, on 1 January of
// year 0 when the date is. The timeline fills what is lacking; from then on
// Lacks is 0 and T is the instant. The zero value means that no time was written.
type Time struct {
	//
	// Where an offset from UTC was written, a parser keeps it as T's location: it is
	// the same instant, and tells the zone of the node.
	T     time.Time
	Lacks Lacks
	// Prec is the resolution written, so that the moment lies in [T, T+Prec).
	// Zero means exact to the nanosecond.
	Prec time.Duration
	// Known says that the value is set; a clock face of year 0 is a valid one.
	Known bool
}

// At is an exact instant.
func At(t time.Time) Time { return Time{T: t.UTC(), Known: true} }

// IsZero says that no time was written.
func (t Time) IsZero() bool { return !t.Known }

// Plausible tells a moment that a node's clock may have shown from the zero times, overflowed numbers
// and clocks that nobody had set, which logs hold too: docker was first released in 2013.
func Plausible(t time.Time) bool {
	return t.Year() >= FirstPlausibleYear && t.Year() <= LastPlausibleYear
}

// The years of plausible moments.
const (
	FirstPlausibleYear = 2013
	LastPlausibleYear  = 2099
)

// Add shifts a known moment.
func (t Time) Add(d time.Duration) Time {
	if t.Known {
		t.T = t.T.Add(d)
	}
	return t
}

// Level is how serious a writer found its line.
type Level uint8

// Levels in rising order; NoLevel when the line does not say.
const (
	NoLevel Level = iota
	Trace
	Debug
	Info
	Warning
	Error
	Fatal
)

var levelNames = [...]string{"", "trace", "debug", "info", "warning", "error", "fatal"}

// String is the level's name in lower case, empty for NoLevel.
func (l Level) String() string { return levelNames[l] }

// Skip is input that could not be understood. It is an error that never ends a
// sequence. Lines is how many input lines are lost with it; 0 when it is a
// remark about a line that was used all the same.
type Skip struct {
	Pos    Pos
	Lines  int
	Reason string
}

// Error is "file:line: reason".
func (s *Skip) Error() string { return fmt.Sprintf("%s: %s", s.Pos, s.Reason) }

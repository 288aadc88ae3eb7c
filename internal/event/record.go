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
	// Message is which one it is of the messages that stand on one line, because a page or a chat
	// took the line breaks away; 0 is the first, and of every other line the only one.
	Message int
}

// WholeLine is the place without the message in its line.
func (p Pos) WholeLine() Pos { return Pos{File: p.File, Line: p.Line} }

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
	Rest bool // the line goes on with the message that the quote before it begins
}

// FirstMessages returns the quotes of the first messages of some evidence, at most that many
// messages, each with all its lines. Appending to the list leaves the evidence as it is.
func FirstMessages(quotes []Quote, most int) []Quote {
	for i, q := range quotes {
		if !q.Rest {
			most--
		}
		if most < 0 {
			return quotes[:i:i]
		}
	}
	return slices.Clip(quotes)
}

// Record is one thing a program on the node wrote, as it wrote it.
type Record struct {
	Pos Pos
	// Lines is how many input lines it covers, at least 1.
	Lines int
	// Time is the stamp of the writer itself: of klog or logrus where the line
	// has one, else the carrier's.
	Time Time
	// Outer is the stamp of the carrier (journald, syslog) when the writer stamped
	// too; zero otherwise. A line with both shows the zone of either. A line that is
	// no entry has it alone: the time at which the file was made.
	Outer Time
	// Uptime is the time since the boot when the line was written, or read by its
	// carrier; 0 when the line does not say. With a wall-clock stamp beside it, it
	// gives the time of the boot.
	Uptime time.Duration
	Unit   string // who wrote it, as "kubelet" or "kernel"; empty when the line does not say
	Host   string // as the carrier names it; empty when it does not
	PID    int    // of the writer; 0 when the line does not say
	// Contained says that it stands in a container's log file, with the stamp of the CRI or of
	// docker's json-file driver.
	Contained bool
	// Caller is the source file that klog names, as "kubelet.go": a line without a tag is known by
	// it, and the tag of a carried line may be of whoever started the program. Empty elsewhere.
	Caller string
	Level  Level
	// Text is the message: headers removed, escapes of the format undone,
	// otherwise untouched. Empty when the line was not wanted.
	Text string
	// Fields are the key=value pairs after the message, in written order, unquoted.
	Fields []Pair
	// Raw is the line as written, for quoting; at most MaxRaw bytes of it. Empty when
	// the line was not wanted.
	Raw string
	// Pieces maps offsets of Text to lines, when the message was written in
	// several pieces; nil when all of it stands in Pos.
	Pieces []Piece
	// Wanted says that the line may matter: Text, Fields and Raw are set.
	Wanted bool
	// Repeats is how often the message came, when a syslog daemon kept only this line
	// of it ("message repeated 3 times"); 0 when it says nothing.
	Repeats int
	// Lost says that the message itself is missing: the carrier dropped it, or printed
	// its size instead. Text is empty then.
	Lost bool
	// Quiet is how long its writer had written nothing into the file until less than a second before
	// it; zero where that is no long time.
	Quiet time.Duration
}

// MaxRaw bounds Record.Raw, in bytes. A goroutine dump on one line is longer; its frames
// are quoted piece by piece.
const MaxRaw = 16 << 10

// Piece says where a part of a message stands: what Record.Text holds from byte Off on is
// written at Pos.
type Piece struct {
	Off int
	Pos Pos
	// Raw is the line as written, for quoting; at most MaxRaw bytes of it. It is empty for the first
	// piece, whose line is Record.Raw, and where only a carrier cut the message.
	Raw string
}

// maxQuoted bounds the lines of a message that are quoted: the first ones, which say what happened.
const maxQuoted = 6

// Quotes is where the record stands: its line, and the next ones of a message that was broken at
// the width of a terminal or of a mail. They alone may hold its words.
func (r *Record) Quotes() []Quote {
	quotes := []Quote{{Pos: r.Pos, Text: r.Raw}}
	for _, p := range r.Pieces {
		if p.Raw != "" && len(quotes) < maxQuoted {
			quotes = append(quotes, Quote{Pos: p.Pos, Text: p.Raw, Rest: true})
		}
	}
	return quotes
}

// Pair is a key and its value as logged.
type Pair struct{ Key, Value string }

// Message is what the writer said: the record's text, or the whole line of a record that has no
// message of its own.
func (r *Record) Message() string {
	if r.Text != "" {
		return r.Text
	}
	return r.Raw
}

// Field returns the value of the last pair with that key; loggers let the last win.
func (r *Record) Field(key string) (string, bool) {
	for _, pair := range slices.Backward(r.Fields) {
		if pair.Key == key {
			return pair.Value, true
		}
	}
	return "", false
}

// Value is the value of the first of some keys that the record has; empty without any.
func (r *Record) Value(keys ...string) string {
	for _, key := range keys {
		if v, ok := r.Field(key); ok {
			return v
		}
	}
	return ""
}

// RebootBanner is the line that journalctl prints between the entries of two boots.
const RebootBanner = "-- Reboot --"

// Lacks says which parts of a moment its writer left out.
type Lacks uint8

// What a stamp may lack. A stamp without a date lacks its year too.
const (
	LacksZone Lacks = 1 << iota
	LacksYear
	LacksDate
	// LacksBoot stands alone: T counts from the boot, which is 1 January of year 0.
	LacksBoot
)

// Names are the parts that are missing, in words: "zone", "year", "date", and "boot" for a time
// that counts from the boot.
func (l Lacks) Names() (names []string) {
	for i, name := range []string{"zone", "year", "date", "boot"} {
		if l&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Time is a moment as its writer wrote it. While it lacks something, T is what was
// written, read as UTC: in year 0 when the year is missing, on 1 January of year 0
// when the date is. The timeline fills in what is missing; from then on Lacks is 0
// and T is the instant. The zero value means that no time was written.
type Time struct {
	// T has the offset from UTC as its location where one was written: it is the same
	// instant, and shows the zone of the node.
	T time.Time
	// Prec is the resolution written, so that the moment lies in [T, T+Prec).
	// Zero means exact to the nanosecond.
	Prec  time.Duration
	Lacks Lacks
	// Known says that a time was written; T alone cannot say it, because year 0 is valid.
	Known bool
}

// At is an exact instant.
func At(t time.Time) Time { return Time{T: t.UTC(), Known: true} }

// IsZero says that no time was written.
func (t Time) IsZero() bool { return !t.Known }

// Plausible tells a moment that a node's clock may have shown from the zero times, overflowed
// numbers and clocks that nobody had set, which logs hold too: docker was first released in 2013.
func Plausible(t time.Time) bool {
	at := t.Unix()
	return at >= firstPlausible && at < endOfPlausible
}

// The years of plausible moments.
const (
	FirstPlausibleYear = 2013
	LastPlausibleYear  = 2099
)

// The same in seconds since 1970, in UTC: every line of a log is asked about.
var (
	firstPlausible = time.Date(FirstPlausibleYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	endOfPlausible = time.Date(LastPlausibleYear+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
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
// sequence.
type Skip struct {
	Pos    Pos
	Lines  int // input lines lost with it; 0 when it is a remark about a line that was used
	Reason string
}

// Error is "file:line: reason".
func (s *Skip) Error() string { return fmt.Sprintf("%s: %s", s.Pos, s.Reason) }

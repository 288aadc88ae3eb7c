// Package show is what all reports are laid out with: text in columns, times and lengths as people
// read them, quoted lines, and the parts that the JSON documents share. It does not know what they
// are about.
package show

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Bounds for text that comes from a bundle, in columns. The JSON report has it whole.
const (
	MaxQuote = 300
	MaxCell  = 32   // of a table
	MaxProse = 2000 // a sentence, or a command
)

// Escape makes text from a bundle safe to show, at most limit columns of it.
// What a terminal or a browser would obey or hide stays visible as \x1b (a
// byte), <U+202E> (a character) or \xff (not UTF-8); a tab becomes a space. The
// result has no line break.
func Escape(s string, limit int) string {
	var b strings.Builder
	cols := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+n]
		switch {
		case r == '\t':
			piece = " "
		case r == '\n':
			piece = `\n`
		case r == '\r':
			piece = `\r`
		case r == utf8.RuneError && n == 1, r < ' ', r == 0x7f:
			piece = fmt.Sprintf(`\x%02x`, s[i])
		case r != ' ' && !unicode.IsPrint(r):
			piece = fmt.Sprintf("<U+%04X>", r)
		}
		cols += max(1, lipgloss.Width(piece)) // marks that take no room are bounded, too
		if cols > limit {
			b.WriteString("…")
			break
		}
		b.WriteString(piece)
		i += n
	}
	return b.String()
}

// Wrap breaks prose into lines of at most width columns, between words where
// that is possible, and of at most MaxProse columns in all. The words come out
// escaped. Empty prose is one empty line.
func Wrap(s string, width int) []string {
	lines := []string{""}
	used, left := 0, MaxProse
	for word := range strings.FieldsSeq(s) {
		if left <= 0 {
			lines[len(lines)-1] += " …"
			break
		}
		word = Escape(word, left)
		w := lipgloss.Width(word)
		left -= w + 1
		empty := lines[len(lines)-1] == "" // marks that take no room are not nothing
		if !empty && used+1+w <= width {
			lines[len(lines)-1] += " " + word
			used += 1 + w
			continue
		}
		if !empty {
			lines = append(lines, "")
		}
		pieces := cutWord(word, width)
		lines = append(lines[:len(lines)-1], pieces...)
		used = lipgloss.Width(pieces[len(pieces)-1])
	}
	return lines
}

// cutWord cuts a word into pieces of at most width columns, losing nothing.
func cutWord(s string, width int) []string {
	var pieces []string
	start, used := 0, 0
	for i, r := range s {
		w := lipgloss.Width(string(r))
		if used+w > max(width, 1) && i > start {
			pieces = append(pieces, s[start:i])
			start, used = i, 0
		}
		used += w
	}
	return append(pieces, s[start:])
}

// Pad fills s with spaces up to width columns; what is wider stays whole.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}

// Clock is the time of day as far as it was written, to the millisecond; empty when unknown.
func Clock(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Nanosecond() == 0:
		return t.UTC().Format("15:04:05")
	}
	return t.UTC().Format("15:04:05.000")
}

// Moment is the [Clock] of something whose time may be partly inferred, which basis says: "~"
// stands before it then.
func Moment(t time.Time, basis string) string {
	if t.IsZero() || basis == "" {
		return Clock(t)
	}
	return "~" + Clock(t)
}

// yearless is the year of times that no line tells the year of (package timeline); no Kubernetes
// node is that old.
const yearless = 2000

// isYearless says that nothing tells the year of a time. What goes over New Year lies in the year
// before or after, too.
func isYearless(t time.Time) bool { return t.UTC().Year() <= yearless+1 }

// isDayless says that nothing tells the date of a time, and days is how many lie between it and the
// first that is told.
func isDayless(t time.Time) (days int, ok bool) {
	t = t.UTC()
	return t.YearDay() - timeline.UnknownDay.YearDay(), t.Year() == timeline.UnknownDay.Year()
}

// DayLayout is how the date of a time is written, for [time.Time.Format]: without its year where
// nothing tells it. Where nothing tells the date, it is empty, or says how its day lies to the
// first one.
func DayLayout(t time.Time) string {
	switch days, dayless := isDayless(t); {
	case dayless && days == 0:
		return ""
	case dayless && days < 0:
		return "the day before"
	case dayless && days == 1:
		return "the next day"
	case dayless:
		return "a later day"
	case isYearless(t):
		return "01-02"
	}
	return time.DateOnly
}

// Day is the date in UTC, without its year where nothing tells it; empty when unknown.
func Day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(DayLayout(t))
}

// Window is a stretch of time for people: what both ends share, the day or all of it, is said once.
func Window(w timeline.Window) string {
	if w.Start.IsZero() && w.End.IsZero() {
		return "nothing is dated"
	}
	text, end := strings.TrimSpace(Day(w.Start)+" "+w.Start.UTC().Format(time.TimeOnly)), w.End.UTC().Format(time.TimeOnly)
	switch {
	case Day(w.Start) != Day(w.End):
		text += " – " + strings.TrimSpace(Day(w.End)+" "+end)
	case !strings.HasSuffix(text, end):
		text += " – " + end
	}
	text += " UTC"
	if _, dayless := isDayless(w.Start); dayless {
		text += " (the date is not known)"
	} else if isYearless(w.Start) && isYearless(w.End) {
		text += " (year unknown)"
	}
	return text
}

// StampZone is the zone, named by its offset, of all stamps that are not in UTC. It is nil when
// there are none, or when they are of several zones.
func StampZone(clocks []timeline.Clock) *time.Location {
	var offset time.Duration
	for i := range clocks {
		switch of := clocks[i].Offset; {
		case of == 0 || of == offset:
		case offset != 0:
			return nil
		default:
			offset = of
		}
	}
	if offset == 0 {
		return nil
	}
	seconds := int(offset / time.Second)
	return time.FixedZone(time.Time{}.In(time.FixedZone("", seconds)).Format("-07:00"), seconds)
}

// LocalWindow is a stretch of time in a zone, with the zone's name: "2026-11-20 19:25:36 – 19:26:36
// CET".
func LocalWindow(w timeline.Window, zone *time.Location) string {
	form := strings.TrimSpace(DayLayout(w.Start) + " " + time.TimeOnly)
	from, to := w.Start.In(zone), w.End.In(zone)
	text := from.Format(form)
	switch {
	case to.Format(form) == text:
	case to.Format(time.DateOnly) == from.Format(time.DateOnly):
		text += " – " + to.Format(time.TimeOnly)
	default:
		text += " – " + to.Format(form)
	}
	return text + from.Format(" MST")
}

// Duration is a length of time with the digits a reader can use: whole seconds
// from a minute on, hundredths below, milliseconds below one second.
func Duration(d time.Duration, atLeast bool) string {
	switch {
	case d == 0:
		return ""
	case d.Abs() > event.LongestSpan:
		return "unknown"
	}
	step := time.Microsecond
	switch {
	case d >= time.Minute:
		step = time.Second
	case d >= time.Second:
		step = 10 * time.Millisecond
	case d >= time.Millisecond:
		step = 10 * time.Microsecond
	}
	s := d.Round(step).String()
	if atLeast {
		return "≥" + s
	}
	return s
}

// Length is how long an event lasted: "3m12s", "≥3m12s" when one of its ends was not seen, "≤3m12s"
// when its start is the earliest possible.
func Length(e *event.Event) string { return Bounded(e.Duration(), e.AtLeast(), e.HasVagueStart()) }

// Bounded is a length of which perhaps only the least or the most is known.
func Bounded(d time.Duration, atLeast, atMost bool) string {
	s := Duration(d, atLeast)
	if s != "" && atMost && !atLeast {
		return "≤" + s
	}
	return s
}

// BoundedSeconds is the same where times are told in seconds: empty below one.
func BoundedSeconds(d time.Duration, atLeast, atMost bool) string {
	if d < time.Second {
		return ""
	}
	return Bounded(d, atLeast, atMost)
}

// JoinFirst joins the first words, at most so many of them, and says how many more there are: "a, b
// and 7 more".
func JoinFirst(words []string, most int, separator string) string {
	if left := len(words) - most; left > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], separator), left)
	}
	return strings.Join(words, separator)
}

// Columns are rows as lines in which every column is as wide as its widest cell. The letter r in
// align puts the column of that number to the right; all others stand to the left.
func Columns(rows [][]string, align string) []string {
	var widths []int
	for _, row := range rows {
		for col, cell := range row {
			if col == len(widths) {
				widths = append(widths, 0)
			}
			widths[col] = max(widths[col], lipgloss.Width(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		for col, cell := range row {
			gap := strings.Repeat(" ", widths[col]-lipgloss.Width(cell))
			if col < len(align) && align[col] == 'r' {
				cell, gap = gap+cell, ""
			}
			lines[i] += cell + gap + "  "
		}
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// SharedFolder is the folder, with its slash, that all these files are in, of which some have no
// name; empty where they share none, or where naming it saves nothing.
func SharedFolder(files []string) string {
	shared, said := "", 0
	for _, file := range files {
		if file == "" {
			continue
		}
		folder := path.Dir(file) + "/"
		if said++; said == 1 {
			shared = folder
		}
		for !strings.HasPrefix(file, shared) {
			shared = path.Dir(strings.TrimSuffix(shared, "/")) + "/"
			if shared == "./" || shared == "//" {
				return ""
			}
		}
	}
	if said < 2 || shared == "./" || shared == "//" {
		return ""
	}
	return shared
}

// Plural is a number of things: "1 rule", "2 rules".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

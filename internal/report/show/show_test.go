package show_test

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain":             "plain",
		"a\tb":              "a b",
		"a\nb\rc":           `a\nb\rc`,
		"\x1b[31mred\x7f":   `\x1b[31mred\x7f`,
		"\xff":              `\xff`,
		"gnp\u202egpj":      "gnp<U+202E>gpj",
		"zero\u200bwide":    "zero<U+200B>wide",
		"漢字":                "漢字",
		"0123456789abcdefg": "0123456789abcdef…",
		"漢字漢字漢字漢字漢":         "漢字漢字漢字漢字…", // two columns each
	} {
		require.Equal(t, want, show.Escape(in, 16), "%q", in)
	}
}

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"the shim waits", "for umount2"}, show.Wrap("the  shim waits\nfor umount2", 14))
	require.Equal(t, []string{"a", "bbbbb", "bb"}, show.Wrap("a bbbbbbb", 5), "a word that is too long is cut")
	require.Equal(t, []string{""}, show.Wrap("", 10))
	long := show.Wrap(strings.Repeat("word ", 1000), 80)
	require.True(t, strings.HasSuffix(long[len(long)-1], " …"))
	require.LessOrEqual(t, lipgloss.Width(strings.Join(long, " ")), show.MaxProse+len(" …"))
}

// What is wrapped loses nothing and leaves no line too wide.
func FuzzWrap(f *testing.F) {
	f.Add("the shim waits for umount2", 9)
	f.Add("\u0317 a mark alone takes no room", 30)
	f.Add("\x1b]8;;x\x07 漢字漢字 e\u0301\u202e", 3)
	f.Fuzz(func(t *testing.T, prose string, width int) {
		if width < 2 || len(prose) > 100 {
			return
		}
		var want, got strings.Builder
		for word := range strings.FieldsSeq(prose) {
			want.WriteString(show.Escape(word, show.MaxProse))
		}
		for _, line := range show.Wrap(prose, width) {
			require.LessOrEqual(t, lipgloss.Width(line), width, "%q", line)
			got.WriteString(strings.ReplaceAll(line, " ", ""))
		}
		require.Equal(t, want.String(), got.String())
	})
}

func TestTimes(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600))
	require.Equal(t, "11:00:00", show.Clock(noon))
	require.Equal(t, "11:00:00.250", show.Clock(noon.Add(250*time.Millisecond)))
	require.Empty(t, show.Clock(time.Time{}))
	require.Equal(t, "11:00:00", show.Moment(noon, ""))
	require.Equal(t, "~11:00:00", show.Moment(noon, "zone as in the node's other files"))
	require.Empty(t, show.Moment(time.Time{}, "any"))
	require.Equal(t, "2026-11-20", show.Day(noon))
	yearless := time.Date(2000, 2, 29, 23, 59, 0, 0, time.UTC)
	require.Equal(t, "02-29", show.Day(yearless))
	require.Empty(t, show.Day(time.Time{}))

	require.Equal(t, "nothing is dated", show.Window(timeline.Window{}))
	require.Equal(t, "2026-11-20 11:00:00 – 11:01:00 UTC", show.Window(timeline.Window{Start: noon, End: noon.Add(time.Minute)}))
	require.Equal(t, "2026-11-20 11:00:00 UTC", show.Window(timeline.Window{Start: noon, End: noon.Add(time.Millisecond)}))
	require.Equal(t, "02-29 23:59:00 – 03-01 00:01:00 UTC (year unknown)",
		show.Window(timeline.Window{Start: yearless, End: yearless.Add(2 * time.Minute)}))
	newYear := time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC) // as the lines before those of the year 2000
	require.Equal(t, "12-31 23:59:00 – 01-01 00:01:00 UTC (year unknown)",
		show.Window(timeline.Window{Start: newYear, End: newYear.Add(2 * time.Minute)}))
	require.Equal(t, "12-31", show.Day(newYear))

	dayless := timeline.UnknownDay.Add(23 * time.Hour)
	require.Empty(t, show.Day(dayless))
	require.Equal(t, "23:00:00 – 23:01:00 UTC (the date is not known)", show.Window(timeline.Window{Start: dayless, End: dayless.Add(time.Minute)}))
	require.Equal(t, "23:00:00 – the next day 01:00:00 UTC (the date is not known)", show.Window(timeline.Window{Start: dayless, End: dayless.Add(2 * time.Hour)}))
	require.Equal(t, "the day before 23:00:00 – 23:00:00 UTC (the date is not known)", show.Window(timeline.Window{Start: dayless.AddDate(0, 0, -1), End: dayless}))
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "",
		1500 * time.Nanosecond:                "2µs",
		60*time.Second + 400*time.Millisecond: "1m0s",
		1234567 * time.Microsecond:            "1.23s",
		1234567 * time.Nanosecond:             "1.23ms",
		event.LongestSpan + 1:                 "unknown",
	} {
		require.Equal(t, want, show.Duration(d, false))
	}
	require.Equal(t, "≥2m0s", show.Duration(2*time.Minute, true))
	require.Empty(t, show.Duration(0, true))
}

func TestLists(t *testing.T) {
	words := []string{"a", "b", "c", "d"}
	require.Equal(t, "a, b and 2 more", show.JoinFirst(words, 2, ", "))
	require.Equal(t, "a → b → c → d", show.JoinFirst(words, 4, " → "))
	require.Empty(t, show.JoinFirst(nil, 4, " "))
	require.Equal(t, []string{"1 rule", "2 rules", "0 rules"}, []string{show.Plural(1, "rule"), show.Plural(2, "rule"), show.Plural(0, "rule")})
	q := event.Quote{Pos: event.Pos{File: "a.log", Line: 1}, Text: "x"}
	require.Equal(t, []event.Quote{q}, show.DistinctQuotes([]event.Quote{q, q}))
}

func TestColumns(t *testing.T) {
	require.Equal(t, []string{
		"lines  format  path",
		"   12  漢字    a.log",
		"    7  klog    b.log",
	}, show.Columns([][]string{{"lines", "format", "path"}, {"12", "漢字", "a.log"}, {"7", "klog", "b.log"}}, "r"))
	require.Empty(t, show.Columns(nil, ""))
}

// laidOut is what write puts on a page of 52 columns.
func laidOut(o show.Options, write func(t *show.Text)) string {
	var out strings.Builder
	w := bufio.NewWriter(&out)
	o.Width = 52
	write(show.NewText(w, o))
	w.Flush() // a strings.Builder takes everything
	return out.String()
}

func TestText(t *testing.T) {
	quotes := []event.Quote{
		{Pos: event.Pos{File: "kubelet.log", Line: 1}, Text: "a"},
		{Pos: event.Pos{File: "kubelet.log", Line: 1}, Text: "a"},
		{Pos: event.Pos{File: "a/rather/long/path/of/a/bundle/kubelet.log", Line: 20}, Text: "PLEG is not healthy: pleg was last seen active"},
	}
	broken := []event.Quote{
		{Pos: event.Pos{File: "messages", Line: 1}, Text: "PLEG is not"},
		{Pos: event.Pos{File: "messages", Line: 2}, Text: "healthy", Rest: true},
		{Pos: event.Pos{File: "messages", Line: 3}, Text: "b"},
	}
	require.Equal(t, "     messages:1  PLEG is not\n     messages:2  healthy\n     (1 more, see --verbose)\n",
		laidOut(show.Options{}, func(t *show.Text) { t.WriteQuotes(broken, 1) }))
	require.Equal(t, "     kubelet.log:1  a\n     (1 more, see --verbose)\n",
		laidOut(show.Options{}, func(t *show.Text) { t.WriteQuotes(quotes, 1) }))
	require.Equal(t, "     kubelet.log:1  a\n     a/rather/long/path/of/a/bundle/kubelet.log:20  PLEG is not healthy: pleg was last seen active\n",
		laidOut(show.Options{Verbose: true}, func(t *show.Text) { t.WriteQuotes(quotes, 1) }))
	require.Equal(t, "do: the shim waits for the umount2 of the overlay of\n    a container\n",
		laidOut(show.Options{}, func(t *show.Text) {
			t.WritePara("do: ", t.Plain, "the shim waits for the umount2 of the overlay of a container")
		}))
	require.Equal(t, "   against    nothing in this bundle\n",
		laidOut(show.Options{}, func(t *show.Text) { t.WriteLabeled("against", t.Plain, "nothing in this bundle") }))
	require.Equal(t, "              sync\n              rm \\x1b\n",
		laidOut(show.Options{}, func(t *show.Text) { t.WriteCommand("sync\n\nrm \x1b") }))
	require.Equal(t, "sync\n  rm \\x1b\n", laidOut(show.Options{}, func(t *show.Text) { t.WriteScript("sync\n  rm \x1b") }))
	require.Equal(t, "\nLOCKS (2)\n", laidOut(show.Options{}, func(t *show.Text) { t.WriteHeading("LOCKS (%d)", 2) }))
}

func TestJSON(t *testing.T) {
	var out strings.Builder
	q := event.Quote{Pos: event.Pos{File: "a.log", Line: 3}, Text: "<\u202e\x7f\xff>"}
	require.NoError(t, show.EncodeJSON(&out, struct {
		Start    show.Stamp      `json:"start"`
		End      show.Stamp      `json:"end"`
		Names    []string        `json:"names"`
		Evidence []show.Evidence `json:"evidence"`
	}{End: show.Stamp(time.Date(2026, 11, 20, 12, 0, 0, 5e8, time.FixedZone("", 3600))), Names: show.NonNil(nil), Evidence: show.EvidenceRows([]event.Quote{q})}))
	require.Equal(t, `{
  "start": "",
  "end": "2026-11-20T11:00:00.5Z",
  "names": [],
  "evidence": [
    {
      "path": "a.log",
      "line": 3,
      "text": "<\u202e\u007f`+"\\ufffd"+`>",
      "raw": "POKArn//Pg=="
    }
  ]
}
`, out.String())
}

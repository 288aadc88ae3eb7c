package timeline

import (
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // the named zones, on any machine

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// times are the starts of the events of one file, in the order of its lines.
func times(tl *Timeline, file string) []string {
	byLine := map[int]string{}
	last := 0
	for _, e := range tl.Events {
		if e.Pos().File != file {
			continue
		}
		text := "no time"
		if e.Start.Known {
			text = e.Start.T.Format(time.RFC3339Nano)
			if e.Start.Prec > time.Second {
				text += " ±" + e.Start.Prec.String()
			}
		}
		byLine[e.Pos().Line] = text
		last = max(last, e.Pos().Line)
	}
	var all []string
	for line := range last + 1 {
		if text, ok := byLine[line]; ok {
			all = append(all, text)
		}
	}
	return all
}

func clockOf(tl *Timeline, file string) (c Clock) {
	for _, row := range tl.Clocks {
		if row.File == file {
			c = row
		}
	}
	return c
}

// lines are events of x.log at these locals.
func lines(locals ...string) (in Input) {
	for i, local := range locals {
		in.Events = append(in.Events, pointersTo(ev("x.log", i+1, at(local), says(fmt.Sprint("line ", i+1))))...)
	}
	return in
}

func TestTurnedClocks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	turned := func() *Source {
		return &Source{
			File: "iso.log", Name: "test.log", First: at("2025-10-25T00:00:00+02:00"), Last: at("2025-10-27T00:00:00+01:00"), Zones: []Zone{{7200, 9}, {3600, 5}},
			Clues: &Clues{Turns: []Turn{{time.Time{}, utc("2025-10-24T22:00:00Z"), 2 * time.Hour}, {utc("2025-10-26T00:59:58Z"), utc("2025-10-26T01:00:00Z"), time.Hour}}},
		}
	}
	for _, tc := range []struct {
		name    string
		in      Input
		sources []*Source
		options Options
		want    []string
		note    string
		basis   string
	}{
		{
			name: "the hour that was shown twice is both", in: lines("Oct 26 01:59:59", "Oct 26 02:30:00", "Oct 26 03:00:00"), options: Options{Zone: berlin, Year: 2025},
			want: []string{"2025-10-25T23:59:59Z", "2025-10-26T00:30:00Z ±1h0m1s", "2025-10-26T02:00:00Z"}, note: "showed the hour of 1 stamps twice",
		},
		{
			name: "a face that falls back tells the two apart", in: lines("Oct 26 02:10:00", "Oct 26 02:50:00", "Oct 26 02:05:00", "Oct 26 02:55:00"), options: Options{Zone: berlin, Year: 2025},
			want: []string{"2025-10-26T00:10:00Z", "2025-10-26T00:50:00Z", "2025-10-26T01:05:00Z", "2025-10-26T01:55:00Z"},
		},
		{
			name: "threads in disorder do not", in: lines("Oct 26 02:10:01", "Oct 26 02:10:00"), options: Options{Zone: berlin, Year: 2025},
			want: []string{"2025-10-26T00:10:01Z ±1h0m1s", "2025-10-26T00:10:00Z ±1h0m1s"},
		},
		{
			name: "the hour that the clock skipped is read with the offset before it", in: lines("2025-03-30T01:59:59", "2025-03-30T02:30:00", "2025-03-30T03:00:00"), options: Options{Zone: berlin},
			want: []string{"2025-03-30T00:59:59Z", "2025-03-30T01:30:00Z", "2025-03-30T01:00:00Z"}, note: "skipped the hour that 1 stamps show",
		},
		{
			name: "half an hour: Lord Howe", in: lines("2025-04-06T01:45:00"), options: Options{Zone: func() *time.Location { l, _ := time.LoadLocation("Australia/Lord_Howe"); return l }()},
			want: []string{"2025-04-05T14:45:00Z ±30m1s"},
		},
		{
			name: "lines that carry both clocks show the turn", in: lines("Oct 25 12:00:00", "Oct 26 12:00:00"),
			sources: []*Source{pairs("x.log", same("Oct 25 12:00:00", "2025-10-25T10:00:00Z"), same("Oct 25 12:00:01", "2025-10-25T10:00:01Z"), same("Oct 26 02:00:05", "2025-10-26T01:00:05Z"), same("Oct 26 02:00:06", "2025-10-26T01:00:06Z"))},
			want:    []string{"2025-10-25T10:00:00Z", "2025-10-26T11:00:00Z"}, basis: "zone +02:00, from 2025-10-26 on +01:00 from lines that carry both clocks, year 2025 from lines that carry both clocks",
		},
		{
			name: "the node's other files show the turn", in: lines("Oct 25 12:00:00", "Oct 26 12:00:00"), sources: []*Source{turned()},
			want: []string{"2025-10-25T10:00:00Z", "2025-10-26T11:00:00Z"}, basis: "zone +02:00, from 2025-10-26 on +01:00 as in the node's other files, year 2025 from the node's dated evidence",
		},
		{
			name: "nobody saw in which night: both", in: lines("Oct 25 12:00:00", "Oct 26 12:00:00", "Oct 27 12:00:00"),
			sources: []*Source{func() *Source {
				s := turned()
				s.Turns = []Turn{{time.Time{}, utc("2025-10-24T22:00:00Z"), 2 * time.Hour}, {utc("2025-10-25T09:00:00Z"), utc("2025-10-27T08:00:00Z"), time.Hour}}
				return s
			}()},
			want: []string{"2025-10-25T10:00:00Z", "2025-10-26T10:00:00Z ±1h0m1s", "2025-10-27T11:00:00Z"}, note: "the hour of 1 stamps",
		},
		{
			name: "one line from before the turn, that other files saw less exactly", in: lines("Oct 26 01:30:00", "Oct 26 03:30:00"),
			sources: []*Source{
				func() *Source {
					s := turned()
					s.Turns = []Turn{{time.Time{}, utc("2025-10-24T22:00:00Z"), 2 * time.Hour}, {utc("2025-10-25T23:00:00Z"), utc("2025-10-26T08:00:00Z"), time.Hour}}
					return s
				}(),
				pairs("x.log", same("Oct 26 02:59:59", "2025-10-26T00:59:59Z"), same("Oct 26 02:00:05", "2025-10-26T01:00:05Z"), same("Oct 26 02:00:06", "2025-10-26T01:00:06Z")),
			},
			want: []string{"2025-10-25T23:30:00Z", "2025-10-26T02:30:00Z"}, basis: "zone +02:00, from 2025-10-26 on +01:00 from lines that carry both clocks, year 2025 from lines that carry both clocks",
		},
		{
			name: "two clocks in one file are no turn", in: lines("Oct 25 12:00:00"),
			sources: []*Source{func() *Source {
				s := turned()
				s.Turns = []Turn{{time.Time{}, utc("2025-10-24T22:00:00Z"), 8 * time.Hour}, {utc("2025-10-24T22:00:00Z"), utc("2025-10-24T22:00:01Z"), 2 * time.Hour}}
				return s
			}()},
			want: []string{"2025-10-25T10:00:00Z"}, basis: "zone +02:00 as in the node's other files, year 2025 from the node's dated evidence",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.Sources = tc.sources
			tl := Build(tc.in, tc.options)
			require.Equal(t, tc.want, times(tl, "x.log"))
			require.Contains(t, clockOf(tl, "x.log").Note, tc.note)
			if tc.basis != "" {
				require.Equal(t, tc.basis, clockOf(tl, "x.log").Basis)
			}
		})
	}
}

// What a named zone shows at any moment leads back to that moment, or to an interval that holds it.
func TestBuildRecoversInstantsOfNamedZones(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai", "America/Sao_Paulo", "Pacific/Auckland"}).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		truth := time.Unix(rapid.Int64Range(1400000000, 1900000000).Draw(t, "truth"), 0).UTC()
		_, offset := truth.In(zone).Zone()
		local := truth.Add(time.Duration(offset) * time.Second)
		tl := Build(lines(local.Format("2006-01-02T15:04:05")), Options{Zone: zone})
		got := tl.Events[0].Start
		require.False(t, truth.Before(got.T), "%v in %v", got, truth)
		require.True(t, truth.Before(got.T.Add(got.Prec)), "%v in %v", got, truth)
		require.LessOrEqual(t, got.Prec, time.Hour+time.Second)
	})
}

func TestCopiedLines(t *testing.T) {
	original := func(file string, line int, stamp, text string) event.Event {
		return ev(file, line, at(stamp), says(text))
	}
	for _, tc := range []struct {
		name    string
		events  []event.Event
		sources []*Source
		want    string
		basis   string
	}{
		{
			name:   "a line of the journal tells zone and year of the daemon's own log",
			events: []event.Event{original("journal.json", 1, "2025-11-08T01:30:11.9Z", "the shim does not answer"), original("x.log", 1, "Nov 08 09:30:11.885000", "the shim does not answer")},
			want:   "2025-11-08T02:00:00Z", basis: "zone +08:00 from lines that another file holds with a full stamp, year 2025 from lines that carry both clocks",
		},
		{
			name: "what is said again and again pairs nothing",
			events: []event.Event{
				original("journal.json", 1, "2025-11-08T01:30:11.9Z", "the shim does not answer"), original("journal.json", 2, "2025-11-08T03:30:11.9Z", "the shim does not answer"),
				original("x.log", 1, "Nov 08 09:30:11.885000", "the shim does not answer"),
			},
			want: "2025-11-08T10:00:00Z",
		},
		{
			name:   "a difference that is no zone is another occasion",
			events: []event.Event{original("journal.json", 1, "2025-11-08T01:37:11.9Z", "the shim does not answer"), original("x.log", 1, "Nov 08 09:30:11.885000", "the shim does not answer")},
			want:   "2025-11-08T10:00:00Z",
		},
		{
			name: "one line alone does not contradict the node's zone: it may be another occasion",
			events: []event.Event{
				original("journal.json", 1, "2025-11-08T01:30:11.9Z", "the shim does not answer"), original("x.log", 1, "Nov 08 09:30:11.885000", "the shim does not answer"),
			},
			sources: []*Source{{File: "y.log", Name: "test.log", Zones: []Zone{{7200, 5}}}},
			want:    "2025-11-08T08:00:00Z", basis: "zone +02:00 as in the node's other files, year 2025 from the node's dated evidence",
		},
		{
			name: "two lines do",
			events: []event.Event{
				original("journal.json", 1, "2025-11-08T01:30:11.9Z", "the shim does not answer"), original("x.log", 1, "Nov 08 09:30:11.885000", "the shim does not answer"),
				original("journal.json", 2, "2025-11-08T01:50:11.9Z", "the shim is gone"), original("x.log", 2, "Nov 08 09:50:11.885000", "the shim is gone"),
			},
			sources: []*Source{{File: "y.log", Name: "test.log", Zones: []Zone{{7200, 5}}}},
			want:    "2025-11-08T02:00:00Z",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _, clock := resolved(t, Input{Events: pointersTo(tc.events...), Sources: tc.sources}, Options{}, "Nov 08 10:00:00")
			require.Equal(t, tc.want, got)
			if tc.basis != "" {
				require.Equal(t, tc.basis, clock.Basis)
			}
		})
	}
}

// The zone of the node holds for a file without one, unless what it says of containers shows
// another.
func TestZoneOfTheNodeIsContradicted(t *testing.T) {
	const a, b = "b39895a86a9ebfda", "40585f7349a6b41b"
	in := func(locals ...string) Input {
		in := Input{Sources: []*Source{{File: "containerd.log", Name: "containerd.log", Zones: []Zone{{0, 50}}}}}
		in.Events = append(in.Events, pointersTo(ev("containerd.log", 1, at("2025-11-08T01:30:01Z"), of(a), says("exit a")), ev("containerd.log", 2, at("2025-11-08T01:47:11Z"), of(b), says("exit b")))...)
		for i, local := range locals {
			in.Events = append(in.Events, pointersTo(ev("x.log", i+1, at(local), of([]string{a, b}[i%2]), says(fmt.Sprint("died ", i))))...)
		}
		return in
	}
	for name, tc := range map[string]struct {
		locals []string
		want   []string
		basis  string
	}{
		"without zone": {
			[]string{"2025-11-08T09:30:05", "2025-11-08T09:47:13"}, []string{"2025-11-08T01:30:05Z", "2025-11-08T01:47:13Z"}, "zone +08:00 from events of the same container",
		},
		"without year": {
			[]string{"Nov 08 09:30:05", "Nov 08 09:47:13"}, []string{"2025-11-08T01:30:05Z", "2025-11-08T01:47:13Z"}, "zone +08:00 from events of the same container, year 2025 from the node's dated evidence",
		},
		"in the node's zone": {
			[]string{"Nov 08 01:30:05", "Nov 08 01:47:13"}, []string{"2025-11-08T01:30:05Z", "2025-11-08T01:47:13Z"}, "zone +00:00 as in the node's other files, year 2025 from the node's dated evidence",
		},
		"late, in no other zone": {
			[]string{"Nov 08 02:12:05", "Nov 08 02:29:13"}, []string{"2025-11-08T02:12:05Z", "2025-11-08T02:29:13Z"}, "zone +00:00 as in the node's other files, year 2025 from the node's dated evidence",
		},
		"one container, at one time, of those that it tells of": {
			[]string{"2025-11-08T09:30:05", "2025-11-08T05:03:13"}, []string{"2025-11-08T09:30:05Z", "2025-11-08T05:03:13Z"}, "zone +00:00 as in the node's other files",
		},
		"the same time of another day is no sign": {
			[]string{"2025-11-12T09:30:05", "2025-11-12T09:47:13"}, []string{"2025-11-12T09:30:05Z", "2025-11-12T09:47:13Z"}, "zone +00:00 as in the node's other files",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tl := Build(in(tc.locals...), Options{})
			require.Equal(t, tc.want, times(tl, "x.log"))
			require.Equal(t, tc.basis, clockOf(tl, "x.log").Basis)
		})
	}
}

func TestYearOfTheArchive(t *testing.T) {
	for _, tc := range []struct{ modified, local, want, basis string }{
		{"2025-11-20T00:00:00Z", "Nov 08 09:30:00", "2025-11-08T09:30:00Z", "zone not known, taken as UTC, year 2025 from the file's own time in the archive, which copying changes"},
		{"2026-01-03T00:00:00Z", "Nov 08 09:30:00", "2025-11-08T09:30:00Z", ""},
		// a zone ahead of UTC
		{"2025-11-08T09:00:00Z", "Nov 08 17:30:00", "2025-11-08T17:30:00Z", ""},
		{"1980-01-01T00:00:00Z", "Nov 08 09:30:00", "2000-11-08T09:30:00Z", "zone not known, taken as UTC, year not known"},
	} {
		in := lines(tc.local)
		in.Sources = []*Source{{File: "x.log", Name: "test.log", Modified: utc(tc.modified)}}
		tl := Build(in, Options{})
		require.Equal(t, []string{tc.want}, times(tl, "x.log"))
		if tc.basis != "" {
			require.Equal(t, tc.basis, clockOf(tl, "x.log").Basis)
		}
	}
}

func TestFlagsAgainstEvidence(t *testing.T) {
	tokyo := time.FixedZone("+09:00", 9*3600)
	proven := lines("Nov 08 10:00:00")
	proven.Sources = []*Source{pairs("x.log", same("Nov 08 09:30:11", "2025-11-08T01:30:11Z"))}
	tl := Build(proven, Options{Zone: tokyo, Year: 2019})
	require.Equal(t, []string{"2025-11-08T02:00:00Z"}, times(tl, "x.log"))
	require.Equal(t, "--tz +09:00 contradicts these lines and is not used for them; --year 2019 contradicts lines that carry both clocks and is not used", clockOf(tl, "x.log").Ignored)
	require.Contains(t, clockOf(tl, "x.log").Note, "--tz +09:00 contradicts")

	inferred := lines("Nov 08 10:00:00")
	inferred.Sources = []*Source{{File: "y.log", Name: "test.log", First: at("2025-11-08T09:00:00+08:00"), Last: at("2025-11-08T09:00:00+08:00"), Zones: []Zone{{28800, 12}}}}
	tl = Build(inferred, Options{Zone: tokyo, Year: 2019})
	require.Equal(t, []string{"2019-11-08T01:00:00Z"}, times(tl, "x.log"))
	require.Empty(t, clockOf(tl, "x.log").Ignored)
	require.Contains(t, clockOf(tl, "x.log").Note, "without --year it would be 2025 from the node's dated evidence")

	tl = Build(proven, Options{Zone: time.FixedZone("+08:00", 8*3600), Year: 2025})
	require.Empty(t, clockOf(tl, "x.log").Ignored)
}

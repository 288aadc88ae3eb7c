package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// resolved is what Build makes of one more stamp in x.log.
func resolved(t testing.TB, in Input, o Options, local string) (instant, basis string, clock Clock) {
	t.Helper()
	in.Events = append(in.Events, pointersTo(ev("x.log", 1000, at(local), says("the stamp in question")))...)
	tl := Build(in, o)
	for _, e := range tl.Events {
		if e.Text == "the stamp in question" {
			instant, basis = e.Start.T.Format(time.RFC3339Nano), e.Basis
		}
	}
	return instant, basis, clockOf(tl, "x.log")
}

func pairs(file string, ps ...Pair) *Source {
	return &Source{File: file, Name: "test.log", Clues: &Clues{Pairs: ps}}
}

func same(local, truth string) Pair { return Pair{Local: at(local), True: utc(truth)} }

func late(local, truth string) Pair { return Pair{Local: at(local), True: utc(truth), Late: true} }

func TestZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for _, tc := range []struct {
		name    string
		sources []*Source
		options Options
		local   string // in x.log
		want    string
		basis   string
	}{
		{
			name:    "a line of klog in a journal with zones",
			sources: []*Source{pairs("x.log", same("Nov 08 09:30:11.885000", "2025-11-08T01:30:11.9Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
			basis: "zone +08:00 from lines that carry both clocks, year 2025 from lines that carry both clocks",
		},
		{
			name: "one odd line does not spoil it",
			sources: []*Source{pairs("x.log", same("Nov 08 01:30:11", "2025-11-08T01:30:11Z"),
				same("Nov 08 09:30:12", "2025-11-08T01:30:12Z"), same("Nov 08 09:30:13", "2025-11-08T01:30:13Z"))},
			local: "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
		},
		{
			name:    "journald was slow, 20 s",
			sources: []*Source{pairs("x.log", same("Nov 08 09:30:11", "2025-11-08T01:30:31Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
		},
		{
			name:    "journald was slow, a quarter of an hour",
			sources: []*Source{pairs("x.log", same("Nov 08 09:30:11", "2025-11-08T01:30:31Z"), same("Nov 08 09:33:11", "2025-11-08T01:48:31Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
		},
		{
			name:    "journald was slow, an hour",
			sources: []*Source{pairs("x.log", same("Nov 08 09:30:11", "2025-11-08T01:30:31Z"), same("Nov 08 09:33:11", "2025-11-08T02:33:31Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
		},
		{
			name:    "a difference that is no zone tells none",
			sources: []*Source{pairs("x.log", same("Nov 08 09:35:11", "2025-11-08T01:30:11Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T10:00:00Z", basis: "zone not known, taken as UTC, year 2025 from the node's dated evidence",
		},
		{
			name: "an exit told again and again: the first time counts",
			sources: []*Source{pairs("x.log", late("Nov 08 11:50:11", "2025-11-08T01:30:01Z"), late("Nov 08 10:40:11", "2025-11-08T01:30:01Z"),
				late("Nov 08 09:30:11", "2025-11-08T01:30:01Z"))},
			local: "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
			basis: "zone +08:00 from lines that tell, a little later, of a moment in UTC, year 2025 from lines that carry both clocks",
		},
		{
			name:    "an exit told 40 minutes late is no zone of its own",
			sources: []*Source{pairs("x.log", late("Nov 08 10:10:01", "2025-11-08T01:30:01Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
		},
		{
			name:    "stamps to the second are rounded down below the exit",
			sources: []*Source{pairs("x.log", late("Nov 08 09:30:01", "2025-11-08T01:30:01.9Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
		},
		{
			name:    "half an hour: India",
			sources: []*Source{pairs("x.log", late("Nov 08 07:00:11", "2025-11-08T01:30:01Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T04:30:00Z",
		},
		{
			name:    "west of Greenwich",
			sources: []*Source{pairs("x.log", late("Nov 07 20:30:11", "2025-11-08T01:30:01Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T15:00:00Z",
		},
		{
			name:    "west, half an hour: Newfoundland",
			sources: []*Source{pairs("x.log", late("Nov 07 22:00:11", "2025-11-08T01:30:01Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T13:30:00Z",
		},
		{
			name:    "a stamp without a date",
			sources: []*Source{pairs("x.log", late("09:30:11", "2023-11-08T01:30:01Z"))},
			local:   "09:33:43", want: "2023-11-08T01:33:43Z",
			basis: "zone +08:00 from lines that tell, a little later, of a moment in UTC, date from lines that carry both clocks",
		},
		{
			name:    "the zero time of an event without exit tells nothing",
			sources: []*Source{pairs("x.log", late("Nov 08 09:30:11", "0001-01-01T00:00:00Z")), covers("y.log", "test.log", "2025-11-08T01:00:00Z", "2025-11-08T02:00:00Z")},
			local:   "Nov 08 01:30:00", want: "2025-11-08T01:30:00Z", basis: "zone not known, taken as UTC, year 2025 from the node's dated evidence",
		},
		{
			name:    "the node's other files",
			sources: []*Source{{File: "y.log", Name: "test.log", First: at("2025-11-08T09:00:00+08:00"), Last: at("2025-11-08T09:00:00+08:00"), Zones: []Zone{{28800, 12}, {0, 1}}}},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
			basis: "zone +08:00 as in the node's other files, year 2025 from the node's dated evidence",
		},
		{
			name: "the clock of a container is not the node's",
			sources: []*Source{
				{File: "y.log", Name: "test.log", First: at("2025-11-08T09:00:00+08:00"), Last: at("2025-11-08T09:00:00+08:00"), Zones: []Zone{{28800, 1}}},
				{File: "pod.log", Foreign: true, Clues: &Clues{Pairs: []Pair{same("Nov 08 01:30:12", "2025-11-08T01:30:12Z"), same("Nov 08 01:30:13", "2025-11-08T01:30:13Z")}}},
			},
			local: "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
		},
		{
			name:    "another file's double stamps",
			sources: []*Source{pairs("y.log", same("Nov 08 09:30:12", "2025-11-08T01:30:12Z"))},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z",
		},
		{
			name:    "lines that carry both clocks prove a flag wrong",
			sources: []*Source{pairs("x.log", same("Nov 08 09:30:11", "2025-11-08T01:30:11Z"))},
			options: Options{Zone: time.UTC, Year: 2019},
			local:   "Nov 08 10:00:00", want: "2025-11-08T02:00:00Z", basis: "zone +08:00 from lines that carry both clocks, year 2025 from lines that carry both clocks",
		},
		{
			name:    "a zone with summer time, in summer",
			options: Options{Zone: berlin, Year: 2025},
			local:   "Jul 01 10:00:00", want: "2025-07-01T08:00:00Z", basis: "zone given by --tz, year 2025 given by --year",
		},
		{
			name:    "a zone with summer time, in winter",
			options: Options{Zone: berlin, Year: 2025},
			local:   "Dec 01 10:00:00", want: "2025-12-01T09:00:00Z",
		},
		{
			name:    "only the zone is missing",
			options: Options{Zone: berlin},
			local:   "2025-07-01T10:00:00", want: "2025-07-01T08:00:00Z", basis: "zone given by --tz",
		},
		{
			name:    "the zone of a year that nobody knows is today's, not that of railway time",
			options: Options{Zone: berlin},
			local:   "Jul 01 10:00:00", want: "2000-07-01T08:00:00Z", basis: "zone given by --tz, year not known",
		},
		{
			name:  "nothing tells",
			local: "Nov 08 10:00:00", want: "2000-11-08T10:00:00Z", basis: "zone not known, taken as UTC, year not known",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, basis, _ := resolved(t, Input{Sources: tc.sources}, tc.options, tc.local)
			require.Equal(t, tc.want, got)
			if tc.basis != "" {
				require.Equal(t, tc.basis, basis)
			}
		})
	}
}

func TestYear(t *testing.T) {
	dated := func(first, last string) Input {
		return Input{Sources: []*Source{covers("dated.log", "test.log", first, last)}}
	}
	for _, tc := range []struct {
		name    string
		in      Input
		options Options
		before  []string // stamps of earlier lines
		local   string
		want    string
	}{
		{name: "as the dated evidence", in: dated("2025-11-08T01:00:00Z", "2025-11-08T02:00:00Z"), local: "Nov 08 01:30:00", want: "2025-11-08T01:30:00Z"},
		{name: "December before dated January", in: dated("2026-01-01T00:10:00Z", "2026-01-01T01:00:00Z"), local: "Dec 31 23:59:00", want: "2025-12-31T23:59:00Z"},
		{name: "January after dated December", in: dated("2025-12-31T23:00:00Z", "2025-12-31T23:50:00Z"), local: "Jan 01 00:01:00", want: "2026-01-01T00:01:00Z"},
		{name: "over New Year, dated in December", in: dated("2025-12-31T23:00:00Z", "2025-12-31T23:50:00Z"), before: []string{"Dec 31 23:59:00"}, local: "Jan 01 00:01:00", want: "2026-01-01T00:01:00Z"},
		{name: "over New Year, dated in January", in: dated("2026-01-01T00:10:00Z", "2026-01-01T01:00:00Z"), before: []string{"Dec 31 23:59:00"}, local: "Jan 01 00:01:00", want: "2026-01-01T00:01:00Z"},
		{name: "disorder at New Year", in: dated("2026-01-01T00:10:00Z", "2026-01-01T01:00:00Z"), before: []string{"Jan 01 00:00:00"}, local: "Dec 31 23:59:59", want: "2025-12-31T23:59:59Z"},
		{name: "a log of nine months ends where the evidence ends", in: dated("2025-11-08T01:00:00Z", "2025-11-08T02:00:00Z"), before: []string{"Feb 01 00:00:00", "Nov 08 01:30:00"}, local: "Nov 08 01:31:00", want: "2025-11-08T01:31:00Z"},
		{name: "29 February", in: dated("2024-03-01T01:00:00Z", "2024-03-01T02:00:00Z"), local: "Feb 29 10:00:00", want: "2024-02-29T10:00:00Z"},
		{name: "29 February is of a leap year, however far", in: dated("2025-11-08T01:00:00Z", "2025-11-08T02:00:00Z"), local: "Feb 29 10:00:00", want: "2024-02-29T10:00:00Z"},
		{name: "a flag", in: dated("2025-11-08T01:00:00Z", "2025-11-08T02:00:00Z"), options: Options{Year: 2019}, local: "Nov 08 01:30:00", want: "2019-11-08T01:30:00Z"},
		{name: "a flag is the year of the last stamp", options: Options{Year: 2019}, before: []string{"Dec 31 23:59:00"}, local: "Jan 01 00:01:00", want: "2019-01-01T00:01:00Z"},
		{name: "no evidence: year 2000", local: "Nov 08 01:30:00", want: "2000-11-08T01:30:00Z"},
		{name: "no evidence, over New Year: in order all the same", before: []string{"Dec 31 23:59:00"}, local: "Jan 01 00:01:00", want: "2000-01-01T00:01:00Z"},
		{name: "a zero time is no evidence", in: dated("0001-01-01T00:00:00Z", "1970-01-01T00:00:10Z"), local: "Nov 08 01:30:00", want: "2000-11-08T01:30:00Z"},
		{name: "an old dump beside the incident", in: dated("2023-05-01T00:00:00Z", "2025-11-08T02:00:00Z"), local: "Nov 08 01:30:00", want: "2025-11-08T01:30:00Z"},
		{
			name:  "a listing of ends of certificates beside the incident",
			in:    Input{Sources: []*Source{covers("dated.log", "test.log", "2025-11-08T01:00:00Z", "2025-11-08T02:00:00Z"), covers("certs", "", "2035-01-01T00:00:00Z", "2035-12-01T00:00:00Z")}},
			local: "Nov 08 01:30:00", want: "2025-11-08T01:30:00Z",
		},
		{
			name: "nothing but lines of nobody known", in: Input{Sources: []*Source{covers("notes", "", "2025-11-08T01:00:00Z", "2025-11-08T02:00:00Z")}},
			local: "Nov 08 01:30:00", want: "2025-11-08T01:30:00Z",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i, local := range tc.before {
				tc.in.Events = append(tc.in.Events, pointersTo(ev("x.log", i+1, at(local)))...)
			}
			got, _, clock := resolved(t, tc.in, tc.options, tc.local)
			require.Equal(t, tc.want, got)
			if tc.want[:4] == "2000" {
				require.Contains(t, clock.Note, "no evidence shows the year")
			}
		})
	}
}

// TestToldZone holds that the zone of the machine, by timedatectl, counts in logs whose lines
// show no other one, on both sides of the change to winter time.
func TestToldZone(t *testing.T) {
	told := func(zone string) event.Event {
		return ev("timedatectl.txt", 1, event.Time{}, kind(event.KindFact), func(e *event.Event) { e.AddFields(event.FieldName.Text("clock.zone"), event.FieldValue.Text(zone)) })
	}
	berlin := []*Source{pairs("x.log", same("Oct 25 08:00:00", "2025-10-25T06:00:00Z"), same("Oct 25 09:00:00", "2025-10-25T07:00:00Z"))}
	for _, c := range []struct {
		sources []*Source
		told    []string
		want    string
	}{
		{nil, []string{"Europe/Berlin"}, "2025-10-26T03:00:00Z"},
		{berlin, []string{"Europe/Berlin"}, "2025-10-26T03:00:00Z"},
		{berlin, nil, "2025-10-26T02:00:00Z"},
		{berlin, []string{"Asia/Shanghai"}, "2025-10-26T02:00:00Z"},
		{berlin, []string{"Europe/Berlin", "UTC"}, "2025-10-26T02:00:00Z"},
		{nil, []string{"no/zone"}, "2025-10-26T04:00:00Z"},
	} {
		in := Input{Sources: c.sources}
		for _, zone := range c.told {
			in.Events = append(in.Events, pointersTo(told(zone))...)
		}
		got, basis, _ := resolved(t, in, Options{Year: 2025}, "Oct 26 04:00:00")
		require.Equal(t, c.want, got, "%v, %s", c.told, basis)
	}
	readers := told("Local")
	require.Nil(t, findToldZone([]*event.Event{&readers}), "the zone of whoever reads the evidence")
}

func TestClockOfFeb29InACommonYear(t *testing.T) {
	got, _, clock := resolved(t, Input{}, Options{Year: 2025}, "Feb 29 10:00:00")
	require.Equal(t, "2025-03-01T10:00:00Z", got)
	require.Contains(t, clock.Note, "29 February in a year that has none")
}

func TestDate(t *testing.T) {
	id := "b39895a86a9ebfdad08d2b42015f962ab2e0ec6b937f0662bef3d948009fcb6e"
	exit := func(truth, container string) event.Event {
		return ev("containerd.log", 1, at(truth), of(container), says(truth))
	}
	for _, tc := range []struct {
		name   string
		known  []event.Event
		traced []event.Event // in x.strace
		want   []string
		basis  string
	}{
		{
			name:   "by the exit of the same container, not by the nearest evidence",
			known:  []event.Event{exit("2026-11-20T18:25:36.161Z", id), exit("2026-11-22T18:00:00Z", "ffffff123456")},
			traced: []event.Event{ev("x.strace", 1, at("18:25:36.238768"), of(id))},
			want:   []string{"2026-11-20T18:25:36.238768Z"}, basis: "zone not known, taken as UTC, date from events of the same container",
		},
		{
			name:   "by an id that the trace cuts short",
			known:  []event.Event{exit("2026-11-20T18:25:36.161Z", id), exit("2026-11-22T18:00:00Z", "ffffff123456")},
			traced: []event.Event{ev("x.strace", 1, at("18:25:36.238768"), of("b39895a8"))},
			want:   []string{"2026-11-20T18:25:36.238768Z"},
		},
		{
			name:   "a piece that two containers share tells nothing",
			known:  []event.Event{exit("2026-11-20T18:25:36.161Z", "b39895a81111"), exit("2026-11-22T18:00:00Z", "b39895a82222")},
			traced: []event.Event{ev("x.strace", 1, at("18:25:36.238768"), of("b39895a8"))},
			want:   []string{"2026-11-22T18:25:36.238768Z"}, basis: "zone not known, taken as UTC, date from the node's dated evidence",
		},
		{
			name:   "midnight between the exit and the trace",
			known:  []event.Event{exit("2026-11-20T23:59:59.9Z", id)},
			traced: []event.Event{ev("x.strace", 1, at("00:00:00.100000"), of(id))},
			want:   []string{"2026-11-21T00:00:00.1Z"},
		},
		{
			name:   "midnight in the trace",
			known:  []event.Event{exit("2026-11-20T23:59:59.5Z", id)},
			traced: []event.Event{ev("x.strace", 1, at("23:59:59.600000"), of(id)), ev("x.strace", 2, at("00:00:05.000000")), ev("x.strace", 3, at("00:01:00.000000"))},
			want:   []string{"2026-11-20T23:59:59.6Z", "2026-11-21T00:00:05Z", "2026-11-21T00:01:00Z"},
		},
		{
			name:   "threads write in disorder around midnight",
			known:  []event.Event{exit("2026-11-20T23:59:59.5Z", id)},
			traced: []event.Event{ev("x.strace", 1, at("00:00:00.000001")), ev("x.strace", 2, at("23:59:59.999999"), of(id)), ev("x.strace", 3, at("00:00:01.000000"))},
			want:   []string{"2026-11-20T23:59:59.999999Z", "2026-11-21T00:00:00.000001Z", "2026-11-21T00:00:01Z"},
		},
		{
			name:   "else by the dated evidence",
			known:  []event.Event{exit("2026-11-20T23:50:00Z", id)},
			traced: []event.Event{ev("x.strace", 1, at("00:10:00.000000"))},
			want:   []string{"2026-11-21T00:10:00Z"}, basis: "zone not known, taken as UTC, date from the node's dated evidence",
		},
		{
			name:   "no evidence: the first of January of year 2000, and the next day",
			traced: []event.Event{ev("x.strace", 1, at("23:59:59.000000")), ev("x.strace", 2, at("00:00:01.000000"))},
			want:   []string{"1990-06-15T23:59:59Z", "1990-06-16T00:00:01Z"}, basis: "zone not known, taken as UTC, date not known",
		},
		{
			name:   "a trace eight hours from its container's exit is in another zone than the journal",
			known:  []event.Event{exit("2026-11-20T10:25:36Z", id)},
			traced: []event.Event{ev("x.strace", 1, at("18:25:36.500000"), of(id))},
			want:   []string{"2026-11-20T10:25:36.5Z"}, basis: "zone +08:00 from events of the same container, date from events of the same container",
		},
		{
			name:   "a trace that no zone brings next to its container stays",
			known:  []event.Event{exit("2026-11-20T10:25:36Z", id)},
			traced: []event.Event{ev("x.strace", 1, at("18:55:36.500000"), of(id))},
			want:   []string{"2026-11-20T18:55:36.5Z"}, basis: "zone not known, taken as UTC, date from events of the same container",
		},
		{
			name:   "by a journal that lacks its year itself",
			known:  []event.Event{ev("short.log", 1, at("Nov 20 18:25:36"), of(id))},
			traced: []event.Event{ev("x.strace", 1, at("18:25:37.000000"), of(id))},
			want:   []string{"2000-11-20T18:25:37Z"}, basis: "zone not known, taken as UTC, date from events of the same container",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tl := Build(Input{Events: pointersTo(append(tc.known, tc.traced...)...)}, Options{})
			var got []string
			for _, e := range tl.Events {
				if e.Pos().File == "x.strace" {
					got = append(got, e.Start.T.Format(time.RFC3339Nano))
					if tc.basis != "" {
						require.Equal(t, tc.basis, e.Basis)
					}
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// A traced call that lasts over midnight ends on the next day, and a line about a
// long call begins on the day before.
func TestIntervalOverMidnight(t *testing.T) {
	call := ev("x.strace", 1, at("23:59:30.000000"))
	call.End = call.Start.Add(time.Minute)
	told := ev("short.log", 1, at("Mar 01 00:01:00"), took(2*time.Minute))
	tl := Build(Input{Events: pointersTo(call, told, ev("dated.log", 1, at("2025-02-28T23:59:00Z")))}, Options{})
	for _, e := range tl.Events[1:] {
		require.Equal(t, "2025-02-28", e.Start.T.Format(time.DateOnly), "2025 has no 29 February between")
		require.Equal(t, "2025-03-01", e.End.T.Format(time.DateOnly))
	}
	require.Equal(t, time.Minute, tl.Events[2].Duration())
	require.Equal(t, 2*time.Minute, tl.Events[1].Duration())
}

func TestClocks(t *testing.T) {
	in := Input{
		Sources: []*Source{
			covers("short.log", "kubelet.log", "Dec 31 23:00:00", "Jan 01 01:00:00"),
			covers("short.log", "systemd.log", "Jan 01 00:10:00", "Jan 01 00:20:00"),
			covers("iso.log", "containerd.log", "2025-12-31T15:00:00Z", "2025-12-31T17:00:00Z"),
			{File: "config.toml", Name: "containerd.log"},
		},
	}
	in.Sources[2].Zones = []Zone{{8 * 3600, 2}}
	in.Sources[0].Clues = &Clues{Pairs: []Pair{
		same("Dec 31 23:00:00", "2025-12-31T15:00:00Z"), same("Dec 31 23:00:01", "2025-12-31T15:00:01Z"), same("Dec 31 23:00:02", "2025-12-31T14:00:02Z"),
	}}
	tl := Build(in, Options{})
	for i := range tl.Clocks {
		tl.Clocks[i].zone, tl.Clocks[i].moves, tl.Clocks[i].years = rule{}, nil, yearRange{} // Instant has tests of its own
	}
	require.Equal(t, []Clock{
		{File: "iso.log", Basis: "written", Offset: 8 * time.Hour},
		{
			File: "short.log", Basis: "zone +08:00 from lines that carry both clocks, year 2026 from lines that carry both clocks",
			Offset: 8 * time.Hour, Note: "1 of 3 lines with two stamps show another zone",
		},
	}, tl.Clocks)
	var rows []string
	for _, c := range tl.Coverage {
		rows = append(rows, fmt.Sprint(c.Source, " ", c.File, " ", c.Start.Format(time.RFC3339), " ", c.End.Format(time.RFC3339)))
	}
	require.Equal(t, []string{
		"containerd.log config.toml 0001-01-01T00:00:00Z 0001-01-01T00:00:00Z",
		"containerd.log iso.log 2025-12-31T15:00:00Z 2025-12-31T17:00:00Z",
		"kubelet.log short.log 2025-12-31T15:00:00Z 2025-12-31T17:00:00Z",
		"systemd.log short.log 2025-12-31T16:10:00Z 2025-12-31T16:20:00Z",
	}, rows)
}

// Write true instants as a node somewhere on Earth does, with what its formats
// leave out, beside one line that is stamped twice: Build finds the instants again.
func TestBuildRecoversInstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := rapid.SampledFrom([]int{-720, -570, -480, -300, -210, -150, 0, 60, 120, 210, 330, 345, 480, 570, 630, 720, 765, 840}).Draw(t, "zone")
		zone := time.Duration(minutes) * time.Minute
		begin := time.Unix(rapid.Int64Range(1400000000, 4000000000).Draw(t, "begin"), 0).UTC()
		// Strictly later line by line, over at most 5 months.
		var truth []time.Time
		for i, now := 0, begin; i < rapid.IntRange(1, 20).Draw(t, "lines"); i++ {
			now = now.Add(time.Duration(rapid.IntRange(0, 7*86400).Draw(t, "step")) * time.Second)
			truth = append(truth, now)
		}
		lacks := rapid.SampledFrom([]event.Lacks{event.LacksZone, event.LacksZone | event.LacksYear}).Draw(t, "lacks")
		prec := rapid.SampledFrom([]time.Duration{0, time.Microsecond, time.Second}).Draw(t, "precision")
		var in Input
		for i, at := range truth {
			in.Events = append(in.Events, pointersTo(ev("x.log", i+1, localOf(at, zone, lacks, prec), says(fmt.Sprint(i))))...)
		}
		known := rapid.IntRange(0, len(truth)-1).Draw(t, "stamped twice")
		p := Pair{Local: localOf(truth[known], zone, lacks, prec), True: truth[known]}
		if rapid.Bool().Draw(t, "late") {
			p.True, p.Late = p.True.Add(-time.Duration(rapid.IntRange(0, 800).Draw(t, "lag"))*time.Second), true
		}
		in.Sources = []*Source{pairs("x.log", p)}
		tl := Build(in, Options{})
		require.Len(t, tl.Events, len(truth))
		for _, e := range tl.Events {
			require.Equal(t, truth[e.Pos().Line-1], e.Start.T, "line %d, zone %v", e.Pos().Line, zone)
			require.NotEmpty(t, e.Basis)
		}
	})
}

// A trace without dates that starts within a few hours of a dated event of its
// container, and whose events follow each other within half a day, is dated right.
func TestBuildRecoversDates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.Duration(rapid.IntRange(-12, 14).Draw(t, "zone")) * time.Hour
		exit := time.Unix(rapid.Int64Range(1400000000, 4000000000).Draw(t, "exit"), 0).UTC()
		lacks := event.LacksZone | event.LacksYear | event.LacksDate
		in := Input{
			Events:  pointersTo(ev("dated.log", 1, event.At(exit), of("abcdef0123456789"))),
			Sources: []*Source{{File: "dated.log", Name: "test.log", Zones: []Zone{{int(zone / time.Second), 1}}}},
		}
		var truth []time.Time
		// Within strange of what is known of the container; farther away another zone may be meant.
		now := exit.Add(time.Duration(rapid.IntRange(-29*60, 29*60).Draw(t, "start")) * time.Second)
		for i := range rapid.IntRange(1, 10).Draw(t, "calls") {
			truth = append(truth, now)
			e := ev("x.strace", i+1, localOf(now, zone, lacks, time.Microsecond))
			if i == 0 {
				e.IDs.Container = "abcdef01"
			}
			in.Events = append(in.Events, &e)
			now = now.Add(time.Duration(rapid.IntRange(0, 11*3600).Draw(t, "step")) * time.Second)
		}
		for _, e := range Build(in, Options{}).Events {
			if e.Pos().File == "x.strace" {
				require.Equal(t, truth[e.Pos().Line-1], e.Start.T)
			}
		}
	})
}

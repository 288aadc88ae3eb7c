package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// stampedIn is a complete stamp of the face, with the offset written.
func stampedIn(zone *time.Location, day, hour, minute int) event.Time {
	return event.Time{T: time.Date(2025, 10, day, hour, minute, 0, 0, zone), Known: true}
}

// face is a stamp without year and zone, as klog writes it.
func face(day, hour, minute int) event.Time {
	return event.Time{T: time.Date(0, 10, day, hour, minute, 0, 0, time.UTC), Lacks: event.LacksYear | event.LacksZone, Known: true}
}

// sinceBoot is a stamp of the kernel's clock.
func sinceBoot(d time.Duration) event.Time {
	return event.Time{T: time.Unix(0, 0).UTC().Add(d), Lacks: event.LacksBoot, Known: true}
}

// build adds records of one component, one a line.
func build(foreign bool, records ...event.Record) *SourceBuilder {
	b := NewFileSources("a.log", foreign).Builder("", "kubelet.log")
	for i := range records {
		records[i].Pos = event.Pos{File: "a.log", Line: i + 1}
		b.AddRecord(&records[i])
	}
	return b
}

var (
	berlinSummer = time.FixedZone("", 2*3600)
	berlinWinter = time.FixedZone("", 3600)
)

func TestSourceBuilderSpan(t *testing.T) {
	rec := event.Record{Time: stampedIn(berlinSummer, 1, 10, 0), Level: event.Error}
	b := build(false, event.Record{}, rec, event.Record{Time: stampedIn(berlinSummer, 1, 9, 0), Level: event.Info}, event.Record{Level: event.Warning})
	require.Equal(t, "2025-10-01T08:00:00Z", b.First.T.Format(time.RFC3339), "in UTC, and in the order of the lines")
	require.Equal(t, "2025-10-01T07:00:00Z", b.Last.T.Format(time.RFC3339))
	require.Equal(t, event.Info, b.Level, "the least serious level")

	own := build(false, event.Record{Time: face(1, 10, 0), Outer: stampedIn(berlinSummer, 1, 10, 0)}, event.Record{})
	require.Equal(t, face(1, 10, 0), own.Last)
	require.Equal(t, "2025-10-01T08:00:00Z", own.Carried.T.Format(time.RFC3339), "a line without a stamp changes nothing")

	ring := build(false, event.Record{Time: sinceBoot(5 * time.Second)}, event.Record{Time: stampedIn(time.UTC, 2, 0, 0)}, event.Record{Time: sinceBoot(9 * time.Second)})
	require.Equal(t, stampedIn(time.UTC, 2, 0, 0), ring.First, "a time since boot counts only where there is no other")
	require.Equal(t, stampedIn(time.UTC, 2, 0, 0), ring.Last)
}

// The runtime stamps the lines of a container with the node's offset; their own clock may have none
// of it.
func TestSourceBuilderOfAContainer(t *testing.T) {
	line := event.Record{Time: face(1, 8, 0), Outer: stampedIn(berlinSummer, 1, 10, 0), Contained: true}
	require.True(t, build(false, line).Foreign)
	line.Outer = stampedIn(time.FixedZone("", 0), 1, 8, 0)
	require.False(t, build(false, line).Foreign, "docker stamps in UTC, wherever the node is")
}

func TestSourceBuilderSpanInAnyOrder(t *testing.T) {
	b := build(false)
	b.AddSpan(event.Time{}, event.Time{})
	require.True(t, b.First.IsZero())
	b.AddSpan(stampedIn(time.UTC, 2, 0, 0), stampedIn(time.UTC, 3, 0, 0))
	b.AddSpan(stampedIn(time.UTC, 1, 0, 0), stampedIn(time.UTC, 2, 0, 0))
	require.Equal(t, stampedIn(time.UTC, 1, 0, 0), b.First)
	require.Equal(t, stampedIn(time.UTC, 3, 0, 0), b.Last)
	clock := event.Time{T: time.Date(0, 1, 1, 9, 0, 0, 0, time.UTC), Lacks: event.LacksDate | event.LacksZone, Known: true}
	b.AddSpan(clock, clock)
	require.Equal(t, stampedIn(time.UTC, 1, 0, 0), b.host.First, "a clock face is not compared with a date")
}

func TestSourceBuilderZones(t *testing.T) {
	records := []event.Record{
		{Time: stampedIn(berlinSummer, 1, 10, 0)},
		{Time: face(1, 10, 0), Outer: stampedIn(berlinSummer, 1, 10, 0)},
		{Time: stampedIn(time.UTC, 1, 8, 0)},
		{Time: face(1, 10, 0)},
	}
	require.Equal(t, []Zone{{7200, 2}}, build(false, records...).Zones, "an epoch and a face tell no zone")

	inContainer := []event.Record{{Time: stampedIn(berlinWinter, 1, 9, 0), Outer: stampedIn(berlinSummer, 1, 10, 0)}}
	require.Equal(t, []Zone{{7200, 1}}, build(true, inContainer...).Zones, "the carrier's clock is the node's, the writer's its own")
}

func TestSourceBuilderPairs(t *testing.T) {
	outer := build(false, event.Record{Time: face(1, 10, 0), Outer: stampedIn(berlinSummer, 1, 10, 0)})
	require.Equal(t, []Pair{{Local: face(1, 10, 0), True: time.Date(2025, 10, 1, 8, 0, 0, 0, time.UTC)}}, outer.Pairs)
	inner := build(false, event.Record{Time: stampedIn(time.UTC, 1, 8, 0), Outer: face(1, 10, 0)})
	require.Equal(t, outer.Pairs, inner.Pairs)
	require.Empty(t, build(false, event.Record{Time: stampedIn(time.UTC, 1, 8, 0), Outer: sinceBoot(time.Minute)}).Pairs)
	require.Empty(t, build(false, event.Record{Time: face(1, 8, 0), Outer: face(1, 8, 0)}).Pairs)
}

// Behind the first pairs only those are kept that show another offset, and the pair before each.
func TestSourceBuilderPairsAroundATurn(t *testing.T) {
	var records []event.Record
	for i := range 3 * MaxPairs {
		records = append(records, event.Record{Time: face(25, i/60, i%60), Outer: stampedIn(berlinSummer, 25, i/60, i%60)})
	}
	before := len(records)
	for i := range 100 {
		records = append(records, event.Record{Time: face(26, 3, i%60), Outer: stampedIn(berlinSummer, 26, 4, i%60)})
	}
	b := build(false, records...)
	require.Len(t, b.Pairs, MaxPairs+pairsOfRun+1+pairsOfRun, "the first, some behind them, the last before the turn, some behind it")
	turn := b.Pairs[MaxPairs+pairsOfRun:]
	require.Equal(t, records[before-1].Time, turn[0].Local)
	require.Equal(t, records[before].Time, turn[1].Local)

	var restless []event.Record
	for i := range 2000 {
		restless = append(restless, event.Record{Time: face(1, i%24, 0), Outer: stampedIn(time.UTC, 1, 0, 0)})
	}
	require.LessOrEqual(t, len(build(false, restless...).Pairs), MaxPairs+2*maxChanges*pairsOfRun, "two clocks, not one that is turned")
}

func TestSourceBuilderTurns(t *testing.T) {
	records := []event.Record{
		{Time: stampedIn(berlinSummer, 25, 10, 0)},
		{Time: stampedIn(berlinSummer, 25, 11, 0)},
		{Time: stampedIn(time.UTC, 25, 12, 0)},
		{Time: stampedIn(berlinWinter, 26, 10, 0)},
		{Time: stampedIn(berlinWinter, 26, 11, 0)},
	}
	require.Equal(t, []Turn{
		{From: time.Date(2025, 10, 25, 8, 0, 0, 0, time.UTC), Offset: 2 * time.Hour},
		{After: time.Date(2025, 10, 25, 12, 0, 0, 0, time.UTC), From: time.Date(2025, 10, 26, 9, 0, 0, 0, time.UTC), Offset: time.Hour},
	}, build(false, records...).Turns)

	carried := []event.Record{
		{Time: face(25, 11, 0), Outer: stampedIn(berlinSummer, 25, 11, 0)}, {Time: face(26, 10, 0), Outer: stampedIn(berlinWinter, 26, 10, 0)},
	}
	require.Equal(t, time.Date(2025, 10, 25, 9, 0, 0, 0, time.UTC), build(false, carried...).Turns[1].After, "of stamps that the carrier wrote, too")
	require.Empty(t, build(true, carried...).Turns, "a container's clock is no node's")

	var restless []event.Record
	for i := range 200 {
		restless = append(restless, event.Record{Time: stampedIn([]*time.Location{berlinSummer, berlinWinter}[i%2], 1, 0, 0)})
	}
	require.Len(t, build(false, restless...).Turns, maxChanges+1)
}

func TestSourceBuilderSeen(t *testing.T) {
	banner := event.Record{Outer: stampedIn(berlinSummer, 1, 10, 0)}
	b := build(false, banner)
	require.Equal(t, []event.Time{banner.Outer}, b.Seen)
	require.True(t, b.First.IsZero(), "a banner is no entry")
	require.Len(t, build(false, make([]event.Record, 0)...).Seen, 0)
	many := make([]event.Record, 2*maxSeen)
	for i := range many {
		many[i] = banner
	}
	require.Len(t, build(false, many...).Seen, maxSeen)
}

func TestSourceBuilderBoots(t *testing.T) {
	at := func(minute int, uptime time.Duration) event.Record {
		return event.Record{Time: stampedIn(time.UTC, 1, 0, minute), Uptime: uptime}
	}
	b := build(false, at(0, time.Minute), at(1, 2*time.Minute), at(15, 16*time.Minute), at(20, 5*time.Second), at(25, 5*time.Minute+5*time.Second))
	var lines []int
	for _, boot := range b.Boots {
		lines = append(lines, boot.Line)
		require.False(t, boot.Read)
	}
	require.Equal(t, []int{1, 3, 4}, lines, "the first of each boot, and one every ten minutes")

	stepped := build(false, at(0, time.Minute), at(31, 2*time.Minute))
	require.Len(t, stepped.Boots, 2, "the clock was set, or it is another boot")

	read := build(false,
		event.Record{Time: stampedIn(time.UTC, 1, 0, 1), Outer: sinceBoot(65 * time.Second), Uptime: 65 * time.Second},
		event.Record{Time: stampedIn(time.UTC, 1, 0, 2), Outer: sinceBoot(121 * time.Second), Uptime: 121 * time.Second})
	require.Len(t, read.Boots, 1)
	require.Equal(t, 2, read.Boots[0].Line, "of two that were read late the one that was read sooner")
	require.True(t, read.Boots[0].Read)

	var hours []event.Record
	for i := range 2 * maxBoots {
		hours = append(hours, at(60*i, time.Duration(i+1)*time.Hour))
	}
	long := build(false, hours...)
	require.Len(t, long.Boots, maxBoots)
	require.Equal(t, 2*maxBoots, long.Boots[maxBoots-1].Line, "of too many the last ones stay")
}

func TestFileSources(t *testing.T) {
	f := NewFileSources("journal.log", false)
	add := func(line int, host, name string, at event.Time) {
		f.Builder(host, name).AddRecord(&event.Record{Pos: event.Pos{File: "journal.log", Line: line}, Host: host, Time: at})
	}
	add(1, "a", "kubelet.log", stampedIn(time.UTC, 1, 0, 0))
	add(2, "a", "containerd.log", stampedIn(time.UTC, 1, 1, 0))
	add(3, "b", "kubelet.log", stampedIn(time.UTC, 1, 2, 0))
	add(4, "a", "kubelet.log", stampedIn(time.UTC, 1, 3, 0))
	f.AddNames(map[string]bool{"kubelet.log": true, "dbus.log": true})

	f.Seal()
	var rows []string
	for s := range f.All() {
		rows = append(rows, fmt.Sprint(s.File, " ", s.Name, " ", s.First.T.Hour(), "-", s.Last.T.Hour()))
	}
	require.Equal(t, []string{"journal.log containerd.log 0-3", "journal.log dbus.log 0-0", "journal.log kubelet.log 0-3", "journal.log kubelet.log 2-2"}, rows,
		"each component of a host is covered by all lines of the host")
	a := f.hostOf("a")
	require.Equal(t, []int{3, 1, 4}, []int{a.Lines, a.From, a.To})
	require.False(t, f.Has("b", "containerd.log"))
	require.True(t, f.Has("b", "kubelet.log"))

	f.DropHosts(func(host string) bool { return host != "a" })
	require.Equal(t, 2, f.Len())
}

// A hostile file may name a host in every line.
func TestFileSourcesAreBounded(t *testing.T) {
	f := NewFileSources("journal.log", false)
	for i := range 3 * maxHosts {
		f.Builder(fmt.Sprint("host-", i), "kubelet.log").AddRecord(&event.Record{Pos: event.Pos{Line: i + 1}})
	}
	require.LessOrEqual(t, f.hosts.Len(), maxHosts+1)
	require.LessOrEqual(t, f.Len(), maxHosts+1)
	require.Equal(t, 2*maxHosts, f.hostOf("").Lines)
}

func BenchmarkSourceBuilder(b *testing.B) {
	s := NewFileSources("a.log", false).Builder("node-1", "kubelet.log")
	own, outer := face(1, 10, 0), stampedIn(berlinSummer, 1, 10, 0)
	b.ReportAllocs()
	for b.Loop() {
		rec := event.Record{Pos: event.Pos{Line: 1}, Time: own, Outer: outer}
		s.AddRecord(&rec)
	}
}

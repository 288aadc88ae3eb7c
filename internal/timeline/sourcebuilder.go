package timeline

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// FileSources builds the [Source]s of one file from its records: one for each component of each
// host that wrote into it. A nil one has none, and none can be added to it.
type FileSources struct {
	file     string
	foreign  bool
	hosts    fewMap[string, Host] // "" stands for lines that name none
	builders fewMap[sourceKey, SourceBuilder]
	zoned    int // records whose stamps were all counted for their zones
}

// sourceKey is a component of a host.
type sourceKey struct{ host, name string }

// Host is what the lines of one machine in a file span.
type Host struct {
	Name        string
	Lines       int
	From, To    int        // the first and the last of its lines
	First, Last event.Time // stamps, of all its components

	strong bool // First is known to be no weak stamp
}

// maxHosts bounds the hosts of one file; lines of any more count as lines that name none.
const maxHosts = 1000

// NewFileSources starts with no source. Foreign is for files of programs in containers, see
// [Source.Foreign].
func NewFileSources(file string, foreign bool) *FileSources {
	return &FileSources{file: file, foreign: foreign}
}

// Builder is the builder of a host's component, which it adds where there is none yet. An empty
// host stands for lines that name none, an empty name for lines of unknown programs.
func (f *FileSources) Builder(host, name string) *SourceBuilder {
	h := f.hostOf(host)
	key := sourceKey{h.Name, name}
	b := f.builders.get(key)
	if b == nil {
		b = &SourceBuilder{Source: Source{File: f.file, Name: name, Foreign: f.foreign}, file: f, host: h}
		f.builders.add(key, b)
	}
	return b
}

// Find is the builder of a host's component; nil where nothing was added for it.
func (f *FileSources) Find(host, name string) *SourceBuilder {
	if f == nil {
		return nil
	}
	return f.builders.get(sourceKey{host, name})
}

// AddNames adds empty sources for those of the names that no host has yet: events of the file name
// them, but none of its lines is theirs.
func (f *FileSources) AddNames(names map[string]bool) {
	if len(names) == 0 {
		return
	}
	known := map[string]bool{}
	for key := range f.builders.all() {
		known[key.name] = true
	}
	for name := range names {
		if !known[name] {
			f.Builder("", name)
		}
	}
}

// DropHosts removes the sources of hosts that are not to be kept; "" is asked for lines that name
// none.
func (f *FileSources) DropHosts(keep func(host string) bool) {
	if f != nil {
		f.builders.deleteKeys(func(key sourceKey) bool { return !keep(key.host) })
	}
}

// IsSilent says that a file has no source, or a single one whose lines name no host, no program and
// no time.
func (f *FileSources) IsSilent() bool {
	return f == nil || f.hosts.len() == 1 && f.builders.len() == 1 && f.builders.entries[0].value.isSilent()
}

// isSilent says that nothing is known of a source but that it has lines.
func (b *SourceBuilder) isSilent() bool {
	return b.Name == "" && b.host.Name == "" && b.First.IsZero() && b.Lines == 0 && b.Pairs == nil && b.Zones == nil &&
		b.Turns == nil && b.Seen == nil && b.Boots == nil
}

// Len is how many sources List gives.
func (f *FileSources) Len() int {
	if f == nil {
		return 0
	}
	return f.builders.len()
}

// List is what was built, in a fixed order. A file of several components covers each of them from
// its first line to its last: one without lines in between did not log anything.
func (f *FileSources) List() []Source {
	if f.Len() < 2 { // as most files
		all := make([]Source, f.Len())
		for i := range all {
			all[i] = f.builders.entries[i].value.Source
		}
		return all
	}
	components := map[string]int{} // by host
	for key := range f.builders.all() {
		components[key.host]++
	}
	all := make([]Source, 0, f.builders.len())
	byName := func(a, b fewEntry[sourceKey, SourceBuilder]) int {
		return cmp.Or(cmp.Compare(a.key.name, b.key.name), cmp.Compare(a.key.host, b.key.host))
	}
	for _, e := range slices.SortedFunc(slices.Values(f.builders.entries), byName) {
		s := e.value.Source
		if components[e.key.host] > 1 && !s.First.IsZero() {
			s.First, s.Last = e.value.host.First, e.value.host.Last
		}
		all = append(all, s)
	}
	return all
}

// Hosts are the machines that the lines name; "" stands for lines that name none.
func (f *FileSources) Hosts() iter.Seq2[string, *Host] {
	if f == nil {
		return func(func(string, *Host) bool) {}
	}
	return f.hosts.all()
}

func (f *FileSources) hostOf(name string) *Host {
	h := f.hosts.get(name)
	if h == nil && name != "" && f.hosts.len() >= maxHosts {
		return f.hostOf("")
	}
	if h == nil {
		h = &Host{Name: name}
		f.hosts.add(name, h)
	}
	return h
}

// SourceBuilder builds one [Source]: it follows the records of one component in one file and notes
// what they span and show about the node's clocks. What it keeps is bounded, however long the log
// is.
type SourceBuilder struct {
	Source
	// Carried is the carrier's stamp of the latest record, or the record's own where it has only
	// one.
	Carried event.Time

	file     *FileSources
	host     *Host
	location *time.Location // of the latest stamp with an offset
	apart    time.Duration  // by which the two stamps of the latest record differ, see pairsDiffer
	changes  int            // of apart
	run      int            // records in a row with that difference
	strong   bool           // First is known to be no weak stamp
	quiet    time.Duration  // the last long time without a record, which ended at resumed
	resumed  time.Time
}

// Bounds of what is kept.
const (
	// MaxPairs bounds the double stamps of one file that are all kept, and the late pairs of one
	// source: a zone is clear after a few.
	MaxPairs = 256
	// maxSeen bounds the banners of journalctl: files may be put together of many.
	maxSeen = 64
	// maxBoots bounds the lines with a time since boot: of those a boot and a sleep take one each,
	// a drifting clock some.
	maxBoots = 256
	// maxChanges bounds the changes of an offset that are noted: more of them are of two clocks.
	maxChanges = 16
	// pairsOfRun is how many pairs of each offset are kept behind the first MaxPairs: one alone is
	// an odd line.
	pairsOfRun = 4
)

// AddRecord notes what a record shows, and changes its stamps to UTC.
func (b *SourceBuilder) AddRecord(rec *event.Record) {
	if b.host.Lines == 0 {
		b.host.From = rec.Pos.Line
	}
	b.host.Lines++
	b.host.To = rec.Pos.Line
	b.addClocks(rec)
	if !rec.Time.IsZero() {
		b.Lines++
		b.addQuiet(rec)
		weak := isWeakStamp(&rec.Time)
		extendSpan(&b.First, &b.Last, &b.strong, &rec.Time, weak)
		extendSpan(&b.host.First, &b.host.Last, &b.host.strong, &rec.Time, weak)
		if b.Carried = rec.Time; !rec.Outer.IsZero() {
			b.Carried = rec.Outer
		}
	}
	if rec.Level != event.NoLevel && (b.Level == event.NoLevel || rec.Level < b.Level) {
		b.Level = rec.Level
	}
}

// addQuiet notes how long the source was quiet before a record.
func (b *SourceBuilder) addQuiet(rec *event.Record) {
	const longQuiet = time.Minute
	if d := rec.Time.T.Sub(b.Last.T); !b.Last.IsZero() && b.Last.Lacks == rec.Time.Lacks && d >= longQuiet {
		b.quiet, b.resumed = d, rec.Time.T
	}
	if d := rec.Time.T.Sub(b.resumed); b.quiet > 0 && d >= 0 && d < time.Second {
		rec.Quiet = b.quiet
	}
}

// extendSpan makes a stamp the last one of a span. Times since boot, and those that no clock of a
// node can have shown, are weak: they count only where there are no others.
func extendSpan(first, last *event.Time, strong *bool, t *event.Time, weak bool) {
	if !*strong {
		*strong = first.Known && !isWeakStamp(first)
	}
	switch {
	case !first.Known, !weak && !*strong:
		*first, *last, *strong = *t, *t, !weak
	case !weak || !*strong:
		*last = *t
	}
}

func isWeakStamp(t *event.Time) bool {
	return t.Lacks == event.LacksBoot || t.Lacks&(event.LacksYear|event.LacksDate) == 0 && !event.Plausible(t.T)
}

// AddSpan makes the source cover a time that is of no record, as of a sample or a call; spans may
// come in any order.
func (b *SourceBuilder) AddSpan(from, to event.Time) {
	if from.IsZero() {
		return
	}
	b.strong, b.host.strong = false, false
	widenSpan(&b.First, &b.Last, from, to)
	if b.host.First.IsZero() || b.host.First.Lacks == from.Lacks { // stamps that lack different parts do not compare
		widenSpan(&b.host.First, &b.host.Last, from, to)
	}
}

func widenSpan(first, last *event.Time, from, to event.Time) {
	if first.IsZero() || from.T.Before(first.T) {
		*first = from
	}
	if last.IsZero() || to.T.After(last.T) {
		*last = to
	}
}

// AddLatePairs adds moments that lines name besides their own stamps, see [Pair.Late].
func (b *SourceBuilder) AddLatePairs(pairs []Pair) { b.Pairs = append(b.Pairs, pairs...) }

// addClocks keeps moments that are stamped twice and the offsets that stamps carry.
func (b *SourceBuilder) addClocks(rec *event.Record) {
	if rec.Outer.Known && !rec.Time.Known {
		if len(b.Seen) < maxSeen {
			b.Seen = append(b.Seen, rec.Outer)
		}
		return
	}
	if b.file.zoned < MaxPairs {
		b.file.zoned++
		if !b.Foreign || rec.Outer.IsZero() { // else it is a container's own clock
			b.countZone(rec.Time)
		}
		b.countZone(rec.Outer)
		b.addPair(rec.Time, rec.Outer)
	} else if rec.Outer.Known && b.pairsDiffer(rec) {
		b.addPair(rec.Time, rec.Outer)
	}
	b.addTurn(rec)
	if rec.Uptime > 0 {
		b.AddBoot(rec)
	}
	rec.Time.T, rec.Outer.T = rec.Time.T.UTC(), rec.Outer.T.UTC()
}

// countZone counts the offset of a stamp. One in UTC is mostly an epoch, which says nothing of a
// zone.
func (b *SourceBuilder) countZone(t event.Time) {
	if t.IsZero() || t.Lacks != 0 || t.T.Location() == time.UTC {
		return
	}
	if b.Zones == nil {
		b.Zones = map[int]int{}
	}
	_, seconds := t.T.Zone()
	b.Zones[seconds]++
}

// addPair keeps two stamps of one line of which one is complete and the other is not.
func (b *SourceBuilder) addPair(own, outer event.Time) {
	if outer.IsZero() || own.IsZero() || outer.Lacks == event.LacksBoot {
		return
	}
	if outer.Lacks != 0 && own.Lacks == 0 {
		b.Pairs = append(b.Pairs, Pair{Local: outer, True: own.T.UTC()})
	}
	if outer.Lacks == 0 && own.Lacks != 0 {
		b.Pairs = append(b.Pairs, Pair{Local: own, True: outer.T.UTC()})
	}
}

// pairsDiffer says that the two stamps of a line differ by another offset than those of the lines
// before: a clock that is turned shows it somewhere in the log, not in its first lines. It compares
// only the times of day, and keeps the line before, too.
func (b *SourceBuilder) pairsDiffer(rec *event.Record) bool {
	const quarter, day = 15 * 60, 86400
	seconds := (rec.Time.T.Unix() - rec.Outer.T.Unix()) % day
	apart := time.Duration((seconds+day+quarter/2)%day/quarter) * quarter * time.Second
	if apart != b.apart {
		if b.run > 0 && b.changes < maxChanges {
			b.addPair(b.Last, b.Carried)
		}
		b.apart, b.run = apart, 0
		b.changes++
	}
	b.run++
	return b.run <= pairsOfRun && b.changes <= maxChanges
}

// addTurn notes that a stamp has another offset than the ones before.
func (b *SourceBuilder) addTurn(rec *event.Record) {
	t := rec.Time
	if t.Lacks != 0 || !t.Known {
		t = rec.Outer
	}
	if !t.Known || t.Lacks != 0 || b.Foreign {
		return
	}
	location := t.T.Location()
	if location == b.location || location == time.UTC || len(b.Turns) > maxChanges {
		return
	}
	b.location = location
	_, seconds := t.T.Zone()
	turn := Turn{From: t.T.UTC(), Offset: time.Duration(seconds) * time.Second}
	if before := b.Last; before.Known && before.Lacks == 0 {
		turn.After = before.T
	} else if b.Carried.Known && b.Carried.Lacks == 0 {
		turn.After = b.Carried.T
	}
	b.Turns = append(b.Turns, turn)
}

// A line is kept for its two clocks so often: a clock drifts by less than a second in that time.
// Lines that put the boot so far apart are of another one, or the clock was set.
const (
	bootEvery = 10 * time.Minute
	otherBoot = time.Minute
)

// AddBoot keeps a record that shows both the wall's time and the time since boot: the first of
// every boot, and every so often another. Of too many the last ones stay.
func (b *SourceBuilder) AddBoot(rec *event.Record) {
	boot := Boot{Uptime: rec.Uptime, At: rec.Time, Line: rec.Pos.Line}
	switch {
	case rec.Outer.Lacks == event.LacksBoot:
		boot.Read = true
	case rec.Outer.Known:
		boot.At = rec.Outer
	}
	if !boot.At.Known || boot.At.Lacks == event.LacksBoot {
		return
	}
	n := len(b.Boots)
	if n > 0 {
		last := &b.Boots[n-1]
		since := boot.Uptime - last.Uptime
		later := boot.At.T.Sub(last.At.T) - since // by which it puts the boot
		if since >= 0 && since < bootEvery && (later.Abs() < otherBoot || boot.At.Lacks != last.At.Lacks) {
			if boot.Read && later > 0 {
				*last = boot // it was read with less delay
			}
			return
		}
	}
	if n == maxBoots {
		b.Boots = b.Boots[:copy(b.Boots, b.Boots[1:])]
	}
	boot.At.T = boot.At.T.UTC()
	b.Boots = append(b.Boots, boot)
}

// AddTold keeps what a record stamped with the time since boot says of the wall clock.
func (b *SourceBuilder) AddTold(rec *event.Record, at event.Time) {
	b.Told = append(b.Told, Boot{Uptime: uptimeOf(rec.Time), At: at, Line: rec.Pos.Line})
}

// fewMap is a map that is small while it holds few: most files have one writer on one host, and a
// bundle may hold 50 000 files. The zero value is empty.
type fewMap[K comparable, V any] struct {
	entries []fewEntry[K, V]
	index   map[K]int // of entries; nil while they are few
}

type fewEntry[K comparable, V any] struct {
	key   K
	value *V
}

// maxFew is how many entries are searched one by one.
const maxFew = 8

// get is the value of a key; nil when there is none.
func (m *fewMap[K, V]) get(key K) *V {
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return m.entries[i].value
		}
		return nil
	}
	for i := range m.entries {
		if m.entries[i].key == key {
			return m.entries[i].value
		}
	}
	return nil
}

// add sets the value of a key that has none.
func (m *fewMap[K, V]) add(key K, value *V) {
	m.entries = append(m.entries, fewEntry[K, V]{key, value})
	if m.index != nil {
		m.index[key] = len(m.entries) - 1
	} else if len(m.entries) > maxFew {
		m.reindex()
	}
}

func (m *fewMap[K, V]) len() int { return len(m.entries) }

// all yields the entries in the order in which they were added.
func (m *fewMap[K, V]) all() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for _, e := range m.entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// deleteKeys removes the entries of the keys for which drop is true.
func (m *fewMap[K, V]) deleteKeys(drop func(K) bool) {
	m.entries = slices.DeleteFunc(m.entries, func(e fewEntry[K, V]) bool { return drop(e.key) })
	if m.index != nil {
		m.reindex()
	}
}

func (m *fewMap[K, V]) reindex() {
	m.index = make(map[K]int, len(m.entries))
	for i, e := range m.entries {
		m.index[e.key] = i
	}
}

package timeline

import (
	"cmp"
	"iter"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/few"
)

// FileSources builds the [Source]s of one file from its records: one for each component of each
// host that wrote into it. A nil one has none, and none can be added to it.
type FileSources struct {
	sources  few.Map[sourceKey, Source]
	hosts    *few.Map[string, Host] // "" stands for lines that name none; nil when no line names any
	building *building              // nil when the file has been read
}

// building is what is only needed while a file is read: bundles hold 200 000.
type building struct {
	file     string
	foreign  bool
	builders few.Map[sourceKey, SourceBuilder]
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
	return &FileSources{hosts: &few.Map[string, Host]{}, building: &building{file: file, foreign: foreign}}
}

// Builder is the builder of a host's component, which it adds where there is none yet. An empty
// host stands for lines that name none, an empty name for lines of unknown programs. It must not be
// called after Seal.
func (f *FileSources) Builder(host, name string) *SourceBuilder {
	h := f.hostOf(host)
	key := sourceKey{h.Name, name}
	file := f.building
	b := file.builders.Get(key)
	if b == nil {
		b = &SourceBuilder{Source: &Source{File: file.file, Name: name, Foreign: file.foreign}, file: file, host: h}
		file.builders.Add(key, b)
		f.sources.Add(key, b.Source)
	}
	return b
}

// Find is the builder of a host's component; nil where nothing was added for it, and after Seal.
func (f *FileSources) Find(host, name string) *SourceBuilder {
	if f == nil || f.building == nil {
		return nil
	}
	return f.building.builders.Get(sourceKey{host, name})
}

// Has says whether a host's component wrote into the file.
func (f *FileSources) Has(host, name string) bool {
	return f != nil && f.sources.Get(sourceKey{host, name}) != nil
}

// AddNames adds empty sources for those of the names that no host has yet: events of the file name
// them, but none of its lines is theirs.
func (f *FileSources) AddNames(names map[string]bool) {
	if len(names) == 0 {
		return
	}
	known := map[string]bool{}
	for key := range f.sources.All() {
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
		f.sources.DeleteKeys(func(key sourceKey) bool { return !keep(key.host) })
	}
}

// IsSilent says that a file has no source, or a single one whose lines name no host, no program and
// no time.
func (f *FileSources) IsSilent() bool {
	if f == nil || f.sources.Len() != 1 || f.hosts.Len() != 1 {
		return f == nil
	}
	b := f.Find("", "")
	return b != nil && b.First.IsZero() && b.Lines == 0 && b.Zones == nil && b.Pairs == nil && b.Turns == nil && b.Seen == nil && b.Boots == nil
}

// All yields what there is of each source, in no fixed order while the file is read.
func (f *FileSources) All() iter.Seq[*Source] {
	if f == nil {
		return func(func(*Source) bool) {}
	}
	return f.sources.Values()
}

// Len is how many sources there are.
func (f *FileSources) Len() int {
	if f == nil {
		return 0
	}
	return f.sources.Len()
}

// Seal ends the building and puts the sources into a fixed order. A file of several components
// covers each of them from its first line to its last: one without lines in between did not log
// anything.
func (f *FileSources) Seal() {
	if f == nil || f.building == nil {
		return
	}
	for b := range f.building.builders.Values() {
		if clues := b.Clues; !clues.none() {
			b.Source.Clues = &clues
		}
	}
	f.building = nil
	if f.sources.Len() < 2 { // as in most files
		if f.hosts.Len() == 1 && f.hosts.Get("") != nil {
			f.hosts = nil
		}
		return
	}
	components := map[string]int{} // by host
	for key := range f.sources.All() {
		components[key.host]++
	}
	for key, s := range f.sources.All() {
		if h := f.hosts.Get(key.host); components[key.host] > 1 && !s.First.IsZero() {
			s.First, s.Last = h.First, h.Last
		}
	}
	f.sources.SortKeys(func(a, b sourceKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.host, b.host))
	})
}

// Hosts are the machines that the lines name; "" stands for lines that name none, and may be
// missing.
func (f *FileSources) Hosts() iter.Seq2[string, *Host] {
	if f == nil || f.hosts == nil {
		return func(func(string, *Host) bool) {}
	}
	return f.hosts.All()
}

func (f *FileSources) hostOf(name string) *Host {
	h := f.hosts.Get(name)
	if h == nil && name != "" && f.hosts.Len() >= maxHosts {
		return f.hostOf("")
	}
	if h == nil {
		h = &Host{Name: name}
		f.hosts.Add(name, h)
	}
	return h
}

// SourceBuilder builds one [Source]: it follows the records of one component in one file and notes
// what they span and show about the node's clocks. What it keeps is bounded, however long the log
// is.
type SourceBuilder struct {
	*Source
	Clues // of the source, when the file has been read
	// Carried is the carrier's stamp of the latest record, or the record's own where it has only
	// one.
	Carried event.Time

	file     *building
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

// AddPairs adds moments that lines name besides their own stamps.
func (b *SourceBuilder) AddPairs(pairs ...Pair) { b.Pairs = append(b.Pairs, pairs...) }

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
		b.Foreign = b.Foreign || rec.Contained && rec.Outer.T.Format("-07") != "+00" // the runtime stamped it in the zone of the node
		if !b.Foreign || rec.Outer.IsZero() {                                        // else it is the clock of a container
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
	_, seconds := t.T.Zone()
	for i := range b.Zones {
		if z := &b.Zones[i]; z.Seconds == seconds {
			z.Stamps++
			return
		}
	}
	b.Zones = append(b.Zones, Zone{seconds, 1})
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

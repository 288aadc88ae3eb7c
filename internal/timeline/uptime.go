package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// bootTime is the moment from which the time since boot counts, by this line.
func (b *Boot) bootTime() time.Time { return b.At.T.Add(-b.Uptime) }

// uptimeOf is the time since boot that a stamp shows.
func uptimeOf(t event.Time) time.Duration { return t.T.Sub(bootEpoch) }

var bootEpoch = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)

// Lines of the kernel are stamped when they are read, at most sameBoot late. The kernel's clock
// drifts against the wall clock by seconds a day, which does not matter within oneDrift.
const (
	sameBoot = time.Minute
	oneDrift = time.Hour
)

// reboot is how far the time since boot must fall back for another boot to begin.
const reboot = time.Minute

// settleBoots makes moments of stamps since boot, for each boot in a file: by its lines that carry
// both clocks, else by lines that the file shares with a dated one, else, for its last boot, by
// lines of the node's last boot that carry both clocks. Other stamps have no time.
func (r *reconciler) settleBoots(events []*event.Event, sources []*Source) {
	dated := map[content][]event.Time{}
	for _, e := range events {
		if e.Component == "kernel" && e.Start.Known && e.Start.Lacks == 0 && event.Plausible(e.Start.T) {
			key := kernelContentOf(e)
			if len(dated[key]) < maxSame {
				dated[key] = append(dated[key], e.Start)
			}
		}
	}
	last := anchorsOfLastBoot(sources)
	for _, sequences := range r.incomplete[event.LacksBoot].groupByFile() {
		file, runs := sequences[0].file, splitBoots(sequences)
		c := r.clockOf(file)
		for i, run := range runs {
			basis := "its lines that carry both clocks"
			mine := func(s *Source, line int) bool { return s.File == file && run.containsLine(line) }
			anchors := sortByUptime(findAnchors(sources, false, mine))
			if len(anchors) == 0 {
				anchors = anchorsFromSharedLines(run.stamps, dated)
				basis = "lines that another file holds with the wall clock"
			}
			ofLast := i == len(runs)-1 && !isOfEarlierBoot(sources, file)
			if len(anchors) == 0 && len(last) > 0 && ofLast && !run.isOfOtherBoot(last, dated, sources) {
				anchors, basis = last, "lines of the last boot that carry both clocks"
				c.addNote("no line shows that it is of that boot")
			}
			if len(anchors) == 0 { // the clock of the hardware may be wrong
				anchors, basis = sortByUptime(findAnchors(sources, true, mine)), "what its lines say of the clock"
			}
			run.resolve(anchors, basis, c)
			if len(runs) == 1 && len(anchors) > 0 {
				c.booted = anchors[len(anchors)-1].bootTime().UTC()
			}
		}
	}
}

// resolve makes moments of the stamps of a run. Without anchors they are no longer known.
func (r bootRun) resolve(anchors []Boot, basis string, c *clock) {
	const noBoot = "nothing shows when the machine booted, so lines have no time: dmesg -T or journalctl -k would give it"
	c.sources[event.LacksBoot], c.bases = "seconds since boot", nil
	if len(anchors) > 0 {
		c.sources[event.LacksBoot] += fmt.Sprintf(", at %s by %s",
			anchors[len(anchors)-1].bootTime().UTC().Format(time.RFC3339), basis)
	} else if !strings.Contains(c.note, noBoot) {
		c.addNote(noBoot)
	}
	for _, s := range r.stamps {
		s.resolveUptime(anchors, c)
	}
}

// bootRun is the stamps of one boot in a file.
type bootRun struct{ stamps []*stamp }

// containsLine says whether a line is part of the run.
func (r bootRun) containsLine(line int) bool {
	return r.stamps[0].line <= line && line <= r.stamps[len(r.stamps)-1].line
}

// isOfEarlierBoot says that a file is of a boot before the last one.
func isOfEarlierBoot(sources []*Source, file string) bool {
	return slices.ContainsFunc(sources, func(s *Source) bool { return s.File == file && s.Earlier })
}

// isOfOtherBoot says that the run is of another boot than the anchors: they put it into a time from
// which dated files have lines of the kernel, but none of the run's lines. That happens when the
// machine was booted again after its logs were collected.
func (r bootRun) isOfOtherBoot(anchors []Boot, dated map[content][]event.Time, sources []*Source) bool {
	inside := false
	for _, st := range r.stamps {
		if st.event == nil || st.event.Component != "kernel" {
			continue
		}
		if len(dated[kernelContentOf(st.event)]) > 0 {
			return false
		}
		at := findNearestAnchor(anchors, uptimeOf(*st.main)).bootTime().Add(uptimeOf(*st.main))
		inside = inside || slices.ContainsFunc(sources, func(s *Source) bool {
			return s.Name == "kernel.log" && s.First.Lacks == 0 && s.First.Known && at.After(s.First.T.Add(sameBoot)) &&
				at.Before(s.Last.T.Add(-sameBoot))
		})
	}
	return inside
}

// splitBoots splits the stamps of a file, in the order of its lines, where the time since boot
// falls back.
func splitBoots(file []*sequence) (runs []bootRun) {
	var all []*stamp
	for _, q := range file {
		for i := range q.stamps {
			all = append(all, &q.stamps[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *stamp) int { return cmp.Compare(a.line, b.line) })
	from := 0
	for i := 1; i < len(all); i++ {
		if all[i-1].main.T.Sub(all[i].main.T) > reboot {
			runs, from = append(runs, bootRun{all[from:i]}), i
		}
	}
	return append(runs, bootRun{all[from:]})
}

// kernelContentOf is what copies of a line of the kernel have in common.
func kernelContentOf(e *event.Event) content {
	s := contentOf(e)
	s.key, s.edge = "", event.Whole
	return s
}

// maxSame bounds the moments of one content that are tried.
const maxSame = 32

// findAnchors returns the lines of sources that carry both clocks (told: in their words) and that
// want accepts. Those whose uptime is that of the reading count only where there are no others.
func findAnchors(sources []*Source, told bool, want func(s *Source, line int) bool) []Boot {
	var at, read []Boot
	for i := range sources {
		boots := sources[i].Boots
		if told {
			boots = sources[i].Told
		}
		for _, b := range boots {
			switch {
			case !b.At.Known || b.At.Lacks != 0 || !event.Plausible(b.At.T) || !want(sources[i], b.Line):
			case b.Read:
				read = append(read, b)
			default:
				at = append(at, b)
			}
		}
	}
	if len(at) == 0 {
		return read
	}
	return at
}

// anchorsOfLastBoot returns the anchors of the last boot that was seen, in the order of the time
// since boot.
func anchorsOfLastBoot(sources []*Source) []Boot {
	all := findAnchors(sources, false, func(*Source, int) bool { return true })
	slices.SortFunc(all, func(a, b Boot) int { return cmp.Or(a.At.T.Compare(b.At.T), cmp.Compare(a.Uptime, b.Uptime)) })
	from := len(all)
	for from > 0 && (from == len(all) || all[from-1].Uptime <= all[from].Uptime ||
		all[from].bootTime().Sub(all[from-1].bootTime()) <= sameBoot) {
		from--
	}
	return sortByUptime(all[from:])
}

// sortByUptime orders anchors by the time since boot. Each gets the moment of boot of the anchor
// near it that was read with the least delay: a logging daemon reads the kernel's first lines only
// when it starts itself.
func sortByUptime(all []Boot) []Boot {
	slices.SortFunc(all, func(a, b Boot) int { return cmp.Or(cmp.Compare(a.Uptime, b.Uptime), a.At.T.Compare(b.At.T)) })
	told := slices.Clone(all)
	from := 0
	for i := range all {
		for all[i].Uptime-told[from].Uptime > oneDrift {
			from++
		}
		best := told[i]
		for _, near := range told[from:] {
			if near.Uptime-told[i].Uptime > oneDrift {
				break
			}
			sooner := best.bootTime().Sub(near.bootTime())
			if near.Read {
				sooner = -sooner
			}
			if sooner > 0 && told[i].bootTime().Sub(near.bootTime()).Abs() <= sameBoot {
				best = near
			}
		}
		all[i].At = event.Time{T: best.bootTime().Add(all[i].Uptime), Prec: best.At.Prec, Known: true}
	}
	return all
}

// anchorsFromSharedLines makes anchors of lines that a dated file has, too: those that agree on the
// moment of the boot, if they are more than for any other moment. Lines of one second count once: a
// daemon that starts late reads what the kernel wrote long before, and stamps all of it with its
// own time.
func anchorsFromSharedLines(stamps []*stamp, dated map[content][]event.Time) []Boot {
	var all []Boot
	for _, s := range stamps {
		if s.event == nil || len(all) >= maxShared {
			continue
		}
		for _, t := range dated[kernelContentOf(s.event)] {
			all = append(all, Boot{Uptime: uptimeOf(*s.main), At: t})
		}
	}
	slices.SortFunc(all, func(a, b Boot) int {
		return cmp.Or(a.bootTime().Compare(b.bootTime()), cmp.Compare(a.Uptime, b.Uptime))
	})
	var best []Boot
	first, second := 0, 0
	for i := 0; i < len(all); {
		seconds := map[int64]bool{}
		n := i
		for ; n < len(all) && all[n].bootTime().Sub(all[i].bootTime()) <= agreed; n++ {
			seconds[int64(all[n].Uptime/time.Second)] = true
		}
		switch {
		case len(seconds) > first:
			first, second, best = len(seconds), first, all[i:n]
		case len(seconds) > second:
			second = len(seconds)
		}
		i = n
	}
	if first == second {
		return nil
	}
	return sortByUptime(slices.Clone(best))
}

// maxShared bounds the lines that are compared; agreed is how far apart the boots of two lines that
// agree can be.
const (
	maxShared = 4096
	agreed    = 5 * time.Second
)

// resolveUptime makes a moment of a stamp since boot by the nearest anchor, because the kernel's
// clock stops while the machine sleeps. Without an anchor the stamp is no longer known.
func (s *stamp) resolveUptime(anchors []Boot, c *clock) {
	if len(anchors) == 0 {
		*s.main = event.Time{}
		if s.other != nil {
			*s.other = event.Time{}
		}
		return
	}
	uptime, written := uptimeOf(*s.main), s.main.T
	a := findNearestAnchor(anchors, uptime)
	s.main.T, s.main.Lacks, s.main.Prec = a.bootTime().Add(uptime).UTC(), 0, max(s.main.Prec, a.At.Prec)
	if s.other != nil && s.other.Known {
		if s.other.Lacks != 0 {
			s.other.T, s.other.Prec = s.main.T.Add(s.other.T.Sub(written)), max(s.other.Prec, s.main.Prec)
		}
		s.other.T, s.other.Lacks = s.other.T.UTC(), 0
	}
	if s.event != nil {
		s.event.Basis = c.basisFor(event.LacksBoot)
	}
}

// findNearestAnchor returns the anchor whose time since boot is nearest. There is at least one;
// they are in the order of that time.
func findNearestAnchor(anchors []Boot, uptime time.Duration) *Boot {
	i, _ := slices.BinarySearchFunc(anchors, uptime,
		func(a Boot, u time.Duration) int { return cmp.Compare(a.Uptime, u) })
	i = min(i, len(anchors)-1)
	if i > 0 && uptime-anchors[i-1].Uptime < anchors[i].Uptime-uptime {
		i--
	}
	return &anchors[i]
}

package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// anchor is a moment by both clocks: seconds since boot, and the wall.
type anchor struct {
	uptime time.Duration
	at     event.Time
	read   bool // see Boot.Read
}

func (a anchor) boot() time.Time { return a.at.T.Add(-a.uptime) }

// uptimeOf is what a stamp without a boot shows.
func uptimeOf(t event.Time) time.Duration { return t.T.Sub(bootFace) }

var bootFace = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)

// The lines of the kernel are stamped when they are read: sameBoot is how late that is at most. Its clock
// drifts against the wall's by seconds a day: within oneDrift that does not matter.
const (
	sameBoot = time.Minute
	oneDrift = time.Hour
)

// reboot is how far the time since boot falls back at least where a file goes on with another boot.
const reboot = time.Minute

// settleBoots places stamps since boot, those of each boot that a file tells of: by lines of theirs that carry both clocks,
// else by lines that the file shares with a dated one, else, of its last boot, by lines of
// the node's last boot that carry both clocks. What none of them places keeps no time.
func (r *reconciler) settleBoots(events []*event.Event, sources []Source) {
	dated := map[saying][]event.Time{}
	for _, e := range events {
		if e.Component == "kernel" && e.Start.Known && e.Start.Lacks == 0 && event.Plausible(e.Start.T) {
			key := bootSaying(e)
			if len(dated[key]) < maxSame {
				dated[key] = append(dated[key], e.Start)
			}
		}
	}
	last := lastBoot(sources)
	for _, file := range r.bootless.byFile() {
		c := r.clock(file[0].file)
		runs := bootsOf(file)
		for i, run := range runs {
			anchors, basis := byUptime(anchorsOf(sources, func(s *Source, b *Boot) bool { return s.File == file[0].file && run.holds(b.Line) })), "its lines that carry both clocks"
			if len(anchors) == 0 {
				anchors, basis = sharedLines(run.stamps, dated), "lines that another file holds with the wall clock"
			}
			if len(anchors) == 0 && len(last) > 0 && i == len(runs)-1 && !isEarlier(sources, file[0].file) && !run.misses(last, dated, sources) {
				anchors, basis = last, "lines of the last boot that carry both clocks"
				c.note = join("; ", c.note, "no line shows that it is of that boot")
			}
			run.set(anchors, basis, c)
			if len(runs) == 1 && len(anchors) > 0 {
				c.booted = anchors[len(anchors)-1].boot().UTC()
			}
		}
	}
}

// set makes instants of the stamps of a run; without anchors they are no longer known.
func (r bootRun) set(anchors []anchor, basis string, c *clock) {
	const noBoot = "nothing tells when the machine booted, so lines have no time: dmesg -T or journalctl -k would"
	c.boot, c.bases[event.LacksBoot] = "seconds since boot", ""
	if len(anchors) > 0 {
		c.boot = fmt.Sprintf("seconds since boot, at %s by %s", anchors[len(anchors)-1].boot().UTC().Format(time.RFC3339), basis)
	} else if !strings.Contains(c.note, noBoot) {
		c.note = join("; ", c.note, noBoot)
	}
	for _, s := range r.stamps {
		s.setUptime(anchors, c)
	}
}

// bootRun is what a file tells of one boot.
type bootRun struct{ stamps []*stamp }

// holds says whether a line is one of the run.
func (r bootRun) holds(line int) bool {
	return r.stamps[0].line <= line && line <= r.stamps[len(r.stamps)-1].line
}

// isEarlier says that a file is of a boot before the last one.
func isEarlier(sources []Source, file string) bool {
	return slices.ContainsFunc(sources, func(s Source) bool { return s.File == file && s.Earlier })
}

// misses says that the run is of another boot than the anchors: they put it where dated files tell of the kernel, and those hold
// none of its lines. So it is where the machine was booted once more after its logs were collected.
func (r bootRun) misses(anchors []anchor, dated map[saying][]event.Time, sources []Source) bool {
	inside := false
	for _, st := range r.stamps {
		if st.event == nil || st.event.Component != "kernel" {
			continue
		}
		if len(dated[bootSaying(st.event)]) > 0 {
			return false
		}
		at := nearestAnchor(anchors, uptimeOf(*st.main)).boot().Add(uptimeOf(*st.main))
		inside = inside || slices.ContainsFunc(sources, func(s Source) bool {
			return s.Name == "kernel.log" && s.First.Lacks == 0 && s.First.Known && at.After(s.First.T.Add(sameBoot)) && at.Before(s.Last.T.Add(-sameBoot))
		})
	}
	return inside
}

// bootsOf splits the stamps of a file, in the order of its lines, where the time since boot falls back.
func bootsOf(file []*sequence) (runs []bootRun) {
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

// bootSaying is what copies of a line of the kernel have in common.
func bootSaying(e *event.Event) saying {
	s := sayingOf(e)
	s.key, s.edge = "", event.Whole
	return s
}

// maxSame bounds the moments at which one thing was said that are tried.
const maxSame = 32

// anchorsOf are the lines of sources that carry both clocks and that are wanted. Where any is stamped by
// both at once, or read soon by the wall, those count whose uptime tells only when they were read no more.
func anchorsOf(sources []Source, want func(*Source, *Boot) bool) []anchor {
	var at, read []anchor
	for i := range sources {
		for j := range sources[i].Boots {
			switch b := &sources[i].Boots[j]; {
			case !b.At.Known || b.At.Lacks != 0 || !event.Plausible(b.At.T) || !want(&sources[i], b):
			case b.Read:
				read = append(read, anchor{b.Uptime, b.At, true})
			default:
				at = append(at, anchor{b.Uptime, b.At, false})
			}
		}
	}
	if len(at) == 0 {
		return read
	}
	return at
}

// lastBoot are the anchors of the boot that was seen last, in the order of the time since it.
func lastBoot(sources []Source) []anchor {
	all := anchorsOf(sources, func(*Source, *Boot) bool { return true })
	slices.SortFunc(all, func(a, b anchor) int { return cmp.Or(a.at.T.Compare(b.at.T), cmp.Compare(a.uptime, b.uptime)) })
	from := len(all)
	for from > 0 && (from == len(all) || all[from-1].uptime <= all[from].uptime || all[from].boot().Sub(all[from-1].boot()) <= sameBoot) {
		from--
	}
	return byUptime(all[from:])
}

// byUptime orders anchors by the time since boot, and gives each the moment of the boot that the one of those around
// it tells which was read with the least delay: a log reads the first lines of a kernel when it starts itself.
func byUptime(all []anchor) []anchor {
	slices.SortFunc(all, func(a, b anchor) int { return cmp.Or(cmp.Compare(a.uptime, b.uptime), a.at.T.Compare(b.at.T)) })
	told := slices.Clone(all)
	from := 0
	for i := range all {
		for all[i].uptime-told[from].uptime > oneDrift {
			from++
		}
		best := told[i]
		for _, near := range told[from:] {
			if near.uptime-told[i].uptime > oneDrift {
				break
			}
			sooner := best.boot().Sub(near.boot())
			if near.read {
				sooner = -sooner
			}
			if sooner > 0 && told[i].boot().Sub(near.boot()).Abs() <= sameBoot {
				best = near
			}
		}
		all[i].at = event.Time{T: best.boot().Add(all[i].uptime), Prec: best.at.Prec, Known: true}
	}
	return all
}

// sharedLines are the anchors that lines give which a dated file holds too: the moment of the boot on
// which most of them agree, and more than on any other. Lines of one second count once: a daemon that starts late reads what
// the kernel wrote long before, and stamps it all with its own time.
func sharedLines(stamps []*stamp, dated map[saying][]event.Time) []anchor {
	var all []anchor
	for _, s := range stamps {
		if s.event == nil || len(all) >= maxShared {
			continue
		}
		for _, t := range dated[bootSaying(s.event)] {
			all = append(all, anchor{uptime: uptimeOf(*s.main), at: t})
		}
	}
	slices.SortFunc(all, func(a, b anchor) int { return cmp.Or(a.boot().Compare(b.boot()), cmp.Compare(a.uptime, b.uptime)) })
	var best []anchor
	first, second := 0, 0
	for i := 0; i < len(all); {
		seconds := map[int64]bool{}
		n := i
		for ; n < len(all) && all[n].boot().Sub(all[i].boot()) <= agreed; n++ {
			seconds[int64(all[n].uptime/time.Second)] = true
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
	return byUptime(slices.Clone(best))
}

// maxShared bounds the lines that are compared; agreed is how far apart two of them may put one boot.
const (
	maxShared = 4096
	agreed    = 5 * time.Second
)

// setUptime makes an instant of a stamp since boot: by the anchor nearest to it, for the kernel's clock stands still
// while the machine sleeps. Without an anchor the stamp is no longer known.
func (s *stamp) setUptime(anchors []anchor, c *clock) {
	if len(anchors) == 0 {
		*s.main = event.Time{}
		if s.other != nil {
			*s.other = event.Time{}
		}
		return
	}
	uptime, written := uptimeOf(*s.main), s.main.T
	a := nearestAnchor(anchors, uptime)
	s.main.T, s.main.Lacks, s.main.Prec = a.boot().Add(uptime).UTC(), 0, max(s.main.Prec, a.at.Prec)
	if s.other != nil && s.other.Known {
		if s.other.Lacks != 0 {
			s.other.T, s.other.Prec = s.main.T.Add(s.other.T.Sub(written)), max(s.other.Prec, s.main.Prec)
		}
		s.other.T, s.other.Lacks = s.other.T.UTC(), 0
	}
	if s.event != nil {
		s.event.Basis = c.basis(event.LacksBoot)
	}
}

// nearestAnchor is the anchor whose time since boot is nearest; anchors are in its order, at least one.
func nearestAnchor(anchors []anchor, uptime time.Duration) anchor {
	i, _ := slices.BinarySearchFunc(anchors, uptime, func(a anchor, u time.Duration) int { return cmp.Compare(a.uptime, u) })
	i = min(i, len(anchors)-1)
	if i > 0 && uptime-anchors[i-1].uptime < anchors[i].uptime-uptime {
		i--
	}
	return anchors[i]
}

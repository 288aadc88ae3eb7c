package stackdump

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/plegdiag/plegdiag/internal/event"
)

// profileStart begins a goroutine profile in protocol buffers: one sample type,
// strings 1 and 2 of the string table. Profiles of CPU and heap have several types.
const profileStart = "\x0a\x04\x08\x01\x10\x02"

// maxEntry bounds the count of one entry: more goroutines than any process can have are damage.
const maxEntry = 1 << 31

// isProfileHeader recognizes the first line of a profile in text: "goroutine
// profile: total 111", "goroutineleak profile: total 3" (Go 1.26).
func isProfileHeader(s string) bool {
	return findProfile(s) == 0
}

// findProfile is where the first line of a profile in text begins in text; -1 when it does not.
func findProfile(text string) int {
	if i := strings.Index(text, "goroutine profile: total "); i >= 0 {
		return i
	}
	return strings.Index(text, "goroutineleak profile: total ")
}

// totalOf is how many goroutines the first line of a profile counts.
func totalOf(s string) int {
	number, _, _ := strings.Cut(s[strings.LastIndex(s, "total ")+len("total "):], " ")
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// takeProfileLine reads a line of a profile in text, printCountProfile of runtime/pprof/pprof.go:
//
//	7 @ 0xc9e676 0xc96c37 0xccaf49
//	# labels: {"pod":"a"}
//	#	0xccaf48	internal/poll.runtime_pollWait+0x88		runtime/netpoll.go:305
func (p *parser) takeProfileLine(s string, at int) bool {
	rest, comment := strings.CutPrefix(s, "#")
	if !comment {
		return p.takeProfileEntry(s, at)
	}
	if p.where != inProfileEntry && !p.beginUncounted(rest, s, at) {
		return false
	}
	if labels, ok := strings.CutPrefix(rest, " labels: "); ok {
		var set map[string]string
		if json.Unmarshal([]byte(labels), &set) != nil {
			return false
		}
		for _, k := range slices.Sorted(maps.Keys(set)) {
			p.g.Labels = append(p.g.Labels, event.Pair{Key: k, Value: set[k]})
		}
		return true
	}
	words := strings.Fields(rest)
	if len(words) == 0 || !strings.HasPrefix(words[0], "0x") {
		return false
	}
	f := p.pushFrame()
	f.Func = "?" // the program has no symbols
	if len(words) > 1 {
		f.Func = words[1]
		if i := strings.LastIndex(f.Func, "+0x"); i > 0 {
			f.Func = f.Func[:i]
		}
	}
	if len(words) > 2 {
		if path, line, ok := parseFile(strings.Join(words[2:], " ")); ok {
			f.File, f.Line = path, line
		}
	}
	from := at + max(0, strings.Index(s, f.Func))
	f.Raw, f.Pos = p.quoteText(from, min(from+len(f.Func), at+len(s)))
	return true
}

// beginUncounted begins an entry for a stack whose count somebody left out.
func (p *parser) beginUncounted(rest, s string, at int) bool {
	if words := strings.Fields(rest); len(words) < 3 || !strings.HasPrefix(words[0], "0x") || !strings.Contains(words[1], "+0x") {
		return false
	}
	p.beginGoroutine()
	p.where, p.dump.Profile = inProfileEntry, true
	p.g.Header, p.g.Pos = p.quoteText(at, at+len(s))
	return true
}

// takeProfileEntry begins a count of goroutines with one stack.
func (p *parser) takeProfileEntry(s string, at int) bool {
	count, pcs, ok := strings.Cut(s, " @")
	n, err := strconv.ParseUint(count, 10, 31)
	if !ok || err != nil || n == 0 || strings.Trim(pcs, " 0123456789abcdefx") != "" {
		return false
	}
	if !p.dump.Profile && strings.Count(pcs, " 0x") < 2 {
		return false // no header says that this is a profile
	}
	p.beginGoroutine()
	p.where, p.dump.Profile = inProfileEntry, true
	p.g.Alike = int(n) - 1
	p.g.Header, p.g.Pos = p.quoteText(at, at+len(s))
	return true
}

// parseProfile reads a profile in protocol buffers. It counts as one line.
func parseProfile(src Source) *Dump {
	d := &Dump{File: src.File, Profile: true, Lines: 1}
	pos := event.Pos{File: src.File}
	refuse := func(format string, args ...any) *Dump {
		d.Skipped = 1
		d.Skips = append(d.Skips, &event.Skip{Pos: pos, Lines: 1, Reason: fmt.Sprintf(format, args...)})
		return d
	}
	p, err := profile.ParseUncompressed([]byte(src.Text))
	if err == nil {
		err = p.CheckValid()
	}
	switch {
	case err != nil:
		return refuse("damaged goroutine profile: %s", clipText(err.Error()))
	case len(p.SampleType) != 1 || !strings.HasPrefix(p.SampleType[0].Type, "goroutine"):
		return refuse("a profile, but not of goroutines")
	}
	d.Used = 1
	for _, s := range p.Sample {
		d.Headers++
		if s.Value[0] <= 0 || s.Value[0] > maxEntry {
			d.Lost++
			continue
		}
		d.Goroutines = append(d.Goroutines, Goroutine{
			Alike: int(s.Value[0]) - 1, Labels: sampleLabels(s), Frames: sampleFrames(s, pos), Pos: pos,
		})
	}
	if d.Lost > 0 {
		d.Skips = append(d.Skips,
			&event.Skip{Pos: pos, Reason: fmt.Sprintf("%d entries of the profile have an impossible count", d.Lost)})
	}
	return d
}

func sampleLabels(s *profile.Sample) (labels []event.Pair) {
	for _, k := range slices.Sorted(maps.Keys(s.Label)) {
		labels = append(labels, event.Pair{Key: k, Value: strings.Join(s.Label[k], ", ")})
	}
	return labels
}

func sampleFrames(s *profile.Sample, pos event.Pos) (frames []Frame) {
	for _, at := range s.Location {
		for i, line := range at.Line {
			f := Frame{Func: "?", Line: int(line.Line), Inlined: i < len(at.Line)-1, Pos: pos}
			if line.Function != nil {
				f.Func, f.File = line.Function.Name, line.Function.Filename
			}
			frames = append(frames, f)
		}
		if len(at.Line) == 0 {
			frames = append(frames, Frame{Func: "?", Pos: pos})
		}
	}
	for i := range frames {
		frames[i].fn = newFunction(frames[i].Func)
	}
	return frames
}

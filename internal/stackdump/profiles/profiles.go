// Package profiles writes goroutine dumps as goroutine profiles of pprof.
package profiles

import (
	"fmt"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// Selection is a dump, or some of its goroutines, for a profile.
type Selection struct {
	*stackdump.Dump
	Locks []stackdump.Lock // of the whole dump
	Wants func(int) bool   // says whether a goroutine, by index, is meant; nil means all
}

// Write writes goroutines as a goroutine profile that go tool pprof
// opens, compressed. Each stack is counted once for each state and wait, and
// each lock that its goroutines wait for; the labels state, wait and lock tell
// them apart. Dumps of several files are told apart by the label dump.
func Write(w io.Writer, dumps []Selection) error {
	b := profileBuilder{
		p:         &profile.Profile{SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}},
		functions: map[stackdump.Frame]*profile.Function{}, locations: map[stackdump.Frame]*profile.Location{},
	}
	b.p.PeriodType, b.p.Period = b.p.SampleType[0], 1
	for _, d := range dumps {
		name := ""
		if len(dumps) > 1 {
			name = d.File
		}
		b.addSelection(&d, name)
	}
	return b.p.Write(w)
}

// profileBuilder turns goroutines into samples.
type profileBuilder struct {
	p         *profile.Profile
	functions map[stackdump.Frame]*profile.Function // by Func and File
	locations map[stackdump.Frame]*profile.Location // by Func, File and Line
}

func (b *profileBuilder) addSelection(d *Selection, name string) {
	lockOf := map[int]string{}
	for _, l := range d.Locks {
		for _, w := range l.Waiters {
			lockOf[w.Goroutine] = l.Addr
		}
	}
	type kind struct {
		lock string
		wait time.Duration
	}
	for _, members := range d.Members() {
		samples := map[kind]*profile.Sample{}
		for _, i := range members {
			if d.Wants != nil && !d.Wants(i) {
				continue
			}
			g := &d.Goroutines[i]
			k := kind{lockOf[i], g.Wait}
			s := samples[k]
			if s == nil {
				s = &profile.Sample{Value: []int64{0}, Location: b.locationsOf(g.Frames), Label: map[string][]string{}}
				setLabel(s, "state", g.State)
				setLabel(s, "lock", k.lock)
				setLabel(s, "dump", name)
				if g.Wait > 0 {
					setLabel(s, "wait", fmt.Sprintf("%d minutes", int(g.Wait.Minutes())))
				}
				samples[k] = s
				b.p.Sample = append(b.p.Sample, s)
			}
			s.Value[0] += int64(1 + g.Alike)
		}
	}
}

func setLabel(s *profile.Sample, key, value string) {
	if value != "" {
		s.Label[key] = []string{value}
	}
}

func (b *profileBuilder) locationsOf(frames []stackdump.Frame) []*profile.Location {
	stack := make([]*profile.Location, len(frames))
	for i := range frames {
		stack[i] = b.locationOf(&frames[i])
	}
	return stack
}

func (b *profileBuilder) locationOf(f *stackdump.Frame) *profile.Location {
	key := stackdump.Frame{Func: f.Func, File: f.File, Line: f.Line}
	if l := b.locations[key]; l != nil {
		return l
	}
	of := stackdump.Frame{Func: f.Func, File: f.File}
	fn := b.functions[of]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File}
		b.functions[of] = fn
		b.p.Function = append(b.p.Function, fn)
	}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
	b.locations[key] = l
	b.p.Location = append(b.p.Location, l)
	return l
}

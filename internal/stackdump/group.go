package stackdump

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// Groups puts goroutines together that are in the same state on the same stack,
// by function, file and line only: argument values differ by chance. The
// biggest comes first, then the longest wait, then the first printed.
func (d *Dump) Groups() []Group {
	groups := d.groupByStack()
	all := make([]Group, len(groups))
	for i := range groups {
		g := &groups[i]
		g.IDs = make([]uint64, 0, len(g.members))
		for _, member := range g.members {
			if id := d.Goroutines[member].ID; id != 0 || !d.Profile {
				g.IDs = append(g.IDs, id)
			}
		}
		g.Idle = d.Goroutines[g.members[0]].Idle()
		all[i] = g.Group
	}
	return all
}

// Members are the goroutines of each of the Groups, by index.
func (d *Dump) Members() [][]int {
	groups := d.groupByStack()
	all := make([][]int, len(groups))
	for i := range groups {
		all[i] = groups[i].members
	}
	return all
}

// members is a group before its account is made.
type members struct {
	Group
	members []int // indexes into Dump.Goroutines, rising
}

func (d *Dump) groupByStack() []members {
	groups := make([]members, 0, 64)
	seed := maphash.MakeSeed()
	byKey := map[uint64][]int{} // more than one only when hashes collide
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		key := stackHash(seed, g)
		at := slices.IndexFunc(byKey[key], func(n int) bool { return sameStack(&groups[n].Group, g) })
		if at < 0 {
			byKey[key] = append(byKey[key], len(groups))
			at = len(byKey[key]) - 1
			groups = append(groups, members{Group: Group{State: g.State, Frames: g.Frames, First: i}})
		}
		group := &groups[byKey[key][at]]
		group.Count += 1 + g.Alike
		group.MaxWait = max(group.MaxWait, g.Wait)
		group.members = append(group.members, i)
	}
	slices.SortStableFunc(groups, func(a, b members) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.MaxWait, a.MaxWait))
	})
	return groups
}

func stackHash(seed maphash.Seed, g *Goroutine) uint64 {
	key := maphash.String(seed, g.State)
	for i := range g.Frames {
		f := &g.Frames[i]
		// Multiplying by an odd constant keeps the order of frames in the sum.
		key = key*0x9e3779b97f4a7c15 + maphash.String(seed, f.Func) + maphash.String(seed, f.File)*3 + uint64(f.Line)
	}
	return key
}

func sameStack(group *Group, g *Goroutine) bool {
	return group.State == g.State && SameFrames(group.Frames, g.Frames)
}

// SameFrames compares stacks by function, file and line.
func SameFrames(a, b []Frame) bool {
	return slices.EqualFunc(a, b, func(a, b Frame) bool {
		return a.Func == b.Func && a.Line == b.Line && a.File == b.File
	})
}

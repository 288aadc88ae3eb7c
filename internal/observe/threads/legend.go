package threads

import (
	"path"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// Legends are what the ids in samples stand for. A sampler writes them into files
// of their own beside the samples, in one directory. The zero value holds none.
type Legends struct {
	known map[legendKey]legend
	size  int
}

// legendKey is an id of one kind in one directory: ids of cgroups are the node's own.
type legendKey struct {
	dir  string
	kind samples.Legend
	id   uint64
}

// legend is what an id stands for, and the line that says so.
type legend struct {
	value string
	line  event.Quote
}

// maxLegends bounds the text that is kept, in bytes. A node shows some thousand different stacks of
// 1 KiB in a day.
const maxLegends = 32 << 20

// Add takes a row of a legend. Rows without a value, and those beyond the bound, are left out; the
// first of an id holds.
func (l *Legends) Add(s *samples.Sample) {
	k := legendKey{dir: path.Dir(s.Pos.File), kind: s.Legend, id: s.StackID}
	v := legend{s.Stack, s.Quote()}
	if s.Legend == samples.CgroupLegend {
		k.id, v.value = s.CgroupID, s.Cgroup
	}
	if _, twice := l.known[k]; twice || v.value == "" || l.size > maxLegends {
		return
	}
	if l.known == nil {
		l.known = map[legendKey]legend{}
	}
	l.known[k] = v
	l.size += len(v.value) + len(v.line.Text)
}

// Merge takes over what another file tells.
func (l *Legends) Merge(from *Legends) {
	for k, v := range from.known {
		if l.known == nil {
			l.known = map[legendKey]legend{}
		}
		if _, twice := l.known[k]; !twice {
			l.known[k] = v
		}
	}
}

// Empty says that no file told what an id stands for.
func (l *Legends) Empty() bool { return len(l.known) == 0 }

// Resolve puts into an event of a sample what its ids stand for, with the lines that say so.
func (l *Legends) Resolve(e *event.Event) {
	if e.Kind != event.KindThreadSample {
		return
	}
	for _, of := range [...]struct {
		kind       samples.Legend
		base       int
		key, field event.Key
	}{
		{samples.StackLegend, 16, event.FieldStackID, event.FieldStack},
		{samples.CgroupLegend, 10, event.FieldCgroupID, event.FieldCgroup},
	} {
		id, ok := e.Get(of.key)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(id.Text(), of.base, 64)
		v, known := l.known[legendKey{path.Dir(e.Pos().File), of.kind, n}]
		if err != nil || !known {
			continue
		}
		e.SetField(of.field.Text(v.value))
		if strings.Contains(v.value, "netlink_recvmsg") {
			e.SetField(event.FieldNetlink.Bool(true))
		}
		if of.kind == samples.CgroupLegend {
			if e.IDs.Container != "" || e.Component == "shim" || scan.FindID(v.value) == "" {
				continue // it proves nothing
			}
			e.IDs.Container = scan.FindID(v.value)
		}
		e.Evidence = append(e.Evidence, v.line)
	}
}

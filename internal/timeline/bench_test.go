//go:build unix

package timeline

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

const many = 200_000

// inputs of many events, each of the kind that would hurt most if something were quadratic.
var inputs = []struct {
	name string
	make func(i int) event.Event
}{
	{"mixed", func(i int) event.Event {
		e := ev(fmt.Sprint("file", i%4), i, event.At(noon.Add(time.Duration(i)*time.Millisecond)), of(fmt.Sprintf("%06x%06x", i%1000, i%1000)), says(fmt.Sprint("line ", i%5000)))
		e.Span.Key, e.Span.Edge = fmt.Sprint("cri/Update/", i%1000), event.Edge(i%3)
		return e
	}},
	{"one-second-one-text", func(i int) event.Event {
		return ev(fmt.Sprint("file", i%2), i, event.Time{T: noon, Prec: time.Second, Known: true}, says("the same"))
	}},
	{"one-span", func(i int) event.Event {
		e := ev("file", i, event.At(noon.Add(time.Duration(i)*time.Second)), edge("cri/Update/x", event.Edge(i%3)))
		if i%3 == 0 {
			e.End = e.Start
		}
		return e
	}},
	{"flapping", func(i int) event.Event { // a week of one node: its three logs, of which two lack the year
		truth := noon.Add(time.Duration(i) * 6 * time.Second)
		id := fmt.Sprintf("%016x%048x", uint64(i)*0x9e3779b97f4a7c15, i)
		klog := localOf(truth, 0, event.LacksZone|event.LacksYear, time.Microsecond)
		switch i % 8 {
		case 0, 1, 2:
			e := ev("messages", i, localOf(truth, 0, event.LacksZone|event.LacksYear, time.Second), kind(event.KindScopeStart), of(id), says("systemd starts the scope of "+id[:12]), edge("scope/"+id, event.End))
			e.Span.Foreign = true
			return e
		case 3, 4:
			return ev("kubelet.log", i, klog, kind(event.KindCRIError), of(id), text("method", "ContainerStatus"), says("ContainerStatus failed"))
		case 5:
			if i%1000 < 8 {
				return complaintAt(i, truth, 4*time.Minute)
			}
			return ev("kubelet.log", i, klog, kind(event.KindCRIError), of(id), text("method", "RemoveContainer"), says("RemoveContainer failed"))
		case 6:
			return ev("containerd.log", i, event.At(truth), kind(event.KindCRICall), of(id), text("method", "RemoveContainer"), says("RemoveContainer of "+id[:12]), edge("cri/RemoveContainer/"+id, event.End))
		default:
			return ev("containerd.log", i, event.At(truth), kind(event.KindTaskExit), of(id), says("container "+id[:12]+" exited"))
		}
	}},
	{"yearless", func(i int) event.Event {
		return ev("file", i, localOf(noon.Add(time.Duration(i)*time.Second), 8*time.Hour, event.LacksZone|event.LacksYear, time.Second))
	}},
	{"dateless-one-container", func(i int) event.Event {
		truth := noon.Add(time.Duration(i) * time.Second)
		if i%2 == 0 {
			return ev("dated", i, event.At(truth), of("aaaaaaaa"))
		}
		return ev("x.strace", i, localOf(truth, 0, event.LacksZone|event.LacksYear|event.LacksDate, time.Microsecond), of("aaaaaa"))
	}},
	{"goroutines-and-calls", func(i int) event.Event {
		at := noon.Add(time.Duration(i/1000) * time.Second)
		e := ev("dump", i, event.At(at), of("aaaaaaaa"), kind("cri.call"), text("method", "Update"))
		if i%2 == 1 {
			e.Kind, e.IDs.Container, e.IDs.Goroutine = "lock.wait", "", uint64(i)
			e.Fields = []event.Field{{Key: "call", Value: event.String("Update")}, {Key: "id_ptr", Value: event.String(fmt.Sprint("0xc", i%50))}}
		}
		e.End = e.Start.Add(time.Hour)
		return e
	}},
	{"stalls", func(i int) event.Event {
		at := noon.Add(time.Duration(i) * time.Minute)
		if i%2 == 1 {
			return failure(at, text("method", "ListContainers"))
		}
		return complaintAt(i, at, 4*time.Minute)
	}},
	{"restarts", func(i int) event.Event { // each asked for, with calls that find nobody
		at := event.At(noon.Add(time.Duration(i) * 5 * time.Second))
		switch i % 4 {
		case 0:
			return ev("messages", i, at, kind(event.KindUnitStop), text(event.FieldDaemon, "containerd"))
		case 1:
			return ev("messages", i, at, kind(event.KindUnitStart), text(event.FieldDaemon, "containerd"))
		case 2:
			e := ev("dump", i, at, kind(event.KindGoroutine))
			e.Component, e.IDs.Goroutine, e.End, e.Start = "containerd", uint64(i), at, event.Time{T: at.T.Add(-24 * time.Hour), Prec: 24 * time.Hour, Known: true}
			return e
		}
		return ev("kubelet.log", i, at, kind(event.KindCRIError), text(event.FieldGone, "containerd"))
	}},
	{"scopes-that-never-start", func(i int) event.Event {
		e := ev("messages", i, event.At(noon.Add(time.Duration(i)*time.Second)), kind(event.KindScopeStart), of(fmt.Sprintf("%064x", i)))
		e.End, e.Open = event.At(noon.Add(many*time.Second)), true
		return e
	}},
	{"clock-set", func(i int) event.Event { // back and forth, every ten minutes
		at := event.At(noon.Add(time.Duration(i) * time.Minute))
		if i%10 > 0 {
			return ev([]string{"messages", "kubelet.log", "containerd.log"}[i%3], i, at)
		}
		return ev("messages", i, at, kind(event.KindClockStep), with(event.FieldStep, event.Duration(time.Duration(i%20-5)*time.Second)))
	}},
	{"one-thread-in-many-calls", func(i int) event.Event {
		e := sight([]string{"samples", "strace"}[i%2], float64(i), float64(i)+30, shows("number", fmt.Sprint(i)))
		if i%2 == 1 {
			traced(&e)
		}
		if i%5 == 0 {
			e.Start, e.End = event.Time{}, event.Time{}
		}
		return e
	}},
}

func input(make func(int) event.Event, n int) Input {
	in := Input{Sources: []*Source{covers("kubelet.log", "kubelet.log", "2025-11-08T00:00:00Z", "2025-11-09T00:00:00Z")}}
	for i := range n {
		in.Events = append(in.Events, pointersTo(make(i))...)
	}
	slices.SortStableFunc(in.Events, func(a, b *event.Event) int { return strings.Compare(a.Pos().File, b.Pos().File) }) // as they are read
	return in
}

func BenchmarkBuild(b *testing.B) {
	for _, c := range inputs {
		b.Run("input="+c.name, func(b *testing.B) {
			in := input(c.make, many)
			b.ReportAllocs()
			var computed time.Duration
			for b.Loop() {
				b.StopTimer()
				own := clone(in)
				b.StartTimer()
				computed -= userTime(b)
				Build(own, Options{})
				computed += userTime(b)
			}
			b.ReportMetric(float64(computed.Nanoseconds())/float64(b.N)/many, "user-ns/event")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/many, "ns/event")
		})
	}
}

// userTime is the time that this process has computed: unlike a clock it stands while others do.
func userTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano())
}

// No input makes the cost quadratic: ten times the events would then take a hundred times as long.
func TestBuildIsNotQuadratic(t *testing.T) {
	for _, c := range inputs {
		t.Run(c.name, func(t *testing.T) {
			measure := func(n, times int) time.Duration {
				start := userTime(t)
				for range times {
					Build(input(c.make, n), Options{})
				}
				return userTime(t) - start
			}
			// as many events in either; a machine that is busy is slow now and then, not three times
			tries := 3
			for tries > 0 && measure(20_000, 2) >= 5*measure(2_000, 20) {
				tries--
			}
			require.Positive(t, tries)
		})
	}
}

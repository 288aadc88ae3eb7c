package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/links"
)

func TestLink(t *testing.T) {
	call := func(line int, method, id string, from, to string) event.Event {
		e := ev("c.log", line, at("2025-11-08T"+from+"Z"), kind("cri.call"), of(id), text("method", method))
		e.End = at("2025-11-08T" + to + "Z")
		return e
	}
	// A goroutine of a dump taken at 01:31.
	goroutine := func(id uint64, change ...func(*event.Event)) event.Event {
		e := ev("dump.log", int(id), at("2025-11-08T01:31:00Z"), append([]func(*event.Event){kind("goroutine.wait"), took(0)}, change...)...)
		e.IDs.Goroutine = id
		return e
	}
	serves := func(method string) func(*event.Event) { return text("call", method) }
	pointer := func(address string) func(*event.Event) { return text("id_ptr", address) }
	lock := func(address string) func(*event.Event) { return func(e *event.Event) { e.IDs.Lock = address } }
	update := call(1, "Update", "aaaaaa", "01:30:00", "01:32:00")

	for _, tc := range []struct {
		name   string
		events []event.Event
		want   map[uint64]string
	}{
		{"the only open call", []event.Event{update, goroutine(1, serves("Update"))}, map[uint64]string{1: "aaaaaa"}},
		{"a call of another kind", []event.Event{update, goroutine(1, serves("Stop"))}, map[uint64]string{1: ""}},
		{"a goroutine that serves no call", []event.Event{update, call(2, "", "bbbbbb", "01:30:00", "01:32:00"), goroutine(1)}, map[uint64]string{1: ""}},
		{"a call that was over", []event.Event{call(1, "Update", "aaaaaa", "01:30:00", "01:30:30"), goroutine(1, serves("Update"))}, map[uint64]string{1: ""}},
		{
			"two open calls on two containers",
			[]event.Event{update, call(2, "Update", "bbbbbb", "01:30:00", "01:32:00"), goroutine(1, serves("Update"))},
			map[uint64]string{1: ""},
		},
		{
			"two open calls on one container",
			[]event.Event{update, call(2, "Update", "aaaaaa", "01:30:30", "01:32:00"), goroutine(1, serves("Update")), goroutine(2, serves("Update"))},
			map[uint64]string{1: "aaaaaa", 2: "aaaaaa"},
		},
		{"one open call in the log, two goroutines", []event.Event{update, goroutine(1, serves("Update")), goroutine(2, serves("Update"))}, map[uint64]string{1: "", 2: ""}},
		{
			"one open call in the log, two goroutines on one container",
			[]event.Event{update, goroutine(1, serves("Update"), pointer("0xc1")), goroutine(2, serves("Update"), pointer("0xc1"))},
			map[uint64]string{1: "aaaaaa", 2: "aaaaaa"},
		},
		{
			"on to those that show the same id",
			[]event.Event{update, goroutine(1, serves("Update"), pointer("0xc1")), goroutine(2, serves("List"), pointer("0xc1")), goroutine(3, serves("List"), pointer("0xc2"))},
			map[uint64]string{1: "aaaaaa", 2: "aaaaaa", 3: ""},
		},
		{
			"from the holder of a lock to those that wait",
			[]event.Event{
				update, goroutine(1, serves("Update"), kind("lock.held"), lock("0xc0")),
				goroutine(2, serves("List"), kind("lock.wait"), lock("0xc0")), goroutine(3, serves("List"), kind("lock.wait"), lock("0xcf")),
			},
			map[uint64]string{1: "aaaaaa", 2: "aaaaaa", 3: ""},
		},
		{
			"not from one that waits",
			[]event.Event{update, goroutine(1, serves("Update"), kind("lock.wait"), lock("0xc0")), goroutine(2, serves("List"), kind("lock.wait"), lock("0xc0"))},
			map[uint64]string{1: "aaaaaa", 2: ""},
		},
		{
			"two who give disagree",
			[]event.Event{
				update, call(2, "Stop", "bbbbbb", "01:30:00", "01:32:00"), goroutine(1, serves("Update"), pointer("0xc1")), goroutine(2, serves("Stop"), pointer("0xc1")), goroutine(3, pointer("0xc1")),
			},
			map[uint64]string{1: "aaaaaa", 2: "bbbbbb", 3: ""},
		},
		{
			"addresses of another dump of the same file",
			[]event.Event{update, goroutine(1, serves("Update"), pointer("0xc1")), goroutine(2, pointer("0xc1"), func(e *event.Event) {
				e.Start, e.End = e.Start.Add(time.Minute), e.End.Add(time.Minute)
			})},
			map[uint64]string{1: "aaaaaa", 2: ""},
		},
		{
			"a container that is created waits for its scope",
			[]event.Event{
				func() event.Event {
					e := call(1, "", "aaaaaa", "01:30:00", "01:32:00")
					e.Kind = "systemd.scope-start"
					return e
				}(),
				goroutine(1, serves("ContainerStart"), text("rpc", "Create")),
			},
			map[uint64]string{1: "aaaaaa"},
		},
		{"a dump without a time", []event.Event{update, goroutine(1, serves("Update"), func(e *event.Event) { e.Start, e.End = event.Time{}, event.Time{} })}, map[uint64]string{1: ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := map[uint64]string{}
			for _, e := range Build(Input{Events: pointersTo(tc.events...)}, Options{}).Events {
				if e.IDs.Goroutine != 0 {
					got[e.IDs.Goroutine] = e.IDs.Container
					_, said := e.Get("container_from")
					require.Equal(t, e.IDs.Container != "", said, "a container that a dump does not hold has a source")
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestLinkPods: the pod of a memory cgroup is the one that other events name by its uid or by the
// container, if all name the same.
func TestLinkPods(t *testing.T) {
	ids := func(uid, container, pod string) func(*event.Event) {
		return func(e *event.Event) { e.IDs.PodUID, e.IDs.Container, e.IDs.Pod = uid, container, pod }
	}
	for _, c := range []struct {
		name, want string
		others     []func(*event.Event)
	}{
		{"nobody names it", "", nil},
		{"by its uid", "shop/web", []func(*event.Event){ids("u1", "", "shop/web"), ids("u2", "c2", "shop/db"), ids("u1", "c1", "")}},
		{"by its container", "shop/web", []func(*event.Event){ids("", "c1", "shop/web")}},
		{"under two names", "", []func(*event.Event){ids("u1", "", "shop/web"), ids("u1", "", "shop/db"), ids("u1", "", "shop/web")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := ev("m.log", 1, at("2025-11-08T01:31:00Z"), kind(event.KindCgroupMemory), ids("u1", "c1", ""))
			events := []*event.Event{&e}
			for _, other := range c.others {
				o := ev("c.log", 1, at("2025-11-08T01:30:00Z"), kind(event.KindCreated), other)
				events = append(events, &o)
			}
			links.LinkPods(events)
			require.Equal(t, c.want, e.IDs.Pod)
		})
	}
}

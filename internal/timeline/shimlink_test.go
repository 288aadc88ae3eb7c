package timeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestLinkShims(t *testing.T) {
	second := func(n float64) event.Time { return event.At(minutes(n / 60)) }
	pid := func(n int) func(*event.Event) { return func(e *event.Event) { e.IDs.PID = n } }
	in := func(sandbox string) func(*event.Event) { return func(e *event.Event) { e.IDs.Sandbox = sandbox } }
	shim := func(n int, at event.Time, sandbox string) event.Event {
		return ev("c", 1, at, kind("shim.start"), of(sandbox), pid(n), says(sandbox))
	}
	member := func(id, sandbox string) event.Event {
		return ev("c", 2, second(1), kind("containerd.created"), of(id), in(sandbox), says(id))
	}
	exit := func(id string, at event.Time) event.Event {
		return ev("c", 3, at, kind("containerd.task-exit"), of(id), says(id))
	}
	umount := func(n int, change ...func(*event.Event)) event.Event {
		return sight("samples", 101, 190, append([]func(*event.Event){pid(n)}, change...)...)
	}
	for name, tc := range map[string]struct {
		events []event.Event
		want   string
	}{
		"the container that exited":  {[]event.Event{shim(9, second(0), "sand"), member("aaa", "sand"), member("bbb", "sand"), exit("aaa", second(100)), umount(9)}, "aaa"},
		"docker":                     {[]event.Event{shim(9, second(0), "aaa"), exit("aaa", second(100)), umount(9)}, "aaa"},
		"by its stack":               {[]event.Event{shim(9, second(0), "aaa"), exit("aaa", second(100)), umount(9, shows("name", ""), shows("stack", "cleanup_mnt ovl_sync_fs"))}, "aaa"},
		"without a time":             {[]event.Event{shim(9, second(0), "aaa"), exit("aaa", second(100)), umount(9, undated)}, "aaa"},
		"two exited":                 {[]event.Event{shim(9, second(0), "sand"), member("aaa", "sand"), member("bbb", "sand"), exit("aaa", second(100)), exit("bbb", second(99)), umount(9)}, ""},
		"one exited long before":     {[]event.Event{shim(9, second(0), "sand"), member("aaa", "sand"), member("bbb", "sand"), exit("aaa", second(10)), exit("bbb", second(99)), umount(9)}, "bbb"},
		"none exited":                {[]event.Event{shim(9, second(0), "sand"), member("aaa", "sand"), umount(9)}, ""},
		"it exits later":             {[]event.Event{shim(9, second(0), "aaa"), exit("aaa", second(150)), umount(9)}, ""},
		"another shim":               {[]event.Event{shim(8, second(0), "aaa"), exit("aaa", second(100)), umount(9)}, ""},
		"the pid was another shim's": {[]event.Event{shim(9, second(0), "old"), shim(9, second(50), "aaa"), exit("aaa", second(100)), exit("old", second(100)), umount(9)}, "aaa"},
		"another call":               {[]event.Event{shim(9, second(0), "aaa"), exit("aaa", second(100)), umount(9, shows("name", "fsync"))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, e := range Build(Input{Events: pointersTo(tc.events...)}, Options{}).Events {
				if e.Kind == "thread.sample" {
					require.Equal(t, tc.want, e.IDs.Container)
					require.Equal(t, tc.want != "", e.FieldText("container_from") != "")
				}
			}
		})
	}
}

package timeline

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestSelect(t *testing.T) {
	own, sandbox, other := strings.Repeat("ab12", 16), strings.Repeat("cd34", 16), strings.Repeat("ef56", 16)
	in := func(e event.Event, change func(*event.Event)) event.Event {
		change(&e)
		return e
	}
	tl := &Timeline{Events: pointersTo(
		in(node("kubelet.node-not-ready", minutes(0)), func(e *event.Event) { e.Component, e.Text = "kubelet", "NotReady" }),
		in(node("containerd.created", minutes(1)), func(e *event.Event) { e.IDs.Container, e.IDs.Sandbox, e.Text = own, sandbox, "created" }),
		in(node("containerd.sandbox", minutes(2)), func(e *event.Event) { e.IDs.Sandbox, e.IDs.Pod, e.Text = sandbox, "default/web-0", "sandbox" }),
		in(node("syscall", minutes(3)), func(e *event.Event) {
			e.IDs.Container, e.End, e.Text = own[:12], event.At(minutes(9)), "umount2"
		}),
		in(node("cri.call", minutes(4)), func(e *event.Event) { e.IDs.Container, e.Component, e.Text = other, "containerd", "call" }),
		in(node("goroutine.wait", minutes(0)), func(e *event.Event) { e.Start, e.Text = event.Time{}, "undated" }),
	)}
	for _, tc := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"everything", Filter{}, "NotReady created sandbox umount2 call undated"},
		{"an interval that reaches into the window", Filter{Since: minutes(8)}, "umount2"},
		{"up to a moment", Filter{Until: minutes(1)}, "NotReady created"},
		{"a component", Filter{Components: []string{"containerd"}}, "call"},
		{"a kind", Filter{Kinds: []string{"cri.call", "syscall"}}, "umount2 call"},
		{"a group of kinds", Filter{Kinds: []string{"containerd"}}, "created sandbox"},
		{"a group is no prefix of a word", Filter{Kinds: []string{"contain"}}, ""},
		{"a container by its beginning, and where it was cut", Filter{Container: own[:10]}, "created umount2"},
		{"a sandbox", Filter{Container: sandbox}, "created sandbox"},
		{"a pod and what belongs to it", Filter{Pod: "web-0"}, "created sandbox umount2"},
		{"a pod by its full name", Filter{Pod: "default/web-0"}, "created sandbox umount2"},
		{"no pod by a part of its name", Filter{Pod: "eb-0"}, ""},
		{"a text", Filter{Grep: regexp.MustCompile("umount|call")}, "umount2 call"},
		{"a line", Filter{Grep: regexp.MustCompile(`^kubelet\.log:5000$`)}, "NotReady created sandbox umount2 call undated"},
		{"both", Filter{Kinds: []string{"containerd"}, Grep: regexp.MustCompile("sand")}, "sandbox"},
	} {
		var got []string
		for _, e := range tl.Select(tc.filter) {
			got = append(got, e.Text)
		}
		require.Equal(t, tc.want, strings.Join(got, " "), tc.name)
	}
	require.Same(t, tl.Events[1], tl.Select(Filter{Container: own})[0], "no copies")
	require.Empty(t, (&Timeline{}).Select(Filter{Since: noon, Until: noon.Add(time.Hour)}))
}

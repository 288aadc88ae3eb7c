package threads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestFrozenThreads: a thread in the freezer of cgroup v2 has state S, and what it waits for may be
// inside of get_signal. A stopped one is there in state T, and a container may be paused on
// purpose.
func TestFrozenThreads(t *testing.T) {
	const container = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-b39895a86a9e2a6f2f2b037c8fd756ad4df437b44c91c3d5696a9f5a5b11b92a.scope"
	for _, test := range []struct {
		state, at, cgroup string
		frozen            bool
	}{
		{"S", "get_signal", "/init.scope", true},
		{"S", "do_freezer_trap", "/init.scope", true},
		{"T", "get_signal", "/init.scope", false},
		{"S", "ep_poll", "/init.scope", false},
		{"S", "get_signal", container, false},
	} {
		var text strings.Builder
		for walk := range 3 {
			fmt.Fprintf(&text, `{"format":"plegdiag.threads/v1","walk":%d,"realtime":"2026-11-20T18:22:1%d.5Z","monotonic":%d.5,"boottime":%[3]d.5,"boot_id":"0a83f9d8-1890-4217-b4ec-74b0bbce3c47","host":"node-1","machine":"x86_64","release":"6.1.0-50-amd64"}`+"\n", walk+1, 2*walk, 1000+2*walk)
			fmt.Fprintf(&text, `{"pid":1,"tid":1,"comm":"systemd","state":%q,"exe":"systemd","started":0.35,"wchan":%q,"syscall":232,"args":["0x4","0x0","0x0","0x0","0x0","0x0"],`+
				`"stack":["%s+0x87c/0x990","exit_to_user_mode_prepare+0x1b2/0x240","do_syscall_64+0x69/0xb0"],"cgroup":%q}`+"\n", test.state, test.at, test.at, test.cgroup)
		}
		frozen := false
		for _, e := range watch(t, []byte(text.String())) {
			waits, _ := e.Get(event.FieldWaits)
			frozen = frozen || waits.Text() == "freezer"
		}
		require.Equal(t, test.frozen, frozen, test)
	}
}

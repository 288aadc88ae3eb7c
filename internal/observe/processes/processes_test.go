package processes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

func TestProcessState(t *testing.T) {
	const listing = `F   UID     PID    PPID PRI  NI    VSZ   RSS WCHAN  STAT TTY        TIME COMMAND
4     0       1       0  20   0 168440 13280 do_epo Ss   ?          0:00 /usr/lib/systemd/systemd
4     0      52       1  20   0 2142004 63652 do_sig Tsl ?          0:01 /usr/bin/containerd
4     0      90       1  20   0 1409548 92828 ptrace tsl ?          0:04 /usr/bin/kubelet --v=2
1     0     759       1  20   0      0     0 -      Zl   ?          0:00 [containerd-shim] <defunct>
4     0     801     760  20   0  12000  3000 __refr T    ?          0:00 |   \_ runc --root /run/containerd/runc/k8s.io update x
`
	events, _ := observetest.ObserveFile(t, "ps_alxfwww", []byte(listing))
	var texts []string
	for _, e := range events {
		if e.Kind == event.KindProcess {
			texts = append(texts, e.Text)
		}
	}
	require.Equal(t, []string{
		"systemd is running, state S",
		"containerd is stopped by a signal (state T)",
		"kubelet is stopped by a debugger (state t)",
		"containerd-shim is a zombie (state Z)",
		"runc update is stopped by a signal (state T)",
	}, texts)
}

// TestWaitChannels: in some waits of the kernel a thread is told although it sleeps in state S.
func TestWaitChannels(t *testing.T) {
	for _, tc := range []struct{ name, listing, text, waits string }{
		{
			"without its own number", "   PPID S CMD                         WCHAN\n  40213 S [tini]                      zap_pid_ns_processes\n",
			"tini is running, state S in zap_pid_ns_processes", "pid-namespace",
		},
		{
			"cut, the command last", "  PID STAT WCHAN  COMMAND\n 5120 Ss   zap_pi sh\n",
			"sh is running, state S in zap_pi", "pid-namespace",
		},
		{
			"a scanner", "  PID S WCHAN                    COMMAND\n  771 S fanotify_handle_event    bash\n",
			"bash is running, state S in fanotify_handle_event", "fanotify",
		},
		{"nothing to do", "  PID S WCHAN                    COMMAND\n  771 S pipe_read                bash\n", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, waits := "", ""
			events, _ := observetest.ObserveFile(t, "ps.txt", []byte(tc.listing))
			for _, e := range events {
				if e.Kind == event.KindProcess {
					text, waits = e.Text, e.FieldText(event.FieldWaits)
				}
			}
			require.Equal(t, tc.text, text)
			require.Equal(t, tc.waits, waits)
		})
	}
}

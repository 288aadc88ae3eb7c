package samples

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// TestThreadRows: a thread on one line is one, where its path or its state is there; a number with
// words behind it may be anything.
func TestThreadRows(t *testing.T) {
	for line, want := range map[string]string{
		"/proc/31022/task/31040 runc fanotify_handle_event":                       "31022 31040 runc - fanotify_handle_event",
		"/proc/31022/task/31040 iou-wrk-31022 io_wqe_worker  ":                    "31022 31040 iou-wrk-31022 - io_wqe_worker",
		"40212 containerd-shim State:\tD (disk sleep) ovl_sync_fs":                "40212 40212 containerd-shim D ovl_sync_fs",
		"2201 ds_am State:\tT (stopped) 0":                                        "2201 2201 ds_am T ",
		"40213 containerd-shim State: S (sleeping)":                               "40213 40213 containerd-shim S ",
		"51234 cgroup_lock.isra.0 /usr/bin/runc --root /run/containerd/runc exec": "51234 51234 runc - cgroup_lock",
		"/proc/31022/task/31040 runc":                                             "",
		"31040 runc fanotify_handle_event":                                        "",
		"246 kubelet":                                                             "",
		"12 requests are in_flight":                                               "",
		"1234 futex_wait nginx -g daemon":                                         "",
	} {
		got := ""
		if p, state, wchan, ok := readThreadRow(line); ok {
			if state == "" {
				state = "-"
			}
			got = fmt.Sprint(p.pid, " ", p.tid, " ", p.comm, " ", state, " ", wchan)
		}
		require.Equal(t, want, got, line)
	}
}

// TestChosenState: threads of which nothing tells the state have the one by which a command chose
// them; rows and heads that tell it keep theirs.
func TestChosenState(t *testing.T) {
	text := "/proc/1/task/7 runc\n[<0>] ovl_sync_fs+0x2f/0x50 [overlay]\n/proc/1/task/8 runc S\n[<0>] do_wait+0x5f/0x220\n"
	var states []string
	for s, err := range ReadProc(lines.Input{Path: "f", State: "D", R: strings.NewReader(text)}) {
		require.NoError(t, err)
		states = append(states, s.State)
	}
	require.Equal(t, []string{"D", "S"}, states)
}

package story

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

func TestSignature(t *testing.T) {
	failed := func(method string) *event.Event {
		return &event.Event{Kind: event.KindCRIError, Fields: []event.Field{event.FieldMethod.Text(method), event.FieldError.Text("web-7 " + method)}}
	}
	tl := &timeline.Timeline{Stalls: []timeline.Stall{{Phase: timeline.PhasePod}}}
	tl.Events = []*event.Event{
		failed("StopPodSandbox"),
		failed("PodSandboxStatus"),
		failed("StopPodSandbox"),
		failed("ExecSync"), // routine
		{Kind: event.KindKubeletStart},
		{Kind: event.KindPLEGUnhealthy}, // part of the stall
		{Kind: event.KindHungTask, Fields: []event.Field{event.FieldComm.Text("kworker/3:1 \x1b[0m")}},
		{Kind: event.KindKernelFrame, Fields: []event.Field{event.FieldSymbol.Text("ext4_sync_fs")}},
		{Kind: event.KindProcess, Component: "systemd", Fields: []event.Field{event.FieldState.Text("T")}},
	}
	r := &Result{Harmless: []Harmless{{Name: "shim-disconnected"}}}
	want := []string{
		"harmless:shim-disconnected", "kernel.frame:ext4_sync_fs", "kernel.hung-task:kworker/N:N-0m",
		"kubelet.cri-error:PodSandboxStatus", "kubelet.cri-error:StopPodSandbox", "phase:pod", "process:systemd:T",
	}
	require.Equal(t, want, Signature(tl, r))
	for i := range 1000 { // what one log repeats with other names crowds nothing out
		tl.Events = append(tl.Events, failed(fmt.Sprint("Method", i, strings.Repeat("x", 200))))
	}
	all := Signature(tl, r)
	require.Subset(t, all, want)
	require.Len(t, all, len(want)+maxWordsOfKind-2)
	for _, word := range all {
		require.LessOrEqual(t, len(word), maxSignatureWord)
	}
	require.Empty(t, Signature(&timeline.Timeline{}, &Result{}))
}

package threads

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// The work of a kworker is the outermost frame of a stack that is cut.
func TestWorkOfAKworker(t *testing.T) {
	const head = "[77.0] INFO: task kworker/3:1:911 blocked for more than 120 seconds.\n" +
		"[77.0] kworker/3:1     D ffff88010a2b3c00     0   911      2 0x00000000\n" +
		"[77.0] Workqueue: netns cleanup_net\n[77.0] Call Trace:\n[77.0]  [<ffffffff81600001>] schedule+0x29/0x70\n"
	for text, stack := range map[string]string{
		head: "cleanup_net schedule",
		head + "[77.0]  [<ffffffff81600002>] cleanup_net+0x10/0x20\n[77.0]  [<ffffffff81600003>] process_one_work+0x10/0x20\n": "process_one_work cleanup_net schedule",
	} {
		made := kernelTraces(t, "dmesg.log", []byte(text))
		require.Len(t, made, 1)
		require.Equal(t, stack, made[0].FieldText(event.FieldStack))
		require.Equal(t, "network-lock", made[0].FieldText(event.FieldWaits))
		require.Equal(t, "true", made[0].FieldText(event.FieldWatchdog))
	}
}

// A stack of a hung task tells that it hangs also where the line above it is lost.
func TestHungTaskWithoutHead(t *testing.T) {
	const stack = "containerd      D    0   812      1 0x00000080\nCall Trace:\n ? __schedule+0x2e0/0x810\n ? d_alloc_parallel+0x1a0/0x2a0\n"
	const disables = `"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.` + "\n"
	made := kernelTraces(t, "dmesg.log", []byte(disables+stack))
	require.Len(t, made, 1)
	require.Equal(t, "true", made[0].FieldText(event.FieldWatchdog))
	require.Empty(t, made[0].FieldText(event.FieldSeconds), "the line with the time is lost")
	require.Equal(t, "path-lookup", made[0].FieldText(event.FieldWaits))
	made = kernelTraces(t, "dmesg.log", []byte(stack))
	require.Len(t, made, 1)
	require.Empty(t, made[0].FieldText(event.FieldWatchdog), "sysrq prints such stacks of every task")
}

// What the program crash says of a machine's end is a fault of the kernel in that task.
func TestFaultInCrash(t *testing.T) {
	const sys = "       PANIC: \"BUG: unable to handle kernel NULL pointer dereference at 0000000000000018\"\n" +
		"         PID: 7301\n     COMMAND: \"containerd-shim\"\n        TASK: ffff8f4a5e2d0000\n"
	const stack = "PID: 7301   TASK: ffff8f4a5e2d0000  CPU: 3   COMMAND: \"containerd-shim\"\n" +
		" #0 [ffffb8a0c0a5bce0] machine_kexec at ffffffff8105c4cb\n #1 [ffffb8a0c0a5bd40] oops_end at ffffffff8168d158\n" +
		" #2 [ffffb8a0c0a5bd68] page_fault at ffffffff8168c188\n    [exception RIP: d_path+17]\n" +
		"    RIP: ffffffff81212345  RSP: ffffb8a0c0a5bdd8  RFLAGS: 00010286\n #3 [ffffb8a0c0a5bdd8] proc_pid_readlink at ffffffff81268888\n"
	for text, want := range map[string][2]string{
		sys: {"null-dereference", ""}, sys + "crash> bt\n" + stack: {"null-dereference", "d_path"},
		"The vmcore shows this, and nothing else:\n" + stack: {"other", "d_path"},
	} {
		made := kernelTraces(t, "dmesg.log", []byte(text))
		require.Len(t, made, 2, text)
		require.Equal(t, event.KindPanic, made[1].Kind, "the machine ended by it")
		require.Equal(t, event.KindOops, made[0].Kind)
		require.Equal(t, 7301, made[0].IDs.TID)
		require.Equal(t, "shim", made[0].FieldText(event.FieldOf))
		require.Equal(t, want, [2]string{made[0].FieldText(event.FieldWhat), made[0].FieldText(event.FieldFunction)}, text)
	}
	for _, e := range kernelTraces(t, "dmesg.log", []byte("       PANIC: \"sysrq: Trigger a crash\"\n         PID: 7301\n     COMMAND: \"bash\"\n")) {
		require.NotEqual(t, event.KindOops, e.Kind, "somebody asked for it")
	}
}

// TestFatalFault: a fault of the idle task, or one with which the log that kdump saved ends, has
// ended the machine; others end a thread.
func TestFatalFault(t *testing.T) {
	fault := func(comm string) []byte {
		return []byte(`<1>BUG: unable to handle kernel paging request at ffffffffffffffe0
<1>IP: [<ffffffff81167060>] __purge_vmap_area_lazy+0x70/0x1e0
<4>Oops: 0000 [#1] SMP 
<4>Pid: 84647, comm: ` + comm + ` Tainted: G           --L------------    2.6.32-642.el6.x86_64 #1
<4>Call Trace:
<4> [<ffffffff81167230>] free_vmap_area_noflush+0x60/0x70
<4> [<ffffffff811672e5>] free_unmap_vmap_area+0x25/0x30
`)
	}
	for _, tt := range []struct {
		file, comm string
		stops      bool
	}{
		{"dmesg.txt", "qemu-system-x86", false},
		{"vmcore-dmesg.txt", "qemu-system-x86", true},
		{"crash/vmcore-dmesg-20261119.txt", "touch", true},
		{"dmesg.txt", "swapper/3", true},
	} {
		stops := slices.ContainsFunc(kernelTraces(t, tt.file, fault(tt.comm)), func(e event.Event) bool { return e.Kind == event.KindPanic })
		require.Equal(t, tt.stops, stops, "%s %s", tt.file, tt.comm)
	}
}

package threads

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
)

// A stall of RCU names its CPU, task and time on the lines below its first one, and none of them
// where several CPUs are held up. The flag L of the kernel is set by a soft lockup before.
func TestLockup(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"rcu: \t22-....: (58901 ticks this GP) idle=335/1\n (t=60016 jiffies g=19949 q=792)\nCPU: 22 PID: 6084 Comm: cifsd Kdump: loaded Tainted: G      ", "CPU 22 does not come round for 60 s: cifsd (6084)"},
		{"\t3-...: (5249 ticks this GP) idle=c6e/1\n\t (t=5250 jiffies g=10309 c=10308 q=220)", "CPU 3 does not come round for 21 s"},
		{"rcu: \t(t=78032 jiffies g=1)\nCPU: 1 PID: 0 Comm: swapper/1 Not tainted 5.10.0 #1", "CPU 1 does not come round for 78032 of the kernel's ticks"},
		{"rcu: \t3-...!: (1 GPs behind) idle=c6e/1\nrcu: \t5-....: (2 ticks this GP) idle=c6e/1\nCPU: 1 PID: 9 Comm: a Not tainted 5.10.0 #1", "a CPU does not come round"},
		{"rcu: \t3-....: (1 GPs behind) idle=c6e/1\n\t(detected by 2, t=21002 jiffies, g=269, q=4790 ncpus=8)", "CPU 3 does not come round for 21 s"},
	} {
		var l lockup
		for line := range strings.SplitSeq(c.lines, "\n") {
			l.takeLine(line, event.Quote{Text: line})
		}
		e := event.New(event.KindRCUStall, "a CPU does not come round")
		l.tellStall(&e)
		require.Equal(t, c.want, e.Text, c.lines)
	}
	l := lockup{cpus: 2}
	other, dump := kernel.Task{Comm: "runc", TID: 7}, event.Quote{Text: "[  500.000009] Task dump for CPU 6:"}
	l.noteShown(&other, event.Quote{}) // it runs nowhere
	l.noteDump(taskDump+"6:", dump)
	l.noteShown(&kernel.Task{Comm: "dockerd", TID: 1455}, event.Quote{})
	l.noteShown(&other, event.Quote{})
	e := event.New(event.KindRCUStall, "a CPU does not come round")
	l.tellStall(&e)
	require.Equal(t, "CPU 6 does not come round: dockerd (1455)", e.Text)
	for line, want := range map[string]bool{
		"CPU: 41 PID: 9 Comm: a Tainted: G             L  4.14.165-133.209.amzn2.x86_64 #1": true,
		"CPU: 41 PID: 9 Comm: a Tainted: P        W  OEL  4.14.165 #1":                      true,
		"CPU: 41 PID: 9 Comm: a Tainted: G           OE   5.15.0-LTS #1":                    false,
		"CPU: 41 PID: 9 Comm: a Not tainted 4.14.165 #1":                                    false,
	} {
		require.Equal(t, want, isTaintedByLockup(line), line)
	}
}

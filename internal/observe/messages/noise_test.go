package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

// TestNoise: files of a real sosreport that look like what tells something of the node, and tell
// nothing.
func TestNoise(t *testing.T) {
	for _, c := range []struct{ file, text string }{
		{"proc/kallsyms", "ffffffff8184fa00 t __pfx_ovl_sync_fs\nffffffff8184fa10 t ovl_sync_fs\nffffffff816bd910 T deactivate_locked_super\n"},
		{"boot/System.map-6.1.0-18-amd64", "ffffffff81442d50 T iterate_supers\nffffffff8144d2a0 T sync_inodes_sb\n"},
		{"proc/4711/mountinfo", "812 811 0:65 / / rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w\n"},
		{"proc/pagetypeinfo", "Page block order: 9\nPages per block:  512\n\nNumber of blocks type     Unmovable      Movable  Reclaimable   HighAtomic          CMA \nNode 0, zone   Normal          211        10017          524            0            0 \n"},
		{"sos_commands/process/lsof_M_-n_-l_-c", "COMMAND   PID   TID TASKCMD   USER   FD      TYPE DEVICE SIZE/OFF  NODE NAME\nsystemd     1                    0  cwd       DIR   8,1     4096     2 /\nsystemd     1                    0  rtd       DIR   8,1     4096     2 /\n"},
	} {
		events, _ := observetest.ObserveFile(t, c.file, []byte(c.text))
		require.Empty(t, events, c.file)
	}
}

// TestKernelFrameIsNoSymbol: the same words in a stack are one.
func TestKernelFrameIsNoSymbol(t *testing.T) {
	for _, line := range []string{" ovl_sync_fs+0x2f/0x50 [overlay]\n", "[12345.678901]  ? ovl_sync_fs+0x2f/0x50\n"} {
		events, _ := observetest.ObserveFile(t, "dmesg", []byte("[12345.000000] x\n"+line))
		require.Len(t, events, 1, line)
	}
}
